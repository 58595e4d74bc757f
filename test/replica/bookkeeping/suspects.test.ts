/** Which pages clear a row of suspicion. */
import { expect, test } from 'vitest';
import { clearSeenSuspects, notePage } from '../../../src/replica/bookkeeping/pages.ts';
import { readSuspects } from '../../../src/replica/bookkeeping/suspects.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import type { Tx } from '../../../src/replica/connection.ts';
import { startFixture } from '../../support/replica.ts';
import { AT, NOTE } from '../../support/two-way.ts';

test('a row that left two pages is cleared by none that is older than the later one of them', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const target = { id: readTables(fixture.replica)[0]?.id ?? 0, localName: 'Note', columns: [] };
  const note = (tx: Tx, page: number, ids: readonly number[]): void => {
    const facts = { window: '', page, lastStamp: null, tieCount: 0, url: '/', etag: null, sweep: 1, at: AT };
    notePage(tx, target.id, { ...facts, content: { rows: [], unreadable: [], ids } });
  };
  const suspects = (): Promise<readonly number[]> =>
    fixture.replica.write('Clearing', (tx) => {
      clearSeenSuspects(tx, target);
      return readSuspects(tx, target.id, 0, 10);
    });

  await fixture.replica.write('Answers', (tx) => {
    for (const page of [10, 12, 11]) note(tx, page, [5]);
    for (const page of [10, 11]) note(tx, page, []);
  });
  const left = await suspects();
  await fixture.replica.write('Another answer', (tx) => {
    note(tx, 12, []);
    note(tx, 13, [5]);
  });

  expect(left).toEqual([5]);
  expect(await suspects()).toEqual([]);
});

/**
 * Texts that a client in another encoding wrote: they wait with the reason, byte by byte as they are, whatever else
 * happens to their row.
 */
import { expect, test } from 'vitest';
import { resolveConflict } from '../../src/capture/resolve-conflict.ts';
import { atOrigin, codesOf, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, startTwoWay } from '../support/two-way.ts';

/** `café` in Latin-1. */
const LATIN = '636166E9';

function writeLatin(fixture: Fixture, id: number): void {
  fixture.execute(`UPDATE "Note" SET "Title" = CAST(x'${LATIN}' AS TEXT) WHERE _id = ${id}`);
}

function latinTitles(fixture: Fixture): readonly unknown[] {
  return fixture.rows(`SELECT _id, "Body" FROM "Note" WHERE hex("Title") = '${LATIN}' ORDER BY _id`);
}

/** Pushes, and expects that the rows are parked for their text, and that nothing of it is at the origin. */
async function expectParked(fixture: Fixture, ids: readonly number[]): Promise<void> {
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  const reason = '"Title" of Note takes text in UTF-8';
  expect(fixture.rows('SELECT row_id, reason FROM sync_failures ORDER BY row_id')).toEqual(
    ids.map((row_id) => ({ row_id, reason })),
  );
  expect(atOrigin(fixture, ['Title']).map(String)).not.toContainEqual(expect.stringContaining('caf'));
}

test('a pull that merges them with what a colleague wrote beside them leaves them as they are', async () => {
  await using fixture = await startTwoWay();
  for (const id of [1, 2]) writeLatin(fixture, id);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });

  await fixture.pull();

  expect(latinTitles(fixture)).toEqual([
    { _id: 1, Body: 'theirs' },
    { _id: 2, Body: null },
  ]);
  await expectParked(fixture, [1, 2]);
});

test('one that was written while its row was in flight stays when that is settled', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1`);

  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') writeLatin(fixture, 1);
    },
  });

  expect(latinTitles(fixture)).toEqual([{ _id: 1, Body: 'mine' }]);
  await expectParked(fixture, [1]);
});

test('a conflict beside them is resolved without them', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  writeLatin(fixture, 1);
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();
  const [open] = fixture.rows('SELECT id FROM sync_conflicts') as { id: number }[];

  const problem = await fixture.replica.write('Resolving', (tx) =>
    resolveConflict(tx, open?.id ?? 0, { take: 'remote', value: null }, AT),
  );

  expect(problem).toBeNull();
  expect(latinTitles(fixture)).toEqual([{ _id: 1, Body: 'theirs' }]);
  await expectParked(fixture, [1]);
});

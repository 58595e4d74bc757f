/** What a push stores of rows that were sent. */
import { expect, test, vi } from 'vitest';
import { Replica } from '../../src/replica/database.ts';
import { pushNow } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

test('what a create became is on the disk before the push goes on, so that a power cut does not take its number back', async () => {
  await using fixture = await startTwoWay();
  const writes = vi.spyOn(Replica.prototype, 'writeDurably');
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);

  const { tables } = await pushNow(fixture);

  expect(tables).toMatchObject([{ insertedCount: 1 }]);
  expect(writes.mock.calls.map(([what]) => what)).toEqual([
    expect.stringMatching(/^Recording a batch/),
    expect.stringMatching(/^Settling a batch/),
  ]);
});

test('an edit of more columns than a SELECT can compare with their bases is settled', async () => {
  const columns = Array.from({ length: 1100 }, (_, index) => ({ name: `c${index}`, type: 'Text' as const }));
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns, rows: [{ c0: 'x' }] }] });
  fixture.execute(`UPDATE "Note" SET ${columns.map(({ name }) => `"${name}" = 'v'`).join(', ')}`);

  const { tables } = await pushNow(fixture);

  expect(tables).toMatchObject([{ updatedCount: 1, error: null }]);
  expect(await captured(fixture)).toEqual([]);
});

/** What a person is told if a trigger refuses an edit: our own sentence, never that of another program's trigger. */
import { expect, test } from 'vitest';
import { executeAsClient } from '../../../src/extras/shared/sql-client.ts';
import { startTwoWay } from '../../support/two-way.ts';

test.each([
  ['a value', `UPDATE "Note" SET "Count" = 'many' WHERE _id = 1`, '"Count" of Note takes a number'],
  ['an id', 'UPDATE "Note" SET _id = 99 WHERE _id = 1', '_id of Note cannot be changed'],
  ['a decision', `UPDATE sync_conflicts SET state = 'open'`, 'only resolution and value of sync_conflicts can be set'],
])('%s that our trigger refuses is refused in its words', async (_what, statement, words) => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, winner, at, state)
    SELECT id, local_name, 1, 'deletedHere', 'origin', '2026-01-01T00:00:00Z', 'decided' FROM _rowsync_tables`);

  expect(() => executeAsClient(fixture.path, statement)).toThrow(
    expect.objectContaining({
      code: 'replica.failed',
      message: expect.stringContaining(words) as string,
      hint: 'Nothing was changed.',
    }) as Error,
  );
});

test("the words of another program's trigger, which may repeat the row, are left out", async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`CREATE TRIGGER mine BEFORE UPDATE ON "Note" BEGIN SELECT RAISE(ABORT, 'of the row'); END`);

  expect(() => executeAsClient(fixture.path, 'UPDATE "Note" SET "Count" = 1')).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /: a trigger that another SQL client made refuses it \(SQLITE_CONSTRAINT_TRIGGER\)$/,
      ) as string,
      hint: expect.stringContaining('Drop or change the trigger') as string,
    }) as Error,
  );
});

/**
 * Triggers of another client's that write into mirrors: our own writes set them off while our guards are off. What they change does not
 * stay, whichever table they stand on.
 */
import { expect, test } from 'vitest';
import { readOrigin, readReplica } from '../support/compare.ts';
import { pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

function table(name: string): { name: string; columns: { name: string; type: string }[]; rows: { Title: string }[] } {
  const rows = [1, 2, 3, 4].map((number) => ({ Title: `title ${number}` }));
  return { name, columns: ['Title', 'Body'].map((column) => ({ name: column, type: 'Text' })), rows };
}

/** Two mirrors that were pulled, Note and Task. */
async function startMirrors(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [table('Note'), table('Task')] });
  await fixture.pull();
  return fixture;
}

const TITLE = `UPDATE "Task" SET "Title" = 'by a trigger' WHERE _id = 2;`;

const TRIGGERS = [
  ['changes rows of another mirror', `AFTER UPDATE ON "Note" BEGIN ${TITLE} END`],
  ['deletes rows of another mirror', `AFTER UPDATE ON "Note" BEGIN DELETE FROM Task WHERE _id = 2; END`],
  ['adds rows to another mirror', `AFTER UPDATE ON "Note" BEGIN INSERT INTO [task] (_id) VALUES (99); END`],
  ['stands on a delete', `AFTER DELETE ON "Note" BEGIN UPDATE "Note" SET "Title" = 'by a trigger'; END`],
] as const;

test.each(
  TRIGGERS.flatMap(([what, trigger]) => [[what, trigger, 'stays'] as const, [what, trigger, 'is dropped'] as const]),
)(
  'what a trigger does to a mirror is undone by the next pull, where it %s (%s, and then %s)',
  async (_what, trigger, andThen) => {
    await using fixture = await startMirrors();
    fixture.execute(`CREATE TRIGGER mine ${trigger}`);
    if (trigger.includes('DELETE ON')) fixture.sandbox.store.delete('Note', 4);
    else fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
    await fixture.pull();
    expect(readReplica(fixture.path)).not.toEqual(readOrigin(fixture.sandbox));
    if (andThen === 'is dropped') fixture.execute('DROP TRIGGER mine');

    await fixture.pull();

    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  },
);

test('what a trigger on a two-way table does to a mirror when rows are read back is undone by the next pull', async () => {
  const settings = {
    tableOptions: (name: string) => (name === 'Note' ? twoWaySettings().tableOptions(name) : { sort: null }),
  };
  await using fixture = await startFixture({ tables: [table('Note'), table('Task')] }, { settings });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.execute(`CREATE TRIGGER mine AFTER UPDATE ON "Note" BEGIN ${TITLE} END`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  await pushNow(fixture);
  expect(fixture.rows('SELECT "Title" FROM "Task" WHERE _id = 2')).toEqual([{ Title: 'by a trigger' }]);

  await fixture.pull();

  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test.each([
  ['a column is made again', (): string => `ALTER TABLE "Note" RENAME COLUMN "Body" TO "Former"`],
  [
    'a row gets an id of ours',
    ({ sandbox }: Fixture): string =>
      `DROP TRIGGER _rowsync_capture_known_${sandbox.store.table('Note').id}; INSERT INTO "Note" (_id, "Title") VALUES (99, 'mine')`,
  ],
] as const)('what a trigger does to a mirror while %s is undone by the next pull', async (_what, edit) => {
  const settings = {
    tableOptions: (name: string) => (name === 'Note' ? twoWaySettings().tableOptions(name) : { sort: null }),
  };
  await using fixture = await startFixture({ tables: [table('Note'), table('Task')] }, { settings });
  await fixture.pull();
  fixture.execute(edit(fixture));
  fixture.execute(`CREATE TRIGGER mine AFTER UPDATE ON "Note" BEGIN ${TITLE} END`);
  await fixture.pull({ tables: ['Note'] });
  expect(fixture.rows('SELECT "Title" FROM "Task" WHERE _id = 2')).toEqual([{ Title: 'by a trigger' }]);
  fixture.execute('DROP TRIGGER mine');

  await fixture.pull();

  expect(readReplica(fixture.path)['Task']).toEqual(readOrigin(fixture.sandbox)['Task']);
});

test('a mirror that no trigger names keeps its ETags', async () => {
  await using fixture = await startMirrors();
  fixture.execute(`CREATE TABLE audit (id); CREATE TRIGGER mine AFTER UPDATE ON "Note" BEGIN
    INSERT INTO audit VALUES (NEW._id); END`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  await fixture.pull();

  expect(fixture.rows('SELECT "table", has_etag FROM sync_freshness ORDER BY 1')).toEqual([
    { table: 'Note', has_etag: 0 },
    { table: 'Task', has_etag: 1 },
  ]);
});

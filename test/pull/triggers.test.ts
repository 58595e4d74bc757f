/**
 * Triggers of other programs, which also fire for what rowsync writes. A table waits for a person where one writes to a
 * synced table or says RAISE; indexes for full text and audits go on.
 */
import { expect, test } from 'vitest';
import { readOrigin, readReplica } from '../support/compare.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { captured, twoWaySettings } from '../support/two-way.ts';

function table(name: string): { name: string; columns: { name: string; type: string }[]; rows: { Title: string }[] } {
  const rows = [1, 2, 3, 4].map((number) => ({ Title: `title ${number}` }));
  return { name, columns: ['Title', 'Body'].map((column) => ({ name: column, type: 'Text' })), rows };
}

/** Two tables that were pulled: Note, which may be two-way, and the mirror Task. */
async function startTables({ isTwoWay = false } = {}): Promise<Fixture> {
  const tableOptions = (name: string) =>
    isTwoWay && name === 'Note' ? twoWaySettings().tableOptions(name) : { sort: null };
  const fixture = await startFixture({ tables: [table('Note'), table('Task')] }, { settings: { tableOptions } });
  await fixture.pull();
  return fixture;
}

async function problems(fixture: Fixture): Promise<readonly string[]> {
  const { tables } = await fixture.pull();
  return tables.flatMap(({ error }) => (error === null ? [] : [error.message]));
}

/** Every kind of change comes from the origin, and goes there. */
function changeEverything({ sandbox }: Fixture): void {
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  sandbox.store.insert('Note', { Title: 'new' });
  sandbox.store.delete('Note', 4);
}

const WRITES = '"mine" of another program writes to a synced table';
const RAISES = '"mine" of another program can refuse or drop a row (RAISE)';
const BODY = `UPDATE "Note" SET "Body" = 'by a trigger' WHERE _id = NEW._id;`;

test.each([
  ['changes its own row', `AFTER UPDATE ON "Note" BEGIN ${BODY} END`, WRITES],
  ['changes its own row if one column changes', `AFTER UPDATE OF "Title" ON "Note" BEGIN ${BODY} END`, WRITES],
  ['adds a row to another table', `AFTER INSERT ON note BEGIN INSERT INTO [task] (_id) VALUES (99); END`, WRITES],
  ['empties another table', `AFTER DELETE ON "Note" BEGIN DELETE FROM Task; END`, WRITES],
  ['refuses', `BEFORE UPDATE ON "Note" WHEN NEW._id = 1 BEGIN SELECT RAISE(ABORT, 'no'); END`, RAISES],
  ['drops a write', `BEFORE DELETE ON "Note" BEGIN SELECT RAISE(IGNORE); END`, RAISES],
])('a table waits while a trigger on it %s', async (_what, trigger, harm) => {
  await using fixture = await startTables();
  fixture.execute(`CREATE TRIGGER mine ${trigger}`);
  changeEverything(fixture);
  const before = readReplica(fixture.path);

  expect(await problems(fixture)).toEqual([
    `Note: the trigger ${harm}, so nothing of the table is read, stored or sent`,
  ]);

  expect(readReplica(fixture.path)).toEqual(before);
  fixture.execute('DROP TRIGGER mine');
  expect(await problems(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a table waits where a trigger on a table of somebody else would write to it in the end', async () => {
  await using fixture = await startTables();
  fixture.execute(`CREATE TABLE audit (id); CREATE TRIGGER first AFTER UPDATE ON "Note" BEGIN INSERT INTO audit VALUES (NEW._id); END;
    CREATE TRIGGER mine AFTER INSERT ON audit BEGIN DELETE FROM "Task" WHERE _id = NEW.id; END`);
  changeEverything(fixture);

  expect(await problems(fixture)).toEqual([expect.stringContaining(WRITES)]);
});

test('nothing is sent of a two-way table that waits, and its edits stay edits', async () => {
  await using fixture = await startTables({ isTwoWay: true });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.execute(`CREATE TRIGGER mine AFTER UPDATE ON "Note" BEGIN ${BODY} END`);

  expect(codesOf(await pushNow(fixture))).toEqual(['replica.failed']);

  fixture.execute('DROP TRIGGER mine');
  expect(await captured(fixture)).toEqual(['update 1 Title']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a trigger that is made between a request and its answer stops the answer from being stored', async () => {
  await using fixture = await startTables();
  changeEverything(fixture);
  const before = readReplica(fixture.path);
  const make = (): void =>
    fixture.execute(`CREATE TRIGGER IF NOT EXISTS mine AFTER UPDATE ON "Note" BEGIN ${BODY} END`);
  fixture.sandbox.before(1, make, { method: 'select' });

  expect(await problems(fixture)).toEqual([expect.stringContaining(WRITES)]);

  expect(readReplica(fixture.path)).toEqual(before);
});

test.each([
  [
    'an index for full text',
    `CREATE VIRTUAL TABLE found USING fts5("Title", content = 'Note', content_rowid = '_id');
     INSERT INTO found (found) VALUES ('rebuild');
     CREATE TRIGGER a AFTER INSERT ON "Note" BEGIN INSERT INTO found (rowid, "Title") VALUES (NEW._id, NEW."Title"); END;
     CREATE TRIGGER b AFTER DELETE ON "Note" BEGIN
       INSERT INTO found (found, rowid, "Title") VALUES ('delete', OLD._id, OLD."Title"); END;
     CREATE TRIGGER c AFTER UPDATE ON "Note" BEGIN
       INSERT INTO found (found, rowid, "Title") VALUES ('delete', OLD._id, OLD."Title");
       INSERT INTO found (rowid, "Title") VALUES (NEW._id, NEW."Title"); END`,
  ],
  [
    'an audit',
    `CREATE TABLE audit (id NOT NULL UNIQUE, title);
     CREATE TRIGGER a AFTER UPDATE ON "Note" BEGIN INSERT INTO audit VALUES (NEW._id, NEW."Title"); END`,
  ],
  [
    'a trigger for people only',
    `CREATE TRIGGER a AFTER UPDATE ON "Note" WHEN NEW._id > 0 AND NOT EXISTS (SELECT 1 FROM _rowsync_writer) BEGIN ${BODY} END`,
  ],
])('%s does not stop its table', async (_what, statements) => {
  await using fixture = await startTables({ isTwoWay: true });
  fixture.execute(statements);
  changeEverything(fixture);

  expect(await problems(fixture)).toEqual([]);

  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(fixture.rows('SELECT "table", has_etag FROM sync_freshness ORDER BY 1')).toContainEqual({
    table: 'Task',
    has_etag: 1,
  });
});

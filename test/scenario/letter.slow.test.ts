/**
 * An origin that describes, answers and refuses by the letter of the specification and no more (support/letter.ts). It
 * can be used as a whole.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { must } from '../../src/base/assert.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { fileOf, startFilesFixture } from '../support/files.ts';
import { startLetterSandbox } from '../support/letter.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { runCli } from '../support/session.ts';
import { makeWorkspace } from '../support/child.ts';
import { NOTE, twoWaySettings } from '../support/two-way.ts';

const FORMATS = ['json', 'xml'] as const;
const LARGE: TableSpec = { ...NOTE, rows: Array.from({ length: 40 }, (_, index) => ({ Title: `row ${index}` })) };
const MATCHED = twoWaySettings({ match: 'Code' });

function startLetter(format: 'json' | 'xml', tables: readonly TableSpec[] = [NOTE], settings = {}): Promise<Fixture> {
  return startFixture({ tables }, { start: startLetterSandbox, format, settings: { ...MATCHED, ...settings } });
}

const writableOf = (fixture: Fixture): readonly unknown[] =>
  fixture
    .rows(`SELECT "column", kind, writable FROM sync_columns WHERE writable OR kind IS NOT NULL ORDER BY origin_id`)
    .map((row) => Object.values(row as object).join(' '));

/** Requests that ask what `*` stands for. */
const questions = ({ sandbox }: Fixture): number =>
  sandbox.requests.find({ method: 'select' }).filter(({ path }) => /[?&]column=(?:\*|%2A)(?:&|$)/.test(path)).length;

test.each(FORMATS)(
  '%s: what * returns is writable, the key is a key, and system columns are known by name',
  async (format) => {
    await using fixture = await startLetter(format);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 6 }]);
    expect(writableOf(fixture)).toEqual([
      'Id Key 0',
      ...['Title', 'Code', 'Body', 'Count', 'Done', 'Due', 'Starts', 'Seen', 'Spent', 'Photo'].map(
        (name) => `${name} Updatable 1`,
      ),
      'Record Owner RecordOwner 1',
      'Created By CreatedBy 0',
      'Date Created DateCreated 0',
      'Last Modified By LastModifiedBy 0',
      'Date Modified DateModified 0',
    ]);
    expect(fixture.rows('SELECT one_window FROM sync_status')).toEqual([{ one_window: null }]);
  },
);

test.each(FORMATS)('%s: an unchanged description is asked about once, a changed one once more', async (format) => {
  await using fixture = await startLetter(format);
  await fixture.pull();
  await fixture.pull();
  expect(questions(fixture)).toBe(1);

  fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');
  fixture.sandbox.store.addColumn('Note', { name: 'Later', type: 'Text' });
  await fixture.pull();

  expect(questions(fixture)).toBe(2);
  expect(writableOf(fixture)).toContain('Heading Updatable 1');
  expect(writableOf(fixture)).toContain('Later Updatable 1');
});

test.each(FORMATS)('%s: updates, inserts with and without a match value, and deletes are pushed', async (format) => {
  await using fixture = await startLetter(format);
  await fixture.pull();
  fixture.execute(`
    UPDATE "Note" SET "Title" = 'mine', "Count" = 12.5, "Done" = 1, "Due" = '2026-02-03', "Body" = 'a' || char(10) || 'b' WHERE _id = 1;
    INSERT INTO "Note" ("Title", "Code") VALUES ('matched', 'new');
    INSERT INTO "Note" ("Title") VALUES ('made up');
    DELETE FROM "Note" WHERE _id = 3`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual([]);
  expect(changesSent(fixture)).toEqual(expect.arrayContaining(['update', 'upsert', 'delete']));
  await fixture.pull();
  const columns = ['Title', 'Count', 'Done', 'Due', 'Body'];
  expect(atOrigin(fixture, ['Title', 'Due'])).toContainEqual([1, 'mine', '2026-02-03']);
  expect(atOrigin(fixture, ['Title', 'Code'])).toContainEqual([7, 'matched', 'new']);
  expect(atOrigin(fixture, ['Title']).map((row) => (row as unknown[])[0])).not.toContain(3);
  expect(here(fixture, ['Title', 'Due'])).toEqual(atOrigin(fixture, ['Title', 'Due']));
  expect(here(fixture, columns)).toHaveLength(7);
  expect(await pushNow(fixture).then(countsOf)).toEqual({});
});

test.each(FORMATS)('%s: a new row whose match value exists there is merged with it', async (format) => {
  await using fixture = await startLetter(format);
  await fixture.pull();
  fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Count") VALUES ('ours', 'taken', 7)`);

  await pushNow(fixture);
  await fixture.pull();

  expect(here(fixture, ['Code', 'Count'])).toContainEqual([7, 'taken', 7]);
  expect(atOrigin(fixture, ['Code']).filter((row) => (row as unknown[])[1] === 'taken')).toHaveLength(1);
});

test.each(FORMATS)('%s: what a bare refusal says of one row parks that row alone', async (format) => {
  await using fixture = await startLetter(format, [NOTE], twoWaySettings());
  await fixture.pull();
  fixture.sandbox.store.changeColumn('Note', 'Body', { readOnly: true });
  fixture.execute(
    `UPDATE "Note" SET "Body" = 'locked' WHERE _id = 1; UPDATE "Note" SET "Title" = 'free' WHERE _id = 2`,
  );

  await pushNow(fixture);

  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'update' }]);
  expect(atOrigin(fixture, ['Title'])).toContainEqual([2, 'free']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect((await fixture.pull()).tables).toMatchObject([{ error: null }]);
});

test.each(FORMATS)('%s: files come by the list of their revisions, and are attached', async (format) => {
  await using fixture = await startFilesFixture(
    { tables: [NOTE] },
    { start: startLetterSandbox, format, settings: MATCHED },
  );
  fixture.sandbox.store.update('Note', 2, { Photo: fileOf('theirs.txt', 'from there') });
  await fixture.pull();
  await fixture.pullFiles();
  expect(fixture.files()).toMatchObject([{ row_id: 2, name: 'theirs.txt', state: 'here', bytes: 10 }]);

  const path = join(fixture.folder, 'ours.txt');
  writeFileSync(path, 'from here');
  fixture.execute(`UPDATE "Note" SET "Photo" = 'file:${path}' WHERE _id = 1`);
  const report = await pushNow(fixture, { settings: { uploadDir: fixture.folder } });
  await fixture.pull();
  await fixture.pullFiles();

  expect(codesOf(report)).toEqual([]);
  expect(fixture.files()).toMatchObject([
    { row_id: 1, name: 'ours.txt', state: 'here', bytes: 9 },
    { row_id: 2, name: 'theirs.txt', state: 'here' },
  ]);
  expect(fixture.problems()).toEqual([]);
  fixture.sandbox.requests.clear();
  await fixture.pullFiles();
  expect(fixture.sandbox.requests.count({ method: 'attachments', status: 304 })).toBe(2);
});

test.each(FORMATS)('%s: a table is followed by a Date Modified of that name', async (format) => {
  await using fixture = await startLetter(format, [LARGE], { follows: 'all', pageRows: 10 });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 5, { Title: 'changed' });
  fixture.sandbox.requests.clear();

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ isFollowed: true, updatedCount: 1 }]);
});

test.each(FORMATS)(
  '%s: without known system columns there are no windows and no following, and a sweep finds all',
  async (format) => {
    await using fixture = await startLetter(format, [LARGE], { follows: 'all', pageRows: 10, windowPages: 1 });
    const { store } = fixture.sandbox;
    store.renameColumn('Note', 'Date Created', 'Angelegt am');
    store.renameColumn('Note', 'Date Modified', 'Geändert am');
    await fixture.pull();
    store.update('Note', 5, { Title: 'changed' });
    store.delete('Note', 7);

    const report = await fixture.pull({ follow: true });

    expect(report.tables).toMatchObject([{ isFollowed: false, updatedCount: 1, deletedCount: 1, rowCount: 39 }]);
    expect(fixture.rows('SELECT one_window, windows, followed_at FROM sync_status')).toEqual([
      { one_window: 'hidden', windows: 1, followed_at: null },
    ]);
  },
);

test.each(FORMATS)('%s: the history knows when and by whom a row was changed there', async (format) => {
  const history = { keepDays: 400, bytesMax: 1_000_000 };
  const tableOptions = () => ({ ...must(MATCHED.tableOptions('Note'), 'every table has them'), history });
  await using fixture = await startLetter(format, [NOTE], { tableOptions });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 2, { Title: 'theirs' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'ours' WHERE _id = 1`);
  await pushNow(fixture);

  const entries = fixture.rows(
    'SELECT row_id, kind, cause, origin_at IS NOT NULL AS dated, origin_by FROM sync_history',
  );

  expect(entries).toContainEqual(expect.objectContaining({ row_id: 2, kind: 'update', cause: 'pull', dated: 1 }));
  expect(entries).toContainEqual(expect.objectContaining({ row_id: 1, kind: 'update' }));
});

test.each(FORMATS)('%s: an empty table is read-only, says so, and can be edited once it has a row', async (format) => {
  await using fixture = await startLetter(format, [{ ...NOTE, rows: [] }]);
  await fixture.pull();
  expect(() => fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('too early')`)).toThrow(
    '"Title" of Note cannot be changed here yet: the origin shows what you may write only once the table has a row',
  );
  expect(writableOf(fixture)).toContain('Title Unknown 0');

  const id = fixture.sandbox.store.insert('Note', { Title: 'first' });
  await fixture.pull();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('now')`);
  // What was known of a column outlasts the last row, also across a new description.
  fixture.sandbox.store.delete('Note', id);
  fixture.sandbox.store.renameColumn('Note', 'Body', 'Text');
  await fixture.pull();
  await pushNow(fixture);

  expect(atOrigin(fixture, ['Title'])).toEqual([[2, 'now']]);
  expect(writableOf(fixture)).toContain('Text Updatable 1');
});

test('columns that swap their names keep their values, and their rights', async () => {
  await using fixture = await startLetter('json');
  await fixture.pull();
  const { store } = fixture.sandbox;
  store.renameColumn('Note', 'Title', 'Between');
  store.renameColumn('Note', 'Total', 'Title');
  store.renameColumn('Note', 'Between', 'Total');
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

  expect(codesOf(await pushNow(fixture))).toEqual(['push.shape']);
  await fixture.pull();
  expect(codesOf(await pushNow(fixture))).toEqual([]);

  expect(atOrigin(fixture, ['Total', 'Title'])).toContainEqual([1, 'edited', 10]);
  expect(writableOf(fixture)).toContain('Total Updatable 1');
});

test('a key that the origin does not count may be given to a new row', async () => {
  const keyed: TableSpec = {
    name: 'Country',
    key: 'Code',
    columns: [
      { name: 'Code', type: 'Text', kind: 'Key', options: ['Unique'] },
      { name: 'Name', type: 'Text' },
    ],
    rows: [{ Code: 'de', Name: 'Germany' }],
  };
  await using fixture = await startLetter('json', [keyed], twoWaySettings({ match: 'Code' }));
  await fixture.pull();
  fixture.execute(`INSERT INTO "Country" ("Code", "Name") VALUES ('fr', 'France')`);

  expect(codesOf(await pushNow(fixture))).toEqual([]);

  expect(atOrigin(fixture, ['Code', 'Name'], 'Country')).toContainEqual([2, 'fr', 'France']);
});

test('another role is asked about anew, and a column that is not shown is not asked for', async () => {
  await using fixture = await startLetter('json');
  await fixture.pull();
  const hiddenColumns = [['Note', 'Count']] as const;
  fixture.sandbox.store.setRole({ name: 'Clerk', canWrite: true, hiddenTables: [], hiddenColumns });
  fixture.sandbox.store.changeUser({ role: 'Clerk' });

  await fixture.pull();

  expect(questions(fixture)).toBe(2);
  const [note] = readTables(fixture.replica);
  expect(note?.missingColumns).toEqual([expect.any(Number)]);
});

test('check says what is known, and blames no right for what is not', async () => {
  await using sandbox = await startLetterSandbox({
    tables: [NOTE, { ...NOTE, name: 'Empty', rows: [] }],
  });
  for (const table of ['Note', 'Empty']) sandbox.store.renameColumn(table, 'Date Modified', 'Geändert am');
  using workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true }, Empty: { push: true } }\n');

  const { stdout } = await runCli(['check'], workspace);

  expect(stdout).toContain('Note 17 (11 writable)');
  expect(stdout).toContain('not described as writable or not; column=* says which are writable: Note');
  expect(stdout).toContain('the writable columns are not known, since column=* returns no row: Empty');
  expect(stdout).not.toContain('no column may be written');
  expect(stdout).toContain('no table says when a row was changed');
});

test('a right that one answer seemed to take away is asked for again, and the edit that it held goes on', async () => {
  await using fixture = await startLetter('json');
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  // As if the answer to `*` had lacked the cell of Title.
  const [{ descriptor }] = fixture.rows(
    `SELECT descriptor FROM _rowsync_descriptors WHERE descriptor LIKE '%"Title"%'`,
  ) as [{ descriptor: string }];
  const stored = JSON.parse(descriptor) as { columns: { name: string; kind: string | null; readOnly: unknown }[] };
  for (const column of stored.columns) {
    if (column.name === 'Title') Object.assign(column, { kind: null, readOnly: true });
  }
  fixture.execute(
    `UPDATE _rowsync_descriptors SET descriptor = '${JSON.stringify(stored).replaceAll("'", "''")}' WHERE descriptor LIKE '%"Title"%'`,
  );

  expect((await fixture.pull()).tables).toMatchObject([{ held: { code: 'guard.pending' } }]);
  expect((await fixture.pull()).tables).toMatchObject([{ held: null, error: null }]);

  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(atOrigin(fixture, ['Title'])).toContainEqual([1, 'edited']);
});

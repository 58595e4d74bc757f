/**
 * `rowsync export`: which tables become files, and that an export takes the place of the one before as a whole.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { exportTables } from '../../../src/extras/export/command.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startFixture } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

test('a Parquet file has every cell with its type and all its digits', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.update('Note', 1, {
    Count: '12345678901234567890.123456',
    Body: 'two\nlines',
    Seen: '2026-11-21T17:05:00Z',
    Starts: '23:59:58',
    Spent: 90,
  });
  await fixture.pull();
  const folder = join(fixture.folder, 'lake');

  const {
    tables: [table],
  } = await exportTables(fixture.path, {
    folder,
    format: 'parquet',
    tables: [],
    at: '2026-11-21T12:00:00Z',
  });

  expect(table).toMatchObject({ table: 'Note', rowCount: 6, file: 'Note.parquet' });
  expect(table?.columns).toContainEqual({ name: 'Count', type: 'decimal(38, 6)' });
  const file = await asyncBufferFromFile(join(folder, 'Note.parquet'));
  const [first, second] = await parquetReadObjects({ file });
  expect(first).toMatchObject({
    _id: 1n,
    Title: 'title 1',
    Body: 'two\nlines',
    Done: true,
    Due: new Date('2026-11-21'),
    Seen: new Date('2026-11-21T17:05:00Z'),
    Spent: 90,
  });
  expect(second).toMatchObject({ Count: 2, Done: false, Body: null });
});

test('values that a type of Parquet cannot hold are counted', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.update('Note', 1, { Seen: '2026-11-21T17:05:00Z', Due: '2026-11-21' });
  await fixture.pull();
  fixture.execute(`BEGIN; INSERT INTO _rowsync_writer VALUES (1);
    UPDATE "Note" SET "Seen" = '0000-01-01T00:00:00Z' WHERE _id < 3; DELETE FROM _rowsync_writer; COMMIT`);
  const options = { folder: join(fixture.folder, 'lake'), tables: [], at: '2026-11-21T12:00:00Z' };

  const {
    tables: [parquet],
  } = await exportTables(fixture.path, { ...options, format: 'parquet' });
  const {
    tables: [csv],
  } = await exportTables(fixture.path, { ...options, format: 'csv' });

  const emptied = parquet?.columns.filter((column) => column.emptiedCount !== undefined);
  expect(emptied).toEqual([{ name: 'Seen', type: 'timestamp with time zone', emptiedCount: 2 }]);
  expect(csv?.columns.some((column) => column.emptiedCount !== undefined)).toBe(false);
});

test('an export takes the place of the one before, and leaves other files alone', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const folder = join(fixture.folder, 'lake');
  await exportTables(fixture.path, { folder, format: 'parquet', tables: [], at: '2026-11-21T12:00:00Z' });

  const { removed } = await exportTables(fixture.path, {
    folder,
    format: 'csv',
    tables: ['Note'],
    at: '2026-11-21T12:00:01Z',
  });

  expect(removed).toEqual(['Note.parquet']);
  expect(readdirSync(folder).toSorted()).toEqual(['Note.csv', 'manifest.json']);
  expect(readFileSync(join(folder, 'Note.csv'), 'utf8')).toMatch(/^_id,_allow,Id,Title,.*\n1,.*title 1/);
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as unknown;
  expect(manifest).toMatchObject({
    format: 'csv',
    tables: [{ table: 'Note', file: 'Note.csv', rowCount: 6 }],
  });
  await expect(
    exportTables(fixture.path, { folder, format: 'csv', tables: ['None'], at: '2026-11-21T12:00:02Z' }),
  ).rejects.toMatchObject({ code: 'usage.invalid' });
});

test('exports no table that was not read to its end, and says how old the others are', async () => {
  const second = { ...NOTE, name: 'Other' };
  await using fixture = await startFixture({ tables: [NOTE, second] });
  await fixture.pull();
  fixture.execute(`UPDATE _rowsync_tables SET state = 'loading' WHERE name = 'Other'`); // as a first pull that was cut short
  const options = { folder: join(fixture.folder, 'lake'), format: 'csv' as const, at: '2026-11-21T12:00:00Z' };

  await expect(exportTables(fixture.path, { ...options, tables: [] })).rejects.toMatchObject({
    code: 'fresh.stale',
    message: 'Not read to the end yet, so nothing was exported: Other',
  });
  const {
    tables: [table],
  } = await exportTables(fixture.path, { ...options, tables: ['Note'] });

  expect(table).toMatchObject({ table: 'Note', freshSince: expect.stringMatching(/^\d{4}-.*Z$/) as string });
  expect(fixture.rows('SELECT "table" FROM sync_status WHERE fresh_since IS NULL')).toEqual([{ table: 'Other' }]);
});

test('a table that is named, and is not in the file, is never left out without a word', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await fixture.pull();
  fixture.execute('DROP TABLE "Other"');
  const options = { folder: join(fixture.folder, 'lake'), format: 'csv' as const, at: '2026-11-21T12:00:00Z' };

  await expect(exportTables(fixture.path, { ...options, tables: ['Note', 'Other'] })).rejects.toMatchObject({
    code: 'fresh.stale',
    message: 'Not read to the end yet, so nothing was exported: Other',
  });
});

test('a replica without tables takes no file of a former export away', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const options = { folder: join(fixture.folder, 'lake'), format: 'csv' as const, tables: [] };
  await exportTables(fixture.path, { ...options, at: '2026-11-21T12:00:00Z' });
  fixture.execute('DELETE FROM _rowsync_tables'); // as after a rebuild, while no pull succeeds

  const again = exportTables(fixture.path, { ...options, at: '2026-11-22T12:00:00Z' });

  await expect(again).rejects.toMatchObject({
    code: 'fresh.stale',
    message: 'The replica has no table yet, so nothing was exported',
  });
  expect(readdirSync(options.folder).toSorted()).toEqual(['Note.csv', 'manifest.json']);
});

test('keeps the names of files, replaces none that is not its own, and says while it replaces them', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const folder = join(fixture.folder, 'lake');
  const options = { folder, format: 'csv' as const, tables: [] };
  await exportTables(fixture.path, { ...options, at: '2026-11-21T12:00:00Z' });
  fixture.sandbox.store.update('Note', 1, { Title: 'another' });
  await fixture.pull();
  // An export that ended while it replaced files.
  writeFileSync(
    join(folder, 'manifest.json'),
    JSON.stringify({ exportedAt: null, tables: [{ file: 'Note.csv' }, { file: 'Gone.csv' }] }),
  );
  writeFileSync(join(folder, 'Gone.csv'), '');

  await exportTables(fixture.path, { ...options, at: '2026-11-21T12:00:01Z' });

  expect(readdirSync(folder).toSorted()).toEqual(['Note.csv', 'manifest.json']);
  expect(readFileSync(join(folder, 'Note.csv'), 'utf8')).toContain('another');
  rmSync(join(folder, 'manifest.json'));
  writeFileSync(join(folder, 'Note.csv'), 'of a person');
  await expect(exportTables(fixture.path, { ...options, at: '2026-11-21T12:00:02Z' })).rejects.toMatchObject({
    code: 'files.store',
  });
  expect(readFileSync(join(folder, 'Note.csv'), 'utf8')).toBe('of a person');
  expect(readdirSync(folder)).toEqual(['Note.csv']);
});

test('a table without numbers becomes a Parquet file too', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  const columns = { include: ['Title', 'Body'], exclude: [], masks: [], isOfOneTable: true, match: null, sort: null };
  const settings = { tableOptions: () => ({ sort: null, columns }) };
  await fixture.pull({ settings });
  const folder = join(fixture.folder, 'lake');

  const {
    tables: [table],
  } = await exportTables(fixture.path, {
    folder,
    format: 'parquet',
    tables: [],
    at: '2026-11-21T12:00:00Z',
  });

  expect(table?.columns.map(({ name }) => name)).not.toContain('Count');
  const file = await asyncBufferFromFile(join(folder, String(table?.file)));
  expect(await parquetReadObjects({ file })).toHaveLength(6);
});

test('says how many rows with edits are left out, and nothing if there are none', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'tables: { Note: { push: true } }\n');
  const { folder } = made;
  await runCli(['pull'], { folder });
  const before = await runCli(['export', 'lake'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id <= 2; INSERT INTO "Note" ("Title") VALUES ('new')`);
  db.close();

  const { stdout } = await runCli(['export', 'lake'], { folder });

  expect(stdout).toContain('left out: edits of 3 rows that the origin does not have yet (Note)\n');
  expect(before.stdout).not.toContain('left out');
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';

import type { StoredRow } from '../../../src/sandbox/store/store.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const SHARED = new URL('../../../../shared/data/', import.meta.url);

/** A sandbox over a SQLite file made of these statements. */
async function serve(statements: string): Promise<TestSandbox & { readonly bytes: Buffer; readonly dataPath: string }> {
  const folder = temporaryFolder();
  const dataPath = join(folder.path, 'data.sqlite');
  const file = new Database(dataPath);
  file.exec(statements);
  file.close();
  const bytes = readFileSync(dataPath);
  const sandbox = await startTestSandbox({ dataPath });
  const stop = sandbox.stop.bind(sandbox);
  return Object.assign(sandbox, {
    bytes,
    dataPath,
    [Symbol.asyncDispose]: async () => {
      await stop();
      folder[Symbol.dispose]();
    },
  });
}

function types(sandbox: TestSandbox, table: string): Readonly<Record<string, string>> {
  const columns = sandbox.store.table(table).columns.filter(({ kind }) => kind === 'Updatable' || kind === 'Key');
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]));
}

function values(sandbox: TestSandbox, table: string, column: string): readonly unknown[] {
  return sandbox.store.rows(table).map((row: StoredRow) => row.values[column]);
}

test('makes a single INTEGER primary key an Autonumber key, with its numbers', async () => {
  await using sandbox = await serve(
    'CREATE TABLE t (no INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (7, NULL), (3, NULL)',
  );

  const { key, columns } = sandbox.store.table('t');

  expect(key).toMatchObject({ name: 'no', type: 'Autonumber', kind: 'Key', options: ['Unique', 'Required'] });
  expect(values(sandbox, 't', 'no')).toEqual(['3', '7']);
  expect(columns.map(({ name }) => name)).not.toContain('Id');
  sandbox.store.insert('t', {});
  expect(values(sandbox, 't', 'no')).toEqual(['3', '7', '8']);
});

test('makes a single text primary key a unique Text key', async () => {
  await using sandbox = await serve(
    `CREATE TABLE t (code VARCHAR(5) PRIMARY KEY, a) WITHOUT ROWID; INSERT INTO t VALUES ('b', 1), ('a', 2)`,
  );

  expect(sandbox.store.table('t').key).toMatchObject({
    name: 'code',
    type: 'Text',
    kind: 'Key',
    options: ['Unique', 'Required', 'AllowFind'],
  });
  expect(values(sandbox, 't', 'code')).toEqual(['a', 'b']);
});

test.each([
  ['no key', 'a TEXT, b TEXT'],
  ['a key of two columns', 'a TEXT, b TEXT, PRIMARY KEY (a, b)'],
  ['a text key with a null', 'a TEXT PRIMARY KEY, b TEXT'],
  ['a real key', 'b TEXT, a REAL PRIMARY KEY'],
])('adds an Autonumber Id to a table with %s', async (_what, columns) => {
  await using sandbox = await serve(`CREATE TABLE t (${columns}); INSERT INTO t (b) VALUES ('x'), ('y')`);

  expect(sandbox.store.table('t').key).toMatchObject({ name: 'Id', type: 'Autonumber' });
  expect(values(sandbox, 't', 'Id')).toEqual(['1', '2']);
});

test('maps declared types whose values agree', async () => {
  await using sandbox = await serve(`
    CREATE TABLE t (i INTEGER, b BIGINT, r REAL, n NUMERIC(10,2), d DECIMAL, m MONEY, bo BOOLEAN, bi BIT, da DATE,
      dt DATETIME, ts TIMESTAMP, ti TIME, c NVARCHAR(12), x TEXT, z BLOB, untyped);
    INSERT INTO t VALUES (1, 9223372036854775807, 0.5, 1.25, 3, 4, 1, 0, '2024-02-29', '2024-01-02 03:04:05.000',
      '2024-01-02T03:04:05+02:00', '23:59:59', 'abc', 'x', x'ffd8ff', 'n');
    INSERT INTO t DEFAULT VALUES;`);

  expect(types(sandbox, 't')).toEqual({
    Id: 'Autonumber',
    i: 'Numeric',
    b: 'Numeric',
    r: 'Numeric',
    n: 'Numeric',
    d: 'Numeric',
    m: 'Numeric',
    bo: 'Checkbox',
    bi: 'Checkbox',
    da: 'Date',
    dt: 'Timestamp',
    ts: 'Timestamp',
    ti: 'Time',
    c: 'Text',
    x: 'Text',
    z: 'Attachment',
    untyped: 'Text',
  });
  expect(sandbox.store.rows('t')[0]?.values).toMatchObject({
    i: 1,
    b: 9223372036854775807n,
    r: 0.5,
    n: 1.25,
    bo: true,
    bi: false,
    da: '2024-02-29',
    dt: '2024-01-02T03:04:05Z',
    ts: '2024-01-02T01:04:05Z',
    ti: '23:59:59',
  });
  expect(sandbox.store.rows('t')[1]?.values).toMatchObject({ i: null, bo: null, dt: null, z: null });
});

test.each([
  ['a word among dates', 'DATE', `('2024-01-01'), ('soon')`, 'Text', ['2024-01-01', 'soon']],
  ['a day that does not exist', 'DATE', `('2023-02-29')`, 'Text', ['2023-02-29']],
  ['timestamps in a DATE column', 'DATE', `('2024-01-01 10:00:00')`, 'Timestamp', ['2024-01-01T10:00:00Z']],
  ['dates in a DATETIME column', 'DATETIME', `('2024-01-01')`, 'Date', ['2024-01-01']],
  [
    'both in a DATETIME column',
    'DATETIME',
    `('2024-01-01'), ('2024-01-01 00:00:00')`,
    'Text',
    ['2024-01-01', '2024-01-01 00:00:00'],
  ],
  ['an epoch in a DATETIME column', 'DATETIME', '(1700000000)', 'Numeric', [1700000000]],
  ['a time without seconds', 'TIME', `('10:00')`, 'Text', ['10:00']],
  ['a two among booleans', 'BOOLEAN', '(1), (2)', 'Numeric', [1, 2]],
  ['a word among booleans', 'BOOLEAN', `(1), ('yes')`, 'Text', ['1', 'yes']],
  ['a word among numbers', 'INTEGER', `(1), (2.5), ('many')`, 'Text', ['1', '2.5', 'many']],
  ['an infinity among numbers', 'REAL', '(9e999), (1)', 'Text', ['Infinity', '1']],
  ['numbers that nobody declared', '', '(1), (2.5)', 'Numeric', [1, 2.5]],
  ['both kinds that nobody declared', '', `(1), ('x')`, 'Text', ['1', 'x']],
  ['a long text', 'VARCHAR(10)', `('${'x'.repeat(251)}')`, 'Multiline', ['x'.repeat(251)]],
  ['a line break', 'TEXT', `('a' || char(13, 10) || 'b' || char(10) || 'c')`, 'Multiline', ['a\nb\nc']],
  ['leading zeros and spaces', 'TEXT', `('00123'), (' x ')`, 'Text', ['00123', ' x ']],
])('keeps %s', async (_what, declared, rows, type, expected) => {
  await using sandbox = await serve(`CREATE TABLE t (v ${declared}); INSERT INTO t VALUES ${rows}`);

  expect(types(sandbox, 't')['v']).toBe(type);
  expect(values(sandbox, 't', 'v')).toEqual(expected);
});

test('makes BLOBs files named after the column, the key and the content', async () => {
  await using sandbox = await serve(`
    CREATE TABLE t (id INTEGER PRIMARY KEY, pic BLOB);
    INSERT INTO t VALUES (4, x'89504e470d0a1a0a00'), (5, CAST('hello' AS BLOB)), (6, x'00ff'), (7, NULL), (8, x''), (9, 'text');`);

  const cells = values(sandbox, 't', 'pic').map((cell) => String(cell).replace(/;[^;]*$/, ''));
  expect(cells).toEqual(['pic-4.png;1', 'pic-5.txt;1', 'pic-6.bin;1', 'null', 'pic-8.bin;1', 'pic-9.txt;1']);
  const store = new Database(sandbox.store.path, { readonly: true });
  const files = store.prepare('SELECT hex(bytes) AS hex, media_type AS type FROM _sandbox_files ORDER BY row_id').all();
  store.close();
  expect(files).toEqual([
    { hex: '89504E470D0A1A0A00', type: 'image/png' },
    { hex: '68656C6C6F', type: 'text/plain' },
    { hex: '00FF', type: 'application/octet-stream' },
    { hex: '', type: 'application/octet-stream' },
    { hex: '74657874', type: 'text/plain' },
  ]);
});

test('takes options, widths and defaults from the declarations', async () => {
  await using sandbox = await serve(`
    CREATE TABLE t (a VARCHAR(20) NOT NULL UNIQUE, b TEXT DEFAULT 'it''s', c INT DEFAULT 5, d TEXT DEFAULT CURRENT_DATE,
      e TEXT, UNIQUE (b, e));
    INSERT INTO t VALUES ('${'x'.repeat(30)}', NULL, NULL, NULL, NULL);`);

  const columns = Object.fromEntries(sandbox.store.table('t').columns.map((column) => [column.name, column]));
  expect(columns['a']).toMatchObject({ options: ['Unique', 'Required', 'AllowFind'], width: 30 });
  expect(columns['b']).toMatchObject({ options: ['AllowFind'], width: 255, defaultValue: "it's" });
  expect(columns['c']).toMatchObject({ defaultValue: 5 });
  expect(columns['d']).toMatchObject({ defaultValue: null });
});

test('leaves out views, virtual tables and SQLite’s own', async () => {
  await using sandbox = await serve(`
    CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO t DEFAULT VALUES;
    CREATE VIEW v AS SELECT * FROM t; CREATE VIRTUAL TABLE f USING fts5(x); ANALYZE;`);

  expect(sandbox.store.catalog.tables.map(({ name }) => name)).toEqual(['t']);
});

test('serves generated columns, odd names and empty tables', async () => {
  await using sandbox = await serve(`
    CREATE TABLE "a/b ""c""" ("x y" TEXT, [rowid] TEXT, twice AS ("x y" || "x y")); CREATE TABLE empty (a INTEGER, b BLOB);
    INSERT INTO "a/b ""c""" VALUES ('u', 'v');`);

  expect(sandbox.store.rows('a/b "c"')[0]?.values).toMatchObject({ 'x y': 'u', rowid: 'v', twice: 'uu' });
  expect(types(sandbox, 'empty')).toEqual({ Id: 'Autonumber', a: 'Numeric', b: 'Attachment' });
  expect((await call(sandbox, 'empty/select.json')).text).toBe('[]');
});

test('gives rows creation times in the order of their keys, the same at every start', async () => {
  await using sandbox = await serve('CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (5), (2), (9)');

  const { text } = await call(sandbox, 't/select.json?column=id&column=Date%20Created&sort=Date%20Created');

  expect(text.match(/"id":"\d"/g)).toEqual(['"id":"2"', '"id":"5"', '"id":"9"']);
  expect(values(sandbox, 't', 'Date Created')).toEqual([
    '2020-01-01T00:00:00Z',
    '2020-01-01T00:00:01Z',
    '2020-01-01T00:00:02Z',
  ]);
});

test('never writes to the file', async () => {
  await using sandbox = await serve(
    'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 1), (2, 2)',
  );

  sandbox.store.update('t', 1, { a: 'changed' });
  sandbox.store.delete('t', 2);

  expect(readFileSync(sandbox.dataPath).equals(sandbox.bytes)).toBe(true);
});

test('leaves nothing beside a file in WAL mode, and none of its own copies', async () => {
  using folder = temporaryFolder();
  vi.stubEnv('TMPDIR', folder.path);
  await using sandbox = await serve("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('x')");

  vi.unstubAllEnvs();
  expect(values(sandbox, 't', 'a')).toEqual(['x']);
  expect(readdirSync(dirname(sandbox.dataPath))).toEqual(['data.sqlite']);
  expect(readdirSync(folder.path).filter((name) => name.startsWith('rowsync-data-'))).toEqual([]);
});

test('serves rows that still stand in the -wal file of a program that is running', async () => {
  using folder = temporaryFolder();
  const dataPath = join(folder.path, 'data.sqlite');
  const writer = new Database(dataPath);
  writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('x')");

  await using sandbox = await startTestSandbox({ dataPath });

  expect(values(sandbox, 't', 'a')).toEqual(['x']);
  writer.close();
});

type FileValue = null | string | number | bigint | Buffer;

/** What a value of the file should look like at the origin, by the rules of the mapping, worked out independently. */
function wireValue(type: string, value: FileValue): unknown {
  if (value === null) return null;
  if (type === 'Autonumber') return value.toString();
  if (type === 'Timestamp') return `${value.toString().slice(0, 19).replace(' ', 'T')}Z`;
  if (type === 'Attachment') return 'a file';
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : value;
}

test.for([['chinook'], ['northwind']])('loses no row and no cell of %s.sqlite', async ([name = ''], { skip }) => {
  const path = new URL(`${name}.sqlite`, SHARED);
  if (!existsSync(path)) skip(`${name}.sqlite is not there`);
  await using sandbox = await startTestSandbox({ dataPath: path.pathname });
  const file = new Database(path.pathname, { readonly: true });

  const wanted: string[] = [];
  const found: string[] = [];
  const blobs: string[] = [];
  for (const table of sandbox.store.catalog.tables) {
    const columns = table.columns.filter(({ kind, name: column }) => {
      const added = column === 'Id' && kind === 'Key';
      return (kind === 'Updatable' || kind === 'Key') && !added;
    });
    const names = columns.map((column) => `"${column.name}"`).join(', ');
    const read = file.prepare<[], FileValue[]>(`SELECT ${names} FROM "${table.name}"`).raw().safeIntegers();
    for (const row of read.all()) {
      const cells = row.map((value, index) => wireValue(columns[index]?.type ?? '', value));
      wanted.push(JSON.stringify([table.name, ...cells]));
      blobs.push(...row.filter((value) => Buffer.isBuffer(value)).map((value) => value.toString('hex')));
    }
    for (const { values: cells } of sandbox.store.rows(table.name)) {
      const kept = columns.map(({ name: column, type }) =>
        type === 'Attachment' && cells[column] !== null ? 'a file' : cells[column],
      );
      found.push(JSON.stringify([table.name, ...kept]));
    }
  }
  const store = new Database(sandbox.store.path, { readonly: true });
  const files = store.prepare<[], string>('SELECT lower(hex(bytes)) FROM _sandbox_files').pluck().all();
  store.close();
  file.close();

  expect(found.toSorted()).toEqual(wanted.toSorted());
  expect(wanted.length).toBeGreaterThan(3000);
  expect(files.toSorted()).toEqual(blobs.toSorted());
});

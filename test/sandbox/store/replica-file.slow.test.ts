import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/main.ts';
import { readDatabase, readTable } from '../../../src/wire/json.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { NOTE, twoWaySettings } from '../../support/two-way.ts';
import { call, post } from '../client.ts';

type Choice = NonNullable<SandboxOptions['replica']>;

/** Serves the replica of a fixture. */
function serve({ path }: Fixture, choice: Omit<Choice, 'path'> = {}): Promise<TestSandbox> {
  return startTestSandbox({ replica: { path, ...choice } });
}

async function json(sandbox: TestSandbox, path: string): Promise<unknown> {
  return JSON.parse((await call(sandbox, path)).text);
}

async function statusesOf(sandbox: TestSandbox, path: string, rows: readonly object[]): Promise<unknown> {
  return JSON.parse((await post(sandbox, path, rows)).text);
}

/** Every column of every row, as both databases send them. */
async function rowsOf(sandbox: TestSandbox, table: string): Promise<unknown> {
  const columns = sandbox.store.table(table).columns.map(({ name }) => `&column=${encodeURIComponent(name)}`);
  return json(sandbox, `${encodeURIComponent(table)}/select.json?${columns.join('')}`);
}

test('serves the whole sample database as it is at the origin: descriptions, ids, rows, system values', async () => {
  await using fixture = await startFixture({ seed: 3 });
  fixture.sandbox.playActivity(30); // gaps among the ids, and rows that differ in their stamps
  await fixture.pull();
  await using copy = await serve(fixture);

  const database = readDatabase(await json(fixture.sandbox, 'describe.json'));
  expect(readDatabase(await json(copy, 'describe.json'))).toEqual(database);
  for (const { recordName } of database.tables) {
    const path = `${encodeURIComponent(recordName)}/describe.json`;
    expect(readTable(await json(copy, path))).toEqual(readTable(await json(fixture.sandbox, path)));
    expect(copy.store.ids(recordName)).toEqual(fixture.sandbox.store.ids(recordName));
    expect(await rowsOf(copy, recordName)).toEqual(await rowsOf(fixture.sandbox, recordName));
  }
});

test('serves a table whose name another client wrote in another case', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute('ALTER TABLE "Note" RENAME TO x; ALTER TABLE x RENAME TO "NOTE"');

  await using copy = await serve(fixture);

  expect(copy.store.ids('Note')).toEqual(fixture.sandbox.store.ids('Note'));
});

test('serves fields that no specification names, in their order', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.insert('Note', { Title: 'x', Code: 'y' });
  await fixture.pull();
  fixture.execute(
    `UPDATE _rowsync_descriptors SET descriptor = json_set(descriptor, '$.other.logo', 7, '$.columns[0].other.hint', 'h')`,
  );
  await using copy = await serve(fixture);

  expect(await json(copy, 'Note/describe.json')).toMatchObject({
    logo: 7,
    columns: expect.arrayContaining([expect.objectContaining({ name: 'Id', hint: 'h' })]) as object[],
  });
  expect(await json(copy, 'describe.json')).toMatchObject({ logo: 7 });
});

test('speaks to the caller of the replica, under the same id, role, zone and rights', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.setRole({ name: 'Clerk', canWrite: true, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({
    id: 77,
    email: 'eve@example.org',
    role: 'Clerk',
    timezone: 'Asia/Tokyo',
    admin: ['ManageData'],
  });
  await fixture.pull();
  await using copy = await serve(fixture);

  expect(await json(copy, 'user.json')).toMatchObject({
    id: 77,
    email: 'eve@example.org',
    role: 'Clerk',
    timezone: 'Asia/Tokyo',
    admin: 'ManageData',
  });
  expect(copy.users).toHaveLength(1);
});

test('keeps numbers with all their digits', async () => {
  await using fixture = await startFixture({
    tables: [
      {
        name: 'Sum',
        columns: [{ name: 'N', type: 'Numeric' }],
        rows: [{ N: 12345678901234567890n }, { N: '0.1234567890123456789' }],
      },
    ],
  });
  await fixture.pull();
  await using copy = await serve(fixture);

  expect((await call(copy, 'Sum/select.json')).text).toBe((await call(fixture.sandbox, 'Sum/select.json')).text);
});

test('serves files under their guids, and counts those whose content is not in the replica', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  const photo = { name: 'a;b.txt', mediaType: 'text/plain', bytes: Buffer.from('content') };
  fixture.sandbox.store.update('Note', 2, { Photo: photo });
  fixture.sandbox.store.update('Note', 3, { Photo: photo });
  await fixture.pull();
  const cells = fixture.rows('SELECT "Photo" AS p FROM "Note" WHERE _id IN (2, 3) ORDER BY _id') as { p: string }[];
  const [here = '', missing = ''] = cells.map(({ p }) => p.split(';').at(-1) ?? '');
  const hash = '2'.repeat(64);
  const column = fixture.sandbox.store.table('Note').columns.find(({ name }) => name === 'Photo')?.id;
  const { mkdirSync, writeFileSync } = await import('node:fs');
  mkdirSync(join(fixture.folder, 'files', '22'), { recursive: true });
  writeFileSync(join(fixture.folder, 'files', '22', hash), 'content');
  fixture.execute(`
    INSERT INTO _rowsync_file_store VALUES (1, '${join(fixture.folder, 'files')}');
    INSERT INTO _rowsync_files (table_id, column_id, row_id, table_name, column_name, revision, guid, name, type, sha256, state)
      SELECT id, ${column}, 2, '', '', 1, '${here}', 'a;b.txt', 'text/plain', '${hash}', 'here' FROM _rowsync_tables
      UNION ALL SELECT id, ${column}, 3, '', '', 1, '${missing}', 'a;b.txt', NULL, NULL, 'missing' FROM _rowsync_tables`);
  await using copy = await serve(fixture);

  expect((await call(copy, `Note/Photo/attachment/${here}?id=2`)).text).toBe('content');
  expect((await call(copy, `Note/Photo/attachment/${missing}?id=3`)).status).toBe(404);
  expect(copy.unknown).toContain('Note: 1 file without content in the replica');
});

test('serves the rows that the origin confirmed, and not the edits that wait', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull({ settings: twoWaySettings() });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  await using copy = await serve(fixture);

  expect(copy.store.rows('Note')).toEqual(fixture.sandbox.store.rows('Note'));
});

test.each([
  ['an empty required value', { Title: null }, 'Cannot insert empty value into column "Title"'],
  ['a value that another row has', { Title: 'x', Code: 'c1' }, 'Cannot insert duplicate value "c1" into column "Code"'],
  ['a text beyond the width', { Title: 'x'.repeat(21) }, 'Text exceeds maximum length of 20 characters'],
  ['a value of another type', { Title: 'x', Due: 'tomorrow' }, 'The value for column "Due" is not of type Date'],
  ['a computed column, which is frozen', { Title: 'x', Total: 3 }, 'Column "Total" is read-only'],
])('refuses %s with the words of the origin', async (_what, cells, message) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  await using copy = await serve(fixture);

  const [theirs, ours] = await Promise.all([
    statusesOf(fixture.sandbox, 'Note/create.json', [cells]),
    statusesOf(copy, 'Note/create.json', [cells]),
  ]);

  expect(ours).toEqual(theirs);
  expect(ours).toMatchObject([{ errors: [{ message }] }]);
});

test('lets a row be edited and deleted only as far as it says itself', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.setRole({
    name: 'Own',
    canWrite: true,
    editOwnOnly: true,
    hiddenTables: [],
    hiddenColumns: [],
  });
  fixture.sandbox.store.update('Note', 2, { 'Record Owner': 'Someone Else <else@example.org>' });
  fixture.sandbox.store.changeUser({ role: 'Own' });
  await fixture.pull();
  await using copy = await serve(fixture);

  expect(
    await statusesOf(copy, 'Note/update.json', [
      { '@row.id': 1, Title: 'z' },
      { '@row.id': 2, Title: 'z' },
    ]),
  ).toMatchObject([{ status: 200 }, { status: 403 }]);
  expect(await json(copy, 'Note/delete.json?id=1&id=2')).toMatchObject([{ status: 200 }, { status: 403 }]);
  expect(await json(copy, 'Note/select.json?filter=%5BId%5D%3D%222%22')).toMatchObject([{ '@row.allow': '' }]);
});

test('goes on with ids and numbers that nothing has yet', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.sandbox.store.delete('Note', 3);
  await fixture.pull();
  await using copy = await serve(fixture);

  expect(await statusesOf(copy, 'Note/create.json', [{ Title: 'n' }])).toMatchObject([
    { status: 201, id: 7, key: '7' },
  ]);
});

test('lists what the origin refused, and what the replica does not know', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull({ settings: twoWaySettings() });
  fixture.execute(`INSERT INTO _rowsync_refusals (table_id, row_id, kind, column_name, reason, status, tries, since_ms)
    SELECT id, 1, 'update', 'Due', 'Due must be a working day', 400, 1, 0 FROM _rowsync_tables`);
  await using copy = await serve(fixture);

  expect(copy.rules).toEqual(['Note.Due: Due must be a working day (1 row)']);
  expect(copy.unknown).toEqual(['Note: computed there, and frozen here: Total']);
});

const FAMILY = [
  {
    name: 'Customer',
    columns: [
      { name: 'Name', type: 'Text', options: ['Required', 'Unique'] },
      { name: 'Mail', type: 'EMail' },
    ],
  },
  {
    name: 'Order',
    key: 'No',
    columns: [
      { name: 'No', type: 'Text' },
      { name: 'Customer', type: 'Text' },
      { name: 'Before', type: 'Text' },
    ],
  },
  {
    name: 'Line',
    columns: [
      { name: 'Belongs To', type: 'Text' },
      { name: 'Secret', type: 'Numeric' },
    ],
  },
] as const;

function family(): SandboxOptions['tables'] {
  const rows = [
    Array.from({ length: 40 }, (_, index) => ({ Name: `canary-${index}-name`, Mail: `canary-${index}@example.org` })),
    Array.from({ length: 40 }, (_, index) => ({
      No: `O-${index + 1}`,
      Customer: String(40 - index),
      Before: index === 0 ? null : `O-${index}`,
    })),
    Array.from({ length: 40 }, (_, index) => ({ 'Belongs To': `O-${40 - index}`, Secret: 987_654_321 + index })),
  ];
  return FAMILY.map((table, index) => ({ ...table, rows: rows[index] }));
}

test('takes the latest rows of each table, with every row that they refer to', async () => {
  await using fixture = await startFixture({ tables: family() });
  await fixture.pull();
  await using copy = await serve(fixture, { rows: 3 });

  expect(copy.store.ids('Line')).toEqual([38, 39, 40]);
  // Lines 38 to 40 belong to the orders 3, 2 and 1; each order refers to the one before it, down to the first.
  const orders = copy.store.rows('Order');
  expect(orders.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  const customers = new Set(copy.store.rows('Customer').map(({ values }) => values['Id']));
  expect(orders.every(({ values }) => customers.has(values['Customer'] ?? null))).toBe(true);
});

test('leaves no byte of a masked column in the store, and keeps unique and required columns so', async () => {
  await using fixture = await startFixture({ tables: family() });
  await fixture.pull();
  await using copy = await serve(fixture, { masks: ['Customer.*', '*.secret'] });

  expect(copy.store.rows('Customer')[1]?.values).toMatchObject({
    Id: '2',
    Name: 'Name 2',
    Mail: 'row2@example.invalid',
  });
  expect(copy.store.rows('Line')[0]?.values).toMatchObject({ Secret: null });
  for (const ending of ['', '-wal']) {
    const bytes = readFileSync(copy.store.path + ending);
    expect(bytes.includes('canary')).toBe(false);
  }
});

test.each([
  ['fits no column', ['Customer.Nmae'], 'No column is called Customer.Nmae'],
  ['is of a key', ['Customer.Id'], 'Customer.Id is a key'],
])('refuses a mask that %s', async (_what, masks, message) => {
  await using fixture = await startFixture({ tables: family() });
  await fixture.pull();

  await expect(serve(fixture, { masks })).rejects.toMatchObject({
    code: 'sandbox.option',
    message: expect.stringContaining(message) as string,
  });
});

test('is what --data points to where its file is a replica', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();

  await expect(startTestSandbox({ dataPath: fixture.path })).rejects.toMatchObject({
    code: 'sandbox.data',
    hint: expect.stringContaining(`rowsync sandbox --replica ${fixture.path}`) as string,
  });
});

test('refuses a file that is no replica, with a hint at --data', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });

  await expect(startTestSandbox({ replica: { path: fixture.sandbox.store.path } })).rejects.toMatchObject({
    code: 'sandbox.data',
    hint: expect.stringContaining('--data') as string,
  });
});

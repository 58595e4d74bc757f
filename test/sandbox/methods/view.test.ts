import { expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const people: TableSpec = {
  name: 'Person',
  columns: [
    { name: 'Name', type: 'Text' },
    { name: 'Team', type: 'Text' },
    { name: 'Age', type: 'Numeric', displayOptions: [] },
  ],
  views: [
    { name: 'Old / Crew', columns: ['Age', 'Name'], filter: '[Age] >= 30', sort: ['Age//DESC'], actions: ['View'] },
    { name: 'By Team', groups: ['Team//EQ'], sort: ['Name'] },
    { name: 'Picker', type: 'RecordPicker', columns: ['Name'], showInMenu: false },
    { name: 'Search', type: 'SearchView', roles: ['Staff'] },
  ],
  rows: [
    { Name: 'Cid', Team: 'b', Age: 30 },
    { Name: 'ann', Team: 'a', Age: 4 },
    { Name: 'Bob', Team: 'b', Age: 40 },
    { Name: 'Dot', Team: 'a', Age: 200 },
  ],
};

type Json = Readonly<Record<string, unknown>>;

async function rows(sandbox: TestSandbox, path: string): Promise<readonly Json[]> {
  const answer = await call(sandbox, path);
  expect(answer).toMatchObject({ status: 200 });
  return JSON.parse(answer.text) as readonly Json[];
}

async function views(sandbox: TestSandbox): Promise<readonly Json[]> {
  const answer = await call(sandbox, 'Person/describe.json');
  return (JSON.parse(answer.text) as { views: readonly Json[] }).views;
}

const OLD = 'Person/Old%20%252F%20Crew/select.json';

test('describes views, with columns and groups where the view names some', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect(await views(sandbox)).toEqual([
    {
      id: 730_247,
      type: 'Table',
      name: 'List All Persons',
      alias: 'v_730247',
      showInMenu: true,
      actions: 'Add, Edit, View, Delete',
    },
    {
      id: 730_248,
      type: 'Table',
      name: 'Old / Crew',
      alias: 'v_730248',
      showInMenu: true,
      actions: 'View',
      columns: ['Age', 'Name'],
    },
    {
      id: 730_249,
      type: 'Table',
      name: 'By Team',
      alias: 'v_730249',
      showInMenu: true,
      actions: 'Add, Edit, View, Delete',
      groups: ['Team//EQ'],
    },
    {
      id: 730_250,
      type: 'RecordPicker',
      name: 'Picker',
      alias: 'v_730250',
      showInMenu: false,
      actions: 'Add, Edit, View, Delete',
      columns: ['Name'],
    },
  ]);
});

test('describes views in XML with singular items in plural wrappers', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const { text } = await call(sandbox, 'Person/describe.xml');

  expect(text).toContain('<name>Old / Crew</name><alias>v_730248</alias><showInMenu>true</showInMenu>');
  expect(text).toContain('<columns><column>Age</column><column>Name</column></columns></view>');
});

test('selects what a view shows: its columns, rows and order', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const answer = await call(sandbox, OLD);

  expect(answer.text).toBe(
    '[{"@row.id":4,"@row.allow":"Edit, Delete","Age":200,"Name":"Dot"},' +
      '{"@row.id":3,"@row.allow":"Edit, Delete","Age":40,"Name":"Bob"},' +
      '{"@row.id":1,"@row.allow":"Edit, Delete","Age":30,"Name":"Cid"}]',
  );
});

test('selects a view in XML', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const { text } = await call(sandbox, `${OLD.replace('.json', '.xml')}?top=1`);

  expect(text).toMatch(
    /<Response [^>]*><row id="4" allow="Edit Delete"><Age>200.000000<\/Age><Name>Dot<\/Name><\/row><\/Response>$/,
  );
});

test.each(['Person/v_730248/select.json', 'Person/OLD%20%2F%20crew/select.json', 't_115442/V_730248/select.json'])(
  'finds a view as %s',
  async (path) => {
    await using sandbox = await startTestSandbox({ tables: [people] });

    expect(await rows(sandbox, path)).toHaveLength(3);
  },
);

test('applies the request’s filter on top of the view’s, and pages after both', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const filter = encodeURIComponent('[Team] = "b"');

  expect((await rows(sandbox, `${OLD}?filter=${filter}`)).map((row) => row['Name'])).toEqual(['Bob', 'Cid']);
  expect((await rows(sandbox, `${OLD}?filter=${filter}&skip=1&top=1`)).map((row) => row['Name'])).toEqual(['Cid']);
});

test('ignores columns and sort of the request, even where they make no sense', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect((await call(sandbox, `${OLD}?column=Nope&sort=Nope&column=Team`)).text).toBe((await call(sandbox, OLD)).text);
});

test('shows the columns of views by default where the view names none, in groups', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const found = await rows(sandbox, 'Person/By%20Team/select.json');

  expect(found.map((row) => row['Name'])).toEqual(['ann', 'Dot', 'Bob', 'Cid']);
  expect(Object.keys(found[0] ?? {})).toEqual([
    '@row.id',
    '@row.allow',
    'Id',
    'Name',
    'Team',
    'Record Owner',
    'Team//EQ',
  ]);
  expect(found.map((row) => row['Team//EQ'])).toEqual(['a', 'a', 'b', 'b']);
});

test.each([
  ['does not exist', 'Person/Nope/select.json', 'Nope'],
  ['belongs to another role', 'Person/Search/select.json', 'Search'],
  ['is asked for in the place of the table', 'Person/Person/select.json', 'Person'],
])('refuses a view that %s: 403 with code 3200 and its name', async (_what, path, source) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const answer = await call(sandbox, path);

  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text)).toEqual({ error: 403, code: 3200, message: 'View does not exist', source });
});

test('shows a role its own views, and of all views only the columns that it may see', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });
  sandbox.store.setRole({ name: 'Staff', canWrite: false, hiddenTables: [], hiddenColumns: [['Person', 'Age']] });

  sandbox.store.changeUser({ role: 'Staff' });

  expect((await views(sandbox)).map(({ name }) => name)).toContain('Search');
  expect((await views(sandbox))[1]).toMatchObject({ columns: ['Name'] });
  expect((await rows(sandbox, OLD)).map((row) => row['Name'])).toEqual(['Dot', 'Bob', 'Cid']);
  expect((await rows(sandbox, OLD))[0]).not.toHaveProperty('Age');
  expect(await rows(sandbox, 'Person/Search/select.json')).toHaveLength(4);
  expect(await call(sandbox, `${OLD}?filter=[Age]%3E1`)).toMatchObject({ status: 400 });
});

test('follows renamed and dropped columns, and says so where the filter cannot', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  sandbox.store.renameColumn('Person', 'Name', 'Called');
  expect((await rows(sandbox, OLD))[0]).toMatchObject({ Called: 'Dot' });
  sandbox.store.dropColumn('Person', 'Called');
  expect(Object.keys((await rows(sandbox, OLD))[0] ?? {})).toEqual(['@row.id', '@row.allow', 'Age']);
  sandbox.store.dropColumn('Person', 'Age');
  const answer = await call(sandbox, OLD);

  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 2200, source: 'Old / Crew' });
  expect(answer.text).not.toContain('>= 30');
});

test('answers a view with an ETag', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });
  const { etag = '' } = (await call(sandbox, OLD)).headers;

  expect(await call(sandbox, OLD, { headers: { 'If-None-Match': etag } })).toMatchObject({ status: 304 });
  sandbox.store.update('Person', 2, { Age: 31 });
  expect(await call(sandbox, OLD, { headers: { 'If-None-Match': etag } })).toMatchObject({ status: 200 });
});

test('has views in the sample data', async () => {
  await using sandbox = await startTestSandbox();

  const preferred = await rows(sandbox, 'Customer/Preferred%20%252F%20by%20Segment/select.json?top=500');
  const unpaid = await rows(sandbox, 'Order/Unpaid%20Orders/select.json');

  const segments = preferred.map((row) => row['Segment'] as string | null).map((segment) => segment ?? '');
  expect(segments).toEqual(segments.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(preferred.length).toBeGreaterThan(50);
  expect(Object.keys(unpaid[0] ?? {}).slice(2)).toEqual([
    'Order No.',
    'Customer Name',
    'Ordered At',
    'Shipping Fee',
    'Status',
  ]);
  expect(await rows(sandbox, 'Order/Late%20Today/select.json?top=3')).toHaveLength(3);
});

test.each(['Default%20View', 'List%20All', 'list%20all%20persons'])(
  'answers to %s with the automatic view',
  async (name) => {
    await using sandbox = await startTestSandbox({ tables: [people] });

    expect(await rows(sandbox, `Person/${name}/select.json`)).toHaveLength(4);
  },
);

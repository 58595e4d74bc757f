/** Rows that are asked for by id: which the origin has, and which of them match the filter of their table. */
import { expect, test } from 'vitest';
import type { PullSettings } from '../../src/pull/context.ts';
import { findRows, type RequestedRows } from '../../src/pull/rows-by-id.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { preparedTable, startFixture, type Fixture } from '../support/replica.ts';

const NOTE: TableSpec = {
  name: 'Note',
  key: 'Code',
  systemColumns: false,
  columns: [
    { name: 'Code', type: 'Text' },
    { name: 'Status', type: 'Text' },
    { name: 'Done', type: 'Checkbox' },
  ],
  rows: Array.from({ length: 8 }, (_, index) => ({
    Code: `c${index + 1}`,
    Status: index < 4 ? 'Open' : 'Closed',
    Done: true,
  })),
};

const OPEN = { tableOptions: () => ({ sort: null, rows: '[Status] = "Open"' }) };

/** The pulled table, without the requests until now. */
async function start(settings: Partial<PullSettings> = {}, table: TableSpec = NOTE): Promise<Fixture> {
  const fixture = await startFixture({ tables: [table] }, { settings });
  await fixture.pull();
  fixture.sandbox.requests.clear();
  return fixture;
}

/** What is found, batch by batch; each row of the page by its id, and with its status where that is here. */
async function find(
  fixture: Fixture,
  ids: readonly number[],
  pageRows?: number,
): Promise<readonly (Pick<RequestedRows, 'outside' | 'gone'> & { readonly rows: readonly number[] })[]> {
  const context = fixture.context();
  const table = await preparedTable(fixture, context);
  const found = [];
  for await (const { page, outside, gone } of findRows(
    { context, table: { ...table, pageRows: pageRows ?? table.pageRows } },
    ids,
  )) {
    expect(page.rows.every(({ values }) => values.length === table.shapes.length)).toBe(true);
    found.push({ rows: page.ids, outside, gone });
  }
  return found;
}

/** Methods that were asked, in order. */
function asked({ sandbox }: Fixture): readonly string[] {
  return sandbox.requests.all.map(({ method }) => method);
}

test('without a filter, one request tells the rows from those that are gone', async () => {
  await using fixture = await start();
  fixture.sandbox.store.delete('Note', 2);

  expect(await find(fixture, [1, 2, 5, 99])).toEqual([{ rows: [1, 5], outside: [], gone: [2, 99] }]);
  expect(asked(fixture)).toEqual(['retrieve']);
});

test('with a filter, a row outside of it is told from one that is gone', async () => {
  await using fixture = await start(OPEN);
  fixture.sandbox.store.delete('Note', 2);
  fixture.sandbox.store.update('Note', 3, { Status: 'Closed' });

  expect(await find(fixture, [1, 2, 3, 4])).toEqual([{ rows: [1, 4], outside: [3], gone: [2] }]);
  expect(asked(fixture)).toEqual(['retrieve', 'select']);
});

test('where no row is left, nothing is asked under the filter', async () => {
  await using fixture = await start(OPEN);
  fixture.sandbox.store.delete('Note', 2);

  expect(await find(fixture, [2])).toEqual([{ rows: [], outside: [], gone: [2] }]);
  expect(asked(fixture)).toEqual(['retrieve']);
});

test.each([
  ['is deleted', (fixture: Fixture) => fixture.sandbox.store.delete('Note', 1), [2], [1]],
  ['leaves the filter', (fixture: Fixture) => fixture.sandbox.store.update('Note', 1, { Status: 'x' }), [2], [1]],
  [
    'enters the filter',
    (fixture: Fixture) => fixture.sandbox.store.update('Note', 5, { Status: 'Open' }),
    [1, 2, 5],
    [],
  ],
] as const)('of a row that %s between the two requests, the second says what it is', async (...testCase) => {
  const [, change, rows, outside] = testCase;
  await using fixture = await start(OPEN);
  fixture.sandbox.before(1, () => change(fixture), { method: 'select' });

  expect(await find(fixture, outside.length > 0 ? [1, 2] : [1, 2, 5])).toEqual([{ rows, outside, gone: [] }]);
});

test('a row without a key is neither outside nor gone', async () => {
  await using fixture = await start(OPEN);
  fixture.sandbox.store.update('Note', 2, { Code: null, Status: 'Closed' });

  expect(await find(fixture, [1, 2])).toEqual([{ rows: [1], outside: [], gone: [] }]);
});

test.each([
  ['none of them', [7], []],
  ['one of them and another one', [1, 7], [1]],
])('an answer with %s takes no row away, and brings no other one', async (_what, answered, rows) => {
  await using fixture = await start(OPEN);
  const texts = answered.map(
    (id) => `{"@row.id":${id},"@row.allow":"Edit","Code":"c${id}","Status":"Open","Done":true}`,
  );
  const headers = { 'Content-Type': 'application/json' };
  fixture.sandbox.answerInstead(1, { status: 200, headers, body: `[${texts.join(',')}]` }, { method: 'select' });

  expect(await find(fixture, [1, 2])).toEqual([{ rows, outside: [], gone: [] }]);
});

test('keys that do not fit into one filter are asked for in several', async () => {
  const rows = Array.from({ length: 8 }, (_, index) => ({ Code: `${index}${'é'.repeat(600)}`, Status: 'Open' }));
  await using fixture = await start(OPEN, { ...NOTE, rows });
  fixture.sandbox.store.update('Note', 3, { Status: 'Closed' });
  fixture.sandbox.store.update('Note', 8, { Status: 'Closed' });

  expect(await find(fixture, [1, 2, 3, 4, 5, 6, 7, 8])).toEqual([
    { rows: [1, 2, 4, 5, 6, 7], outside: [3, 8], gone: [] },
  ]);
  expect(asked(fixture).filter((method) => method === 'select').length).toBeGreaterThan(1);
});

test('ids that the origin never gives are gone without a request, before the others', async () => {
  await using fixture = await start();

  expect(await find(fixture, [-7, 0])).toEqual([{ rows: [], outside: [], gone: [-7, 0] }]);
  expect(asked(fixture)).toEqual([]);
  expect(await find(fixture, [3, -1])).toEqual([
    { rows: [], outside: [], gone: [-1] },
    { rows: [3], outside: [], gone: [] },
  ]);
});

test('where larger answers did not fit, fewer rows are asked for at a time', async () => {
  await using fixture = await start();

  const found = await find(fixture, [1, 2, 3, 4, 5], 2);

  expect(found.map(({ rows }) => rows)).toEqual([[1, 2], [3, 4], [5]]);
});

test.each([
  ['without a filter', {}],
  ['with a filter', OPEN],
])('a row that cannot be read is neither outside nor gone, %s', async (_what, settings) => {
  await using fixture = await start(settings);
  fixture.rewrite = (body) => body.replace(/"Done": ?true/, '"Done":"maybe"');

  expect(await find(fixture, [1, 2, 99])).toEqual([{ rows: expect.any(Array) as unknown, outside: [], gone: [99] }]);
  const context = fixture.context();
  for await (const { page } of findRows({ context, table: await preparedTable(fixture, context) }, [1, 2])) {
    expect([page.unreadable.map(({ id, column }) => [id, column]), new Set(page.ids)]).toEqual([
      [[1, 'Done']],
      new Set([1, 2]),
    ]);
  }
});

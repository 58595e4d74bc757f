import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';

import { etagOf, PageCache, type RenderedPage } from '../../../src/sandbox/server/page-cache.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { Store } from '../../../src/sandbox/store/store.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, type RawAnswer } from '../client.ts';

const tables: readonly TableSpec[] = [
  { name: 'Customer', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'a' }, { Name: 'b' }] },
  {
    name: 'Order',
    columns: [
      { name: 'Customer', type: 'Text' },
      { name: 'Note', type: 'Text' },
      {
        name: 'Customer Name',
        type: 'Text',
        computed: { how: 'lookup', reference: 'Customer', table: 'Customer', column: 'Name' },
      },
    ],
    rows: [{ Customer: '1', Note: 'x' }, { Customer: '2' }, { Customer: '2' }],
  },
];

function conditional(sandbox: TestSandbox, path: string, etag: string | undefined): Promise<RawAnswer> {
  return call(sandbox, path, { headers: { 'If-None-Match': etag ?? '' } });
}

/** The statuses of a conditional request before and after a change. */
async function statuses(path: string, change: (sandbox: TestSandbox) => unknown): Promise<readonly number[]> {
  await using sandbox = await startTestSandbox({ tables });
  const { etag } = (await call(sandbox, path)).headers;
  const before = await conditional(sandbox, path, etag);
  await change(sandbox);
  const after = await conditional(sandbox, path, etag);
  return [before.status, after.status];
}

// Specification, sandbox: 4.10-1, 4.10-4, 4.10-5
test.each(['describe.json', 'user.json', 'Order/describe.json', 'Order/select.json', 'Order/retrieve.json?id=1'])(
  'answers %s with an ETag, and a repeat with 304 and nothing else',
  async (path) => {
    await using sandbox = await startTestSandbox({ tables });

    const first = await call(sandbox, path);
    const again = await conditional(sandbox, path, first.headers['etag']);

    expect(first.headers['etag']).toMatch(/^"[!#-~]+"$/);
    expect(first.headers['cache-control']).toBe('private, must-revalidate, max-age=0');
    expect(first.headers['date']).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers).toMatchObject({
      etag: first.headers['etag'],
      'cache-control': 'private, must-revalidate, max-age=0',
      date: expect.any(String) as string,
    });
    expect(again.headers['content-type']).toBeUndefined();
  },
);

test('answers failures without an ETag', async () => {
  await using sandbox = await startTestSandbox({ tables });

  const answer = await call(sandbox, 'Order/select.json?top=0', { headers: { 'If-None-Match': '*' } });

  expect(answer.status).toBe(400);
  expect(answer.headers['etag']).toBeUndefined();
  expect(answer.headers['cache-control']).toBe('no-cache');
});

// Specification, sandbox: 4.10-6
test.each([
  ['an edit of a shown cell', (sandbox: TestSandbox) => sandbox.store.update('Order', 1, { Note: 'y' }), 200],
  ['an edit of a cell that is not shown', (s: TestSandbox) => s.store.update('Order', 1, { Customer: '2' }), 304],
  ['an edit that changes nothing', (s: TestSandbox) => s.store.update('Order', 1, { Note: 'x' }), 304],
  ['an insert on the page', (s: TestSandbox) => s.store.insert('Order', { Note: 'z' }), 200],
  ['a delete', (s: TestSandbox) => s.store.delete('Order', 2), 200],
  [
    'an edit and its reverse',
    (s: TestSandbox) => {
      s.store.update('Order', 1, { Note: 'y' });
      s.store.update('Order', 1, { Note: 'x' });
    },
    304,
  ],
  ['a change in another table', (s: TestSandbox) => s.store.insert('Customer', {}), 304],
  [
    'another zone of the user, where no time is shown',
    (s: TestSandbox) => s.store.changeUser({ timezone: 'UTC' }),
    304,
  ],
  [
    'rights that are lost',
    (s: TestSandbox) => {
      s.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
      s.store.changeUser({ role: 'Reader' });
    },
    200,
  ],
  ['a renamed column', (s: TestSandbox) => s.store.renameColumn('Order', 'Note', 'Remark'), 400],
  ['an added column', (s: TestSandbox) => s.store.addColumn('Order', { name: 'More', type: 'Text' }), 304],
])('moves the ETag of a page exactly if its bytes change: %s', async (_what, change, status) => {
  expect(await statuses('Order/select.json?column=Note', change)).toEqual([304, status]);
});

test('moves the ETag of a page that shows another table’s value', async () => {
  const path = 'Order/select.json?column=Customer%20Name';

  expect(await statuses(path, ({ store }) => store.update('Customer', 2, { Name: 'new' }))).toEqual([304, 200]);
  expect(await statuses(path, ({ store }) => store.insert('Customer', { Name: 'third' }))).toEqual([304, 304]);
});

test('leaves the ETags of pages alone that a change did not reach', async () => {
  const change = ({ store }: TestSandbox): unknown => store.update('Order', 3, { Note: 'y' });

  expect(await statuses('Order/select.json?top=2', change)).toEqual([304, 304]);
  expect(await statuses('Order/select.json?top=2&skip=1', change)).toEqual([304, 200]);
});

test('moves the ETag of a timestamp column with the zone of the user', async () => {
  const path = 'Order/select.json?column=Date%20Created';

  expect(await statuses(path, ({ store }) => store.changeUser({ timezone: 'America/New_York' }))).toEqual([304, 200]);
});

test('moves the ETags of descriptions with the schema', async () => {
  const addTable = ({ store }: TestSandbox): unknown => store.addTable({ name: 'New', columns: [] });
  const addColumn = ({ store }: TestSandbox): unknown => store.addColumn('Order', { name: 'More', type: 'Text' });

  expect(await statuses('describe.json', addTable)).toEqual([304, 200]);
  expect(await statuses('Order/describe.json', addTable)).toEqual([304, 304]);
  expect(await statuses('Order/describe.json', addColumn)).toEqual([304, 200]);
  expect(await statuses('user.json', ({ store }) => store.changeUser({ id: 7 }))).toEqual([304, 200]);
});

test.each([
  ['a list that names it', (etag: string) => `"x", ${etag}`, 304],
  ['its weak form', (etag: string) => `W/${etag}`, 304],
  ['a star', () => '*', 304],
  ['another tag', () => '"x"', 200],
])('compares If-None-Match with %s', async (_what, header, status) => {
  await using sandbox = await startTestSandbox({ tables });
  const { etag = '' } = (await call(sandbox, 'Order/select.json')).headers;

  expect(await conditional(sandbox, 'Order/select.json', header(etag))).toMatchObject({ status });
});

test('answers If-Modified-Since alone with the whole page', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const headers = { 'If-Modified-Since': 'Wed, 01 Jan 2098 00:00:00 GMT' };

  expect(await call(sandbox, 'Order/select.json', { headers })).toMatchObject({ status: 200 });
});

test('renders an unchanged page once, whoever asks for it again', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const reads = vi.spyOn(Store.prototype, 'readRows');
  const path = 'Order/select.json';
  const { etag } = (await call(sandbox, path)).headers;
  const readsBefore = reads.mock.calls.length;

  await conditional(sandbox, path, etag);
  await call(sandbox, path);
  await call(sandbox, path, { headers: { 'Accept-Encoding': 'gzip' } });
  const readsUnchanged = reads.mock.calls.length;
  sandbox.store.update('Order', 1, { Note: 'y' });
  await conditional(sandbox, path, etag);

  expect(readsBefore).toBe(1);
  expect(readsUnchanged).toBe(1);
  expect(reads.mock.calls).toHaveLength(2);
  reads.mockRestore();
});

test('keeps the pages of two users apart', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const path = 'Order/select.json?column=Date%20Created&top=1';
  const first = await call(sandbox, path);
  const colleague = {
    email: 'b@example.com',
    password: 'b',
    firstName: 'B',
    lastName: 'B',
    role: 'Staff',
    culture: 'en-US',
    timezone: 'Asia/Kathmandu',
    admin: [],
  };
  sandbox.store.addUsers(colleague);

  const second = await call(sandbox, path, { authorization: `Basic ${btoa('b@example.com:b')}` });

  expect(first.text).toMatch(/\+0[12]:00"/);
  expect(second.text).toMatch(/\+05:45"/);
});

test('gives the same bytes the same ETag after a restart', async () => {
  const clock = testClock();
  const etags: (string | undefined)[] = [];
  for (let start = 0; start < 2; start += 1) {
    await using sandbox = await startTestSandbox({ tables, clock });
    etags.push((await call(sandbox, 'Order/select.json')).headers['etag']);
  }

  expect(etags[0]).toBe(etags[1]);
});

test('follows edits that another SQLite client makes in the store', async () => {
  const edit = ({ store }: TestSandbox): void => {
    const client = new Database(store.path);
    client.exec(`UPDATE "Order" SET "Note" = 'by hand' WHERE _sandbox_row = 1`);
    client.close();
  };

  expect(await statuses('Order/select.json?sort=Note', edit)).toEqual([304, 200]);
});

function page(text: string): RenderedPage {
  const body = Buffer.from(text);
  return { etag: etagOf(body), contentType: 'text/plain', body, gzip: null };
}

test('the page cache forgets bodies above its bound, the least used first, and keeps their ETags', () => {
  const cache = new PageCache(() => 'v1', 10);
  cache.keep('a', { tableIds: [] }, page('aaaa'));
  cache.keep('b', { tableIds: [] }, page('bbbb'));
  cache.page('a');

  cache.keep('c', { tableIds: [] }, page('cccc'));

  expect(cache.page('a')?.body.toString()).toBe('aaaa');
  expect(cache.page('b')).toBeUndefined();
  expect(cache.etag('b')).toBe(page('bbbb').etag);
  expect(cache.page('c')?.body.toString()).toBe('cccc');
});

test('the page cache counts compressed bodies, and drops none that is not there', () => {
  const cache = new PageCache(() => 'v1', 10);
  const [first, second] = [page('aaaa'), page('bbbb')];
  cache.keep('a', { tableIds: [] }, first);
  cache.keep('b', { tableIds: [] }, second);

  cache.keepGzip('b', second, Buffer.from('zzzz'));
  cache.keepGzip('a', first, Buffer.from('zzzz'));

  expect(cache.page('a')).toBeUndefined();
  expect(cache.page('b')?.gzip?.toString()).toBe('zzzz');
  expect(first.gzip).toBeNull();
});

test('the page cache knows nothing once a version moves', () => {
  let version = 'v1';
  const cache = new PageCache(() => version);
  cache.keep('a', { tableIds: [1] }, page('aaaa'));

  version = 'v2';

  expect(cache.page('a')).toBeUndefined();
  expect(cache.etag('a')).toBeUndefined();
});

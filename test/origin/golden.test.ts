/**
 * The client against answers of another hand: bytes written from the specification, sent by a plain socket. It shares no code with the server, so
 * that a mistake in src/wire cannot be made on both sides.
 */
import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import { testClock } from '../support/clock.ts';
import { http, startFaultServer } from '../support/fault-server.ts';

const TEST = { name: 'Test', alias: 't_1' };
const FILE = { table: TEST, column: { name: 'My File', alias: 'f_9' }, record: { id: 5 } };
const NAME = { name: 'Name', type: 'Text' } as const;
const PAGE = { table: TEST, columns: [NAME], query: { columns: ['*'], sort: [] } };
const ROOT = '/secure/api/v2/21995';
const KEPT = { 'Cache-Control': 'private, must-revalidate, max-age=0', ETag: '"e1"' };
const RESPONSE = '<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">';

function open(url: string, settings: Partial<OriginSettings> = {}): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin(
    { url, database: '21995', credentials, ...settings },
    { clock: testClock(), log: silentLogger },
  );
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

const typeOf = (format: 'json' | 'xml'): string => (format === 'json' ? 'application/json' : 'text/xml');

describe('rows', () => {
  test.each([
    [
      'fields @row.* that no specification names, such as the color of a row',
      'json',
      '[{"@row.id":1,"@row.allow":"Edit,Delete","@row.color":"#FF0000","Name":"a"},' +
        '{"@row.id":2,"@row.allow":"","@row.color":null,"@row.later":{"x":[1]},"Name":"b"}]',
    ],
    [
      'attributes of <row> that no specification names',
      'xml',
      `${RESPONSE}<row id="1" allow="Edit Delete" color="#FF0000"><Name>a</Name></row>` +
        '<row color="" i:later="x" id="2" allow=""><Name>b</Name></row></Response>',
    ],
  ] as const)('have %s, and come like all others', async (_what, format, document) => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': typeOf(format), ...KEPT }, document));
    await using origin = open(server.url, { format });

    const answer = await origin.select(PAGE);

    expect(answer).toMatchObject({
      kind: 'ok',
      value: {
        rows: [
          { id: 1, allow: 'Edit,Delete', values: ['a'] },
          { id: 2, allow: '', values: ['b'] },
        ],
        unreadable: [],
        ids: [1, 2],
      },
    });
  });

  test('are retrieved with `*` and another column', async () => {
    const document = '[{"@row.id":7,"@row.allow":"","Name":"a","Date Modified":"2026-07-01T14:05:07+02:00"}]';
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, document));
    await using origin = open(server.url);
    const columns = [NAME, { name: 'Date Modified', type: 'Timestamp' }] as const;

    const answer = await origin.retrieve({ table: TEST, columns, names: ['*', 'Date Modified'], ids: [7] });

    expect(server.requests[0]?.path).toBe(`${ROOT}/t_1/retrieve.json?column=*&column=Date%20Modified&id=7`);
    expect(answer).toMatchObject({ value: { rows: [{ id: 7, values: ['a', '2026-07-01T12:05:07Z'] }] } });
  });

  test('are sorted by the name of a column, with the order behind two slashes', async () => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, '[]'));
    await using origin = open(server.url);
    const sort = [{ column: 'Name' }, { column: 'Date Modified', descending: true }];

    await origin.select({ ...PAGE, query: { columns: ['Name'], sort, top: 10, skip: 20 } });

    expect(server.requests[0]?.path).toBe(
      `${ROOT}/t_1/select.json?column=Name&sort=Name&sort=Date%20Modified%2F%2FDESC&top=10&skip=20`,
    );
  });
});

describe('descriptors', () => {
  test.each([
    [0, null],
    [40, 40],
    ['"wide"', null],
  ])('the width %s is the limit %s', async (sent, width) => {
    const column = `{"id":2,"name":"Name","alias":"f_2","type":"Text","dataOptions":"","displayOptions":"","width":${sent}}`;
    const document =
      `{"id":1,"recordName":"Test","recordsName":"Tests","alias":"t_1","showTab":true,"color":"#0061B0",` +
      `"allowAdd":true,"key":"Name","columns":[${column}],"views":[]}`;
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, document));
    await using origin = open(server.url);

    expect(await origin.describeTable(TEST)).toMatchObject({ value: { columns: [{ name: 'Name', width }] } });
  });
});

describe('conditional requests', () => {
  test.each<[string, (origin: Origin, etag: string) => Promise<unknown>]>([
    ['describe.xml', (origin, etag) => origin.describeDatabase({ etag })],
    ['user.xml', (origin, etag) => origin.user({ etag })],
    ['t_1/describe.xml', (origin, etag) => origin.describeTable(TEST, { etag })],
    ['t_1/select.xml?column=*', (origin, etag) => origin.select(PAGE, { etag })],
    ['t_1/f_9/attachments.xml?id=5', (origin, etag) => origin.attachments(FILE, { etag })],
  ])('%s with an ETag, answered 304 without a body, is not modified', async (path, ask) => {
    await using server = await startFaultServer(() => http(304, KEPT));
    await using origin = open(server.url, { format: 'xml' });

    const answer = await ask(origin, '"e1"');

    expect(server.requests).toMatchObject([{ path: `${ROOT}/${path}`, headers: { 'if-none-match': '"e1"' } }]);
    expect(answer).toEqual({ kind: 'notModified' });
  });
});

describe('files', () => {
  const HEADERS = {
    'Content-Disposition': `attachment; filename="a.txt"; filename*=UTF-8''%C3%A9.txt`,
    'X-Revision': '3',
    'Content-Type': 'text/plain',
    'Last-Modified': 'Wed, 01 Jul 2026 12:05:07 GMT',
    'X-Author': 'Ann Lee <ann@example.com>',
  };

  test('stand in the path under the alias of their column; a HEAD by id has no ETag', async () => {
    const headers = { ...HEADERS, 'Content-Length': '4096', 'Cache-Control': 'no-cache' };
    await using server = await startFaultServer(() => http(200, headers));
    await using origin = open(server.url);

    const answer = await origin.attachmentHeaders(FILE);

    expect(server.requests).toMatchObject([{ method: 'HEAD', path: `${ROOT}/t_1/f_9/attachment?id=5` }]);
    expect(answer).toMatchObject({
      kind: 'ok',
      etag: null,
      value: {
        name: 'é.txt',
        revision: 3,
        type: 'text/plain',
        length: 4096,
        author: 'Ann Lee <ann@example.com>',
        lastModifiedAt: '2026-07-01T12:05:07Z',
      },
    });
  });

  test('by key come with an ETag, by which they are asked for again', async () => {
    await using server = await startFaultServer((nth) =>
      nth === 1 ? http(200, { ...HEADERS, ...KEPT }, 'abc') : http(304, KEPT),
    );
    await using origin = open(server.url);
    const byKey = { ...FILE, record: { key: 'A 1' } };

    const first = await origin.attachment(byKey, () => undefined);
    const again = await origin.attachment(byKey, () => undefined, { etag: '"e1"' });

    expect(first).toMatchObject({ kind: 'ok', etag: '"e1"' });
    expect(again).toEqual({ kind: 'notModified' });
    expect(server.requests.map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => `${ROOT}/t_1/f_9/attachment?key=A%201`),
    );
    expect(server.requests[1]?.headers['if-none-match']).toBe('"e1"');
  });
});

describe('rights', () => {
  test.each(['create', 'upsert'] as const)(
    '%s with workflow=0, which the user may not say, is refused and not tried again',
    async (method) => {
      const document = '{"error":403,"code":0,"message":"You have no permission"}';
      await using server = await startFaultServer(() => http(403, { 'Content-Type': 'application/json' }, document));
      await using origin = open(server.url);
      const rows = [{ id: null, cells: [{ ...NAME, value: 'a' }] }];

      const refused: unknown = await origin[method]({ table: TEST, rows, zone: 'UTC', workflow: 'suppress' }).catch(
        (thrown: unknown) => thrown,
      );

      expect(refused).toMatchObject({ code: 'origin.forbidden' });
      expect(server.requests).toMatchObject([{ method: 'POST', path: `${ROOT}/t_1/${method}.json?workflow=0` }]);
    },
  );

  test('a password keeps its colons', async () => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, '[]'));
    await using origin = open(server.url, {
      credentials: { kind: 'basic', user: 'ann@example.com', password: 'p:a:ss:' },
    });

    await origin.select(PAGE);

    expect(server.requests[0]?.headers['authorization']).toBe('Basic YW5uQGV4YW1wbGUuY29tOnA6YTpzczo=');
  });
});

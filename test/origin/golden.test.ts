/**
 * The client against answers written by hand: bytes from the specification, sent by a plain socket. It shares no code
 * with the server, so that a mistake in src/wire cannot be made on both sides.
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
  // Specification, client: 2.5-5
  test.each([
    [
      'the color of a row, and fields @row.* that no specification names',
      'json',
      '[{"@row.id":1,"@row.allow":"Edit,Delete","@row.color":"#FF0000","Name":"a"},' +
        '{"@row.id":2,"@row.allow":"","@row.color":null,"@row.later":{"x":[1]},"Name":"b"}]',
    ],
    [
      'the color of a row, and attributes of <row> that no specification names',
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
          { id: 1, allow: 'Edit,Delete', color: '#FF0000', values: ['a'] },
          { id: 2, allow: '', values: ['b'] },
        ],
        unreadable: [],
        ids: [1, 2],
      },
    });
    expect(answer).not.toHaveProperty('value.rows.1.color');
  });

  // Specification, client: 2.1-5, 2.4-35, 4.5-1, 4.5-3, 4.5-7
  test('are retrieved with `*` and another column', async () => {
    const document = '[{"@row.id":7,"@row.allow":"","Name":"a","Date Modified":"2026-07-01T14:05:07+02:00"}]';
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, document));
    await using origin = open(server.url);
    const columns = [NAME, { name: 'Date Modified', type: 'Timestamp' }] as const;

    const answer = await origin.retrieve({ table: TEST, columns, names: ['*', 'Date Modified'], ids: [7] });

    expect(server.requests[0]?.path).toBe(`${ROOT}/t_1/retrieve.json?column=*&column=Date%20Modified&id=7`);
    expect(answer).toMatchObject({ value: { rows: [{ id: 7, values: ['a', '2026-07-01T12:05:07Z'] }] } });
  });

  // Specification, client: 4.4-7, 4.4-9, 4.4-10, 4.4-11, 4.4-14
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

describe('rows that are sent', () => {
  // Specification, client: 2.4-22
  test('have a User as name and e-mail, in XML', async () => {
    const document = `${RESPONSE}<row><status>200</status><id>7</id><key>7</key></row></Response>`;
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'text/xml' }, document));
    await using origin = open(server.url, { format: 'xml' });
    const rows = [{ id: 7, cells: [{ name: 'Boss', type: 'User', value: 'Ann Lee <ann@example.com>' }] }] as const;

    await origin.update({ table: TEST, rows, zone: 'UTC' });

    expect(server.requests[0]?.body.toString()).toBe(
      '<?xml version="1.0" encoding="utf-8"?><rows><row id="7">' +
        '<Boss>Ann Lee &lt;ann@example.com&gt;</Boss></row></rows>',
    );
  });
});

describe('descriptors', () => {
  // Specification, client: 2.3-8
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
  // Specification, client: 4.10-1, 4.10-5
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

  // Specification, client: 4.10-6
  test.each([
    ['json', '[{"@row.id":1,"@row.allow":"","Name":"new"}]'],
    ['xml', `${RESPONSE}<row id="1" allow=""><Name>new</Name></row></Response>`],
  ] as const)('what changed comes with its new ETag, in %s', async (format, document) => {
    const headers = { 'Content-Type': typeOf(format), ...KEPT, ETag: '"e2"' };
    await using server = await startFaultServer(() => http(200, headers, document));
    await using origin = open(server.url, { format });

    const answer = await origin.select(PAGE, { etag: '"e1"' });

    expect(server.requests[0]?.headers['if-none-match']).toBe('"e1"');
    expect(answer).toMatchObject({ kind: 'ok', etag: '"e2"', value: { rows: [{ id: 1, values: ['new'] }] } });
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

  // Specification, client: 2.1-4, 4.9-2, 4.9-10, 4.9-11, 4.9-12, 4.9-13, 4.9-14
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

  // Specification, client: 4.9-16, 4.10-3
  test('have no ETag that could be sent again where a HEAD by guid must not be kept', async () => {
    const headers = { ...HEADERS, 'Content-Length': '4096', 'Cache-Control': 'no-cache', ETag: '"e1"' };
    await using server = await startFaultServer(() => http(200, headers));
    await using origin = open(server.url);
    const guid = '6f9619ff-8b86-d011-b42d-00cf4fc964ff';

    const answer = await origin.attachmentHeaders({ ...FILE, version: { guid } });

    expect(server.requests).toMatchObject([{ method: 'HEAD', path: `${ROOT}/t_1/f_9/attachment/${guid}?id=5` }]);
    expect(answer).toMatchObject({ kind: 'ok', etag: null });
  });

  // Specification, client: 4.9-15
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
  // Specification, client: 4.6-2, 4.6-3, 7-2
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

  // Specification, client: 4.7-4
  test('delete with workflow=0, which the user may not say, is refused and not tried again', async () => {
    const document = '<Error><error>403</error><code>0</code><message>You have no permission</message></Error>';
    await using server = await startFaultServer(() => http(403, { 'Content-Type': 'text/xml' }, document));
    await using origin = open(server.url, { format: 'xml' });

    const refused: unknown = await origin
      .delete({ table: TEST, ids: [1], workflow: 'suppress' })
      .catch((thrown: unknown) => thrown);

    expect(refused).toMatchObject({ code: 'origin.forbidden' });
    expect(server.requests).toMatchObject([{ method: 'GET', path: `${ROOT}/t_1/delete.xml?id=1&workflow=0` }]);
  });

  // Specification, client: 5-4
  test('a password keeps its colons', async () => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'application/json' }, '[]'));
    await using origin = open(server.url, {
      credentials: { kind: 'basic', user: 'ann@example.com', password: 'p:a:ss:' },
    });

    await origin.select(PAGE);

    expect(server.requests[0]?.headers['authorization']).toBe('Basic YW5uQGV4YW1wbGUuY29tOnA6YTpzczo=');
  });
});

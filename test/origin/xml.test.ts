/** The client where answers are asked for in XML: the same methods, the same values, the same failures. */
import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { testClock } from '../support/clock.ts';
import { http, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';

const TEST = { name: 'Test', alias: 't_115442' };
const PAGE = { table: TEST, columns: golden.ROW_COLUMNS, query: { columns: ['*'], sort: [] } };

function open(url: string): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const settings = { url, database: '21995', credentials, format: 'xml' } as const;
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

function typed(body: string, type = 'text/xml;charset=utf-8', status = 200): Buffer {
  return http(status, { 'Content-Type': type, ETag: '"x1"' }, body);
}

/** The error of one select that is answered so every time, and how often it was asked. */
async function selectFrom(answer: FaultAnswer): Promise<{ error: unknown; requestCount: number }> {
  await using server = await startFaultServer(() => answer);
  await using origin = open(server.url);
  const error: unknown = await origin.select(PAGE).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, requestCount: server.requests.length };
}

describe('methods', () => {
  // Specification, client: 1-1, 2.2-1, 2.2-2, 2.2-3, 2.2-4, 2.2-5, 2.2-6, 2.2-7, 2.2-8, 2.3-1, 2.3-2, 2.3-3, 2.3-4
  // Specification, client: 2.3-5, 2.3-6, 2.3-7, 2.3-8, 2.3-9, 2.3-10, 2.3-11, 2.4-35, 2.4-36, 2.4-38, 2.4-39, 2.4-41
  // Specification, client: 2.4-42, 2.4-43, 2.4-44, 2.4-45, 2.4-46, 2.5-2, 2.5-4, 2.9-1, 2.9-2, 2.9-3, 4-2, 4.4-16
  // Specification, client: 4.5-6, 4.5-7
  // Specification, client: 4.4-3
  test.each<[string, string, string, unknown, (origin: Origin) => Promise<unknown>]>([
    ['describeDatabase', 'describe.xml', golden.DATABASE_XML, golden.DATABASE, (origin) => origin.describeDatabase()],
    ['describeTable', 't_115442/describe.xml', golden.TABLE_XML, golden.TABLE, (origin) => origin.describeTable(TEST)],
    ['user', 'user.xml', golden.USER_XML, golden.USER, (origin) => origin.user()],
    [
      'select',
      't_115442/select.xml?column=*',
      golden.ROWS_XML,
      { rows: golden.ROWS, unreadable: [], ids: [1, 2] },
      (origin) => origin.select(PAGE),
    ],
    [
      'retrieve',
      't_115442/retrieve.xml?column=*&id=2&id=1',
      golden.ROWS_XML,
      { rows: golden.ROWS, unreadable: [], ids: [1, 2] },
      (origin) => origin.retrieve({ ...PAGE, names: ['*'], ids: [2, 1] }),
    ],
  ])('%s asks by the extension and reads the document', async (_method, path, document, value, ask) => {
    await using server = await startFaultServer(() => typed(document));
    await using origin = open(server.url);

    const answer = await ask(origin);

    expect(answer).toMatchObject({ kind: 'ok', value, etag: '"x1"' });
    expect(server.requests.map((request) => request.path)).toEqual([`/secure/api/v2/21995/${path}`]);
    expect(server.requests[0]?.headers['accept']).toBe('text/xml');
  });

  // Specification, client: 2.4-40
  test('an empty element is an empty text, and only i:nil is null', async () => {
    const rows = '<row id="1"><A></A><B/><C i:nil="true"/></row>';
    const document = `<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">${rows}</Response>`;
    await using server = await startFaultServer(() => typed(document));
    await using origin = open(server.url);
    const columns = (['A', 'B', 'C'] as const).map((name) => ({ name, type: 'Text' }) as const);

    const answer = await origin.select({ ...PAGE, columns });

    expect(answer).toMatchObject({ value: { rows: [{ values: ['', '', null] }] } });
  });

  // Specification, client: 2.4-47
  test.each(['Size:_x0020_cm', 'Size_x003a__x0020_cm'])(
    'a colon in the name of a column is read from <%s>, whatever namespaces there are',
    async (tag) => {
      const row = `<row id="1"><${tag}>x</${tag}><i:B i:nil="true"/></row>`;
      const document = `<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">${row}</Response>`;
      await using server = await startFaultServer(() => typed(document));
      await using origin = open(server.url);
      const columns = (['Size: cm', 'i:B'] as const).map((name) => ({ name, type: 'Text' }) as const);

      const answer = await origin.select({ ...PAGE, columns });

      expect(answer).toMatchObject({ value: { rows: [{ values: ['x', null] }], unreadable: [] } });
    },
  );

  // Specification, client: 4.10-7
  test('the key of a page names the format', async () => {
    await using server = await startFaultServer(() => typed(golden.ROWS_XML));
    await using origin = open(server.url);

    expect(origin.selectUrl(TEST, PAGE.query)).toBe(`${server.url}/secure/api/v2/21995/t_115442/select.xml?column=*`);
    expect(origin.format).toBe('xml');
  });
});

describe('failures', () => {
  test.each([
    ['XML', golden.ERROR_XML, 'text/xml;charset=utf-8'],
    ['XML of another type', golden.ERROR_XML, 'application/xml'],
    ['JSON, as those give it that never ask for XML', golden.ERROR_JSON, 'application/json'],
  ])('are read in %s', async (_title, body, type) => {
    const { error, requestCount } = await selectFrom(typed(body, type, 403));

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.forbidden' });
    expect(error).toHaveProperty('message', expect.stringContaining('(code 3200), at "List All": View does not exist'));
    expect(requestCount).toBe(1);
  });

  test('are read in XML where JSON was asked for', async () => {
    await using server = await startFaultServer(() => typed(golden.ERROR_XML, 'text/xml', 403));
    const credentials = { kind: 'bearer', token: 'a-token' } as const;
    const settings = { url: server.url, database: '21995', credentials };
    const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });

    const error: unknown = await origin.user().catch((thrown: unknown) => thrown);
    await origin.close();

    expect(error).toHaveProperty('message', expect.stringContaining('View does not exist'));
  });

  test.each<[string, FaultAnswer, string, number]>([
    ['JSON', typed('[]', 'application/json'), 'origin.notApi', 1],
    ['JSON that calls itself XML', typed('[]'), 'origin.notApi', 1],
    ['a page', typed('<html><body>Sign in</body></html>', 'text/html'), 'origin.notApi', 1],
    ['a page that calls itself XML', typed('<!DOCTYPE html><html></html>'), 'origin.notApi', 1],
    ['a page of XHTML', typed('<html/>', 'application/xhtml+xml'), 'origin.notApi', 1],
    ['another document', typed('<feed/>'), 'origin.unexpected', 1],
    ['an error with status 200', typed(golden.ERROR_XML), 'origin.unexpected', 1],
    ['a document type', typed('<!ENTITY x "y"><Response/>'), 'origin.truncated', 6],
    ['half a document', typed(golden.ROWS_XML.slice(0, -20)), 'origin.truncated', 6],
    ['nothing', typed(''), 'origin.truncated', 6],
  ])('%s in place of rows', async (_title, answer, code, requestCount) => {
    const outcome = await selectFrom(answer);

    expect(outcome).toMatchObject({ error: { kind: 'wireFormat', code }, requestCount });
  });

  test('never quote a row', async () => {
    const { error } = await selectFrom(typed('<Response><row id="1"><A>Anna Bell</row></Response>'));

    expect(String(error)).toContain('not complete XML');
    expect(String(error)).not.toContain('Anna');
  });
});

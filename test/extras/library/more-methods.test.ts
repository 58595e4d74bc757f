/**
 * What callers of the library read that rowsync does not: a view, a range of time, the recycle bin, and rows by key.
 */
import { describe, expect, test } from 'vitest';
import { openOrigin } from '../../../src/extras/library/library.ts';
import { testClock } from '../../support/clock.ts';
import { http, json, startFaultServer } from '../../support/fault-server.ts';

const TABLE = { name: 'Customer', alias: 't_7' };
const ROOT = '/secure/api/v2/21995/t_7';
const COLUMNS = [{ name: 'Name', type: 'Text' }] as const;

function open(url: string, format: 'json' | 'xml') {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin({ url, database: '21995', credentials, format }, { clock: testClock() });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

function typed(format: 'json' | 'xml', text: string): Buffer {
  return http(200, { 'Content-Type': format === 'json' ? 'application/json' : 'text/xml' }, text);
}

test('selectView asks the view, and leaves out its rows of totals', async () => {
  await using server = await startFaultServer(() =>
    json([
      { '@row.id': 5, Name: 'x' },
      { '@row.type': 'Grand', Name: 'Sum' },
    ]),
  );
  await using origin = open(server.url, 'json');
  const view = { name: 'All/Open', alias: '' };

  const answer = await origin.selectView({
    table: TABLE,
    view,
    columns: COLUMNS,
    query: { filter: '[Name]="x"', top: 10, skip: 20 },
  });

  expect(server.requests[0]?.path).toBe(`${ROOT}/All%252FOpen/select.json?filter=%5BName%5D%3D%22x%22&top=10&skip=20`);
  expect(answer).toMatchObject({ value: { ids: [5], rows: [{ values: ['x'] }] } });
});

test('keyBatches keep every key in order and within the query string', async () => {
  await using origin = open('http://127.0.0.1:9', 'json');
  const keys = Array.from({ length: 900 }, (_, index) => `é${'x'.repeat(50)}${index}`);

  const batches = origin.keyBatches(keys, ['Name']);

  expect(batches.flat()).toEqual(keys);
  expect(batches.length).toBeGreaterThan(3);
  for (const batch of batches) {
    const bytes = batch.reduce((sum, key) => sum + `&key=${encodeURIComponent(key)}`.length, 'column=Name'.length);
    expect(bytes).toBeLessThanOrEqual(16_384);
  }
});

test('deleted gives what lies in the recycle bin, with the columns that are asked for', async () => {
  await using server = await startFaultServer(() =>
    json([{ '@row.id': 5, Name: 'x', deletedby: 'Ada <ada@example.com>', deleted: '2024-07-01T12:00:00.123+02:00' }]),
  );
  await using origin = open(server.url, 'json');

  const answer = await origin.deleted({ table: TABLE, columns: COLUMNS, from: '2024-07-01T00:00:00Z' });

  expect(server.requests[0]?.path).toBe(`${ROOT}/deleted.json?from=2024-07-01T00%3A00%3A00Z`);
  expect(answer).toMatchObject({
    value: [{ id: 5, deletedBy: 'Ada <ada@example.com>', deletedAt: '2024-07-01T10:00:00.123Z', values: ['x'] }],
  });
});

describe('updated', () => {
  test.each([
    [
      'json',
      '[{"@row.id":5,"key":"A1","created":"2024-07-01T12:00:00.5+02:00","modified":"2024-07-01T13:00:00.25+02:00"},' +
        '{"@row.id":6,"key":null,"created":null,"modified":"2024-07-01T01:00:00Z"}]',
    ],
    [
      'xml',
      '<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><row id="5"><key>A1</key>' +
        '<created>2024-07-01T12:00:00.5+02:00</created><modified>2024-07-01T13:00:00.25+02:00</modified></row>' +
        '<row id="6"><key i:nil="true"/><created i:nil="true"/><modified>2024-07-01T01:00:00Z</modified></row></Response>',
    ],
  ] as const)('gives rows with their times in UTC (%s)', async (format, text) => {
    await using server = await startFaultServer(() => typed(format, text));
    await using origin = open(server.url, format);

    const answer = await origin.updated({ table: TABLE, from: '2024-07-01T00:00:00Z', to: '2024-07-02T00:00:00Z' });

    expect(server.requests[0]?.path).toBe(
      `${ROOT}/updated.${format}?from=2024-07-01T00%3A00%3A00Z&to=2024-07-02T00%3A00%3A00Z`,
    );
    expect(answer).toMatchObject({
      value: [
        { id: 5, key: 'A1', createdAt: '2024-07-01T10:00:00.5Z', modifiedAt: '2024-07-01T11:00:00.25Z' },
        { id: 6, key: null, createdAt: null, modifiedAt: '2024-07-01T01:00:00Z' },
      ],
    });
  });

  test.each([
    ['a time that is none', '[{"@row.id":5,"key":"1","created":null,"modified":"yesterday"}]'],
    ['no time', '[{"@row.id":5,"key":"1","created":null,"modified":null}]'],
  ])('is whole or an error: %s', async (_title, text) => {
    await using server = await startFaultServer(() => typed('json', text));
    await using origin = open(server.url, 'json');

    await expect(origin.updated({ table: TABLE })).rejects.toMatchObject({ code: 'origin.unexpected' });
    expect(server.requests[0]?.path).toBe(`${ROOT}/updated.json`);
  });
});

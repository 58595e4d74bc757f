/** Rows by key, of a view, and of a range of time. */
import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer } from '../support/fault-server.ts';

const TABLE = { name: 'Customer', alias: 't_7' };
const ROOT = '/secure/api/v2/21995/t_7';
const COLUMNS = [{ name: 'Name', type: 'Text' }] as const;

function open(url: string, format: 'json' | 'xml' = 'json'): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const settings = { url, database: '21995', credentials, format };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

function typed(format: 'json' | 'xml', text: string): Buffer {
  return http(200, { 'Content-Type': format === 'json' ? 'application/json' : 'text/xml' }, text);
}

// Specification, client: 2.1-6, 4.5-2
test('retrieve asks by key', async () => {
  await using server = await startFaultServer(() => json([{ '@row.id': 5, Name: 'x' }]));
  await using origin = open(server.url);

  const answer = await origin.retrieve({ table: TABLE, columns: COLUMNS, names: ['Name'], keys: ['A/1', 'é&'] });

  expect(server.requests[0]?.path).toBe(`${ROOT}/retrieve.json?column=Name&key=A%2F1&key=%C3%A9%26`);
  expect(answer).toMatchObject({ kind: 'ok', value: { ids: [5] } });
});

test('deletedIds gives the rows that lie in the recycle bin', async () => {
  await using server = await startFaultServer(() => json([{ '@row.id': 7 }, { '@row.id': 5 }]));
  await using origin = open(server.url);

  const answer = await origin.deletedIds({ table: TABLE, from: '2024-07-01T00:00:00Z' });

  expect(server.requests[0]?.path).toBe(`${ROOT}/deleted.json?from=2024-07-01T00%3A00%3A00Z`);
  expect(answer).toMatchObject({ value: [7, 5] });
});

describe('aggregate', () => {
  const group = { name: 'Date Created', suffix: 'DD', type: 'Date' } as const;
  const columns = [
    { name: 'Id//COUNT', type: 'Numeric' },
    { name: 'Date Modified//MAX', type: 'Timestamp' },
    { name: 'Price//SUM', type: 'Numeric' },
  ] as const;
  const groups = [
    { group: null, values: [1, null, null] },
    { group: '2026-01-02', values: [2, '2026-01-02T02:04:05Z', '12345678901234567.5'] },
  ];

  test.each(['Date Created', 'Date Created//DD'])('reads groups that come as %s, in JSON', async (name) => {
    const text = `[{"${name}":null,"Id//COUNT":1.0,"Date Modified//MAX":null,"Price//SUM":null},
      {"${name}":"2026-01-02T00:00:00+00:00","Id//COUNT":2,"Date Modified//MAX":"2026-01-02T03:04:05+01:00","Price//SUM":12345678901234567.5},
      {"@row.type":"Grand","Id//COUNT":3,"Date Modified//MAX":null,"Price//SUM":1}]`;
    await using server = await startFaultServer(() => typed('json', text));
    await using origin = open(server.url);

    const page = await origin.aggregate({ table: TABLE, group, columns, top: 100, skip: 200 });

    expect(server.requests[0]?.path).toBe(
      `${ROOT}/select.json?column=Date%20Created%2F%2FDD&column=Id%2F%2FCOUNT&column=Date%20Modified%2F%2FMAX&column=Price%2F%2FSUM&sort=Date%20Created&top=100&skip=200`,
    );
    expect(page).toEqual({ groups, isLast: true });
  });

  test.each(['Date_x0020_Created', 'Date_x0020_Created_x002f__x002f_DD'])('the same as %s, in XML', async (tag) => {
    const row = (day: string, count: string, latest: string, sum: string): string =>
      `<${tag}${day}</${tag}><Id_x002f__x002f_COUNT>${count}</Id_x002f__x002f_COUNT><Date_x0020_Modified_x002f__x002f_MAX${latest}</Date_x0020_Modified_x002f__x002f_MAX><Price_x002f__x002f_SUM${sum}</Price_x002f__x002f_SUM>`;
    const nil = ' i:nil="true">';
    const text = `<?xml version="1.0" encoding="utf-8"?><Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><row>${row(nil, '1', nil, nil)}</row><row>${row('>2026-01-02T00:00:00Z', '2', '>2026-01-02T03:04:05+01:00', '>12345678901234567.5')}</row><row type="Grand">${row(nil, '3', nil, '>1')}</row></Response>`;
    await using server = await startFaultServer(() => typed('xml', text));
    await using origin = open(server.url, 'xml');

    expect(await origin.aggregate({ table: TABLE, group, columns })).toEqual({ groups, isLast: true });
  });

  test('goes on where as many rows came as were asked for, with the row of everything or without', async () => {
    const day = { 'Date Created': '2026-01-02', 'Id//COUNT': 1 };
    const bodies = [
      [day, day],
      [day, { '@row.type': 'Grand', 'Id//COUNT': 1 }],
      [{ '@row.type': 'Grand', 'Id//COUNT': 1 }],
    ];
    await using server = await startFaultServer(() => json(bodies[server.requests.length - 1] ?? []));
    await using origin = open(server.url);
    const request = { table: TABLE, group, columns: columns.slice(0, 1), top: 2 };

    const pages = [await origin.aggregate(request), await origin.aggregate(request), await origin.aggregate(request)];

    expect(pages.map((page) => page?.isLast)).toEqual([false, false, true]);
  });

  test('is null where the origin refuses', async () => {
    await using server = await startFaultServer(() =>
      http(400, { 'Content-Type': 'application/json' }, '{"error":400,"code":3100,"message":"no"}'),
    );
    await using origin = open(server.url);

    expect(await origin.aggregate({ table: TABLE, group, columns })).toBeNull();
  });
});

test('numbers are asked for without an ETag, which a JavaScript caller may name', async () => {
  await using server = await startFaultServer(() => json([{ '@row.type': 'Grand', 'Id//COUNT': 3 }]));
  await using origin = open(server.url);
  const options = { signal: undefined, etag: '"of-a-page"' };
  const columns = [{ name: 'Id//COUNT', type: 'Numeric' }] as const;

  await origin.count({ table: TABLE, column: 'Id' }, options);
  await origin.aggregate({ table: TABLE, group: { name: 'Day', suffix: 'DD', type: 'Date' }, columns }, options);

  expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined]);
});

/**
 * What clients in the wild send and rely on (origin facts, section 7): each point as the bytes that such a client
 * sends. The number of the point stands in front of each group.
 */
import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { call, callPath, exchange } from './client.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';

const tables: readonly TableSpec[] = [
  {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text', width: 20 },
      { name: 'Score', type: 'Numeric' },
      { name: 'Due', type: 'Date' },
      { name: 'At', type: 'Time' },
      { name: 'Seen', type: 'Timestamp' },
      { name: 'Owner', type: 'User', displayOptions: [] },
      { name: 'Scan', type: 'Attachment' },
      { name: 'Code', type: 'Text', options: ['Unique'] },
    ],
    views: [{ name: 'All / Notes', columns: ['Title'] }],
    rows: [{ Title: 'one', Score: 1, Code: 'a' }, { Title: 'two', Code: 'b' }, { Title: 'three' }],
  },
  { name: 'Count/Size', columns: [{ name: '50%? \\ off', type: 'Text' }], rows: [{ '50%? \\ off': 'yes' }] },
  { name: 'Count%2FSize', columns: [{ name: 'Plain', type: 'Text' }], rows: [{ Plain: 'x' }] },
];

type Json = Readonly<Record<string, unknown>>;

function start(): Promise<TestSandbox> {
  return startTestSandbox({ tables, token: TOKEN, clock: testClock() });
}

/** Sends the lines of a request below the database, and returns everything that comes back. */
function send(sandbox: TestSandbox, first: string, lines: readonly string[] = [], body = ''): Promise<string> {
  const [verb = '', path = ''] = first.split(' ');
  const head = [`${verb} /secure/api/v2/21995/${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', ...lines];
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return exchange(sandbox, `${[...head, ...length].join('\r\n')}\r\n\r\n${body}`);
}

const LOGIN = `Authorization: Bearer ${TOKEN}`;

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

async function rows(sandbox: TestSandbox, path: string): Promise<readonly Json[]> {
  const answer = await send(sandbox, `GET ${path}`, [LOGIN]);
  expect(statusOf(answer)).toBe(200);
  return bodyOf(answer) as readonly Json[];
}

describe('7.1 HTTP', () => {
  test('1, 2: a status line of HTTP/1.1, and header names that are looked up by their exact case', async () => {
    await using sandbox = await start();

    const answer = await send(sandbox, 'GET Note/select.json', [LOGIN]);

    expect(answer).toMatch(/^HTTP\/1\.1 200 [A-Za-z ]+\r\n/);
    const names = [...answer.slice(0, answer.indexOf('\r\n\r\n')).matchAll(/^([A-Za-z-]+): /gm)].map(
      (match) => match[1],
    );
    expect(names).toEqual(expect.arrayContaining(['Content-Type', 'Cache-Control', 'ETag', 'Date']));
    expect(names.filter((name) => name !== 'ETag' && !/^(?:[A-Z][a-z]*)(?:-[A-Z][a-z]*)*$/.test(name ?? ''))).toEqual(
      [],
    );
  });

  test('3: one block of headers, whatever is asked, and never a redirect', async () => {
    await using sandbox = await start();

    const expecting = await send(
      sandbox,
      'POST Note/create.json',
      [LOGIN, 'Content-Type: application/json', 'Expect: 100-continue'],
      '[]',
    );
    const slash = await send(sandbox, 'GET Note/select.json/', [LOGIN]);
    const upper = await send(sandbox, 'GET NOTE/SELECT.JSON', [LOGIN]);

    expect(expecting.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
    expect([statusOf(slash), statusOf(upper)]).toEqual([405, 200]);
  });

  test('4: application/json to the letter before the first semicolon, on errors too', async () => {
    await using sandbox = await start();

    for (const path of ['Note/select.json', 'Note/select.json?top=0', 'nothing', 'Nope/select.json']) {
      const answer = await send(sandbox, `GET ${path}`, [LOGIN]);
      expect(/^Content-Type: ([^;\r]*)/m.exec(answer)?.[1]).toBe('application/json');
    }
  });

  test('5: the cache policy to the letter, a date, an ETag; 304 only for a validator', async () => {
    await using sandbox = await start();

    const answer = await send(sandbox, 'GET Note/select.json', [LOGIN]);
    const again = await send(sandbox, 'GET Note/select.json', [LOGIN]);

    expect(answer).toContain('\r\nCache-Control: private, must-revalidate, max-age=0\r\n');
    expect(answer).toContain('\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n');
    expect(answer).toMatch(/\r\nETag: "[^"]+"\r\n/);
    expect(again).toBe(answer);
  });

  test('6: If-None-Match decides where If-Modified-Since comes too, and the latter alone proves nothing', async () => {
    await using sandbox = await start();
    const etag = /ETag: ("[^"]+")/.exec(await send(sandbox, 'GET Note/select.json', [LOGIN]))?.[1];
    const since = (year: number): string => `If-Modified-Since: Thu, 01 Jan ${year} 00:00:00 GMT`;
    const status = async (...lines: string[]): Promise<number> =>
      statusOf(await send(sandbox, 'GET Note/select.json', [LOGIN, ...lines]));

    expect(await status(`If-None-Match: ${etag}`, since(1970))).toBe(304);
    expect(await status(`If-None-Match: "other"`, since(2099))).toBe(200);
    expect(await status(since(2099))).toBe(200);
    expect(await status('If-Modified-Since: nonsense')).toBe(200);
    expect(await status(`If-None-Match: W/"x", W/${etag}`)).toBe(304);
  });

  test('7: gzip for whoever asks for all encodings that curl knows', async () => {
    await using sandbox = await startTestSandbox();

    const headers = { 'Accept-Encoding': 'deflate, gzip, br, zstd' };
    const answer = await call(sandbox, 'Customer/select.json', { headers });

    expect(answer.headers['content-encoding']).toBe('gzip');
  });

  test('header names in any case', async () => {
    await using sandbox = await start();

    const first = await send(sandbox, 'GET user.json', [`AUTHORIZATION: bearer ${TOKEN.toUpperCase()}`]);
    const etag = /ETag: ("[^"]+")/.exec(first)?.[1];
    const second = await send(sandbox, 'GET user.json', [`authorization:Bearer   ${TOKEN}`, `if-none-match:${etag}`]);

    expect([statusOf(first), statusOf(second)]).toEqual([200, 304]);
  });
});

describe('7.2 paths', () => {
  test.each([
    ['the vendor’s clients', 'Count%252FSize/select.json?column=*', '@50%? \\ off'],
    ['plain percent-encoding', 'Count%2FSize/select.json?column=*', '@50%? \\ off'],
    ['the vendor’s clients, with a percent sign in the name', 'Count%25252FSize/select.json?column=*', '@Plain'],
  ])('1: names as %s encode them', async (_what, path, expected) => {
    await using sandbox = await startTestSandbox({
      tables: expected === '@Plain' ? tables.slice(2) : tables.slice(1, 2),
    });
    const answer = await call(sandbox, path);

    expect(answer.status).toBe(200);
    expect(Object.keys((JSON.parse(answer.text) as Json[])[0] ?? {})).toContain(expected.slice(1));
  });

  test('1: the name decoded once is tried before the name decoded twice', async () => {
    await using sandbox = await start();

    expect((await rows(sandbox, 'Count%252FSize/select.json'))[0]).toHaveProperty('Plain');
    expect((await rows(sandbox, 'Count%2FSize/select.json'))[0]).toHaveProperty('50%? \\ off');
  });

  test('2: a raw slash in a name is a clean 405, a raw space no page and no hang', async () => {
    await using sandbox = await start();

    expect(statusOf(await send(sandbox, 'GET Count/Size/describe.json', [LOGIN]))).toBe(405);
    const spaced = await exchange(sandbox, `GET /secure/api/v2/21995/No te/x.json HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(spaced).toBe('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });

  test('3: tables, columns and views by alias and in any case', async () => {
    await using sandbox = await start();

    expect(await rows(sandbox, 'T_115442/select.json?column=F_2445931&sort=tITLE//desc')).toMatchObject([
      { Title: 'two' },
      { Title: 'three' },
      { Title: 'one' },
    ]);
    expect(await rows(sandbox, 'note/all%20%252f%20notes/select.json')).toHaveLength(3);
    expect(await rows(sandbox, 'note/V_730248/select.json')).toHaveLength(3);
  });

  test('4: a token, a minus sign, and never user:password behind the database', async () => {
    await using sandbox = await start();

    expect(statusOf(await send(sandbox, `GET ${TOKEN.toUpperCase()}/user.json`))).toBe(200);
    expect(statusOf(await send(sandbox, 'GET -/user.json', [`Cookie: ${sandbox.session}`]))).toBe(200);
    expect(statusOf(await send(sandbox, 'GET a@b.example:secret/Note/select.json'))).toBe(403);
  });

  test('5, 6: tokens of 32 hexadecimal digits, databases with a hyphen', async () => {
    await using sandbox = await startTestSandbox({ tables, database: '12-345' });

    expect(sandbox.token).toMatch(/^[0-9a-f]{32}$/);
    expect(await callPath(sandbox, '/secure/api/v2/12-345/user.json')).toMatchObject({ status: 200 });
  });
});

describe('7.3 queries', () => {
  test('1: repeated keys, in their order', async () => {
    await using sandbox = await start();

    const found = await rows(sandbox, 'Note/retrieve.json?column=Score&column=Title&id=2&id=1');

    expect(found.map((row) => row['@row.id'])).toEqual([2, 1]);
    expect(Object.keys(found[0] ?? {}).slice(-2)).toEqual(['Score', 'Title']);
    expect(await rows(sandbox, 'Note/retrieve.json?key=1&key=3')).toHaveLength(2);
  });

  test('2: + and %20 are spaces, and // comes raw or encoded', async () => {
    await using sandbox = await start();
    const names = async (query: string): Promise<unknown> =>
      (await rows(sandbox, `Note/select.json?${query}`)).map((row) => row['Title']);

    expect(await names('column=Title&column=Date+Created&sort=Title//DESC')).toEqual(['two', 'three', 'one']);
    expect(await names('column=Title&column=Date%20Created&sort=Title%2F%2FDESC')).toEqual(['two', 'three', 'one']);
    expect(await names('filter=%5BTitle%5D+%3D+%22two%22')).toEqual(['two']);
    expect(await names("filter=[Title]='two'")).toEqual(['two']);
  });

  test('3: variables with raw and with encoded brackets, known or not', async () => {
    await using sandbox = await start();

    expect(await rows(sandbox, 'Note/select.json?var[Region]=EU&var%5BOther%5D=x')).toHaveLength(3);
    expect(await rows(sandbox, 'Note/All%20%252F%20Notes/select.json?var[Region]=EU')).toHaveLength(3);
  });

  test('4: defaults that are said aloud', async () => {
    await using sandbox = await start();

    expect(await rows(sandbox, 'Note/select.json?skip=0&top=500&workflow=1')).toHaveLength(3);
    expect(await rows(sandbox, 'Note/delete.json?id=1&purge=true&workflow=1')).toEqual([{ id: 1, status: 200 }]);
    expect(await rows(sandbox, 'Note/delete.json?id=2&purge=1')).toMatchObject([{ status: 200 }]);
    expect(statusOf(await send(sandbox, 'GET Note/select.json?top=1000', [LOGIN]))).toBe(400);
  });

  test('5, 7: unknown parameters and empty values are ignored', async () => {
    await using sandbox = await start();

    expect(
      await rows(sandbox, 'Note/select.json?desc=true&_=1700000000&filter=&top=&sort=&skip=&column='),
    ).toHaveLength(3);
    expect(await rows(sandbox, 'Note/select.json?&&=x&novalue')).toHaveLength(3);
  });

  test('6: a GET with a Content-Type and no body', async () => {
    await using sandbox = await start();

    const answer = await send(sandbox, 'GET Note/select.json', [LOGIN, 'Content-Type: application/json']);

    expect(statusOf(answer)).toBe(200);
  });
});

describe('7.4 bodies', () => {
  const post = (sandbox: TestSandbox, method: string, type: string, body: string): Promise<string> =>
    send(sandbox, `POST Note/${method}.json`, [LOGIN, `Content-Type: ${type}`], body);

  test.each([
    ['a bare object', 'application/json', '{"Title":"x"}'],
    ['UTF-8 in capitals', 'application/json;charset=UTF-8', '[{"Title":"x"}]'],
    ['a blank in the type', 'Application/JSON; charset=utf-8', '[{"Title":"x"}]'],
  ])('1, 2: %s makes one row, in a list', async (_what, type, body) => {
    await using sandbox = await start();

    expect(bodyOf(await post(sandbox, 'create', type, body))).toMatchObject([{ status: 201, id: 4, key: '4' }]);
  });

  test('3: multipart as the PHP client writes it', async () => {
    await using sandbox = await start();
    const boundary = 'part-65f0a1b2c3d4e.12345678';
    const body =
      `--${boundary}\r\nContent-Type: application/json\r\n\r\n[{"Title":"é","Scan":"cid:5f3a9"}]\r\n` +
      `--${boundary}\r\nContent-Type: text/plain\r\nContent-Disposition: attachment;filename*=UTF-8''na%C3%AFve.txt\r\n` +
      `Content-ID: 5f3a9\r\n\r\nhello\r\n--${boundary}--`;

    const answer = await post(sandbox, 'create', `multipart/related;boundary=${boundary}`, body);

    expect(bodyOf(answer)).toMatchObject([{ status: 201 }]);
    expect(sandbox.store.rows('Note').at(-1)?.values['Scan']).toMatch(/^naïve\.txt;1;/);
  });

  test('3: a Content-ID in angle brackets', async () => {
    await using sandbox = await start();
    const body =
      '--b\r\nContent-Disposition: attachment; filename="a.txt"\r\nContent-ID: <1@x>\r\n\r\nhi\r\n' +
      '--b\r\nContent-Type: application/json\r\n\r\n{"Scan":"cid:1@x"}\r\n--b--\r\n';

    expect(bodyOf(await post(sandbox, 'create', 'multipart/related; boundary="b"', body))).toMatchObject([
      { status: 201 },
    ]);
    expect(sandbox.store.rows('Note').at(-1)?.values['Scan']).toMatch(/^a\.txt;1;/);
  });

  test('4: bare e-mails, whole timestamps and parts of them, for every type of time', async () => {
    await using sandbox = await start();
    const row = {
      Owner: 'jonas.weber@example.com',
      Due: '2026-03-04T05:06:07+01:00',
      At: '2026-03-04T05:06:07+01:00',
      Seen: '2026-03-04T05:06:07+01:00',
    };

    const answer = bodyOf(
      await post(sandbox, 'create', 'application/json', JSON.stringify([row, { Due: '2026-03-04' }])),
    );

    expect(answer).toMatchObject([{ status: 201 }, { status: 201 }]);
    expect(sandbox.store.rows('Note').at(-2)?.values).toMatchObject({
      Owner: expect.stringContaining('jonas.weber@example.com') as string,
      Due: '2026-03-04',
      At: '05:06:07',
      Seen: '2026-03-04T04:06:07Z',
    });
  });

  test('4: a Unix time for a date fails its row, and no other', async () => {
    await using sandbox = await start();

    const answer = bodyOf(await post(sandbox, 'create', 'application/json', '[{"Due":1700000000},{"Title":"x"}]'));

    expect(answer).toMatchObject([{ status: 400 }, { status: 201 }]);
  });

  test.each(['2', '"2"'])('5: @row.id as %s', async (id) => {
    await using sandbox = await start();

    const answer = await post(sandbox, 'update', 'application/json', `[{"@row.id":${id},"Title":"new"}]`);

    expect(bodyOf(answer)).toMatchObject([{ status: 200, id: 2 }]);
  });

  test.each([
    ['no body', 'application/json', ''],
    ['no JSON', 'application/json', 'Title=x'],
    ['a form', 'application/x-www-form-urlencoded', 'Title=x'],
  ])('6: %s is refused in JSON', async (_what, type, body) => {
    await using sandbox = await start();

    const answer = await post(sandbox, 'create', type, body);

    expect([400, 415]).toContain(statusOf(answer));
    expect(bodyOf(answer)).toMatchObject({ error: statusOf(answer), message: expect.any(String) as string });
    expect(sandbox.store.count('Note')).toBe(3);
  });
});

describe('7.5 answers', () => {
  test('1: a failed row has an error with error, code, message and source', async () => {
    await using sandbox = await start();
    const body = JSON.stringify([{ Title: 'x'.repeat(21) }, { Nope: 1 }, { Id: '1' }]);

    const answer = await send(sandbox, 'POST Note/create.json', [LOGIN, 'Content-Type: application/json'], body);

    for (const row of bodyOf(answer) as readonly { status: number; errors: readonly Json[] }[]) {
      expect(row.status).toBeGreaterThanOrEqual(400);
      expect(row.errors[0]).toEqual({
        error: expect.any(Number) as number,
        code: expect.any(Number) as number,
        message: expect.any(String) as string,
        source: expect.any(String) as string,
      });
    }
  });

  test('2: a row that is not deleted has its id and an error', async () => {
    await using sandbox = await start();

    expect(await rows(sandbox, 'Note/delete.json?id=99')).toEqual([
      { id: 99, status: 403, error: { error: 403, code: 4000, message: expect.any(String) as string } },
    ]);
  });

  test.each(['Note/select.json?top=0', 'Nope/select.json', 'x', 'Note/select.json?filter=[', 'Note/Nope/select.json'])(
    '3: every refusal has error, code and message: %s',
    async (path) => {
      await using sandbox = await start();

      const answer = await send(sandbox, `GET ${path}`, [LOGIN]);

      expect(bodyOf(answer)).toMatchObject({
        error: statusOf(answer),
        code: expect.any(Number) as number,
        message: expect.any(String) as string,
      });
    },
  );

  test('4: the internal id is an integer', async () => {
    await using sandbox = await start();

    expect((await rows(sandbox, 'Note/select.json?top=1'))[0]?.['@row.id']).toBe(1);
  });

  test('5: describe gives every column a type, a kind, readOnly, and options as texts even where there are none', async () => {
    await using sandbox = await start();

    const answer = bodyOf(await send(sandbox, 'GET Note/describe.json', [LOGIN])) as { columns: readonly Json[] };

    expect(answer.columns.length).toBeGreaterThan(8);
    for (const column of answer.columns) {
      expect(column).toMatchObject({
        name: expect.any(String) as string,
        type: expect.any(String) as string,
        kind: expect.any(String) as string,
        readOnly: expect.any(Boolean) as boolean,
        dataOptions: expect.any(String) as string,
        displayOptions: expect.any(String) as string,
      });
    }
    expect(answer).toMatchObject({ views: [{ type: 'Table' }, { type: 'Table', name: 'All / Notes' }] });
  });

  test.each([
    ['GET tables.json', 405],
    ['GET Note/columns.json', 405],
    ['GET Note/1.json', 405],
    ['POST Note.json', 405],
    ['PUT Note/1.json', 405],
    ['DELETE Note/1.json', 405],
    ['GET All%20%252F%20Notes/Note/select.json', 403],
    ['GET select.json', 405],
    ['PUT Note/upsert.json', 405],
    ['POST Note/Scan/attachment', 405],
  ])('6: %s is refused in JSON', async (first, status) => {
    await using sandbox = await start();

    const answer = await send(
      sandbox,
      first,
      [LOGIN, 'Content-Type: application/json'],
      first.startsWith('G') ? '' : '{}',
    );

    expect(statusOf(answer)).toBe(status);
    expect(bodyOf(answer)).toMatchObject({ error: status });
  });

  test('8: 401 has a Basic challenge', async () => {
    await using sandbox = await start();

    expect(await send(sandbox, 'GET user.json')).toMatch(/^HTTP\/1\.1 401 [^]*\r\nWWW-Authenticate: Basic realm="/);
  });
});

/** Create, Update, Upsert and Delete: their bytes, their answers, and that none is ever sent twice on a guess. */
import { describe, expect, test } from 'vitest';

import { RowsyncError } from '../../src/base/errors.ts';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import type { StreamedBytes } from '../../src/wire/write-body.ts';
import type { OutgoingRow } from '../../src/wire/writes.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer, type FaultServer } from '../support/fault-server.ts';

const CUSTOMER = { name: 'Customer', alias: 't_7' };
const ROOT = '/secure/api/v2/21995/t_7';
/** A value of a row, which no message may repeat. */
const CANARY = 'Anna Bell';
const ROWS: readonly OutgoingRow[] = [
  { id: null, cells: [{ name: 'Name', type: 'Text', value: CANARY }] },
  { id: 8, cells: [{ name: 'Seen', type: 'Timestamp', value: '2024-07-01T10:00:00Z' }] },
];
const WRITE = { table: CUSTOMER, rows: ROWS, zone: 'Europe/Paris' } as const;
const WRITTEN = [
  { status: 201, id: 7, key: '0007' },
  { status: 200, id: 8, key: '0008' },
];
const DELETED = [
  { id: 7, status: 200 },
  { id: 8, status: 200 },
];

function open(
  url: string,
  changes: Partial<OriginSettings> = {},
  clock: TestClock = testClock(),
): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin({ url, database: '21995', credentials, ...changes }, { clock, log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

function descriptor(status: number, fields: object = {}): Buffer {
  const body = JSON.stringify({ error: status, code: 0, message: `No: ${CANARY}`, ...fields });
  return http(status, { 'Content-Type': 'application/json' }, body);
}

/** Bytes that are read in pieces, said to be `length`. */
function streamOf(bytes: Buffer, length: number): StreamedBytes {
  return {
    length,
    async *read() {
      for (let at = 0; at < bytes.length; at += 65_536) yield await Promise.resolve(bytes.subarray(at, at + 65_536));
    },
  };
}

/** The two shapes of a change on the wire. */
const CHANGES = {
  upsert: { ask: (origin: Origin, signal?: AbortSignal) => origin.upsert(WRITE, { signal }), done: json(WRITTEN) },
  delete: {
    ask: (origin: Origin, signal?: AbortSignal) => origin.delete({ table: CUSTOMER, ids: [7, 8] }, { signal }),
    done: json(DELETED),
  },
} as const;
const EACH = ['upsert', 'delete'] as const;

/** What became of one change at a server that answers so every time. */
async function changeAt(
  server: FaultServer,
  change: (typeof EACH)[number] = 'upsert',
  settings: Partial<OriginSettings> = {},
): Promise<{ error: RowsyncError | undefined; waits: readonly number[] }> {
  const clock = testClock();
  await using origin = open(server.url, settings, clock);
  try {
    await CHANGES[change].ask(origin);
    return { error: undefined, waits: clock.waits };
  } catch (error) {
    return { error: error as RowsyncError, waits: clock.waits };
  }
}

describe('what is sent', () => {
  // Specification, client: 1-2, 4.6-10
  test.each([
    ['an empty text', '', '""'],
    ['a control character', 'a\u0001b', String.raw`"a\u0001b"`],
  ])('%s goes as JSON even where the answer is XML, which cannot say it', async (_title, value, inJson) => {
    const answer = '<Response><row><status>201</status><id>7</id><key>7</key></row></Response>';
    await using server = await startFaultServer(() => http(200, { 'Content-Type': 'text/xml' }, answer));
    await using origin = open(server.url, { format: 'xml' });
    const rows = [{ id: null, cells: [{ name: 'Name', type: 'Text', value }] }] as const;

    expect(await origin.create({ ...WRITE, rows })).toMatchObject([{ status: 201, id: 7 }]);
    expect(server.requests[0]).toMatchObject({
      path: `${ROOT}/create.xml`,
      headers: { 'content-type': 'application/json;charset=utf-8', accept: expect.stringContaining('xml') as string },
    });
    expect(server.requests[0]?.body.toString()).toBe(`[{"Name":${inJson}}]`);
  });

  // Specification, client: 2.4-17, 2.5-6, 4.6-1, 4.6-2, 4.6-4, 4.6-7, 4.6-8, 4.6-11
  test('create, update and upsert post rows in JSON, with timestamps in the zone of the user', async () => {
    await using server = await startFaultServer(() => json(WRITTEN));
    await using origin = open(server.url);

    await origin.create(WRITE);
    await origin.update({ ...WRITE, match: 'External Id', workflow: 'suppress' });
    await origin.upsert({ ...WRITE, match: 'E&F', workflow: 'run' });

    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `POST ${ROOT}/create.json`,
      `POST ${ROOT}/update.json?match=External%20Id&workflow=0`,
      `POST ${ROOT}/upsert.json?match=E%26F`,
    ]);
    const body = '[{"Name":"Anna Bell"},{"@row.id":8,"Seen":"2024-07-01T12:00:00"}]';
    for (const request of server.requests) {
      expect(request.body.toString()).toBe(body);
      expect(request.headers).toEqual({
        host: server.host,
        connection: 'keep-alive',
        'user-agent': 'rowsync',
        authorization: 'Bearer a-token',
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'content-type': 'application/json;charset=utf-8',
        'content-length': String(body.length),
      });
    }
  });

  // Specification, client: 2.4-1, 2.4-2, 2.4-3, 2.4-4, 2.4-5, 2.4-6, 2.4-7, 2.4-8, 2.4-9, 2.4-10, 2.4-11, 2.4-12
  // Specification, client: 2.4-14, 2.4-15, 2.4-17, 2.4-18, 2.4-19, 2.4-20, 2.4-23, 2.4-24, 2.5-6, 2.5-7, 4.6-8
  // Specification, client: 4.6-6, 4.6-14, 4.6-16
  test('every form of a value leaves as the specification writes it, in JSON and in XML', async () => {
    const answers = { json: json(WRITTEN), xml: http(200, { 'Content-Type': 'text/xml' }, golden.STATUSES_XML) };
    const rows = golden.OUTGOING.map((row) => ({ ...row, id: row.id === null ? null : 7 }));
    for (const [format, expected] of [
      ['json', golden.OUTGOING_JSON.replace('"@row.id":5', '"@row.id":7')],
      ['xml', golden.OUTGOING_XML.replace('id="5"', 'id="7"')],
    ] as const) {
      await using server = await startFaultServer(() => answers[format]);
      await using origin = open(server.url, { format });

      await origin.upsert({ table: CUSTOMER, rows, zone: golden.ROW_ZONE }).catch(() => 'more statuses than rows');

      expect(server.requests[0]?.path).toBe(`${ROOT}/upsert.${format}`);
      expect(server.requests[0]?.headers['content-type']).toMatch(
        format === 'xml' ? /^text\/xml/ : /^application\/json/,
      );
      expect(server.requests[0]?.body.toString()).toBe(expected);
    }
  });

  // Specification, client: 4.6-9, 4.6-33, 4.6-34, 4.6-35, 4.6-36, 4.6-37, 4.6-38, 4.6-39, 9-2
  test('files travel with the rows in a multipart/related body', async () => {
    await using server = await startFaultServer(() => json([{ status: 200, id: 8, key: '8' }]));
    await using origin = open(server.url);
    const rows = [{ id: 8, cells: [{ name: 'Photo', type: 'Attachment', value: 'cid:f1' }] }] as const;
    const files = [{ contentId: 'f1', name: 'a b.bin', type: 'image/png', bytes: Buffer.from([0, 13, 10, 255]) }];

    await origin.update({ ...WRITE, rows, files });

    // The clock of the test draws 0.5 every time.
    const boundary = 'part-80008000800080008000800080008000';
    expect(server.requests[0]?.headers['content-type']).toBe(`multipart/related;boundary=${boundary}`);
    expect(server.requests[0]?.body.toString('latin1')).toBe(
      `--${boundary}\r\nContent-Type: application/json;charset=utf-8\r\n\r\n[{"@row.id":8,"Photo":"cid:f1"}]\r\n` +
        `--${boundary}\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename="a b.bin"\r\n` +
        `Content-ID: f1\r\n\r\n\0\r\n\u00FF\r\n--${boundary}--\r\n`,
    );
  });

  test('a file that is read while it is sent arrives whole, with its length announced', async () => {
    await using server = await startFaultServer(() => json([{ status: 200, id: 8, key: '8' }]));
    await using origin = open(server.url);
    const rows = [{ id: 8, cells: [{ name: 'Photo', type: 'Attachment', value: 'cid:f1' }] }] as const;
    const bytes = Buffer.alloc(700_000, 'a photo ');
    const files = [{ contentId: 'f1', name: 'a.bin', type: 'image/png', bytes: streamOf(bytes, bytes.length) }];

    await origin.update({ ...WRITE, rows, files });

    const [request] = server.requests;
    expect(request?.headers['content-length']).toBe(String(request?.body.length));
    expect(request?.headers['transfer-encoding']).toBeUndefined();
    expect(request?.body.includes(Buffer.concat([Buffer.from('\r\n\r\n'), bytes, Buffer.from('\r\n--part-')]))).toBe(
      true,
    );
  });

  test.each([1, -1])(
    'a request of which a file changes its length by %i while it is sent is never whole, and has not happened',
    async (change) => {
      await using server = await startFaultServer(() => json([{ status: 200, id: 8, key: '8' }]));
      await using origin = open(server.url);
      const rows = [{ id: 8, cells: [{ name: 'Photo', type: 'Attachment', value: 'cid:f1' }] }] as const;
      const bytes = Buffer.alloc(700_000, 1);
      const files = [
        { contentId: 'f1', name: 'a.bin', type: 'image/png', bytes: streamOf(bytes, bytes.length + change) },
      ];

      await expect(origin.update({ ...WRITE, rows, files })).rejects.toMatchObject({ code: 'origin.cutShort' });
      expect(server.requests).toEqual([]);
      expect(server.connectionCount).toBe(1); // and never sent again
    },
  );

  // Specification, client: 4.7-1, 4.7-2, 4.7-3, 4.7-5, 4.10-2
  test('delete is a GET that nothing on the way may remember', async () => {
    await using server = await startFaultServer((nth) =>
      nth === 1
        ? json(DELETED)
        : json([
            { key: 'A/1', status: 200 },
            { key: 'é', status: 200 },
          ]),
    );
    await using origin = open(server.url);

    await origin.delete({ table: CUSTOMER, ids: [7, 8] });
    await origin.delete({ table: CUSTOMER, keys: ['A/1', 'é'], workflow: 'suppress', purge: true });

    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET ${ROOT}/delete.json?id=7&id=8`,
      `GET ${ROOT}/delete.json?key=A%2F1&key=%C3%A9&workflow=0&purge=1`,
    ]);
    for (const { headers } of server.requests) {
      expect(headers['cache-control']).toBe('no-store');
      expect(headers).not.toHaveProperty('if-none-match');
    }
  });

  test.each(EACH)('nothing for no rows: %s', async (change) => {
    await using server = await startFaultServer(() => 'reset');
    await using origin = open(server.url);

    const nothing = { table: CUSTOMER, ids: [], rows: [], zone: 'UTC' };
    expect(await origin[change](nothing)).toEqual([]);
    expect(server.connectionCount).toBe(0);
  });

  // Specification, client: 4.7-7
  test.each<[string, number, (origin: Origin) => Promise<unknown>]>([
    [
      '501 deletes',
      400,
      (origin) => origin.delete({ table: CUSTOMER, ids: Array.from({ length: 501 }, (_, at) => at) }),
    ],
    ['keys beyond the query string', 414, (origin) => origin.delete({ table: CUSTOMER, keys: ['x'.repeat(17_000)] })],
    ['a body beyond the bound', 413, (origin) => origin.create(WRITE)],
  ])('nothing of %s, which the origin would refuse', async (_title, status, ask) => {
    await using server = await startFaultServer(() => 'reset');
    await using origin = open(server.url, { limits: { sentBytesMax: 20 } });

    await expect(ask(origin)).rejects.toMatchObject({
      kind: 'originRefused',
      code: 'origin.refused',
      refusal: { status },
    });
    expect(server.connectionCount).toBe(0);
  });
});

describe('what comes back', () => {
  // Specification, client: 2.6-1, 2.6-2, 2.6-3, 2.6-5, 4.6-26, 4.6-27, 4.6-28, 4.6-29, 4.6-30, 4.6-31, 4.6-32, 7-1
  test.each([
    ['json', 'application/json', golden.STATUSES_JSON],
    ['xml', 'text/xml', golden.STATUSES_XML],
  ] as const)('one status for each row, in their order (%s)', async (format, type, document) => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': type }, document));
    await using origin = open(server.url, { format });
    const rows = golden.STATUSES.map(({ id }) => ({ id, cells: [] }));

    expect(await origin.upsert({ ...WRITE, rows })).toEqual(golden.STATUSES);
  });

  // Specification, client: 2.6-4, 2.6-6, 2.7-1, 2.7-2, 2.7-3, 4.7-8, 4.7-9, 4.7-10, 4.7-11
  test('one status for each row that was to be deleted', async () => {
    await using server = await startFaultServer(() =>
      json([
        { id: 7, status: 200 },
        { id: 8, status: 403, error: { error: 403, code: 4000, message: 'Record is not found or not accessible' } },
      ]),
    );
    await using origin = open(server.url);

    expect(await origin.delete({ table: CUSTOMER, ids: [7, 8] })).toEqual([
      { status: 200, id: 7, key: null, errors: [] },
      {
        status: 403,
        id: 8,
        key: null,
        errors: [{ error: 403, code: 4000, message: 'Record is not found or not accessible', source: null }],
      },
    ]);
  });

  test.each(['json', 'xml'] as const)(
    'an upsert of a row that is gone names the row that it made (%s)',
    async (format) => {
      const answer = {
        json: json([WRITTEN[0], { status: 201, id: 9, key: '0009' }]),
        xml: http(
          200,
          { 'Content-Type': 'text/xml' },
          '<Response><row><status>201</status><id>7</id></row><row><status>201</status><id>9</id></row></Response>',
        ),
      }[format];
      await using server = await startFaultServer(() => answer);
      await using origin = open(server.url, { format });

      expect(await origin.upsert(WRITE)).toMatchObject([
        { status: 201, id: 7 },
        { status: 201, id: 9 },
      ]);
      await expect(origin.update(WRITE)).rejects.toMatchObject({ code: 'origin.unknownOutcome' });
    },
  );

  test.each<[string, (typeof EACH)[number], FaultAnswer, string]>([
    ['fewer statuses than rows', 'upsert', json(WRITTEN.slice(1)), 'origin.unexpected'],
    ['more statuses than rows', 'upsert', json([...WRITTEN, ...WRITTEN]), 'origin.unexpected'],
    ['no array', 'upsert', json({ status: 200 }), 'origin.unexpected'],
    ['statuses in another order', 'upsert', json(WRITTEN.toReversed()), 'origin.unexpected'],
    [
      'a new row that was sent as another one',
      'upsert',
      json([{ ...WRITTEN[0], id: 8 }, WRITTEN[1]]),
      'origin.unexpected',
    ],
    ['deletes in another order', 'delete', json(DELETED.toReversed()), 'origin.unexpected'],
    ['an error with status 200', 'upsert', json({ error: 400, message: CANARY }), 'origin.unexpected'],
    ['a page', 'upsert', http(200, { 'Content-Type': 'text/html' }, '<html>'), 'origin.notApi'],
    [
      'a page that calls itself JSON',
      'delete',
      http(200, { 'Content-Type': 'application/json' }, '<p>'),
      'origin.notApi',
    ],
    [
      'half an answer',
      'upsert',
      http(200, { 'Content-Type': 'application/json' }, '[{"status":200'),
      'origin.truncated',
    ],
    ['a cut body', 'delete', { bytes: json(DELETED).subarray(0, -5), ending: 'end' }, 'origin.truncated'],
    ['200 without a body', 'upsert', http(200, {}), 'origin.notApi'],
    ['204', 'delete', http(204, { 'Content-Length': null }), 'origin.unexpected'],
    ['304', 'delete', http(304, { ETag: '"x"' }), 'origin.unexpected'],
    ['500', 'upsert', descriptor(500), 'origin.busy'],
    ['502', 'delete', http(502, {}), 'origin.busy'],
    ['503 of a gateway', 'upsert', http(503, { 'Retry-After': '1' }), 'origin.busy'],
    ['504', 'delete', http(504, {}), 'origin.busy'],
    ['a redirect as after a form', 'upsert', http(303, { Location: '/login' }), 'origin.redirect'],
  ])('%s leave the outcome unknown: asked once', async (_title, change, answer, cause) => {
    await using server = await startFaultServer(() => answer);

    const { error, waits } = await changeAt(server, change);

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unknownOutcome', cause: { code: cause } });
    expect(error?.message).toMatch(/ of "Customer": the change may or may not have happened: /);
    expect(`${error?.message} ${String(error?.cause)}`).not.toContain(CANARY);
    expect(server.requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  test.each([
    [400, 'originRefused', 'origin.refused'],
    [401, 'auth', 'origin.unauthorized'],
    [403, 'originRefused', 'origin.forbidden'],
    [404, 'originRefused', 'origin.refused'],
    [405, 'originRefused', 'origin.refused'],
    [409, 'originRefused', 'origin.refused'],
    [413, 'originRefused', 'origin.refused'],
    [414, 'originRefused', 'origin.refused'],
    [415, 'originRefused', 'origin.refused'],
  ])('%i refuses the whole request, and says so to the caller alone', async (status, kind, code) => {
    await using server = await startFaultServer(() => descriptor(status, { code: 3100, source: 'Nmae' }));

    const { error } = await changeAt(server);

    expect(error).toMatchObject({ kind, code });
    expect(error?.refusal).toEqual({ status, code: 3100, words: `No: ${CANARY}`, source: 'Nmae' });
    expect(error?.message).toBe(`upsert of "Customer": the origin answered ${status} (code 3100), at "Nmae"`);
    expect(server.requests).toHaveLength(1);
  });

  test('413 without a body is a refusal too', async () => {
    await using server = await startFaultServer(() => http(413, {}));

    const { error } = await changeAt(server);

    expect(error).toMatchObject({
      code: 'origin.refused',
      refusal: { status: 413, code: null, words: '', source: null },
    });
  });
});

describe('never sent twice on a guess', () => {
  test.each(EACH)('%s that is reset once it has arrived', async (change) => {
    await using server = await startFaultServer(() => 'reset');

    const { error } = await changeAt(server, change);

    expect(error).toMatchObject({ code: 'origin.unknownOutcome', exitCode: 75, cause: { code: 'origin.unreachable' } });
    expect(server.requests).toHaveLength(1);
    expect(server.connectionCount).toBe(1);
  });

  test.each(EACH)('%s on a connection that was in use and is closed under it', async (change) => {
    await using server = await startFaultServer((nth) => (nth === 1 ? CHANGES[change].done : 'reset'));
    await using origin = open(server.url, { concurrency: 1 });

    await CHANGES[change].ask(origin);
    const error: unknown = await CHANGES[change].ask(origin).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'origin.unknownOutcome' });
    expect(server.requests).toHaveLength(2);
    expect(server.connectionCount).toBe(1);
  });

  test.each(EACH)('%s of which half an answer came', async (change) => {
    await using server = await startFaultServer(() => ({
      bytes: Buffer.from('HTTP/1.1 200 OK\r\nConte'),
      ending: 'reset',
    }));

    const { error } = await changeAt(server, change);

    expect(error).toMatchObject({ code: 'origin.unknownOutcome' });
    expect(server.requests).toHaveLength(1);
  });

  test.each(EACH)('%s without an answer in time', async (change) => {
    await using server = await startFaultServer(() => 'hang');

    const { error } = await changeAt(server, change, { limits: { deadlineMs: 100 } });

    expect(error).toMatchObject({ code: 'origin.unknownOutcome', cause: { code: 'origin.timeout' } });
    expect(server.requests).toHaveLength(1);
  });

  test.each(EACH)('%s that the caller gives up once it is sent, and that is not answered in time', async (change) => {
    const stopping = new AbortController();
    await using server = await startFaultServer(() => () => stopping.abort());
    await using origin = open(server.url, { limits: { stopGraceMs: 100 } });

    const call = CHANGES[change].ask(origin, stopping.signal);

    await expect(call).rejects.toMatchObject({ code: 'origin.unknownOutcome', cause: { code: 'origin.stopped' } });
  });

  test.each(EACH)(
    '%s that the caller gives up once it is sent, and that is still answered, has happened',
    async (change) => {
      const stopping = new AbortController();
      await using server = await startFaultServer(() => (socket) => {
        stopping.abort();
        setImmediate(() => socket.write(CHANGES[change].done));
      });
      await using origin = open(server.url);

      expect(await CHANGES[change].ask(origin, stopping.signal)).toHaveLength(2);
      expect(server.requests).toHaveLength(1);
    },
  );

  test('one that the caller gives up before it is sent has not happened', async () => {
    await using server = await startFaultServer(() => json(WRITTEN));
    await using origin = open(server.url);

    await expect(origin.upsert(WRITE, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'origin.stopped',
    });
    expect(server.connectionCount).toBe(0);
  });

  test('close leaves the outcome of what is under way unknown', async () => {
    const arrived = Promise.withResolvers<void>();
    await using server = await startFaultServer(() => () => arrived.resolve());
    const origin = open(server.url);

    const call = origin.upsert(WRITE).catch((thrown: unknown) => thrown);
    await arrived.promise;
    await origin.close();

    expect(await call).toMatchObject({ code: 'origin.unknownOutcome', cause: { code: 'origin.stopped' } });
  });

  test.each([301, 302, 303, 307, 308])(
    'nor after a redirect with %i: the other server sees nothing',
    async (status) => {
      await using other = await startFaultServer(() => json(WRITTEN));
      await using server = await startFaultServer(() => http(status, { Location: `${other.url}/x` }));

      for (const change of EACH) {
        const { error } = await changeAt(server, change);

        const isCertain = status !== 302 && status !== 303;
        expect(error?.code).toBe(isCertain ? 'origin.redirect' : 'origin.unknownOutcome');
      }
      expect(server.requests).toHaveLength(2);
      expect(other.connectionCount).toBe(0);
    },
  );
});

describe('sent again where nothing can have happened', () => {
  test.each<[string, FaultAnswer]>([
    ['429', http(429, { 'Retry-After': '2' })],
    ['429 with a descriptor', descriptor(429)],
    ['503 of the API itself', descriptor(503)],
  ])('after %s', async (_title, refusal) => {
    for (const change of EACH) {
      await using server = await startFaultServer((nth) => (nth === 1 ? refusal : CHANGES[change].done));

      const { error, waits } = await changeAt(server, change);

      expect(error).toBeUndefined();
      expect(server.requests).toHaveLength(2);
      expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
      expect(waits).toHaveLength(1);
    }
  });

  test('six times in all, and then it has not happened', async () => {
    await using server = await startFaultServer(() => http(429, {}));

    const { error } = await changeAt(server);

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.busy', refusal: { status: 429 } });
    expect(error?.message).toMatch(/after 6 attempts/);
    expect(server.requests).toHaveLength(6);
  });

  test('after a connection that was refused', async () => {
    const gone = await startFaultServer(() => 'reset');
    const port = Number(new URL(gone.url).port);
    await gone.stop();
    const clock = testClock();
    await using origin = open(gone.url, {}, clock);
    let back: FaultServer | undefined;
    clock.sleep = async () => {
      back ??= await startFaultServer(() => json(WRITTEN), { port });
    };

    expect(await origin.upsert(WRITE)).toHaveLength(2);
    expect(back?.requests).toHaveLength(1);
    await back?.stop();
  });

  test('and where the connection is refused every time, it has not happened', async () => {
    const gone = await startFaultServer(() => 'reset');
    await gone.stop();
    await using origin = open(gone.url);

    await expect(origin.delete({ table: CUSTOMER, ids: [7] })).rejects.toMatchObject({ code: 'origin.unreachable' });
  });
});

test('no value of a row and no words of the origin about one reach the log', async () => {
  const lines: string[] = [];
  await using server = await startFaultServer((nth) => (nth === 1 ? descriptor(429) : descriptor(409)));
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) }, secrets: [] });
  const settings = { url: server.url, database: '21995', credentials: { kind: 'bearer', token: 'a-token' } } as const;
  const origin = openOrigin(settings, { clock: testClock(), log });

  const error: unknown = await origin.upsert(WRITE).catch((thrown: unknown) => thrown);
  await origin.close();

  expect(error).toBeInstanceOf(RowsyncError);
  expect(lines.length).toBeGreaterThan(2);
  expect(`${lines.join('')} ${(error as RowsyncError).message} ${(error as RowsyncError).hint}`).not.toContain('Anna');
});

test('a large body is given the time that it takes to send', async () => {
  const bytes = Buffer.alloc(200_000);
  await using server = await startFaultServer(() => json([{ status: 200, id: 8, key: '8' }]));
  // Without the time for the body, no request could be answered in time.
  await using origin = open(server.url, { limits: { deadlineMs: 0, sentBytesPerSecondMin: 1_000 } });
  const files = [{ contentId: 'f1', name: 'a', type: 'x/y', bytes }];

  const statuses = await origin.update({ ...WRITE, rows: [{ id: 8, cells: [] }], files });

  expect(statuses).toHaveLength(1);
});

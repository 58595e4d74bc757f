/** Attachments: the list of revisions, and files that are handed over piece by piece. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import type { AttachmentRequest } from '../../src/origin/files.ts';
import * as golden from '../fixtures/wire/documents.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';

const PHOTO = {
  table: { name: 'Employee', alias: 't_7' },
  column: { name: 'Photo/Scan', alias: '' },
  record: { id: 5 },
};
const ROOT = '/secure/api/v2/21995/t_7/Photo%252FScan';
const HEADERS = {
  'Content-Type': 'image/png',
  'Content-Disposition': `attachment; filename="x_.png"; filename*=UTF-8''x%E2%82%AC.png`,
  'X-Revision': '3',
  'X-Author': 'Zo\u00C3\u00AB <zoe@example.com>',
  'Last-Modified': 'Mon, 01 Jul 2024 10:00:00 GMT',
  'Cache-Control': 'private, must-revalidate, max-age=0',
  ETag: '"f1"',
};
const FACTS = {
  name: 'x€.png',
  revision: 3,
  type: 'image/png',
  length: 5,
  author: 'Zoë <zoe@example.com>',
  lastModifiedAt: '2024-07-01T10:00:00Z',
};

function open(url: string, changes: Partial<OriginSettings> = {}): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const settings = { url, database: '21995', credentials, ...changes };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

/** Downloads from a server that answers so; gives what came and how it ended. */
async function download(
  script: (nth: number) => FaultAnswer,
  changes: Partial<OriginSettings> = {},
): Promise<{ bytes: Buffer; answer: unknown; error: unknown; requestCount: number }> {
  await using server = await startFaultServer(script);
  await using origin = open(server.url, changes);
  const chunks: Uint8Array[] = [];
  const take = (chunk: Uint8Array): void => void chunks.push(chunk);
  const [result] = await Promise.allSettled([origin.attachment(PHOTO, take)]);
  const bytes = Buffer.concat(chunks);
  const requestCount = server.requests.length;
  return result.status === 'fulfilled'
    ? { bytes, answer: result.value, error: undefined, requestCount }
    : { bytes, answer: undefined, error: result.reason as unknown, requestCount };
}

describe('attachments', () => {
  // Specification, client: 2.8-1, 2.8-2, 2.8-3, 2.8-4, 4.8-1, 4.8-3, 4.8-5, 4.8-6
  test.each([
    ['json', 'application/json', golden.ATTACHMENTS_JSON],
    ['xml', 'text/xml', golden.ATTACHMENTS_XML],
  ] as const)('lists revisions (%s)', async (format, type, document) => {
    await using server = await startFaultServer(() => http(200, { 'Content-Type': type }, document));
    await using origin = open(server.url, { format });

    const answer = await origin.attachments({ ...PHOTO, revisions: 10 });
    await origin.attachments({ ...PHOTO, record: { key: 'A 1' } });

    expect(answer).toMatchObject({ kind: 'ok', value: golden.ATTACHMENTS });
    expect(server.requests.map(({ path }) => path)).toEqual([
      `${ROOT}/attachments.${format}?id=5&revisions=10`,
      `${ROOT}/attachments.${format}?key=A%201`,
    ]);
  });
});

describe('attachment', () => {
  const guid = '6f9619ff-8b86-d011-b42d-00cf4fc964ff';
  const withoutRecord = { table: PHOTO.table, column: PHOTO.column };

  // Specification, client: 2.1-4, 4-3, 4.9-1, 4.9-2, 4.9-3, 4.9-4, 4.9-5, 4.9-7, 4.9-8, 4.9-9
  test.each<[string, AttachmentRequest, string]>([
    ['by id', PHOTO, '?id=5'],
    ['by key', { ...PHOTO, record: { key: 'A&1' } }, '?key=A%261'],
    ['a revision', { ...PHOTO, version: { revision: 2 } }, '?id=5&revision=2'],
    ['by guid', { ...PHOTO, version: { guid } }, `/${guid}?id=5`],
    ['of a public column', { ...withoutRecord, version: { guid } }, `/${guid}`],
  ])('is asked for %s, with GET and HEAD', async (_title, request, path) => {
    await using server = await startFaultServer((nth) => http(200, HEADERS, nth === 1 ? 'bytes' : ''));
    await using origin = open(server.url);

    await origin.attachment(request, () => undefined);
    await origin.attachmentHeaders(request);

    expect(server.requests.map(({ method, path: asked }) => `${method} ${asked}`)).toEqual([
      `GET ${ROOT}/attachment${path}`,
      `HEAD ${ROOT}/attachment${path}`,
    ]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ accept: '*/*', 'accept-encoding': 'identity' });
    }
  });

  // Specification, client: 4.9-10, 4.9-11, 4.9-12, 4.9-13, 4.9-14
  test('gives the bytes and what the headers say', async () => {
    const { bytes, answer } = await download(() => http(200, HEADERS, Buffer.from([0, 255, 13, 10, 7])));

    expect([...bytes]).toEqual([0, 255, 13, 10, 7]);
    expect(answer).toEqual({ kind: 'ok', value: FACTS, etag: '"f1"', receivedBytes: 5 });
  });

  test('gives the headers alone', async () => {
    await using server = await startFaultServer(() => http(200, { ...HEADERS, 'Content-Length': '5' }));
    await using origin = open(server.url);

    expect(await origin.attachmentHeaders(PHOTO)).toMatchObject({ kind: 'ok', value: FACTS });
  });

  test('gives the headers alone of a file that is larger than any document', async () => {
    await using server = await startFaultServer(() => http(200, { ...HEADERS, 'Content-Length': '100000000' }));
    await using origin = open(server.url);

    expect(await origin.attachmentHeaders(PHOTO)).toMatchObject({
      kind: 'ok',
      value: { ...FACTS, length: 100_000_000 },
    });
    expect(server.requests).toHaveLength(1);
  });

  test('gives what there is where headers are missing or make no sense', async () => {
    const headers = { 'Content-Disposition': 'attachment', 'Last-Modified': 'soon', 'Content-Type': null };
    const { answer } = await download(() => http(200, headers, ''));

    expect(answer).toMatchObject({
      value: {
        name: null,
        revision: null,
        type: 'application/octet-stream',
        length: 0,
        author: null,
        lastModifiedAt: null,
      },
      etag: null,
    });
  });

  // Specification, client: 4.9-15
  test('is not modified where its ETag is known', async () => {
    await using server = await startFaultServer(() => http(304, { ETag: '"f1"' }));
    await using origin = open(server.url);

    const answer = await origin.attachment(PHOTO, () => expect.unreachable(), { etag: '"f1"' });

    expect(answer).toEqual({ kind: 'notModified' });
    expect(server.requests[0]?.headers['if-none-match']).toBe('"f1"');
  });

  test('is not modified also where that is said with the length of a large one', async () => {
    await using server = await startFaultServer(() => http(304, { ETag: '"f1"', 'Content-Length': '100000000' }));
    await using origin = open(server.url);

    const answer = await origin.attachment(PHOTO, () => expect.unreachable(), { etag: '"f1"' });

    expect(answer).toEqual({ kind: 'notModified' });
  });

  test('waits for a slow receiver, and gives a large file in order and whole', async () => {
    const content = Buffer.from(Uint32Array.from({ length: 500_000 }, (_, index) => index).buffer);
    await using server = await startFaultServer(() => http(200, HEADERS, content));
    await using origin = open(server.url);
    const chunks: Uint8Array[] = [];
    let busyCount = 0;

    const answer = await origin.attachment(PHOTO, async (chunk) => {
      busyCount += 1;
      expect(busyCount).toBe(1);
      await setImmediate();
      chunks.push(chunk);
      busyCount -= 1;
    });

    expect(answer).toMatchObject({ kind: 'ok', value: { length: content.length }, receivedBytes: content.length });
    expect(chunks.length).toBeGreaterThan(1);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
  });

  test('may take longer than any document, as long as bytes come', async () => {
    const pieces = 6;
    const piece = 'x'.repeat(4_096);
    await using server = await startFaultServer(() => (socket) => {
      socket.write(http(200, { ...HEADERS, 'Content-Length': String(pieces * piece.length) }));
      let left = pieces;
      const timer = setInterval(() => {
        socket.write(piece);
        left -= 1;
        if (left === 0) clearInterval(timer);
      }, 50);
    });
    await using origin = open(server.url, { limits: { deadlineMs: 150 } });

    expect(await origin.attachment(PHOTO, () => undefined)).toMatchObject({ receivedBytes: pieces * piece.length });
  });

  test.each([
    ['from the start', 0],
    ['once most of it has come', 100_000],
  ])('one that comes a byte now and then %s is given up, although no gap is long', async (_when, atOnce) => {
    await using server = await startFaultServer(() => (socket) => {
      socket.write(http(200, { ...HEADERS, 'Content-Length': '120000' }));
      socket.write('x'.repeat(atOnce));
      const timer = setInterval(() => socket.write('x'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    await using origin = open(server.url, { limits: { deadlineMs: 150, bodyGapTimeoutMs: 5_000 } });

    await expect(origin.attachment(PHOTO, () => undefined)).rejects.toMatchObject({ code: 'origin.timeout' });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, FaultAnswer, object, number]>([
    ['a page in its place', http(200, { 'Content-Type': 'text/html' }, '<html>'), { code: 'origin.notApi' }, 1],
    [
      'a compressed file that was not asked for',
      http(200, { ...HEADERS, 'Content-Encoding': 'gzip' }, 'xx'),
      { code: 'origin.notApi' },
      1,
    ],
    [
      'no such row',
      http(403, { 'Content-Type': 'application/json' }, '{"error":403,"code":4000,"message":"Gone","source":"5"}'),
      { code: 'origin.forbidden', refusal: { status: 403, code: 4000 } },
      1,
    ],
    ['a redirect', http(302, { Location: '/x' }), { code: 'origin.redirect' }, 1],
    ['silence', http(503, {}), { code: 'origin.busy' }, 6],
    ['a reset before the file', 'reset', { code: 'origin.unreachable' }, 6],
  ])('%s: nothing is given', async (_title, reply, expected, requestCount) => {
    const outcome = await download(() => reply);

    expect(outcome).toMatchObject({ error: expected, requestCount });
    expect(outcome.bytes).toHaveLength(0);
  });

  test('a file that breaks off is an error, and is not begun again', async () => {
    const cut = http(200, { ...HEADERS, 'Content-Length': '10' }, 'begin');
    const outcome = await download(() => ({ bytes: cut, ending: 'end' }));

    expect(outcome).toMatchObject({ error: { code: 'origin.truncated' }, requestCount: 1 });
    expect(outcome.bytes.toString()).toBe('begin');
  });

  test('one that breaks off comes once more where that is wanted, and only once its first bytes were taken', async () => {
    const cut = http(200, { ...HEADERS, 'Content-Length': '10' }, 'begin');
    await using server = await startFaultServer((nth) =>
      nth < 3 ? { bytes: cut, ending: 'end' } : http(200, HEADERS, 'whole'),
    );
    await using origin = open(server.url);
    const events: string[] = [];
    const take = async (chunk: Uint8Array): Promise<void> => {
      events.push(`takes ${String(Buffer.from(chunk))}`);
      // Long enough for another request.
      for (let turn = 0; turn < 2_000; turn += 1) await setImmediate();
      events.push('took it');
    };

    const answer = await origin.attachment({ ...PHOTO, restart: () => void events.push('restarts') }, take);

    expect(answer).toMatchObject({ kind: 'ok', value: FACTS });
    const again = ['restarts', 'takes begin', 'took it'];
    expect(events).toEqual(['takes begin', 'took it', ...again, 'restarts', 'takes whole', 'took it']);
    expect(server.requests).toHaveLength(3);
  });

  test('one that breaks off, and comes anew without a byte, is begun anew all the same', async () => {
    const cut = http(200, { ...HEADERS, 'Content-Length': '10' }, 'begin');
    const empty = http(200, { ...HEADERS, 'Content-Length': '0' }, '');
    await using server = await startFaultServer((nth) => (nth === 1 ? { bytes: cut, ending: 'end' } : empty));
    await using origin = open(server.url);
    const events: string[] = [];
    const take = (chunk: Uint8Array): void => void events.push(`takes ${String(Buffer.from(chunk))}`);

    await origin.attachment({ ...PHOTO, restart: () => void events.push('restarts') }, take);

    expect(events).toEqual(['takes begin', 'restarts']);
  });

  test('one that fails before its first byte is asked for again', async () => {
    const outcome = await download((nth) => (nth === 1 ? 'reset' : http(200, HEADERS, 'bytes')));

    expect(outcome).toMatchObject({ answer: { kind: 'ok' }, requestCount: 2 });
    expect(outcome.bytes.toString()).toBe('bytes');
  });

  test.each([
    ['announces', http(200, HEADERS, 'x'.repeat(11))],
    [
      'sends',
      http(
        200,
        { ...HEADERS, 'Content-Length': null, 'Transfer-Encoding': 'chunked' },
        'b\r\nxxxxxxxxxxx\r\n0\r\n\r\n',
      ),
    ],
  ])('one that %s more than the bound is given up', async (_title, reply) => {
    const outcome = await download(() => reply, { limits: { fileBytesMax: 10 } });

    expect(outcome).toMatchObject({ error: { code: 'origin.tooLarge' }, requestCount: 1 });
    expect(outcome.bytes.length).toBeLessThanOrEqual(10);
  });

  test('what the receiver throws reaches the caller, and the connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await startFaultServer(() => (socket) => {
      socket.on('close', () => closed.resolve());
      socket.write(http(200, { ...HEADERS, 'Content-Length': '1000' }, 'begin'));
    });
    await using origin = open(server.url);
    const full = new Error('The disk is full');

    await expect(origin.attachment(PHOTO, () => Promise.reject(full))).rejects.toBe(full);
    await closed.promise;
    expect(server.requests).toHaveLength(1);
  });

  test('an abort ends it between two pieces', async () => {
    await using server = await startFaultServer(
      () => (socket) => void socket.write(http(200, { ...HEADERS, 'Content-Length': '1000' }, 'begin')),
    );
    await using origin = open(server.url);
    const stopping = new AbortController();

    const call = origin.attachment(PHOTO, () => stopping.abort(), { signal: stopping.signal });

    await expect(call).rejects.toMatchObject({ code: 'origin.stopped' });
  });

  test('silence in the middle of a file ends it', async () => {
    await using server = await startFaultServer(
      () => (socket) => void socket.write(http(200, { ...HEADERS, 'Content-Length': '1000' }, 'begin')),
    );
    await using origin = open(server.url, { limits: { bodyGapTimeoutMs: 100 } });

    await expect(origin.attachment(PHOTO, () => undefined)).rejects.toMatchObject({ code: 'origin.timeout' });
    expect(server.requests).toHaveLength(1);
  });
});

test('403 to a question for headers, which has no words, is not taken for wrong credentials', async () => {
  await using server = await startFaultServer(() => http(403, { 'Content-Type': 'application/json' }));
  await using origin = open(server.url);

  await expect(origin.attachmentHeaders(PHOTO)).rejects.toMatchObject({
    kind: 'originRefused',
    code: 'origin.forbidden',
  });
});

test('a list is read like any other answer', async () => {
  await using server = await startFaultServer(() => json({}));
  await using origin = open(server.url);

  await expect(origin.attachments(PHOTO)).rejects.toMatchObject({ code: 'origin.unexpected' });
});

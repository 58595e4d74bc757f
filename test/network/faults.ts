/**
 * A fault of every class that the wire has, for whole pulls and whole pushes through a proxy (fault-proxy.ts). The
 * single requests, and many more faults, are in the other tests of this folder.
 */
import type { Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import type { OriginLimits } from '../../src/origin/limits.ts';
import { startBehindProxy } from '../support/fault-proxy.ts';
import { http, json, type FaultAnswer } from '../support/fault-server.ts';

const JSON_TYPE = 'application/json';
const PAGE = '<!DOCTYPE html><html><body>Please sign in</body></html>';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Type: ${JSON_TYPE}\r\n`;
const row = (id: number): object => ({ '@row.id': id, Title: 'stray', Code: 'stray' });
const typed = (type: string, body: string | Uint8Array, headers: object = {}): Buffer =>
  http(200, { 'Content-Type': type, ...headers }, body);
const ends = (text: string): FaultAnswer => ({ bytes: Buffer.from(text), ending: 'end' });
const resets = (text: string): FaultAnswer => ({ bytes: Buffer.from(text), ending: 'reset' });

function drip(socket: Socket): void {
  socket.write(`${HEAD}Content-Length: 100000\r\n\r\n`);
  const timer = setInterval(() => socket.write(' '), 5);
  socket.on('close', () => clearInterval(timer));
}

/** The fault, and the code with which a pull ends that meets it at every page. */
export const FAULTS: readonly (readonly [string, FaultAnswer, string])[] = [
  ['a page of HTML', typed('text/html', PAGE), 'origin.notApi'],
  ['a page that calls itself JSON', typed(JSON_TYPE, PAGE), 'origin.notApi'],
  ['an error with status 200', json({ error: 403, message: 'No' }), 'origin.unexpected'],
  ['null', json(null), 'origin.unexpected'],
  ['nothing', typed(JSON_TYPE, ''), 'origin.truncated'],
  ['rows of another table', json([{ '@row.id': 1, Name: 'x' }]), 'origin.unexpected'],
  ['a row twice', json([row(1), row(1)]), 'origin.unexpected'],
  ['a length that is too short', ends(`${HEAD}Content-Length: 9\r\n\r\n[{"@row.id":1}]`), 'origin.truncated'],
  ['a length that is too long', ends(`${HEAD}Content-Length: 99\r\n\r\n[]`), 'origin.truncated'],
  ['a body cut at a row', ends(`${HEAD}\r\n[{"@row.id":1,"Title":"a"},`), 'origin.truncated'],
  ['a chunk that is none', resets(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n[]`), 'origin.truncated'],
  ['chunks without an end', ends(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n`), 'origin.truncated'],
  ['a drip', drip, 'origin.timeout'],
  ['silence', 'hang', 'origin.timeout'],
  [
    'a bomb',
    typed(JSON_TYPE, gzipSync(Buffer.alloc(4_000_000, ' ')), { 'Content-Encoding': 'gzip' }),
    'origin.tooLarge',
  ],
  ['brotli', typed(JSON_TYPE, brotliCompressSync('[]'), { 'Content-Encoding': 'br' }), 'origin.notApi'],
  [
    'two layers of gzip',
    typed(JSON_TYPE, gzipSync(gzipSync('[]')), { 'Content-Encoding': 'gzip, gzip' }),
    'origin.notApi',
  ],
  [
    'a damaged gzip',
    typed(JSON_TYPE, gzipSync('[]').subarray(0, -3), { 'Content-Encoding': 'gzip' }),
    'origin.truncated',
  ],
  ['a redirect', http(302, { Location: '/login' }), 'origin.redirect'],
  ['a redirect elsewhere', http(307, { Location: 'http://127.0.0.1:9/' }), 'origin.redirect'],
  ['304 to whoever has an ETag or none', http(304, {}), ''],
  ['429', http(429, { 'Retry-After': '-1' }), 'origin.busy'],
  ['500', http(500, {}), 'origin.busy'],
  ['502 with a page', http(502, { 'Content-Type': 'text/html' }, PAGE), 'origin.busy'],
  ['404 with a page', http(404, { 'Content-Type': 'text/html' }, PAGE), 'origin.notApi'],
  ['403 with a page', http(403, { 'Content-Type': 'text/html' }, PAGE), 'origin.notApi'],
  ['400 without a message', http(400, {}), 'origin.refused'],
  ['404 without a message', http(404, {}), 'origin.refused'],
  ['401', http(401, {}), 'origin.unauthorized'],
  ['a reset before the answer', 'reset', 'origin.unreachable'],
  ['a reset in the headers', resets(HEAD), 'origin.unreachable'],
  ['a reset in the body', resets(`${HEAD}Content-Length: 99\r\n\r\n[{"@`), 'origin.truncated'],
  ['something that is not HTTP', ends('220 mail ESMTP\r\n'), 'origin.notApi'],
  ['headers without an end', ends(`${HEAD}X-A: ${'a'.repeat(200_000)}`), 'origin.notApi'],
];

const LIMITS: Partial<OriginLimits> = {
  deadlineMs: 250,
  decodedBytesMax: 1_000_000,
  retry: { attemptsMax: 2, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 },
};

/** A two-way fixture of three small pages behind a proxy. */
export function startFaulty(): ReturnType<typeof startBehindProxy> {
  return startBehindProxy({ editing: { match: 'Code' }, pageRows: 3, limits: LIMITS });
}

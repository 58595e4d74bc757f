/**
 * Carries faults out on a connection. Invariant: memory is bounded however much is sent, and everything stops once the
 * client has left or the sandbox stops.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { createGzip } from 'node:zlib';

import type { Clock } from '../../base/clock.ts';
import type { Fault } from './faults.ts';
import { CODES, MethodRefusal } from '../methods/refusal.ts';
import { refuse, type Outgoing } from './respond.ts';
import type { ApiPath } from '../methods/route.ts';

/** The connection to spoil, and what that needs. */
export interface Delivery {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly apiPath: ApiPath | undefined;
  readonly clock: Clock;
  /** Aborted when the sandbox stops. */
  readonly signal: AbortSignal;
}

/** What was sent in the end. */
export interface Delivered {
  /** 0 where the connection was cut without a status. */
  readonly status: number;
  readonly bodyBytes: number;
}

/** Answers in place of the method; undefined where the fault lets the method run first. */
export async function answerBadly(fault: Fault, delivery: Delivery): Promise<Delivered | undefined> {
  const headers = { 'Retry-After': fault.retryAfter };
  switch (fault.name) {
    case 'tooMany':
      return sendAll(refusal(429, 'Too many requests', delivery, headers), delivery);
    case 'unavailable':
      return sendAll(refusal(503, 'The service is unavailable', delivery, headers), delivery);
    case 'failure':
      return sendAll(refusal(500, 'The service failed', delivery), delivery);
    case 'html':
      return sendAll({ status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: HTML }, delivery);
    case 'notModified': {
      const etag = String(delivery.request.headers['if-none-match']);
      return sendAll({ status: 304, headers: { ETag: etag }, body: null }, delivery);
    }
    case 'gzipBomb':
      return sendBomb(fault, delivery);
    case 'resetBefore':
      return cut(delivery);
    default:
      return undefined;
  }
}

/** Sends a good answer badly. */
export async function sendBadly(fault: Fault, outgoing: Outgoing, delivery: Delivery): Promise<Delivered> {
  const { request, response } = delivery;
  const body = Buffer.from(outgoing.body ?? '');
  switch (fault.name) {
    case 'resetAfter':
      return cut(delivery);
    case 'truncated': {
      const half = body.subarray(0, Math.floor(body.length / 2));
      request.resume();
      response.writeHead(outgoing.status, outgoing.headers);
      response.flushHeaders();
      await written(response, half);
      // An orderly end, and not a reset, lets the client read what was sent.
      request.socket.destroySoon();
      return { status: outgoing.status, bodyBytes: half.length };
    }
    case 'wrongLength': {
      // What is left over must not be taken for the beginning of the next answer.
      const headers = { 'Content-Length': Math.max(0, body.length - fault.bytes), Connection: 'close' };
      return sendAll({ ...outgoing, headers: { ...outgoing.headers, ...headers } }, delivery);
    }
    case 'staleEtag': {
      const etag = outgoing.status === 200 ? { ETag: String(request.headers['if-none-match']) } : {};
      return sendAll({ ...outgoing, headers: { ...outgoing.headers, ...etag } }, delivery);
    }
    case 'drip':
      request.resume();
      response.writeHead(outgoing.status, outgoing.headers);
      return { status: outgoing.status, bodyBytes: await drip(fault, body, delivery) };
    default:
      return sendAll(outgoing, delivery);
  }
}

const HTML = '<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>';

function refusal(
  status: number,
  what: string,
  { apiPath, clock }: Delivery,
  headers: Outgoing['headers'] = {},
): Outgoing {
  const message = `${what}: the sandbox was told to answer so`;
  const answer = refuse(new MethodRefusal(status, { code: CODES.fault, message, source: null }), apiPath, clock);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

function sendAll({ status, headers, body }: Outgoing, { request, response }: Delivery): Delivered {
  request.resume(); // an unread body would block the connection
  response.writeHead(status, headers);
  response.end(body);
  return { status, bodyBytes: body === null ? 0 : Buffer.byteLength(body) };
}

function cut({ request }: Delivery): Delivered {
  // Node cannot reset a connection with TLS; it ends without a farewell, which TLS clients take for the same.
  if (request.socket instanceof TLSSocket) request.socket.destroy();
  else request.socket.resetAndDestroy();
  return { status: 0, bodyBytes: 0 };
}

async function drip({ bytes, ms }: Fault, body: Buffer, { response, clock, signal }: Delivery): Promise<number> {
  const size = Math.max(1, bytes);
  let sent = 0;
  while (sent < body.length && !response.destroyed && !signal.aborted) {
    const piece = body.subarray(sent, sent + size);
    await written(response, piece);
    sent += piece.length;
    if (sent < body.length) await clock.sleep(ms, signal);
  }
  response.end();
  return sent;
}

/** Blanks, which JSON allows in front of a value, and which gzip makes a thousand times smaller. */
const BLANKS = Buffer.alloc(1024 * 1024, ' ');

/** So many megabytes of blanks and an empty list, compressed while they are sent. */
async function sendBomb({ megabytes }: Fault, { request, response, signal }: Delivery): Promise<Delivered> {
  request.resume();
  const sentBefore = request.socket.bytesWritten;
  function* content(): Generator<Buffer> {
    for (let count = 0; count < megabytes && !signal.aborted; count += 1) yield BLANKS;
    yield Buffer.from('[]');
  }
  response.writeHead(200, { 'Content-Type': 'application/json;charset=utf-8', 'Content-Encoding': 'gzip' });
  // A client that leaves in the middle, as it should, ends the stream with an error.
  await pipeline(Readable.from(content(), { objectMode: false, highWaterMark: 1 }), createGzip(), response).catch(
    () => undefined,
  );
  return { status: 200, bodyBytes: request.socket.bytesWritten - sentBefore };
}

/** Writes, and waits until the system has taken the bytes or the client has left. */
function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('close', done);
      resolve();
    };
    response.once('close', done);
    response.write(bytes, done);
  });
}

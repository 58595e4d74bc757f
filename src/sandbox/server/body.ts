/**
 * Bodies of requests: read whole within a bound, or swallowed. Invariants: never more than the bound is held in
 * memory. A client that is still sending when its answer is ready gets that answer, within bytes and time. A socket
 * closed over unread bytes would take the answer with it.
 */
import type { IncomingMessage } from 'node:http';

import type { Clock } from '../../base/clock.ts';
import { WireFault } from '../../wire/fault.ts';
import { MULTIPART_LIMITS } from '../wire/multipart.ts';

/** Bytes of an unwanted body that are swallowed before the connection is closed on a client that continues. */
const DRAIN_BYTES_MAX = 5 * MULTIPART_LIMITS.bytesMax;
/** Enough for that many bytes on a local network; a client that sends nothing for so long is given up. */
const DRAIN_MS_MAX = 5_000;

/** Reads a body that may be used; what is too large is left unread. */
export function readBody(request: IncomingMessage): Promise<Buffer | WireFault> {
  const bytesMax = MULTIPART_LIMITS.bytesMax;
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity') {
    const fault = new WireFault('Bodies come without a Content-Encoding', { status: 415, source: 'Content-Encoding' });
    return Promise.resolve(fault);
  }
  const tooLarge = new WireFault(`The body has more than ${bytesMax} bytes`, { status: 413 });
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve(tooLarge);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let byteCount = 0;
    const finish = (result: Buffer | WireFault): void => {
      request.off('data', take).off('end', end).off('close', cut).off('error', cut);
      resolve(result);
    };
    const take = (chunk: Buffer): void => {
      byteCount += chunk.length;
      if (byteCount <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      finish(tooLarge);
    };
    const end = (): void => finish(Buffer.concat(chunks));
    const cut = (): void => finish(new WireFault('The connection ended inside of the body'));
    request.on('data', take).on('end', end).on('close', cut).on('error', cut);
  });
}

/** Whether the client has more to send of this request. */
export function isStillSending(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed;
}

/** Swallows the rest of a request until it ends, the connection does, or the bounds are reached. */
export function drainBody(request: IncomingMessage, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let left = DRAIN_BYTES_MAX;
    const done = new AbortController();
    const finish = (): void => {
      request.off('data', take).off('end', finish).off('close', finish);
      done.abort();
      resolve();
    };
    const take = (chunk: Buffer): void => {
      left -= chunk.length;
      if (left < 0) finish();
    };
    // The listener for errors stays: a connection that is cut afterwards must not end the program.
    request.on('data', take).on('end', finish).on('close', finish).on('error', finish).resume();
    void clock.sleep(DRAIN_MS_MAX, AbortSignal.any([signal, done.signal])).then(finish);
  });
}

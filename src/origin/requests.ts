/**
 * Requests from a caller's question to a typed answer: the queue in front of the connections, the retry loop, and the reading of
 * an answer's status, type and body. One of these serves one origin, so concurrency, rate and the quiet time after a
 * Retry-After hold for all its callers together.
 *
 * Every call sent from here is a read and may be repeated. Invariants: at most `attemptsMax` wire requests for one call (I18);
 * a call that waits for its next attempt holds no place in the queue; an answer is either complete and read, or an error.
 */
import PQueue from 'p-queue';

import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { WIRE_FORMATS, type Extension, type WireFormat } from '../wire/format.ts';
import { isCacheable, mediaType, readEtag, readRetryAfterMs } from '../wire/headers.ts';
import type { ErrorDescriptor } from '../wire/json.ts';
import { waitBeforeNextMs } from './backoff.ts';
import { textFromBody } from './body.ts';
import {
  damagedFailure,
  descriptorText,
  faultFailure,
  notApiFailure,
  statusFailure,
  stoppedFailure,
  tooLargeFailure,
  unexpectedFailure,
  type Attempted,
  type Failure,
} from './failures.ts';
import type { OriginLimits } from './limits.ts';
import {
  freedConnectionIsUsed,
  type Transport,
  type WireAnswer,
  type WireFault,
  type WireHeaders,
} from './transport.ts';

/** How a caller may ask. */
export interface ReadOptions {
  /** Sent as If-None-Match; without one the answer is never `notModified`. */
  readonly etag?: string | null | undefined;
  /** Ends the call at once with `origin.stopped`. */
  readonly signal?: AbortSignal | undefined;
}

/** A complete answer of a method. */
export type Answer<T> =
  | { readonly kind: 'notModified' }
  | {
      readonly kind: 'ok';
      readonly value: T;
      /** Null where the origin sent none that can be trusted, or said that the answer must not be kept. */
      readonly etag: string | null;
      /** Bytes of the body as it came over the wire. */
      readonly receivedBytes: number;
    };

/** One method call. */
export interface Call<T> {
  /** The method's name, for the log. */
  readonly method: string;
  /** The table's name; null for methods of the database. */
  readonly table: string | null;
  /** Path and query string, from the root of the host. */
  readonly path: string;
  /** Turns the body into the answer; throws `origin.truncated` or `origin.unexpected`. `what` begins its complaints. */
  readonly read: (text: string, what: string) => T;
}

/** Sums over the life of the origin client. */
export interface Counters {
  /** Requests that went to the wire, repeated ones included. */
  readonly requestCount: number;
  readonly notModifiedCount: number;
  readonly retryCount: number;
  /** Bytes of bodies as they came over the wire. */
  readonly receivedBytes: number;
}

/** What requests are made of. */
export interface RequestParts {
  readonly host: string;
  /** What answers are asked for and read in. */
  readonly format: WireFormat;
  /** Sent with every request, names and values in turn. */
  readonly headers: readonly string[];
  readonly concurrency: number;
  /** 0 is no limit. */
  readonly requestsPerSecond: number;
  readonly limits: OriginLimits;
  readonly transport: Transport;
  readonly scrub: (text: string) => string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The requests to one origin. */
export class Requests {
  readonly #parts: RequestParts;
  readonly #queue: PQueue;
  readonly #closing = new AbortController();
  readonly #counters = { requestCount: 0, notModifiedCount: 0, retryCount: 0, receivedBytes: 0 };
  /** Until then (monotonic) the origin asked to be left alone. */
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    const { concurrency, requestsPerSecond } = parts;
    // One start per interval rather than a burst per second: a limit that the origin measures otherwise is kept too.
    const rate = requestsPerSecond > 0 ? { intervalCap: 1, interval: 1000 / requestsPerSecond } : {};
    this.#queue = new PQueue({ concurrency, ...rate });
  }

  /** Sends a call until it is answered, refused, or not worth another attempt. @throws RowsyncError of the kinds in failures.ts. */
  async run<T>(call: Call<T>, options: ReadOptions): Promise<Answer<T>> {
    const { clock, limits, log } = this.#parts;
    const attempted = this.#attempted(call);
    const etag = readEtag(options.etag ?? undefined);
    const start = { atMs: null };
    // Bounded by `attemptsMax`, see waitBeforeNextMs.
    for (let attemptCount = 1; ; attemptCount += 1) {
      const result = await this.#send(call, { etag, signal: options.signal, start });
      const hasBody = result.kind === 'answer' && result.status === 200;
      if (hasBody && this.#queue.pending > 0) await freedConnectionIsUsed();
      const outcome = this.#read(call, { attempted, etag, result });
      if (outcome.kind !== 'failed') return outcome;
      if (!outcome.isTransient) throw withAttempts(outcome.error, attemptCount);

      const retryAfterMs = this.#retryAfterMs(result);
      const spentMs = clock.monotonicMs() - (start.atMs ?? clock.monotonicMs());
      const waitMs = waitBeforeNextMs({ attemptCount, spentMs, retryAfterMs, random: clock.random() }, limits.retry);
      if (waitMs === null) throw withAttempts(outcome.error, attemptCount);
      if (retryAfterMs !== null) {
        this.#quietUntilMs = Math.max(this.#quietUntilMs, clock.monotonicMs() + Math.min(retryAfterMs, waitMs));
      }

      this.#counters.retryCount += 1;
      const { method, table } = call;
      log.warn('origin.retry', { method, table, code: outcome.error.code, attempt: attemptCount, waitMs });
      await this.#sleep(waitMs, options.signal);
    }
  }

  /** The sums so far. */
  counters(): Counters {
    return { ...this.#counters };
  }

  /** Ends every call with `origin.stopped` and closes the connections. May be called twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.clear();
    await this.#parts.transport.destroy();
  }

  #attempted({ method, table }: Pick<Call<unknown>, 'method' | 'table'>): Attempted {
    const { host, scrub } = this.#parts;
    return { what: table === null ? method : `${method} of "${table}"`, host, scrub };
  }

  /** Waits for a place in the queue and sends the call once. */
  async #send(
    call: Call<unknown>,
    { etag, signal, start }: { etag: string | null; signal: AbortSignal | undefined; start: { atMs: number | null } },
  ): Promise<WireAnswer | WireFault> {
    const isStopped = (): boolean => this.#closing.signal.aborted || signal?.aborted === true;
    if (isStopped()) return STOPPED;
    try {
      return await this.#queue.add(
        async () => {
          const { clock, headers, transport } = this.#parts;
          start.atMs ??= clock.monotonicMs();
          const quietMs = this.#quietUntilMs - clock.monotonicMs();
          if (quietMs > 0) await this.#sleep(quietMs, signal);
          if (isStopped()) return STOPPED;
          const conditional = etag === null ? headers : [...headers, 'if-none-match', etag];
          const sentAtMs = clock.monotonicMs();
          this.#counters.requestCount += 1;
          const result = await transport.get({ path: call.path, headers: conditional, signal });
          this.#counters.receivedBytes += result.receivedBytes;
          this.#logRequest(call, result, clock.monotonicMs() - sentAtMs);
          return result;
        },
        { signal },
      );
    } catch (error) {
      // The queue rejects what it drops, because of the signal or because it was cleared.
      if (isStopped()) return STOPPED;
      throw error;
    }
  }

  #logRequest({ method, table }: Call<unknown>, result: WireAnswer | WireFault, durationMs: number): void {
    this.#parts.log.debug('origin.request', {
      method,
      table,
      ...(result.kind === 'answer' ? { status: result.status } : { reason: result.reason }),
      receivedBytes: result.receivedBytes,
      durationMs: Math.round(durationMs),
    });
  }

  #read<T>(
    call: Call<T>,
    { attempted, etag, result }: { attempted: Attempted; etag: string | null; result: WireAnswer | WireFault },
  ): Answer<T> | Failure {
    if (result.kind === 'fault') {
      return this.#closing.signal.aborted ? stoppedFailure(attempted) : faultFailure(attempted, result);
    }
    if (result.status === 304 && etag !== null) {
      this.#counters.notModifiedCount += 1;
      return { kind: 'notModified' };
    }
    const { headers, receivedBytes } = result;
    const contentType = oneHeader(headers, 'content-type');
    if (result.status !== 200) {
      return statusFailure(attempted, {
        status: result.status,
        contentType,
        location: oneHeader(headers, 'location'),
        retryAfterMs: this.#retryAfterMs(result),
        descriptor: this.#descriptor(result),
      });
    }
    if (formatOf(contentType) !== this.#parts.format) {
      return notApiFailure(
        attempted,
        `200 with ${contentType === undefined ? 'no media type' : mediaType(contentType)}`,
      );
    }
    const body = this.#bodyText(attempted, result);
    if (typeof body !== 'string') return body;
    const value = this.#readValue(call, attempted, body);
    if ('isTransient' in value) return value;
    const canBeKept = isCacheable(oneHeader(headers, 'cache-control'));
    return {
      kind: 'ok',
      value: value.value,
      etag: canBeKept ? readEtag(oneHeader(headers, 'etag')) : null,
      receivedBytes,
    };
  }

  #bodyText(attempted: Attempted, { body, headers }: WireAnswer): string | Failure {
    const decoded = textFromBody(body, headers['content-encoding'], this.#parts.limits.decodedBytesMax);
    switch (decoded.kind) {
      case 'text':
        // Something else under the type that was asked for: some captive portals keep it.
        return NOT_OF_FORMAT[this.#parts.format.extension].test(decoded.text)
          ? notApiFailure(attempted, '200 with a page of HTML or another format than its type says')
          : decoded.text;
      case 'tooLarge':
        return tooLargeFailure(attempted);
      case 'unknownEncoding':
        return notApiFailure(attempted, '200 with a content encoding that was not asked for');
      case 'damaged':
        return damagedFailure(attempted, 'the compressed answer is damaged or ended early');
      case 'notUtf8':
        return damagedFailure(attempted, 'the answer is not UTF-8');
      default:
        return decoded satisfies never;
    }
  }

  #readValue<T>(call: Call<T>, attempted: Attempted, text: string): { value: T } | Failure {
    try {
      return { value: call.read(text, attempted.what) };
    } catch (error) {
      if (!(error instanceof RowsyncError)) throw error;
      // Cut short although the transfer looked complete: a Content-Length that is too small does this.
      if (error.code === 'origin.truncated') return { kind: 'failed', error, isTransient: true };
      const descriptor = this.#parts.format.readError(text);
      if (descriptor === undefined) return { kind: 'failed', error, isTransient: false };
      return unexpectedFailure(
        attempted,
        `the origin answered 200 with an error${descriptorText(attempted.scrub, descriptor)}`,
      );
    }
  }

  /** The error descriptor in an answer, if it has one: in the format of its type, which need not be the one asked for. */
  #descriptor({ body, headers }: WireAnswer): ErrorDescriptor | undefined {
    const decoded = textFromBody(body, headers['content-encoding'], this.#parts.limits.decodedBytesMax);
    if (decoded.kind !== 'text') return undefined;
    const format = formatOf(oneHeader(headers, 'content-type')) ?? this.#parts.format;
    return format.readError(decoded.text);
  }

  #retryAfterMs(result: WireAnswer | WireFault): number | null {
    return result.kind === 'answer'
      ? readRetryAfterMs(oneHeader(result.headers, 'retry-after'), this.#parts.clock.nowMs())
      : null;
  }

  /** Sleeps until the time is over, the caller gives up or the client is closed. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    // Not AbortSignal.any: what it makes is kept for as long as the caller's signal lives.
    const waking = new AbortController();
    const wake = (): void => waking.abort();
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    if (signals.some((each) => each.aborted)) return;
    for (const each of signals) each.addEventListener('abort', wake);
    await this.#parts.clock.sleep(ms, waking.signal);
    for (const each of signals) each.removeEventListener('abort', wake);
  }
}

/** What stands for a request that was never sent, because nobody waits for it. */
const STOPPED: WireFault = { kind: 'fault', reason: 'stopped', cause: null, isAnswered: false, receivedBytes: 0 };

/** Says in the message how often the call was sent, where that was more than once. */
function withAttempts(error: RowsyncError, attemptCount: number): RowsyncError {
  if (attemptCount === 1) return error;
  const message = `${error.message} (after ${attemptCount} attempts)`;
  return new RowsyncError(error.kind, error.code, { message, hint: error.hint, cause: error.cause });
}

/** How a text begins that is not what its type says. */
const NOT_OF_FORMAT: Readonly<Record<Extension, RegExp>> = {
  json: /^\s*</,
  xml: /^\s*(?:[^<\s]|<(?:!doctype\b|html\b))/i,
};

/** The format that a Content-Type header names. */
function formatOf(contentType: string | undefined): WireFormat | undefined {
  const type = mediaType(contentType);
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json')) return WIRE_FORMATS.json;
  // A page that is XML too is still a page.
  if (type === 'application/xhtml+xml') return undefined;
  return type === 'text/xml' || type === 'application/xml' || type.endsWith('+xml') ? WIRE_FORMATS.xml : undefined;
}

/** A header that came once; several of one name are as good as none. */
function oneHeader(headers: WireHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

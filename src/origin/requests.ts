/**
 * Sends requests through one queue, with retries, and returns typed answers. Concurrency, rate and the pause after a
 * Retry-After hold for all callers of an origin together.
 *
 * A read may be repeated. A change (`change`) is repeated only where it is certain that nothing happened; otherwise
 * its failure is `origin.unknownOutcome`. Invariants: at most `attemptsMax` wire requests for one call (I18); a call
 * that waits for its next attempt holds no place in the queue.
 */
import PQueue from 'p-queue';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { DocumentReader, WireFormat } from '../wire/format.ts';
import { clockAheadMs, readEtag } from '../wire/headers.ts';
import type { OutgoingBody } from '../wire/write-body.ts';
import { KEYS_MAX, QUERY_BYTES_MAX } from '../wire/request-paths.ts';
import {
  descriptorOf,
  isFile,
  readDocument,
  readFile,
  retryAfterMs,
  type Answer,
  type Etag,
  type FileHeaders,
  type AnswerContext,
} from './answers.ts';
import { RETRY_AFTER_MS_MAX, waitBeforeNextMs } from '../base/retries.ts';
import {
  faultFailure,
  stoppedFailure,
  tooMuchFailure,
  unknownOutcomeFailure,
  type Attempted,
  type Failure,
} from './request-errors.ts';
import type { OriginLimits } from './limits.ts';
import type { Receiver, Transport, WireAnswer, TransportFault, WireRequest } from './transport.ts';

export interface ReadOptions<E extends Etag = Etag> {
  /** Sent as If-None-Match; without one the answer is never `notModified`. */
  readonly etag?: E | undefined;
  /** Ends the call with `origin.stopped`: at once, or up to `stopGraceMs` later if a sent change awaits its answer. */
  readonly signal?: AbortSignal | undefined;
}

/** A method that reads; only with an ETag can it answer `notModified`. */
export type ReadMethod<Args extends readonly unknown[], T> = <E extends Etag = undefined>(
  ...args: [...Args, options?: ReadOptions<E>]
) => Promise<Answer<T, E>>;

/** What a call is, for messages and the log, and where it goes. */
export interface Target {
  /** The method's name. */
  readonly method: string;
  /** The table's name; null for methods of the database. */
  readonly table: string | null;
  /** Path and query string below the database, without any secret. */
  readonly path: string;
}

/** A call that is answered with a document. */
export interface Call<T> extends Target {
  /** Turns the body into the answer; throws `origin.truncated` or `origin.unexpected`. `what` begins its complaints. */
  readonly read: DocumentReader<T>;
}

/** A call that changes rows: a POST with a body, or the GET that deletes. */
export interface ChangeCall<T> extends Call<T> {
  readonly body: OutgoingBody | null;
  /** More rows than the origin takes. */
  readonly isTooMany?: boolean | undefined;
}

/** Takes the content of a file piece by piece; no more comes until the promise resolves. */
export type FileReceiver = (chunk: Uint8Array) => void | Promise<void>;

/** Where the content of a file goes. */
export interface FileTarget {
  readonly receive: FileReceiver;
  /** Called before the content is sent again after a failure. Without it, there is no retry after the first bytes. */
  readonly restart?: (() => void | Promise<void>) | undefined;
}

/** Sums over the life of the origin client. */
export interface Counters {
  /** Requests that went to the wire, repeated ones included. */
  readonly requestCount: number;
  readonly notModifiedCount: number;
  readonly retryCount: number;
  /** Bytes of bodies as they came over the wire. */
  readonly receivedBytes: number;
  /** Requests that ended, by class of their answer's status; `none` had no answer. */
  readonly countByClass: Readonly<Record<StatusClass, number>>;
  /** The rest of the pause that the origin requested; not a sum. */
  readonly quietMs: number;
  /** By how much this machine's clock was ahead of the date of the last answer; null if none had one. Not a sum. */
  readonly clockAheadMs: number | null;
}

export type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'none';

export interface RequestParts {
  readonly host: string;
  /** The path of the database; may hold a secret. */
  readonly root: string;
  /** The format in which answers are requested and read. */
  readonly format: WireFormat;
  /** Sent with every request, names and values in turn. */
  readonly headers: readonly string[];
  /** Sent with every request that is answered with a document. */
  readonly documentHeaders: readonly string[];
  readonly concurrency: number;
  /** 0 is no limit. */
  readonly requestsPerSecond: number;
  readonly limits: OriginLimits;
  readonly transport: Transport;
  readonly scrub: (text: string) => string;
  readonly clock: Clock;
  readonly log: Logger;
  /** The pause that the origin has already requested. */
  readonly quietMs: number;
}

/** The result of one attempt: an answer, or a failure that may be worth another attempt. */
type AttemptOutcome<T> = { readonly kind: 'done'; readonly value: T } | Failure;

type Result = WireAnswer | TransportFault;

/** A delete is a GET on the wire, so no cache in between may answer it. */
const NO_STORE = ['cache-control', 'no-store'] as const;

/** The headers of a request for a file: its bytes as they are. */
const FILE_HEADERS = ['accept', '*/*', 'accept-encoding', 'identity'] as const;

export class Requests {
  readonly #parts: RequestParts;
  readonly #queue: PQueue;
  readonly #closing = new AbortController();
  readonly #counters = { requestCount: 0, notModifiedCount: 0, retryCount: 0, receivedBytes: 0 };
  readonly #countByClass = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, none: 0 };
  /** End (monotonic) of the pause that the origin requested. */
  #quietUntilMs: number;
  #clockAheadMs: number | null = null;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.#quietUntilMs = parts.clock.monotonicMs() + parts.quietMs;
    const { concurrency, requestsPerSecond } = parts;
    // One start per interval rather than a burst per second, so that the limit holds however the origin measures it.
    const rate = requestsPerSecond > 0 ? { intervalCap: 1, interval: 1000 / requestsPerSecond } : {};
    this.#queue = new PQueue({ concurrency, ...rate });
  }

  /** Repeats a read until an answer, a refusal, or a failure that would repeat. @throws RowsyncError of a request. */
  async run<T, E extends Etag = undefined>(call: Call<T>, options: ReadOptions<E>): Promise<Answer<T, E>> {
    const etag = readEtag(options.etag ?? undefined);
    const reading = this.#reading(call, { etag, isChange: false });
    const headers = [...this.#parts.documentHeaders, ...(etag === null ? [] : ['if-none-match', etag])];
    return this.#repeat(call, { method: 'GET', headers, signal: options.signal }, (result) =>
      this.#judgeRead<T, E>(result, reading, (answer) => readDocument(answer, call.read, reading)),
    );
  }

  /** Reads the headers of a file, and passes its content to `to` unless that is null. */
  async file<E extends Etag>(
    target: Target,
    to: FileTarget | null,
    options: ReadOptions<E>,
  ): Promise<Answer<FileHeaders, E>> {
    const etag = readEtag(options.etag ?? undefined);
    const reading = { ...this.#reading(target, { etag, isChange: false }), isHead: to === null };
    const headers = [...FILE_HEADERS, ...(etag === null ? [] : ['if-none-match', etag])];
    const method = to === null ? 'HEAD' : 'GET';
    let isBegun = false;
    let comesAgain = false;
    const receiver: Receiver | undefined =
      to === null
        ? undefined
        : {
            bytesMax: this.#parts.limits.fileBytesMax,
            accepts: (status, fields) => {
              comesAgain = isBegun;
              return status === 200 && isFile(fields);
            },
            write: async (chunk) => {
              if (comesAgain) await to.restart?.();
              comesAgain = false;
              isBegun = true;
              await to.receive(chunk);
            },
          };
    const found = await this.#repeat(target, { method, headers, receiver, signal: options.signal }, (result) => {
      if (result.kind === 'fault' && result.reason === 'receiver' && result.cause !== null) throw result.cause;
      const outcome = this.#judgeRead<FileHeaders, E>(result, reading, (answer) => readFile(answer, reading));
      const mayRepeat = !isBegun || to?.restart !== undefined;
      return outcome.kind === 'failed' && !mayRepeat ? { ...outcome, isTransient: false } : outcome;
    });
    if (comesAgain) await to?.restart?.(); // the repeated content is empty
    return found;
  }

  /** Sends a change; repeats it only if it certainly did not happen. @throws RowsyncError `origin.unknownOutcome`, … */
  async change<T>(call: ChangeCall<T>, options: Pick<ReadOptions, 'signal'>): Promise<T> {
    const { body } = call;
    const reading = this.#reading(call, { etag: null, isChange: true });
    this.#refuseTooMuch(reading.attempted, call);
    const headers = [
      ...this.#parts.documentHeaders,
      ...(body === null ? NO_STORE : ['content-type', body.contentType]),
    ];
    const request = {
      method: body === null ? 'GET' : 'POST',
      headers,
      body: body?.bytes,
      signal: options.signal,
      stopGraceMs: this.#parts.limits.stopGraceMs,
    } as const;
    return this.#repeat(call, request, (result) => this.#judgeChange(call, result, reading));
  }

  /** Resolves once the requests made so far have been sent, as far as connections are free. */
  requestsLeave(): Promise<void> {
    return this.#parts.transport.requestsLeave();
  }

  /** The sums so far. */
  counters(): Counters {
    const quietMs = Math.max(0, this.#quietMs());
    return { ...this.#counters, countByClass: { ...this.#countByClass }, quietMs, clockAheadMs: this.#clockAheadMs };
  }

  /** Ends every call with `origin.stopped` and closes the connections. May be called twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.clear();
    await this.#parts.transport.destroy();
  }

  /** The rest of the pause that the origin requested; below zero once it is over. */
  #quietMs(): number {
    return this.#quietUntilMs - this.#parts.clock.monotonicMs();
  }

  #reading({ method, table }: Target, { etag, isChange }: { etag: string | null; isChange: boolean }): AnswerContext {
    const { host, scrub, format, limits, clock } = this.#parts;
    // The bare method name, "user", would read like a person.
    const plain = method === 'user' ? 'asking who is calling' : method;
    const what = table === null ? plain : `${method} of "${table}"`;
    const { decodedBytesMax } = limits;
    return { attempted: { what, host, isChange, scrub }, format, decodedBytesMax, nowMs: clock.nowMs(), etag };
  }

  /** Refuses what the origin would reject anyway (too many rows, too long): nothing is sent, so that is certain. */
  #refuseTooMuch(attempted: Attempted, { path, body, isTooMany }: ChangeCall<unknown>): void {
    const { sentBytesMax } = this.#parts.limits;
    const refuse = (status: number, words: string): never => {
      throw tooMuchFailure(attempted, { status, code: null, words, source: null }).error;
    };
    if (isTooMany === true) refuse(400, `more than ${KEYS_MAX} rows`);
    const [, query = ''] = path.split('?', 2);
    if (query.length > QUERY_BYTES_MAX) refuse(414, `the query string has more than ${QUERY_BYTES_MAX} bytes`);
    if (body !== null && body.bytes.length > sentBytesMax) refuse(413, `the body has more than ${sentBytesMax} bytes`);
  }

  #judgeRead<T, E extends Etag>(
    result: Result,
    { attempted }: AnswerContext,
    read: (answer: WireAnswer) => Answer<T> | Failure,
  ): AttemptOutcome<Answer<T, E>> {
    if (result.kind === 'fault') return this.#faultFailure(attempted, result);
    const answer = read(result);
    if (answer.kind === 'failed') return answer;
    if (answer.kind === 'notModified') this.#counters.notModifiedCount += 1;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a 304 without an ETag was a failure above
    return { kind: 'done', value: answer as Answer<T, E> };
  }

  #judgeChange<T>({ read }: Call<T>, result: Result, reading: AnswerContext): AttemptOutcome<T> {
    const { attempted } = reading;
    const answer =
      result.kind === 'fault' ? this.#faultFailure(attempted, result) : readDocument(result, read, reading);
    if (answer.kind === 'ok') return { kind: 'done', value: answer.value };
    assert(answer.kind === 'failed', 'a change is never conditional');
    const verdict = verdictOnChange(result, {
      hasDescriptor: result.kind === 'answer' && descriptorOf(result, reading) !== undefined,
      isPage: answer.error.code === 'origin.notApi',
    });
    if (verdict === 'unknown') return unknownOutcomeFailure(attempted, answer);
    return verdict === 'again' ? answer : { ...answer, isTransient: false };
  }

  #faultFailure(attempted: Attempted, fault: TransportFault): Failure {
    return this.#closing.signal.aborted ? stoppedFailure(attempted) : faultFailure(attempted, fault);
  }

  /** Sends a request until `judge` returns an answer or rules out another attempt. */
  async #repeat<T>(
    target: Target,
    request: Omit<WireRequest, 'path'>,
    judge: (result: Result) => AttemptOutcome<T>,
  ): Promise<T> {
    const { clock, limits, log, transport } = this.#parts;
    const { signal } = request;
    const start = { atMs: null };
    // Bounded by `attemptsMax`, see waitBeforeNextMs.
    for (let attemptCount = 1; ; attemptCount += 1) {
      const result = await this.#send(target, request, start);
      // Parsing many rows blocks the event loop, so other requests leave first. The answer to a change is short.
      const hasRows = result.kind === 'answer' && result.status === 200 && request.stopGraceMs === undefined;
      if (hasRows && this.#queue.pending > 0) await transport.requestsLeave();
      const outcome = judge(result);
      if (outcome.kind === 'done') return outcome.value;
      const requestedMs = retryAfterMs(result, clock.nowMs());
      if (requestedMs !== null && requestedMs <= RETRY_AFTER_MS_MAX) {
        this.#quietUntilMs = Math.max(this.#quietUntilMs, clock.monotonicMs() + requestedMs);
      }
      if (!outcome.isTransient) throw withAttempts(outcome.error, attemptCount);

      const spentMs = clock.monotonicMs() - (start.atMs ?? clock.monotonicMs());
      const failed = { attemptCount, spentMs, retryAfterMs: requestedMs, random: clock.random() };
      const waitMs = waitBeforeNextMs(failed, limits.retry);
      if (waitMs === null) throw withAttempts(outcome.error, attemptCount);

      this.#counters.retryCount += 1;
      const { method, table } = target;
      log.warn('origin.retry', { method, table, code: outcome.error.code, attempt: attemptCount, waitMs });
      await this.#sleep(waitMs, signal);
    }
  }

  #isStopped(signal: AbortSignal | undefined): boolean {
    return this.#closing.signal.aborted || signal?.aborted === true;
  }

  /** Waits for a place in the queue and sends the request once. */
  async #send(target: Target, request: Omit<WireRequest, 'path'>, start: { atMs: number | null }): Promise<Result> {
    const { signal } = request;
    if (this.#isStopped(signal)) return unsent('stopped');
    const exchange: { result: Promise<Result> | null } = { result: null };
    try {
      const priority = request.stopGraceMs === undefined ? 0 : 1; // a change goes before the reads of later batches
      return await this.#queue.add(() => (exchange.result = this.#exchange(target, request, start)), {
        signal,
        priority,
      });
    } catch (error) {
      // The queue rejects what it drops, on the signal or when it is cleared. On the signal it also rejects what it has
      // started, and then only the exchange knows whether the request was sent.
      if (exchange.result !== null) return await exchange.result;
      if (this.#isStopped(signal)) return unsent('stopped');
      throw error;
    }
  }

  async #exchange(target: Target, request: Omit<WireRequest, 'path'>, start: { atMs: number | null }): Promise<Result> {
    const { clock, headers, limits, log, root, transport } = this.#parts;
    const { signal } = request;
    start.atMs ??= clock.monotonicMs();
    const quietMs = this.#quietMs();
    if (quietMs > limits.retry.totalMs) return unsent('leftAlone');
    if (quietMs > 0) await this.#sleep(quietMs, signal);
    if (this.#isStopped(signal)) return unsent('stopped');
    const sentAtMs = clock.monotonicMs();
    this.#counters.requestCount += 1;
    const path = root + target.path;
    const result = await transport.send({ ...request, path, headers: [...headers, ...request.headers] });
    this.#counters.receivedBytes += result.receivedBytes;
    this.#countByClass[classOf(result)] += 1;
    if (result.kind === 'answer')
      this.#clockAheadMs = clockAheadMs(result.headers, clock.nowMs()) ?? this.#clockAheadMs;
    log.debug('origin.request', {
      method: target.method,
      table: target.table,
      ...(result.kind === 'answer' ? { status: result.status } : { reason: result.reason }),
      receivedBytes: result.receivedBytes,
      durationMs: Math.round(clock.monotonicMs() - sentAtMs),
    });
    return result;
  }

  /** Sleeps until the time is over, the caller gives up or the client is closed. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    // Not AbortSignal.any: its result is kept in memory as long as the caller's signal lives.
    const waking = new AbortController();
    const wake = (): void => waking.abort();
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    if (signals.some((each) => each.aborted)) return;
    for (const each of signals) each.addEventListener('abort', wake);
    await this.#parts.clock.sleep(ms, waking.signal);
    for (const each of signals) each.removeEventListener('abort', wake);
  }
}

function classOf(result: Result): StatusClass {
  if (result.kind === 'fault') return 'none';
  if (result.status < 300) return '2xx';
  if (result.status < 400) return '3xx';
  return result.status < 500 ? '4xx' : '5xx';
}

/** The result of a request that was not sent. */
function unsent(reason: 'stopped' | 'leftAlone'): TransportFault {
  return { kind: 'fault', reason, cause: null, isSent: false, isAnswered: false, receivedBytes: 0 };
}

/** Adds to the message how often the call was sent, if more than once. */
function withAttempts(error: RowsyncError, attemptCount: number): RowsyncError {
  if (attemptCount === 1) return error;
  const message = `${error.message} (after ${attemptCount} attempts)`;
  const { kind, code, hint, cause, refusal } = error;
  return new RowsyncError(kind, code, { message, hint, cause, refusal });
}

/** refused: nothing happened, nor would it again · again: nothing happened, but may later · unknown: it may have. */
type ChangeVerdict = 'refused' | 'again' | 'unknown';

/** Redirects to the same request at another address, so the change did not happen (RFC 9110, 15.4). */
const NOT_ACTED_ON: ReadonlySet<number> = new Set([301, 307, 308]);

/** What is known of a change without row statuses; `hasDescriptor`: of the API · `isPage`: of another server. */
export function verdictOnChange(
  end: Pick<TransportFault, 'kind' | 'isSent'> | Pick<WireAnswer, 'kind' | 'status'>,
  { hasDescriptor, isPage }: { readonly hasDescriptor: boolean; readonly isPage: boolean },
): ChangeVerdict {
  if (end.kind === 'fault') return end.isSent ? 'unknown' : 'again';
  const { status } = end;
  if (status === 429 || (status === 503 && hasDescriptor)) return 'again';
  if ((status >= 400 && status < 500 && !isPage) || NOT_ACTED_ON.has(status)) return 'refused';
  return 'unknown';
}

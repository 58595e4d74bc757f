/**
 * One request over the wire and its complete answer in memory, or the reason why there is none. Owns the connections (an undici
 * pool to one host), the time-outs, the total deadline and the bound on body bytes; knows nothing of the Records API.
 *
 * Invariants: nothing is sent to another host, whatever an answer says (I16); redirects are answers like any other; every
 * exchange ends within its deadline (I18). Failures are values here: failures.ts gives them their meaning.
 */
import { Pool, type Dispatcher } from 'undici';

import type { OriginLimits } from './limits.ts';

/** Header fields of an answer by lower-case name; a list where the field came more than once. */
export type WireHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A complete answer, whatever its status. */
export interface WireAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: WireHeaders;
  /** As it came over the wire, possibly compressed. */
  readonly body: Buffer;
  readonly receivedBytes: number;
}

/** Why there is no complete answer. */
export interface WireFault {
  readonly kind: 'fault';
  readonly reason:
    | 'stopped' // the caller gave up
    | 'deadline' // the total time is used up
    | 'tooLarge' // the body is longer than the bound
    | 'failed'; // the connection or the HTTP on it, see `cause`
  /** What undici or the system reported; null unless `failed`. */
  readonly cause: Error | null;
  /** Whether the headers of an answer had arrived. */
  readonly isAnswered: boolean;
  readonly receivedBytes: number;
}

/** One request. */
export interface WireRequest {
  /** Path and query string, from the root of the host. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Connections to one host. */
export interface Transport {
  /** Sends a GET and never rejects. */
  get(request: WireRequest): Promise<WireAnswer | WireFault>;
  /** Closes every connection; what is in flight ends with a fault. */
  destroy(): Promise<void>;
}

/** Opens a pool to the scheme and host of `url`; connections are made when they are needed. */
export function openTransport(url: string, limits: OriginLimits, connectionCount: number): Transport {
  const pool = new Pool(url, {
    connections: connectionCount,
    // One answer at a time on a connection: a stray answer can then never be taken for the next one's.
    pipelining: 1,
    // The service speaks HTTP/1.1; one protocol is one set of failures to know.
    allowH2: false,
    connectTimeout: limits.connectTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyGapTimeoutMs,
    // Hosts with a dead IPv6 address are reached through their IPv4 one.
    autoSelectFamily: true,
  });
  return {
    get: (request) =>
      new Promise((resolve) => {
        const exchange = new Exchange(request.signal, limits, resolve);
        if (exchange.isSettled) return;
        pool.dispatch({ method: 'GET', path: request.path, headers: [...request.headers] }, exchange);
      }),
    destroy: () => pool.destroy(new Error('The connections are being closed')),
  };
}

/** Collects one answer; settles exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal | undefined;
  readonly #bytesMax: number;
  readonly #resolve: (result: WireAnswer | WireFault) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #receivedBytes = 0;
  #status = 0;
  #headers: WireHeaders = {};
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;

  constructor(
    signal: AbortSignal | undefined,
    limits: OriginLimits,
    resolve: (result: WireAnswer | WireFault) => void,
  ) {
    this.#signal = signal;
    this.#bytesMax = limits.wireBytesMax;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#giveUp('deadline'), limits.deadlineMs);
    if (signal?.aborted) this.#giveUp('stopped');
    else signal?.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#giveUp('stopped');

  get isSettled(): boolean {
    return this.#isSettled;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while the connection was being made: the request must not be sent any more.
    if (this.#isSettled) controller.abort(new Error('Given up before it was sent'));
    else this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: WireHeaders): void {
    // An interim answer (100, 103) comes here too; the real one takes its place.
    this.#status = status;
    this.#headers = headers;
    const announced = Number(headers['content-length']);
    if (announced > this.#bytesMax) this.#giveUp('tooLarge');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > this.#bytesMax) this.#giveUp('tooLarge');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#settle({
      kind: 'answer',
      status: this.#status,
      headers: this.#headers,
      body,
      receivedBytes: this.#receivedBytes,
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#settle({ ...this.#fault('failed'), cause });
  }

  #giveUp(reason: 'stopped' | 'deadline' | 'tooLarge'): void {
    this.#settle(this.#fault(reason));
    this.#controller?.abort(new Error(`Given up: ${reason}`));
  }

  #fault(reason: WireFault['reason']): WireFault {
    const isAnswered = this.#status !== 0;
    return { kind: 'fault', reason, cause: null, isAnswered, receivedBytes: this.#receivedBytes };
  }

  #settle(result: WireAnswer | WireFault): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve(result);
  }
}

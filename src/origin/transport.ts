/**
 * Sends one request and reads its complete answer, in memory or piece by piece. Owns the connections to the one host,
 * the time-outs, the deadline and the size limit of bodies; knows nothing of the Records API.
 *
 * Invariants: no answer can make it send anything to another host (I16). Redirects are not followed. A
 * request is written to a connection only once, even if the pool would retry. Every exchange ends within its
 * deadline, or, if a receiver takes the body, once there is a gap or the average is too slow (I18). Failures
 * are values: request-errors.ts names them.
 */
import { Readable } from 'node:stream';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import type { OutgoingBytes, StreamedBytes } from '../wire/write-body.ts';
import { type OriginRoute, ProxyFault, type ProxySettings } from './proxy.ts';
import type { OriginLimits } from './limits.ts';
import { Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { basicHeader } from '../wire/headers.ts';

/** Header fields of an answer by lower-case name; a list where the field came more than once. */
export type WireHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface WireAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: WireHeaders;
  /** As it came over the wire, possibly compressed; empty if a receiver took it. */
  readonly body: Buffer;
  readonly receivedBytes: number;
}

/** Why there is no complete answer. */
export interface TransportFault {
  readonly kind: 'fault';
  readonly reason:
    | 'stopped' // the caller gave up
    | 'leftAlone' // the origin's Retry-After is longer than a request waits
    | 'deadline' // the total time is used up
    | 'tooLarge' // the body is longer than the bound
    | 'receiver' // the receiver of the body failed, see `cause`
    | 'cutShort' // what was to be sent could not be read to its end, see `cause`
    | 'failed'; // the connection or the HTTP on it, see `cause`
  /** What undici or the system reported; null unless `failed`, `receiver` or `cutShort`. */
  readonly cause: Error | null;
  /** Whether the complete request may have reached the other side; false is certain. */
  readonly isSent: boolean;
  /** Whether the headers of an answer had arrived. */
  readonly isAnswered: boolean;
  readonly receivedBytes: number;
}

/** Takes the body of an answer piece by piece. */
export interface Receiver {
  /** Size limit of the body in bytes. */
  readonly bytesMax: number;
  /** Whether it takes the body of this answer; otherwise the body is collected in memory as usual. */
  accepts(status: number, headers: WireHeaders): boolean;
  /** Takes ownership of the next bytes; no more come until the promise resolves. */
  write(chunk: Uint8Array): void | Promise<void>;
}

export interface WireRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Path and query string, from the root of the host. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body?: OutgoingBytes | undefined;
  readonly receiver?: Receiver | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the answer if the signal comes after the request was sent; 0 unless given. */
  readonly stopGraceMs?: number;
}

/** Connections to one host. Tests can pass the client their own, such as the simulation's network. */
export interface Transport {
  /** Sends a request and never rejects. */
  send(request: WireRequest): Promise<WireAnswer | TransportFault>;
  /** Resolves once the requests made so far have been sent, as far as connections are free. */
  requestsLeave(): Promise<void>;
  /** Closes every connection; what is in flight ends with a fault. */
  destroy(): Promise<void>;
}

/** undici uses an idle connection a turn or two of the event loop later: storing a page first delays a request. */
async function twoTurns(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Opens a pool to the scheme and host of `url`; connections are made when they are needed. */
export function openTransport(
  url: string,
  limits: OriginLimits,
  connectionCount: number,
  route?: OriginRoute,
): Transport {
  const pools = openConnections(url, limits, connectionCount, route);
  const [pool] = pools;
  return {
    send: (request) =>
      new Promise((resolve) => {
        const { method, path, headers, body } = request;
        const inMemory = body === undefined || body instanceof Uint8Array ? (body ?? null) : null;
        const streamed = body === undefined || body instanceof Uint8Array ? null : new StreamedBody(body);
        // Nobody can answer before the body has been sent, so allow for that time.
        const sendingMs = ((body?.length ?? 0) / limits.sentBytesPerSecondMin) * 1000;
        // The length is known, so that a server can refuse before it reads.
        const length = streamed === null ? [] : ['content-length', String(streamed.length)];
        const deadlineMs = limits.deadlineMs + sendingMs;
        const exchange = new Exchange(request, streamed, { ...limits, deadlineMs }, resolve);
        const headersTimeout = limits.headersTimeoutMs + sendingMs;
        const content = streamed === null ? inMemory : Readable.from(streamed.read(), { objectMode: false });
        pool.dispatch(
          { origin: url, method, path, headers: [...headers, ...length], body: content, headersTimeout },
          exchange,
        );
      }),
    requestsLeave: twoTurns,
    destroy: async () => {
      for (const each of pools) await each.destroy(new Error('The connections are being closed'));
    },
  };
}

/** A body that is read while it is sent. */
class StreamedBody {
  readonly length: number;
  /** Whether reading it failed before its last byte, so that the other side never got all of it. */
  isCutShort = false;
  readonly #body: StreamedBytes;

  constructor(body: StreamedBytes) {
    this.length = body.length;
    this.#body = body;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    let left = this.length;
    // An error thrown while a piece is being sent comes from the connection.
    let isReading = true;
    try {
      for await (const chunk of this.#body.read()) {
        left -= chunk.length;
        isReading = false;
        yield chunk;
        isReading = true;
      }
    } catch (thrown) {
      this.isCutShort = isReading && left > 0;
      throw thrown;
    }
  }
}

/** Collects one answer, or passes its body to the receiver; settles exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: WireRequest;
  readonly #streamed: StreamedBody | null;
  readonly #resolve: (result: WireAnswer | TransportFault) => void;
  readonly #limits: OriginLimits;
  #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #bytesMax: number;
  #receivedBytes = 0;
  #status = 0;
  #headers: WireHeaders = {};
  #controller: Dispatcher.DispatchController | null = null;
  #isHandedOver = false;
  /** Whether the receiver is busy with a piece, and the next ones wait for it. */
  #isTaking = false;
  /** What the receiver is still busy with. */
  #handingOver: Promise<void> = Promise.resolve();
  #isSettled = false;

  constructor(
    request: WireRequest,
    streamed: StreamedBody | null,
    limits: OriginLimits,
    resolve: (result: WireAnswer | TransportFault) => void,
  ) {
    this.#request = request;
    this.#streamed = streamed;
    this.#bytesMax = limits.wireBytesMax;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#giveUp('deadline'), limits.deadlineMs);
    if (request.signal?.aborted) this.#giveUp('stopped');
    else request.signal?.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const { stopGraceMs = 0 } = this.#request;
    if (this.#controller === null || stopGraceMs === 0) return this.#giveUp('stopped');
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp('stopped'), stopGraceMs);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while the connection was being made: the request must not be sent any more.
    if (this.#isSettled) return controller.abort(new Error('Discarded before it was sent'));
    // A pool may retry a request whose connection was closed, but whether to repeat it is our decision.
    if (this.#controller !== null) {
      this.#settle(this.#fault('failed'));
      return controller.abort(new Error('Never sent twice'));
    }
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: WireHeaders): void {
    // An interim answer (100, 103) comes here too; the final one replaces it.
    this.#status = status;
    this.#headers = headers;
    const { method, receiver } = this.#request;
    if (status >= 200 && receiver?.accepts(status, headers) === true) {
      this.#isHandedOver = true;
      this.#bytesMax = receiver.bytesMax;
      // A file may take any time as long as it keeps coming; with a limit on gaps only, a trickle could last years.
      this.#watchPace();
    }
    // HEAD and 304 announce a length but have no body.
    const hasBody = method !== 'HEAD' && status !== 304;
    if (hasBody && Number(headers['content-length']) > this.#bytesMax) this.#giveUp('tooLarge');
  }

  /** Gives up a download that was too slow since the last check, unless the receiver itself was busy. */
  #watchPace(): void {
    const { deadlineMs, fileBytesPerSecondMin } = this.#limits;
    const wantedBytes = this.#receivedBytes + (fileBytesPerSecondMin * deadlineMs) / 1000;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#receivedBytes < wantedBytes && !this.#isTaking) this.#giveUp('deadline');
      else this.#watchPace();
    }, deadlineMs);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici passes an empty chunk on every resume; pausing for it would cause an endless loop.
    if (chunk.length === 0) return;
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > this.#bytesMax) this.#giveUp('tooLarge');
    else if (this.#isHandedOver) this.#handOver(controller, chunk);
    else this.#chunks.push(chunk);
  }

  #handOver(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    controller.pause();
    this.#isTaking = true;
    const take = async (): Promise<void> => {
      if (!this.#isSettled) await this.#request.receiver?.write(chunk);
      this.#isTaking = false;
    };
    this.#handingOver = this.#handingOver.then(take).then(
      () => controller.resume(),
      (thrown: unknown) => {
        const cause = thrown instanceof Error ? thrown : new Error('The receiver failed');
        this.#settle({ ...this.#fault('receiver'), cause });
        controller.abort(cause);
      },
    );
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    const answer: WireAnswer = {
      kind: 'answer',
      status: this.#status,
      headers: this.#headers,
      body,
      receivedBytes: this.#receivedBytes,
    };
    if (!this.#isHandedOver) return this.#settle(answer);
    clearTimeout(this.#timer);
    void this.#handingOver.then(() => this.#settle(answer));
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    const fault = { ...this.#fault('failed'), cause };
    // A server that already answers has read as much as it needs.
    const isCutShort = this.#streamed?.isCutShort === true && !fault.isAnswered;
    const end: TransportFault = isCutShort ? { ...fault, reason: 'cutShort', isSent: false } : fault;
    // Settle only after the receiver has finished its piece: a retry would start the content over.
    void this.#handingOver.then(() => this.#settle(end));
  }

  #giveUp(reason: 'stopped' | 'deadline' | 'tooLarge'): void {
    this.#settle(this.#fault(reason));
    this.#controller?.abort(new Error(`Discarded: ${reason}`));
  }

  #fault(reason: TransportFault['reason']): TransportFault {
    const isAnswered = this.#status !== 0;
    const isSent = this.#controller !== null;
    return { kind: 'fault', reason, cause: null, isSent, isAnswered, receivedBytes: this.#receivedBytes };
  }

  #settle(result: WireAnswer | TransportFault): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve(result);
  }
}

/** Connections to the scheme and host of `url`, made when needed, and behind them those to the proxy, if any. */
function openConnections(
  url: string,
  limits: OriginLimits,
  count: number,
  route: OriginRoute = {},
): readonly [Pool, ...Pool[]] {
  const { proxy = null, authorities = null } = route;
  const connector = buildConnector({
    ...trustIn(authorities),
    // The service speaks HTTP/1.1; a second protocol would add its own kinds of failures.
    allowH2: false,
    timeout: limits.connectTimeoutMs,
    // Falls back to IPv4 for hosts whose IPv6 address does not answer.
    autoSelectFamily: true,
  });
  const shared = {
    connections: count,
    // No pipelining, so that a stray answer can never be taken for that of the next request.
    pipelining: 1,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyGapTimeoutMs,
  };
  if (proxy === null) return [new Pool(url, { ...shared, connect: connector })];
  const toProxy = new Pool(proxy.url, {
    ...shared,
    // undici would use the name of the tunnel's target, but the certificate is the proxy's.
    connect: (target, connected) => connector({ ...target, servername: '' }, connected),
    // The proxy connects to the origin before it answers, and may take as long as we would.
    headersTimeout: limits.connectTimeoutMs,
  });
  const through: buildConnector.connector = (target, connected) => {
    const hand = (socket: Socket): void => {
      if (target.protocol === 'https:') connector({ ...target, httpSocket: socket }, connected);
      else connected(null, socket);
    };
    openTunnel(toProxy, proxy, target).then(hand, (fault: Error) => connected(fault, null));
  };
  return [new Pool(url, { ...shared, connect: through }), toProxy];
}

/** TLS verification. Set explicitly, so that no environment variable can turn it off. */
function trustIn(authorities: string | null) {
  if (authorities === null) return { rejectUnauthorized: true };
  // Created once: parsing all authorities for every connection would take longer than the handshake.
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), authorities] });
  return { rejectUnauthorized: true, secureContext };
}

/** Opens a tunnel through the proxy, even for http: one set of failures for both. @throws ProxyFault on any failure. */
async function openTunnel(
  toProxy: Pool,
  { url, login }: ProxySettings,
  { host = '', port, protocol }: buildConnector.Options,
): Promise<Socket> {
  const proxy = new URL(url).host;
  const path = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
  const headers = login === null ? {} : { 'proxy-authorization': basicHeader(login.user, login.password) };
  const { statusCode, socket } = await toProxy
    .connect({ path, headers: { host, ...headers } })
    .catch((cause: unknown) => {
      throw new ProxyFault(proxy, null, cause);
    });
  if (statusCode === 200 && socket instanceof Socket) return socket;
  socket.on('error', () => undefined).destroy();
  throw new ProxyFault(proxy, statusCode);
}

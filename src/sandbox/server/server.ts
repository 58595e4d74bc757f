/**
 * The HTTP side of the sandbox: connections, the request log, latency, hooks. What node refuses by itself is refused in
 * the words of the API. Faults are carried out here: memory is bounded however much is sent, and everything stops once
 * the client has left.
 *
 * The control endpoint is a second port on the loopback interface, at which a test sets faults, renames tables and
 * reads the log. It needs no sign-in. A page in a browser cannot use it, because it must name a loopback host and send
 * JSON, and gets no CORS headers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import { QUERY_BYTES_MAX } from '../../wire/request-paths.ts';
import { hasPassword } from './authorize.ts';
import { drainBody, isStillSending } from './body.ts';
import { type Faults, type Fault, readFaultPlan } from './faults.ts';
import { PageCache } from './page-cache.ts';
import type { RequestLog, SeenRequest } from './requests.ts';
import { respond, respondToFailure, type Outgoing, refuse } from './respond.ts';
import type { ServerRules } from '../methods/rules.ts';
import { methodName, readApiPath, type ApiPath } from '../methods/route.ts';
import { findByName } from '../store/catalog.ts';
import type { Store } from '../store/store.ts';
import { CODES, MethodRefusal } from '../methods/refusal.ts';
import { namesFromSegment } from '../wire/query.ts';

/** Asked before each request is answered. Returns true when it has answered, or cut the connection, by itself. */
export type Intercept = (request: SeenRequest, response: ServerResponse) => boolean | Promise<boolean>;

/** What the server works with. */
export interface ServerParts {
  readonly store: Store;
  readonly requests: RequestLog;
  readonly clock: Clock;
  readonly latencyMs: number;
  readonly rules: ServerRules;
  readonly faults: Faults;
  readonly intercept: Intercept | undefined;
  /** Certificate and key in PEM, for https. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  /** Aborted when the sandbox stops. */
  readonly signal: AbortSignal;
}

/** Twice the query string that is allowed, and room for headers; above it node answers before we see the request. */
const HEADER_BYTES_MAX = 2 * QUERY_BYTES_MAX + 32 * 1024;
/** Longer than clients keep idle connections, so that it is never us who close one while a request is on its way. */
const KEEP_ALIVE_MS = 65_000;
/** What the request log has in place of a secret. */
const HIDDEN = '***';

/** Creates the server; it does not listen yet. */
export function createApiServer(parts: ServerParts): Server | TlsServer {
  const context = { ...parts, cache: new PageCache((tableIds) => parts.store.version(tableIds)) };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(request, response, context);
  };
  const options = { maxHeaderSize: HEADER_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS };
  const { tls } = parts;
  const server = tls === null ? createServer(options, onRequest) : createTlsServer({ ...options, ...tls }, onRequest);
  // Some clients read only the first block of an answer, which must not be `100 Continue`.
  server.on('checkContinue', onRequest);
  server.on('clientError', onClientError);
  return server;
}

/** What node itself refuses, in the words of the API: a status and no body. */
function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '414 URI Too Long' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

interface ServerContext extends ServerParts {
  readonly cache: PageCache;
}

async function serve(request: IncomingMessage, response: ServerResponse, context: ServerContext): Promise<void> {
  const verb = request.method ?? 'GET';
  response.setHeader('Date', new Date(context.clock.nowMs()).toUTCString());
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/]*/i, '');
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const apiPath = readApiPath(path);
  const seen = describeRequest(context.requests.next(), verb, { path, query, apiPath }, context.store);
  const table = seen.table === null ? undefined : findByName(context.store.catalog.tables, seen.table);
  const tableNames = table === undefined ? [] : [table.name, table.alias];
  const { delayMs, fault } = context.faults.next(seen, request.headers['if-none-match'] !== undefined, tableNames);
  // Half of the latency on the way here, half on the way back; a faulty answer is given at the end of it.
  const returnMs = fault === null ? context.latencyMs / 2 : 0;
  const waitMs = context.latencyMs - returnMs + delayMs;
  if (waitMs > 0) await context.clock.sleep(waitMs, context.signal);
  const delivery = { request, response, apiPath, clock: context.clock, signal: context.signal };
  const log = ({ status, bodyBytes }: Delivered): void => {
    context.requests.add({ ...seen, status, bodyBytes, fault: fault?.name ?? null });
  };

  let outgoing: Outgoing;
  try {
    if ((await context.intercept?.(seen, response)) === true) {
      return log({ status: response.destroyed ? 0 : response.statusCode, bodyBytes: 0 });
    }
    if (context.signal.aborted) {
      response.destroy(); // the store is closed
      return;
    }
    const early = fault === null ? undefined : await answerBadly(fault, delivery);
    if (early !== undefined) return log(early);
    outgoing = await respond(request, { verb, query, apiPath }, context);
    if (returnMs > 0) await context.clock.sleep(returnMs, context.signal);
  } catch (thrown) {
    if (context.signal.aborted) {
      response.destroy();
      return;
    }
    outgoing = respondToFailure(thrown, apiPath, context.clock);
  }
  if (fault !== null) return log(await sendBadly(fault, outgoing, delivery));
  await send(request, response, outgoing, context);
  log({ status: outgoing.status, bodyBytes: outgoing.body === null ? 0 : Buffer.byteLength(outgoing.body) });
}

/** Sends an answer; to a client that is still sending, whole at once, and the end of it when the client is done. */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Outgoing,
  { clock, signal }: ServerContext,
): Promise<void> {
  if (isStillSending(request)) {
    response.writeHead(status, { ...headers, Connection: 'close' });
    if (body === null) response.flushHeaders();
    else response.write(body);
    await drainBody(request, clock, signal);
    response.end();
    return;
  }
  request.resume(); // an unread body would block the connection
  response.writeHead(status, headers);
  response.end(body);
}

/** What is remembered of a request: nothing that looks like a token or a password, wherever in the address it is. */
function describeRequest(
  number: number,
  verb: string,
  url: { readonly path: string; readonly query: string; readonly apiPath: ApiPath | undefined },
  store: Store,
): SeenRequest {
  const { query, apiPath } = url;
  const asSent = apiPath?.segments ?? [];
  const segments = apiPath !== undefined && hasPassword(apiPath, store) ? [HIDDEN, ...asSent.slice(1)] : asSent;
  // A path outside of the API may still be one with credentials that someone mistyped.
  const path =
    apiPath === undefined
      ? url.path.split('/').map(withoutPassword).join('/')
      : apiPath.safePath.slice(0, apiPath.safePath.length - asSent.join('/').length) + segments.join('/');
  const table = segments.length > 1 ? namesFromSegment(segments[0] ?? '')?.at(-1) : undefined;
  return {
    number,
    verb,
    method: methodName(segments),
    table: table === undefined ? null : withoutTokens(table),
    path: withoutTokens(query === '' ? path : `${path}?${query}`),
  };
}

function withoutPassword(segment: string): string {
  return /:|%3A/i.test(segment) ? HIDDEN : segment;
}

function withoutTokens(text: string): string {
  return text.replaceAll(/[0-9a-f]{32,}/gi, HIDDEN);
}

/** The connection to spoil, and what that needs. */
interface Delivery {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly apiPath: ApiPath | undefined;
  readonly clock: Clock;
  /** Aborted when the sandbox stops. */
  readonly signal: AbortSignal;
}

/** What was sent in the end. */
interface Delivered {
  /** 0 where the connection was cut without a status. */
  readonly status: number;
  readonly bodyBytes: number;
}

/** Answers in place of the method; undefined where the fault lets the method run first. */
async function answerBadly(fault: Fault, delivery: Delivery): Promise<Delivered | undefined> {
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
async function sendBadly(fault: Fault, outgoing: Outgoing, delivery: Delivery): Promise<Delivered> {
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

/** What the endpoint shows and changes. */
interface ControlParts {
  readonly store: Store;
  readonly faults: Faults;
  readonly requests: RequestLog;
}

/** Bytes of a plan; a thousand rules need a fifth of it. */
const BODY_BYTES_MAX = 1024 * 1024;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i;

interface ControlReply {
  readonly status: number;
  readonly json: unknown;
}

/** Creates the server; it does not listen yet. */
export function createControlServer(parts: ControlParts): Server {
  return createServer((request, response) => {
    void reply(request, parts).then((answer) => sendAnswer(response, answer));
  });
}

async function reply(request: IncomingMessage, parts: ControlParts): Promise<ControlReply> {
  if (!LOOPBACK.test(request.headers.host ?? '')) return problem(403, 'the Host header must name a loopback address');
  const path = (request.url ?? '').split('?')[0];
  const { faults, requests, store } = parts;
  switch (`${request.method} ${path}`) {
    case 'GET /faults':
      return { status: 200, json: { seed: faults.seed, faults: faults.states } };
    case 'PUT /faults':
      return withJson(request, (input) => replaceFaults(input, faults));
    case 'PUT /names':
      return withJson(request, (input) => rename(input, store));
    case 'DELETE /faults':
      faults.replace({ faults: [] });
      return { status: 200, json: {} };
    case 'GET /requests':
      return { status: 200, json: { seenCount: requests.seenCount, requests: requests.all } };
    case 'DELETE /requests':
      requests.clear();
      return { status: 200, json: {} };
    default:
      request.resume();
      return problem(404, 'there are /faults (GET, PUT, DELETE), /requests (GET, DELETE) and /names (PUT)');
  }
}

async function withJson(request: IncomingMessage, act: (input: unknown) => ControlReply): Promise<ControlReply> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    request.resume();
    return problem(415, 'the Content-Type must be application/json');
  }
  const text = await readText(request);
  if (text === undefined) return problem(413, `the body must have at most ${BODY_BYTES_MAX} bytes`);
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    return problem(400, 'the body is not JSON');
  }
  return act(input);
}

/** Renames a table, or one of its columns, as a colleague would in the setup. */
function rename(input: unknown, store: Store): ControlReply {
  const { table: name, column, to } = Object(input) as Readonly<Record<string, unknown>>;
  if (typeof to !== 'string' || to.trim() === '' || (column !== undefined && typeof column !== 'string'))
    return problem(400, 'the body is {"table": "…", "to": "…"}, for a column also with "column": "…"');
  const table = store.catalog.tables.find((one) => one.name === name);
  if (table === undefined) return problem(404, 'there is no table of that name');
  const named = column === undefined ? store.catalog.tables : table.columns;
  if (column !== undefined && !named.some((one) => one.name === column))
    return problem(404, `"${table.name}" has no column "${column}"`);
  if (named.some((one) => one.name === to)) return problem(409, `"${to}" is taken`);
  if (column === undefined) store.renameTable(table.name, to);
  else store.renameColumn(table.name, column, to);
  return { status: 200, json: {} };
}

function replaceFaults(input: unknown, faults: Faults): ControlReply {
  const plan = readFaultPlan(input);
  if (!('faults' in plan)) return { status: 400, json: { problems: plan } };
  faults.replace(plan);
  return { status: 200, json: { seed: faults.seed, faults: faults.states } };
}

function problem(status: number, text: string): ControlReply {
  return { status, json: { problems: [text] } };
}

/** Undefined when the body is too long or never ends. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    return undefined; // the client left
  }
  return length <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString('utf8') : undefined;
}

function sendAnswer(response: ServerResponse, { status, json }: ControlReply): void {
  const body = `${JSON.stringify(json)}\n`;
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, 'Cache-Control': 'no-store' }).end(body);
}

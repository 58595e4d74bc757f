/**
 * The HTTP side of the sandbox: connections, headers, conditional requests, compression, CORS. Input: requests on the
 * loopback interface. Output: answers of `methods.ts`, or refusals; never HTML, a redirect, a stack trace or `100
 * Continue`. Header names go out in canonical case, because real clients look them up that way (origin facts 7.1).
 * Invariant: an answer that stands in the page cache under a current version is never rendered again.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

import type { Clock } from '../base/clock.ts';
import { CACHEABLE, matchesEtag } from '../wire/headers.ts';
import { namesFromSegment, QUERY_BYTES_MAX } from '../wire/query.ts';
import { authorize } from './authorize.ts';
import { answer, roleOf } from './methods.ts';
import { etagOf, PageCache, type RenderedPage } from './page-cache.ts';
import { CODES, queryTooLong, Refusal, unknownMethod } from './refusal.ts';
import { jsonRenderer } from './render.ts';
import type { RequestLog, SeenRequest } from './requests.ts';
import { findRoute, methodName, readApiPath, type ApiPath } from './route.ts';
import type { User } from './store/catalog.ts';
import type { Store } from './store/store.ts';

/** Asked before each request is answered. Returns true when it has answered, or cut the connection, by itself. */
export type Intercept = (request: SeenRequest, response: ServerResponse) => boolean | Promise<boolean>;

/** What the server works with. */
export interface ServerParts {
  readonly store: Store;
  readonly requests: RequestLog;
  readonly clock: Clock;
  readonly latencyMs: number;
  readonly intercept: Intercept | undefined;
  /** Aborted when the sandbox stops. */
  readonly signal: AbortSignal;
}

/** Twice the query string that is allowed, and room for headers; above it node answers before we see the request. */
const HEADER_BYTES_MAX = 2 * QUERY_BYTES_MAX + 32 * 1024;
/** Longer than clients keep idle connections, so that it is never us who close one while a request is on its way. */
const KEEP_ALIVE_MS = 65_000;
/** Bodies smaller than this gain nothing from gzip. */
const GZIP_BYTES_MIN = 1024;

const gzipAsync = promisify(gzip);

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Content-Disposition, Last-Modified, X-Author, X-Revision, Retry-After',
} as const;

const CORS_PREFLIGHT = {
  ...CORS,
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-None-Match, If-Modified-Since',
  'Access-Control-Max-Age': '86400',
} as const;

type Headers = Readonly<Record<string, string | number>>;

/** One answer as it goes out. */
interface Outgoing {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer | string | null;
}

/** Creates the server; it does not listen yet. */
export function createApiServer(parts: ServerParts): Server {
  const context = { ...parts, cache: new PageCache((tableIds) => parts.store.version(tableIds)) };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(request, response, context);
  };
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS }, onRequest);
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

interface Context extends ServerParts {
  readonly cache: PageCache;
}

async function serve(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  request.resume(); // no method served here takes a body; an unread one would block the connection
  const verb = request.method ?? 'GET';
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/]*/i, '');
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
  const apiPath = readApiPath(path);
  const seen = describeRequest(context.requests.next(), verb, { path, query, apiPath });
  if (context.latencyMs > 0) await context.clock.sleep(context.latencyMs, context.signal);

  let outgoing: Outgoing;
  try {
    if ((await context.intercept?.(seen, response)) === true) {
      context.requests.add({ ...seen, status: response.destroyed ? 0 : response.statusCode, bodyBytes: 0 });
      return;
    }
    if (context.signal.aborted) {
      response.destroy(); // the store is closed
      return;
    }
    outgoing = await respond(request, { verb, query, apiPath, safePath: seen.path }, context);
  } catch (thrown) {
    outgoing = refuse(internalError(thrown), context.clock);
  }
  response.writeHead(outgoing.status, outgoing.headers);
  response.end(outgoing.body);
  context.requests.add({
    ...seen,
    status: outgoing.status,
    bodyBytes: outgoing.body === null ? 0 : Buffer.byteLength(outgoing.body),
  });
}

function describeRequest(
  number: number,
  verb: string,
  url: { readonly path: string; readonly query: string; readonly apiPath: ApiPath | undefined },
): SeenRequest {
  const { path, query, apiPath } = url;
  const segments = apiPath?.segments ?? [];
  return {
    number,
    verb,
    method: methodName(segments),
    table: segments.length > 1 ? (namesFromSegment(segments[0] ?? '')?.at(-1) ?? null) : null,
    path: (apiPath?.safePath ?? path) + (query === '' ? '' : `?${query}`),
  };
}

function internalError(thrown: unknown): Refusal {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `The sandbox failed to answer: ${reason}`;
  return new Refusal(500, { code: CODES.internal, message, source: null });
}

interface ApiRequest {
  readonly verb: string;
  readonly query: string;
  readonly apiPath: ApiPath | undefined;
  readonly safePath: string;
}

async function respond(request: IncomingMessage, api: ApiRequest, context: Context): Promise<Outgoing> {
  const { store, clock } = context;
  if (api.verb === 'OPTIONS') return { status: 204, headers: { ...CORS_PREFLIGHT, Date: httpDate(clock) }, body: null };
  if (api.query.length > QUERY_BYTES_MAX) return refuse(queryTooLong, clock);
  if (api.apiPath === undefined) return refuse(unknownMethod('The path is not part of the API'), clock);
  const user = authorize(api.apiPath, request.headers.authorization, store);
  if (user instanceof Refusal) return refuse(user, clock);
  const page = findPage(request, { ...api, apiPath: api.apiPath }, user, context);
  if (page instanceof Refusal) return refuse(page, clock);
  const headers = {
    ...CORS,
    'Cache-Control': CACHEABLE,
    ETag: page.etag,
    Date: httpDate(clock),
    Vary: 'Accept-Encoding',
  };
  if (page.rendered === null) return { status: 304, headers, body: null };
  return sendPage(request, headers, { key: page.key, rendered: page.rendered }, context);
}

/** What to answer to a cacheable GET; `rendered` is null when the client has it already. */
interface FoundPage {
  readonly key: string;
  readonly etag: string;
  readonly rendered: RenderedPage | null;
}

/** Looks an answer up by caller and URL, and renders it only if what stands there is out of date. */
function findPage(
  request: IncomingMessage,
  api: ApiRequest & { readonly apiPath: ApiPath },
  user: User,
  context: Context,
): FoundPage | Refusal {
  const { store, cache } = context;
  const key = `${user.id} ${api.verb} ${api.safePath}`;
  const isKnown = (etag: string): boolean => {
    const ifNoneMatch = request.headers['if-none-match'];
    return ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);
  };
  const etag = cache.etag(key);
  if (etag !== undefined && isKnown(etag)) return { key, etag, rendered: null };
  const kept = cache.page(key);
  if (kept !== undefined) return { key, etag: kept.etag, rendered: kept };

  const route = findRoute(api.verb, api.apiPath.segments);
  if (route instanceof Refusal) return route;
  const call = { store, user, role: roleOf(store, user), renderer: jsonRenderer, query: api.query };
  const made = answer(route, call);
  if (made instanceof Refusal) return made;
  const body = Buffer.from(made.text, 'utf8');
  const rendered: RenderedPage = { etag: etagOf(body), body, gzip: null };
  cache.keep(key, made.tableIds, rendered);
  return { key, etag: rendered.etag, rendered: isKnown(rendered.etag) ? null : rendered };
}

async function sendPage(
  request: IncomingMessage,
  headers: Headers,
  page: { readonly key: string; readonly rendered: RenderedPage },
  context: Context,
): Promise<Outgoing> {
  const { key, rendered } = page;
  const whole = { ...headers, 'Content-Type': jsonRenderer.contentType };
  if (rendered.body.length < GZIP_BYTES_MIN || !acceptsGzip(request.headers['accept-encoding'])) {
    return { status: 200, headers: { ...whole, 'Content-Length': rendered.body.length }, body: rendered.body };
  }
  // The fastest level: the sandbox serves from the same machine, and must not be what a benchmark measures.
  const body = rendered.gzip ?? (await gzipAsync(rendered.body, { level: constants.Z_BEST_SPEED }));
  context.cache.keepGzip(key, rendered, body);
  return { status: 200, headers: { ...whole, 'Content-Encoding': 'gzip', 'Content-Length': body.length }, body };
}

/** Whether Accept-Encoding names gzip or `*` and does not exclude it with `q=0` (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  const wanted = codings.find((coding) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(coding));
  const named = wanted ?? codings.find((coding) => /^\s*\*\s*(?:;|$)/.test(coding));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(named);
}

function refuse(refusal: Refusal, clock: Clock): Outgoing {
  const common = { ...CORS, 'Cache-Control': 'no-cache', Date: httpDate(clock) };
  if (refusal.descriptor === null) {
    const challenge =
      refusal.status === 401 ? { 'WWW-Authenticate': 'Basic realm="rowsync sandbox", charset="UTF-8"' } : {};
    return { status: refusal.status, headers: { ...common, ...challenge, 'Content-Length': 0 }, body: null };
  }
  const body = jsonRenderer.error(refusal.descriptor);
  const length = Buffer.byteLength(body);
  const headers = { ...common, 'Content-Type': jsonRenderer.contentType, 'Content-Length': length };
  return { status: refusal.status, headers, body };
}

function httpDate(clock: Clock): string {
  return new Date(clock.nowMs()).toUTCString();
}

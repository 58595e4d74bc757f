/**
 * The HTTP side of the sandbox: connections, the request log, latency, hooks. What node refuses by itself is refused
 * in the words of the API.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Duplex } from 'node:stream';

import type { Clock } from '../../base/clock.ts';
import { namesFromSegment, QUERY_BYTES_MAX } from '../../wire/query.ts';
import { hasPassword } from './authorize.ts';
import { drainBody, isStillSending } from './body.ts';
import { answerBadly, sendBadly, type Delivered } from './fault-delivery.ts';
import type { Faults } from './faults.ts';
import { PageCache } from './page-cache.ts';
import type { RequestLog, SeenRequest } from './requests.ts';
import { respond, respondToFailure, type Outgoing } from './respond.ts';
import type { ServerRules } from '../methods/rules.ts';
import { methodName, readApiPath, type ApiPath } from '../methods/route.ts';
import { findByName } from '../store/catalog.ts';
import type { Store } from '../store/store.ts';

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
  const waitMs = context.latencyMs + delayMs;
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

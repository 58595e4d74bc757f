/**
 * From a request to the answer that goes out: who calls, which method, from the page cache or made anew, with which headers.
 * Input: a request whose path was split. Output: status, headers, body; never HTML, a redirect or a stack trace. Header
 * names are in canonical case, because real clients look them up that way (origin facts 7.1).
 * Invariant: an answer that stands in the page cache under a current version is never rendered again.
 */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

import type { Clock } from '../base/clock.ts';
import { CACHEABLE, matchesEtag } from '../wire/headers.ts';
import { QUERY_BYTES_MAX } from '../wire/query.ts';
import { authorize } from './authorize.ts';
import { answer } from './methods.ts';
import { etagOf, type PageCache, type RenderedPage } from './page-cache.ts';
import { CODES, queryTooLong, Refusal, unknownMethod } from './refusal.ts';
import { errorFormat, findRoute, type ApiPath } from './route.ts';
import type { ServerRules } from './rules.ts';
import type { User } from './store/catalog.ts';
import type { Store } from './store/store.ts';

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
export interface Outgoing {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer | string | null;
}

/** What answers are made of. */
export interface RespondParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly cache: PageCache;
  readonly rules: ServerRules;
}

/** A request with its address in parts. */
export interface ApiRequest {
  readonly verb: string;
  /** As sent, without the question mark. */
  readonly query: string;
  /** Undefined for paths outside of the API. */
  readonly apiPath: ApiPath | undefined;
  /** Path and query without a token. */
  readonly safePath: string;
}

/** Answers a request. May throw, which is a failure of the sandbox's own. */
export async function respond(request: IncomingMessage, api: ApiRequest, parts: RespondParts): Promise<Outgoing> {
  const outgoing = await outcome(request, api, parts);
  return outgoing instanceof Refusal ? refuse(outgoing, api.apiPath, parts.clock) : outgoing;
}

/** The answer to a request that the sandbox itself failed on: 500 with a descriptor, without a stack. */
export function respondToFailure(thrown: unknown, apiPath: ApiPath | undefined, clock: Clock): Outgoing {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `The sandbox failed to answer: ${reason}`;
  return refuse(new Refusal(500, { code: CODES.internal, message, source: null }), apiPath, clock);
}

async function outcome(request: IncomingMessage, api: ApiRequest, parts: RespondParts): Promise<Outgoing | Refusal> {
  const { store, clock } = parts;
  if (api.verb === 'OPTIONS') return { status: 204, headers: { ...CORS_PREFLIGHT, Date: httpDate(clock) }, body: null };
  if (api.query.length > QUERY_BYTES_MAX) return queryTooLong;
  if (api.apiPath === undefined) return unknownMethod('The path is not part of the API');
  const user = authorize(api.apiPath, request.headers, { store, rules: parts.rules });
  if (user instanceof Refusal) return user;
  const page = findPage(request, { ...api, apiPath: api.apiPath }, user, parts);
  if (page instanceof Refusal) return page;
  const headers = {
    ...CORS,
    'Cache-Control': CACHEABLE,
    ETag: page.etag,
    Date: httpDate(clock),
    Vary: 'Accept-Encoding',
  };
  if (page.rendered === null) return { status: 304, headers, body: null };
  return sendPage(request, headers, { key: page.key, rendered: page.rendered }, parts);
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
  parts: RespondParts,
): FoundPage | Refusal {
  const { store, cache } = parts;
  const key = `${user.id} ${api.verb} ${api.safePath}`;
  const isKnown = (etag: string): boolean => {
    const ifNoneMatch = request.headers['if-none-match'];
    return ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);
  };
  const etag = cache.etag(key);
  if (etag !== undefined && isKnown(etag)) return { key, etag, rendered: null };
  const kept = cache.page(key);
  if (kept !== undefined) return { key, etag: kept.etag, rendered: kept };

  const route = findRoute(api.verb, api.apiPath.segments, parts.rules);
  if (route instanceof Refusal) return route;
  const made = answer(route, { store, user, query: api.query, nowMs: parts.clock.nowMs() });
  if (made instanceof Refusal) return made;
  const body = Buffer.from(made.text, 'utf8');
  const rendered: RenderedPage = { etag: etagOf(body), contentType: route.format.contentType, body, gzip: null };
  if (made.agesByItself !== true) cache.keep(key, made.tableIds, rendered);
  return { key, etag: rendered.etag, rendered: isKnown(rendered.etag) ? null : rendered };
}

async function sendPage(
  request: IncomingMessage,
  headers: Headers,
  page: { readonly key: string; readonly rendered: RenderedPage },
  parts: RespondParts,
): Promise<Outgoing> {
  const { key, rendered } = page;
  const whole = { ...headers, 'Content-Type': rendered.contentType };
  if (rendered.body.length < GZIP_BYTES_MIN || !acceptsGzip(request.headers['accept-encoding'])) {
    return { status: 200, headers: { ...whole, 'Content-Length': rendered.body.length }, body: rendered.body };
  }
  // The fastest level: the sandbox serves from the same machine, and must not be what a benchmark measures.
  const body = rendered.gzip ?? (await gzipAsync(rendered.body, { level: constants.Z_BEST_SPEED }));
  parts.cache.keepGzip(key, rendered, body);
  return { status: 200, headers: { ...whole, 'Content-Encoding': 'gzip', 'Content-Length': body.length }, body };
}

/** Whether Accept-Encoding names gzip or `*` and does not exclude it with `q=0` (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  const wanted = codings.find((coding) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(coding));
  const named = wanted ?? codings.find((coding) => /^\s*\*\s*(?:;|$)/.test(coding));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(named);
}

function refuse(refusal: Refusal, apiPath: ApiPath | undefined, clock: Clock): Outgoing {
  const common = { ...CORS, 'Cache-Control': 'no-cache', Date: httpDate(clock) };
  if (refusal.descriptor === null) {
    const challenge =
      refusal.status === 401 ? { 'WWW-Authenticate': 'Basic realm="rowsync sandbox", charset="UTF-8"' } : {};
    return { status: refusal.status, headers: { ...common, ...challenge, 'Content-Length': 0 }, body: null };
  }
  const format = errorFormat(apiPath?.segments ?? []);
  const body = format.writeError(refusal.descriptor);
  const length = Buffer.byteLength(body);
  const headers = { ...common, 'Content-Type': format.contentType, 'Content-Length': length };
  return { status: refusal.status, headers, body };
}

function httpDate(clock: Clock): string {
  return new Date(clock.nowMs()).toUTCString();
}

/**
 * From a request to the answer that goes out: who calls, which method, from the page cache or made anew, with which
 * headers. Header names are in canonical case, because real clients look them up that way (origin facts 7.1).
 * Invariant: an answer in the page cache under a current version is never rendered again.
 */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

import type { Clock } from '../../base/clock.ts';
import type { AttachmentInfo } from '../../wire/schema.ts';
import { WireFault } from '../../wire/fault.ts';
import { QUERY_BYTES_MAX } from '../../wire/request-paths.ts';
import { authorize } from './authorize.ts';
import { readBody } from './body.ts';
import type { RequestBody } from '../methods/call.ts';
import { answer } from '../methods/methods.ts';
import { etagOf, type PageCache, type RenderedPage } from './page-cache.ts';
import { badBody, CODES, queryTooLong, MethodRefusal, unknownMethod } from '../methods/refusal.ts';
import { errorFormat, findRoute, METHODS, type ApiPath, type Route } from '../methods/route.ts';
import type { ServerRules } from '../methods/rules.ts';
import type { Store } from '../store/store.ts';
import { CACHEABLE, matchesEtag, downloadDisposition } from '../wire/query.ts';

/** Bodies smaller than this gain nothing from gzip. */
const GZIP_BYTES_MIN = 1024;

const gzipAsync = promisify(gzip);
/** The fastest level: the sandbox serves from the same machine, and must not be what a benchmark measures. */
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED } as const;

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
}

/** Answers a request. May throw, which is a failure of the sandbox's own. */
export async function respond(request: IncomingMessage, api: ApiRequest, parts: RespondParts): Promise<Outgoing> {
  const outgoing = await outcome(request, api, parts);
  return outgoing instanceof MethodRefusal ? refuse(outgoing, api.apiPath, parts.clock) : outgoing;
}

/** The answer to a request that the sandbox itself failed on: 500 with a descriptor, without a stack. */
export function respondToFailure(thrown: unknown, apiPath: ApiPath | undefined, clock: Clock): Outgoing {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `The sandbox failed to answer: ${reason}`;
  return refuse(new MethodRefusal(500, { code: CODES.internal, message, source: null }), apiPath, clock);
}

async function outcome(
  request: IncomingMessage,
  api: ApiRequest,
  parts: RespondParts,
): Promise<Outgoing | MethodRefusal> {
  const { store, clock } = parts;
  if (api.verb === 'OPTIONS') return { status: 204, headers: { ...CORS_PREFLIGHT, Date: httpDate(clock) }, body: null };
  if (api.query.length > QUERY_BYTES_MAX) return queryTooLong;
  if (api.apiPath === undefined) return unknownMethod('The path is not part of the API');
  const user = authorize(api.apiPath, request.headers, { store, rules: parts.rules });
  if (user instanceof MethodRefusal) return user;
  const key = `${user.id} ${api.verb} ${api.apiPath.safePath}?${api.query}`;
  const known = findKnown(request, key, parts.cache);
  if (known !== undefined) return sendPage(request, known, parts);

  const route = findRoute(api.verb, api.apiPath.segments, parts.rules);
  if (route instanceof MethodRefusal) return route;
  const body = await bodyFor(route, request);
  if (body instanceof MethodRefusal) return body;
  const { rules } = parts;
  const made = answer(route, { store, user, rules, query: api.query, nowMs: clock.nowMs(), body });
  if (made instanceof MethodRefusal) return made;
  const { contentType } = route.format;
  if (made.kind === 'file') return sendFile(request, made.file, parts);
  if (made.kind === 'result') return sendResult(request, { text: made.text, contentType }, clock);
  const same = parts.cache.isSame(key, made) ? findKnown(request, key, parts.cache) : undefined;
  if (same !== undefined) return sendPage(request, same, parts);
  const page = renderPage(made.text(), contentType);
  if (made.agesByItself !== true) parts.cache.keep(key, made, page);
  return sendPage(request, { key, etag: page.etag, rendered: isKnown(request, page.etag) ? null : page }, parts);
}

/** What to answer to a cacheable GET; `rendered` is null when the client has it already. */
interface FoundPage {
  readonly key: string;
  readonly etag: string;
  readonly rendered: RenderedPage | null;
}

/** An answer that was rendered before and is still true. */
function findKnown(request: IncomingMessage, key: string, cache: PageCache): FoundPage | undefined {
  const etag = cache.etag(key);
  if (etag !== undefined && isKnown(request, etag)) return { key, etag, rendered: null };
  const kept = cache.page(key);
  return kept && { key, etag: kept.etag, rendered: kept };
}

function isKnown(request: IncomingMessage, etag: string): boolean {
  const ifNoneMatch = request.headers['if-none-match'];
  return ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);
}

function renderPage(text: string, contentType: string): RenderedPage {
  const body = Buffer.from(text, 'utf8');
  return { etag: etagOf(body), contentType, body, gzip: null };
}

/** The body of a method that takes one. */
async function bodyFor(route: Route, request: IncomingMessage): Promise<RequestBody | null | MethodRefusal> {
  if (!METHODS[route.method].verbs.some((verb) => verb === 'POST')) return null;
  const bytes = await readBody(request);
  return bytes instanceof WireFault ? badBody(bytes) : { bytes, contentType: request.headers['content-type'] };
}

/** What was done, for this client and this once. */
async function sendResult(
  request: IncomingMessage,
  result: { readonly text: string; readonly contentType: string },
  clock: Clock,
): Promise<Outgoing> {
  const body = Buffer.from(result.text, 'utf8');
  const headers = {
    ...CORS,
    'Cache-Control': 'no-cache',
    Date: httpDate(clock),
    Vary: 'Accept-Encoding',
    'Content-Type': result.contentType,
  };
  if (!takesGzip(request, body)) return { status: 200, headers: { ...headers, 'Content-Length': body.length }, body };
  const packed = await gzipAsync(body, GZIP_OPTIONS);
  return {
    status: 200,
    headers: { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': packed.length },
    body: packed,
  };
}

async function sendPage(request: IncomingMessage, page: FoundPage, parts: RespondParts): Promise<Outgoing> {
  const { key, etag, rendered } = page;
  const headers = {
    ...CORS,
    'Cache-Control': CACHEABLE,
    ETag: etag,
    Date: httpDate(parts.clock),
    Vary: 'Accept-Encoding',
  };
  if (rendered === null) return { status: 304, headers, body: null };
  const shared = { ...headers, 'Content-Type': rendered.contentType };
  if (!takesGzip(request, rendered.body)) {
    return { status: 200, headers: { ...shared, 'Content-Length': rendered.body.length }, body: rendered.body };
  }
  const body = rendered.gzip ?? (await gzipAsync(rendered.body, GZIP_OPTIONS));
  parts.cache.keepGzip(key, rendered, body);
  return { status: 200, headers: { ...shared, 'Content-Encoding': 'gzip', 'Content-Length': body.length }, body };
}

function takesGzip(request: IncomingMessage, body: Buffer): boolean {
  return body.length >= GZIP_BYTES_MIN && acceptsGzip(request.headers['accept-encoding']);
}

/**
 * A file with the headers of specification 4.9. A GET can be asked for again by its ETag, which is the guid: the bytes
 * behind a guid never change, but the caller's rights may. A HEAD is never kept, whatever it names.
 */
function sendFile(request: IncomingMessage, file: AttachmentInfo, { store, clock }: RespondParts): Outgoing {
  const etag = `"${file.guid}"`;
  const isGet = request.method === 'GET';
  const common = {
    ...CORS,
    'Cache-Control': isGet ? CACHEABLE : 'no-cache',
    ...(isGet ? { ETag: etag } : {}),
    Date: httpDate(clock),
  };
  if (isGet && isKnown(request, etag)) return { status: 304, headers: common, body: null };
  const headers = {
    ...common,
    'Content-Disposition': downloadDisposition(file.name),
    'X-Revision': file.revision,
    'Content-Type': /^[\x20-\x7e]+$/.test(file.type) ? file.type : 'application/octet-stream',
    'Content-Length': file.size,
    'Last-Modified': new Date(file.createdAt).toUTCString(),
    'X-Author': utf8Header(file.author),
  };
  return { status: 200, headers, body: isGet ? store.fileBytes(file.guid) : null };
}

/** Node writes a header byte by character, so a text goes out as UTF-8 if each of its bytes is a character. */
function utf8Header(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these would end the header line
  return Buffer.from(text.replaceAll(/[\0-\x1f\x7f]/g, ' '), 'utf8').toString('latin1');
}

/** Whether Accept-Encoding names gzip or `*` and does not exclude it with `q=0` (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  const wanted = codings.find((coding) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(coding));
  const named = wanted ?? codings.find((coding) => /^\s*\*\s*(?:;|$)/.test(coding));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(named);
}

/** A refusal as it goes out, in the format that the path asks for. */
export function refuse(refusal: MethodRefusal, apiPath: ApiPath | undefined, clock: Clock): Outgoing {
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

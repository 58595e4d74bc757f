/**
 * From a request's path to the method it names:
 * `/secure/api/v2/{appid}[/{token}|/-][/{table}[/{view}]]/{method}.{ext}`, and
 * `…/{table}/{column}/attachment[/{guid}]` (specification, sections 4 and 5; origin facts 7.2). Knows no credentials
 * and no tables.
 */
import { badParameter, unknownMethod, type MethodRefusal } from './refusal.ts';
import type { ServerRules } from './rules.ts';
import { SERVER_FORMATS, XML_WITHOUT_COLONS, type ServerFormat } from '../wire/format.ts';
import { namesFromSegment } from '../wire/query.ts';

/**
 * A method with the places it can be at. Directly below the database, below a table, below a table's view or column, or
 * (of an attachment) in front of a guid.
 */
export const METHODS = {
  describe: { verbs: ['GET'], depths: [0, 1] },
  user: { verbs: ['GET'], depths: [0] },
  select: { verbs: ['GET'], depths: [1, 2] },
  retrieve: { verbs: ['GET'], depths: [1] },
  updated: { verbs: ['GET'], depths: [1] },
  deleted: { verbs: ['GET'], depths: [1] },
  create: { verbs: ['POST'], depths: [1] },
  update: { verbs: ['POST'], depths: [1] },
  upsert: { verbs: ['POST'], depths: [1] },
  delete: { verbs: ['GET'], depths: [1] },
  attachments: { verbs: ['GET'], depths: [2] },
  attachment: { verbs: ['GET', 'HEAD'], depths: [2, 3] },
} as const satisfies Readonly<Record<string, { verbs: readonly string[]; depths: readonly number[] }>>;

/** What is in no specification; the origin has it, a server that keeps to the letter has not. */
const EXTENSIONS: ReadonlySet<string> = new Set(['updated', 'deleted']);

/** A method that the sandbox serves. */
export type Method = keyof typeof METHODS;

/** What follows the database id to say who calls. */
export type PathCredentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  /** A minus sign: the session cookie of the platform's own pages. */
  | { readonly kind: 'session' };

/** A path that belongs to the API. */
export interface ApiPath {
  readonly database: string;
  readonly credentials: PathCredentials;
  /** The segments behind the credentials, as sent. */
  readonly segments: readonly string[];
  /** The path as sent, with the token in its place cut out. */
  readonly safePath: string;
}

/** A served method with what its path names. */
export interface Route {
  readonly method: Method;
  /** Of the answer. */
  readonly format: ServerFormat;
  /** Names that the table segment may mean, likeliest first; null for methods of the database. */
  readonly tableNames: readonly string[] | null;
  /** Names that the segment below the table may mean, likeliest first; null where there is none. */
  readonly innerNames: readonly string[] | null;
  /** The segment behind `attachment`; null where there is none. */
  readonly guid: string | null;
}

const PREFIX = /^\/secure\/api\/v2\/([^/?]+)(?:\/(.*))?$/is;
const TOKEN = /^[0-9a-f]{32}$/i;

/** Splits a path; undefined when it is outside of the API. */
export function readApiPath(path: string): ApiPath | undefined {
  const match = PREFIX.exec(path);
  if (!match) return undefined;
  const [, database = '', rest = ''] = match;
  if (TOKEN.test(database)) return undefined; // no database has such an id, and a token must not be kept as one
  const segments = rest.split('/');
  const [first = '', ...others] = segments;
  const token = namesFromSegment(first)?.[0] ?? '';
  if (TOKEN.test(token)) {
    const safePath = path.slice(0, path.length - rest.length) + others.join('/');
    return { database, credentials: { kind: 'token', token }, segments: others, safePath };
  }
  if (others.length > 0 && first === '-') {
    return { database, credentials: { kind: 'session' }, segments: others, safePath: path };
  }
  return { database, credentials: { kind: 'none' }, segments, safePath: path };
}

/** The method that the segments name, for logs and hooks too; `other` when it is none. */
export function methodName(segments: readonly string[]): Method | 'other' {
  if (segments.length === 4) return segments[2]?.toLowerCase() === 'attachment' ? 'attachment' : 'other';
  const name = (segments.at(-1) ?? '').replace(/\.[^.]*$/, '').toLowerCase();
  return isMethod(name) ? name : 'other';
}

/** The format of the error that answers a request: XML only where XML was asked for (origin facts 4.1). */
export function errorFormat(segments: readonly string[]): ServerFormat {
  if (methodName(segments) === 'attachment') return SERVER_FORMATS.json;
  return formatFromSegment(segments.at(-1) ?? '') ?? SERVER_FORMATS.json;
}

function formatFromSegment(segment: string): ServerFormat | undefined {
  const extension = /\.([^.]*)$/.exec(segment)?.[1]?.toLowerCase();
  return extension === 'json' || extension === 'xml' ? SERVER_FORMATS[extension] : undefined;
}

/** Finds the method, or says why there is none. */
export function findRoute(
  verb: string,
  segments: readonly string[],
  { extensions, escapesColons }: Pick<ServerRules, 'extensions' | 'escapesColons'>,
): Route | MethodRefusal {
  const last = segments.at(-1) ?? '';
  const method = methodName(segments);
  const depth = segments.length - 1;
  const isSetup = depth === 1 && method === 'user' && segments[0]?.toLowerCase() === 'setup';
  const notServed = isSetup ? 'The sandbox does not serve setup/user' : notServedHere(last);
  if (notServed !== null) return unknownMethod(notServed, last);
  if (method === 'other' || !METHODS[method].depths.some((known) => known === depth)) {
    return unknownMethod('Invalid method name');
  }
  const isExtension = EXTENSIONS.has(method) || (method === 'select' && depth === 2);
  if (isExtension && !extensions) return unknownMethod('Invalid method name');
  if (!METHODS[method].verbs.some((known) => known === verb)) {
    return unknownMethod(`The method takes ${METHODS[method].verbs.join(' or ')}`, method);
  }
  // A file comes in the format that it was stored in, and what goes wrong with it in JSON.
  const named = method === 'attachment' ? SERVER_FORMATS.json : formatFromSegment(last);
  const format = escapesColons && named === SERVER_FORMATS.xml ? XML_WITHOUT_COLONS : named;
  if (format === undefined) return unknownMethod('The extension of a method is .json or .xml', last);
  if (method === 'attachment' && depth === 2 && last.toLowerCase() !== method) {
    return unknownMethod('The method takes no extension', last);
  }
  if (depth === 0) return { method, format, tableNames: null, innerNames: null, guid: null };
  const tableNames = namesFromSegment(segments[0] ?? '');
  const innerNames = depth < 2 ? null : namesFromSegment(segments[1] ?? '');
  if (tableNames === undefined || innerNames === undefined) {
    return badParameter(tableNames === undefined ? 'table' : 'path', 'The path is not valid percent-encoded UTF-8');
  }
  return { method, format, tableNames, innerNames, guid: depth === 3 ? last : null };
}

/** What the service has and the sandbox has not, said in words; null for anything else. */
function notServedHere(segment: string): string | null {
  const [, name = '', extension = ''] = /^(.*?)(?:\.([^.]*))?$/.exec(segment.toLowerCase()) ?? [];
  if (['document', 'documents', 'setup'].includes(name)) return `The sandbox does not serve ${name}`;
  if (!isMethod(name) || (extension !== 'html' && extension !== 'csv')) return null;
  return `The sandbox does not serve .${extension}; it answers in .json and .xml`;
}

function isMethod(name: string): name is Method {
  return Object.hasOwn(METHODS, name);
}

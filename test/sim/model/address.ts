/**
 * The address of a request, taken apart: database, token, table, method, parameters (specification, sections 2.1, 4 and
 * 5; origin facts 7.2 and 7.3). Only what the specification has, and JSON alone. Pure.
 */

/** What a path names; `segments` are as sent, behind the database and its token. */
export interface ModelPath {
  readonly database: string;
  readonly token: string | null;
  readonly segments: readonly string[];
}

/** A method with the names of its path; each name may be meant in several ways, the likeliest first. */
export interface ModelRoute {
  readonly method: string;
  readonly table: readonly string[] | null;
  readonly column: readonly string[] | null;
  readonly guid: string | null;
}

/** Parameters in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

const PREFIX = '/secure/api/v2/';

/** The parts of a path; null outside of the API. */
export function readPath(path: string): ModelPath | null {
  if (!path.toLowerCase().startsWith(PREFIX)) return null;
  const [database = '', ...rest] = path.slice(PREFIX.length).split('/');
  if (database === '') return null;
  const hasToken = /^[0-9a-f]{32}$/i.test(rest[0] ?? '');
  return { database, token: hasToken ? (rest[0] ?? '') : null, segments: hasToken ? rest.slice(1) : rest };
}

const WRITES = new Set(['create', 'update', 'upsert']);
const BY_DEPTH: readonly ReadonlySet<string>[] = [
  new Set(['describe', 'user']),
  new Set(['describe', 'select', 'retrieve', 'deleted', 'delete', ...WRITES]),
  new Set(['attachments', 'attachment']),
];

/** The method of a path; a text says what is wrong with it: no such method, or the segment whose encoding is broken. */
export function readRoute(verb: string, segments: readonly string[]): ModelRoute | 'table' | 'path' | 'method' {
  const isGuidForm = segments.length === 4 && segments[2]?.toLowerCase() === 'attachment';
  const last = (isGuidForm ? segments[2] : segments.at(-1))?.toLowerCase() ?? '';
  const depth = isGuidForm ? 2 : segments.length - 1;
  const method = last === 'attachment' ? last : (/^(.+)\.json$/.exec(last)?.[1] ?? '');
  if (BY_DEPTH[depth]?.has(method) !== true || (method === 'attachment') !== (last === 'attachment')) return 'method';
  const verbs = method === 'attachment' ? ['GET', 'HEAD'] : WRITES.has(method) ? ['POST'] : ['GET'];
  if (!verbs.includes(verb)) return 'method';
  const [table = null, column = null] = segments.slice(0, depth).map(namesOf);
  if (table === 'broken') return 'table';
  if (column === 'broken') return 'path';
  return { method, table, column, guid: isGuidForm ? (segments[3] ?? '') : null };
}

/** What a segment may name: decoded once, and then with the escapes of the vendor's clients undone as well. */
function namesOf(segment: string): readonly string[] | 'broken' {
  const once = decoded(segment);
  if (once === null) return 'broken';
  const unescaped: Readonly<Record<string, string>> = { '%25': '%', '%2F': '/', '%5C': '\\', '%3F': '?' };
  const twice = once.replaceAll(/%(?:25|2F|5C|3F)/gi, (escape) => unescaped[escape.toUpperCase()] ?? escape);
  return twice === once ? [once] : [once, twice];
}

/** The parameters of a query; empty ones are absent. Null where the encoding is broken. */
export function readPairs(query: string): Pairs | null {
  const pairs: (readonly [string, string])[] = [];
  for (const piece of query.split('&')) {
    const [name = '', ...rest] = piece.split('=');
    if (name === '' || rest.length === 0) continue;
    const pair = [decoded(name.replaceAll('+', ' ')), decoded(rest.join('=').replaceAll('+', ' '))] as const;
    if (pair[0] === null || pair[1] === null) return null;
    if (pair[1] !== '') pairs.push([pair[0], pair[1]]);
  }
  return pairs;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a URIError
  }
}

/**
 * Paths and query strings of the Records API (specification, sections 2.1 and 4; origin facts 7.2 and 7.3), as the
 * client builds them. A token in a path is never part of what is built here.
 */
import { onceFor } from '../base/memoize.ts';

/** Rows that one Select returns at most, and by default (specification, section 8). */
export const TOP_MAX = 500;
/** Keys or ids in one Retrieve or Delete at most (specification, section 8). */
export const KEYS_MAX = 500;
/** Bytes of query string that the origin takes (origin facts 4.1: 414 above 16K). */
export const QUERY_BYTES_MAX = 16_384;

/** The sort order of one column. */
export interface SortKey {
  readonly column: string;
  readonly descending?: boolean | undefined;
}

/** What Select takes (specification 4.4). */
export interface SelectParameters {
  readonly columns: readonly string[];
  readonly sort: readonly SortKey[];
  readonly filter?: string | undefined;
  readonly top?: number | undefined;
  readonly skip?: number | undefined;
}

/**
 * One path segment for a table, column or view name. The four characters that servers treat specially are escaped first
 * and then everything is percent-encoded, as the vendor's own clients do: `/` arrives as `%252F`.
 */
export function pathSegment(name: string): string {
  const escaped = name.replaceAll('%', '%25').replaceAll('/', '%2F').replaceAll('\\', '%5C').replaceAll('?', '%3F');
  return encodeText(escaped);
}

/** A name and a value of a query string; left out if the value is undefined. */
export type QueryPair = readonly [name: string, value: string | number | undefined];

/** A query string from pairs, in order, without the question mark. Spaces are `%20`. */
export function queryFromPairs(pairs: readonly QueryPair[]): string {
  const texts: string[] = [];
  for (const [name, value] of pairs) if (value !== undefined) texts.push(`${encodeText(name)}=${encodeText(value)}`);
  return texts.join('&');
}

/** A lone surrogate, which no URL can carry, becomes U+FFFD: the origin then answers that it does not know the name. */
export function encodeText(text: string | number): string {
  return typeof text === 'number' ? String(text) : encodeURIComponent(text.toWellFormed());
}

/** The query string of Select; `top` is left out at its default and `skip` at 0, which keeps cache keys short. */
export const selectQuery = onceFor(({ columns, sort, filter, top, skip }: SelectParameters): string => {
  const rest = queryFromPairs([
    ['filter', filter],
    ...sort.map((key): QueryPair => ['sort', sortText(key)]),
    ['top', top === TOP_MAX ? undefined : top],
    ['skip', skip === 0 ? undefined : skip],
  ]);
  return withColumns(columns, rest);
});

/** Cached, because all pages of a table name the same columns, which are most of their query. */
const columnsQuery = onceFor((columns: readonly string[]) =>
  queryFromPairs(columns.map((column) => ['column', column])),
);

function withColumns(columns: readonly string[], rest: string): string {
  return [columnsQuery(columns), rest].filter((part) => part !== '').join('&');
}

/** Ascending is the default and left out, except for a column whose own name ends like a sort order. */
function sortText({ column, descending }: SortKey): string {
  if (descending === true) return `${column}//DESC`;
  return /\/\/(?:ASC|DESC)$/i.test(column) ? `${column}//ASC` : column;
}

/** Rows by internal id or by key; the two are never mixed (specification 2.1). */
export type Records = { readonly ids: readonly number[] } | { readonly keys: readonly string[] };

/** The query pairs that name rows. */
export function recordPairs(records: Records): readonly QueryPair[] {
  return 'ids' in records ? records.ids.map((id) => ['id', id]) : records.keys.map((key) => ['key', key]);
}

/** The query string of Retrieve. */
export function retrieveQuery(columns: readonly string[], records: Records): string {
  return withColumns(columns, queryFromPairs(recordPairs(records)));
}

/**
 * The addresses of the Records API: the validated base address, and paths below the database. Paths contain no secret,
 * so that they can be logged and used as cache keys (I16, specification 2.1 and 4; origin facts 1.1 to 1.4). Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Extension } from '../wire/format.ts';
import {
  KEYS_MAX,
  pathSegment,
  QUERY_BYTES_MAX,
  encodeText,
  retrieveQuery,
  selectQuery,
  type SelectParameters,
} from '../wire/request-paths.ts';

/** How a table, a view or a column is addressed. */
export interface Address {
  /** Of a table, the singular name (`recordName`). */
  readonly name: string;
  /** Empty where there is none. */
  readonly alias: string;
  /** Of a table: the filter of every request that lists or counts its rows. Left out or null for all rows. */
  readonly rows?: string | null | undefined;
}

/** The checked address of one database. */
export interface OriginAddress {
  /** Scheme and host, without a slash at the end. */
  readonly url: string;
  /** Host and port, for messages. */
  readonly host: string;
  /** The path of the database, `/secure/api/v2/21995`. */
  readonly root: string;
}

/** Checks scheme, host and database id. @throws RowsyncError `config.invalid`, which never repeats user or path. */
export function originAddress(settings: { readonly url: string; readonly database: string }): OriginAddress {
  const url = URL.parse(settings.url);
  if (url === null) throw invalid('origin.url is not a URL', 'Write it as https://www.example.net.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid(`origin.url has the scheme "${url.protocol}"`, 'The origin speaks https (a sandbox: http).');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('origin.url contains a user or password', 'Use origin.user and origin.passwordFile.');
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw invalid(
      'origin.url has more than scheme and host',
      `Write ${url.origin} there, and the number of the database in origin.database.`,
    );
  }
  // One hyphen is known from real ids; letters only help sandboxes. A slash or dot would change the path.
  if (!/^\w+(?:-\w+)*$/.test(settings.database)) {
    throw invalid(
      'origin.database is not an id',
      'It is the number in the address of the database, for example 21995.',
    );
  }
  return { url: url.origin, host: url.host, root: `/secure/api/v2/${settings.database}` };
}

/** A path segment: the alias if it is a plain identifier (it survives a rename), otherwise the name. */
export function segment({ name, alias }: Address): string {
  return /^[A-Za-z_]\w*$/.test(alias) ? alias : pathSegment(name);
}

/** Describe, of the database or of a table. */
export function describePath(extension: Extension, table?: Address): string {
  return table === undefined ? `/describe.${extension}` : methodPath(extension, table, 'describe');
}

/** A method of a table, with a query string that may be empty. */
export function methodPath(extension: Extension, table: Address, method: string, query = ''): string {
  return withQuery(`/${segment(table)}/${method}.${extension}`, query);
}

/** Select. */
export function selectPath(extension: Extension, table: Address, query: SelectParameters, method = 'select'): string {
  return methodPath(extension, table, method, selectQuery(withRows(table, query)));
}

/** The filter of the table besides that of the request. */
function withRows({ rows = null }: Address, query: SelectParameters): SelectParameters {
  if (rows === null) return query;
  return { ...query, filter: query.filter === undefined ? rows : `(${rows}) and (${query.filter})` };
}

export function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`;
}

/**
 * Splits ids or keys, in order, into as few requests as the origin's limits on their number and on the query string
 * allow. `columns` are those that each request also names. If they alone fill the query string, rows go one by one, and
 * the origin may still refuse them.
 */
export function recordBatches<T extends number | string>(
  parameter: 'id' | 'key',
  columns: readonly string[],
  records: readonly T[],
  countMax = KEYS_MAX,
): readonly (readonly T[])[] {
  const fixedBytes = retrieveQuery(columns, { ids: [] }).length;
  const batches: T[][] = [];
  let bytes = QUERY_BYTES_MAX;
  for (const record of records) {
    const recordBytes = `&${parameter}=${encodeText(record)}`.length;
    const last = batches.at(-1);
    if (last === undefined || last.length >= Math.min(countMax, KEYS_MAX) || bytes + recordBytes > QUERY_BYTES_MAX) {
      batches.push([record]);
      bytes = fixedBytes + recordBytes;
    } else {
      last.push(record);
      bytes += recordBytes;
    }
  }
  return batches;
}

function invalid(problem: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'config.invalid', { message: `The configuration is wrong: ${problem}`, hint });
}

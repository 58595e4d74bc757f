/**
 * Where each method of the Records API stands at the origin: the checked base address, and paths below it without any
 * secret in them, so that they may be logged and kept as cache keys (I16, specification 2.1 and 4). Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Extension } from '../wire/format.ts';
import {
  KEYS_MAX,
  pathSegment,
  QUERY_BYTES_MAX,
  retrieveQuery,
  selectQuery,
  type SelectParameters,
} from '../wire/query.ts';

/** How a table is addressed. */
export interface TableAddress {
  /** The singular name (`recordName`). */
  readonly name: string;
  /** Empty where the table has none. */
  readonly alias: string;
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

/** Checks scheme, host and database id. @throws RowsyncError `config.invalid`; the message never repeats the URL's user or path. */
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
  // One hyphen is known from real ids; letters only help sandboxes. A slash or dot would change the meaning of the path.
  if (!/^\w+(?:-\w+)*$/.test(settings.database)) {
    throw invalid(
      'origin.database is not an id',
      'It is the number in the address of the database, for example 21995.',
    );
  }
  return { url: url.origin, host: url.host, root: `/secure/api/v2/${settings.database}` };
}

/** The path segment of a table: its alias where that is a plain identifier (it survives a rename), else its name. */
export function tableSegment({ name, alias }: TableAddress): string {
  return /^[A-Za-z_]\w*$/.test(alias) ? alias : pathSegment(name);
}

/** Below the root: Select with its query string. */
export function selectPath(extension: Extension, table: TableAddress, query: SelectParameters): string {
  return withQuery(`/${tableSegment(table)}/select.${extension}`, selectQuery(query));
}

/** Below the root: Retrieve by internal id. */
export function retrievePath(
  extension: Extension,
  table: TableAddress,
  columns: readonly string[],
  ids: readonly number[],
): string {
  return withQuery(`/${tableSegment(table)}/retrieve.${extension}`, retrieveQuery(columns, ids));
}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`;
}

/**
 * Cuts ids, in order, into as few Retrieve requests as the origin's bounds on keys and on the query string allow. Where the columns
 * alone fill the query string, one id goes at a time, and the origin has the last word.
 */
export function idBatches(columns: readonly string[], ids: readonly number[]): readonly (readonly number[])[] {
  const columnBytes = retrieveQuery(columns, []).length;
  const batches: number[][] = [];
  let batch: number[] = [];
  let bytes = columnBytes;
  for (const id of ids) {
    const idBytes = `&id=${id}`.length;
    if (batch.length > 0 && (batch.length === KEYS_MAX || bytes + idBytes > QUERY_BYTES_MAX)) {
      batches.push(batch);
      batch = [];
      bytes = columnBytes;
    }
    batch.push(id);
    bytes += idBytes;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

function invalid(problem: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'config.invalid', { message: `The configuration is wrong: ${problem}`, hint });
}

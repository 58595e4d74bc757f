/**
 * What the makers of pages share: the question with the replica to read, the bar around a page, pages that say what is wrong, and where
 * columns lead. Input: finished parts. Output: answers.
 */
import { readBrowsedTables, type BrowsedTable, type Cell } from '../../replica/browse.ts';
import { findReference, type Reference } from '../../replica/browse-row.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { framedHtml, sentenceHtml, type Frame } from './frame.ts';
import type { Html } from './html.ts';
import type { PageReply, PageRequest } from './request.ts';

/** What makes a page: the question, and the replica to read. */
export interface Desk {
  readonly request: PageRequest;
  readonly reader: ReplicaReader;
  readonly query: URLSearchParams;
}

/** A page that says what is wrong. */
export function problem(status: number, words: string, hint: string | null = null): PageReply {
  return { status, type: 'text/html; charset=utf-8', chunks: [sentenceHtml(words, hint)] };
}

/** A page with the bar at its top. */
export function framed(
  { request, reader }: Desk,
  frame: Pick<Frame, 'title' | 'place' | 'isWide' | 'refreshSeconds'>,
  body: Html,
  status = 200,
): PageReply {
  const page = framedHtml({ ...frame, identity: reader.identity(), formToken: request.formToken }, body);
  return { status, type: 'text/html; charset=utf-8', chunks: [page] };
}

/** Which columns the origin changes by itself whenever a row is changed, by the name of the table. */
export function stampColumns(tables: readonly BrowsedTable[]): (table: string) => ReadonlySet<string> {
  const kinds = new Set(['DateModified', 'LastModifiedBy']);
  const byTable = new Map(
    tables.map(({ name, columns }) => [
      name,
      new Set(columns.flatMap((column) => (kinds.has(column.kind ?? '') ? [column.name] : []))),
    ]),
  );
  return (table) => byTable.get(table) ?? new Set();
}

/** Where the values of each column lead, by the names of the columns. */
export function readReferences(
  reader: ReplicaReader,
  table: BrowsedTable,
  columns: readonly string[],
  valuesOf: (index: number) => readonly Cell[],
): ReadonlyMap<string, Reference> {
  const tables = readBrowsedTables(reader);
  return new Map(
    columns.flatMap((column, index) => {
      const reference = findReference(reader, tables, { table, column, values: valuesOf(index) });
      return reference === null ? [] : [[column, reference] as const];
    }),
  );
}

/** Headers with which a browser keeps an answer as a file, under a name that holds no path. */
export function saveAs(name: string): Readonly<Record<string, string>> {
  const safe =
    name
      .toWellFormed()
      .replaceAll(/[\p{C}/\\]/gu, '_')
      .slice(0, 200) || 'file';
  const encoded = encodeURIComponent(safe).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    'Content-Disposition': `attachment; filename="${safe.replaceAll(/[^\w.-]/g, '_')}"; filename*=UTF-8''${encoded}`,
  };
}

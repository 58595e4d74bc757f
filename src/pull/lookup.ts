/**
 * Asking the origin for rows by id, apart from any page: which of them it has, and of a table with a filter (`rows`) which of those the
 * filter selects. Retrieve takes no filter. So it is asked first, for no more than the keys; then the filter, for the rows with these keys.
 *
 * Between the two a row may go, or enter the filter. One that went is taken for outside, and leaves all the same. One that entered was changed
 * since, so the page that shows it is read anew. Requests: one per batch of ids, and one per filter of their keys.
 */
import { must } from '../base/assert.ts';
import { valueOf } from '../origin/answers.ts';
import { FILTER_BYTES_MAX, filterOfValue, joinClauses } from '../reconcile/findable.ts';
import { QUERY_BYTES_MAX, retrieveQuery, TOP_MAX } from '../wire/query.ts';
import type { Row, RowPage } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';

/** What else stands in such a question: names of parameters, parentheses. */
const FRAME_BYTES = 100;

/** What the origin says of rows that were asked for by id. */
export interface FoundRows {
  /** Those that belong here, as they are now. */
  readonly page: RowPage;
  /** Those that it has, and the filter of the table does not select. */
  readonly outside: readonly number[];
  /** Those that it does not return. */
  readonly gone: readonly number[];
}

/** What was found of each batch of ids, one after the other. @throws RowsyncError of the origin. */
export async function* findRows(
  context: PullContext,
  table: PreparedTable,
  ids: readonly number[],
): AsyncGenerator<FoundRows & { readonly ids: readonly number[] }> {
  const { names } = asked(table);
  for (const batch of context.origin.idBatches(ids, names))
    yield { ids: batch, ...(await findBatch(context, table, batch)) };
}

/** With which columns rows are asked for by id: all of them, or what the filter is asked with. */
function asked({ address, selection, shapes, descriptor }: PreparedTable): Pick<PreparedTable, 'shapes'> & {
  readonly names: readonly string[];
} {
  if ((address.rows ?? null) === null) return { shapes, names: selection.columns };
  const key = must(
    shapes.find(({ name }) => name === descriptor.key),
    'a table with a filter is prepared only with its key',
  );
  return { shapes: [key], names: [key.name] };
}

async function findBatch(
  { origin, signal }: PullContext,
  table: PreparedTable,
  ids: readonly number[],
): Promise<FoundRows> {
  const { address, selection } = table;
  const { shapes, names } = asked(table);
  const shown = valueOf(await origin.retrieve({ table: address, columns: shapes, names, ids }, { signal }));
  const present = new Set(shown.ids);
  const gone = ids.filter((id) => !present.has(id));
  const filter = address.rows ?? null;
  const [key] = shapes;
  if (filter === null || key === undefined) return { page: shown, outside: [], gone };
  // A row without a key by which it can be asked for stays until a page shows it.
  const clauseOf = ({ values: [value = null] }: Row): string | null => filterOfValue(key, value);
  const askable = shown.rows.filter((row) => clauseOf(row) !== null);
  const clauses = askable.map((row) => clauseOf(row) ?? '');
  const pages: RowPage[] = [];
  const besides = retrieveQuery(selection.columns, { ids: [] }).length + FRAME_BYTES;
  const room = Math.min(FILTER_BYTES_MAX, QUERY_BYTES_MAX - besides);
  const bytesMax = room - encodeURIComponent(filter).length;
  for (const clause of joinClauses(clauses, bytesMax)) {
    const query = { columns: selection.columns, sort: [], filter: clause, top: TOP_MAX };
    pages.push(valueOf(await origin.select({ table: address, columns: table.shapes, query }, { signal })));
  }
  const page = joinPages(pages, present);
  const selected = new Set(page.ids);
  // Rows that were not asked for are signs of an answer to something else, or of keys that are not unique: then none is taken for outside.
  const isToThePoint = pages.every(({ ids: found }) => found.length < TOP_MAX && found.every((id) => present.has(id)));
  const outside = isToThePoint ? askable.flatMap(({ id }) => (selected.has(id) ? [] : [id])) : [];
  return { page, outside, gone };
}

/** Answers as one, with each of the wanted rows once. */
function joinPages(pages: readonly RowPage[], wanted: ReadonlySet<number>): RowPage {
  const once = <T extends { readonly id: number }>(all: readonly T[]): readonly T[] => [
    ...new Map(all.filter(({ id }) => wanted.has(id)).map((row) => [row.id, row])).values(),
  ];
  const rows = once(pages.flatMap((page) => page.rows));
  const unreadable = once(pages.flatMap((page) => page.unreadable));
  return { rows, unreadable, ids: [...new Set([...rows, ...unreadable].map(({ id }) => id))] };
}

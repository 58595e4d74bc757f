/**
 * Requests rows by id: which of them the origin has and, for a table with a filter (`rows`), which of those match it.
 * Retrieve takes no filter. So it is asked first, only for keys; then a filtered select asks for their rows.
 *
 * Between them, a row may be deleted, or enter the filter. A deleted one counts as outside of the filter, and leaves in
 * any case. One that entered has changed, so its page is read anew. Requests: one per batch of ids and per filter of
 * keys.
 */
import { must } from '../base/assert.ts';
import { TOP_MAX } from '../wire/request-paths.ts';
import type { RowPage } from '../wire/schema.ts';
import type { PreparedTable, TableReading } from './context.ts';
import { filterOfValue, filterRoom, joinClauses } from '../reconcile/match-column.ts';

/** The origin's answer about rows that were requested by id. */
export interface RequestedRows {
  /** Those that belong here, as they are now. */
  readonly page: RowPage;
  /** Rows that it has, outside of the table's filter. */
  readonly outside: readonly number[];
  /** Those that it does not return. */
  readonly gone: readonly number[];
}

/** The answers about each batch of ids, one after the other. @throws RowsyncError of the origin. */
export async function* findRows(
  reading: TableReading,
  ids: readonly number[],
): AsyncGenerator<RequestedRows & { readonly ids: readonly number[] }> {
  const { context, table } = reading;
  const { names } = requestedColumns(table);
  // Fewer, larger batches otherwise: a guard judges all deletes of a batch together.
  const countMax = table.pageRows < context.settings.pageRows ? table.pageRows : undefined;
  // Another client made these ids up; the origin gives none such, and would refuse the request.
  const foreign = ids.filter((id) => id < 1);
  if (foreign.length > 0)
    yield { ids: foreign, page: { rows: [], unreadable: [], ids: [] }, outside: [], gone: foreign };
  const askable = ids.filter((id) => id > 0);
  for (const batch of context.origin.idBatches(askable, names, countMax))
    yield { ids: batch, ...(await findBatch(reading, batch)) };
}

/** The columns for a request by id: all of them, or only those that the filtered request needs. */
function requestedColumns({ address, selection, shapes, descriptor }: PreparedTable): Pick<PreparedTable, 'shapes'> & {
  readonly names: readonly string[];
} {
  if ((address.rows ?? null) === null) return { shapes, names: selection.columns };
  const key = must(
    shapes.find(({ name }) => name === descriptor.key),
    'a table with a filter is prepared only with its key',
  );
  return { shapes: [key], names: [key.name] };
}

async function findBatch({ context, table }: TableReading, ids: readonly number[]): Promise<RequestedRows> {
  const { origin, signal } = context;
  const { address, selection } = table;
  const { shapes, names } = requestedColumns(table);
  const { value: shown } = await origin.retrieve({ table: address, columns: shapes, names, ids }, { signal });
  const present = new Set(shown.ids);
  const gone = ids.filter((id) => !present.has(id));
  const filter = address.rows ?? null;
  const [key] = shapes;
  if (filter === null || key === undefined) return { page: shown, outside: [], gone };
  // A row without a usable key stays until a page shows it.
  const askable = shown.rows.flatMap(({ id, values: [value = null] }) => {
    const clause = filterOfValue(key, value);
    return clause === null ? [] : [{ id, clause }];
  });
  const clauses = askable.map(({ clause }) => clause);
  const pages: RowPage[] = [];
  const bytesMax = filterRoom(selection.columns) - encodeURIComponent(filter).length;
  for (const clause of joinClauses(clauses, bytesMax)) {
    const query = { columns: selection.columns, sort: [], filter: clause, top: TOP_MAX };
    pages.push((await origin.select({ table: address, columns: table.shapes, query }, { signal })).value);
  }
  const page = joinPages(pages, present);
  const selected = new Set(page.ids);
  // Unrequested rows are from another answer, or keys are not unique: then no row counts as outside.
  const isToThePoint = pages.every(({ ids: found }) => found.length < TOP_MAX && found.every((id) => present.has(id)));
  const outside = isToThePoint ? askable.flatMap(({ id }) => (selected.has(id) ? [] : [id])) : [];
  return { page, outside, gone };
}

function joinPages(pages: readonly RowPage[], wanted: ReadonlySet<number>): RowPage {
  const once = <T extends { readonly id: number }>(all: readonly T[]): readonly T[] => [
    ...new Map(all.filter(({ id }) => wanted.has(id)).map((row) => [row.id, row])).values(),
  ];
  const rows = once(pages.flatMap((page) => page.rows));
  const unreadable = once(pages.flatMap((page) => page.unreadable));
  return { rows, unreadable, ids: [...new Set([...rows, ...unreadable].map(({ id }) => id))] };
}

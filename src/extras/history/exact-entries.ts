/**
 * Reads entries with every byte of their values, to take them back. Cells are listed by today's columns; those of
 * columns that are gone are left out.
 */
import { sql, type Sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { exactFromText, type CellChange } from '../../replica/history-cells.ts';
import type { Column } from '../../replica/history-writer.ts';

export interface ExactEntry {
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete' | 'forgotten';
  /** The `_id` that a new row had before; null for none. */
  readonly wasId: number | null;
  /** The author that the origin names for a change that was read there, `''` for none; null for a change made here. */
  readonly by: string | null;
  /** Of an entry `forgotten`, both values are null: what they were is not known any more. */
  readonly cells: readonly CellChange[];
}

/** Where entries are read: a table, its columns now, and the order of the entries of a row. */
export interface EntryPlace {
  readonly tableId: number;
  readonly columns: readonly Column[];
  readonly order: Sql;
}

type Line = readonly [
  seq: bigint,
  rowId: bigint,
  kind: ExactEntry['kind'],
  wasId: bigint | null,
  by: string | null,
  column: bigint | null,
  before: string,
  after: string,
  note: string,
];

/** Entries of a table that pass a filter over `_rowsync_history h`, in order of the rows. */
export function* readExactEntries(
  from: Connection,
  { tableId, columns, order }: EntryPlace,
  { filter, values }: { readonly filter: Sql; readonly values: Readonly<Record<string, unknown>> },
): Generator<ExactEntry, undefined> {
  const indexBySeq = new Map(columns.map(({ seq }, index) => [seq, index]));
  const lines = from
    .prepare(
      sql`SELECT h.seq, h.row_id, h.kind, h.was_id,
            CASE WHEN h.cause IN ('pull', 'push') THEN coalesce(h.origin_by, '') END, c.value ->> 0, c.value -> 1, c.value -> 2, json(h.cells)
          FROM _rowsync_history h
          LEFT JOIN json_each(CASE h.kind WHEN 'forgotten' THEN '[]' ELSE coalesce(h.cells, '[]') END) c
          WHERE h.table_id = @tableId AND h.row_id IS NOT NULL AND ${filter}
          ORDER BY h.row_id, h.seq ${order}`,
    )
    .safeIntegers()
    .raw()
    .iterate({ ...values, tableId }) as IterableIterator<Line>; // the columns just listed
  let seq: bigint | null = null;
  let entry: (Omit<ExactEntry, 'cells'> & { readonly cells: CellChange[] }) | null = null;
  for (const [lineSeq, rowId, kind, wasId, by, column, before, after, note] of lines) {
    if (entry === null || seq !== lineSeq) {
      if (entry !== null) yield entry;
      const cells = kind === 'forgotten' ? [...forgottenCells(note, indexBySeq)] : [];
      entry = { rowId: Number(rowId), kind, wasId: wasId === null ? null : Number(wasId), by, cells };
      seq = lineSeq;
    }
    const index = column === null ? undefined : indexBySeq.get(Number(column));
    if (index === undefined) continue;
    entry.cells.push({ index, before: exactFromText(before), after: exactFromText(after) });
  }
  if (entry !== null) yield entry;
  return undefined;
}

/** What a `forgotten` entry says: cells whose values are not known any more. */
function forgottenCells(note: string, indexBySeq: ReadonlyMap<number, number>): readonly CellChange[] {
  const { columnSeq } = JSON.parse(note) as { columnSeq: number | null }; // written by extras/history/command.ts
  return [...indexBySeq]
    .filter(([seq]) => columnSeq === null || seq === columnSeq)
    .map(([, index]) => ({ index, before: null, after: null }));
}

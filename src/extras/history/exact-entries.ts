/**
 * Reads entries with every byte of their values, to take them back. Cells are listed by today's columns; those of
 * columns that are gone are left out.
 */
import { sql, type Sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { isCaller } from './entries.ts';
import { exactFromText, type CellChange, type Exact } from '../../replica/history-cells.ts';
import type { Column } from '../../replica/history-writer.ts';

export interface ExactEntry {
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete' | 'forgotten';
  /** The `_id` that a new row had before; null for none. */
  readonly wasId: number | null;
  /** The author of a change at the origin, `''` if it names none; null for a change made here, or by a push of one. */
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
  rowId: number,
  kind: ExactEntry['kind'],
  wasId: number | null,
  by: string | null,
  cells: string | null,
];

/** What the origin made of a pushed edit, such as a new row under its own id, unless it names another author. */
const IS_OF_OURS = sql`((h.cause = 'push' OR h.was_id IS NOT NULL) AND ${isCaller(sql`h.origin_by`)}
    OR h.was_id IS NOT NULL AND h.origin_by IS NULL)`;

/** Entries of a table that pass a filter over `_rowsync_history h`, in order of the rows. */
export function* readExactEntries(
  from: Connection,
  { tableId, columns, order }: EntryPlace,
  { filter, values }: { readonly filter: Sql; readonly values: Readonly<Record<string, unknown>> },
): Generator<ExactEntry, undefined> {
  const indexBySeq = new Map(columns.map(({ seq }, index) => [seq, index]));
  const text = sql`SELECT h.row_id, h.kind, h.was_id,
        CASE WHEN h.cause IN ('pull', 'push') AND NOT ${IS_OF_OURS} THEN coalesce(h.origin_by, '') END, h.cells
      FROM _rowsync_history h WHERE h.table_id = @tableId AND h.row_id IS NOT NULL AND ${filter}
      ORDER BY h.row_id, h.seq ${order}`;
  const lines = from
    .prepare(text)
    .raw()
    .iterate({ ...values, tableId }) as IterableIterator<Line>; // the columns just listed
  for (const [rowId, kind, wasId, by, json] of lines) {
    const given = json ?? '[]';
    const cells = kind === 'forgotten' ? forgottenCells(given, indexBySeq) : changedCells(given, indexBySeq);
    yield { rowId, kind, wasId, by, cells };
  }
  return undefined;
}

/** The cells of an entry, a list of the number of their column, and the values before and after. */
function changedCells(text: string, indexBySeq: ReadonlyMap<number, number>): readonly CellChange[] {
  const cells = JSON.parse(text, exactValue) as readonly (readonly [seq: bigint, before: Exact, after: Exact])[]; // as stored
  return cells.flatMap(([seq, before, after]) => {
    const index = indexBySeq.get(Number(seq));
    return index === undefined ? [] : [{ index, before, after }];
  });
}

function exactValue(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value === 'number') return exactFromText(context?.source ?? String(value));
  return typeof value === 'object' && value !== null && 'blob' in value ? exactFromText(JSON.stringify(value)) : value;
}

/** What a `forgotten` entry says: cells whose values are not known any more. */
function forgottenCells(note: string, indexBySeq: ReadonlyMap<number, number>): readonly CellChange[] {
  const { columnSeq } = JSON.parse(note) as { columnSeq: number | null }; // written by extras/history/command.ts
  return [...indexBySeq]
    .filter(([seq]) => columnSeq === null || seq === columnSeq)
    .map(([, index]) => ({ index, before: null, after: null }));
}

/**
 * Rows that are no longer here, with their last values: from `sync_deleted`, from a backup, or as they were at a moment
 * of the history. Values go by the origin's ids of their columns, which survive a rename.
 */
import type { LostRow, RowEdits } from '../shared/linked-extra.ts';
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import { usageError } from '../../base/errors.ts';
import { oncePerKey } from '../../base/memoize.ts';
import { readTableDescriptor } from '../../replica/bookkeeping/descriptors.ts';
import { readColumns, type ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import { findTable, readTables, tableNamed, type TableRecord } from '../../replica/bookkeeping/tables.ts';
import type { Stored } from '../../replica/connection.ts';
import { queryNumbers, queryRows } from '../../replica/query.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { isMade } from '../../replica/user-tables.ts';
import { rowName } from './lost-row-outcome.ts';
import { checkKnown, lastSeqAt, readKnownTables } from '../history/known-since.ts';
import { showTableAt } from '../history/past-tables.ts';

/** A cell that is empty here, and referred to another row before. */
export interface EmptiedCell {
  readonly rowId: number;
  readonly value: string;
  readonly emptiedAt: string | null;
}

/** Where last values come from. A moment is in seconds since 1970; `edits` are made at the same time. */
export type LostSource =
  | { readonly kind: 'all' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'given'; readonly rows: readonly LostRow[]; readonly edits: RowEdits }
  | { readonly kind: 'backup'; readonly reader: ReplicaReader }
  | { readonly kind: 'moment'; readonly moment: number; readonly nowMs: number };

const stampSql = sql`strftime('%Y-%m-%dT%H:%M:%SZ', h.at, 'unixepoch')`;

/** The replica, and what was lost from it. Each table is read once. */
export class LostRows {
  readonly main: ReplicaReader;
  readonly tables: readonly TableRecord[];
  /** Tables that were never read, or were dropped here: what was lost from them is not known. */
  readonly unread: readonly TableRecord[];
  readonly #source: LostSource;
  readonly #live = new Map<number, ReadonlySet<string>>();

  /** The key column of a table; null if it is not here. */
  readonly keyOf = oncePerKey((tableId: number): ColumnRecord | null => {
    const name = readTableDescriptor(this.main, tableId)?.descriptor.key;
    const columns = readColumns(this.main, tableId).filter(({ state }) => state === 'live');
    return columns.find((column) => column.name === name) ?? columns.find(({ kind }) => kind === 'Key') ?? null;
  });

  /** The lost rows of a table, the oldest first. @throws RowsyncError `history.unknown` for an unknown moment. */
  readonly rows = oncePerKey((tableId: number): readonly LostRow[] => {
    const table = this.tables.find(({ id }) => id === tableId);
    return table === undefined ? [] : this.#read(table);
  });

  readonly #idsOf = oncePerKey(
    (tableId: number) => new Map(this.rows(tableId).map((row) => [this.keyName(row), row.oldId])),
  );

  constructor(main: ReplicaReader, source: LostSource) {
    this.main = main;
    this.#source = source;
    const all = readTables(main).filter(({ state }) => state !== 'gone');
    this.tables = all.filter((table) => isMade(main, table));
    this.unread = all.filter((table) => !isMade(main, table));
  }

  /** A table by its name here or at the origin. @throws RowsyncError `usage.invalid`. */
  table(name: string): TableRecord {
    const found = tableNamed(this.tables, name);
    if (found !== undefined) return found;
    if (tableNamed(this.unread, name) !== undefined) {
      throw usageError(
        `${name}: the table was not read yet, so what was lost from it is not known`,
        'Run rowsync pull, which reads it; if it does not, rowsync status says why.',
      );
    }
    throw usageError(
      `No table here is called "${name}"`,
      `The tables here are: ${this.tables.map(({ localName }) => localName).join(', ')}.`,
    );
  }

  nameOf(tableId: number): string {
    return this.tables.find(({ id }) => id === tableId)?.localName ?? String(tableId);
  }

  /** The files that may know of attached ones: the replica, and the backup. */
  readers(): readonly ReplicaReader[] {
    return this.#source.kind === 'backup' ? [this.#source.reader, this.main] : [this.main];
  }

  /** Values of a column in the rows that are here, each once, as text. */
  liveValues({ localName }: TableRecord, column: ColumnRecord): ReadonlySet<string> {
    const known = this.#live.get(column.seq);
    if (known !== undefined) return known;
    const name = ident(column.localName);
    const text = sql`SELECT DISTINCT ${name} FROM main.${ident(localName)} WHERE ${name} IS NOT NULL AND ${name} <> ''`;
    const values = new Set(queryRows(this.main, text, []).map(([value]) => String(value)));
    this.#live.set(column.seq, values);
    return values;
  }

  isLiveKey(tableId: number, key: string): boolean {
    const table = this.tables.find(({ id }) => id === tableId);
    const column = this.keyOf(tableId);
    return table !== undefined && column !== null && this.liveValues(table, column).has(key);
  }

  /** The name of a row by its key, in maps; null if its key is not known. */
  keyName({ tableId, values }: LostRow): string | null {
    const key = values.get(this.keyOf(tableId)?.id ?? -1) ?? null;
    return key === null ? null : rowName(tableId, String(key));
  }

  /** The id that a lost row with this key had; null for none. */
  idOf(tableId: number, key: string): number | null {
    return this.#idsOf(tableId).get(rowName(tableId, key)) ?? null;
  }

  /** Whether an edit that is made at once gives a cell something else, or deletes its row. */
  isEdited(tableId: number, rowId: number, columnId: number): boolean {
    const cells = this.#source.kind === 'given' ? this.#source.edits.get(rowName(tableId, rowId)) : undefined;
    return cells === null || cells?.has(columnId) === true;
  }

  /**
   * Rows that are here with nothing in a column: the last value in it, or the one that an edit gives back. When it was
   * emptied is null if it is unknown.
   */
  emptied(table: TableRecord, column: ColumnRecord): readonly EmptiedCell[] {
    const source = this.#source;
    if (source.kind === 'all') return [];
    const own = ident(column.localName);
    const empty = sql`SELECT _id FROM main.${ident(table.localName)} WHERE _id > 0 AND coalesce(${own}, '') = ''`;
    if (source.kind === 'given') {
      const valueOf = (rowId: number): string | undefined => source.edits.get(rowName(table.id, rowId))?.get(column.id);
      const rows = queryNumbers(this.main, empty, []).map((rowId) => [rowId, valueOf(rowId) ?? null, null]);
      return emptiedCells(rows);
    }
    if (source.kind === 'deleted') {
      const text = sql`SELECT row_id, value, stamp FROM (
          SELECT h.row_id, ${stampSql} AS stamp, json_extract(c.value, '$[1]') AS value,
            json_extract(c.value, '$[2]') AS later, max(h.seq)
          FROM _rowsync_history h, json_each(h.cells) c
          WHERE h.table_id = ? AND h.kind = 'update' AND json_extract(c.value, '$[0]') = ? GROUP BY h.row_id)
        WHERE coalesce(later, '') = '' AND row_id IN (${empty})`;
      return emptiedCells(queryRows(this.main, text, [BigInt(table.id), BigInt(column.seq)]));
    }
    this.rows(table.id); // shows the moment
    const reader = source.kind === 'backup' ? source.reader : this.main;
    const there = findTable(reader, table.id);
    const name = there === null ? undefined : readColumns(reader, table.id).find(({ id }) => id === column.id);
    if (there === null || name?.state !== 'live') return [];
    const ids = new Set(queryNumbers(this.main, empty, []));
    const text = sql`SELECT _id, ${ident(name.localName)}, NULL FROM ${ident(there.localName)} WHERE _id > 0`;
    return emptiedCells(queryRows(reader, text, [])).filter(({ rowId }) => ids.has(rowId));
  }

  #read(table: TableRecord): readonly LostRow[] {
    const source = this.#source;
    if (source.kind === 'all') return this.#readTable(this.main, table, null);
    if (source.kind === 'given') return source.rows.filter(({ tableId }) => tableId === table.id);
    if (source.kind === 'deleted') return this.#readDeleted(table);
    if (source.kind === 'backup') {
      const there = findTable(source.reader, table.id);
      return there === null || !isMade(source.reader, there) ? [] : this.#readTable(source.reader, there, table);
    }
    const known = readKnownTables(this.main).find(({ id }) => id === table.id);
    checkKnown(this.main, known ?? { id: table.id, table: table.localName, since: null }, source);
    showTableAt(this.main, { id: table.id, table: table.localName }, lastSeqAt(this.main, source.moment));
    return this.#readTable(this.main, table, table);
  }

  /** Rows of a table in another file, or in the view of a moment, that are not `here`; null for all rows. */
  #readTable(reader: ReplicaReader, there: TableRecord, here: TableRecord | null): readonly LostRow[] {
    const columns = readColumns(reader, there.id).filter(({ state }) => state === 'live');
    const ids = here === null ? [] : queryNumbers(this.main, sql`SELECT _id FROM main.${ident(here.localName)}`, []);
    const live = new Set(ids);
    const list = joinSql([sql`_id`, ...columns.map(({ localName }) => ident(localName))]);
    const text = sql`SELECT ${list} FROM ${ident(there.localName)} WHERE _id > 0 ORDER BY _id`;
    return queryRows(reader, text, []).flatMap(([id, ...values]) => {
      const oldId = Number(id);
      if (live.has(oldId)) return [];
      const pairs = columns.map((column, index) => [column.id, values[index] ?? null] as const);
      return [{ tableId: there.id, oldId, values: new Map(pairs), deletedAt: null }];
    });
  }

  /** The last delete of each row: from `_rowsync_deleted`, and of an edit here from the history. */
  #readDeleted({ id, localName }: TableRecord): readonly LostRow[] {
    const columns = readColumns(this.main, id);
    const isGone = sql`row_id > 0 AND row_id NOT IN (SELECT _id FROM main.${ident(localName)})`;
    const evidence = sql`SELECT d.row_id, d.deleted_at, j.key, j.value
        FROM (SELECT row_id, deleted_at, row_values, max(seq) FROM _rowsync_deleted
              WHERE table_id = ? AND ${isGone} GROUP BY row_id) d, json_each(d.row_values) j`;
    const rows = new Map<number, { readonly deletedAt: string; readonly values: Map<number, Stored> }>();
    const add = (text: Sql, columnIds: ReadonlyMap<string, number>): void => {
      const own: typeof rows = new Map();
      for (const [rowId, deletedAt, column, value = null] of queryRows(this.main, text, [BigInt(id)])) {
        const row = own.get(Number(rowId)) ?? { deletedAt: String(deletedAt), values: new Map<number, Stored>() };
        own.set(Number(rowId), row);
        const columnId = columnIds.get(String(column));
        if (columnId !== undefined) row.values.set(columnId, value);
      }
      for (const [rowId, row] of own) if (row.deletedAt >= (rows.get(rowId)?.deletedAt ?? '')) rows.set(rowId, row);
    };
    // A text that is not valid UTF-8 is an object there, and cannot be sent.
    const history = sql`SELECT h.row_id, ${stampSql}, json_extract(c.value, '$[0]'),
          CASE json_type(c.value, '$[1]') WHEN 'object' THEN NULL ELSE json_extract(c.value, '$[1]') END
        FROM (SELECT row_id, at, cells, max(seq) FROM _rowsync_history
              WHERE table_id = ? AND kind = 'delete' AND cause = 'edit' AND ${isGone} GROUP BY row_id) h, json_each(h.cells) c`;
    add(evidence, new Map(columns.map((column) => [column.localName, column.id])));
    add(history, new Map(columns.map(({ seq, id: columnId }) => [String(seq), columnId])));
    const lost = [...rows].map(([oldId, row]) => ({ tableId: id, oldId, ...row }));
    return lost.toSorted((one, other) => one.oldId - other.oldId);
  }
}

function emptiedCells(rows: readonly (readonly Stored[])[]): readonly EmptiedCell[] {
  return rows.flatMap(([id, value = null, emptiedAt]) =>
    value === null || value === ''
      ? []
      : [{ rowId: Number(id), value: String(value), emptiedAt: typeof emptiedAt === 'string' ? emptiedAt : null }],
  );
}

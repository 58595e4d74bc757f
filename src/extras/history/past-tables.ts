/**
 * Tables as they were at an earlier time: today's table with all later entries undone. The cost depends on how much
 * changed since. Values that were forgotten since are NULL, and an edit that is in no entry yet is not there.
 *
 *    temp._rowsync_then_N_ids   rows that may have differed
 *    temp._rowsync_then_N       those of them that existed, as they were
 *    temp."the table"           both, and the other rows of the table
 */
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import type { CellChange, Exact, Version } from '../../replica/history-cells.ts';
import { checkKnown, lastSeqAt, readKnownTables, unknown, type KnownTable } from './known-since.ts';
import { openKnownRows, type KnownRows } from '../../replica/history-writer.ts';
import { findHistory } from '../../replica/bookkeeping/history.ts';
import { BLOCK_ROWS, blocksAbove, queryAll, queryNumbers, queryTexts } from '../../replica/query.ts';
import type { QueryAnswer, ReplicaReader } from '../../replica/reader.ts';
import { readExactEntries, type ExactEntry } from './exact-entries.ts';

/** Queries tables as of a moment, in seconds since 1970; once a connection. @throws RowsyncError `history.unknown`. */
export function queryPast(
  reader: ReplicaReader,
  text: string,
  { moment, nowMs }: { readonly moment: number; readonly nowMs: number },
): QueryAnswer {
  // One state of the file for everything.
  reader.prepare(sql`BEGIN`).run();
  const known = new Map(readKnownTables(reader).map((table) => [table.id, table]));
  const named = namedTables(reader, text).map(
    ({ id, table }): KnownTable => known.get(id) ?? { id, table, since: null },
  );
  for (const table of named) checkKnown(reader, table, { moment, nowMs });
  const seq = lastSeqAt(reader, moment);
  for (const table of named) showTableAt(reader, table, seq);
  reader.showViewsAgain();
  return reader.query(text);
}

function namedTables(reader: ReplicaReader, text: string): readonly { readonly id: number; readonly table: string }[] {
  reader.query(text); // throws SQLite's own error if the query is wrong
  const named = sql`SELECT id, local_name AS "table" FROM _rowsync_tables
      WHERE local_name COLLATE NOCASE IN (SELECT value FROM json_each(?)) ORDER BY id`;
  const found = queryAll(reader, named, [JSON.stringify(reader.tablesOf(text))]);
  return found.map((row) => row as { readonly id: number; readonly table: string }); // as selected
}

/** Makes the connection show one table as it was after an entry. */
export function showTableAt(reader: ReplicaReader, { id, table }: Pick<KnownTable, 'id' | 'table'>, seq: number): void {
  const history = findHistory(reader, id);
  const rows = history === null ? null : openKnownRows(reader, history);
  if (rows === null) {
    throw unknown(`There is no table ${table} here now`, 'rowsync history and rowsync log tell what is known of it.');
  }
  const then = new ThenTable(reader, id, rows);
  const ids = ident(`_rowsync_then_${id}_ids`);
  reader.prepare(sql`CREATE TEMP TABLE ${ids} (_id INTEGER PRIMARY KEY)`).run();
  reader
    .prepare(
      sql`INSERT OR IGNORE INTO temp.${ids} SELECT row_id FROM _rowsync_history WHERE seq > ? AND table_id = ? AND row_id IS NOT NULL`,
    )
    .run(seq, id);
  // Edits that may not be in any entry yet.
  for (const source of [sql`_rowsync_rows`, sql`_rowsync_history_edits`])
    reader.prepare(sql`INSERT OR IGNORE INTO temp.${ids} SELECT row_id FROM ${source} WHERE table_id = ?`).run(id);
  const next = sql`SELECT _id FROM temp.${ids} WHERE _id > ? ORDER BY _id LIMIT ${BLOCK_ROWS}`;
  const blocks = blocksAbove(
    (after) => queryNumbers(reader, next, [after]),
    (last) => last,
  );
  for (const block of blocks) then.fill(block, seq);
  then.show(ids);
}

class ThenTable {
  readonly #reader: ReplicaReader;
  readonly #id: number;
  readonly #rows: KnownRows;
  /** The table, its columns, and where its rows of that time are. */
  readonly #here: Sql;
  readonly #list: Sql;
  readonly #place: Sql;
  readonly #remove: ReturnType<Connection['prepare']>;
  readonly #store: ReturnType<Connection['prepare']>;

  constructor(reader: ReplicaReader, id: number, rows: KnownRows) {
    this.#reader = reader;
    this.#id = id;
    this.#rows = rows;
    this.#here = ident(rows.localName);
    const columns = sql`SELECT name FROM pragma_table_info(?, 'main')`;
    this.#list = joinSql(queryTexts(reader, columns, [rows.localName]).map(ident));
    this.#place = ident(`_rowsync_then_${id}`);
    const empty = sql`SELECT ${this.#list} FROM main.${this.#here} WHERE 0`;
    reader.prepare(sql`CREATE TEMP TABLE ${this.#place} AS ${empty}`).run();
    reader.prepare(sql`CREATE UNIQUE INDEX temp.${ident(`_rowsync_then_${id}_id`)} ON ${this.#place} (_id)`).run();
    this.#remove = reader.prepare(sql`DELETE FROM temp.${this.#place} WHERE _id = ?`);
    const names = rows.columns.map(({ name }) => ident(name));
    const sets = joinSql(names.map((name) => sql`${name} = excluded.${name}`));
    this.#store = reader.prepare(
      sql`INSERT INTO temp.${this.#place} (_id, ${joinSql(names)}) VALUES (?, ${joinSql(names.map(() => sql`?`))})
          ON CONFLICT (_id) DO UPDATE SET ${sets}`,
    );
  }

  /** Adds rows as they were after an entry, by ascending id. */
  fill(ids: readonly number[], seq: number): void {
    const copy = sql`INSERT INTO temp.${this.#place} (${this.#list}) SELECT ${this.#list} FROM main.${this.#here}
        WHERE _id IN (SELECT value FROM json_each(?))`;
    this.#reader.prepare(copy).run(JSON.stringify(ids));
    const states = new Map<number, Version>(this.#rows.read(ids));
    const filter = sql`h.row_id IN (SELECT value FROM json_each(@ids)) AND h.seq > @seq`;
    const place = { tableId: this.#id, columns: this.#rows.columns, order: sql`DESC` };
    for (const entry of readExactEntries(this.#reader, place, { filter, values: { ids: JSON.stringify(ids), seq } })) {
      const { rowId } = entry;
      states.set(rowId, reverseEntry(states.get(rowId) ?? null, entry, this.#rows.columns.length));
    }
    for (const id of ids) this.#put(id, states.get(id) ?? null);
  }

  #put(id: number, state: Version): void {
    if (state === null) {
      this.#remove.run(id);
      return;
    }
    this.#store.run(id, ...state.map((value) => (isRaw(value) ? null : value)));
    for (const [index, value] of state.entries()) {
      if (!isRaw(value)) continue;
      const text = sql`UPDATE temp.${this.#place} SET ${ident(this.#rows.columns[index]?.name ?? '_id')} = CAST(? AS TEXT) WHERE _id = ?`;
      this.#reader.prepare(text).run(Buffer.from(value.raw, 'hex'), id);
    }
  }

  /** From here on the connection takes this for the table. */
  show(ids: Sql): void {
    const text = sql`CREATE TEMP VIEW ${this.#here} AS
        SELECT ${this.#list} FROM main.${this.#here} WHERE _id NOT IN (SELECT _id FROM temp.${ids})
        UNION ALL SELECT ${this.#list} FROM temp.${this.#place}`;
    this.#reader.prepare(text).run();
  }
}

function isRaw(value: Exact): value is { readonly raw: string } {
  return value !== null && typeof value === 'object' && !Buffer.isBuffer(value);
}

/**
 * The state before an entry, from the state after it, which has `width` columns. Forgotten values are unknown before
 * the entry, too, so those cells are empty.
 */
export function reverseEntry(
  after: Version,
  { kind, cells }: Pick<ExactEntry, 'kind'> & { readonly cells: readonly Omit<CellChange, 'after'>[] },
  width: number,
): Version {
  if (kind === 'insert') return null;
  if (kind === 'forgotten' && after === null) return null;
  const before: Exact[] = after === null ? Array.from({ length: width }, () => null) : [...after];
  for (const cell of cells) before[cell.index] = cell.before;
  return before;
}

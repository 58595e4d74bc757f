/**
 * Tables as they were at an earlier time: today's table with all later entries undone. The cost depends on how much
 * changed since. Values that were forgotten since are NULL, and an edit that is in no entry yet is not there.
 *
 *    temp._rowsync_then_N_ids   rows that may have differed
 *    temp._rowsync_then_N       those of them that existed, as they were
 *    temp."the table"           both, and the other rows of the table
 */
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
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
  const here = ident(rows.localName);
  const ids = ident(`_rowsync_then_${id}_ids`);
  const place = ident(`_rowsync_then_${id}`);
  const columns = sql`SELECT name FROM pragma_table_info(?, 'main')`;
  const list = joinSql(queryTexts(reader, columns, [rows.localName]).map(ident));
  const execute = (text: Sql, ...values: readonly unknown[]): void => void reader.prepare(text).run(...values);
  execute(sql`CREATE TEMP TABLE ${ids} (_id INTEGER PRIMARY KEY)`);
  const later = sql`SELECT row_id FROM _rowsync_history WHERE seq > ? AND table_id = ? AND row_id IS NOT NULL`;
  execute(sql`INSERT OR IGNORE INTO temp.${ids} ${later}`, seq, id);
  // Edits that may not be in any entry yet.
  for (const source of [sql`_rowsync_rows`, sql`_rowsync_history_edits`])
    execute(sql`INSERT OR IGNORE INTO temp.${ids} SELECT row_id FROM ${source} WHERE table_id = ?`, id);
  execute(sql`CREATE TEMP TABLE ${place} AS SELECT ${list} FROM main.${here} WHERE 0`);
  execute(sql`CREATE UNIQUE INDEX temp.${ident(`_rowsync_then_${id}_id`)} ON ${place} (_id)`);
  const next = sql`SELECT _id FROM temp.${ids} WHERE _id > ? ORDER BY _id LIMIT ${BLOCK_ROWS}`;
  const blocks = blocksAbove(
    (after) => queryNumbers(reader, next, [after]),
    (last) => last,
  );
  const store = rowWriter(reader, place, rows);
  const copy = sql`INSERT INTO temp.${place} (${list}) SELECT ${list} FROM main.${here}
      WHERE _id IN (SELECT value FROM json_each(?))`;
  for (const block of blocks) {
    execute(copy, JSON.stringify(block));
    for (const [rowId, state] of statesAt(reader, { id, rows, seq }, block)) store(rowId, state);
  }
  // From here on the connection takes this for the table.
  execute(sql`CREATE TEMP VIEW ${here} AS SELECT ${list} FROM main.${here} WHERE _id NOT IN (SELECT _id FROM temp.${ids})
      UNION ALL SELECT ${list} FROM temp.${place}`);
}

/** Rows as they were after an entry. */
function statesAt(
  reader: ReplicaReader,
  { id, rows, seq }: { readonly id: number; readonly rows: KnownRows; readonly seq: number },
  ids: readonly number[],
): ReadonlyMap<number, Version> {
  const states = new Map<number, Version>(ids.map((rowId) => [rowId, null]));
  for (const [rowId, state] of rows.read(ids)) states.set(rowId, state);
  const filter = sql`h.row_id IN (SELECT value FROM json_each(@ids)) AND h.seq > @seq`;
  const place = { tableId: id, columns: rows.columns, order: sql`DESC` };
  for (const entry of readExactEntries(reader, place, { filter, values: { ids: JSON.stringify(ids), seq } }))
    states.set(entry.rowId, reverseEntry(states.get(entry.rowId) ?? null, entry, rows.columns.length));
  return states;
}

/** Stores what a row was over its copy; null for a row that did not exist. */
function rowWriter(reader: ReplicaReader, place: Sql, { columns }: KnownRows): (id: number, state: Version) => void {
  const remove = reader.prepare(sql`DELETE FROM temp.${place} WHERE _id = ?`);
  const names = columns.map(({ name }) => ident(name));
  const sets = joinSql(names.map((name) => sql`${name} = excluded.${name}`));
  const store = reader.prepare(
    sql`INSERT INTO temp.${place} (_id, ${joinSql(names)}) VALUES (?, ${joinSql(names.map(() => sql`?`))})
        ON CONFLICT (_id) DO UPDATE SET ${sets}`,
  );
  return (id, state) => {
    if (state === null) {
      remove.run(id);
      return;
    }
    store.run(id, ...state.map((value) => (isRaw(value) ? null : value)));
    for (const [index, value] of state.entries()) {
      const name = names[index];
      if (!isRaw(value) || name === undefined) continue;
      const text = sql`UPDATE temp.${place} SET ${name} = CAST(? AS TEXT) WHERE _id = ?`;
      reader.prepare(text).run(Buffer.from(value.raw, 'hex'), id);
    }
  };
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

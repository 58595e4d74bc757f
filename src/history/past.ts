/**
 * Tables as they were here at a moment, for queries: a temporary view under the name of each table, over today's rows and those that have
 * changed since, as they were. So the cost follows what changed since. What was edited with SQL since the last pull or push is in no entry yet, and
 * stands there as it is. Input: a connection that only reads. Output: temporary objects of that connection; the file stays as it is.
 */
import { RowsyncError } from '../base/errors.ts';
import { ident, joinSql, sql } from '../base/sql.ts';
import { differencesOf, type RowDifference } from './difference.ts';
import type { Connection } from '../replica/connection.ts';
import { queryRows } from '../replica/query.ts';
import type { Stored } from '../replica/rows.ts';
import { lastSeq, readTableEntries } from '../replica/history-entries.ts';
import { checkKnown, lastSeqAt, readKnownTables, type KnownTable } from '../replica/history-known.ts';
import type { QueryAnswer, ReplicaReader } from '../replica/reader.ts';

/** How a table that is not known at the moment is called in SQLite's words, so that the refusal is found. */
const UNKNOWN = 'rowsync: not known ';

/** Values that a row had, by column; undefined for what has not changed since. */
type PastCells = ReadonlyMap<string, Stored>;

/** A moment, in seconds since 1970, and the time now. */
interface Asked {
  readonly moment: number;
  readonly nowMs: number;
}

/**
 * Asks a question of the tables as they were at a moment; to be called once for a connection.
 * @throws RowsyncError `history.unknown` for a table that is not known at the moment, and as `ReplicaReader.query`.
 */
export function queryPast(reader: ReplicaReader, text: string, asked: Asked): QueryAnswer {
  const refusals = showPast(reader, asked);
  try {
    return reader.query(text);
  } catch (thrown) {
    const words = thrown instanceof Error ? thrown.message : '';
    const number = new RegExp(`${UNKNOWN}(\\d+)`).exec(words)?.[1];
    throw number === undefined ? thrown : (refusals[Number(number)] ?? thrown);
  }
}

/** Shows each table as it was; those that are not known then lead to a name that SQLite refuses, with the number of the reason. */
function showPast(reader: ReplicaReader, { moment, nowMs }: Asked): readonly RowsyncError[] {
  const span = { after: lastSeqAt(reader, moment), upTo: lastSeq(reader) };
  const known = new Map(readKnownTables(reader).map((table) => [table.id, table]));
  const refusals: RowsyncError[] = [];
  const tables = queryRows(
    reader,
    sql`SELECT id, local_name FROM _rowsync_tables WHERE local_name IN (SELECT name FROM sqlite_schema)`,
    [],
  ).map(([id, table]) => ({ id: Number(id), table: String(table) }));
  for (const { id, table } of tables) {
    try {
      const found: KnownTable = known.get(id) ?? { id, table, since: null };
      checkKnown(reader, found, { moment, nowMs });
      // Read to the end first: a connection does nothing else while a query of it is under way.
      showTable(reader, { id, table }, [...differencesOf(readTableEntries(reader, table, span))]);
    } catch (thrown) {
      if (!(thrown instanceof RowsyncError) || thrown.code !== 'history.unknown') throw thrown;
      const hidden = ident(`${UNKNOWN}${refusals.push(thrown) - 1}`);
      reader.prepare(sql`CREATE TEMP VIEW ${ident(table)} AS SELECT * FROM ${hidden}`).run();
    }
  }
  return refusals;
}

function showTable(
  from: Connection,
  { id, table }: { readonly id: number; readonly table: string },
  differences: readonly RowDifference[],
): void {
  const columns = queryRows(from, sql`SELECT name FROM pragma_table_info(?)`, [table]).map(([name]) => String(name));
  const past = ident(`_rowsync_past_${id}`);
  const list = joinSql(columns.map((name) => ident(name)));
  from.prepare(sql`CREATE TEMP TABLE ${past} (${list}, PRIMARY KEY (${ident('_id')}))`).run();
  from.prepare(sql`CREATE TEMP TABLE ${ident(`_rowsync_hidden_${id}`)} (id INTEGER PRIMARY KEY)`).run();
  const hide = from.prepare(sql`INSERT INTO ${ident(`_rowsync_hidden_${id}`)} VALUES (?)`);
  const today = sql`SELECT ${list} FROM main.${ident(table)} WHERE _id = ?`;
  const marks = joinSql(columns.map(() => sql`?`));
  const keep = from.prepare(sql`INSERT INTO ${past} VALUES (${marks})`);
  for (const { rowId, kind, cells } of differences) {
    hide.run(rowId);
    if (kind === 'insert') continue;
    const [row = []] = queryRows(from, today, [rowId]);
    const was = pastCells(cells);
    keep.run(
      ...columns.map((name, index) =>
        name === '_id' ? rowId : was.has(name) ? (was.get(name) ?? null) : (row[index] ?? null),
      ),
    );
  }
  from
    .prepare(
      sql`CREATE TEMP VIEW ${ident(table)} AS
          SELECT ${list} FROM main.${ident(table)} WHERE _id NOT IN (SELECT id FROM temp.${ident(`_rowsync_hidden_${id}`)})
          UNION ALL SELECT ${list} FROM temp.${past}`,
    )
    .run();
}

function pastCells(cells: RowDifference['cells']): PastCells {
  return new Map(cells.map(({ column, before }) => [column, valueOf(before)]));
}

/** A value from its JSON text, without losing a digit: whole numbers as such, others as SQLite stored them. */
function valueOf(json: string): Stored {
  if (/^-?\d+$/.test(json)) return BigInt(json);
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

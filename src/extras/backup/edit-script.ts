/**
 * Writes unpushed edits as a SQL script for a new replica, ignoring marks. Each statement changes a cell only if it
 * still has its old value, and reports it otherwise.
 *
 * Rows that may have reached the origin become comments: rows on their way, rows in doubt, and in an older copy all
 * new rows without a match value. In a damaged table only marked rows are read, since rows of a lost page look like
 * deletes; they become comments too.
 */
import { isInFlight, type RowState } from '../../reconcile/row-state.ts';
import { readAllDifferingIds } from '../../replica/compare.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { replicaError } from '../../replica/failures.ts';
import { queryNumbers } from '../../replica/query.ts';
import { storedFromValue } from '../../replica/rows.ts';
import { allOf, ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import type { Row, Value } from '../../wire/schema.ts';
import { diffRows, readRawTexts, type RowChange } from '../../capture/changes.ts';
import { readTwoWayTable, type TwoWayTable } from '../../capture/table.ts';
import { readCaptureState } from '../../replica/bookkeeping/captures.ts';

/** Rows read in one go. */
const BLOCK_ROWS = 500;

/**
 * The edits of one table, a line each. `isDamaged`: rows may be missing. `isCopy`: the file was put back and not opened for writing since. @throws
 * errors of SQLite.
 */
export function* scriptOfTable(
  from: Connection,
  tableId: number,
  { isDamaged = false, isCopy = false }: { readonly isDamaged?: boolean; readonly isCopy?: boolean } = {},
): Generator<string> {
  const table = readTwoWayTable(from, tableId);
  if (table === null) return;
  if (isDamaged) yield* commentsOnMarked(from, table);
  else yield* statementsOfAll(from, table, isCopy);
}

/**
 * Replaces dropped tables of marks and batches by empty ones, for this connection alone; returns which were missing. Edits are found without them,
 * but not which new rows are on their way or in doubt.
 */
export function standInForBooks(from: Connection): readonly string[] {
  const stands = from.prepare(sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE`);
  const lost = STAND_INS.filter(({ name }) => stands.get(name) === undefined);
  for (const { table } of lost) from.prepare(table).run();
  return lost.map(({ name }) => name);
}

const STAND_INS = [
  { name: '_rowsync_rows', table: sql`CREATE TEMP TABLE _rowsync_rows (table_id, row_id, state, since)` },
  { name: '_rowsync_batches', table: sql`CREATE TEMP TABLE _rowsync_batches (id, table_id, method, sent_at, rows)` },
];

function* statementsOfAll(from: Connection, table: TwoWayTable, isCopy: boolean): Generator<string> {
  // Before the first capture of a copy, its creates are not in doubt yet (older-copy.ts).
  const isDoubtDue = isCopy || readCaptureState(from, table.id).olderCopy === 'creates';
  // A row may equal its base again, while the sent values are at the origin.
  const marked = queryNumbers(from, MARKED, [table.id]);
  const ids = [...new Set([...readAllDifferingIds(from, table), ...marked])].toSorted((a, b) => a - b);
  for (let start = 0; start < ids.length; start += BLOCK_ROWS) {
    for (const change of diffRows(from, table, ids.slice(start, start + BLOCK_ROWS))) {
      const lines = statementsOf(from, table, change);
      const isDoubtful =
        mayBeThere(change.state) || (change.kind === 'insert' && isDoubtDue && !hasMatchValue(table, change.local));
      yield* isDoubtful ? lines.map(asComment) : lines;
    }
  }
}

const MARKED = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? ORDER BY row_id`;

function* commentsOnMarked(from: Connection, table: TwoWayTable): Generator<string> {
  for (const rowId of queryNumbers(from, MARKED, [table.id])) yield* commentsOn(from, table, rowId);
}

function commentsOn(from: Connection, table: TwoWayTable, rowId: number): readonly string[] {
  try {
    return diffRows(from, table, [rowId]).flatMap((change) => statementsOf(from, table, change).map(asComment));
  } catch (thrown) {
    if (replicaError(thrown, 'Reading').code !== 'replica.damaged') throw thrown;
    return [asComment(`row ${rowId} of ${table.localName} was edited, and cannot be read`)];
  }
}

/** Whether the origin can be asked for a row, and accepts no second one. */
function hasMatchValue({ columns, matchColumn }: TwoWayTable, row: Row | null): boolean {
  const value = row?.values[columns.findIndex(({ name }) => name === matchColumn)] ?? null;
  return value !== null && value !== '';
}

function mayBeThere(state: RowState): boolean {
  return state === 'inDoubt' || isInFlight(state);
}

function asComment(line: string): string {
  return `-- ${line.replaceAll('\n', '\n-- ')}`;
}

/** The statement that repeats an edit; for a sent row, its present values. */
function statementsOf(from: Connection, table: TwoWayTable, change: RowChange): readonly string[] {
  const { kind, state, rowId, base, local, columns } = change;
  const here = ident(table.localName);
  // Cells as they are here, also if their bytes are not valid UTF-8.
  const hexByColumn = readRawTexts(from, table, local);
  const cell = (index: number): Sql => {
    const hex = hexByColumn.get(index);
    return hex === undefined ? valueSql(local?.values[index] ?? null) : textOfBytes(hex);
  };
  const isKnown = (index: number): Sql => sql`${nameAt(table, index)} IS ${valueSql(base?.values[index] ?? null)}`;
  const report = (condition: Sql): Sql =>
    sql`SELECT ${literal(`not applied: ${table.localName}, row ${rowId} (the row or the cell has changed since)`)} WHERE ${condition};`;
  if (kind === 'insert' && local !== null) return [insertOf(table, columns, cell)];
  const row = `row ${rowId} of ${table.localName}`;
  if (kind === 'insert') return [`${row} was deleted here after it was sent, and may exist at the origin`];
  if (mayBeThere(state)) {
    const filled = table.columns.flatMap(({ writable }, index) => {
      return writable && (local?.values[index] ?? null) !== null ? [index] : [];
    });
    const what = local === null ? 'is deleted here' : `is here: ${insertOf(table, filled, cell)}`;
    return [`${row} was sent, and may have arrived; it ${what}`];
  }
  if (kind === 'delete') {
    const writable = table.columns.flatMap((column, index) => (column.writable ? [isKnown(index)] : []));
    const isThere = sql`EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId})`;
    return [sql`DELETE FROM ${here} WHERE ${allOf([sql`_id = ${rowId}`, ...writable])};`, report(isThere)];
  }
  return columns.flatMap((index) => {
    const name = nameAt(table, index);
    return [
      sql`UPDATE ${here} SET ${name} = ${cell(index)} WHERE _id = ${rowId} AND ${isKnown(index)};`,
      report(sql`NOT EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId} AND ${name} IS ${cell(index)})`),
    ];
  });
}

function insertOf(table: TwoWayTable, columns: readonly number[], cell: (index: number) => Sql): Sql {
  const here = ident(table.localName);
  if (columns.length === 0) return sql`INSERT INTO ${here} DEFAULT VALUES;`;
  const names = joinSql(columns.map((index) => nameAt(table, index)));
  return sql`INSERT INTO ${here} (${names}) VALUES (${joinSql(columns.map(cell))});`;
}

function nameAt({ columns }: TwoWayTable, index: number): Sql {
  return ident(columns[index]?.localName ?? '');
}

/** A value as SQL that SQLite reads back without a lost digit or character. */
function valueSql(value: Value): Sql {
  return storedSql(storedFromValue(value));
}

function storedSql(value: Stored): Sql {
  if (value === null) return sql`NULL`;
  if (typeof value === 'string') {
    // No text literal holds a NUL, and the shell takes a carriage return as part of the following line break.
    if (!/[\0\r]/.test(value)) return literal(value);
    return textOfBytes(Buffer.from(value).toString('hex'));
  }
  if (typeof value === 'bigint') return sql`CAST(${literal(value.toString())} AS INTEGER)`;
  return sql`CAST(${literal(String(value))} AS REAL)`;
}

function textOfBytes(hex: string): Sql {
  return sql`CAST(x${literal(hex)} AS TEXT)`;
}

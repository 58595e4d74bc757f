/**
 * The edits of two-way tables as a SQL script, for a replica that has to be made anew: run against the new one, it edits the
 * rows again. Input: the tables and their bases, compared row by row, whatever the marks say. Output: lines of SQL.
 *
 * An edit is made only where the cell still has the value that it was made on, and says so where it was not. What may have
 * reached the origin already stands there as a comment. Of a damaged table, only rows that were marked as edited are read, each by
 * itself, since rows that a lost page had look like deletes; they are comments, too.
 */
import { isInFlight, type RowState } from '../reconcile/row-state.ts';
import { readAllDifferingIds } from '../replica/compare.ts';
import type { Connection } from '../replica/database.ts';
import { replicaError } from '../replica/failures.ts';
import { queryNumbers } from '../replica/query.ts';
import { storedFromValue, type Stored } from '../replica/rows.ts';
import { ident, joinSql, literal, sql, type Sql } from '../replica/sql.ts';
import type { Row, Value } from '../wire/schema.ts';
import { diffRows, type RowChange } from './changes.ts';
import { readTwoWayTable, type TwoWayTable } from './table.ts';

/** Rows read in one go. */
const BLOCK_ROWS = 500;

/** The edits of one table, a line each; `isDamaged` where rows may be missing from it. @throws what SQLite does. */
export function* scriptOfTable(from: Connection, tableId: number, isDamaged: boolean): Generator<string> {
  const table = readTwoWayTable(from, tableId);
  if (table === null) return;
  if (isDamaged) yield* commentsOnMarked(from, table);
  else yield* statementsOfAll(from, table);
}

function* statementsOfAll(from: Connection, table: TwoWayTable): Generator<string> {
  const ids = readAllDifferingIds(from, table);
  for (let start = 0; start < ids.length; start += BLOCK_ROWS) {
    for (const change of diffRows(from, table, ids.slice(start, start + BLOCK_ROWS))) {
      const isDoubtful = change.kind === 'insert' && mayBeThere(change.state);
      yield* isDoubtful ? statementsOf(table, change).map(asComment) : statementsOf(table, change);
    }
  }
}

function* commentsOnMarked(from: Connection, table: TwoWayTable): Generator<string> {
  const marked = queryNumbers(from, sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? ORDER BY row_id`, [
    table.id,
  ]);
  for (const rowId of marked) yield* commentsOn(from, table, rowId);
}

function commentsOn(from: Connection, table: TwoWayTable, rowId: number): readonly string[] {
  try {
    return diffRows(from, table, [rowId]).flatMap((change) => statementsOf(table, change).map(asComment));
  } catch (thrown) {
    if (replicaError(thrown, 'Reading').code !== 'replica.damaged') throw thrown;
    return [asComment(`row ${rowId} of ${table.localName} was edited, and cannot be read`)];
  }
}

function mayBeThere(state: RowState): boolean {
  return state === 'inDoubt' || isInFlight(state);
}

function asComment(line: string): string {
  return `-- ${line.replaceAll('\n', '\n-- ')}`;
}

function statementsOf(table: TwoWayTable, { kind, rowId, base, local, columns }: RowChange): readonly Sql[] {
  const here = ident(table.localName);
  const name = (index: number): Sql => ident(table.columns[index]?.localName ?? '');
  const cell = (row: Row | null, index: number): Sql => valueSql(row?.values[index] ?? null);
  const report = (condition: Sql): Sql =>
    sql`SELECT ${literal(`not applied: ${table.localName}, row ${rowId} (the row or the cell has changed since)`)} WHERE ${condition};`;
  if (kind === 'insert') {
    const list = joinSql(columns.map(name));
    return columns.length === 0
      ? [sql`INSERT INTO ${here} DEFAULT VALUES;`]
      : [sql`INSERT INTO ${here} (${list}) VALUES (${joinSql(columns.map((index) => cell(local, index)))});`];
  }
  const isAsBefore = (indexes: readonly number[]): readonly Sql[] =>
    indexes.map((index) => sql`${name(index)} IS ${cell(base, index)}`);
  if (kind === 'delete') {
    const all = table.columns.flatMap(({ writable }, index) => (writable ? [index] : []));
    const where = joinSql([sql`_id = ${rowId}`, ...isAsBefore(all)], ' AND ');
    return [sql`DELETE FROM ${here} WHERE ${where};`, report(sql`EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId})`)];
  }
  return columns.flatMap((index) => {
    const now = sql`${name(index)} IS ${cell(local, index)}`;
    return [
      sql`UPDATE ${here} SET ${name(index)} = ${cell(local, index)} WHERE _id = ${rowId} AND ${joinSql(isAsBefore([index]))};`,
      report(sql`NOT EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId} AND ${now})`),
    ];
  });
}

/** A value as SQL that SQLite reads back without a lost digit or character. */
function valueSql(value: Value): Sql {
  return storedSql(storedFromValue(value));
}

function storedSql(value: Stored): Sql {
  if (value === null) return sql`NULL`;
  if (typeof value === 'string') {
    // No text literal holds a NUL, and the shell takes a carriage return for part of the line break behind it.
    if (!/[\0\r]/.test(value)) return literal(value);
    return sql`CAST(x${literal(Buffer.from(value).toString('hex'))} AS TEXT)`;
  }
  if (typeof value === 'bigint') return sql`CAST(${literal(value.toString())} AS INTEGER)`;
  return sql`CAST(${literal(String(value))} AS REAL)`;
}

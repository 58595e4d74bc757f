/**
 * Which rows changed and which lie in the recycle bin, by time.
 */
import { must } from '../../base/assert.ts';
import type { Value } from '../../wire/schema.ts';
import { columnSql, type Catalog, type StoreColumn, type Table } from './catalog.ts';
import { textFromValue, valueFromSql, valueFromText, type SqlValue } from './cells.ts';
import { ident, type StoreConnection } from './file.ts';

/** A span of time in epoch milliseconds, both ends inclusive; null is open. */
export interface TimeSpan {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** A row with the times of its first and its last change. */
export interface StampedRow {
  readonly id: number;
  readonly key: string | null;
  readonly createdMs: number;
  readonly modifiedMs: number;
}

/** A row in the recycle bin; `values` are in the order of the columns asked for. */
export interface BinRow {
  readonly id: number;
  readonly values: readonly Value[];
  /** `Name <email>`. */
  readonly deletedBy: string;
  readonly deletedMs: number;
}

/** Rows whose last change lies in the span, the latest first. */
export function readUpdated(
  connection: StoreConnection,
  table: Table,
  { fromMs, toMs }: TimeSpan,
): readonly StampedRow[] {
  const key = ident(must(table.key.sqlName, 'a key is stored'));
  return connection
    .prepare<unknown[], SqlValue[]>(
      `SELECT _sandbox_row, ${key}, _sandbox_created_ms, _sandbox_modified_ms FROM ${ident(table.sqlName)}
       WHERE _sandbox_modified_ms BETWEEN ? AND ? ORDER BY _sandbox_modified_ms DESC, _sandbox_row DESC`,
    )
    .raw()
    .safeIntegers()
    .all(fromMs ?? Number.MIN_SAFE_INTEGER, toMs ?? Number.MAX_SAFE_INTEGER)
    .map(([id, value, createdMs, modifiedMs]) => ({
      id: Number(id),
      key: textFromValue(valueFromSql(table.key.valueType, value ?? null)),
      createdMs: Number(createdMs),
      modifiedMs: Number(modifiedMs),
    }));
}

/** Rows that were deleted in the span, the latest first; those deleted by one user where an e-mail is given. */
export function readDeleted(
  connection: StoreConnection,
  catalog: Catalog,
  table: Table,
  what: { readonly columns: readonly StoreColumn[]; readonly span: TimeSpan; readonly email: string | null },
): readonly BinRow[] {
  const { columns, span, email } = what;
  const stored = table.columns.flatMap(({ id, sqlName }) =>
    sqlName === null ? [] : `json_extract(cells, '$."${id}"') AS ${ident(sqlName)}`,
  );
  const values = columns.map((column) => `, ${columnSql(catalog, column)}`).join('');
  const rows = connection
    .prepare<unknown[], SqlValue[]>(
      `WITH t AS (SELECT row_id, deleted_by, deleted_ms, ${stored.join(', ')} FROM _sandbox_deleted
         WHERE table_id = ? AND deleted_ms BETWEEN ? AND ?)
       SELECT t.row_id, t.deleted_by, t.deleted_ms${values} FROM t ORDER BY t.deleted_ms DESC, t.row_id DESC`,
    )
    .raw()
    .safeIntegers()
    .all(table.id, span.fromMs ?? Number.MIN_SAFE_INTEGER, span.toMs ?? Number.MAX_SAFE_INTEGER);
  return rows
    .map(([id, deletedBy, deletedMs, ...cells]) => ({
      id: Number(id),
      deletedBy: String(deletedBy),
      deletedMs: Number(deletedMs),
      values: columns.map((column, index) => valueOf(column, cells[index] ?? null)),
    }))
    .filter(({ deletedBy }) => email === null || deletedBy.toLowerCase().endsWith(`<${email.toLowerCase()}>`));
}

/** The bin keeps texts; what is computed comes from tables and has its own type. */
function valueOf({ computed, valueType }: StoreColumn, cell: SqlValue): Value {
  return computed === null && typeof cell === 'string' ? valueFromText(valueType, cell) : valueFromSql(valueType, cell);
}

/**
 * Cells and rows as they are seen. Computed columns (lookups, summaries, joined texts), what a role may do with a row,
 * and which rows the calling user sees at all. Reads the state, writes nothing. Pure.
 */
import type { Value } from '../../../src/wire/schema.ts';
import type { Call } from './call.ts';
import { compareValues } from './values.ts';
import { decimalFromText, digitsOf } from './decimal.ts';
import {
  emailOf,
  keyOf,
  valueTypeOf,
  type ModelColumn,
  type ModelRow,
  type ModelState,
  type ModelTable,
} from './state.ts';

/** The value of any column in a row. */
export function cellOf(state: ModelState, table: ModelTable, column: ModelColumn, row: ModelRow): Value {
  const { computed } = column;
  if (computed === null) return row.cells.get(column.id) ?? null;
  if (computed.how === 'join') {
    const texts = computed.columns
      .map((id) => row.cells.get(id) ?? null)
      .filter((text) => text !== null && text !== '');
    return texts.length === 0 ? null : texts.join(' ');
  }
  const other = state.tables.find(({ id }) => id === computed.table);
  if (other === undefined) return null;
  if (computed.how === 'lookup') {
    const reference = row.cells.get(computed.reference) ?? null;
    if (reference === null) return null;
    const { id } = keyOf(other);
    const found = other.rows.values().find(({ cells }) => cells.get(id) === reference);
    return found?.cells.get(computed.column) ?? null;
  }
  const key = row.cells.get(table.keyId) ?? null;
  const rows = [...other.rows.values()].filter(({ cells }) => key !== null && cells.get(computed.reference) === key);
  const { column: summed } = computed;
  if (summed === null) return rows.length;
  const values = rows.map(({ cells }) => cells.get(summed) ?? null).filter((value) => value !== null);
  if (computed.how === 'sum') return values.reduce<Value>((sum, value) => plus(sum, value), 0);
  const type = other.columns.filter(({ id }) => id === summed).map(valueTypeOf)[0] ?? 'Text';
  return values.toSorted((one, more) => compareValues(type, more, one))[0] ?? null;
}

/** Whole numbers exactly, and others as doubles. */
function plus(one: Value, other: Value): Value {
  const [a, b] = [digitsOf(Number(one)), digitsOf(Number(other))];
  if (a.includes('.') || b.includes('.')) return Number(one) + Number(other);
  return decimalFromText(String(BigInt(a) + BigInt(b))) ?? null;
}

/** All cells of a row, by the names of the columns. */
export function valuesByName(state: ModelState, table: ModelTable, row: ModelRow): Readonly<Record<string, Value>> {
  return Object.fromEntries(table.columns.map((column) => [column.name, cellOf(state, table, column, row)]));
}

/** Whether the calling user sees the row. */
function seesRow({ knobs, state }: Pick<Call, 'knobs' | 'state'>, table: ModelTable, row: ModelRow): boolean {
  if (knobs.hidesRow === null) return true;
  return !knobs.hidesRow({ table: table.name, id: row.id, values: valuesByName(state, table, row) });
}

/** The rows that the calling user sees, by id. */
export function visibleRows(call: Pick<Call, 'knobs' | 'state'>, table: ModelTable): readonly ModelRow[] {
  const rows = [...table.rows.values()];
  return call.knobs.hidesRow === null ? rows : rows.filter((row) => seesRow(call, table, row));
}

/** A row by id, if there is one that the calling user sees. */
export function rowById(call: Pick<Call, 'knobs' | 'state'>, table: ModelTable, id: number): ModelRow | undefined {
  const row = table.rows.get(id);
  return row !== undefined && seesRow(call, table, row) ? row : undefined;
}

/** A row by its key as a query spells it. */
export function rowByKey(
  call: Pick<Call, 'knobs' | 'state'>,
  table: ModelTable,
  spelled: string,
): ModelRow | undefined {
  const type = valueTypeOf(keyOf(table));
  const key = type === 'Numeric' || type === 'Duration' ? decimalFromText(spelled) : spelled;
  return visibleRows(call, table).find(({ cells }) => key !== undefined && cells.get(table.keyId) === key);
}

/** Whether the caller may change and delete a row: where a role is for own rows only, the owner decides. */
export function mayEdit({ role, user }: Pick<Call, 'role' | 'user'>, table: ModelTable, row: ModelRow): boolean {
  if (!role.canWrite || !role.editOwnOnly) return role.canWrite;
  const owner = table.columns.find(({ kind }) => kind === 'RecordOwner');
  if (owner === undefined) return true;
  const value = row.cells.get(owner.id) ?? null;
  return value !== null && emailOf(String(value)) === user.email.toLowerCase();
}

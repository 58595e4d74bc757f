/**
 * Which columns refer to which tables. The origin does not describe it, so the configuration may say it (`references`).
 * Otherwise it is guessed from the name of a column, and proven by its values: each is a key of that table, also of a
 * lost row.
 */
import { RowsyncError } from '../../base/errors.ts';
import { readColumns, type ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import type { TableRecord } from '../../replica/bookkeeping/tables.ts';
import type { LostRows } from './lost-rows.ts';

/** A column whose values are keys of a table. */
export interface TableReference {
  readonly tableId: number;
  readonly column: ColumnRecord;
  readonly toId: number;
  /** Whether the configuration says so; else it was guessed, and is shown for consent. */
  readonly isConfigured: boolean;
}

/** What the configuration says of a table, by its name at the origin. */
export interface ReferenceRules {
  find(name: string): {
    readonly options: {
      readonly references?: Readonly<Record<string, string>> | undefined;
      readonly match?: string | null | undefined;
    };
  } | null;
}

const KEY_TYPES = new Set(['Text', 'Numeric', 'Autonumber', 'EMail', 'Phone', 'URL', 'User']);

/** The references of a table. @throws RowsyncError `config.invalid` for a name that is not there. */
export function referencesOf(lost: LostRows, table: TableRecord, rules: ReferenceRules): readonly TableReference[] {
  const columns = readColumns(lost.main, table.id).filter(({ state }) => state === 'live');
  const configured = Object.entries(rules.find(table.name)?.options.references ?? {}).flatMap(([from, to]) => {
    const column = columns.find(({ name }) => name.toLowerCase() === from.toLowerCase());
    const target = lost.tables.find(({ name }) => name.toLowerCase() === to.toLowerCase());
    if (column !== undefined && target !== undefined) return { column, toId: target.id };
    if (column !== undefined && lost.unread.some(({ name }) => name.toLowerCase() === to.toLowerCase())) return [];
    throw new RowsyncError('config', 'config.invalid', {
      message: `tables.${table.name}.references: there is no ${column === undefined ? `column "${from}"` : `table "${to}"`} here`,
      hint: 'Write names as the origin has them: references: { Customer: Customer } says which table a column refers to.',
    });
  });
  const guessed = columns.flatMap((column) => {
    if (!KEY_TYPES.has(column.type) || !column.writable || column.id === lost.keyOf(table.id)?.id) return [];
    if (configured.some((one) => one.column.id === column.id)) return [];
    const target = lost.tables.find((other) => isNamedAfter(column.name, other, table));
    return target !== undefined && isProven(lost, table, { column, target }) ? [{ column, toId: target.id }] : [];
  });
  return [
    ...configured.map((one) => ({ tableId: table.id, ...one, isConfigured: true })),
    ...guessed.map((one) => ({ tableId: table.id, ...one, isConfigured: false })),
  ];
}

/** Whether a column is called like a table: Customer, Customer Id, Related Customer; Parent refers to its own table. */
function isNamedAfter(columnName: string, other: TableRecord, own: TableRecord): boolean {
  const name = folded(columnName).replace(/^(?:related|parent)(?=.)/, '');
  const wanted = folded(other.name);
  return [wanted, `${wanted}id`, `${wanted}key`].includes(name) || (other.id === own.id && name === 'parent');
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function isProven(
  lost: LostRows,
  table: TableRecord,
  { column, target }: { readonly column: ColumnRecord; readonly target: TableRecord },
): boolean {
  const key = lost.keyOf(target.id);
  if (key === null) return false;
  const keys = new Set(lost.liveValues(target, key));
  for (const { values } of lost.rows(target.id)) keys.add(String(values.get(key.id)));
  const used = new Set(lost.liveValues(table, column));
  for (const { values } of lost.rows(table.id)) {
    const value = values.get(column.id) ?? null;
    if (value !== null && value !== '') used.add(String(value));
  }
  return used.size > 0 && used.isSubsetOf(keys);
}

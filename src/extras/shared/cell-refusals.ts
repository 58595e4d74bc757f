/**
 * What a text becomes in a cell, and why a value cannot be an edit. Judges each cell; a trigger stops at the first.
 */
import { ident, sql } from '../../base/sql.ts';
import { missingRule, valueRules } from '../../capture/edit-triggers.ts';
import { findTwoWayTable } from '../../capture/two-way-table.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { queryAny } from '../../replica/query.ts';
import { storedFromValue } from '../../replica/rows.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { columnType } from '../../wire/schema.ts';
import { stampOf, type BrowsedColumn, type BrowsedTable } from './rows-page.ts';

/** Why the triggers would refuse a value, judged by their own rules without a write; null where they would not. */
export function reasonRefused(
  from: Connection,
  { id }: BrowsedTable,
  {
    column,
    value,
    action,
  }: { readonly column: string; readonly value: Stored; readonly action: 'insert' | 'update' | 'delete' },
): string | null {
  const table = findTwoWayTable(from, id);
  const known = table?.columns.find(({ localName }) => localName === column);
  if (table === null || known === undefined) return null;
  const missing = missingRule(table, known, action === 'insert' ? 'new' : 'known');
  for (const { isBroken, sentence } of [...valueRules(table, known), ...(missing === null ? [] : [missing])]) {
    // The rule of attached files also looks at what the row has; here it is judged as one that has none.
    const text = sql`SELECT 1 FROM (SELECT ? AS ${ident(column)}, NULL AS _id) NEW WHERE ${isBroken}`;
    if (queryAny(from, text, [value])) return sentence;
  }
  return null;
}

/** What a column stores of a text that a person or an agent gave; nothing for an empty one. */
export function storedFromText(column: BrowsedColumn, text: string): Stored {
  if (text === '') return null;
  const type = columnType(column.type);
  if (type === 'Checkbox' && /^(?:true|false|[01])$/.test(text)) return BigInt(text === 'true' || text === '1');
  const given = type === 'Timestamp' ? (stampOf(text) ?? text) : text;
  return storedFromValue(TYPE_RULES[type].valueFromText(given));
}

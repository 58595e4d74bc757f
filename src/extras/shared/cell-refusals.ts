/**
 * Says why a value cannot be an edit, before it is written: each cell by itself, where a trigger stops at the first.
 */
import { ident, sql } from '../../base/sql.ts';
import { missingRule, valueRules } from '../../capture/edit-triggers.ts';
import { findTwoWayTable } from '../../capture/two-way-table.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { queryAny } from '../../replica/query.ts';
import type { BrowsedTable } from './rows-page.ts';

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

/**
 * Checks the filters of tables (`rows`): whether the origin accepts each, and how many rows it selects.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { plural, printable } from '../../base/text.ts';
import type { TableRule } from '../../config/tables.ts';
import type { Origin } from '../../origin/client.ts';
import type { TableDescriptor } from '../../wire/schema.ts';
import { fail, ok, type CheckResult } from '../../cli/runtime/check-result.ts';

const NAME = 'rows';

/** Asks with the filter of a table; none where it has none. */
export async function checkRows(
  { origin, signal }: { readonly origin: Origin; readonly signal: AbortSignal },
  { recordName, alias, key, columns }: TableDescriptor,
  rule: TableRule | null,
): Promise<readonly CheckResult[]> {
  const rows = rule?.options.rows;
  if (rule === null || rows === undefined) return [];
  const name = printable(recordName);
  if (!columns.some((column) => column.name === key)) {
    const hint = 'Show the key column to the role of the user, or copy the table without a filter.';
    return [fail(NAME, `${name}: a filter needs the key column, and this user is not shown it`, hint)];
  }
  const table = { name: recordName, alias, rows };
  try {
    await origin.select({ table, columns: [], query: { columns: [], sort: [], top: 1 } }, { signal });
    const count = await origin.count({ table, column: key }, { signal });
    const words = count === null ? 'the origin takes the filter' : `${plural(count, 'row')} under the filter`;
    return [ok(NAME, `${name}: ${words} ${printable(rows)}`)];
  } catch (thrown) {
    const { kind, message, hint } = asRowsyncError(thrown);
    const advice = kind === 'originRefused' ? `Correct tables.${rule.pattern}.rows.` : hint;
    return [fail(NAME, `${name}: ${message}`, advice)];
  }
}

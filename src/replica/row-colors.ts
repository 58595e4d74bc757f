/**
 * The colors of rows, kept in `_color` of the user table and of its base. They are no values: a row of another color is no other row, so there is
 * nothing to merge, to push or to note in the history. Where rows come with colors for the first time, the next pull adds the column (tables.ts)
 * and reads the table again.
 */
import { ident, sql } from '../base/sql.ts';
import type { Row } from '../wire/schema.ts';
import type { Tx } from './connection.ts';
import { readTable, storeColorState } from './bookkeeping/tables.ts';
import { requireHarmlessTriggers } from './triggers.ts';
import { baseName, COLOR_COLUMN, readStanding } from './tables.ts';

/** Stores the colors with which rows came, after the rows themselves; a row without one has none any more. */
export function storeRowColors(
  tx: Tx,
  { id, localName }: { readonly id: number; readonly localName: string },
  rows: readonly Row[],
): void {
  const { rowColors } = readTable(tx, id);
  if (rowColors !== 'kept') {
    if (rowColors === 'seen' || rows.every(({ color }) => color === undefined)) return;
    storeColorState(tx, id, 'seen');
    return;
  }
  const byColor = Map.groupBy(rows, ({ color }) => color ?? null);
  requireHarmlessTriggers(tx, { id, localName });
  for (const name of [localName, baseName(id)]) {
    if (readStanding(tx, name, [COLOR_COLUMN.localName]).length === 0) continue;
    const update = tx.prepare(
      sql`UPDATE ${ident(name)} SET _color = @color
          WHERE _id IN (SELECT value FROM json_each(@ids)) AND _color IS NOT @color`,
    );
    for (const [color, group] of byColor) update.run({ color, ids: JSON.stringify(group.map((row) => row.id)) });
  }
}

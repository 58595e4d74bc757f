/**
 * Plans how a deleted row comes back with all lost rows that refer to it, from the replica alone. Writes nothing.
 */
import { twoWayColumn } from '../../capture/two-way-table.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { fileFinder } from './attached-files.ts';
import { LostRows } from './lost-rows.ts';
import { findOrphans } from './orphans.ts';
import { planPutback, type PlanTable } from './lost-row-outcome.ts';
import { chooseRows } from './make-plan.ts';
import { putbackPlanText } from './putback-text.ts';

/** The plan in words, and the tables whose rows come along. @throws RowsyncError `usage.invalid` if it was not lost. */
export function planLocally(
  reader: ReplicaReader,
  row: { readonly table: string; readonly id: number },
  given: {
    /** What the configuration says, by the names of tables. */
    readonly references: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly filesFolder: string;
  },
): { readonly text: string; readonly along: readonly string[] } {
  const { references, filesFolder } = given;
  const lost = new LostRows(reader, { kind: 'deleted' });
  const choice = {
    table: row.table,
    ids: [row.id],
    with: lost.tables.map(({ name }) => name),
    from: '',
    until: '9999',
  };
  const { rows, references: all } = chooseRows(lost, choice, {
    tables: { find: (name) => ({ options: { references: references[name] } }) },
  });
  const nameOf = (id: number): string => lost.nameOf(id);
  const tables = readTables(reader).map(({ id, localName }): readonly [number, PlanTable] => [
    id,
    {
      id,
      localName,
      keyId: lost.keyOf(id)?.id ?? null,
      allowsAdd: true,
      matchId: null,
      columns: readColumns(reader, id)
        .filter(({ state }) => state === 'live')
        .map(twoWayColumn),
    },
  ]);
  const planned = planPutback(rows, {
    tables: new Map(tables),
    references: all,
    isLiveKey: (tableId, key) => lost.isLiveKey(tableId, key),
    thereOf: () => null,
    earlier: new Map(),
    lostIdOf: () => null,
    filesOf: fileFinder([reader], [filesFolder], { revisions: false }),
  });
  const ids = new Set(rows.map(({ tableId }) => tableId));
  const guessed = all.filter(({ isConfigured, tableId, toId }) => !isConfigured && (ids.has(tableId) || ids.has(toId)));
  const orphans = findOrphans(lost, rows, all);
  const text = putbackPlanText({ rows: planned, orphans, guessed, unwritable: new Map(), missing: [], nameOf }, null);
  return { text, along: [...ids].map((id) => nameOf(id)).filter((name) => name !== row.table) };
}

/**
 * Drops what the origin no longer describes, with its last values: tables that are gone, and columns that were removed
 * or set aside. Edits of them are kept in `sync_conflicts`.
 */
import { anyOf, ident, isOther, sql } from '../../base/sql.ts';
import { ensureChangesView } from '../../capture/changes-view.ts';
import { decideEach } from '../../capture/find-edits.ts';
import { endCapture, ensureCapture, noteTampering } from '../../capture/sync-mode.ts';
import { findTwoWayTable, type TwoWayTable } from '../../capture/two-way-table.ts';
import { retryRefused } from '../../capture/writer/apply-outcome.ts';
import { decideColumnsLost } from '../../reconcile/row-outcome.ts';
import { readColumns, storeColumnState } from '../../replica/bookkeeping/columns.ts';
import { forgetDescriptor } from '../../replica/bookkeeping/descriptors.ts';
import { forgetDroppedFiles } from '../../replica/bookkeeping/files.ts';
import { endHistory, keepNames, markHistory } from '../../replica/bookkeeping/history.ts';
import { forgetTable, readTables, storeFacts } from '../../replica/bookkeeping/tables.ts';
import type { Tx, WrittenTable } from '../../replica/connection.ts';
import { queryNumbers } from '../../replica/query.ts';
import { renameInKeptRows } from '../../replica/rows-as-json.ts';
import { hasTable, schemaWatch } from '../../replica/schema-objects.ts';
import {
  baseName,
  dropBase,
  dropColumn,
  emptyChangesView,
  forgetParts,
  isMade,
  readPhysicalColumns,
} from '../../replica/user-tables.ts';

/** Drops what the origin no longer describes; edits of a dropped table are kept in `sync_conflicts`. */
export function prune(opened: Tx, at: string): readonly string[] {
  const tx = opened.because('schema');
  for (const record of readTables(tx)) {
    const isGone = record.state === 'gone' && isOwnTable(tx, record);
    const table = isGone ? findTwoWayTable(tx, record.id) : null;
    if (table !== null) endCapture(tx, table, { discard: true, at });
  }
  for (const { id, missingColumns } of readTables(tx)) {
    if (missingColumns.length > 0) pruneMissing(tx, id, missingColumns, at);
    // A later column of that name is another one.
    const pruned = readColumns(tx, id).filter(({ state }) => state !== 'live');
    renameInKeptRows(tx, id, new Map(pruned.map(({ localName }) => [localName, `${localName} (pruned)`])));
  }
  for (const table of readTables(tx))
    if (table.state !== 'gone' && hasTable(tx, table.localName)) noteTampering(tx, table, at);
  const dropped = dropParts(tx, at);
  forgetDroppedFiles(tx);
  for (const { id, localName } of readTables(tx)) if (hasTable(tx, localName)) ensureCapture(tx, id);
  ensureChangesView(tx);
  return dropped;
}

/** Whether a user table was made here, and is not another one that a client put in its place. */
function isOwnTable(tx: Tx, table: WrittenTable): boolean {
  const names = new Set(readPhysicalColumns(tx, table.localName));
  return isMade(tx, table) && names.has('_id') && names.has('_allow');
}

/** Takes writable columns that vanished as gone. */
function pruneMissing(tx: Tx, tableId: number, seqs: readonly number[], at: string): void {
  const table = findTwoWayTable(tx, tableId);
  if (table !== null) giveUpColumns(tx, table, seqs, at);
  for (const seq of seqs) storeColumnState(tx, seq, 'removed', at);
  storeFacts(tx, tableId, { missing_columns: [] });
  retryRefused(tx, tableId, at);
}

/** Gives up edits of columns (by `seq`) that the origin does not show any more, before they are dropped. */
function giveUpColumns(tx: Tx, table: TwoWayTable, lost: readonly number[], at: string): void {
  const indexes = table.columns.flatMap(({ seq }, index) => (lost.includes(seq) ? [index] : []));
  const differing = table.columns.flatMap(({ seq, localName }) => {
    const name = ident(localName);
    return lost.includes(seq) ? [isOther(sql`l.${name}`, sql`b.${name}`)] : [];
  });
  const text = sql`SELECT l._id FROM ${ident(table.localName)} l LEFT JOIN ${ident(baseName(table.id))} b ON b._id = l._id
      WHERE ${anyOf(differing)}`;
  const ids = queryNumbers(tx, text, []);
  decideEach(tx, table, { ids, at }, (facts) => decideColumnsLost(facts, table.columns, indexes));
}

/** Drops them; returns `table` or `table.column`. The caller makes triggers and the view of changes again. */
function dropParts(tx: Tx, at: string): readonly string[] {
  const watch = schemaWatch(tx);
  const onChanged = watch?.change(tx);
  emptyChangesView(tx);
  const tables = readTables(tx);
  const gone = tables.filter(({ state }) => state === 'gone');
  for (const table of gone) {
    const { id, localName } = table;
    endHistory(tx, id, { at, why: 'the table was pruned' });
    watch?.free(tx, null, [localName]);
    if (isOwnTable(tx, table)) tx.prepare(sql`DROP TABLE ${ident(localName)}`).run();
    dropBase(tx, id);
    forgetParts(tx, id);
    forgetTable(tx, id);
    forgetDescriptor(tx, id);
  }
  const columns = tables
    .filter((table) => !gone.includes(table))
    .flatMap((table) =>
      readColumns(tx, table.id).flatMap((column) => (column.state === 'live' ? [] : { table, column })),
    );
  for (const { table, column } of columns) {
    keepNames(tx, table.id, [column.seq]);
    if (tx.history.isKept(table.id))
      markHistory(tx, table.id, { kind: 'schema', at, note: { pruned: column.localName } });
    dropColumn(tx, table, column);
  }
  onChanged?.();
  return [
    ...gone.map(({ localName }) => localName),
    ...columns.map(({ table, column }) => `${table.localName}.${column.localName}`),
  ];
}

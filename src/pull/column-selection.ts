/**
 * Applies the configuration's choice of columns to the origin's description (reconcile/column-selection.ts), and to the
 * replica. A column that is now left out, or masked in another way, is removed with all its values here. A masked one
 * is then read anew. Removal waits for a person, since it cannot be undone here.
 */
import { isDeepStrictEqual } from 'node:util';
import { stampFromMs } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { sql } from '../base/sql.ts';
import { plural, printable, shellWord } from '../base/text.ts';
import { readAllChanges } from '../capture/find-edits.ts';
import { ensureCapture, noteTampering } from '../capture/sync-mode.ts';
import { findTwoWayTable } from '../capture/two-way-table.ts';
import { ensureChangesView } from '../capture/changes-view.ts';
import { forgetColumn } from '../history/prune.ts';
import { selectPulledColumns, overtakenColumns, type Chosen, type Choosing } from '../reconcile/column-selection.ts';
import { readColumns, type ColumnRecord } from '../replica/bookkeeping/columns.ts';
import type { Connection } from '../replica/connection.ts';
import { findTable, type TableRecord, storeFacts } from '../replica/bookkeeping/tables.ts';
import { hasTable, schemaWatch } from '../replica/schema-objects.ts';
import { forgetEtags } from '../replica/bookkeeping/pages.ts';
import { dropColumn } from '../replica/user-tables.ts';
import { touchTable } from '../replica/bookkeeping/changed-rows.ts';
import { isSameMask } from '../wire/mask.ts';
import type { TableDescriptor } from '../wire/schema.ts';
import type { Permission, PullContext, TableSettings } from './context.ts';
import { retryRefused } from '../capture/writer/apply-outcome.ts';
import { storeSchemaChanges } from '../replica/bookkeeping/schema-changes.ts';
import { changeOf } from './schema-changes.ts';

/** No person was asked. */
export const NO_PERMISSION: Permission = { rows: 0, schema: false, isHere: false };

/** Describes the columns that come here; removes others. @throws `config.invalid`, `guard.schema`, `guard.maskKey`. */
export async function applySelection(
  context: PullContext,
  described: TableDescriptor,
  { columns, permission }: Pick<TableSettings, 'columns'> & { readonly permission: Permission },
): Promise<Pick<Chosen, 'descriptor' | 'leftOut'>> {
  const { replica, origin } = context;
  const record = findTable(replica, described.id);
  const known = record === null ? [] : readColumns(replica, described.id);
  const choosing: Choosing = {
    choice: columns ?? null,
    leftOut: record?.leftOut ?? [],
    known,
    keyDigest: () => origin.maskKeyDigest(),
  };
  const chosen = selectPulledColumns(described, choosing);
  const [problem] = chosen.problems;
  if (problem !== undefined) {
    throw new RowsyncError('config', 'config.invalid', {
      message: `tables.${printable(described.recordName)}.${printable(problem)}`,
      hint: 'Nothing of the table was read. rowsync check says which columns there are.',
    });
  }
  if (record === null) return chosen;
  const overtaken = overtakenColumns(known, chosen, choosing);
  if (!permission.isHere && overtaken.some((column) => hasOtherKey(column, chosen.descriptor)))
    throw otherKeyError(record);
  if (overtaken.length > 0 && !permission.schema)
    throw heldError(record, overtaken, countEdits(replica, record, overtaken));
  // What is left out now, so that a rename lets none of it in, and what was, until the table has its new shape.
  const outIds = new Set(chosen.leftOut.map(({ id }) => id));
  const leftOut = [...chosen.leftOut, ...record.leftOut.filter(({ id }) => !outIds.has(id))];
  if (overtaken.length > 0) await removeColumns(context, record, { chosen, overtaken, leftOut });
  else if (!isDeepStrictEqual(leftOut, record.leftOut))
    await replica.write('Noting which columns are left out', (tx) => storeFacts(tx, record.id, { left_out: leftOut }));
  return chosen;
}

/** Rows with unpushed edits of these columns; edits that no capture has seen yet are not included. */
function countEdits(from: Connection, { id }: TableRecord, columns: readonly ColumnRecord[]): number {
  const table = findTwoWayTable(from, id);
  if (table === null) return 0;
  const seqs = new Set(columns.map(({ seq }) => seq));
  const isOfColumns = (index: number): boolean => seqs.has(table.columns[index]?.seq ?? 0);
  return [...readAllChanges(from, table)].filter((change) => change.columns.some(isOfColumns)).length;
}

function heldError({ localName }: TableRecord, columns: readonly ColumnRecord[], editCount: number): RowsyncError {
  const names = columns.map((column) => `"${printable(column.localName)}"`).join(', ');
  const edits = editCount === 0 ? '' : `, among them edits of ${plural(editCount, 'row')} that were not pushed`;
  return new RowsyncError('needsPerson', 'guard.schema', {
    message: `${localName}: the configuration now leaves out columns that hold values here, or masks them in another way (${names})${edits}; nothing was read`,
    hint: `rowsync pull --confirm ${shellWord(localName)} removes these values, also from history, deleted rows and conflicts, and reads the table anew. To keep them, change tables.${localName} back.`,
  });
}

/** Whether the key is all that is new about the mask of a column. */
function hasOtherKey({ id, mask }: ColumnRecord, { columns }: TableDescriptor): boolean {
  const now = columns.find((column) => column.id === id)?.mask;
  return (
    mask?.key !== undefined && now !== undefined && now.key !== mask.key && isSameMask({ ...now, key: mask.key }, mask)
  );
}

function otherKeyError({ localName }: TableRecord): RowsyncError {
  return new RowsyncError('needsPerson', 'guard.maskKey', {
    message: `${localName}: the key of the masks is not the one that its hashes were made with; nothing was read`,
    hint: `Put the former key file back (replica.maskKeyFile). If a new key is wanted, stop the daemon and run rowsync pull --confirm ${shellWord(localName)}: it removes all hashes, also from history, and reads the table anew.`,
  });
}

/** Drops columns with all their kept values, and overwrites the bytes. */
async function removeColumns(
  { replica, clock, removeContents }: PullContext,
  record: TableRecord,
  { chosen, overtaken, leftOut }: Pick<Chosen, 'leftOut'> & { chosen: Chosen; overtaken: readonly ColumnRecord[] },
): Promise<void> {
  const at = stampFromMs(clock.nowMs());
  // Overwrites what is removed now, and empties the log. What was deleted earlier may stay in unused parts of the file.
  replica.prepare(sql`PRAGMA secure_delete = ON`).get();
  const contents = await replica.writeDurably(`Removing columns of ${record.localName}`, (tx) => {
    const { id } = record;
    if (hasTable(tx, record.localName)) noteTampering(tx, record, at);
    const onChanged = schemaWatch(tx)?.change(tx);
    const named = overtaken.flatMap((column) => {
      const hashes = forgetColumn(tx, id, column, at);
      dropColumn(tx, record, column);
      return hashes;
    });
    onChanged?.();
    const maskById = new Map(chosen.descriptor.columns.map((column) => [column.id, column.mask?.kind ?? 'none']));
    const changes = overtaken.map((column) => ({
      ...changeOf('columnLeftOut', record.name, column.name),
      now: maskById.get(column.id) ?? null,
    }));
    storeSchemaChanges(tx, changes, at);
    const anew = overtaken.filter((column) => leftOut.every((one) => one.id !== column.id));
    storeFacts(tx, id, { left_out: [...leftOut, ...anew.map((column) => ({ id: column.id, pattern: null }))] });
    forgetEtags(tx, id);
    touchTable(tx, id);
    retryRefused(tx, id, at);
    if (hasTable(tx, record.localName)) ensureCapture(tx, id);
    ensureChangesView(tx);
    return named;
  });
  replica.prepare(sql`PRAGMA wal_checkpoint(TRUNCATE)`).get();
  // After a crash before this, `rowsync files prune` finds them.
  await removeContents?.(contents);
}

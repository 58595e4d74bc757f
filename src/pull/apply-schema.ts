/**
 * Brings one replica table to the shape that the origin describes, before its rows are read. reconcile/schema-plan.ts
 * decides. This file reads the bookkeeping, calls it, and writes, all in one transaction. Any change of shape forgets
 * the ETags of the table, so that the next sweep fills new columns.
 */
import { foldIdent } from '../base/sql.ts';
import { isDeepStrictEqual } from 'node:util';
import { RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { plural, shellWord } from '../base/text.ts';
import { retryRefused } from '../capture/writer/apply-outcome.ts';
import { judgeMatch, matchError } from '../reconcile/match-column.ts';
import { ADDS_OFF } from '../reconcile/push-plan.ts';
import { newNames, type Naming } from '../reconcile/naming.ts';
import { missingColumns, planSchema, type SchemaAction } from '../reconcile/schema-plan.ts';
import { planSelection } from '../reconcile/column-selection.ts';
import { isSameShape } from '../reconcile/renamed-columns.ts';
import { captureChanges, readAllChanges, markBatchesInDoubt } from '../capture/find-edits.ts';
import { ensureCapture, noteTampering, discardChanges, switchMode } from '../capture/sync-mode.ts';
import { carryOutRequests } from '../capture/resolve-conflict.ts';
import { findTwoWayTable, missingColumnsError, type TwoWayColumn, type TwoWayTable } from '../capture/two-way-table.ts';
import { ensureChangesView } from '../capture/changes-view.ts';
import {
  areRulesChanged,
  type DescribedColumn,
  describeColumns,
  readColumns,
  storeColumnState,
  type ColumnRecord,
} from '../replica/bookkeeping/columns.ts';
import type { Tx, WrittenTable } from '../replica/connection.ts';
import { findTable, readTable, storeEditing, type TableRecord, storeFacts } from '../replica/bookkeeping/tables.ts';
import { readNameStyle } from '../replica/bookkeeping/identity.ts';
import { configureHistory } from '../replica/bookkeeping/history.ts';
import { renameInKeptRows } from '../replica/rows-as-json.ts';
import { schemaWatch } from '../replica/schema-objects.ts';
import { forgetEtags } from '../replica/bookkeeping/pages.ts';
import { readBatchTables } from '../replica/bookkeeping/batches.ts';
import { storeProblem } from '../replica/bookkeeping/table-errors.ts';
import { storeSchemaChanges } from '../replica/bookkeeping/schema-changes.ts';
import {
  addColorColumn,
  addColumns,
  ALLOW_COLUMN,
  COLOR_COLUMN,
  hasBase,
  readPhysicalColumns,
  renameColumns,
  restoreColumn,
  requireShape,
} from '../replica/user-tables.ts';
import { requireHarmlessTriggers } from '../replica/triggers.ts';
import { isWritable, type TableDescriptor } from '../wire/schema.ts';
import { applySelection } from './column-selection.ts';
import type { Permission, PreparedTable, PullContext, TableSettings } from './context.ts';
import { movingError } from './table-description.ts';
import { keepPlace } from './place-tables.ts';
import { changeOf, columnChanges } from './schema-changes.ts';
import { watchShape } from '../origin/renamed-columns.ts';

/**
 * Prepares a described table. What another client or the origin may have changed is looked at first; then one
 * transaction does, in this order:
 *
 *    1  shapeTable               all below is made from its columns
 *    2  keepLockedEdits          before step 8 puts cells back that may not be written any more
 *    3  settleEditing            options that the triggers of step 7 obey
 *    4  requireShape, …          the table keeps values as they are written, and no trigger of others changes rows
 *    5  configureHistory         so that what is written from now on is kept
 *    6  switchMode               mirror or two-way
 *    7  ensureCapture            triggers for these columns and this mode; then the view of edits
 *    8  captureChanges           makes the marks of edits true; then carries out what people decided on them
 *
 * @throws RowsyncError as `applySelection`, `guard.columns`, `guard.schema`, `config.invalid` for an unknown column.
 */
export async function applySchema(
  context: PullContext,
  described: TableDescriptor,
  options: TableSettings & { readonly permission: Permission; readonly discard?: boolean | undefined },
): Promise<PreparedTable> {
  const { descriptor, leftOut } = await applySelection(context, described, options);
  const { selection, unknownSort } = planSelection(descriptor, options.sort);
  requireNone(described, { sort: unknownSort, columnNames: unknownNames(described, options) });
  const rows = options.rows ?? null;
  if (rows !== null) requireKey(descriptor);
  const match = matchColumn(descriptor, options.editing?.match ?? null);
  const allowsAdd = descriptor.allowAdd && options.editing?.inserts !== false;
  const at = stampFromMs(context.clock.nowMs());
  const known = findTable(context.replica, descriptor.id);
  await requireColumns(context, descriptor);
  await keepPlace(context, descriptor);
  const { target, twoWay } = await context.replica.write(`Preparing the table ${descriptor.recordName}`, (tx) => {
    const before = findTwoWayTable(tx, descriptor.id);
    const shaped = shapeTable(tx, descriptor, {
      at,
      leftOut,
      confirmed: options.permission.schema,
      twoWay: before,
      columnNaming: { scope: 'column', style: readNameStyle(tx), given: (name) => options.columnNames?.get(name) },
    });
    if (before !== null) {
      keepLockedEdits(tx, { before, live: shaped.live, discard: options.discard === true }, at);
    }
    // Rows of a table that is already two-way are still read; a table that becomes two-way does not begin.
    if (match.problem !== null && before === null) throw match.problem;
    settleEditing(tx, before, { id: descriptor.id, matchColumn: match.column, allowsAdd, at });
    // A push complained of a match column that was corrected since.
    if (match.problem === null && known?.pushCode === 'config.invalid') storeProblem(tx, descriptor.id, 'push', null);
    requireShape(tx, shaped.target);
    requireHarmlessTriggers(tx, shaped.target);
    configureHistory(tx, descriptor.id, { isWanted: (options.history ?? null) !== null, at });
    const mode = { push: (options.editing ?? null) !== null, discard: options.discard === true, at };
    switchMode(tx, descriptor.id, mode);
    const table = findTwoWayTable(tx, descriptor.id);
    // Then its triggers must stay as they were when they were checked above.
    const isAsBefore = table !== null && !shaped.changed && table === before;
    if (!isAsBefore && (ensureCapture(tx, descriptor.id, table) || shaped.changed)) {
      // A new table has no edits, and joins the view at the end: making it for each of hundreds costs minutes.
      if (!shaped.isNew) ensureChangesView(tx);
    }
    if (table !== null) captureChanges(tx, table, at);
    // Those about a table that is still to become two-way wait for it.
    if (table !== null || !mode.push) carryOutRequests(tx, descriptor.id, at);
    return { target: shaped.target, twoWay: table };
  });
  const address = { name: descriptor.recordName, alias: descriptor.alias, rows };
  return {
    address,
    descriptor,
    requireShape: watchShape(context, address, (now) =>
      isSameShape(described, now) ? null : movingError(target.localName),
    ),
    target: twoWay ?? target,
    shapes: target.columns,
    selection,
    pageRows: Math.min(context.settings.pageRows, known?.pageRows ?? Infinity),
    problem: match.problem,
    twoWay: twoWay === null ? null : { table: twoWay, policy: options.editing?.conflict ?? 'origin' },
  };
}

/** Stores what decides on edits; rows that were refused for it are tried again. */
function settleEditing(
  tx: Tx,
  before: TwoWayTable | null,
  { id, at, ...editing }: Pick<TableRecord, 'matchColumn' | 'allowsAdd'> & { readonly id: number; readonly at: string },
): void {
  const isAsBefore = before?.matchColumn === editing.matchColumn && (before.allowsAdd || !editing.allowsAdd);
  if (before !== null && !isAsBefore) retryRefused(tx, id, at);
  else if (editing.allowsAdd) retryRefused(tx, id, at, ADDS_OFF.reason); // a push saw an option that no pull did
  storeEditing(tx, id, editing);
}

/** Columns that have a name of their own in the configuration, and that the origin does not show. */
function unknownNames({ columns }: TableDescriptor, { columnNames }: TableSettings): readonly string[] {
  const shown = new Set(columns.map(({ name }) => name));
  return [...(columnNames?.keys() ?? [])].filter((name) => !shown.has(name));
}

/** Makes sure that no option names columns that do not exist. @throws RowsyncError `config.invalid`. */
function requireNone(
  { recordName }: TableDescriptor,
  unknown: Readonly<Record<'sort' | 'columnNames', readonly string[]>>,
): void {
  for (const [option, names] of Object.entries(unknown)) {
    if (names.length === 0) continue;
    throw new RowsyncError('config', 'config.invalid', {
      message: `tables.${recordName}.${option} names columns that do not exist: ${names.join(', ')}`,
      hint: 'Use the names of columns as the origin shows them; sync_columns lists them.',
    });
  }
}

/** Rows that leave a filter are requested by key. @throws RowsyncError `config.invalid` if the user sees no key. */
function requireKey({ recordName, key, columns }: TableDescriptor): void {
  if (columns.some(({ name }) => name === key)) return;
  throw new RowsyncError('config', 'config.invalid', {
    message: `tables.${recordName}.rows needs the key column, and the calling user is not shown it (${key})`,
    hint: 'Show the key column to the role of the calling user, or copy the table without a filter.',
  });
}

/** Holds a two-way table that lost writable columns: its role may be wrong, and edits of them have no target. */
async function requireColumns({ replica }: PullContext, { id, columns }: TableDescriptor): Promise<void> {
  // By the bookkeeping: if another client dropped the table meanwhile, it would be recreated without the columns.
  const table = findTable(replica, id);
  if (table?.push !== 'on') return;
  const known = readColumns(replica, id).filter(({ state }) => state === 'live');
  const missing = missingColumns(known, columns);
  const seqs = missing.map(({ seq }) => seq);
  if (!isDeepStrictEqual(seqs, readTable(replica, id).missingColumns)) {
    await replica.write('Noting columns that vanished', (tx) => storeFacts(tx, id, { missing_columns: seqs }));
  }
  if (missing.length > 0) throw missingColumnsError(table, missing);
}

/** Stops before edits are given up because a right was lost, perhaps by mistake. @throws `guard.pending`. */
function keepLockedEdits(
  tx: Tx,
  locking: { readonly before: TwoWayTable; readonly live: readonly ColumnRecord[]; readonly discard: boolean },
  at: string,
): void {
  const { before, live, discard } = locking;
  const wasWritable = new Set(before.columns.flatMap(({ seq, writable }) => (writable ? [seq] : [])));
  const isLocked = ({ seq, writable }: Pick<TwoWayColumn, 'seq' | 'writable'>): boolean =>
    !writable && wasWritable.has(seq);
  const now = live.some(isLocked) ? findTwoWayTable(tx, before.id) : null;
  if (now === null) return;
  const columns = now.columns.map((column) => (isLocked(column) ? { ...column, writable: true } : column));
  const unlocked = { ...now, columns };
  captureChanges(tx, unlocked, at);
  const locked = new Set(now.columns.flatMap((column, index) => (isLocked(column) ? [index] : [])));
  const edits = [...readAllChanges(tx, unlocked)].filter(
    ({ kind, state, columns: changed }) =>
      changed.some((index) => locked.has(index)) && (kind === 'update' || (kind === 'insert' && state !== 'sending')),
  );
  if (edits.length === 0) return;
  if (discard) {
    const inserts = edits.filter(({ kind }) => kind === 'insert');
    return discardChanges(tx, unlocked, inserts, at);
  }
  throw new RowsyncError('needsPerson', 'guard.pending', {
    message: `${now.localName}: ${plural(edits.length, 'edited row')} cannot be pushed: the calling user may not write the edited columns any more`,
    hint: `Give the role of the calling user that right again; or give the edits up: rowsync pull --discard ${shellWord(now.localName)} keeps them in sync_conflicts.`,
  });
}

/** The column that identifies rows, and its problem. A caller without write access only reads: no problem then. */
function matchColumn(
  descriptor: TableDescriptor,
  wanted: string | null,
): { readonly column: string | null; readonly problem: RowsyncError | null } {
  const verdict = judgeMatch(descriptor, wanted);
  const { column, problem } = verdict;
  const isReader = column !== null && !descriptor.columns.some(isWritable);
  if (wanted === null || problem === null || isReader) return { column, problem: null };
  return { column: wanted, problem: matchError(descriptor.recordName, wanted, verdict) };
}

/** Refuses while rows are on their way, which would merge with values just sent; a broken table is repaired first. */
export function requireSettled({ replica }: PullContext, tableId: number): void {
  if (!readBatchTables(replica).includes(tableId)) return;
  const table = findTwoWayTable(replica, tableId);
  if (table === null) return;
  const standing = new Set(readPhysicalColumns(replica, table.localName));
  if (!table.columns.every(({ localName: name }) => standing.has(name))) return;
  throw new RowsyncError('originDown', 'pull.unsettled', {
    message: `${table.localName}: the outcome of rows already sent is still unknown; the table was not read`,
    hint: 'The next run asks again; rowsync push says what prevents it.',
  });
}

interface ShapeOrder {
  readonly at: string;
  readonly leftOut: TableRecord['leftOut'];
  readonly confirmed: boolean;
  /** The table as it was captured so far; null if it was not. */
  readonly twoWay: TwoWayTable | null;
  readonly columnNaming: Naming;
}

/**
 * Gives a table the columns of the origin, in this order:
 *
 *    1  noteTampering            before the triggers are recreated, which hides it
 *    2  free                     names that columns get now
 *    3  planSchema               from the columns that are in the file; too many that vanished undo the transaction
 *    4  remakeDropped            so that the actions find every known column
 *    5  storeSchemaChanges       what people read about it
 *    6  applyActions, colors     the columns
 *    7  retryRefused             if a column came back, or the rules are others
 *    8  forgetEtags              so that the next sweep fills the columns
 */
function shapeTable(tx: Tx, descriptor: TableDescriptor, { at, leftOut, confirmed, twoWay, columnNaming }: ShapeOrder) {
  const table = readTable(tx, descriptor.id);
  const wasTampered = noteTampering(tx, table, at, twoWay);
  const known = readColumns(tx, descriptor.id);
  schemaWatch(tx)?.free(tx, table.localName, newNames(columnNaming, known, descriptor.columns));
  const physical = new Set(readPhysicalColumns(tx, table.localName).map(foldIdent));
  const ours = new Set(['_id', ...[ALLOW_COLUMN, ...known].map((column) => foldIdent(column.localName))]);
  const colors = table.rowColors === 'kept' ? [COLOR_COLUMN] : [];
  // No column of the origin gets the name of the one for colors.
  const taken = [...physical, ...colors.map(({ localName }) => localName)];
  const foreign = new Set(taken.filter((name) => !ours.has(name)));
  const day = at.slice(0, 10);
  const plan = planSchema(known, descriptor.columns, { ...columnNaming, day, foreign, confirmed });
  if (plan.kind === 'hold') {
    throw new RowsyncError('needsPerson', 'guard.schema', {
      message: `${descriptor.recordName}: ${plan.vanishedCount} of ${plan.liveCount} columns vanished at once; nothing was changed`,
      hint: `Check the rights of the calling user; if the columns are really gone, run rowsync pull --confirm ${shellWord(table.localName)}.`,
    });
  }
  const isChanged = plan.actions.some(({ kind }) => kind !== 'keep');
  const onChanged = known.length > 0 && isChanged ? schemaWatch(tx)?.change(tx) : undefined;
  const dropped = [ALLOW_COLUMN, ...colors, ...known].filter(
    (column) => physical.size > 0 && !physical.has(foldIdent(column.localName)),
  );
  remakeDropped(tx, descriptor, dropped, at);
  const leftOutIds = new Set(table.leftOut.map(({ id }) => id));
  storeSchemaChanges(tx, columnChanges(descriptor.recordName, known, descriptor.columns, leftOutIds), at);
  if (!isDeepStrictEqual(leftOut, table.leftOut)) storeFacts(tx, table.id, { left_out: leftOut });
  applyActions(tx, table, descriptor, { actions: plan.actions, at });
  const isColored = addColorColumn(tx, table);
  const columns = readColumns(tx, descriptor.id);
  const isShown = plan.actions.some(
    (action) => action.kind === 'change' && action.state === 'live' && action.column.state === 'removed',
  );
  if (isShown || areRulesChanged(known, columns)) retryRefused(tx, descriptor.id, at);
  const shapeChanged = dropped.length > 0 || isColored || isChanged || isAnyRenamed(known, descriptor);
  if (shapeChanged) forgetEtags(tx, descriptor.id);
  const live = columns.filter(({ state }) => state === 'live');
  const shapes = live.map(({ localName: local, name, type, mask }) => ({ localName: local, name, type, mask }));
  onChanged?.();
  return {
    target: { id: descriptor.id, localName: table.localName, columns: shapes },
    live,
    changed: wasTampered || shapeChanged,
    isNew: known.length === 0,
  };
}

/** Recreates columns that another client dropped. What was in them is unknown, so what was sent is in doubt. */
function remakeDropped(
  tx: Tx,
  { id, recordName }: TableDescriptor,
  dropped: readonly (typeof ALLOW_COLUMN | ColumnRecord)[],
  at: string,
): void {
  if (dropped.length === 0) return;
  const table = readTable(tx, id);
  for (const column of dropped) restoreColumn(tx, table, column, at);
  const remade = dropped
    .flatMap((column) => ('name' in column && hasBase(tx, id) ? column.name : []))
    .map((name) => changeOf('columnRemade', recordName, name));
  storeSchemaChanges(tx, remade, at);
  const captured = findTwoWayTable(tx, id);
  if (captured !== null) markBatchesInDoubt(tx, captured, at);
}

/** Whether pages that were read before may hold the values of a column under the name of another. */
function isAnyRenamed(known: readonly ColumnRecord[], { columns }: TableDescriptor): boolean {
  const nameById = new Map(columns.map(({ id, name }) => [id, name]));
  return known.some(({ id, name, state }) => state === 'live' && (nameById.get(id) ?? name) !== name);
}

function applyActions(
  tx: Tx,
  table: WrittenTable,
  { columns }: TableDescriptor,
  { actions, at }: { readonly actions: readonly SchemaAction<ColumnRecord>[]; readonly at: string },
): void {
  const changes = actions.filter((action) => action.kind === 'change');
  for (const { column, state } of changes) if (state !== column.state) storeColumnState(tx, column.seq, state, at);
  const renames = changes.filter(({ column, localName }) => localName !== column.localName);
  renameColumns(tx, table, renames);
  renameInKeptRows(tx, table.id, new Map(renames.map(({ column, localName: now }) => [column.localName, now])));
  const positionById = new Map(columns.map(({ id }, index) => [id, index]));
  const described = (kind: 'add' | 'keep'): readonly DescribedColumn[] =>
    actions.flatMap((action) => {
      if (action.kind !== kind) return [];
      const { descriptor, localName } = action;
      return [{ descriptor, localName, position: positionById.get(descriptor.id) ?? 0 }];
    });
  addColumns(tx, table, described('add'), at);
  describeColumns(tx, table.id, described('keep'));
}

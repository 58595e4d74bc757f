/**
 * Brings one replica table to the shape that the origin describes, before its rows are read. The decision is
 * reconcile/schema.ts; this file reads what the ledger knows, asks, and writes, all in one transaction. Any change of
 * shape forgets the table's ETags, so that the next sweep fills what is new.
 */
import { RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { foldName, localName } from '../reconcile/naming.ts';
import { planSchema, type SchemaAction } from '../reconcile/schema.ts';
import { planSelection } from '../reconcile/selection.ts';
import type { Tx } from '../replica/database.ts';
import { readTables, storeReturned, type LedgerTable } from '../replica/ledger.ts';
import { forgetEtags } from '../replica/pages.ts';
import {
  addColumn,
  createTable,
  describeColumn,
  ensureGuards,
  hasUserTable,
  readColumns,
  readPhysicalColumns,
  readTakenNames,
  renameColumns,
  renameTable,
  restoreColumn,
  storeColumnState,
  type LedgerColumn,
} from '../replica/tables.ts';
import type { TableDescriptor } from '../wire/schema.ts';
import type { PreparedTable, PullContext, TableOptions } from './context.ts';

/**
 * Prepares a described table.
 * @throws RowsyncError `guard.schema` when most of its columns vanished, `config.invalid` for an unknown sort column.
 */
export async function prepareTable(
  context: PullContext,
  descriptor: TableDescriptor,
  options: TableOptions & { readonly confirmed: boolean },
): Promise<PreparedTable> {
  const { selection, unknownSort } = planSelection(descriptor, options.sort);
  if (unknownSort.length > 0) {
    throw new RowsyncError('config', 'config.invalid', {
      message: `tables.${descriptor.recordName}.sort names columns that do not exist: ${unknownSort.join(', ')}`,
      hint: 'Use the names of columns as the origin shows them; sync_columns lists them.',
    });
  }
  const at = stampFromMs(context.clock.nowMs());
  const columns = await context.replica.write(`Preparing the table ${descriptor.recordName}`, (tx) => {
    const shaped = shapeTable(tx, descriptor, { at, confirmed: options.confirmed });
    if (shaped.changed) context.replica.forgetStatements();
    return shaped;
  });
  const live = columns.live.map(({ localName: local, name, type }) => ({ localName: local, name, type }));
  return {
    address: { name: descriptor.recordName, alias: descriptor.alias },
    target: { id: descriptor.id, localName: columns.localName, columns: live },
    shapes: live,
    selection,
  };
}

interface Shaped {
  readonly localName: string;
  readonly live: readonly LedgerColumn[];
  readonly changed: boolean;
}

function shapeTable(tx: Tx, descriptor: TableDescriptor, options: { at: string; confirmed: boolean }): Shaped {
  const table = placeTable(tx, descriptor);
  const known = readColumns(tx, descriptor.id);
  const plan = planSchema(known, descriptor.columns, { day: options.at.slice(0, 10), confirmed: options.confirmed });
  if (plan.kind === 'hold') {
    throw new RowsyncError('needsPerson', 'guard.schema', {
      message: `${descriptor.recordName}: ${plan.vanishedCount} of ${plan.liveCount} columns vanished at once; nothing was changed`,
      hint: `Check the rights of the calling user; if the columns are really gone, run rowsync pull "${table.localName}" --confirm.`,
    });
  }
  applyActions(tx, table, descriptor, { actions: plan.actions, known, at: options.at });
  const columns = readColumns(tx, descriptor.id);
  const physical = new Set(readPhysicalColumns(tx, table.localName).map(foldName));
  const dropped = columns.filter((column) => !physical.has(foldName(column.localName)));
  for (const column of dropped) restoreColumn(tx, table.localName, column);
  const guardsChanged = ensureGuards(tx, table);
  const shapeChanged = dropped.length > 0 || plan.actions.some(({ kind }) => kind !== 'keep' && kind !== 'rename');
  if (shapeChanged) forgetEtags(tx, descriptor.id);
  const live = columns.filter(({ state }) => state === 'live');
  return { localName: table.localName, live, changed: table.changed || guardsChanged || plan.actions.some(isChange) };
}

function isChange({ kind }: SchemaAction): boolean {
  return kind !== 'keep';
}

/** Creates the table, or renames it, or finds it in place. A table that another client dropped is made again, empty. */
function placeTable(tx: Tx, descriptor: TableDescriptor): { id: number; localName: string; changed: boolean } {
  const { id, recordName: name, alias } = descriptor;
  const tables = readTables(tx);
  const known = tables.find((table) => table.id === id);
  const isHere = known !== undefined && hasUserTable(tx, known.localName);
  if (known?.state === 'gone') storeReturned(tx, id);
  if (known !== undefined && isHere && known.name === name) {
    if (known.alias !== alias) renameTable(tx, { id, name, alias, localName: known.localName }, known.localName);
    return { id, localName: known.localName, changed: false };
  }
  const local = freeTableName(tx, { id, name }, known, tables);
  if (known !== undefined && isHere) renameTable(tx, { id, name, alias, localName: local }, known.localName);
  else createTable(tx, { id, name, alias, localName: local });
  return { id, localName: local, changed: true };
}

function freeTableName(
  tx: Tx,
  thing: { id: number; name: string },
  known: LedgerTable | undefined,
  tables: readonly LedgerTable[],
): string {
  const others = tables.filter(({ id }) => id !== thing.id).map((table) => table.localName);
  const taken = new Set([...readTakenNames(tx), ...others].map(foldName));
  if (known !== undefined) taken.delete(foldName(known.localName));
  if (known?.name === thing.name) return known.localName;
  return localName('table', thing, taken);
}

function applyActions(
  tx: Tx,
  table: { id: number; localName: string },
  descriptor: TableDescriptor,
  change: { actions: readonly SchemaAction[]; known: readonly LedgerColumn[]; at: string },
): void {
  const knownColumn = (column: { localName: string }): LedgerColumn | undefined =>
    change.known.find(({ localName: local }) => local === column.localName);
  const positionById = new Map(descriptor.columns.map(({ id }, index) => [id, index]));
  const renames: { column: LedgerColumn; localName: string }[] = [];
  for (const action of change.actions) {
    if (action.kind === 'add' || action.kind === 'keep') continue;
    const column = knownColumn(action.column);
    if (column === undefined) continue; // planned from `known`, so it is there
    if (action.kind === 'setAside' || action.kind === 'rename') renames.push({ column, localName: action.localName });
    if (action.kind === 'setAside') storeColumnState(tx, column.seq, action.state, change.at);
    if (action.kind === 'remove') storeColumnState(tx, column.seq, 'removed', change.at);
    if (action.kind === 'revive') storeColumnState(tx, column.seq, 'live', change.at);
  }
  renameColumns(tx, table, renames);
  for (const action of change.actions) {
    if (action.kind !== 'add' && action.kind !== 'keep') continue;
    const { descriptor: column, localName: local } = action;
    const described = { descriptor: column, localName: local, position: positionById.get(column.id) ?? 0 };
    if (action.kind === 'add') addColumn(tx, table, described, change.at);
    else describeColumn(tx, table.id, described);
  }
}

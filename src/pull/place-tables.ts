/**
 * Gives tables their names here, by the configuration or as the origin calls them now. Recreates dropped tables.
 */
import { foldIdent } from '../base/sql.ts';
import { stampFromMs } from '../base/clock.ts';
import { ensureChangesView, hasChangesView } from '../capture/changes-view.ts';
import { markBatchesInDoubt } from '../capture/find-edits.ts';
import { ensureCapture, noteTampering } from '../capture/sync-mode.ts';
import { findTwoWayTable } from '../capture/two-way-table.ts';
import { applyOutcome, readRowFacts } from '../capture/writer/apply-outcome.ts';
import { isNameOf, newNames, planTableNames, type NameRules } from '../reconcile/naming.ts';
import { decideNoRow } from '../reconcile/row-outcome.ts';
import { readNameStyle } from '../replica/bookkeeping/identity.ts';
import { readWaitingDeletes } from '../replica/bookkeeping/refusals.ts';
import { countUnsent } from '../replica/bookkeeping/row-states.ts';
import { storeSchemaChanges } from '../replica/bookkeeping/schema-changes.ts';
import { findTable, readTable, readTables, storeFacts } from '../replica/bookkeeping/tables.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { hasTable, isNamed, schemaWatch } from '../replica/schema-objects.ts';
import {
  enterTable,
  hasBase,
  isMade,
  isUnmade,
  readTakenNames,
  renameTables,
  restoreTable,
} from '../replica/user-tables.ts';
import type { TableSummary } from '../wire/schema.ts';
import type { PullContext } from './context.ts';
import { changeOf } from './schema-changes.ts';

interface Placing {
  readonly at: string;
  readonly names: NameRules;
}

/** A table that is called otherwise from now on. */
type Move = Parameters<typeof renameTables>[1][number];

/** Places all tables before any is described: they are pulled in parallel, and the order of answers must not decide. */
export async function placeTables(context: PullContext, tables: readonly TableSummary[]): Promise<void> {
  const { replica, clock } = context;
  const placing = { at: stampFromMs(clock.nowMs()), names: nameRules(context) };
  const isPlaced =
    tables.every((table) => isInPlace(replica, table, placing.names)) &&
    movesOf(replica, namesOf(replica, tables, placing)).length === 0;
  if (isPlaced && hasChangesView(replica)) return;
  const dropped = tables.filter(({ id }) => isDropped(replica, id));
  await replica.write('Placing tables', (tx) => {
    if (!isPlaced) for (const id of placeAll(tx, tables, placing)) ensureCapture(tx, id);
    ensureChangesView(tx);
  });
  for (const { id } of dropped) context.log.warn('table.restored', { table: readTable(replica, id).localName });
}

/** Places a table once more that has lost its place since, to another client or to another name. */
export async function keepPlace(context: PullContext, table: TableSummary): Promise<void> {
  if (!isInPlace(context.replica, table, nameRules(context))) await placeTables(context, [table]);
}

function nameRules({ replica, settings }: PullContext): NameRules {
  return { style: readNameStyle(replica), given: settings.ownNameOf };
}

export async function refreshChangesView({ replica }: PullContext): Promise<void> {
  if (hasChangesView(replica)) return;
  await replica.write('Showing edits', ensureChangesView);
}

/** Whether a table has its place, under the name that the origin has now. */
function isInPlace(from: Connection, { id, recordName, alias }: TableSummary, names: NameRules): boolean {
  const known = findTable(from, id);
  if (known === null || known.state === 'gone' || known.name !== recordName || known.alias !== alias) return false;
  if (isUnmade(from, known) ? isNamed(from, known.localName) : !isMade(from, known)) return false;
  return isNameOf(known.localName, { ...names, scope: 'table' }, { id, name: recordName });
}

function namesOf(from: Connection, tables: readonly TableSummary[], placing: Placing): ReadonlyMap<number, string> {
  const tablesHere = readTables(from);
  const known = tablesHere.map(({ id, name, localName, state }) => ({ id, name, localName, isGone: state === 'gone' }));
  // A table that is noted or was dropped does not hold its name against what another client made under it.
  const ours = new Set(tablesHere.filter((one) => isMade(from, one)).map(({ localName }) => foldIdent(localName)));
  const taken = new Set(
    readTakenNames(from)
      .map(foldIdent)
      .filter((name) => !ours.has(name)),
  );
  const described = tables.map(({ id, recordName: name }) => ({ id, name }));
  return planTableNames(known, described, { ...placing.names, taken, day: placing.at.slice(0, 10) });
}

/** Tables that need another name, some only to make room for a table that the origin still shows. */
function movesOf(from: Connection, names: ReadonlyMap<number, string>): readonly Move[] {
  return readTables(from).flatMap((table) => {
    const { id, localName: name } = table;
    const to = names.get(id) ?? name;
    return to === name ? [] : [{ id, from: name, to, isMade: isMade(from, table) }];
  });
}

/** Whether another client dropped a table of ours, or renamed it. */
function isDropped(from: Connection, tableId: number): boolean {
  const table = findTable(from, tableId);
  return table !== null && table.state !== 'gone' && !hasTable(from, table.localName) && !isUnmade(from, table);
}

/** Gives all tables their names at once, and makes missing ones. Returns the ids of those that need triggers. */
function placeAll(tx: Tx, tables: readonly TableSummary[], placing: Placing): readonly number[] {
  const { at, names: rules } = placing;
  const watch = schemaWatch(tx);
  const described = tables.map(({ id, recordName: name }) => ({ id, name }));
  watch?.free(tx, null, newNames({ ...rules, scope: 'table' }, readTables(tx), described));
  const names = namesOf(tx, tables, placing);
  const moves = movesOf(tx, names);
  const onChanged = moves.length > 0 ? watch?.change(tx) : undefined;
  for (const { id, from, isMade: isHere } of moves) if (isHere) noteTampering(tx, { id, localName: from }, at);
  const describedIds = new Set(tables.map(({ id }) => id));
  renameTables(tx, moves, { makesRoom: moves.some(({ id }) => !describedIds.has(id)) });
  const created = tables
    .toSorted((a, b) => a.id - b.id)
    .flatMap((table) => (placeTable(tx, table, names.get(table.id) ?? table.recordName, at) ? [table.id] : []));
  onChanged?.();
  return [...new Set([...moves.flatMap((move) => (move.isMade ? move.id : [])), ...created])];
}

/** Notes a new table, recreates a dropped one, or finds it in place under its name now. Returns whether it was made. */
function placeTable(tx: Tx, descriptor: TableSummary, localName: string, at: string): boolean {
  const { id, recordName: name, alias } = descriptor;
  const known = findTable(tx, id);
  // It must be swept before it counts as steady.
  if (known?.state === 'gone') storeFacts(tx, id, { state: 'loading', sweep_open: 0 });
  if (known !== null && (isMade(tx, known) || isUnmade(tx, known))) {
    if (known.name !== name || known.alias !== alias) storeFacts(tx, id, { name, alias });
    return false;
  }
  const deletes = readWaitingDeletes(tx, id);
  const now = String(countUnsent(tx, id) - deletes.length);
  if (known !== null) storeSchemaChanges(tx, [{ ...changeOf('tableRemade', name), now }], at);
  if (known?.push === 'on' && hasBase(tx, id)) {
    // A missing table is no delete of its rows: the base has what the origin last confirmed. Listed deletes wait on.
    storeFacts(tx, id, { name, alias, local_name: localName });
    restoreTable(tx, { id, localName });
    const twoWay = findTwoWayTable(tx, id);
    if (twoWay !== null) {
      markBatchesInDoubt(tx, twoWay, at);
      const outcomes = readRowFacts(tx, twoWay, deletes).map((facts) => decideNoRow(facts, null));
      applyOutcome(tx, twoWay, { outcomes, nowMs: Date.parse(at) });
    }
    return true;
  }
  enterTable(tx, { id, name, alias, localName }, at);
  return false;
}

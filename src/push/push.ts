/**
 * One push: the calling user, the tables with edits, then each table. A table that fails does not stop the others. An
 * origin that is down or refuses the credentials does. The push is recorded in `sync_runs` before its first request, so
 * that one that is killed is visible. One process never runs a push and a pull at the same time.
 */
import { must } from '../base/assert.ts';
import { RowsyncError, usageError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { once } from '../base/concurrency.ts';
import type { LogFacts } from '../base/log.ts';
import { applyEvent } from '../capture/writer/apply-outcome.ts';
import { MIRROR_HINT, readTwoWayTables, type TwoWayTable } from '../capture/two-way-table.ts';
import { concernsAllTables, workOnTables } from '../origin/outage.ts';
import { guessText } from '../reconcile/option-bindings.ts';
import type { Connection } from '../replica/connection.ts';
import { readDropped } from '../replica/stored-errors.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import { readTables, tableNamed, tablesNamed, type TableRecord } from '../replica/bookkeeping/tables.ts';
import { readBatchTables } from '../replica/bookkeeping/batches.ts';
import { hasMarks, readRowStates } from '../replica/bookkeeping/row-states.ts';
import type { UserDescriptor } from '../wire/schema.ts';
import type { PushContext } from './context.ts';
import { readCallingUser } from './find-rows.ts';
import { TableTally, type PushReport, type PushTally } from './report.ts';
import { finishTable, isSettledUnasked, pushOneTable, type TablePushOrder } from './push-table.ts';
import { openRun, recordRun } from '../replica/bookkeeping/runs.ts';

export interface PushOptions {
  /** Names as at the origin or in the replica, ignoring case; empty for all that are pushed. */
  readonly tables: readonly string[];
  /** A person has looked: guards let this push through. */
  readonly confirm: boolean;
  /** Whether it is the turn of a table, by its name at the origin; left out for all. */
  readonly takes?: ((name: string) => boolean) | undefined;
}

/** Carries edits to the origin; a failing table stops no other. @throws RowsyncError `usage.invalid`, `replica.…`. */
export async function push(around: PushContext, options: PushOptions): Promise<PushReport> {
  const { clock, origin } = around;
  const { takes = () => true } = options;
  const chosen = chooseTablesToPush(around, options.tables).filter(({ name }) => takes(name));
  const startedMs = clock.monotonicMs();
  const at = stampFromMs(clock.nowMs());
  const runId = await around.replica.write('Recording a run', (tx) => openRun(tx, 'push', at));
  const replica = around.replica.because({ cause: 'push', runId });
  const context = { ...around, replica };
  const before = origin.counters().requestCount;
  const tally: PushTally = { takenCount: 0, isReversed: false };
  const tallies = new Map(chosen.map((table) => [table.id, new TableTally(table, tally)]));
  const broken = brokenAmong(replica, options.tables).map((table) => {
    const left = new TableTally(table);
    left.close(replica, table.error);
    return left;
  });
  let error: RowsyncError | null = null;
  let stop: RowsyncError | null = null;
  try {
    if (chosen.length > 0) stop = await pushWithRetries(context, chosen, { confirm: options.confirm, tally, tallies });
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
    const unbegun = error.kind === 'replica' ? [] : [...tallies.values()].filter(({ report }) => report === null);
    for (const left of unbegun) left.close(replica, error.message);
  }
  const report = {
    tables: [...broken, ...tallies.values()].flatMap((table) => table.report ?? []),
    requestCount: origin.counters().requestCount - before,
    durationMs: clock.monotonicMs() - startedMs,
    error,
    stop,
  };
  await context.before?.('finish', '');
  const unrecorded = await recordRun(context, runId, { ...report, notModifiedCount: 0, receivedBytes: 0 });
  return { ...report, runId, error: error ?? unrecorded };
}

/** Settles earlier batches before a pull, which skips tables with rows on their way. Never throws. */
export async function finishPushes(around: PushContext): Promise<void> {
  const context = { ...around, replica: around.replica.because({ cause: 'push', runId: null }) };
  const warn = (error: RowsyncError, about: LogFacts): void => {
    const { kind, code, message } = error;
    const isOfAll = kind === 'auth' || concernsAllTables(error);
    context.log.warn('push.unfinished', { ...(isOfAll ? {} : about), code, message });
  };
  const errorOf = (thrown: unknown): RowsyncError => errorFromReading(thrown, context.replica.path);
  try {
    const unsettled = new Set(readBatchTables(context.replica));
    const tables = readTwoWayTables(context.replica).filter(({ id }) => unsettled.has(id));
    if (tables.length === 0) return;
    const caller = once(() => identify(context));
    await caller().catch((thrown: unknown) => {
      if (!isSettledUnasked(errorOf(thrown))) throw thrown;
    });
    for (const table of tables) {
      const finished = finishTable(context, table, caller);
      await finished.catch((thrown: unknown) => warn(errorOf(thrown), { table: table.localName }));
    }
  } catch (thrown) {
    warn(errorOf(thrown), {});
  }
}

async function identify(context: PushContext): Promise<UserDescriptor> {
  await context.before?.('identify', '');
  return readCallingUser(context);
}

/** How often refused rows are tried again in one push: tables rarely refer to each other more deeply. */
const RETRIES_MAX = 3;

interface TablesOrder extends Pick<TablePushOrder, 'confirm'> {
  readonly tally: PushTally;
  readonly tallies: ReadonlyMap<number, TableTally>;
}

/** Pushes tables, and refused rows again once others are accepted, which they may refer to. Returns what ended it. */
async function pushWithRetries(
  context: PushContext,
  chosen: readonly TwoWayTable[],
  order: TablesOrder,
): Promise<RowsyncError | null> {
  let stop = await pushTables(context, chosen, order);
  for (let round = 1; stop === null && round <= RETRIES_MAX; round += 1) {
    const retried = await retryOvertaken(context, order);
    order.tally.isReversed = !order.tally.isReversed;
    const again = chosen.filter(({ id }) => retried.has(id));
    if (again.length === 0) return null;
    stop = await pushTables(context, again, order);
  }
  return stop;
}

/** Lets rows be tried again that the origin refused before it accepted others. Returns their tables. */
async function retryOvertaken({ replica, clock }: PushContext, { tallies }: TablesOrder): Promise<ReadonlySet<number>> {
  const due = [...tallies].flatMap(([tableId, tally]) => {
    const ids = tally.takeOvertaken();
    return ids.length === 0 ? [] : [{ tableId, counts: tally.counts, ids }];
  });
  if (due.length === 0) return new Set();
  return replica.write('Trying refused rows again', (tx) => {
    const retried = due.filter(({ tableId, counts, ids }) => {
      const states = readRowStates(tx, tableId, ids);
      // A person or another client may have changed them since.
      const waiting = ids.filter((id) => states.get(id) === 'refused');
      applyEvent(tx, tableId, waiting, { event: 'retried', at: stampFromMs(clock.nowMs()) });
      counts.refusedCount -= waiting.length;
      return waiting.length > 0;
    });
    return new Set(retried.map(({ tableId }) => tableId));
  });
}

/** Pushes tables; returns what ended the push early. */
async function pushTables(
  context: PushContext,
  chosen: readonly TwoWayTable[],
  { confirm, tallies }: TablesOrder,
): Promise<RowsyncError | null> {
  const caller = once(() => identify(context));
  const { concurrency } = context.settings;
  return workOnTables(context, { tables: chosen, concurrency }, async (table, stop) => {
    // The first table is described meanwhile. With all of them, an origin that is down would be asked many times.
    if (table !== chosen[0]) await caller();
    const tally = must(tallies.get(table.id), 'each table has one');
    await pushOneTable(context, table, { confirm, caller, stop, tally });
    return tally.report?.error ?? null;
  });
}

/** Names here of the tables that are pushed, narrowed to the given names if there are any; other names are left out. */
export function pushedAmong(
  context: Pick<PushContext, 'settings' | 'replica'>,
  names: readonly string[],
): readonly string[] {
  const meant = new Set(tablesNamed(readTables(context.replica), names).map(({ id }) => id));
  return chooseTablesToPush(context, []).flatMap(({ id, localName }) => (meant.has(id) ? [localName] : []));
}

/** A two-way table that another program dropped, or of which it dropped a column; the next pull makes it again. */
type BrokenTable = Pick<TableRecord, 'id' | 'localName'> & { readonly error: RowsyncError };

/** Those that are not pushed for that reason, narrowed to the names if there are any. */
export function brokenAmong(from: Connection, names: readonly string[]): readonly BrokenTable[] {
  const tables = tablesNamed(readTables(from), names).filter(({ push: mode }) => mode === 'on');
  const dropped = readDropped(from);
  return tables.flatMap(({ id, localName }) => {
    const found = dropped.find(({ subject }) => subject === localName);
    if (found === undefined) return [];
    const message = `${localName}: ${found.message}`;
    return [{ id, localName, error: new RowsyncError('replica', 'replica.schema', { ...found, message }) }];
  });
}

/** The two-way tables to push, narrowed to the names, if any; of gone or switched off ones, those whose edits wait. */
export function chooseTablesToPush(
  { settings, replica }: Pick<PushContext, 'settings'> & { readonly replica: Connection },
  names: readonly string[],
): readonly TwoWayTable[] {
  const tables = readTables(replica);
  const broken = brokenAmong(replica, []);
  const left = new Set(broken.map(({ id }) => id));
  const gone = new Set(tables.flatMap(({ id, state }) => (state === 'gone' ? [id] : [])));
  const isWanted = ({ id, name }: TwoWayTable): boolean => !gone.has(id) && settings.tableOptions(name) !== null;
  const pushed = readTwoWayTables(replica).filter(
    (table) => !left.has(table.id) && (isWanted(table) || hasMarks(replica, table.id)),
  );
  const taken = new Set([...pushed, ...broken].map(({ id }) => id));
  const others = names.filter((name) => !taken.has(tableNamed(tables, name)?.id ?? 0));
  if (others.length > 0) {
    const isKnown = others.some((name) => tableNamed(tables, name) !== undefined);
    const there = pushed.map(({ localName }) => localName);
    const guess = (name: string): string => (isKnown ? '' : guessText(name, there));
    throw usageError(
      `No table whose edits are pushed is called ${others.map((name) => `"${name}"${guess(name)}`).join(', ')}`,
      isKnown ? MIRROR_HINT : `Pushed tables: ${there.join(', ') || 'none; set push: true for a table'}.`,
    );
  }
  const meant = new Set(tablesNamed(tables, names).map(({ id }) => id));
  return pushed.filter(({ id }) => meant.has(id));
}

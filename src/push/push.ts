/**
 * One push: who asks, which tables have edits to carry, then each table by itself. A table that fails does not stop the others; an
 * origin that is down or refuses the credentials does, because every further answer would be the same. The push is recorded
 * as a run (run-record.ts). A push and a pull of one process never work at the same time: both go through the command that runs them.
 */
import { RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { runAll } from '../base/pool.ts';
import { moveRows } from '../capture/marks.ts';
import { readNaming } from '../capture/refusals.ts';
import { readTwoWayTables, type TwoWayTable } from '../capture/table.ts';
import { mayBeOfOneTable, Outage } from '../origin/outage.ts';
import type { Connection } from '../replica/connection.ts';
import { errorFromReading } from '../replica/failures.ts';
import { readTables } from '../replica/ledger.ts';
import { readBatchTables } from '../replica/push-rows.ts';
import type { PushContext } from './context.ts';
import { identify } from './identity.ts';
import { addReport, type PushReport, type TablePushReport } from './report.ts';
import { RunRecord } from './run-record.ts';
import { pushOneTable, type TablePushOrder } from './table.ts';

/** What the caller asks of one push. */
export interface PushOptions {
  /** Names as at the origin or in the replica, case does not count; empty for all that are pushed. */
  readonly tables: readonly string[];
  /** A person has looked: guards let this push through. */
  readonly confirm: boolean;
}

/**
 * Carries what was edited here to the origin. Never throws for what happens to one table.
 * @throws RowsyncError `usage.invalid` for a table that is not pushed, and replica errors.
 */
export async function push(context: PushContext, options: PushOptions): Promise<PushReport> {
  const { clock, replica, origin } = context;
  const chosen = chooseTables(context, options.tables);
  const startedMs = clock.monotonicMs();
  const before = origin.counters().requestCount;
  const run = new RunRecord(context);
  const tables: TablePushReport[] = [];
  let error: RowsyncError | null = null;
  let stop: RowsyncError | null = null;
  try {
    const order = { confirm: options.confirm, finishOnly: false, onSending: () => run.open() };
    if (chosen.length > 0) stop = await pushInOrder(context, chosen, order, tables);
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
  }
  const report = {
    tables,
    requestCount: origin.counters().requestCount - before,
    durationMs: clock.monotonicMs() - startedMs,
    error,
    stop,
  };
  await context.before?.('finish', '');
  const { id, error: unrecorded } = await run.close(report);
  return { ...report, runId: id, error: error ?? unrecorded };
}

/**
 * Finishes what earlier pushes left behind, and sends nothing new; called before a pull, which would take the rows that they
 * created for somebody else's. Asks the origin only if there is something to finish. Never throws: what cannot be finished
 * now is left for the next push, and what keeps it from that will meet the pull as well.
 */
export async function finishPushes(context: PushContext): Promise<void> {
  try {
    const unsettled = new Set(readBatchTables(context.replica));
    if (unsettled.size === 0) return;
    const chosen = readTwoWayTables(context.replica).filter(({ id }) => unsettled.has(id));
    if (chosen.length === 0) return;
    const order = { confirm: false, finishOnly: true, onSending: () => Promise.resolve() };
    const reports: TablePushReport[] = [];
    await pushTables(context, chosen, order, reports);
    await retryNaming(context, reports);
  } catch (thrown) {
    const { code, message } = errorFromReading(thrown, context.replica.path);
    context.log.warn('push.unfinished', { code, message });
  }
}

/** How often tables are pushed once more in one push: as deep as tables refer to each other, as a rule. */
const NAMING_ROUNDS_MAX = 3;

/**
 * Pushes tables into `reports`, and once more those of which rows were refused that name rows which this very push has made in others;
 * returns what ended the push early.
 */
async function pushInOrder(
  context: PushContext,
  chosen: readonly TwoWayTable[],
  order: Pick<TablePushOrder, 'confirm' | 'finishOnly' | 'onSending'>,
  reports: TablePushReport[],
): Promise<RowsyncError | null> {
  let stop = await pushTables(context, chosen, order, reports);
  for (let round = 1; stop === null && round <= NAMING_ROUNDS_MAX; round += 1) {
    const retried = await retryNaming(context, reports);
    const again = chosen.filter(({ id }) => retried.has(id));
    if (again.length === 0) return null;
    const more: TablePushReport[] = [];
    stop = await pushTables(context, again, order, more);
    for (const report of more) {
      const index = reports.findIndex(({ table }) => table === report.table);
      const before = reports[index];
      if (before !== undefined) reports[index] = addReport(before, report);
    }
  }
  return stop;
}

/** Lets rows be tried again that name what was made; returns the tables that have some. */
async function retryNaming(
  { replica, clock }: PushContext,
  reports: readonly TablePushReport[],
): Promise<ReadonlySet<number>> {
  const isAnyNew = reports.some(({ insertedCount }) => insertedCount > 0);
  if (!isAnyNew || readNaming(replica, readTwoWayTables(replica)).length === 0) return new Set();
  return replica.write('Trying rows again that name new ones', (tx) => {
    const naming = readNaming(tx, readTwoWayTables(tx));
    const at = stampFromMs(clock.nowMs());
    for (const { tableId, rowId } of naming) moveRows(tx, tableId, [rowId], { event: 'retried', at });
    return new Set(naming.map(({ tableId }) => tableId));
  });
}

/** Pushes tables into `reports`; returns what ended the push early. */
async function pushTables(
  context: PushContext,
  chosen: readonly TwoWayTable[],
  order: Pick<TablePushOrder, 'confirm' | 'finishOnly' | 'onSending'>,
  reports: TablePushReport[],
): Promise<RowsyncError | null> {
  await context.before?.('identify', '');
  const caller = await identify(context);
  let stop: RowsyncError | null = null;
  let leftCount = chosen.length;
  const outage = new Outage(context);
  await runAll(chosen, context.settings.concurrency, async (table) => {
    leftCount -= 1;
    const options = context.settings.tableOptions(table.name) ?? { conflict: 'ask', workflow: 'run' };
    const report = await pushOneTable(context, table, { ...order, caller, options, stop });
    if (report.error === null) outage.noteFinished();
    else if (stop === null && (await endsThePush(report.error, { outage, leftCount }))) stop ??= report.error;
    reports.push(report);
  });
  return stop;
}

/** Whether no further table can succeed after this error. */
async function endsThePush(
  error: RowsyncError,
  { outage, leftCount }: { readonly outage: Outage; readonly leftCount: number },
): Promise<boolean> {
  const { kind, code } = error;
  if (mayBeOfOneTable(error)) return leftCount > 0 && outage.isOfAll();
  if (code === 'push.forbidden') return false; // of one table
  return (
    code === 'origin.stopped' ||
    code === 'replica.full' ||
    code === 'replica.damaged' ||
    kind === 'auth' ||
    kind === 'originDown'
  );
}

/** Names here of the tables that are pushed, narrowed to the given names where there are any; other names are left out. */
export function pushedAmong(
  context: Pick<PushContext, 'settings' | 'replica'>,
  names: readonly string[],
): readonly string[] {
  const isNamed = (table: TwoWayTable): boolean =>
    names.some((name) => [table.name, table.localName].some((known) => known.toLowerCase() === name.toLowerCase()));
  const pushed = chooseTables(context, []);
  return (names.length === 0 ? pushed : pushed.filter(isNamed)).map(({ localName }) => localName);
}

/** The tables to push: two-way ones that the configuration still wants to be, narrowed to the names on the command line. */
export function chooseTables(
  { settings, replica }: Pick<PushContext, 'settings'> & { readonly replica: Connection },
  names: readonly string[],
): readonly TwoWayTable[] {
  // The origin would refuse the edits of a table that it no longer shows; they wait until it is back, or pruned.
  const gone = new Set(readTables(replica).flatMap(({ id, state }) => (state === 'gone' ? [id] : [])));
  const pushed = readTwoWayTables(replica).filter(
    ({ id, name }) => settings.tableOptions(name) !== null && !gone.has(id),
  );
  const isNamed = (table: { readonly name: string; readonly localName: string }, name: string): boolean =>
    [table.name, table.localName].some((known) => known.toLowerCase() === name.toLowerCase());
  const others = names.filter((name) => !pushed.some((table) => isNamed(table, name)));
  if (others.length > 0) {
    const isKnown = readTables(replica).some((table) => others.some((name) => isNamed(table, name)));
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `No table whose edits are pushed is called ${others.map((name) => `"${name}"`).join(', ')}`,
      hint: isKnown
        ? 'It is a read-only mirror: set push: true for it in the configuration and run rowsync pull.'
        : `Pushed are: ${pushed.map(({ localName }) => localName).join(', ') || 'none; set push: true for a table'}.`,
    });
  }
  return names.length === 0 ? pushed : pushed.filter((table) => names.some((name) => isNamed(table, name)));
}

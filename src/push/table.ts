/**
 * The push of one table: finish what an earlier push left behind, plan, judge the size, send batch after batch. What goes wrong
 * with the table is in its report, and does not keep the others back. Loops that send requests, and their bounds: the batches
 * of a plan, and ROUNDS_MAX plans, since rows may be edited again, or turn out not to have been taken, meanwhile.
 */
import { asRowsyncError, RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { shellWord } from '../base/text.ts';
import { readBatches, readPushes } from '../capture/batches.ts';
import { moveRows } from '../capture/marks.ts';
import { carryOutWishes } from '../capture/resolve.ts';
import { retryDue, storeRefusal } from '../capture/refusals.ts';
import { compareInSteps } from '../capture/steps.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { judgeMatch, matchError } from '../reconcile/match.ts';
import { judgePush } from '../reconcile/guards.ts';
import { newestFirst } from '../reconcile/selection.ts';
import type { Tx } from '../replica/connection.ts';
import { errorFromReading } from '../replica/failures.ts';
import { isPushProblemStored, readTable, storePushProblem } from '../replica/ledger.ts';
import { useUpConsent } from '../replica/consent.ts';
import { countWaiting } from '../replica/push-rows.ts';
import { hasOption, isWritable, type UserDescriptor } from '../wire/schema.ts';
import { pushBatch, reread, type BatchEnd, type Present } from './batch.ts';
import type { PushContext, PushTableOptions, TablePush } from './context.ts';
import { planOptions, planTable, pushTable as plannedTable, type TablePlan } from './plan.ts';
import { noCounts, type TablePushReport } from './report.ts';
import { settleBatch } from './settle.ts';
import { describeTable } from './shape.ts';

/** Plans made for one table in one push: the first, and two for what changed meanwhile. */
const ROUNDS_MAX = 3;

/** What is asked of the push of one table. */
export interface TablePushOrder {
  readonly caller: UserDescriptor;
  readonly options: PushTableOptions;
  /** A person has looked: guards let this push through. */
  readonly confirm: boolean;
  /** Only finish what an earlier push left behind. */
  readonly finishOnly: boolean;
  /** What ended the push already, before this table's turn; null while nothing did. */
  readonly stop: RowsyncError | null;
  /** Called before the first request that changes something, or that asks what became of an earlier one. */
  readonly onSending: () => Promise<void>;
}

/** Pushes one table; what goes wrong is in the report. */
export async function pushOneTable(
  context: PushContext,
  table: TwoWayTable,
  order: TablePushOrder,
): Promise<TablePushReport> {
  const { clock, replica } = context;
  const startedMs = clock.monotonicMs();
  const counts = noCounts();
  let error = order.stop;
  try {
    if (error === null) {
      const run = await openTable(context, table, order, counts);
      await finishEarlier(run, order.onSending);
      if (!order.finishOnly) error = await pushWithConsent(run, order);
    }
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
  }
  if (!order.finishOnly || error !== null) await noteProblem(context, table, error);
  const isGuard = error?.kind === 'needsPerson';
  return {
    table: table.localName,
    ...counts,
    ...countWaiting(replica, table.id),
    held: isGuard ? error : null,
    error: isGuard ? null : error,
    durationMs: clock.monotonicMs() - startedMs,
  };
}

async function openTable(
  context: PushContext,
  table: TwoWayTable,
  { caller, options }: TablePushOrder,
  counts: TablePush['counts'],
): Promise<TablePush> {
  await context.before?.('describe', table.localName);
  if (options.workflow === 'suppress' && !hasOption(caller.admin, 'ManageData')) {
    throw new RowsyncError('config', 'push.workflow', {
      message: `tables.${table.name}.workflow is suppress, which needs the permission ManageData; the calling user does not have it`,
      hint: 'Give the user that permission in the setup of the database, or set workflow: run. Nothing was sent.',
    });
  }
  const { name, alias } = readTable(context.replica, table.id);
  const descriptor = await describeTable(context, table, { name, alias });
  const verdict = judgeMatch(descriptor, table.matchColumn);
  if (table.matchColumn !== null && verdict.column === null) throw matchError(name, table.matchColumn, verdict);
  const isUnique = new Set(
    descriptor.columns
      .filter((column) => column.name === descriptor.key || hasOption(column.dataOptions, 'Unique'))
      .map((column) => column.name),
  );
  const makerName = descriptor.columns.find(({ kind }) => kind === 'CreatedBy')?.name;
  const maker = table.columns.findIndex(({ name: own }) => own === makerName);
  // `column=*` brings what may be written, so every other column is named.
  const named = descriptor.columns.filter((column) => !isWritable(column)).map((column) => column.name);
  return {
    context,
    table,
    address: { name, alias },
    shapes: table.columns,
    names: ['*', ...named],
    planned: { ...plannedTable(table), allowAdd: descriptor.allowAdd },
    newestFirst: newestFirst(descriptor),
    uniqueColumns: table.columns.flatMap((column, index) => (isUnique.has(column.name) ? [index] : [])),
    makerColumn: maker < 0 ? null : maker,
    email: caller.email,
    options,
    zone: caller.timezone,
    plan: { version: 0, isStale: true, isLast: false },
    shape: { problem: null },
    missing: { count: 0 },
    counts,
  };
}

/** Batches that were not settled when an earlier push ended: what became of them is found out before anything else is sent. */
async function finishEarlier(run: TablePush, onSending: TablePushOrder['onSending']): Promise<void> {
  const { context, table } = run;
  const batches = readBatches(context.replica, table);
  if (batches.length === 0) return;
  await onSending();
  await context.before?.('lookUp', table.localName);
  context.log.info('push.lookUp', {
    table: table.localName,
    rowCount: batches.reduce((sum, { rows }) => sum + rows.length, 0),
  });
  await context.replica.write(`Taking up the batches of ${table.localName}`, (tx) => {
    const ids = batches.flatMap(({ rows }) => rows.map(({ id }) => id));
    moveRows(tx, table.id, ids, { event: 'restarted', at: stampFromMs(context.clock.nowMs()) });
  });
  for (const batch of batches) await settleBatch(run, batch);
}

/** Pushes with the consent of the caller, or with one that a person gave beforehand; that one is used up. */
async function pushWithConsent(
  run: TablePush,
  { confirm, onSending }: Pick<TablePushOrder, 'confirm' | 'onSending'>,
): Promise<RowsyncError | null> {
  const { replica } = run.context;
  const { pushConsent } = readTable(replica, run.table.id);
  const held = await pushRounds(run, { confirm, onSending });
  if (confirm || pushConsent === null) return held;
  await replica.writeDurably('Using up a consent', (tx) => useUpConsent(tx, run.table.id, 'push'));
  return held;
}

/** Plans and sends. Guards let pass what a person looks at, or what has no more rows than are left of those that one agreed to. */
async function pushRounds(
  run: TablePush,
  { confirm, onSending }: Pick<TablePushOrder, 'confirm' | 'onSending'>,
): Promise<RowsyncError | null> {
  await compareInSteps(run.table, stampFromMs(run.context.clock.nowMs()), run.context);
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    await run.context.before?.('plan', run.table.localName);
    const plan = await makePlan(run, { isFirst: round === 1, isLast: round === ROUNDS_MAX });
    if (plan.batches.length === 0) return null;
    const rowCount = plan.batches.reduce((count, { rows }) => count + rows.length, 0);
    const isAgreed = confirm || rowCount <= (readTable(run.context.replica, run.table.id).pushConsent ?? 0);
    const held = judgeSize(run, plan, isAgreed);
    if (held !== null) return held;
    await onSending();
    const stop = await pushBatches(run, plan, isAgreed);
    if (stop !== null) return stop;
  }
  return null;
}

/**
 * The batches of a plan, one after another. Once a batch is answered, it is read back, and the rows of the next one are asked for;
 * where it held plain updates, it is settled when the next one is answered, while the origin reads for us again. At most one batch
 * is in flight and one waits to be settled.
 */
async function pushBatches(run: TablePush, { batches }: TablePlan, confirmed: boolean): Promise<RowsyncError | null> {
  const { replica } = run.context;
  const updates = batches.flatMap(({ rows }) => rows.flatMap(({ id, kind }) => (kind === 'update' ? [id] : [])));
  const past = readPushes(replica, run.table.id, new Set(updates));
  let ahead: Promise<Present> | null = null;
  let settleEarlier: BatchEnd['settle'] = null;
  try {
    for (const [index, batch] of batches.entries()) {
      const present = await (ahead ?? reread(run, batch));
      ahead = null;
      const next = batches[index + 1];
      const onAnswered = (): void => {
        if (next === undefined) return;
        ahead = reread(run, next);
        ahead.catch(() => undefined); // thrown where it is waited for; nobody does if this batch fails
      };
      const end = await pushBatch(run, batch, { present, past, confirmed, onAnswered });
      const earlier: BatchEnd['settle'] = settleEarlier;
      settleEarlier = end.settle;
      if (earlier !== null) {
        await run.context.origin.requestsLeave(); // a batch keeps the event loop busy for longer than the origin reads
        await earlier();
      }
      if (end.isApart) continue;
      settleEarlier = null;
      await end.settle?.();
      if (end.stop !== null) return end.stop;
    }
    const last: BatchEnd['settle'] = settleEarlier;
    settleEarlier = null;
    await last?.();
    return null;
  } finally {
    await settleEarlier?.().catch(() => undefined); // another error is on its way; what was taken is settled all the same
  }
}

async function makePlan(
  run: TablePush,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): Promise<TablePlan> {
  const { context, table } = run;
  const nowMs = context.clock.nowMs();
  const at = stampFromMs(nowMs);
  return context.replica.write(`Planning the push of ${table.localName}`, (tx) => {
    if (isFirst) {
      carryOutWishes(tx, table, at);
      retryDue(tx, table, { nowMs, at });
    }
    const plan = planTable(tx, run.table, {
      at,
      ...planOptions(run),
      planned: run.planned,
    });
    parkUnsendable(tx, run, plan, { nowMs, at });
    Object.assign(run.plan, { version: context.replica.foreignVersion(), isStale: false, isLast });
    return plan;
  });
}

function parkUnsendable(tx: Tx, run: TablePush, plan: TablePlan, { nowMs, at }: { nowMs: number; at: string }): void {
  const { table, counts } = run;
  for (const { id, kind, column, reason, hope = 'never' } of plan.unsendable) {
    storeRefusal(tx, table, { rowId: id, kind, reason, column, words: null, hope, cells: [] }, nowMs);
  }
  const ids = plan.unsendable.map(({ id }) => id);
  moveRows(tx, table.id, ids, { event: 'refused', at });
  counts.refusedCount += ids.length;
}

function judgeSize({ context, table }: TablePush, { batches }: TablePlan, confirmed: boolean): RowsyncError | null {
  const { maxPushRows, maxDeletePercent } = context.settings;
  const rows = batches.flatMap((batch) => batch.rows);
  const deleteCount = rows.filter(({ kind }) => kind === 'delete').length;
  const { rowCount } = readTable(context.replica, table.id);
  const facts = { rowCount, changeCount: rows.length, deleteCount, maxPushRows, maxDeletePercent, confirmed };
  const verdict = judgePush(facts);
  if (verdict.kind === 'go') return null;
  const name = shellWord(table.localName);
  const hint = `Look at rowsync plan ${name}. If it is meant, run rowsync push ${name} --confirm; if not, rowsync discard ${name} --all puts the rows back.`;
  if (verdict.reason === 'deletes') {
    return new RowsyncError('needsPerson', 'guard.pushDeletes', {
      message: `${table.localName}: ${deleteCount} of ${rowCount} rows would be deleted at the origin, more than ${maxDeletePercent} % (safety.maxDeletePercent); nothing was sent`,
      hint,
    });
  }
  return new RowsyncError('needsPerson', 'guard.pushRows', {
    message: `${table.localName}: ${rows.length} rows would be changed at the origin, more than ${maxPushRows} (safety.maxPushRows); nothing was sent`,
    hint,
  });
}

/** Keeps what is wrong with the push of a table where `status` shows it. */
async function noteProblem({ replica }: PushContext, { id }: TwoWayTable, problem: RowsyncError | null): Promise<void> {
  try {
    if (isPushProblemStored(replica, id, problem)) return;
    await replica.write('Storing what stopped a push', (tx) => {
      storePushProblem(tx, id, problem);
    });
  } catch (thrown) {
    // The disk may be full, or the file locked; then the report is the only place.
    if (asRowsyncError(thrown).kind !== 'replica') throw thrown;
  }
}

/**
 * The push of one table: settle unfinished batches, capture, judge the size, send. Its report has errors of the table,
 * which hold up no other. Rows may be edited again meanwhile: so there are up to ROUNDS_MAX rounds.
 */
import { asRowsyncError, RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { countText } from '../base/text.ts';
import { captureChanges } from '../capture/find-edits.ts';
import { carryOutRequests } from '../capture/resolve-conflict.ts';
import { missingColumnsError, type TwoWayTable } from '../capture/two-way-table.ts';
import { retryDue } from '../capture/writer/apply-outcome.ts';
import { heldEdits, judgePush, leftOutError, OLDER_COPY, type PushFacts } from '../reconcile/guards.ts';
import { storeProblem } from '../replica/bookkeeping/table-errors.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import { readTable, storeFacts, type TableRecord } from '../replica/bookkeeping/tables.ts';
import { countEdits, countWaiting } from '../replica/bookkeeping/row-states.ts';
import { type UserDescriptor, hasOption } from '../wire/schema.ts';
import { step, type PushContext, type PushSettings, type TablePush } from './context.ts';
import { ADDS_FORBIDDEN, ADDS_OFF } from '../reconcile/push-plan.ts';
import { TableTally } from './report.ts';
import { pushRound, type Edits } from './round.ts';
import { NO_NEWS, readBackBatch, settleBatch } from './settle.ts';
import { judgeMatch, matchError } from '../reconcile/match-column.ts';
import { columnNames } from '../reconcile/column-selection.ts';
import { describeForPush, watchColumns } from './renamed-columns.ts';
import { readBatches } from '../replica/bookkeeping/batches.ts';
import { pushTable } from './record-batch.ts';

/** Rounds of one table in one push: the first, and two for later changes. */
const ROUNDS_MAX = 3;

/** Why an edit may wait although nothing failed. */
const UNSENT = 'edited again while the push ran, or waiting for another row; the next push sends it';

export interface TablePushOrder {
  /** Asks who is calling, once for all tables. */
  readonly caller: () => Promise<UserDescriptor>;
  /** A person has looked: guards let this push through. */
  readonly confirm: boolean;
  readonly tally: TableTally;
  /** What ended the push before this table's turn; null for nothing. */
  readonly stop: RowsyncError | null;
}

/** Pushes one table; its tally reports errors. @throws RowsyncError of asking who calls, which ends the push. */
export async function pushOneTable(context: PushContext, table: TwoWayTable, order: TablePushOrder): Promise<void> {
  const { clock, replica } = context;
  const { tally } = order;
  const startedMs = clock.monotonicMs();
  let error = order.stop;
  try {
    tally.noteEdits(replica);
    if (error === null && readTable(replica, table.id).state === 'gone') {
      const edits = await captureEdits({ context, table, tally }, false);
      error = judgeEdits(replica, table, edits, { ...context.settings, confirm: false }).held;
    } else if (error === null) {
      requireColumns(context, table);
      const { run, choiceProblem } = await openTable(context, table, order.caller, tally);
      requireWorkflowRight(run, await order.caller());
      await settleEarlier(run, { asks: true });
      if (choiceProblem !== null) throw choiceProblem;
      const { pushConfirmedCount } = readTable(replica, table.id);
      error = await pushRounds(run, order.confirm);
      // A consent that a person gave beforehand is used up.
      if (!order.confirm && pushConfirmedCount !== null)
        await replica.writeDurably('Using a confirmation', (tx) => storeFacts(tx, table.id, { push_consent: null }));
    }
  } catch (thrown) {
    await order.caller();
    error = errorFromReading(thrown, replica.path);
  }
  await noteProblem(context, table, error);
  tally.durationMs += clock.monotonicMs() - startedMs;
  tally.close(replica, error ?? UNSENT);
}

/** @throws RowsyncError `guard.columns` if a pull found that columns vanished. */
function requireColumns({ replica }: PushContext, table: TwoWayTable): void {
  const { missingColumns } = readTable(replica, table.id);
  const missing = table.columns.filter(({ seq }) => missingColumns.includes(seq));
  if (missing.length > 0) throw missingColumnsError(table, missing);
}

/** Settles batches before a pull; without asking if caller or columns changed. @throws RowsyncError. */
export async function finishTable(
  context: PushContext,
  table: TwoWayTable,
  caller: TablePushOrder['caller'],
): Promise<void> {
  try {
    await caller();
    const { run } = await openTable(context, table, caller);
    await settleEarlier(run, { asks: true });
  } catch (thrown) {
    if (!isSettledUnasked(errorFromReading(thrown, context.replica.path))) throw thrown;
    await settleEarlier(openUnasked(context, table), { asks: false });
  }
}

/** Whether batches are settled unasked after this error of opening their table: answers would never prove anything. */
export function isSettledUnasked({ kind, code }: RowsyncError): boolean {
  return kind === 'needsPerson' || kind === 'config' || code === 'push.shape';
}

/** Looks up batches of an earlier push; unless `asks`, without the origin, whose answers would prove nothing. */
async function settleEarlier(run: TablePush, { asks }: { readonly asks: boolean }): Promise<void> {
  const { context, table } = run;
  const batches = readBatches(context.replica, table);
  if (batches.length === 0) return;
  await step(run, 'lookUp');
  const rowCount = batches.reduce((sum, { rows }) => sum + rows.length, 0);
  context.log.info('push.lookUp', { table: table.localName, rowCount });
  for (const batch of batches)
    await settleBatch(run, batch, asks ? await readBackBatch(run, batch, { isAtOnce: false }) : NO_NEWS);
}

/** Captures and sends. Guards pass if a person confirms now, or agreed beforehand to at least as many rows. */
async function pushRounds(run: TablePush, confirm: boolean): Promise<RowsyncError | null> {
  const { context, table } = run;
  const { tally } = run;
  let isFirst = true;
  // Ends: a round that does not count has at least one more request without an answer.
  for (let round = 1; round <= ROUNDS_MAX;) {
    await step(run, 'plan');
    const edits = await captureEdits(run, isFirst);
    isFirst = false;
    const { changeCount, confirmed, held } = judgeEdits(context.replica, table, edits, {
      ...context.settings,
      confirm,
    });
    if (changeCount === 0 || held !== null) return held;
    if (readTable(context.replica, table.id).olderCopy !== null)
      await context.replica.write('Letting edits of an older copy go', (tx) =>
        storeFacts(tx, table.id, { older_copy: null }),
      );
    const failedBefore = tally.unansweredCount;
    const stop = await pushRound(run, { edits, confirmed, isLast: round === ROUNDS_MAX });
    if (stop !== null) return stop;
    if (tally.unansweredCount === failedBefore) round += 1;
  }
  return null;
}

/** The first step of a push and its plan: released rows are tried again, and the marks are made true. */
export function captureForPush(tx: Tx, table: TwoWayTable, nowMs: number): void {
  const at = stampFromMs(nowMs);
  carryOutRequests(tx, table.id, at);
  retryDue(tx, table, { nowMs, at });
  captureChanges(tx, table, at);
}

type CaptureOrder = Pick<TablePush, 'context' | 'table' | 'tally'>;

async function captureEdits({ context, table, tally }: CaptureOrder, isFirst: boolean): Promise<Edits> {
  const nowMs = context.clock.nowMs();
  // Edits are of no run: they were made before this one found them.
  const replica = context.replica.because({ cause: 'push', runId: null });
  return replica.write(`Planning the push of ${table.localName}`, (tx) => {
    if (isFirst) captureForPush(tx, table, nowMs);
    else captureChanges(tx, table, stampFromMs(nowMs));
    tally.endBeginning(tx);
    return countEdits(tx, table);
  });
}

type PushLimits = Pick<PushSettings, 'maxPushRows' | 'maxDeletePercent' | 'tableOptions'>;

/** How many edits there are, whether a person confirmed as many, now or beforehand, and else why they wait for one. */
export function judgeEdits(
  from: Connection,
  table: TwoWayTable,
  edits: Edits,
  { confirm, tableOptions, ...limits }: PushLimits & { readonly confirm: boolean },
): { readonly changeCount: number; readonly confirmed: boolean; readonly held: RowsyncError | null } {
  const record = readTable(from, table.id);
  const changeCount = edits.insert + edits.update + edits.delete;
  const confirmed = confirm || changeCount <= (record.pushConfirmedCount ?? 0);
  const isGone = record.state === 'gone';
  const { waitingCount } = countWaiting(from, table.id); // with those that were sent, and got no answer
  if (waitingCount > 0 && (isGone || tableOptions(table.name) === null))
    return { changeCount, confirmed, held: leftOutError(record.localName, waitingCount, isGone) };
  const facts = { ...limits, rowCount: record.rowCount, changeCount, deleteCount: edits.delete };
  return { changeCount, confirmed, held: confirmed ? null : holdOf(record, facts) };
}

function holdOf(table: TableRecord, push: PushFacts): RowsyncError | null {
  if (table.olderCopy !== null) return heldEdits(table, 'guard.olderCopy', OLDER_COPY);
  const reason = judgePush(push);
  if (reason === null) return null;
  if (reason === 'deletes') {
    const words = `${countText(push.deleteCount)} of ${countText(push.rowCount)} rows would be deleted at the origin, more than ${push.maxDeletePercent} % (safety.maxDeletePercent); nothing was sent`;
    return heldEdits(table, 'guard.pushDeletes', words);
  }
  const words = `${countText(push.changeCount)} rows would be changed at the origin, more than ${countText(push.maxPushRows)} (safety.maxPushRows); nothing was sent`;
  return heldEdits(table, 'guard.pushRows', words);
}

/** Stores the problem of a table's push, so that `status` shows it. */
async function noteProblem({ replica }: PushContext, { id }: TwoWayTable, problem: RowsyncError | null): Promise<void> {
  try {
    const { pushCode, problemCode, state } = readTable(replica, id);
    // The hold of a pull is stored as the pull's.
    const own = problem?.code === 'guard.pending' && problemCode === 'guard.pending' ? null : problem;
    // The account has its own problem of a table that is gone.
    if (state === 'gone' || (own === null && pushCode === null)) return;
    await replica.write('Storing what stopped a push', (tx) => storeProblem(tx, id, 'push', own));
  } catch (thrown) {
    // The disk may be full, or the file locked; then the report is the only place.
    if (asRowsyncError(thrown).kind !== 'replica') throw thrown;
  }
}

/** Opens a table from the bookkeeping alone; enough to settle without asking the origin. */
export function openUnasked(context: PushContext, table: TwoWayTable, tally = new TableTally(table)): TablePush {
  const { name, alias, pageRows } = readTable(context.replica, table.id);
  const address = { name, alias };
  return {
    context,
    table,
    address,
    names: table.columns.map((column) => column.name),
    pageRows: pageRows ?? undefined,
    planned: pushTable(table),
    options: context.settings.tableOptions(table.name) ?? { conflict: 'ask', workflow: 'run' },
    zone: 'UTC',
    requireShape: watchColumns(context, table, address),
    tally,
  };
}

/** Opens a table as it is described now; `choiceProblem` stops new edits. @throws RowsyncError `push.shape`, … */
async function openTable(
  context: PushContext,
  table: TwoWayTable,
  caller: TablePushOrder['caller'],
  tally?: TableTally,
): Promise<{ readonly run: TablePush; readonly choiceProblem: RowsyncError | null }> {
  await context.before?.('describe', table.localName);
  const unasked = openUnasked(context, table, tally);
  const { address } = unasked;
  const answers = [caller(), describeForPush(context, table, address)] as const;
  await Promise.allSettled(answers); // if one fails, the other is not left under way
  const [{ timezone: zone }, { descriptor, choiceProblem }] = await Promise.all(answers);
  const verdict = judgeMatch(descriptor, table.matchColumn);
  if (table.matchColumn !== null && verdict.column === null) {
    throw matchError(address.name, table.matchColumn, verdict);
  }
  const asksByName = descriptor.asksByName === true || (context.settings.columns?.(table.name) ?? null) !== null;
  const forbidden = descriptor.allowAdd ? null : ADDS_FORBIDDEN;
  const addRefusal = unasked.options.inserts === false ? ADDS_OFF : forbidden;
  const run = {
    ...unasked,
    // The configuration may omit some columns that are new here.
    names: asksByName ? unasked.names : columnNames(descriptor),
    planned: { ...unasked.planned, addRefusal },
    zone,
  };
  return { run, choiceProblem };
}

/** Makes sure that the calling user may send as the configuration says. @throws RowsyncError `push.workflow`. */
function requireWorkflowRight({ table, options }: TablePush, caller: UserDescriptor): void {
  if (options.workflow !== 'suppress' || hasOption(caller.admin, 'ManageData')) return;
  throw new RowsyncError('config', 'push.workflow', {
    message: `tables.${table.name}.workflow is suppress, which needs the permission ManageData; the calling user does not have it`,
    hint: 'Give the user that permission in the setup of the database, or set workflow: run. Nothing was sent.',
  });
}

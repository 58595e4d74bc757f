/**
 * Settles the rows of a batch once the origin was asked about them (read-back.ts). One transaction applies the state table to each row
 * (reconcile/row-state.ts), and removes the batch. Called after sending, and at the start of a push or a pull for batches of an earlier push (I13).
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import { applyOutcome, readRowFacts } from '../capture/writer/apply-outcome.ts';
import type { RowOutcome } from '../reconcile/row-outcome.ts';
import {
  decideMergedInto,
  decideSettled,
  isTaken,
  otherIdOf,
  settledRow,
  type SettledRow,
} from '../reconcile/push-settle.ts';
import { baseTarget, readVersions } from '../replica/base-comparison.ts';
import { countBatch, publishCount } from '../replica/older-copy.ts';
import type { Tx } from '../replica/connection.ts';
import { withReplicaErrors } from '../replica/sqlite-errors.ts';
import { storeUploadedFile } from '../replica/bookkeeping/files.ts';
import { storeUnreadable } from '../replica/bookkeeping/unreadable-rows.ts';
import { readRowsById } from '../replica/rows.ts';
import { newsOf, type Findings } from './read-back.ts';
import { noteNewIds, step, type TablePush } from './context.ts';
import { type Batch, updateBatch } from '../replica/bookkeeping/batches.ts';

export async function settleBatch(run: TablePush, batch: Batch, findings: Findings): Promise<void> {
  const { context, table } = run;
  await step(run, 'settle');
  const { replica, origin } = context;
  await origin.requestsLeave(); // the next batch, before settling keeps the event loop busy
  const what = `Settling a batch of ${table.localName}`;
  if (!batch.rows.some(({ kind }) => kind === 'insert')) {
    await replica.write(what, (tx) => settleRows(tx, run, batch, findings));
    return;
  }
  // From now on its new rows may get other match values: a copy in which they are on their way is an older one.
  await replica.writeDurably(what, (tx) => {
    settleRows(tx, run, batch, findings);
    countBatch(tx);
  });
  withReplicaErrors(`Noting beside ${replica.path} what was settled`, () => publishCount(replica));
}

function settleRows(tx: Tx, run: TablePush, batch: Batch, findings: Findings): void {
  const { context, table } = run;
  const nowMs = context.clock.nowMs();
  const { columns } = table;
  const { limits } = run.progress;
  const rules = { columns, policy: run.options.conflict, match: run.planned.match, limits };
  const settled = batch.rows.map((row) => settledRow(row, newsOf(findings, row)));
  const otherIds = settled.flatMap((one) => otherIdOf(one) ?? []);
  const known = new Set(readRowsById(tx, baseTarget(table), otherIds).map(({ id }) => id));
  // A row that the origin merged into another one comes last, when that one is known here.
  const merged: SettledRow[] = [];
  const own = settled.filter((one) => {
    const otherId = otherIdOf(one);
    if (otherId === null) return true;
    const isFirst = !known.has(otherId);
    known.add(otherId);
    if (!isFirst) merged.push(one);
    return isFirst;
  });
  // If rows that failed before failed again, the others wait for the next round.
  run.progress.isNarrowing ||= batch.rows.some(({ id, unanswered }) => unanswered !== undefined && limits.has(id));
  const ownIds = own.map(({ row }) => row.id);
  const versions = readVersions(tx, table, ownIds, batch.bases);
  const outcomes = readRowFacts(tx, table, ownIds, versions).map((facts, index) => {
    const { outcome, limit } = decideSettled(facts, must(own[index], 'facts come in order'), rules);
    if (limit !== null) limits.set(outcome.id, limit);
    return outcome;
  });
  carryOut(tx, run, outcomes, batch.bases);
  for (const one of merged) {
    const otherId = must(otherIdOf(one), 'it is another row');
    const [row, other] = readRowFacts(tx, table, [one.row.id, otherId]);
    carryOut(tx, run, decideMergedInto({ row: must(row, 'facts'), other: must(other, 'facts') }, one, rules));
    noteNewIds(run, [{ id: one.row.id, newId: otherId }]);
  }
  count(run, settled);
  const ids = new Set(
    settled.flatMap(({ news, settlement }) => (settlement === 'merge' ? (news.remote?.id ?? []) : [])),
  );
  for (const shown of findings.shown) {
    if (ids.has(shown.rowId)) storeUploadedFile(tx, shown.column, shown, stampFromMs(nowMs));
  }
  const unreadable = settled.flatMap(({ news }) => news.unreadable ?? []);
  storeUnreadable(tx, table.id, { ids: [], unreadable }, stampFromMs(nowMs));
  updateBatch(tx, table, batch.id, []);
}

function carryOut(tx: Tx, run: TablePush, outcomes: readonly RowOutcome[], known?: Batch['bases']): void {
  const {
    context,
    table,
    progress: { counts },
  } = run;
  applyOutcome(tx, table, { outcomes, nowMs: context.clock.nowMs(), known });
  noteNewIds(run, outcomes);
  for (const { conflicts, state, refusal } of outcomes) {
    counts.conflictCount += conflicts.length;
    if (typeof refusal !== 'object' || refusal === null) continue;
    if (state === 'inDoubt') counts.inDoubtCount += 1;
    else counts.refusedCount += 1;
  }
}

function count({ table, progress: { counts } }: TablePush, settled: readonly SettledRow[]): void {
  for (const { row } of settled.filter((one) => isTaken(one, table.columns))) {
    // A new row that was merged into one of the origin is none there.
    if (row.kind === 'insert' && row.answer?.as !== 'matched') counts.insertedCount += 1;
    else if (row.kind !== 'delete') counts.updatedCount += 1;
    else counts.deletedCount += 1;
  }
}

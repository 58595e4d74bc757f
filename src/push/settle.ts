/**
 * Settles the rows of a batch once the origin was asked about them (ask.ts). One transaction applies the state table to each row
 * (reconcile/row-state.ts), and removes the batch. Called after sending, and at the start of a push or a pull for batches of an earlier push (I13).
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import { updateBatch, type Batch, type BatchRow } from '../capture/batches.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { apply, readFacts } from '../capture/writer/apply.ts';
import {
  decideMoved,
  decideRemote,
  discardedLines,
  lineOf,
  type OpenQuestion,
  type Refusal,
  type RowFacts,
  type RowOutcome,
} from '../reconcile/outcome.ts';
import { baseAfterAnswer, baseAsSent, isApplied, isLeftAsSent, overwrittenCells } from '../reconcile/push-settle.ts';
import { nextRowState, settlementOf, type Settlement } from '../reconcile/row-state.ts';
import { afterUnanswered, unansweredHope } from '../reconcile/unanswered.ts';
import { baseTarget } from '../replica/compare.ts';
import { countBatch, publishCount } from '../replica/copies.ts';
import type { Tx } from '../replica/connection.ts';
import { replicaError } from '../replica/failures.ts';
import { storeUploadedFile } from '../replica/bookkeeping/files.ts';
import { readRowsById } from '../replica/rows.ts';
import type { Row } from '../wire/schema.ts';
import { askAbout, newsOf, NO_NEWS, type Findings } from './ask.ts';
import { noteNewIds, step, type RowNews, type TablePush } from './context.ts';

/** Asks about the rows of an unfinished batch of an earlier push, and settles them. @throws RowsyncError of the origin. */
export async function settleBatch(run: TablePush, batch: Batch): Promise<void> {
  await settleFound(run, batch, await askAbout(run, batch, { isAtOnce: false }));
}

/** Settles a batch that another caller sent: answers to the present caller prove nothing about it, so the origin is not asked. */
export async function settleUnasked(run: TablePush, batch: Batch): Promise<void> {
  await settleFound(run, batch, NO_NEWS);
}

/** Settles the rows of a batch. */
export async function settleFound(run: TablePush, batch: Batch, findings: Findings): Promise<void> {
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
  try {
    publishCount(replica);
  } catch (thrown) {
    throw replicaError(thrown, `Noting beside ${replica.path} what was settled`);
  }
}

/** A row with its finding and its settlement. */
interface Settled {
  readonly row: BatchRow;
  readonly news: RowNews;
  readonly settlement: Settlement;
}

function settleRows(tx: Tx, run: TablePush, batch: Batch, findings: Findings): void {
  const { context, table } = run;
  const nowMs = context.clock.nowMs();
  const settled = batch.rows.map((row): Settled => {
    const news = newsOf(findings, row);
    return { row, news, settlement: settlementOf(row.kind, row.answer?.as ?? 'lost', news.finding) };
  });
  const otherIds = settled.flatMap((one) => otherIdOf(one) ?? []);
  const known = new Set(readRowsById(tx, baseTarget(table), otherIds).map(({ id }) => id));
  // A row that the origin merged into another one comes last, when that one is known here.
  const merged: Settled[] = [];
  const own = settled.filter((one) => {
    const otherId = otherIdOf(one);
    if (otherId === null) return true;
    const isFirst = !known.has(otherId);
    known.add(otherId);
    if (!isFirst) merged.push(one);
    return isFirst;
  });
  noteFailed(run, batch.rows);
  const facts = readFacts(
    tx,
    table,
    own.map(({ row }) => row.id),
  );
  carryOut(
    tx,
    run,
    facts.map((one, index) => decideSettled(run, one, must(own[index], 'facts come in order'))),
  );
  for (const one of merged) {
    const otherId = must(otherIdOf(one), 'it is another row');
    const [row, other] = readFacts(tx, table, [one.row.id, otherId]);
    carryOut(tx, run, decideMergedInto(run, one, { row: must(row, 'facts'), other: must(other, 'facts') }));
    noteNewIds(run, [{ id: one.row.id, newId: otherId }]);
  }
  count(run, settled);
  const ids = new Set(
    settled.flatMap(({ news, settlement }) => (settlement === 'merge' ? (news.remote?.id ?? []) : [])),
  );
  for (const shown of findings.shown) {
    if (ids.has(shown.rowId)) storeUploadedFile(tx, shown.column, shown, stampFromMs(nowMs));
  }
  updateBatch(tx, table, batch.id, []);
}

/** Writes outcomes, and counts what a report says of them. */
function carryOut(tx: Tx, run: TablePush, outcomes: readonly RowOutcome[]): void {
  const {
    context,
    table,
    progress: { counts },
  } = run;
  apply(tx, table, { outcomes, nowMs: context.clock.nowMs() });
  noteNewIds(run, outcomes);
  for (const { conflicts, state, refusal } of outcomes) {
    counts.conflictCount += conflicts.length;
    if (typeof refusal !== 'object' || refusal === null) continue;
    if (state === 'inDoubt') counts.inDoubtCount += 1;
    else counts.refusedCount += 1;
  }
}

/** The origin's id of a row that has one of ours; null if it is the same. */
function otherIdOf({ row, news, settlement }: Settled): number | null {
  const isTaken = settlement === 'merge' || settlement === 'asSent';
  const id = settlement === 'merge' ? news.remote?.id : row.answer?.id;
  return isTaken && id !== undefined && id !== row.id ? id : null;
}

/** What becomes of a row. */
function decideSettled(run: TablePush, facts: RowFacts, settled: Settled): RowOutcome {
  const { row, settlement } = settled;
  switch (settlement) {
    case 'again':
      return afterFailure(run, facts, row, decideMoved(facts, 'notApplied'));
    case 'refuse':
      return isLeftAsSent({ ...facts, sent: row.cells }, row.kind, run.table.columns)
        ? decideMoved(facts, 'refused', refusalOf(row))
        : decideMoved(facts, 'notApplied');
    case 'doubt':
      return decideMoved(facts, 'doubted', doubtOf(settled));
    default:
      return afterFailure(run, facts, row, decideTaken(run, facts, settled));
  }
}

/** Merges a row with the origin's, or as it was sent, or as gone. */
function decideTaken({ table, options, planned }: TablePush, facts: RowFacts, settled: Settled): RowOutcome {
  const { row, news } = settled;
  const { columns } = table;
  const { base, remote } = remoteAndBase(table, settled, facts);
  const rules = { columns, policy: options.conflict, isSent: true, reason: 'not returned by the origin after a push' };
  const outcome = decideRemote({ ...facts, base }, remote, rules);
  // A row with the match value appeared right before the upsert, which overwrote it. Its values were never read, so only this is said.
  const met = row.answer?.as === 'matched' ? row.cells.filter(({ column }) => column === planned.match) : [];
  const lines = met.map(({ column, value }) =>
    lineOf({ kind: 'cell', column, base: null, local: value, remote: value, winner: 'local' }),
  );
  const hasArrived = row.unanswered === undefined || isThere(table, row, news);
  const suspect = outcome.newId === row.id ? (row.id > 0 ? 'changed' : null) : 'new';
  const conflicts = [...outcome.conflicts, ...lines];
  return { ...outcome, conflicts, refusal: hasArrived ? 'forget' : null, suspect };
}

/** The origin's version for the merge of a row. */
function remoteAndBase(
  { columns }: TwoWayTable,
  { row, news, settlement }: Settled,
  { base, local }: Pick<RowFacts, 'base' | 'local'>,
): { readonly base: Row | null; readonly remote: Row | null } {
  const { id, kind, cells, answer } = row;
  // A row that was deleted as requested: if it is here, a user inserted it since, as a new one.
  if (settlement === 'gone') return { base: kind === 'delete' ? null : base, remote: null };
  const sent = { base, sent: cells };
  const remote = settlement === 'merge' ? news.remote : baseAsSent(sent, answer?.id ?? id, columns.length);
  const isAccepted = answer?.as === 'accepted' || answer?.as === 'matched';
  const there = must(remote, 'a row is merged with what the origin says of it');
  const facts = { columns, isAccepted, arrived: news.arrived };
  return { base: baseAfterAnswer(sent, { local, remote: there }, facts), remote: there };
}

/**
 * The origin merged a new row into a known one, because a colleague gave that one its match value a moment before, or the origin takes both values for
 * one. What it overwrote there is kept as conflicts; the new row is removed, and kept if it is not as it was sent.
 */
function decideMergedInto(
  { table: { columns }, options, planned }: TablePush,
  { row: { kind, cells }, news, settlement }: Settled,
  facts: { readonly row: RowFacts; readonly other: RowFacts },
): readonly RowOutcome[] {
  const known = must(facts.other.base, 'it is known');
  const rules = { columns, policy: options.conflict, reason: '' };
  const asSent = baseAsSent({ base: known, sent: cells }, known.id, columns.length);
  const there = settlement === 'merge' ? must(news.remote, 'it was read back') : asSent;
  const others = cells.filter(({ column }) => column !== planned.match);
  const overwritten = overwrittenCells(known, others, columns).map(lineOf);
  const isAnswered = ({ column }: OpenQuestion): boolean => overwritten.some((line) => line.column === column);
  const open = facts.other.questions.filter((question) => !isAnswered(question));
  const taken = decideRemote({ ...facts.other, questions: open }, there, { ...rules, isSent: false });
  const isKept = !isLeftAsSent({ ...facts.row, sent: cells }, kind, columns);
  const gone = decideRemote({ ...facts.row, base: null, local: null }, null, { ...rules, isSent: true });
  return [
    {
      ...taken,
      conflicts: [...overwritten, ...taken.conflicts],
      closed: [...taken.closed, ...facts.other.questions.filter(isAnswered).map(({ id }) => id)],
    },
    { ...gone, conflicts: isKept ? discardedLines({ base: null, local: facts.row.local }, []) : [], refusal: 'forget' },
  ];
}

/** Whether the origin holds all that was sent of a row. */
function isThere({ columns }: TwoWayTable, { cells }: BatchRow, { remote, arrived }: RowNews): boolean {
  return remote !== null && isApplied(cells, remote, columns, arrived);
}

/** If rows that failed before failed again, the others wait for the next round. */
function noteFailed({ progress }: TablePush, rows: readonly BatchRow[]): void {
  progress.isNarrowing ||= rows.some(({ id, unanswered }) => unanswered !== undefined && progress.limits.has(id));
}

/** A row that certainly did not arrive leaves in a smaller request; one that fails alone, again, is parked. */
function afterFailure({ table, progress }: TablePush, facts: RowFacts, row: BatchRow, outcome: RowOutcome): RowOutcome {
  const { id, kind, cells, unanswered } = row;
  if (unanswered === undefined || outcome.state !== 'edited') return outcome;
  const { rowCount, words } = unanswered;
  const next = afterUnanswered(rowCount, progress.limits.get(id) ?? null);
  if (next !== 'park') {
    progress.limits.set(id, next);
    return outcome;
  }
  const base = outcome.base === 'same' ? facts.base : outcome.base;
  const local = outcome.local === 'same' ? facts.local : outcome.local === 'base' ? base : outcome.local;
  if (!isLeftAsSent({ base, local, sent: cells }, kind, table.columns)) return outcome;
  const reason = `sent alone, it got no answer about it: ${words.message}`;
  const refusal = { kind, reason, column: null, words, hope: unansweredHope(words.status), cells };
  return { ...outcome, state: nextRowState(outcome.state, 'refused'), refusal };
}

/** Counts accepted rows. */
function count({ table, progress: { counts } }: TablePush, settled: readonly Settled[]): void {
  const taken = settled.filter(({ row, news, settlement }) => {
    if (row.answer?.as === 'accepted' || row.answer?.as === 'matched') return true;
    if (settlement === 'gone') return row.kind === 'delete';
    return settlement === 'merge' && isThere(table, row, news);
  });
  for (const { row } of taken) {
    // A new row that was merged into one of the origin is none there.
    if (row.kind === 'insert' && row.answer?.as !== 'matched') counts.insertedCount += 1;
    else if (row.kind !== 'delete') counts.updatedCount += 1;
    else counts.deletedCount += 1;
  }
}

/** Why a row waits that was not accepted. */
function refusalOf({ kind, cells, answer }: BatchRow): Refusal {
  const words = answer?.refusal ?? null;
  const reason = words?.message ?? 'the origin says that it has no such row, and returns it nevertheless';
  return { kind, reason, column: null, words, hope: answer?.as === 'failed' ? 'soon' : 'later', cells };
}

/** Why a row waits that the origin may or may not have. */
function doubtOf({ row: { kind, cells, answer, unanswered }, news }: Settled): Refusal {
  const words = unanswered?.words ?? null;
  const said = answer?.as === 'failed' ? 'the origin failed' : 'no answer came';
  const came = words === null ? '' : ` (${words.message})`;
  const why =
    news.finding === 'other' && kind === 'insert'
      ? `row ${must(news.remote, 'another row was found').id} has its match value, but not all that was sent`
      : (news.why ?? 'nothing at the origin proves that it was taken, or was not');
  const reason = `${said} when it was sent${came}, and ${why}; look there, then retry or discard it`;
  return { kind, reason, column: null, words, hope: 'never', cells };
}

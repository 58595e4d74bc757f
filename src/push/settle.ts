/**
 * The end of a batch: the origin is asked about its rows, and one transaction settles them. It comes after sending; for
 * batches of an earlier push, at the start of a push or pull (I13). Accepted rows are read back; those with a lost
 * answer are looked up once, by id or match value. One finding of the state table (reconcile/row-state.ts) is applied
 * to each row.
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
import { applyOutcome, readRowFacts } from '../capture/writer/apply-outcome.ts';
import { storeTaken } from '../capture/writer/store-origin-rows.ts';
import { readOpenQuestions } from '../replica/bookkeeping/conflicts.ts';
import type { RowOutcome } from '../reconcile/row-outcome.ts';
import {
  decideMergedInto,
  decideSettled,
  isApplied,
  isTaken,
  otherIdOf,
  settledRow,
  takenAsSent,
  type BatchRow,
  type RowNews,
  type SettledRow,
} from '../reconcile/push-settle.ts';
import { isUndone, rowsMaxAfter } from '../reconcile/push-answer.ts';
import { isAsAccepted } from '../reconcile/renamed-columns.ts';
import { baseTarget, readAsSent } from '../replica/base-comparison.ts';
import { countBatch, publishCount } from '../replica/older-copy.ts';
import type { Tx } from '../replica/connection.ts';
import { withReplicaErrors } from '../replica/sqlite-errors.ts';
import { storeUploadedFile } from '../replica/bookkeeping/files.ts';
import { storeUnreadable } from '../replica/bookkeeping/unreadable-rows.ts';
import { readRowsById } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { lookAtFiles, type ShownFile } from './attached-files.ts';
import { step, type TablePush } from './context.ts';
import { findById, findByMatch, isSameCaller, wasUnknownRowDeleted, type FoundRows, type Holder } from './find-rows.ts';
import { type Batch, updateBatch } from '../replica/bookkeeping/batches.ts';

/** The origin's answers about the rows of a batch. */
export interface Findings {
  /** By the id here; a row without an entry cannot be looked up. */
  readonly news: ReadonlyMap<number, RowNews>;
  /** Cells that show a file that we uploaded, whose content is in the file store. */
  readonly shown: readonly ShownFile[];
}

/** The answers without asking, as after another caller: none. */
export const NO_NEWS: Findings = { news: new Map(), shown: [] };

/** A row about which nothing is known. */
const UNCLEAR: RowNews = { finding: 'unclear', remote: null, arrived: new Set() };

/** The finding about a row. If a file of an update cannot be looked up, it may have arrived: it is not sent twice. */
function newsOf({ news }: Findings, { id, kind, cells, answer }: BatchRow): RowNews {
  const known = news.get(id) ?? UNCLEAR;
  const isOpen = kind === 'update' && answer === null && cells.some(({ file }) => file !== undefined);
  return isOpen && known.finding === 'unclear' ? { ...known, finding: 'other' } : known;
}

/** Asks about the rows of a batch; `isAtOnce`: right after its answer. @throws RowsyncError of the origin, `push.…`. */
export async function readBackBatch(
  run: TablePush,
  sent: Batch,
  { isAtOnce }: { readonly isAtOnce: boolean },
): Promise<Findings> {
  await step(run, 'readBack');
  const batch = { ...sent, rows: sent.rows.filter((row) => !isUndone(row)) };
  const ids = batch.rows.flatMap((row) => originIdOf(row) ?? []);
  const values = batch.rows.flatMap((row) => lostMatchOf(run, batch, row) ?? []);
  const [found, holders] = await Promise.all([findById(run, ids), findByMatch(run, values, true)]);
  const news = new Map(
    batch.rows.map((row) => [row.id, newsOfRow(row, lostMatchOf(run, batch, row), { found, holders })]),
  );
  const isAnyAbsent = batch.rows.some(
    ({ id, answer }) => news.get(id)?.finding === 'absent' && answer?.as !== 'accepted' && answer?.as !== 'matched',
  );
  // A row that another caller does not see may exist.
  const isHidden = isAnyAbsent && !(await isSameCaller(run));
  if (isHidden) for (const [id, { finding }] of news) if (finding === 'absent') news.set(id, UNCLEAR);
  await suspectDeleted(run, batch, news);
  await requireShapeAsSent(run, batch, news);
  const shown = await lookAtFiles(run, batch, { news, isAtOnce });
  for (const row of batch.rows) news.set(row.id, judgeLostInsert(run, batch, row, news.get(row.id) ?? UNCLEAR));
  return { news, shown };
}

/** No sent row may differ only because columns changed names; after a lost answer, any may. @throws `push.shape`. */
async function requireShapeAsSent(
  { context, table, requireShape }: TablePush,
  { rows, bases }: Batch,
  news: ReadonlyMap<number, RowNews>,
): Promise<void> {
  const ids = rows.flatMap(({ id, kind }) => (kind === 'update' ? [id] : []));
  const known = bases ?? readRowsById(context.replica, baseTarget(table), ids);
  const isPlain = rows.every(({ id, kind, cells, answer }) => {
    const remote = news.get(id)?.remote ?? null;
    if (remote === null) return true;
    const base = known.get(id) ?? null;
    return answer?.as === 'accepted' && isAsAccepted(table.columns, remote, { kind, base, cells });
  });
  if (!isPlain) await requireShape();
}

/** A lost insert that is not there, but may have been deleted since, must not be created again. */
async function suspectDeleted(run: TablePush, batch: Batch, news: Map<number, RowNews>): Promise<void> {
  const lost = batch.rows.filter(
    (row) => news.get(row.id)?.finding === 'absent' && lostMatchOf(run, batch, row) !== null,
  );
  if (lost.length === 0 || !(await wasUnknownRowDeleted(run, batch.sentAt))) return;
  const why = 'no row there has its match value, but a row that was never here was deleted there since';
  for (const { id } of lost) news.set(id, { ...UNCLEAR, why });
}

/** The id for looking up a row; null if it has none, or was deleted as requested. */
function originIdOf({ id, kind, answer }: BatchRow): number | null {
  if (kind === 'delete') return answer?.as === 'accepted' ? null : id;
  if (kind === 'update') return id;
  return answer?.id ?? null;
}

/** The match value by which an upsert without an answer is looked up; null for every other row. */
function lostMatchOf({ planned }: TablePush, { method }: Batch, row: BatchRow): Value {
  if (method !== 'upsert' || row.kind !== 'insert' || originIdOf(row) !== null) return null;
  return row.cells.find(({ column }) => column === planned.match)?.value ?? null;
}

function newsOfRow(
  row: BatchRow,
  matchValue: Value,
  { found, holders }: { readonly found: FoundRows; readonly holders: ReadonlyMap<Value, Holder> },
): RowNews {
  const id = originIdOf(row);
  if (id !== null) {
    const unreadable = found.unreadable.get(id);
    return { ...UNCLEAR, ...(unreadable === undefined ? presence(found.byId.get(id)) : { unreadable }) };
  }
  if (row.kind !== 'insert') return { ...UNCLEAR, ...presence(undefined) };
  const holder = matchValue === null ? 'unclear' : holders.get(matchValue);
  return holder === 'unclear' || holder === 'refused' ? UNCLEAR : { ...UNCLEAR, ...presence(holder) };
}

function presence(remote: Row | undefined): Pick<RowNews, 'finding' | 'remote'> {
  return remote === undefined ? { finding: 'absent', remote: null } : { finding: 'there', remote };
}

/** The row with the match value of a lost insert is its result if it holds all sent values, and is unknown here. */
function judgeLostInsert(run: TablePush, batch: Batch, row: BatchRow, news: RowNews): RowNews {
  const { finding, remote, arrived } = news;
  if (lostMatchOf(run, batch, row) === null || finding !== 'there' || remote === null) return news;
  const { context, table } = run;
  const isKnown = readRowsById(context.replica, baseTarget(table), [remote.id]).size > 0;
  const isOurs = !isKnown && isApplied(row.cells, remote, table.columns, arrived);
  return isOurs ? news : { ...news, finding: 'other' };
}

export async function settleBatch(run: TablePush, batch: Batch, findings: Findings): Promise<void> {
  const { context, table } = run;
  await step(run, 'settle');
  const { replica, origin } = context;
  await origin.requestsLeave(); // the next batch, before settling keeps the event loop busy
  const what = `Settling a batch of ${table.localName}`;
  if (!batch.rows.some(({ kind, answer }) => kind === 'insert' && answer?.as !== 'unsent')) {
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
  const { context, table, tally } = run;
  const { limits } = tally;
  const rules = { columns: table.columns, policy: run.options.conflict, match: run.planned.match, limits };
  const settled = batch.rows.map((row) => settledRow(row, newsOf(findings, row)));
  const { own, merged } = partMerged(tx, table, settleTaken(tx, run, batch, settled));
  // If rows that failed before failed again, the others wait for the next round.
  tally.isNarrowing ||= batch.rows.some(({ id, unanswered }) => unanswered !== undefined && limits.has(id));
  const outcomes = readRowFacts(tx, table, [...own.keys()]).map((facts) =>
    decideSettled(facts, must(own.get(facts.id), 'facts are of these rows'), rules),
  );
  for (const { id, state } of outcomes) {
    const unanswered = own.get(id)?.row.unanswered;
    if (unanswered !== undefined && state === 'edited') limits.set(id, rowsMaxAfter(unanswered.rowCount));
  }
  carryOut(tx, run, outcomes);
  for (const one of merged) {
    const otherId = must(otherIdOf(one), 'it is another row');
    const [row, other] = readRowFacts(tx, table, [one.row.id, otherId]);
    carryOut(tx, run, decideMergedInto({ row: must(row, 'facts'), other: must(other, 'facts') }, one, rules));
    tally.noteNewIds([{ id: one.row.id, newId: otherId }]);
  }
  count(run, settled);
  storeFound(tx, table, { settled, shown: findings.shown, at: stampFromMs(context.clock.nowMs()) });
  updateBatch(tx, table, batch.id, []);
}

/** Rows by ids here; `merged`, settled last, are those that the origin merged into another row known by then. */
function partMerged(
  tx: Tx,
  table: TwoWayTable,
  settled: readonly SettledRow[],
): { readonly own: ReadonlyMap<number, SettledRow>; readonly merged: readonly SettledRow[] } {
  const otherIds = settled.flatMap((one) => otherIdOf(one) ?? []);
  const known = new Set(readRowsById(tx, baseTarget(table), otherIds).keys());
  const own = new Map<number, SettledRow>();
  const merged: SettledRow[] = [];
  for (const one of settled) {
    const otherId = otherIdOf(one);
    if (otherId !== null && known.has(otherId)) merged.push(one);
    else own.set(one.row.id, one);
    if (otherId !== null) known.add(otherId);
  }
  return { own, merged };
}

/** Stores what the origin was seen to have beside values: files of ours, and rows that cannot be read. */
function storeFound(
  tx: Tx,
  table: TwoWayTable,
  { settled, shown, at }: Pick<Findings, 'shown'> & { readonly settled: readonly SettledRow[]; readonly at: string },
): void {
  const ids = new Set(
    settled.flatMap(({ news, settlement }) => (settlement === 'merge' ? (news.remote?.id ?? []) : [])),
  );
  for (const file of shown) if (ids.has(file.rowId)) storeUploadedFile(tx, file.column, file, at);
  const unreadable = settled.flatMap(({ news }) => news.unreadable ?? []);
  if (unreadable.length > 0) storeUnreadable(tx, table.id, { ids: [], unreadable }, at);
}

/** Settles rows that are here as the origin took them, nearly all, with one statement a table; returns the others. */
function settleTaken(
  tx: Tx,
  { table, context }: TablePush,
  { bases }: Batch,
  settled: readonly SettledRow[],
): readonly SettledRow[] {
  if (bases === undefined) return settled;
  const plain = settled.flatMap((one) => {
    const remote = takenAsSent(one);
    return remote === null ? [] : [{ row: one.row, remote }];
  });
  const plainRows = plain.map(({ row }) => row);
  const asSent = readAsSent(tx, table, plainRows);
  const questions = readOpenQuestions(tx, table, asSent.ids);
  const taken = new Set(asSent.ids.filter((id) => !questions.has(id)));
  const rows = plain.flatMap(({ row, remote }) => (taken.has(row.id) ? [remote] : []));
  storeTaken(tx, table, rows, { at: stampFromMs(context.clock.nowMs()), known: bases, sent: asSent.columns });
  return settled.filter(({ row }) => !taken.has(row.id));
}

function carryOut(tx: Tx, run: TablePush, outcomes: readonly RowOutcome[]): void {
  const { counts } = run.tally;
  applyOutcome(tx, run.table, { outcomes, nowMs: run.context.clock.nowMs() });
  run.tally.noteNewIds(outcomes);
  for (const { conflicts, state, refusal } of outcomes) {
    counts.conflictCount += conflicts.length;
    if (typeof refusal !== 'object' || refusal === null) continue;
    if (state === 'inDoubt') counts.inDoubtCount += 1;
    else counts.refusedCount += 1;
  }
}

/** Counts rows in their order: a refused one may be taken once others are. */
function count({ table, tally }: TablePush, settled: readonly SettledRow[]): void {
  const { counts } = tally;
  for (const one of settled) {
    const { row } = one;
    if (row.answer?.as === 'refused') tally.noteRefused(row.id);
    if (!isTaken(one, table.columns)) continue;
    tally.push.takenCount += 1;
    // A new row that was merged into an existing one is not an insert at the origin.
    if (row.kind === 'insert' && row.answer?.as !== 'matched') counts.insertedCount += 1;
    else if (row.kind !== 'delete') counts.updatedCount += 1;
    else counts.deletedCount += 1;
  }
}

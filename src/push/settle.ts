/**
 * Settles the rows of a batch once the origin was asked about them (ask.ts). One transaction applies the state table to each row
 * (reconcile/row-state.ts), and removes the batch. Called after sending, and at the start of a push or a pull for batches of an earlier push (I13).
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import { updateBatch, type Batch, type BatchRow } from '../capture/batches.ts';
import { makeRoom, readVersions } from '../capture/changes.ts';
import { storeConflicts, storeDiscarded } from '../capture/conflicts.ts';
import { moveRows, readRowStates } from '../capture/marks.ts';
import { mergeRows, storeRemoteRows, type MergedRow, type RowToMerge } from '../capture/merge.ts';
import { forgetRefusals } from '../replica/bookkeeping/refusals.ts';
import { storeRefusal } from '../capture/refusals.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { baseAfterAnswer, baseAsSent, isApplied, isLeftAsSent, overwrittenCells } from '../reconcile/push-settle.ts';
import type { RetryHope } from '../reconcile/push-outcome.ts';
import { settlementOf, type Settlement } from '../reconcile/row-state.ts';
import { afterUnanswered, unansweredHope } from '../reconcile/unanswered.ts';
import { countBatch, publishCount } from '../replica/copies.ts';
import type { Tx } from '../replica/connection.ts';
import { replicaError } from '../replica/failures.ts';
import { storeUploadedFile } from '../replica/bookkeeping/files.ts';
import { suspectNewRows, suspectPushedRows } from '../replica/bookkeeping/suspects.ts';
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

/** Whether a row is still as it was sent: a row that was edited since is sent again, since the edit may repair it. */
export function isLeftAlone(tx: Tx, table: TwoWayTable, { id, kind, cells }: BatchRow): boolean {
  const [version] = readVersions(tx, table, [id]);
  return isLeftAsSent({ base: version?.base ?? null, local: version?.local ?? null, sent: cells }, kind, table.columns);
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
  const at = stampFromMs(nowMs);
  const settled = batch.rows.map((row): Settled => {
    const news = newsOf(findings, row);
    return { row, news, settlement: settlementOf(row.kind, row.answer?.as ?? 'lost', news.finding) };
  });
  const of = (...wanted: readonly Settlement[]): readonly Settled[] =>
    settled.filter(({ settlement }) => wanted.includes(settlement));
  const again = of('again').map(({ row }) => row.id);
  moveRows(tx, table.id, again, { event: 'notApplied', at });
  for (const refused of of('refuse')) refuse(tx, run, refused, nowMs);
  for (const doubted of of('doubt')) doubt(tx, run, doubted, nowMs);
  mergeTaken(tx, run, of('merge', 'asSent', 'gone'), nowMs);
  narrow(tx, run, batch.rows, nowMs);
  const ids = new Set(of('merge').flatMap(({ news }) => news.remote?.id ?? []));
  for (const shown of findings.shown) if (ids.has(shown.rowId)) storeUploadedFile(tx, shown.column, shown, at);
  updateBatch(tx, table, batch.id, []);
}

/** Merges rows with the origin's rows, or as they were sent, or as gone. */
function mergeTaken(tx: Tx, run: TablePush, taken: readonly Settled[], nowMs: number): void {
  const { table, options, progress } = run;
  const at = stampFromMs(nowMs);
  const ids = taken.map(({ row }) => row.id);
  const arrived = taken.filter(({ row, news }) => row.unanswered === undefined || isThere(table, row, news));
  forgetRefusals(
    tx,
    table.id,
    arrived.map(({ row }) => row.id),
  );
  const versions = new Map(readVersions(tx, table, ids).map((version) => [version.rowId, version]));
  const rows = taken.map((settled): RowToMerge => {
    const { base, local } = must(versions.get(settled.row.id), 'versions come for each id');
    return { rowId: settled.row.id, local, ...remoteAndBase(table, settled, { base, local }) };
  });
  const given = rows.flatMap(({ rowId, remote }) => (remote === null || remote.id === rowId ? [] : [remote.id]));
  makeRoom(tx, table, given, at);
  const known = new Set(readVersions(tx, table, given).flatMap(({ rowId, base }) => (base === null ? [] : [rowId])));
  const isTwin = ({ rowId, remote }: RowToMerge): boolean =>
    remote !== null && remote.id !== rowId && known.has(remote.id);
  const twins = new Set(rows.filter(isTwin).map(({ rowId }) => rowId));
  for (const settled of taken) if (twins.has(settled.row.id)) giveWay(tx, run, settled, at);
  const reason = 'not returned by the origin after a push';
  const { merged } = mergeRows(
    tx,
    table,
    rows.filter(({ rowId }) => !twins.has(rowId)),
    { policy: options.conflict, at, isSent: true, reason },
  );
  noteNewIds(run, merged);
  const conflicts = merged.flatMap(({ decision }) => decision.conflicts);
  progress.counts.conflictCount += conflicts.length;
  noteMatched(
    tx,
    run,
    taken.filter(({ row }) => !twins.has(row.id)),
    at,
  );
  suspect(tx, table, merged);
  count(run, taken);
}

/**
 * A row with the match value appeared right before the upsert, which overwrote it. Its values were never read, so only this is reported.
 */
function noteMatched(tx: Tx, { table, planned, progress }: TablePush, taken: readonly Settled[], at: string): void {
  const { match } = planned;
  if (match === null) return;
  for (const { row } of taken.filter(({ row: { answer } }) => answer?.as === 'matched')) {
    const value = row.cells.find(({ column }) => column === match)?.value ?? null;
    const conflict = { kind: 'cell', column: match, base: null, local: value, remote: value, winner: 'local' } as const;
    storeConflicts(tx, table, { rowId: row.answer?.id ?? row.id, conflicts: [conflict], at });
    progress.counts.conflictCount += 1;
  }
}

/** The origin's version for the merge of a row. */
function remoteAndBase(
  { columns }: TwoWayTable,
  { row, news, settlement }: Settled,
  { base, local }: { readonly base: Row | null; readonly local: Row | null },
): Pick<RowToMerge, 'base' | 'remote'> {
  const { id, kind, cells, answer } = row;
  // A row that was deleted as requested: if it is here, a user inserted it since, as a new one.
  if (settlement === 'gone') return { base: kind === 'delete' ? null : base, remote: null };
  const sent = { base, sent: cells };
  const remote = settlement === 'merge' ? news.remote : baseAsSent(sent, answer?.id ?? id, columns.length);
  const isAccepted = answer?.as === 'accepted' || answer?.as === 'matched';
  const facts = { columns, isAccepted, arrived: news.arrived };
  const there = must(remote, 'a row is merged with what the origin says of it');
  return { base: baseAfterAnswer(sent, { local, remote: there }, facts), remote: there };
}

/**
 * The origin merged a new row into a known one, because a colleague gave that one its match value a moment before, or the origin takes both values for
 * one. What it overwrote there is kept as conflicts; the new row is removed, and kept if it is not as it was sent.
 */
function giveWay(tx: Tx, run: TablePush, { row, news, settlement }: Settled, at: string): void {
  const { table, options, planned, progress } = run;
  const { id: rowId, cells, answer } = row;
  const knownId = must(answer?.id ?? null, 'the answer names the known row');
  const [versions] = readVersions(tx, table, [knownId]);
  const known = must(versions?.base ?? null, 'it is known');
  const others = cells.filter(({ column }) => column !== planned.match);
  const conflicts = overwrittenCells(known, others, table.columns);
  storeConflicts(tx, table, { rowId: knownId, conflicts, at });
  const isKept = !isLeftAlone(tx, table, row);
  if (isKept) {
    const [own] = readVersions(tx, table, [rowId]);
    storeDiscarded(tx, table, { rowId, base: null, local: own?.local ?? null, columns: [] }, at);
  }
  progress.counts.conflictCount += conflicts.length + (isKept ? 1 : 0);
  const merge = { policy: options.conflict, at, isSent: true, reason: '' };
  mergeRows(tx, table, [{ rowId, base: null, local: null, remote: null }], merge);
  const asSent = baseAsSent({ base: known, sent: cells }, knownId, table.columns.length);
  const there = settlement === 'merge' ? must(news.remote, 'it was read back') : asSent;
  storeRemoteRows(tx, table, [there], { policy: options.conflict, at });
  noteNewIds(run, [{ rowId, newId: knownId }]);
}

/** A page may answer "not modified" although its rows were changed by this push, and changed back there, before it was read. */
function suspect(tx: Tx, { id: tableId }: TwoWayTable, merged: readonly MergedRow[]): void {
  const created = merged.flatMap(({ rowId, newId }) => (newId === rowId ? [] : [newId]));
  if (created.length > 0) suspectNewRows(tx, tableId, created);
  const changed = merged.flatMap(({ rowId }) => (rowId > 0 ? [rowId] : []));
  suspectPushedRows(tx, tableId, changed);
}

/** Whether the origin holds all that was sent of a row. */
function isThere({ columns }: TwoWayTable, { cells }: BatchRow, { remote, arrived }: RowNews): boolean {
  return remote !== null && isApplied(cells, remote, columns, arrived);
}

/** Rows that certainly did not arrive leave in smaller requests; one that fails alone, again, is parked. */
function narrow(tx: Tx, { table, progress }: TablePush, rows: readonly BatchRow[], nowMs: number): void {
  const failed = rows.filter(({ unanswered }) => unanswered !== undefined);
  const ids = failed.map(({ id }) => id);
  const states = readRowStates(tx, table.id, ids);
  const { limits, counts } = progress;
  progress.isNarrowing ||= ids.some((id) => limits.has(id));
  for (const row of failed) {
    const { rowCount, words } = must(row.unanswered, 'others were left out');
    const { id: rowId, kind, cells } = row;
    if (states.get(rowId) !== 'edited') continue;
    const next = afterUnanswered(rowCount, limits.get(rowId) ?? null);
    if (next !== 'park') limits.set(rowId, next);
    else if (isLeftAlone(tx, table, row)) {
      const reason = `sent alone, it got no answer about it: ${words.message}`;
      const refusal = { rowId, kind, reason, column: null, words, hope: unansweredHope(words.status), cells };
      storeRefusal(tx, table, refusal, nowMs);
      moveRows(tx, table.id, [rowId], { event: 'refused', at: stampFromMs(nowMs) });
      counts.refusedCount += 1;
    }
  }
}

/** Counts accepted rows. */
function count({ table, progress: { counts } }: TablePush, settled: readonly Settled[]): void {
  const taken = settled.filter(({ row, news, settlement }) => {
    if (row.answer?.as === 'accepted' || row.answer?.as === 'matched') return true;
    if (settlement === 'gone') return row.kind === 'delete';
    return isThere(table, row, news);
  });
  for (const { row } of taken) {
    // A new row that was merged into one of the origin is none there.
    if (row.kind === 'insert' && row.answer?.as !== 'matched') counts.insertedCount += 1;
    else if (row.kind !== 'delete') counts.updatedCount += 1;
    else counts.deletedCount += 1;
  }
}

/** Parks a row that was not accepted, unless it was edited since: then it is planned again. */
function refuse(tx: Tx, { table, progress }: TablePush, { row }: Settled, nowMs: number): void {
  const at = stampFromMs(nowMs);
  if (!isLeftAlone(tx, table, row)) {
    moveRows(tx, table.id, [row.id], { event: 'notApplied', at });
    return;
  }
  const words = row.answer?.refusal ?? null;
  const reason = words?.message ?? 'the origin says that it has no such row, and returns it nevertheless';
  const hope: RetryHope = row.answer?.as === 'failed' ? 'soon' : 'later';
  const { id: rowId, kind, cells } = row;
  storeRefusal(tx, table, { rowId, kind, reason, column: null, words, hope, cells }, nowMs);
  moveRows(tx, table.id, [rowId], { event: 'refused', at });
  progress.counts.refusedCount += 1;
}

/** Parks a row that the origin may or may not have. */
function doubt(tx: Tx, { table, progress }: TablePush, { row, news }: Settled, nowMs: number): void {
  const { id: rowId, kind, cells, answer } = row;
  const words = row.unanswered?.words ?? null;
  const said = answer?.as === 'failed' ? 'the origin failed' : 'no answer came';
  const came = words === null ? '' : ` (${words.message})`;
  const why =
    news.finding === 'other' && kind === 'insert'
      ? `row ${must(news.remote, 'another row was found').id} has its match value, but not all that was sent`
      : (news.why ?? 'nothing at the origin proves that it was taken, or was not');
  const reason = `${said} when it was sent${came}, and ${why}; look there, then retry or discard it`;
  storeRefusal(tx, table, { rowId, kind, reason, column: null, words, hope: 'never', cells }, nowMs);
  moveRows(tx, table.id, [rowId], { event: 'doubted', at: stampFromMs(nowMs) });
  progress.counts.inDoubtCount += 1;
}

/**
 * From the ids of edited rows to a recorded batch. The origin's present rows are merged first, by the one merge, so that no unseen change is
 * overwritten. Then the rows are planned, and the batch is stored, all in one durable transaction (I11). Rows that cannot be sent are parked.
 * Requests happen before, never inside the transaction.
 */
import { stampFromMs } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import type { Batch } from '../capture/batches.ts';
import { diffRows, makeRoom, readVersions, type RowChange } from '../capture/changes.ts';
import { moveRows } from '../capture/marks.ts';
import { mergeRows, storeMissingRows, storeRemoteRows } from '../capture/merge.ts';
import { readUnansweredIds, storeRefusal, type NewRefusal } from '../capture/refusals.ts';
import { isSameRow } from '../reconcile/diff.ts';
import { judgeDeletion } from '../reconcile/guards.ts';
import { judgeHolder } from '../reconcile/match.ts';
import type { ChangeKind, PlannedRow } from '../reconcile/push-plan.ts';
import { ALONE } from '../reconcile/unanswered.ts';
import { baseTarget } from '../replica/compare.ts';
import { spendPushConsent } from '../replica/consent.ts';
import type { Tx } from '../replica/connection.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { suspectPushedRows } from '../replica/bookkeeping/suspects.ts';
import { countConflicts } from '../replica/bookkeeping/conflicts.ts';
import { readRowsById, writeRows } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { recordBatch } from './batch.ts';
import { noteNewIds, step, type RecordedRows, type TablePush } from './context.ts';
import { findById, findByMatch, type FoundRows, type Holder } from './find.ts';
import { requireSameCaller } from './identity.ts';
import { planChanges, planOptions } from './plan.ts';
import { requireSameShape } from './shape.ts';
import { attachUploads, type Uploads } from './upload.ts';

/** Edited rows of one kind, in the order in which they leave, and what the origin has of them. */
export interface Block {
  readonly kind: ChangeKind;
  readonly ids: readonly number[];
  readonly found: FoundRows;
  /** The match values of inserts that were looked up, by the insert's id here. */
  readonly asked: ReadonlyMap<number, Value>;
  readonly holders: ReadonlyMap<Value, Holder>;
}

/** The input for recording a block. */
export interface RecordOrder {
  /** A person has looked: guards let this push through. */
  readonly confirmed: boolean;
  /** No other plan follows in this push: rows that have to wait are parked, with the reason. */
  readonly isLast: boolean;
  readonly uploads: Uploads;
}

/** Requests rows that are to be sent, and rows that already have the match values of inserts. */
export async function reread(run: TablePush, kind: ChangeKind, ids: readonly number[]): Promise<Block> {
  await step(run, 'reread');
  const { context, table, planned } = run;
  const asked = new Map<number, Value>();
  if (kind === 'insert' && planned.match !== null) {
    for (const { id, values } of readRowsById(context.replica, table, ids)) {
      const value = values[planned.match] ?? null;
      if (value !== null && value !== '') asked.set(id, value);
    }
  }
  const [found, holders] = await Promise.all([
    findById(run, kind === 'insert' ? [] : ids),
    findByMatch(run, [...new Set(asked.values())], false),
  ]);
  return { kind, ids, found, asked, holders };
}

/** The recorded batches of a block, to be sent one after the other. */
export interface Recorded {
  /** Null if nothing is left to send. */
  readonly batch: Batch | null;
  readonly rows: RecordedRows;
  /** Rows of the block that did not fit into the batch, in their order. */
  readonly rest: readonly number[];
}

/** Merges the answers, plans the rows, and stores those that are sent. @throws RowsyncError `guard.deletes`, `push.shape`. */
export async function record(run: TablePush, block: Block, order: RecordOrder): Promise<Recorded> {
  await step(run, 'record');
  const { context, table } = run;
  const { found, kind, ids } = block;
  const isMissing = (id: number): boolean => kind !== 'insert' && !found.byId.has(id) && !found.unreadable.has(id);
  const missing = ids.filter(isMissing);
  if (missing.length > 0) await requireSameCaller(run);
  const holders = [...block.holders.values()].filter((holder) => typeof holder === 'object');
  const remotes = [...found.byId.values(), ...holders];
  const bases = readRowsById(
    context.replica,
    baseTarget(table),
    remotes.map(({ id }) => id),
  );
  const baseById = new Map(bases.map((base) => [base.id, base]));
  await requireSameShape(run, remotes, baseById);
  const moved = [...found.byId.values()].filter((remote) => {
    const base = baseById.get(remote.id);
    return base === undefined || !isSameRow(base, remote);
  });
  return context.replica.writeDurably(`Recording a batch of ${table.localName}`, (tx) => {
    mergePresent(tx, run, { moved, missing }, order.confirmed);
    parkUnreadable(tx, run, block);
    const sendable = ids.filter((id) => !found.unreadable.has(id) && !isMissing(id));
    const isAsRead = kind === 'update' && moved.length === 0;
    return recordPlanned(tx, run, { ...block, ids: sendable, bases: isAsRead ? bases : undefined }, order);
  });
}

/** The one merge, for rows that changed at the origin since they were last read. */
function mergePresent(
  tx: Tx,
  run: TablePush,
  { moved, missing }: { readonly moved: readonly Row[]; readonly missing: readonly number[] },
  confirmed: boolean,
): void {
  const { table, options, progress, context } = run;
  if (moved.length === 0 && missing.length === 0) return;
  // The missing rows of earlier batches have left the table.
  const rowCount = readTable(tx, table.id).rowCount + progress.missingCount;
  const missingCount = missing.length === 0 ? 0 : missing.length + progress.missingCount;
  const { maxDeletePercent } = context.settings;
  const facts = { rowCount, missingCount, maxDeletePercent, identityChanged: false, isNarrowed: false, confirmed };
  const verdict = judgeDeletion(facts);
  if (verdict.kind === 'hold') throw missingError(run, missingCount, rowCount);
  progress.missingCount += missing.length;
  const merge = { policy: options.conflict, at: stampFromMs(context.clock.nowMs()) };
  const conflictsBefore = countConflicts(tx, table.id);
  storeRemoteRows(tx, table, moved, merge);
  storeMissingRows(tx, table, missing, { ...merge, reason: 'not returned by the origin before a push' });
  suspectPushedRows(tx, table.id, [...moved.map(({ id }) => id), ...missing]);
  progress.counts.conflictCount += countConflicts(tx, table.id) - conflictsBefore;
}

/** Edits of rows that cannot be read wait, since they might overwrite a change unseen. */
function parkUnreadable(tx: Tx, run: TablePush, { kind, found: { unreadable } }: Block): void {
  if (unreadable.size === 0) return;
  const reason = 'the origin shows its row with a value that cannot be read, so an edit might overwrite it unseen';
  const edited = diffRows(tx, run.table, [...unreadable]).filter((row) => row.state === 'edited' && row.kind === kind);
  for (const { rowId } of edited) {
    park(tx, run, { rowId, kind, reason, column: null, words: null, hope: 'soon', cells: [] });
  }
}

function missingError({ table }: TablePush, missingCount: number, rowCount: number): RowsyncError {
  return new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin no longer returns ${missingCount} of the rows to push (the table has ${rowCount}); nothing more was sent or deleted`,
    hint: `Check the rights of the calling user; if the rows are really gone, run rowsync push ${shellWord(table.localName)} --confirm.`,
  });
}

/** Plans the present rows, parks those that cannot be sent, and stores the first batch of the others. */
function recordPlanned(
  tx: Tx,
  run: TablePush,
  { bases, ...block }: Block & { readonly bases: readonly Row[] | undefined },
  order: RecordOrder,
): Recorded {
  const { table, context, progress } = run;
  const rowsMaxOf = limitsOf(tx, run, block.ids);
  const isDue = ({ rowId, state, kind }: RowChange): boolean =>
    state === 'edited' && kind === block.kind && !(progress.isNarrowing && progress.limits.has(rowId));
  const edited = diffRows(tx, table, block.ids, bases).filter(isDue);
  const askable = edited.filter((change) => mayBeSent(tx, run, change, { block, isLast: order.isLast }));
  const { batches, unsendable } = planChanges(askable, run.planned, {
    ...planOptions(context),
    rowsMaxOf,
  });
  for (const { id: rowId, kind, column, reason, hope = 'never' } of unsendable) {
    park(tx, run, { rowId, kind, reason, column, words: null, hope, cells: [] });
  }
  const [first] = batches;
  const rows =
    first === undefined
      ? []
      : attachUploads(tx, run, first.rows, {
          uploads: order.uploads,
          park: (refusal) => park(tx, run, refusal),
        });
  const rest = batches.slice(1).flatMap((batch) => batch.rows.map(({ id }) => id));
  const known = { fileVersion: context.replica.foreignVersion(), byId: new Map(edited.map((row) => [row.rowId, row])) };
  if (first === undefined || rows.length === 0) return { batch: null, rows: known, rest };
  spendPushConsent(tx, table.id, rows.length);
  storeMadeValues(tx, run, rows);
  return { batch: recordBatch(tx, run, { method: first.method, rows }), rows: known, rest };
}

/** How many rows may leave together with a row: fewer after requests that ended without an answer, in this push or an earlier one. */
function limitsOf(
  tx: Tx,
  { table, progress: { limits } }: TablePush,
  ids: readonly number[],
): ((id: number) => number) | undefined {
  for (const id of readUnansweredIds(tx, table.id, ids)) if (!limits.has(id)) limits.set(id, ALONE);
  return limits.size === 0 ? undefined : (id) => limits.get(id)?.rowsMax ?? Infinity;
}

/**
 * Whether the match value of an insert is free at the origin. If not, the insert is merged into the row that has it, parked, or
 * left for the next plan.
 */
function mayBeSent(
  tx: Tx,
  run: TablePush,
  { rowId, kind, local }: RowChange,
  { block, isLast }: { readonly block: Block; readonly isLast: boolean },
): boolean {
  const { table, options, progress, context, planned } = run;
  const { match } = planned;
  if (kind !== 'insert' || match === null || local === null) return true;
  const value = local.values[match] ?? null;
  const asked = block.asked.get(rowId) ?? null;
  if (value !== asked && !(value === '' && asked === null)) return false; // edited since the origin was asked
  const holder = asked === null ? undefined : block.holders.get(asked);
  const remote = typeof holder === 'object' ? holder : null;
  if (remote !== null) makeRoom(tx, table, [remote.id], stampFromMs(context.clock.nowMs()));
  const [there] = remote === null ? [] : readVersions(tx, table, [remote.id]);
  const known = there === undefined || there.base === null ? null : { base: there.base, local: there.local };
  const verdict = judgeHolder(holder, known, { match, columns: table.columns, isLast });
  if (verdict === 'send') return true;
  if (verdict === 'adopt') {
    const merge = { policy: options.conflict, at: stampFromMs(context.clock.nowMs()), isSent: false, reason: '' };
    const { merged } = mergeRows(tx, table, [{ rowId, base: null, local, remote }], merge);
    noteNewIds(run, merged);
    progress.counts.conflictCount += merged.reduce((sum, { decision }) => sum + decision.conflicts.length, 0);
    suspectPushedRows(
      tx,
      table.id,
      merged.map(({ newId }) => newId),
    );
  } else if (verdict !== 'wait') {
    park(tx, run, { rowId, kind, ...verdict, column: match, words: null, cells: [] });
  }
  return false;
}

/** Parks a row before it was sent. */
function park(tx: Tx, { table, context, progress }: TablePush, refusal: NewRefusal): void {
  const nowMs = context.clock.nowMs();
  storeRefusal(tx, table, refusal, nowMs);
  moveRows(tx, table.id, [refusal.rowId], { event: 'refused', at: stampFromMs(nowMs) });
  progress.counts.refusedCount += 1;
}

/** A generated match value is stored in the row before it is sent, so that a repeated create is the same create. */
function storeMadeValues(tx: Tx, { table, planned }: TablePush, rows: readonly PlannedRow[]): void {
  const { match } = planned;
  const made = new Map(rows.flatMap(({ id, madeMatch }) => (madeMatch === null ? [] : [[id, madeMatch] as const])));
  if (match === null || made.size === 0) return;
  const local = readRowsById(tx, table, [...made.keys()]);
  writeRows(
    tx,
    table,
    local.map((row) => ({ ...row, values: row.values.with(match, made.get(row.id) ?? null) })),
  );
}

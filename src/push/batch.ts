/**
 * One batch of one table, from planned rows to settled ones:
 *
 *   reread     the rows as the origin has them now, and rows that have the match values of inserts already
 *   (upload.ts reads the files that rows attach)
 *   record     merge with what came, diff again, store what is sent, marked as sending, on the disk (I11)
 *   send       one request, or several where it is refused whole
 *   store      what the origin said of each row
 *   settle     (settle.ts) read back, look up, merge
 *
 * Between any two of these the process may end; settle.ts finishes what is stored. The network is never awaited inside a
 * transaction.
 */
import { stampFromMs } from '../base/clock.ts';
import { must } from '../base/assert.ts';
import { storeBatch, updateBatch, type Batch, type BatchRow, type OriginWords } from '../capture/batches.ts';
import { diffRows, type RowChange } from '../capture/changes.ts';
import { moveRows } from '../capture/marks.ts';
import { storeMissingRows, storeRemoteRows } from '../capture/merge.ts';
import { storeRefusal } from '../capture/refusals.ts';
import { isSameRow } from '../reconcile/diff.ts';
import { isAlternating, judgeDeletion, type PastPush } from '../reconcile/guards.ts';
import { judgeStatus } from '../reconcile/push-outcome.ts';
import { digestOf, planPush, type PlannedBatch, type PlannedRow } from '../reconcile/push-plan.ts';
import { baseTarget } from '../replica/compare.ts';
import { spendPushConsent } from '../replica/consent.ts';
import { countBatch, publishCount } from '../replica/copies.ts';
import type { Tx } from '../replica/connection.ts';
import { replicaError } from '../replica/failures.ts';
import { readTable } from '../replica/ledger.ts';
import { suspectPushedRows } from '../replica/pages.ts';
import { countConflicts } from '../replica/push-rows.ts';
import { readNewestId, readRowsById, writeRows } from '../replica/rows.ts';
import { RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import type { Row, Value } from '../wire/schema.ts';
import type { StatusDescriptor } from '../wire/writes.ts';
import type { PushStep, TablePush } from './context.ts';
import { requireSameCaller, stampOfSending } from './identity.ts';
import { findById, findByValue, NOTHING_FOUND, type FoundRows } from './lookup.ts';
import { isAsAsked, settleMet } from './met.ts';
import { planOptions } from './plan.ts';
import { sendRows, type Sent, type SendOutcome } from './send.ts';
import { readBack } from './read-back.ts';
import { isLeftAlone, settleFound } from './settle.ts';
import { requireSameShape } from './shape.ts';
import { attachUploads, readUploads, type Held, type Uploads } from './upload.ts';

/** What a batch is pushed with beside its rows. */
export interface BatchOrder {
  /** What `reread` found. */
  readonly present: Present;
  /** When its updates were pushed before, for the guard against two systems that fight. */
  readonly past: ReadonlyMap<number, readonly PastPush[]>;
  /** A person has looked: guards let this push through. */
  readonly confirmed: boolean;
  /** Called when the origin has answered all of it: rows of the next batch may be asked for. */
  readonly onAnswered: () => void;
}

/** What is left of a batch that was sent. */
export interface BatchEnd {
  /** What stops the table; null where nothing does. */
  readonly stop: RowsyncError | null;
  /** Settles the rows, which are being read back already; null where none are left. To be called once, whatever stops the table. */
  readonly settle: (() => Promise<void>) | null;
  /** Whether the rows concern no other batch: then they may be settled behind the next one. */
  readonly isApart: boolean;
}

/**
 * Pushes one planned batch up to the answers for its rows, and begins to read them back. @throws RowsyncError of origin and
 * replica.
 */
export async function pushBatch(run: TablePush, planned: PlannedBatch, order: BatchOrder): Promise<BatchEnd> {
  const uploads = await readUploads(run, planned, order.present.takenBy);
  await step(run, 'record');
  const batch = await record(run, planned, { ...order, uploads });
  if (batch === null) return { stop: null, settle: null, isApart: true };
  const unpublished = publish(run, batch);
  await step(run, 'send');
  const sent = unpublished ?? (await sendRows(run, batch, uploads.contents));
  const isApart = sent.stop === null && isPlain(batch, sent);
  if (isApart) order.onAnswered();
  await step(run, 'store');
  const left = await storeOutcomes(run, batch, sent);
  if (left === null) return { stop: sent.stop, settle: null, isApart };
  const found = readBack(run, left, { isAtOnce: true });
  found.catch(() => undefined); // thrown where it is waited for
  return { stop: sent.stop, settle: async () => settleFound(run, left, await found), isApart };
}

/** Whether settling the batch can touch no row outside of it: every row is an update that was taken as one. */
function isPlain({ rows }: Batch, { outcomes }: Sent): boolean {
  return rows.every((row) => {
    const outcome = outcomes.get(row.id);
    if (row.kind !== 'update' || outcome?.kind !== 'status') return false;
    return judgeStatus('update', outcome.status) === 'accepted' && (outcome.status.id ?? row.id) === row.id;
  });
}

/** Lets everybody know beside the file that rows are about to be created; where that fails, nothing is sent. */
function publish({ context: { replica } }: TablePush, { rows }: Batch): Sent | null {
  if (!rows.some(({ kind }) => kind === 'insert')) return null;
  try {
    publishCount(replica);
    return null;
  } catch (thrown) {
    const outcomes = new Map(rows.map(({ id }) => [id, { kind: 'notSent' }] as const));
    return { outcomes, stop: replicaError(thrown, `Noting beside ${replica.path} what is sent`) };
  }
}

function step({ context, table }: TablePush, name: PushStep): void | Promise<void> {
  return context.before?.(name, table.localName);
}

/** What the origin has of the rows of a batch, before they are sent. */
export interface Present {
  readonly found: FoundRows;
  /** The match values of inserts that the origin was asked for, by the insert's id here. */
  readonly asked: ReadonlyMap<number, Value>;
  /** Rows that have the match value of an insert already, by the insert's id here. */
  readonly takenBy: ReadonlyMap<number, Row>;
  /** Inserts by whose match value the origin refuses to look. */
  readonly unaskable: ReadonlySet<number>;
  /** Inserts about whose match value the origin answers with a row that cannot be read, or has another value. */
  readonly unclear: ReadonlySet<number>;
}

/** Asks the origin for the rows of a batch, and for rows that have the match values of its inserts already. */
export async function reread(run: TablePush, { rows }: PlannedBatch): Promise<Present> {
  await step(run, 'reread');
  const known = rows.filter(({ id }) => id > 0).map(({ id }) => id);
  const { match } = run.planned;
  const asked = new Map<number, Value>();
  for (const row of rows) {
    const value = matchValueOf(row, match);
    if (value !== null) asked.set(row.id, value);
  }
  const [found, byValue] = await Promise.all([
    findById(run, known),
    match === null ? NOTHING_FOUND : findByValue(run, match, [...asked.values()]),
  ]);
  const takenBy = new Map<number, Row>();
  const unreadable = new Set(found.unreadable);
  const unaskable = new Set<number>();
  const unclear = new Set<number>();
  for (const [id, value] of asked) {
    if (byValue.refused.has(value)) unaskable.add(id);
    const [row] = byValue.byKey.get(value) ?? [];
    const isShared = takenBy.values().some((other) => other.id === row?.id);
    if (row !== undefined && !isShared) takenBy.set(id, row);
    // Somebody may have the value, or two values are one at the origin: the next round decides.
    else if (isShared || byValue.unclear.has(value)) unreadable.add(id);
    if (row === undefined && byValue.unclear.has(value)) unclear.add(id);
  }
  return { found: { ...found, unreadable }, asked, takenBy, unaskable, unclear };
}

/** The match value of an insert, which somebody else's row may have; null for other rows, and for a value that was made up a moment ago. */
function matchValueOf({ kind, cells, madeMatch }: PlannedRow, match: number | null): Value {
  if (kind !== 'insert' || madeMatch !== null) return null;
  return cells.find(({ column }) => column === match)?.value ?? null;
}

/** Merges what came, plans the rows again, and stores those that are sent; null where nothing is left to send. */
async function record(
  run: TablePush,
  planned: PlannedBatch,
  order: BatchOrder & { readonly uploads: Uploads },
): Promise<Batch | null> {
  const { present, confirmed, uploads } = order;
  const { context, table } = run;
  const isMissing = ({ id }: PlannedRow): boolean =>
    id > 0 && !present.found.byId.has(id) && !present.found.unreadable.has(id);
  if (planned.rows.some(isMissing)) await requireSameCaller(run);
  const { clock, replica } = context;
  const remotes = [...present.found.byId.values(), ...present.takenBy.values()];
  // Nothing but this batch moves the bases of its rows.
  const bases = readRowsById(
    replica,
    baseTarget(table),
    remotes.map(({ id }) => id),
  );
  const baseById = new Map(bases.map((base) => [base.id, base]));
  await requireSameShape(run, remotes, baseById);
  return replica.writeDurably(`Recording a batch of ${table.localName}`, (tx) => {
    const at = stampFromMs(clock.nowMs());
    mergePresent(tx, run, planned, { ...present, baseById, held: uploads.held }, { at, confirmed });
    parkUnaskable(tx, run, { ids: present.unaskable, asked: present.asked, why: UNASKABLE }, at);
    // A wrong answer is asked for again with the next round; behind the last one, the row would wait without a word.
    if (run.plan.isLast) parkUnaskable(tx, run, { ids: present.unclear, asked: present.asked, why: UNCLEAR }, at);
    const isAsPlanned = !run.plan.isStale && run.plan.version === replica.foreignVersion();
    const sendable =
      isAsPlanned && present.found.unreadable.size === 0 ? planned.rows : planAgain(tx, run, planned, present);
    const ready = attachUploads(tx, run, sendable, { uploads, at });
    const rows = parkAlternating(tx, run, ready, { past: order.past, at });
    if (rows.length === 0) return null;
    spendPushConsent(tx, table.id, rows.length);
    storeMadeValues(tx, run, rows);
    const newestId = readNewestId(tx, baseTarget(table)) ?? 0;
    // What it may be about beside the row that it makes is judged where it is looked up (read-back.ts).
    const isCreating = ({ kind }: PlannedRow): boolean => kind === 'insert' || planned.method === 'upsert';
    const batch = {
      method: planned.method,
      sentAt: stampOfSending(tx, clock.nowMs()),
      rows: rows.map((row): BatchRow => ({
        id: row.id,
        kind: row.kind,
        cells: row.cells,
        answer: null,
        newestKnown: isCreating(row) ? newestId : undefined,
      })),
    };
    moveRows(
      tx,
      table.id,
      rows.map(({ id }) => id),
      { event: 'sendStarted', at },
    );
    if (rows.some(({ kind }) => kind === 'insert')) countBatch(tx);
    return { ...batch, id: storeBatch(tx, table, batch) };
  });
}

/**
 * Compares the rows of a batch once more, after they were merged or another client changed the replica. Those that go by
 * another method now are left for the next round, and inserts with a match value that the origin was not asked for.
 */
function planAgain(tx: Tx, run: TablePush, planned: PlannedBatch, { found, asked }: Present): readonly PlannedRow[] {
  const ids = planned.rows.map(({ id }) => id).filter((id) => !found.unreadable.has(id));
  const changes = diffRows(tx, run.table, ids).filter(
    ({ state, problems }) => state === 'edited' && problems.length === 0,
  );
  const { batches } = planPush(changes.map(changedRow), run.planned, planOptions(run));
  const rows = batches.find(({ method }) => method === planned.method)?.rows ?? [];
  return rows.filter((row) => matchValueOf(row, run.planned.match) === (asked.get(row.id) ?? null));
}

/** A change as the plan takes it. */
function changedRow({ rowId, base, local }: RowChange): { id: number; base: Row | null; local: Row | null } {
  return { id: rowId, base, local };
}

/** The one merge, for rows that moved on at the origin since they were last read (design: re-read before every push). */
function mergePresent(
  tx: Tx,
  run: TablePush,
  { rows }: PlannedBatch,
  { found, asked, takenBy, baseById, held }: Present & Held & { readonly baseById: ReadonlyMap<number, Row> },
  { at, confirmed }: { readonly at: string; readonly confirmed: boolean },
): void {
  const { table, options, counts } = run;
  const ids = rows.filter(({ id }) => id > 0 && !found.unreadable.has(id)).map(({ id }) => id);
  const moved = ids.flatMap((id) => {
    const remote = found.byId.get(id);
    const base = baseById.get(id) ?? null;
    return remote === undefined || (base !== null && isSameRow(base, remote)) ? [] : [remote];
  });
  const missing = ids.filter((id) => !found.byId.has(id));
  // The rows of earlier batches that were missing have left the table by now.
  const earlierCount = missing.length === 0 ? 0 : run.missing.count;
  const rowCount = readTable(tx, table.id).rowCount + earlierCount;
  const missingCount = missing.length + earlierCount;
  const verdict = judgeDeletion({
    rowCount,
    missingCount,
    maxDeletePercent: run.context.settings.maxDeletePercent,
    identityChanged: false,
    confirmed,
  });
  if (verdict.kind === 'hold') throw missingError(run, missingCount, rowCount);
  run.missing.count += missing.length;
  if (moved.length === 0 && missing.length === 0 && takenBy.size === 0) return;
  run.plan.isStale = true;
  const merge = { policy: options.conflict, at };
  const conflictsBefore = countConflicts(tx, table.id);
  storeRemoteRows(tx, table, moved, merge);
  storeMissingRows(tx, table, missing, { ...merge, reason: 'not returned by the origin before a push' });
  suspectPushedRows(tx, table.id, [...moved.map(({ id }) => id), ...missing]);
  settleMet(tx, run, rows, { asked, takenBy, held, ...merge });
  counts.conflictCount += countConflicts(tx, table.id) - conflictsBefore;
}

const UNASKABLE = {
  reason: 'the origin refuses to look for its match value, so a row that has it might be written over',
  hope: 'later',
} as const;
const UNCLEAR = {
  reason:
    'asked for its match value, the origin shows a row that cannot be read, or has another value, and might be written over',
  hope: 'soon',
} as const;

/** Parks inserts of which nobody can find out whether a row with their match value stands at the origin; sent, they might go over it. */
function parkUnaskable(
  tx: Tx,
  run: TablePush,
  unaskable: Pick<Present, 'asked'> & {
    readonly ids: ReadonlySet<number>;
    readonly why: typeof UNASKABLE | typeof UNCLEAR;
  },
  at: string,
): void {
  const { table, context, counts, planned } = run;
  const { match } = planned;
  if (match === null || unaskable.ids.size === 0) return;
  run.plan.isStale = true;
  const parked = diffRows(tx, table, [...unaskable.ids]).filter(
    (change) => change.state === 'edited' && isAsAsked(run, unaskable.asked, change),
  );
  for (const { rowId } of parked) {
    const refusal = { rowId, kind: 'insert', ...unaskable.why, column: match, words: null, cells: [] } as const;
    storeRefusal(tx, table, refusal, context.clock.nowMs());
  }
  const ids = parked.map(({ rowId }) => rowId);
  moveRows(tx, table.id, ids, { event: 'refused', at });
  counts.refusedCount += ids.length;
}

function missingError({ table }: TablePush, missingCount: number, rowCount: number): RowsyncError {
  return new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin no longer returns ${missingCount} of the rows to push (the table has ${rowCount}); nothing more was sent or deleted`,
    hint: `Check the rights of the calling user; if the rows are really gone, run rowsync push ${shellWord(table.localName)} --confirm.`,
  });
}

/** Parks rows that go back and forth; the others are returned. */
function parkAlternating(
  tx: Tx,
  run: TablePush,
  rows: readonly PlannedRow[],
  { past, at }: { readonly past: BatchOrder['past']; readonly at: string },
): readonly PlannedRow[] {
  const { table, context, counts } = run;
  const updates = rows.filter(({ kind }) => kind === 'update');
  const nowMs = context.clock.nowMs();
  const parked = updates.filter(({ id, cells }) =>
    isAlternating(past.get(id) ?? [], { atMs: nowMs, digest: digestOf(cells) }),
  );
  const reason = 'its values keep going back and forth: another system seems to undo what is pushed from here';
  for (const { id, cells } of parked) {
    storeRefusal(
      tx,
      table,
      { rowId: id, kind: 'update', reason, column: null, words: null, hope: 'never', cells },
      nowMs,
    );
  }
  const ids = new Set(parked.map(({ id }) => id));
  moveRows(tx, table.id, [...ids], { event: 'refused', at });
  counts.refusedCount += ids.size;
  return rows.filter(({ id }) => !ids.has(id));
}

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

/** Stores what is known of each row after sending; returns what has to be read back or looked up. */
async function storeOutcomes(run: TablePush, batch: Batch, { outcomes }: Sent): Promise<Batch | null> {
  const { context, table } = run;
  return context.replica.write(`Storing the answer to a batch of ${table.localName}`, (tx) => {
    const at = stampFromMs(context.clock.nowMs());
    const left: BatchRow[] = [];
    const idsByEvent: Record<'refused' | 'replyLost' | 'notApplied', number[]> = {
      refused: [],
      replyLost: [],
      notApplied: [],
    };
    for (const row of batch.rows) {
      const outcome = must(outcomes.get(row.id), 'every row that was sent has an outcome');
      const judged = judgeOutcome(row, outcome, run.plan);
      if (judged.kind === 'keep') left.push(judged.row);
      if (judged.kind === 'keep' && judged.row.answer === null) idsByEvent.replyLost.push(row.id);
      if (judged.kind === 'notSent') idsByEvent.notApplied.push(row.id);
      if (judged.kind === 'refused' && !isLeftAlone(tx, table, row)) idsByEvent.notApplied.push(row.id);
      else if (judged.kind === 'refused') {
        idsByEvent.refused.push(row.id);
        const { kind: _kind, ...why } = judged;
        const refusal = { rowId: row.id, kind: row.kind, ...why };
        storeRefusal(tx, table, { ...refusal, cells: row.cells }, context.clock.nowMs());
      }
    }
    for (const event of ['refused', 'replyLost', 'notApplied'] as const) {
      moveRows(tx, table.id, idsByEvent[event], { event, at });
    }
    run.counts.refusedCount += idsByEvent.refused.length;
    updateBatch(tx, table, batch.id, left);
    return left.length === 0 ? null : { ...batch, rows: left };
  });
}

type JudgedRow =
  | { readonly kind: 'keep'; readonly row: BatchRow }
  | { readonly kind: 'notSent' }
  | ({ readonly kind: 'refused' } & Pick<Parameters<typeof storeRefusal>[2], 'reason' | 'column' | 'words' | 'hope'>);

const CHANGING = 'the file to attach changed each time while it was sent';

function judgeOutcome(row: BatchRow, outcome: SendOutcome, { isLast }: TablePush['plan']): JudgedRow {
  switch (outcome.kind) {
    case 'notSent':
      return { kind: 'notSent' };
    case 'changing': {
      const column = row.cells.find(({ file }) => file !== undefined)?.column ?? null;
      return isLast ? { kind: 'refused', reason: CHANGING, column, words: null, hope: 'soon' } : { kind: 'notSent' };
    }
    case 'unknown':
      return { kind: 'keep', row };
    case 'refused': {
      const { status, code, words: message, source } = outcome.refusal;
      return judgeAnswer(row, { status, id: null, key: null, errors: [{ error: status, code, message, source }] });
    }
    case 'status':
      return judgeAnswer(row, outcome.status);
    default:
      return outcome satisfies never;
  }
}

function judgeAnswer(row: BatchRow, status: StatusDescriptor): JudgedRow {
  const verdict = judgeStatus(row.kind, status);
  const words = status.errors.length === 0 ? null : wordsOf(status);
  if (verdict === 'failed') return { kind: 'keep', row: { ...row, failure: words ?? wordsOf(status) } };
  const said = words ?? wordsOf(status);
  const refused = { kind: 'refused', reason: said.message, column: null, words: said } as const;
  if (typeof verdict === 'object') return { ...refused, hope: verdict.retry };
  return { kind: 'keep', row: { ...row, answer: { as: verdict, id: status.id, refusal: words } } };
}

function wordsOf({ status, errors }: StatusDescriptor): OriginWords {
  const [first] = errors;
  const message = errors.map((error) => error.message).join('; ');
  return {
    status,
    code: first?.code ?? null,
    message: message === '' ? `the origin answered ${status} without a word` : message,
    source: first?.source ?? null,
  };
}

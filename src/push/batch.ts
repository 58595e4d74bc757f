/**
 * One batch of one table, from edited rows to sent ones:
 *
 *    reread     the rows as the origin has them now, and rows that have the match values of inserts already
 *    (upload.ts reads the files that rows attach)
 *    record     merge with what came, plan, store what is sent, marked as sending, on the disk (I11)
 *    send       one request, or several where it is refused whole
 *    store      what the origin said of each row
 *    settle     (ask.ts, settle.ts) read back, look up, merge
 *
 * The process may end between any two steps; stored batches are settled later. The network is never awaited inside a transaction.
 */
import { stampFromMs } from '../base/clock.ts';
import { must } from '../base/assert.ts';
import { storeBatch, updateBatch, type Batch, type BatchRow, type OriginWords } from '../capture/batches.ts';
import { moveRows } from '../capture/marks.ts';
import { storeRefusal, type NewRefusal } from '../capture/refusals.ts';
import { judgeStatus } from '../reconcile/push-outcome.ts';
import type { PlannedRow, WriteMethod } from '../reconcile/push-plan.ts';
import { UNANSWERED_MAX } from '../reconcile/unanswered.ts';
import { countBatch, publishCount } from '../replica/copies.ts';
import type { Tx } from '../replica/connection.ts';
import { replicaError } from '../replica/failures.ts';
import { RowsyncError } from '../base/errors.ts';
import type { StatusDescriptor } from '../wire/writes.ts';
import { askAbout } from './ask.ts';
import { step, type RecordedRows, type TablePush } from './context.ts';
import { sendRows, type Contents, type Sent, type SendOutcome } from './send.ts';
import { isLeftAlone, settleFound } from './settle.ts';

/** The rest of a batch that was sent. */
export interface BatchEnd {
  /** What stops the table; null for nothing. */
  readonly stop: RowsyncError | null;
  /** Settles the rows, which are already being read back; null if none are left. To be called once, even if the table is stopped. */
  readonly settle: (() => Promise<void>) | null;
  /** Whether the rows concern no other batch: then they may be settled while the next one is sent. */
  readonly isApart: boolean;
}

/** Stores a batch of edited rows that is about to be sent, and marks them; in a durable transaction. */
export function recordBatch(
  tx: Tx,
  { table, context }: TablePush,
  { method, rows }: { readonly method: WriteMethod; readonly rows: readonly PlannedRow[] },
): Batch {
  const sentAt = stampFromMs(context.clock.nowMs());
  const sent = rows.map(({ id, kind, cells }): BatchRow => ({ id, kind, cells, answer: null }));
  const ids = rows.map(({ id }) => id);
  const states = new Map(ids.map((id) => [id, 'edited' as const]));
  moveRows(tx, table.id, ids, { event: 'sendStarted', at: sentAt }, states);
  if (rows.some(({ kind }) => kind === 'insert')) countBatch(tx);
  const batch = { method, sentAt, rows: sent };
  return { ...batch, id: storeBatch(tx, table, batch) };
}

/** The input for sending a batch. */
export interface SendOrder {
  readonly contents: Contents;
  readonly recorded: RecordedRows;
}

/** Sends a recorded batch, and begins to read its rows back. @throws RowsyncError of origin and replica. */
export async function sendBatch(run: TablePush, batch: Batch, order: SendOrder): Promise<BatchEnd> {
  const unpublished = publish(run, batch);
  await step(run, 'send');
  const sent = unpublished ?? withBound(run, await sendRows(run, batch, order.contents));
  const isApart = sent.stop === null && isPlain(batch, sent);
  await step(run, 'store');
  const left = isApart ? acceptAll(run, batch) : await storeOutcomes(run, batch, sent);
  if (left === null) return { stop: sent.stop, settle: null, isApart };
  const { recorded } = order;
  const found = askAbout(run, left, { isAtOnce: true, recorded });
  found.catch(() => undefined); // thrown where it is waited for
  return { stop: sent.stop, settle: async () => settleFound(run, left, await found, recorded), isApart };
}

/** After too many requests without an answer, the rest waits for the next push; the rows at fault that were found do not come again. */
function withBound({ table, progress }: TablePush, { outcomes, stop }: Sent): Sent {
  if (stop !== null || progress.unansweredCount < UNANSWERED_MAX) return { outcomes, stop };
  const tooMany = new RowsyncError('originDown', 'push.unanswered', {
    message: `${table.localName}: ${UNANSWERED_MAX} requests ended without an answer about their rows; the other changes wait for the next push`,
    hint: 'rowsync failures shows what came in place of an answer. Ask whoever runs the firewall or the proxy on the way to the origin.',
  });
  return { outcomes, stop: tooMany };
}

/** Updates that were all accepted. That need not be stored: after a crash they are looked up by id. */
function acceptAll({ progress }: TablePush, batch: Batch): Batch {
  progress.tally.takenCount += batch.rows.length;
  const rows = batch.rows.map((row): BatchRow => ({ ...row, answer: { as: 'accepted', id: row.id, refusal: null } }));
  return { ...batch, rows };
}

/** Whether settling the batch touches no row outside of it: every row is an accepted update. */
function isPlain({ rows }: Batch, { outcomes }: Sent): boolean {
  return rows.every(({ id, kind }) => {
    const outcome = outcomes.get(id);
    return kind === 'update' && outcome?.kind === 'status' && judgeStatus('update', outcome.status) === 'accepted';
  });
}

/** Notes in the count beside the file that rows are about to be created; if that fails, nothing is sent. */
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

/** Stores the outcome of each row after sending; returns the rows that have to be settled. */
async function storeOutcomes(run: TablePush, batch: Batch, { outcomes }: Sent): Promise<Batch | null> {
  const { context, table } = run;
  return context.replica.write(`Storing the answer to a batch of ${table.localName}`, (tx) => {
    const at = stampFromMs(context.clock.nowMs());
    const judged = batch.rows.map((row) => {
      const outcome = must(outcomes.get(row.id), 'every row that was sent has an outcome');
      return { row, verdict: judgeOutcome(row, outcome) };
    });
    const left = judged.flatMap(({ row, verdict }) =>
      verdict.kind === 'left' ? [{ ...row, answer: verdict.answer, unanswered: verdict.unanswered }] : [],
    );
    const lost = left.flatMap(({ id, answer }) => (answer === null ? [id] : []));
    moveRows(tx, table.id, lost, { event: 'replyLost', at });
    for (const { row, verdict } of judged) {
      if (verdict.kind === 'left') {
        if (verdict.answer?.as === 'accepted') run.progress.tally.takenCount += 1;
        continue;
      }
      const isRefused = verdict.kind === 'refused' && isLeftAlone(tx, table, row);
      moveRows(tx, table.id, [row.id], { event: isRefused ? 'refused' : 'notApplied', at });
      if (isRefused) storeRefused(tx, run, row, verdict.why);
    }
    updateBatch(tx, table, batch.id, left);
    return left.length === 0 ? null : { ...batch, rows: left };
  });
}

function storeRefused(tx: Tx, { context, table, progress }: TablePush, row: BatchRow, why: RefusedWhy): void {
  const { id: rowId, kind, cells } = row;
  storeRefusal(tx, table, { rowId, kind, column: null, cells, ...why }, context.clock.nowMs());
  const { counts, tally } = progress;
  counts.refusedCount += 1;
  const refused = tally.refused.get(table.id) ?? new Map<number, number>();
  tally.refused.set(table.id, refused.set(rowId, tally.takenCount));
}

type RefusedWhy = Pick<NewRefusal, 'reason' | 'words' | 'hope'>;

/** left: to be settled · again: nothing happened, and the row is planned anew · refused: parked. */
type RowEnd =
  | ({ readonly kind: 'left' } & Pick<BatchRow, 'answer' | 'unanswered'>)
  | { readonly kind: 'again' }
  | { readonly kind: 'refused'; readonly why: RefusedWhy };

function judgeOutcome(row: BatchRow, outcome: SendOutcome): RowEnd {
  switch (outcome.kind) {
    case 'notSent':
      return { kind: 'again' };
    case 'changing': {
      const reason = 'the file to attach changed while it was sent';
      return { kind: 'refused', why: { reason, words: null, hope: 'soon' } };
    }
    case 'unknown':
      return { kind: 'left', answer: null, unanswered: outcome.unanswered };
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

function judgeAnswer(row: BatchRow, status: StatusDescriptor): RowEnd {
  // A failing origin may have accepted the file: it is looked up, and not sent twice.
  const mayHaveFile = status.status >= 500 && row.kind === 'update' && row.cells.some(({ file }) => file !== undefined);
  if (mayHaveFile) return { kind: 'left', answer: null };
  const verdict = judgeStatus(row.kind, status);
  const words = wordsOf(status);
  if (typeof verdict === 'object') {
    return { kind: 'refused', why: { reason: words.message, words, hope: verdict.retry } };
  }
  const isTaken = verdict === 'accepted' || verdict === 'matched';
  return { kind: 'left', answer: { as: verdict, id: isTaken ? status.id : null, refusal: isTaken ? null : words } };
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

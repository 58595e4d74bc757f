/**
 * What the origin said of each row of a batch, stored before anything follows from it. A row that was not taken is planned again or waits; the others
 * are left to be settled.
 */
import { stampFromMs } from '../base/clock.ts';
import { updateBatch, type Batch, type BatchRow } from '../capture/batches.ts';
import { moveRows } from '../capture/marks.ts';
import { storeRefusal, type NewRefusal } from '../capture/refusals.ts';
import type { OriginWords } from '../reconcile/outcome.ts';
import { judgeStatus } from '../reconcile/push-outcome.ts';
import type { Tx } from '../replica/connection.ts';
import type { StatusDescriptor } from '../wire/writes.ts';
import type { TablePush } from './context.ts';
import type { Sent, SendOutcome } from './send.ts';
import { isLeftAlone } from './settle.ts';

/** A batch with the end of each of its rows. */
export interface Answered {
  readonly batch: Batch;
  readonly ends: readonly { readonly row: BatchRow; readonly end: RowEnd }[];
  /** Whether every row was accepted as what it is: then settling the batch touches no row outside of it. */
  readonly isPlain: boolean;
}

/** Judges the outcomes. */
export function judgeAnswers(batch: Batch, outcomes: Sent['outcomes']): Answered {
  const ends = batch.rows.map((row) => {
    const outcome = outcomes.get(row.id);
    // A row that was not reached certainly did not arrive.
    return { row, end: outcome === undefined ? ({ kind: 'again' } as const) : judgeOutcome(row, outcome) };
  });
  return { batch, ends, isPlain: ends.every(({ end }) => end.kind === 'left' && end.answer?.as === 'accepted') };
}

/** Stores the answers; returns the batch with the rows that have to be settled, or null if none are left. */
export async function storeAnswers(run: TablePush, { batch, ends, isPlain }: Answered): Promise<Batch | null> {
  const { context, table, progress } = run;
  const left = ends.flatMap(({ row, end }) =>
    end.kind === 'left' ? [{ ...row, answer: end.answer, unanswered: end.unanswered }] : [],
  );
  // Accepted updates need not be stored: after a crash they are looked up by id.
  if (isPlain && left.every(({ kind }) => kind === 'update')) {
    progress.tally.takenCount += left.length;
    return { ...batch, rows: left };
  }
  return context.replica.write(`Storing the answer to a batch of ${table.localName}`, (tx) => {
    const at = stampFromMs(context.clock.nowMs());
    const lost = left.flatMap(({ id, answer }) => (answer === null ? [id] : []));
    moveRows(tx, table.id, lost, { event: 'replyLost', at });
    for (const { row, end } of ends) {
      if (end.kind === 'left') {
        if (end.answer?.as === 'accepted') progress.tally.takenCount += 1;
        continue;
      }
      const isRefused = end.kind === 'refused' && isLeftAlone(tx, table, row);
      moveRows(tx, table.id, [row.id], { event: isRefused ? 'refused' : 'notApplied', at });
      if (isRefused) storeRefused(tx, run, row, end.why);
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
    message: message === '' ? `the origin answered ${status} without a message` : message,
    source: first?.source ?? null,
  };
}

/**
 * What the origin said of each row of a batch, stored before anything follows from it. A row that was not taken is planned again or waits; the others
 * are left to be settled.
 */
import { must } from '../base/assert.ts';
import { updateBatch, type Batch } from '../capture/batches.ts';
import { apply, readFacts } from '../capture/writer/apply.ts';
import type { MergeColumn } from '../reconcile/merge.ts';
import {
  decideMoved,
  type OriginWords,
  type RowRefusal,
  type RowFacts,
  type RowOutcome,
} from '../reconcile/outcome.ts';
import { judgeStatus } from '../reconcile/push-outcome.ts';
import { isLeftAsSent, type BatchRow } from '../reconcile/push-settle.ts';
import type { StatusDescriptor } from '../wire/writes.ts';
import type { TablePush } from './context.ts';
import type { Sent, SendOutcome } from './send.ts';

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
    const open = ends.filter(({ end }) => end.kind !== 'left' || end.answer === null);
    const facts = readFacts(
      tx,
      table,
      open.map(({ row }) => row.id),
    );
    const outcomes = facts.map((known, index) => {
      const { row, end } = must(open[index], 'facts come in the order of the rows');
      return decideUnanswered(known, row, end, table.columns);
    });
    apply(tx, table, { outcomes, nowMs: context.clock.nowMs() });
    const parked = new Set(outcomes.flatMap(({ id, state }) => (state === 'refused' ? [id] : [])));
    noteTaken(run, ends, parked);
    updateBatch(tx, table, batch.id, left);
    return left.length === 0 ? null : { ...batch, rows: left };
  });
}

/** What becomes of a row that was not taken, or of which nothing is known. */
function decideUnanswered(
  facts: RowFacts,
  { kind, cells }: BatchRow,
  end: RowEnd,
  columns: readonly MergeColumn[],
): RowOutcome {
  if (end.kind === 'left') return decideMoved(facts, 'replyLost');
  if (end.kind === 'again' || !isLeftAsSent({ ...facts, sent: cells }, kind, columns))
    return decideMoved(facts, 'notApplied');
  return decideMoved(facts, 'refused', { kind, column: null, cells, ...end.why });
}

/** Counts rows in their order: a refused one may be taken once others are. */
function noteTaken({ table, progress }: TablePush, ends: Answered['ends'], parked: ReadonlySet<number>): void {
  const { counts, tally } = progress;
  counts.refusedCount += parked.size;
  const refused = tally.refused.get(table.id) ?? new Map<number, number>();
  tally.refused.set(table.id, refused);
  for (const { row, end } of ends) {
    if (end.kind === 'left' && end.answer?.as === 'accepted') tally.takenCount += 1;
    if (parked.has(row.id)) refused.set(row.id, tally.takenCount);
  }
}

type RefusedWhy = Pick<RowRefusal, 'reason' | 'words' | 'hope'>;

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

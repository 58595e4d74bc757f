/**
 * One round of the push of a table: its edited rows, kind after kind and a block at a time. So memory does not grow with the number of edits. The
 * edits at the beginning of a round bound its requests. The process may end between any two steps of a batch: stored batches are settled later.
 */
import type { RowsyncError } from '../base/errors.ts';
import { runPipeline, type Turn } from '../base/pipeline.ts';
import { CHANGE_KINDS, type ChangeKind } from '../reconcile/push-plan.ts';
import { readEditedIds } from '../replica/bookkeeping/row-states.ts';
import { type IdBlock, type Round, type TablePush, step } from './context.ts';
import { recordBatch, planOptions } from './record-batch.ts';
import { NOT_SENT, sendBatch, type Sent } from './send.ts';
import type { RowEnd } from '../reconcile/push-answer.ts';
import { readBackBatch, settleBatch } from './settle.ts';
import { must } from '../base/assert.ts';
import { applyOutcome, readRowFacts } from '../capture/writer/apply-outcome.ts';
import type { MergeColumn } from '../reconcile/merge.ts';
import { decideMoved, type RowFacts, type RowOutcome } from '../reconcile/row-outcome.ts';
import { isLeftAsSent, type BatchRow } from '../reconcile/push-settle.ts';
import { readBlock } from './find-rows.ts';
import { type Batch, updateBatch } from '../replica/bookkeeping/batches.ts';

/** Edited rows when the round began, by kind: no more are sent, since a guard has judged this number. */
export type Edits = Readonly<Record<ChangeKind, number>>;

/** The number of ids in one Retrieve or Delete. */
const BLOCK_ROWS_MAX = 500;

/** One batch is settled while the next is written, one waits for that, and the rows of one more are read. */
const DEPTH = 4;

/** How many may be read or recorded before it is their turn: a longer look ahead is an older one. */
const AHEAD = 2;

/** Sends the edited rows of a table once. Returns what stops the table; null for nothing. @throws RowsyncError of origin and replica. */
export async function pushRound(
  run: TablePush,
  { edits, ...order }: Pick<Round, 'confirmed' | 'isLast'> & { readonly edits: Edits },
): Promise<RowsyncError | null> {
  run.progress.isNarrowing = false;
  const queue = new BlockQueue(run, edits);
  const leaving: Round['leaving'] = [];
  const round = { ...order, leaving, putBack: (block: IdBlock) => queue.putBack(block) };
  let stopped: RowsyncError | null = null;
  await runPipeline(
    (isIdle) => queue.next(isIdle),
    { lanes: PUSH_LANES, depth: DEPTH, ahead: { lane: 'send', count: AHEAD } },
    async (block, turn) => {
      const stop = await pushBatch(run, block, round, turn);
      stopped ??= stop;
      leaving.splice(0, leaving.length - DEPTH);
    },
  );
  return stopped;
}

/** The ids of edited rows, a block at a time. */
class BlockQueue {
  readonly #run: TablePush;
  readonly #left: Record<ChangeKind, number>;
  readonly #kinds: ChangeKind[] = [...CHANGE_KINDS];
  readonly #putBack: IdBlock[] = [];
  #after: number | null = null;

  constructor(run: TablePush, edits: Edits) {
    this.#run = run;
    this.#left = { ...edits };
  }

  /** The next rows. Null at the end, and before another kind while rows are under way: they may be merged, or make way for one. */
  next(isIdle: boolean): IdBlock | null {
    const back = this.#putBack.shift();
    if (back !== undefined) return back;
    for (let kind = this.#kinds[0]; kind !== undefined; kind = this.#kinds[0]) {
      const ids = this.#read(kind);
      if (ids.length > 0) return { kind, ids };
      if (!isIdle) return null;
      this.#kinds.shift();
      this.#after = null;
    }
    return null;
  }

  /** Gives rows back that did not fit into a batch. */
  putBack(block: IdBlock): void {
    if (block.ids.length > 0) this.#putBack.push(block);
  }

  #read(kind: ChangeKind): readonly number[] {
    const { context, table, progress } = this.#run;
    const { isReversed } = progress.tally;
    const { rowsMax } = planOptions(context).limits;
    const count = Math.min(BLOCK_ROWS_MAX, rowsMax, this.#left[kind]);
    if (count === 0) return [];
    const ids = readEditedIds(context.replica, table, { kind, after: this.#after, count, isReversed });
    this.#after = ids.at(-1) ?? this.#after;
    this.#left[kind] -= ids.length;
    return ids;
  }
}

const PUSH_LANES = ['record', 'send', 'settle'] as const;

type PushTurn = Turn<(typeof PUSH_LANES)[number]>;

/** Pushes one block of rows beside others of its kind; returns what stops the table. @throws RowsyncError `guard.deletes`, `push.shape`, … */
async function pushBatch(run: TablePush, block: IdBlock, round: Round, turn: PushTurn): Promise<RowsyncError | null> {
  const found = await readBlock(run, block);
  if (!found.mayGoAhead) await turn.alone();
  const recorded = await turn.enter('record', async () => (turn.isStopped() ? null : recordBatch(run, found, round)));
  if (recorded === null) return null;
  const sent = await turn.enter('send', async () => {
    const { stop, endById } = turn.isStopped() ? NOT_SENT : await sendBatch(run, recorded);
    if (stop !== null) turn.stop();
    const answered = answeredBatch(recorded.batch, endById);
    const settling = settle(run, answered, turn);
    // A row that was refused or lost may concern the rows of the next batch.
    if (!answered.isPlain) await settling;
    return { stop, settling };
  });
  await sent.settling;
  return sent.stop;
}

async function settle(run: TablePush, answered: Answered, turn: PushTurn): Promise<void> {
  await run.context.origin.requestsLeave(); // the next batch, before storing keeps the event loop busy
  await step(run, 'store');
  const left = await storeAnswers(run, answered);
  if (left === null) return;
  const findings = await readBackBatch(run, left, { isAtOnce: true });
  await turn.enter('settle', () => settleBatch(run, left, findings));
}

interface Answered {
  readonly batch: Batch;
  readonly ends: readonly { readonly row: BatchRow; readonly end: RowEnd }[];
  /** Whether every row was accepted as what it is: then settling the batch touches no row outside of it. */
  readonly isPlain: boolean;
}

/** A row that was not reached certainly did not arrive. */
function answeredBatch(batch: Batch, endById: Sent['endById']): Answered {
  const ends = batch.rows.map((row) => ({ row, end: endById.get(row.id) ?? ({ kind: 'again' } as const) }));
  return { batch, ends, isPlain: ends.every(({ end }) => end.kind === 'left' && end.answer?.as === 'accepted') };
}

/** Stores the answers; returns the batch with the rows that have to be settled, or null if none are left. */
async function storeAnswers(run: TablePush, { batch, ends, isPlain }: Answered): Promise<Batch | null> {
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
    const openIds = open.map(({ row }) => row.id);
    const outcomes = readRowFacts(tx, table, openIds).map((known, index) => {
      const { row, end } = must(open[index], 'facts come in the order of the rows');
      return decideUnanswered(known, row, end, table.columns);
    });
    applyOutcome(tx, table, { outcomes, nowMs: context.clock.nowMs() });
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

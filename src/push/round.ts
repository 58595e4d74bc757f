/**
 * One round of the push of a table: its edited rows, kind after kind and a block at a time. So memory does not grow
 * with the number of edits. The edits at the beginning of a round bound its requests. The process may end between any
 * two steps of a batch: stored batches are settled later.
 */
import type { RowsyncError } from '../base/errors.ts';
import { runPipeline, type Turn } from '../base/pipeline.ts';
import { BATCH_LIMITS, CHANGE_KINDS, type ChangeKind } from '../reconcile/push-plan.ts';
import { readEditedIds } from '../replica/bookkeeping/row-states.ts';
import { type IdBlock, type Round, type TablePush, step } from './context.ts';
import { recordBatch } from './record-batch.ts';
import { sendBatch, UNSENT, withEnds } from './send.ts';
import { isUndone } from '../reconcile/push-answer.ts';
import { readBackBatch, settleBatch } from './settle.ts';
import { readBlock } from './find-rows.ts';
import { type Batch, updateBatch } from '../replica/bookkeeping/batches.ts';

/** Edited rows when the round began, by kind: no more are sent, since a guard has judged this number. */
export type Edits = Readonly<Record<ChangeKind, number>>;

/** One batch is settled while the next is written, one waits for that, and the rows of one more are read. */
const DEPTH = 4;

/** How many may be read or recorded before it is their turn: a longer look ahead is an older one. */
const AHEAD = 2;

/** Sends the edited rows of a table once; returns what stops it, or null. @throws RowsyncError. */
export async function pushRound(
  run: TablePush,
  { edits, ...order }: Pick<Round, 'confirmed' | 'isLast'> & { readonly edits: Edits },
): Promise<RowsyncError | null> {
  run.tally.isNarrowing = false;
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

  /** The next rows; null at the end, and, while rows are under way that others may merge with, before another kind. */
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
    const { context, table, tally } = this.#run;
    const { isReversed } = tally.push;
    const { rowsMax } = { ...BATCH_LIMITS, ...context.settings.batchLimits };
    const count = Math.min(rowsMax, this.#left[kind]);
    if (count === 0) return [];
    const ids = readEditedIds(context.replica, table, { kind, after: this.#after, count, isReversed });
    this.#after = ids.at(-1) ?? this.#after;
    this.#left[kind] -= ids.length;
    return ids;
  }
}

const PUSH_LANES = ['record', 'send', 'settle'] as const;

type PushTurn = Turn<(typeof PUSH_LANES)[number]>;

/** Pushes one block beside others of its kind; returns what stops the table. @throws RowsyncError `guard.deletes`, … */
async function pushBatch(run: TablePush, block: IdBlock, round: Round, turn: PushTurn): Promise<RowsyncError | null> {
  const found = await readBlock(run, block);
  if (!found.mayGoAhead) await turn.alone();
  const recorded = await turn.enter('record', async () => (turn.isStopped() ? null : recordBatch(run, found, round)));
  if (recorded === null) return null;
  const sent = await turn.enter('send', async () => {
    const { unpublished } = recorded;
    const isLeft = turn.isStopped() || unpublished !== null;
    const unsent = { batch: withEnds(recorded.batch, new Map()), stop: unpublished };
    const { batch, stop } = isLeft ? unsent : await sendBatch(run, recorded.batch);
    if (stop !== null) turn.stop();
    const settling = settle(run, batch, turn);
    // A row that was refused or lost may concern the rows of the next batch.
    if (batch.rows.some(({ answer }) => answer?.as !== 'accepted')) await settling;
    return { stop, settling };
  });
  await sent.settling;
  return sent.stop;
}

async function settle(run: TablePush, batch: Batch, turn: PushTurn): Promise<void> {
  await run.context.origin.requestsLeave(); // the next batch, before storing keeps the event loop busy
  await step(run, 'store');
  await storeAnswers(run, batch);
  const findings = await readBackBatch(run, batch, { isAtOnce: true });
  await turn.enter('settle', () => settleBatch(run, batch, findings));
}

/** Stores ids of new rows, and which were refused and leave again after a crash; others are then looked up by id. */
async function storeAnswers({ context, table }: TablePush, { id: batchId, rows }: Batch): Promise<void> {
  if (!rows.some(({ kind, answer }) => kind === 'insert' && answer !== null)) return;
  const stored = rows.map((row) => (isUndone(row) ? { ...row, ...UNSENT } : row));
  await context.replica.write(`Storing the answer to a batch of ${table.localName}`, (tx) =>
    updateBatch(tx, table, batchId, stored),
  );
}

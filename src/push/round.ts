/**
 * One round of the push of a table. Its edited rows, kind after kind and a block at a time, so that memory does not grow with the number of edits.
 * While one batch is in flight, the one before is settled, and the origin reads for the next one. The edits at the beginning of a round bound its
 * requests.
 */
import type { RowsyncError } from '../base/errors.ts';
import { diffRows } from '../capture/changes.ts';
import { readEditedIds } from '../capture/marks.ts';
import { CHANGE_KINDS, type ChangeKind } from '../reconcile/push-plan.ts';
import { sendBatch, type BatchEnd } from './batch.ts';
import type { TablePush } from './context.ts';
import { planChanges, planOptions } from './plan.ts';
import { record, reread, type Block } from './record.ts';
import { readUploads, type Uploads } from './upload.ts';

/** The number of ids in one Retrieve or Delete. */
const BLOCK_ROWS_MAX = 500;

/** The input of a round. */
export interface RoundOrder {
  /** Edited rows when the round began: no more are sent, since a guard has judged this number. */
  readonly edits: Readonly<Record<ChangeKind, number>>;
  readonly confirmed: boolean;
  /** No other round follows in this push. */
  readonly isLast: boolean;
}

/** Sends the edited rows of a table once. Returns what stops the table; null for nothing. @throws RowsyncError of origin and replica. */
export async function sendRound(run: TablePush, order: RoundOrder): Promise<RowsyncError | null> {
  const round = new Round(run, order);
  try {
    return await round.send();
  } finally {
    // Accepted rows are settled even while another error is thrown.
    await round.settle().catch(() => undefined);
  }
}

class Round {
  readonly #run: TablePush;
  readonly #order: RoundOrder;
  readonly #queue: BlockQueue;
  #ahead: Promise<Block | null> | null = null;
  #unsettled: BatchEnd['settle'] = null;

  constructor(run: TablePush, order: RoundOrder) {
    this.#run = run;
    this.#order = order;
    run.progress.isNarrowing = false;
    this.#queue = new BlockQueue(run, order.edits);
  }

  async send(): Promise<RowsyncError | null> {
    // Ends: every block takes rows off the queue.
    for (;;) {
      const block = await (this.#ahead ?? this.#rereadNext());
      this.#ahead = null;
      if (block === null) {
        await this.settle();
        return null;
      }
      const stop = await this.#sendBlock(block);
      if (stop !== null) return stop;
    }
  }

  /** Settles the batch that waits for it. */
  async settle(): Promise<void> {
    const settle = this.#unsettled;
    this.#unsettled = null;
    await settle?.();
  }

  async #sendBlock(block: Block): Promise<RowsyncError | null> {
    // Before inserts and deletes, earlier rows have to be settled: a new row may be merged with one, and a delete may make way for one.
    if (block.kind !== 'update') await this.settle();
    const uploads = await uploadsOf(this.#run, block);
    const { confirmed, isLast } = this.#order;
    const { batch, rows, rest } = await record(this.#run, block, { confirmed, isLast, uploads });
    this.#queue.putBack(rest);
    if (batch === null) return null;
    const sending = sendBatch(this.#run, batch, { contents: uploads.contents, recorded: rows });
    const [end, settled] = await Promise.allSettled([sending, this.#workWhileSending(block.kind)]);
    if (end.status === 'rejected') throw end.reason;
    this.#unsettled = end.value.settle;
    if (settled.status === 'rejected') throw settled.reason;
    if (!end.value.isApart) await this.settle();
    return end.value.stop;
  }

  /** While the origin works on a batch, the rows of the next one are requested, and the one before is settled. */
  async #workWhileSending(kind: ChangeKind): Promise<void> {
    await this.#run.context.origin.requestsLeave(); // settling keeps the event loop busy for longer than the origin works
    // Match values are looked up once the origin has answered the batch before.
    if (kind === 'update' && this.#queue.kind() === 'update') {
      this.#ahead = this.#rereadNext();
      this.#ahead.catch(() => undefined); // thrown where it is waited for; nobody does if this batch fails
      await this.#run.context.origin.requestsLeave();
    }
    await this.settle();
  }

  async #rereadNext(): Promise<Block | null> {
    const next = this.#queue.next();
    return next === null ? null : reread(this.#run, next.kind, next.ids);
  }
}

/** The files of the rows that leave first, as far as known before the rows are recorded. */
async function uploadsOf(run: TablePush, { kind, ids }: Block): Promise<Uploads> {
  const { context, table, planned } = run;
  const mayAttach = kind !== 'delete' && table.columns.some(({ type, writable }) => writable && type === 'Attachment');
  if (!mayAttach) return { files: new Map(), problems: new Map(), contents: new Map() };
  const changes = diffRows(context.replica, table, ids).filter(({ state }) => state === 'edited');
  const [first] = planChanges(changes, planned, planOptions(context)).batches;
  return readUploads(run, first?.rows ?? []);
}

/** The ids of edited rows, a block at a time. */
class BlockQueue {
  readonly #run: TablePush;
  readonly #left: Record<ChangeKind, number>;
  readonly #kinds: ChangeKind[] = [...CHANGE_KINDS];
  #after: number | null = null;
  #rest: readonly number[] = [];

  constructor(run: TablePush, edits: RoundOrder['edits']) {
    this.#run = run;
    this.#left = { ...edits };
  }

  /** The kind of the next rows; null at the end. */
  kind(): ChangeKind | null {
    for (let kind = this.#kinds[0]; kind !== undefined; kind = this.#kinds[0]) {
      if (this.#rest.length === 0) this.#rest = this.#read(kind);
      if (this.#rest.length > 0) return kind;
      this.#kinds.shift();
      this.#after = null;
    }
    return null;
  }

  /** The next rows; null at the end. */
  next(): { readonly kind: ChangeKind; readonly ids: readonly number[] } | null {
    const kind = this.kind();
    const ids = this.#rest;
    this.#rest = [];
    return kind === null ? null : { kind, ids };
  }

  /** Gives rows back that did not fit into a batch; they come first. */
  putBack(ids: readonly number[]): void {
    this.#rest = ids;
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

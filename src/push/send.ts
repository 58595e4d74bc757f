/**
 * Sends the rows of one batch, and finds the outcome of each. A request that is refused whole, or aborted because a
 * file changed, is sent again in halves until the row at fault is alone. That is at most twice as many requests as
 * rows, and far fewer if the table itself is refused (LONE_REFUSALS_MAX). A request with an unknown outcome is never
 * sent again (I4).
 */
import { asRowsyncError, RowsyncError, type Refusal } from '../base/errors.ts';
import {
  areStatusesInOrder,
  isRightLost,
  isRowAtFault,
  judgeAnswer,
  judgeRefusal,
  LONE_REFUSALS_MAX,
  madeIds,
  NO_STATUS,
  UNANSWERED_MAX,
  type OriginWords,
  type RowEnd,
} from '../reconcile/push-answer.ts';
import type { WriteMethod } from '../reconcile/push-plan.ts';
import type { BatchRow } from '../reconcile/push-settle.ts';
import { baseTarget } from '../replica/base-comparison.ts';
import { readRowsById } from '../replica/rows.ts';
import type { OutgoingFile } from '../wire/write-body.ts';
import type { OutgoingRow, StatusDescriptor } from '../wire/writes.ts';
import { must } from '../base/assert.ts';
import { step, type TablePush } from './context.ts';
import type { Batch } from '../replica/bookkeeping/batches.ts';
import { contentOf } from './attached-files.ts';

/** A batch with the end of each row, and what stopped the table or the whole push. */
export interface Sent {
  readonly batch: Batch;
  readonly stop: RowsyncError | null;
}

export const UNSENT: RowEnd = { answer: { as: 'unsent', id: null, refusal: null } };

/** A batch with the ends of its rows; one that was not reached certainly did not arrive. */
export function withEnds(batch: Batch, endById: ReadonlyMap<number, RowEnd>): Batch {
  return { ...batch, rows: batch.rows.map((row) => ({ ...row, ...(endById.get(row.id) ?? UNSENT) })) };
}

/** Sends a recorded batch with its files. Never throws for an answer of the origin. */
export async function sendBatch(run: TablePush, batch: Batch): Promise<Sent> {
  await step(run, 'send');
  const sending = new Sending(run, batch.method);
  await sending.send(batch.rows);
  return sending.end(batch);
}

/** After too many unanswered requests the rest waits for the next push; rows found to be at fault leave no more. */
function tooManyUnanswered({ table, tally }: TablePush): RowsyncError | null {
  if (tally.unansweredCount < UNANSWERED_MAX) return null;
  return new RowsyncError('originDown', 'push.unanswered', {
    message: `${table.localName}: ${UNANSWERED_MAX} requests ended without an answer about their rows; the other changes wait for the next push`,
    hint: 'rowsync failures shows what came in place of an answer. Ask whoever runs the firewall or the proxy on the way to the origin.',
  });
}

class Sending {
  readonly #run: TablePush;
  readonly #method: WriteMethod;
  readonly #endById = new Map<number, RowEnd>();
  readonly #alone: number[] = [];
  #isAnswered = false;
  #isOriginThere: boolean | null = null;
  /** An answer got lost: the other rows wait until the origin was asked. */
  #isUnclear = false;
  #stop: RowsyncError | null = null;

  constructor(run: TablePush, method: WriteMethod) {
    this.#run = run;
    this.#method = method;
  }

  async send(rows: readonly BatchRow[]): Promise<void> {
    if (this.#stop !== null || this.#isUnclear) return;
    try {
      this.#answered(rows, await request(this.#run, this.#method, rows));
    } catch (thrown) {
      const error = asRowsyncError(thrown);
      if (error.kind === 'bug') throw thrown;
      await this.#failed(rows, error);
    }
  }

  end(batch: Batch): Sent {
    const { rows } = batch;
    const isForbidden = rows.length > 1 && rows.every(({ id }) => isRightLost(this.#endById.get(id)));
    return isForbidden
      ? { batch: withEnds(batch, new Map()), stop: forbidden(this.#run) }
      : { batch: withEnds(batch, this.#endById), stop: this.#stop ?? tooManyUnanswered(this.#run) };
  }

  #answered(rows: readonly BatchRow[], statuses: readonly StatusDescriptor[]): void {
    if (!areStatusesInOrder(rows, statuses) || this.#isKnown(madeIds(rows, statuses))) {
      // The answer was changed on its way, or belongs to another request: it proves nothing about any row.
      this.#setUnknown(rows, { status: 200, code: null, message: 'the answer is not about these rows', source: null });
      return;
    }
    this.#isAnswered = true;
    for (const [index, status] of statuses.entries()) {
      const row = must(rows[index], 'there is a status for each row');
      this.#endById.set(row.id, { answer: judgeAnswer(row, status) });
    }
  }

  /** Whether one of the ids belongs to a known row, or to another part of the batch. */
  #isKnown(ids: readonly number[]): boolean {
    const answered = this.#endById.values().map(({ answer }) => answer?.id);
    if (answered.some((id) => typeof id === 'number' && ids.includes(id))) return true;
    const { context, table } = this.#run;
    return readRowsById(context.replica, baseTarget(table), ids).size > 0;
  }

  async #failed(rows: readonly BatchRow[], error: RowsyncError): Promise<void> {
    if (error.code === 'origin.unknownOutcome') {
      this.#setUnknown(rows, wordsOfUnanswered(error));
      this.#isUnclear = true;
      // Rows that cannot be looked up do not show whether the origin can be reached.
      if (this.#method === 'create') await this.#requireOrigin();
      return;
    }
    const row = must(rows[0], 'a request has a row');
    // A file changed after it was recorded. The origin accepted nothing of the request, and the next plan reads the
    // file anew; the other rows need not wait for it.
    if (error.code === 'origin.cutShort') {
      if (rows.length > 1) await this.#sendHalves(rows);
      else this.#endById.set(row.id, CHANGING);
      return;
    }
    const { refusal } = error;
    if (refusal === null || !(await this.#mayBeOfOneRow(refusal))) {
      this.#stop ??= error;
      return;
    }
    if (rows.length > 1) {
      await this.#sendHalves(rows);
    } else {
      const { status, code, words: message, source } = refusal;
      const errors = [{ error: status, code, message, source }];
      this.#endById.set(row.id, { answer: judgeAnswer(row, { status, id: null, key: null, errors }) });
      if (isRowAtFault(refusal)) return;
      this.#alone.push(row.id);
      if (!this.#isAnswered && this.#alone.length >= LONE_REFUSALS_MAX) this.#stopTable(error);
    }
  }

  /** Only a part of the request may be at fault. */
  async #sendHalves(rows: readonly BatchRow[]): Promise<void> {
    const half = Math.ceil(rows.length / 2);
    await this.send(rows.slice(0, half));
    await this.send(rows.slice(half));
  }

  /** No row passed: the rows are not at fault, and stay as they are. */
  #stopTable(error: RowsyncError): void {
    for (const id of this.#alone) this.#endById.delete(id);
    this.#stop = error.refusal?.status === 403 ? forbidden(this.#run) : error;
  }

  /** Whether a part may succeed. A refusal without words is another server's; a question shows if that blocks all. */
  async #mayBeOfOneRow(refusal: Refusal): Promise<boolean> {
    const verdict = judgeRefusal(refusal);
    if (verdict !== 'ask') return verdict === 'split';
    this.#isOriginThere ??= await this.#requireOrigin();
    return this.#isOriginThere;
  }

  async #requireOrigin(): Promise<boolean> {
    const { origin, signal } = this.#run.context;
    try {
      await origin.user({ signal });
      return true;
    } catch (thrown) {
      this.#stop ??= asRowsyncError(thrown);
      return false;
    }
  }

  #setUnknown(rows: readonly BatchRow[], words: OriginWords): void {
    this.#run.tally.unansweredCount += 1;
    const unanswered = { rowCount: rows.length, words };
    for (const { id } of rows) this.#endById.set(id, { answer: null, unanswered });
  }
}

/** What came instead of an answer, as the end of a sentence. */
function wordsOfUnanswered({ cause, message }: RowsyncError): OriginWords {
  const failed = cause instanceof RowsyncError ? cause : null;
  const isUnreadable = failed?.code === 'origin.unexpected';
  const { status = isUnreadable ? 200 : NO_STATUS, words = '' } = failed?.refusal ?? {};
  const came = (failed?.message ?? message).replace(/^[^:]*: /, '');
  const said = isUnreadable ? `the answer cannot be read: ${came}` : came;
  return { status, code: null, message: words === '' ? said : `${said} ("${words}")`, source: null };
}

function forbidden({ table }: TablePush): RowsyncError {
  return new RowsyncError('auth', 'push.forbidden', {
    message: `${table.localName}: the origin refuses every change, the calling user may not write this table (any more)`,
    hint: 'Nothing is lost: the changes wait here. Give the role of the calling user the right to write, then run rowsync push.',
  });
}

function request(run: TablePush, method: WriteMethod, rows: readonly BatchRow[]): Promise<readonly StatusDescriptor[]> {
  const { context, address: table, options, zone, planned } = run;
  const { origin, signal } = context;
  const { workflow, purges: purge } = options;
  if (method === 'delete') return origin.delete({ table, ids: rows.map(({ id }) => id), workflow, purge }, { signal });
  const files: OutgoingFile[] = [];
  const outgoing = rows.map((row) => outgoingRow(run, row, files));
  const write = { table, rows: outgoing, zone, workflow, files };
  if (method === 'create') return origin.create(write, { signal });
  if (method === 'update') return origin.update(write, { signal });
  const match = must(
    run.table.columns[must(planned.match, 'an upsert has a match column')],
    'it is one of the columns',
  );
  return origin.upsert({ ...write, match: addressOf(match) }, { signal });
}

/** The name of a column in a request: its alias, if it has one, survives a rename between our read and our change. */
function addressOf({ alias, name }: { readonly alias: string; readonly name: string }): string {
  return alias === '' ? name : alias;
}

/** A row of the origin is identified by its id. A file becomes a part of the request, which its cell names. */
function outgoingRow(run: TablePush, { id, cells }: BatchRow, files: OutgoingFile[]): OutgoingRow {
  return {
    id: id > 0 ? id : null,
    cells: cells.map(({ column, value, file }) => {
      const named = must(run.table.columns[column], 'a cell names a column of its table');
      const { type } = named;
      const name = addressOf(named);
      if (file === undefined) return { name, type, value };
      const contentId = `file-${files.length + 1}`;
      files.push({ contentId, name: file.name, type: file.type, bytes: contentOf(run, file) });
      return { name, type, value: `cid:${contentId}` };
    }),
  };
}

/** It certainly did not happen: its file changed after the row was recorded. */
const CHANGING: RowEnd = { answer: { as: 'refused', id: null, refusal: null } };

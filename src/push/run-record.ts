/**
 * Records a push in `sync_runs`. The record is opened before the first changing request, so that a push that is killed later is visible. A push that
 * finds nothing to send is recorded when it ends.
 */
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { closeRun, openRun } from '../replica/bookkeeping/runs.ts';
import type { ChangeCause } from '../replica/connection.ts';
import type { PushContext } from './context.ts';
import type { PushReport } from './report.ts';

/** One run, and the cause of what it changes: its number once it is opened. */
export class PushRun implements ChangeCause {
  readonly cause = 'push';
  runId: number | null = null;
  readonly #context: Pick<PushContext, 'replica' | 'clock'>;
  readonly #startedAt: string;
  #opening: Promise<number> | null = null;

  constructor(context: Pick<PushContext, 'replica' | 'clock'>) {
    this.#context = context;
    this.#startedAt = this.#now();
  }

  /** Records that the push has begun; only the first call does so. @throws RowsyncError of the replica. */
  async open(): Promise<void> {
    const { replica } = this.#context;
    this.#opening ??= replica.write('Recording a run', (tx) => openRun(tx, 'push', this.#startedAt));
    this.runId = await this.#opening;
  }

  /**
   * Stores the result of the push. If the run was opened, an error while storing it (a full disk) is returned, so that the report is not lost.
   * @throws RowsyncError of the replica if nothing was sent and the run cannot be recorded.
   */
  async close(
    report: Omit<PushReport, 'runId'>,
  ): Promise<{ readonly id: number; readonly error: RowsyncError | null }> {
    const { replica } = this.#context;
    const totals = { ...report, notModifiedCount: 0, receivedBytes: 0 };
    const opened = await this.#opening?.catch(() => null);
    const write = (): Promise<number> =>
      replica.write('Recording a run', (tx) => {
        const id = opened ?? openRun(tx, 'push', this.#startedAt);
        closeRun(tx, id, this.#now(), totals);
        return id;
      });
    if (opened === undefined || opened === null) return { id: await write(), error: null };
    try {
      return { id: await write(), error: null };
    } catch (thrown) {
      return { id: opened, error: asRowsyncError(thrown) };
    }
  }

  #now(): string {
    return stampFromMs(this.#context.clock.nowMs());
  }
}

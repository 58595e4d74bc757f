/**
 * When the daemon asks whether the replica is whole: before its first work, once a day, and before any work after damage was met.
 * Input: the time, and what kept work from being done. Output: nothing, or the error that keeps all work waiting until a person has mended the
 * file (`replica.damaged`, one of the declared stops).
 */
import type { RowsyncError } from '../base/errors.ts';
import { checkWhole } from '../replica/wholeness.ts';

/** Between two looks at a file that was whole. */
const LOOK_EVERY_MS = 24 * 60 * 60_000;

/** Watches one replica file. */
export class WholeWatch {
  readonly #path: string;
  #lookedAtMs: number | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Looks if it is time. @throws RowsyncError `replica.damaged`. */
  async look(nowMs: number): Promise<void> {
    if (this.#lookedAtMs !== null && nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    await checkWhole(this.#path);
    this.#lookedAtMs = nowMs;
  }

  /** Takes note of what kept work from being done: where it was damage, the next look is due at once. */
  note(error: RowsyncError): void {
    if (error.code === 'replica.damaged') this.#lookedAtMs = null;
  }
}

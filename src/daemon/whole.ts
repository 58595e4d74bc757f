/**
 * When the daemon checks whether the replica is whole: before its first work, once a day, and before any work after damage was found. Input: the
 * time, and errors of work. Output: nothing, or the error that keeps all work waiting until a person has repaired the file (`replica.damaged`).
 */
import type { RowsyncError } from '../base/errors.ts';
import { checkWhole } from '../replica/wholeness.ts';

/** Between two checks of a file that was whole. */
const LOOK_EVERY_MS = 24 * 60 * 60_000;

/** Watches one replica file. */
export class WholeWatch {
  readonly #path: string;
  #lookedAtMs: number | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Checks the file if it is time. @throws RowsyncError `replica.damaged`. */
  async look(nowMs: number): Promise<void> {
    if (this.#lookedAtMs !== null && nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    await checkWhole(this.#path);
    this.#lookedAtMs = nowMs;
  }

  /** Notes an error of work: after damage, the next check is due at once. */
  note(error: RowsyncError): void {
    if (error.code === 'replica.damaged') this.#lookedAtMs = null;
  }
}

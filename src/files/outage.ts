/**
 * Telling one file that cannot be had from an origin that cannot be reached. The first must hold up no other, after the second
 * every further request only costs time. Pure but for its own state.
 */
import type { RowsyncError } from '../base/errors.ts';

/** Requests in a row that failed as they do when the origin is down, each one tried as often as the client tries. */
const OUTAGES_MAX = 3;

/** Listens to how requests end. */
export class OutageWatch {
  #inARow = 0;
  #isOver = false;

  /** Whether no request would do better, so that none is made. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes note of a failure, or of a success (null). @throws the error itself where no other request would do better. */
  note(error: RowsyncError | null): void {
    if (error === null || !(error.kind === 'originDown' || error.kind === 'auth')) {
      if (error?.kind === 'replica' || error?.kind === 'bug') throw error;
      this.#inARow = 0;
      return;
    }
    this.#inARow += 1;
    const isFinal = error.code === 'origin.stopped' || error.code === 'origin.unauthorized';
    this.#isOver ||= isFinal || this.#inARow >= OUTAGES_MAX;
    if (this.#isOver) throw error;
  }
}

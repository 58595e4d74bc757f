/**
 * Decides whether a failed download concerns one file or the whole origin. A bad file holds up no other; when the
 * origin is down, no more is asked. Pure but for its own state.
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

  /** Notes a failure, or a success (null). @throws the error itself where no other request would do better. */
  note(error: RowsyncError | null): void {
    const isOfOrigin = error?.kind === 'originDown' || error?.kind === 'auth';
    this.#inARow = isOfOrigin ? this.#inARow + 1 : 0;
    if (error === null) return;
    const isFinal = error.code === 'origin.stopped' || error.code === 'origin.unauthorized';
    const isOfUs = error.kind === 'replica' || error.kind === 'bug';
    this.#isOver ||= isFinal || isOfUs || this.#inARow >= OUTAGES_MAX;
    if (isOfUs || (isOfOrigin && this.#isOver)) throw error;
  }
}

/**
 * Everything that is going to happen in a simulated world, in one list: answers on their way, timers, engines that
 * paused. Each has a virtual time at which it is due; the runner of the world decides which of the next ones happens
 * first. Between two of them the event loop runs dry, so that nothing depends on how fast anything is. Virtual time
 * only.
 */

/** Ends a world at once; what was wrong stands in it. */
export class Ended extends Error {
  override readonly name = 'Ended';
}

/** Something that is going to happen. */
export interface Pending {
  readonly what: string;
  readonly dueMs: number;
  /** Dropped together with its owner; null where it happens in any case. */
  readonly owner: object | null;
  readonly run: () => void;
}

/** How far the order of what is due may be changed: longer waits stay behind shorter ones. */
const REORDER_MS = 2_000;

/** The list, and the time. */
export class Scheduler {
  /** Virtual milliseconds since the world began; never goes backwards. */
  nowMs = 0;
  #pending: Pending[] = [];

  /** Puts something on the list; returns it, so that it can be cancelled. */
  add(what: string, delayMs: number, owner: object | null, run: () => void): Pending {
    const pending = { what, dueMs: this.nowMs + Math.max(0, delayMs), owner, run };
    // In the order of their times, and of those in the order in which they came.
    let index = this.#pending.length;
    while (index > 0 && (this.#pending[index - 1]?.dueMs ?? 0) > pending.dueMs) index -= 1;
    this.#pending.splice(index, 0, pending);
    return pending;
  }

  /** Takes something off the list; it will not happen. */
  cancel(pending: Pending): void {
    const index = this.#pending.indexOf(pending);
    if (index >= 0) this.#pending.splice(index, 1);
  }

  /** Takes off the list what belongs to someone who is no more. */
  drop(owner: object): void {
    this.#pending = this.#pending.filter((pending) => pending.owner !== owner);
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /**
   * Lets one thing happen: the next one, or with `choice` > 0 one of those that are due soon after. Returns what it
   * was.
   */
  step(choice: (count: number) => number): string | null {
    const [first] = this.#pending;
    if (first === undefined) return null;
    let near = 1;
    while ((this.#pending[near]?.dueMs ?? Infinity) <= first.dueMs + REORDER_MS) near += 1;
    const [chosen] = this.#pending.splice(near === 1 ? 0 : choice(near), 1);
    if (chosen === undefined) throw new Error('The choice lies outside of the list');
    this.nowMs = Math.max(this.nowMs, chosen.dueMs);
    chosen.run();
    return chosen.what;
  }
}

/** Resolves when everything that can continue without the scheduler has gone on. */
export function runDry(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** A promise that never resolves: what a dead process waits for. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/**
 * Decisions of people while the daemon runs, from its page or the command line. They wait here until no work runs. The
 * daemon itself carries them out, so that the replica has only one writer. The person gets an answer within seconds:
 * what was done, or that nothing was.
 */
import { stampFromMs, type Clock } from '../../base/clock.ts';
import { asRowsyncError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { carryOutDecision, type PersonDecision } from '../../capture/person-decision.ts';
import type { DecisionAnswer } from '../../extra.ts';
import type { Replica } from '../../replica/database.ts';

/** Longest wait for the work under way; a person looks at a page meanwhile. */
const WAIT_MS_MAX = 10_000;
/** Decisions that wait at once; people do not make more. */
const WAITING_MAX = 100;

const BUSY = 'nothing was changed: the daemon is busy; try again when its current job is done';

interface QueuedDecision {
  readonly decision: PersonDecision;
  /** Aborted when the person no longer waits. */
  readonly signal: AbortSignal;
  readonly settle: (answer: DecisionAnswer) => void;
}

export class DecisionQueue {
  readonly #clock: Clock;
  readonly #onAsked: () => void;
  #waiting: QueuedDecision[] = [];

  /** `onAsked` wakes the daemon. */
  constructor(clock: Clock, onAsked: () => void) {
    this.#clock = clock;
    this.#onAsked = onAsked;
  }

  /** Hands a decision over and waits for its result. Never rejects. */
  async ask(decision: PersonDecision): Promise<DecisionAnswer> {
    if (this.#waiting.length >= WAITING_MAX) return { kind: 'busy', words: BUSY };
    const given = new AbortController();
    const answered = new AbortController();
    const { promise: answer, resolve: settle } = Promise.withResolvers<DecisionAnswer>();
    this.#waiting.push({ decision, signal: given.signal, settle });
    this.#onAsked();
    const late = this.#clock.sleep(WAIT_MS_MAX, answered.signal).then((): DecisionAnswer | null => null);
    const first = await Promise.race([answer, late]);
    answered.abort();
    if (first !== null) return first;
    given.abort();
    // Either it is still waiting, and is dropped, or a transaction is carrying it out now.
    const isLeft = this.#waiting.some(({ signal }) => signal === given.signal);
    this.#waiting = this.#waiting.filter(({ signal }) => signal !== given.signal);
    return isLeft ? { kind: 'busy', words: BUSY } : answer;
  }

  /** Carries out all that waits, one transaction each; says whether anything was done. Never rejects. */
  async carryOut({ replica, log }: { readonly replica: Replica; readonly log: Logger }): Promise<boolean> {
    let isDone = false;
    // Ends: only so many wait at once, and each has a transaction that gives up.
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const answer = await this.#carryOutOne(replica, next);
      if (answer.kind === 'done') {
        isDone = true;
        log.info('person.decided', { reason: next.decision.kind });
      }
      next.settle(answer);
    }
    return isDone;
  }

  close(): void {
    for (const { settle } of this.#waiting)
      settle({ kind: 'busy', words: 'nothing was changed: the daemon is stopping' });
    this.#waiting = [];
  }

  async #carryOutOne(replica: Replica, { decision, signal }: QueuedDecision): Promise<DecisionAnswer> {
    const at = stampFromMs(this.#clock.nowMs());
    try {
      return await carryOutDecision(replica, decision, at, signal);
    } catch (thrown) {
      return { kind: 'failed', words: `nothing was changed: ${asRowsyncError(thrown).message}` };
    }
  }
}

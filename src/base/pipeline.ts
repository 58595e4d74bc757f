/**
 * Runs items through stages that overlap. A lane is a stage that one item enters at a time, in the order of the items. An item may also wait until all
 * before it have ended. Knows nothing of what the items are.
 */

/** The place of one item among the others. */
export interface Turn<Lane extends string> {
  /** Runs work once every earlier item has left the lane; later ones wait until the work has ended. Once for each lane. */
  readonly enter: <R>(lane: Lane, work: () => Promise<R>) => Promise<R>;
  /** Waits until every earlier item has ended. */
  readonly alone: () => Promise<void>;
  /** No more items begin. Those under way ask `isStopped` before what must not happen any more. */
  readonly stop: () => void;
  /** Also true once an item failed. */
  readonly isStopped: () => boolean;
}

/** How much overlaps. */
export interface PipelineOptions<Lane extends string> {
  readonly lanes: readonly Lane[];
  /** Items under way at most. */
  readonly depth: number;
  /** Items at most that have begun and not yet entered this lane. */
  readonly ahead: { readonly lane: Lane; readonly count: number };
}

/** Takes items from `next` until it returns null while none is under way (`isIdle`). All have ended when the first failure is thrown. */
export async function runPipeline<T, Lane extends string>(
  next: (isIdle: boolean) => T | null,
  options: PipelineOptions<Lane>,
  run: (item: T, turn: Turn<Lane>) => Promise<void>,
): Promise<void> {
  await new Pipeline(options, run).takeAll(next);
}

/** Where an item is; each resolves only after the same of the item before. */
interface Passed<Lane extends string> {
  readonly lanes: ReadonlyMap<Lane, PromiseWithResolvers<void>>;
  readonly end: PromiseWithResolvers<void>;
}

class Pipeline<T, Lane extends string> {
  readonly #options: PipelineOptions<Lane>;
  readonly #run: (item: T, turn: Turn<Lane>) => Promise<void>;
  readonly #failures: unknown[] = [];
  #isStopped = false;
  #underWayCount = 0;
  #aheadCount = 0;
  #last: Passed<Lane> | null = null;
  /** Resolves when an item has ended, or is no longer ahead. */
  #change = Promise.withResolvers<void>();

  constructor(options: PipelineOptions<Lane>, run: (item: T, turn: Turn<Lane>) => Promise<void>) {
    this.#options = options;
    this.#run = run;
  }

  async takeAll(next: (isIdle: boolean) => T | null): Promise<void> {
    const { depth, ahead } = this.#options;
    for (;;) {
      while (!this.#isStopped && this.#underWayCount < depth && this.#aheadCount < ahead.count) {
        const item = next(this.#underWayCount === 0);
        if (item === null) break;
        this.#begin(item);
      }
      if (this.#underWayCount === 0) break;
      this.#change = Promise.withResolvers<void>();
      await this.#change.promise;
    }
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #begin(item: T): void {
    const { lanes, ahead } = this.#options;
    const before = this.#last;
    const passed = {
      lanes: new Map(lanes.map((lane) => [lane, Promise.withResolvers<void>()])),
      end: Promise.withResolvers<void>(),
    };
    this.#last = passed;
    this.#underWayCount += 1;
    this.#aheadCount += 1;
    let isAhead = true;
    const leaveAhead = (): void => {
      if (isAhead) this.#aheadCount -= 1;
      isAhead = false;
      this.#change.resolve();
    };
    const turn: Turn<Lane> = {
      enter: async (lane, work) => {
        await before?.lanes.get(lane)?.promise;
        if (lane === ahead.lane) leaveAhead();
        try {
          return await work();
        } catch (thrown) {
          this.#fail(thrown); // before the next item enters
          throw thrown;
        } finally {
          passed.lanes.get(lane)?.resolve();
        }
      },
      alone: () => before?.end.promise ?? Promise.resolve(),
      stop: () => void (this.#isStopped = true),
      isStopped: () => this.#isStopped,
    };
    const end = (): void => {
      for (const [lane, { resolve }] of passed.lanes) resolve(before?.lanes.get(lane)?.promise);
      passed.end.resolve(before?.end.promise);
      this.#underWayCount -= 1;
      leaveAhead();
    };
    this.#run(item, turn)
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(end);
  }

  #fail(thrown: unknown): void {
    this.#failures.push(thrown);
    this.#isStopped = true;
  }
}

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
  const pipeline = new Pipeline(options);
  for (;;) {
    while (pipeline.hasRoom()) {
      const item = next(pipeline.isIdle());
      if (item === null) break;
      pipeline.begin((turn) => run(item, turn));
    }
    if (pipeline.isIdle()) break;
    await pipeline.hasChanged();
  }
  pipeline.throwFailure();
}

/** Where an item is; each resolves only after the same of the item before. */
interface Passed<Lane extends string> {
  readonly lanes: ReadonlyMap<Lane, PromiseWithResolvers<void>>;
  readonly end: PromiseWithResolvers<void>;
}

class Pipeline<Lane extends string> {
  readonly #options: PipelineOptions<Lane>;
  readonly #failures: unknown[] = [];
  #isStopped = false;
  #underWayCount = 0;
  #aheadCount = 0;
  #last: Passed<Lane> | null = null;
  #change = Promise.withResolvers<void>();

  constructor(options: PipelineOptions<Lane>) {
    this.#options = options;
  }

  isIdle(): boolean {
    return this.#underWayCount === 0;
  }

  hasRoom(): boolean {
    const { depth, ahead } = this.#options;
    return !this.#isStopped && this.#underWayCount < depth && this.#aheadCount < ahead.count;
  }

  /** Waits until an item has ended, or is no longer ahead. */
  hasChanged(): Promise<void> {
    this.#change = Promise.withResolvers<void>();
    return this.#change.promise;
  }

  throwFailure(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  begin(run: (turn: Turn<Lane>) => Promise<void>): void {
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
    const isAheadNoMore = (): void => {
      if (isAhead) this.#aheadCount -= 1;
      isAhead = false;
      this.#change.resolve();
    };
    const turn: Turn<Lane> = {
      enter: async (lane, work) => {
        await before?.lanes.get(lane)?.promise;
        if (lane === ahead.lane) isAheadNoMore();
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
      isAheadNoMore();
    };
    run(turn)
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(end);
  }
  #fail(thrown: unknown): void {
    this.#failures.push(thrown);
    this.#isStopped = true;
  }
}

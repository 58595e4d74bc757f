/**
 * Runs items through stages that overlap. A lane is a stage that one item enters at a time, in the order of the items.
 * An item may also wait until all before it have ended. Knows nothing of what the items are.
 */

/** The place of one item among the others. */
export interface Turn<Lane extends string> {
  /** Runs work once every earlier item has left the lane; later ones wait until it has ended. Once for each lane. */
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

const END = Symbol('end');

/** The place of an item in a lane, or among all: it leaves only after the one before. */
interface Passage {
  readonly before: Promise<void>;
  readonly leave: () => void;
}

/** Takes items from `next` until it returns null when idle (none is under way). When it throws, all have ended. */
export async function runPipeline<T, Lane extends string>(
  next: (isIdle: boolean) => T | null,
  { lanes, depth, ahead }: PipelineOptions<Lane>,
  run: (item: T, turn: Turn<Lane>) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  let isStopped = false;
  let [underWayCount, aheadCount] = [0, 0];
  /** Resolves when an item has ended, or is no longer ahead. */
  let change = Promise.withResolvers<void>();
  /** When the item that began last is out of each lane, and has ended. */
  const lastOut = new Map<Lane | typeof END, Promise<void>>();

  const fail = (thrown: unknown): void => {
    failures.push(thrown);
    isStopped = true;
  };
  const queueUp = (place: Lane | typeof END): Passage => {
    const before = lastOut.get(place) ?? Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    lastOut.set(place, promise);
    return { before, leave: () => resolve(before) };
  };
  const places: readonly (Lane | typeof END)[] = [...lanes, END];
  const begin = (item: T): void => {
    const passages = new Map(places.map((place) => [place, queueUp(place)]));
    underWayCount += 1;
    aheadCount += 1;
    let isAhead = true;
    const leaveAhead = (): void => {
      if (isAhead) aheadCount -= 1;
      isAhead = false;
      change.resolve();
    };
    const enter: Turn<Lane>['enter'] = async (lane, work) => {
      await passages.get(lane)?.before;
      if (lane === ahead.lane) leaveAhead();
      try {
        return await work();
      } catch (thrown) {
        fail(thrown); // before the next item enters
        throw thrown;
      } finally {
        passages.get(lane)?.leave();
      }
    };
    const alone = async (): Promise<void> => passages.get(END)?.before;
    const turn = { enter, alone, stop: () => void (isStopped = true), isStopped: () => isStopped };
    const end = (): void => {
      for (const { leave } of passages.values()) leave();
      underWayCount -= 1;
      leaveAhead();
    };
    run(item, turn).catch(fail).finally(end);
  };

  const hasRoom = (): boolean => !isStopped && underWayCount < depth && aheadCount < ahead.count;
  for (;;) {
    while (hasRoom()) {
      const item = next(underWayCount === 0);
      if (item === null) break;
      begin(item);
    }
    if (underWayCount === 0) break;
    change = Promise.withResolvers<void>();
    await change.promise;
  }
  if (failures.length > 0) throw failures[0];
}

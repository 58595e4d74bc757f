/**
 * A process that runs every so-and-so-many-th seed, and reports to main.ts in between. Takes one message with its
 * order.
 */
import type { FollowMode } from '../world/tape.ts';
import { loadEngine } from '../world/engine.ts';
import { Runner, type Found, type Sums } from './runner.ts';

/** Which seeds: from, from + step, … below end. */
export interface WorkerOrder {
  /** The source tree of the engine, as a URL. */
  readonly root: string;
  readonly from: number;
  readonly step: number;
  readonly end: number;
  /** Whether worlds do not end early. */
  readonly isLong: boolean;
  /** Which of them follow their table in every other cycle. */
  readonly follows: FollowMode;
  /** What every world must have; others are passed over. */
  readonly traits: readonly string[];
}

/** What was run since the last report. */
export interface WorkerReport {
  readonly seedCount: number;
  readonly found: readonly Found[];
  readonly coverage: readonly (readonly [string, number])[];
}

/** Seeds between two reports. */
const REPORT_EVERY = 50;

function report({ seedCount, found, coverage }: Sums): Promise<void> {
  if (!process.connected) return Promise.resolve();
  const message: WorkerReport = { seedCount, found, coverage: [...coverage] };
  return new Promise((resolve) => {
    process.send?.(message, undefined, () => resolve());
  });
}

async function work({ root, from, step, end, isLong, follows, traits }: WorkerOrder): Promise<void> {
  using runner = new Runner(await loadEngine(new URL(root)), isLong, follows);
  let sums: Sums = { seedCount: 0, found: [], coverage: new Map() };
  // Whoever waits for the seeds may end before they do.
  for (let seed = from; seed < end && process.connected; seed += step) {
    if (!runner.isOfKind(seed, traits)) continue;
    await runner.runSeed(seed, sums);
    if (sums.seedCount < REPORT_EVERY && sums.found.length === 0) continue;
    await report(sums);
    sums = { seedCount: 0, found: [], coverage: new Map() };
  }
  await report(sums);
  if (process.connected) process.disconnect?.();
}

process.once('message', (order) => {
  void work(order as WorkerOrder);
});

/**
 * Measuring: rounds taken in turn, medians, and the figures that a benchmark reports. Two ways to do the same work are
 * compared round by round, alternating, so that whatever slows the machine down slows both.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';

/** One figure. `bound` is what the project promises of it; null where it is only reported. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound: { readonly kind: 'atLeast' | 'atMost'; readonly value: number } | null;
  /** What the figure was made of, in words. */
  readonly note: string;
}

/** Milliseconds that some work takes. */
export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** The middle one, or the mean of the two in the middle. The list must not be empty. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Median times of two ways to do the same work; each way goes first in every other round. */
export async function takeTurns(
  roundCount: number,
  ways: { readonly ours: () => Promise<number>; readonly bare: () => Promise<number> },
): Promise<{ readonly oursMs: number; readonly bareMs: number }> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < roundCount; round += 1) {
    if (round % 2 === 1) bare.push(await ways.bare());
    ours.push(await ways.ours());
    if (round % 2 === 0) bare.push(await ways.bare());
  }
  return { oursMs: median(ours), bareMs: median(bare) };
}

/** The peak memory of a process of its own that does one job (memory-child.ts), in bytes; NaN where it failed. */
export async function peakBytesOf(job: object): Promise<number> {
  const child = fork(new URL('memory-child.ts', import.meta.url), [JSON.stringify(job)]);
  const ended = once(child, 'exit');
  const [bytes] = (await Promise.race([once(child, 'message'), ended.then(() => [Number.NaN])])) as [number];
  await ended;
  return bytes;
}

/** A figure for people: three significant digits, or whole numbers above a thousand. */
export function roundedText(value: number): string {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

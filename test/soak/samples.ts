/**
 * What a soak measures of a running daemon, once a second: memory, descriptors, the write-ahead log, and how late its event
 * loop is (probe.ts, inside of the daemon). Input: a process id and paths. Output: samples, and figures made of them.
 * Reads /proc, so it runs on Linux alone.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Probe } from './probe.ts';

/** One look. */
export interface Sample {
  readonly atMs: number;
  readonly rssBytes: number;
  readonly descriptorCount: number;
  readonly walBytes: number;
  readonly probe: Probe | null;
}

/** Looks once; null where the process has ended. */
export function takeSample(
  pid: number,
  paths: { readonly replica: string; readonly probe: string },
  atMs: number,
): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const rssKiB = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN);
    if (Number.isNaN(rssKiB)) return null;
    return {
      atMs,
      rssBytes: rssKiB * 1024,
      descriptorCount: readdirSync(`/proc/${pid}/fd`).length,
      walBytes: statSync(`${paths.replica}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      probe: readProbe(paths.probe),
    };
  } catch {
    return null;
  }
}

function readProbe(path: string): Probe | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Probe;
  } catch {
    return null; // not written yet
  }
}

/** A line through points by least squares. */
export interface Trend {
  /** Per hour. */
  readonly slope: number;
  /** From the first point to the last one, along the line. */
  readonly growth: number;
}

/** The trend of a value over the samples. */
export function trendOf(samples: readonly Sample[], valueOf: (sample: Sample) => number): Trend {
  const hours = samples.map(({ atMs }) => atMs / 3_600_000);
  const values = samples.map(valueOf);
  const [hour, value] = [mean(hours), mean(values)];
  let [covariance, variance] = [0, 0];
  for (const [index, at] of hours.entries()) {
    covariance += (at - hour) * ((values[index] ?? 0) - value);
    variance += (at - hour) ** 2;
  }
  const slope = variance === 0 ? 0 : covariance / variance;
  return { slope, growth: slope * ((hours.at(-1) ?? 0) - (hours[0] ?? 0)) };
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length);
}

/**
 * What a soak measures of a running daemon, once a second: memory, descriptors, the write-ahead log, its log, and from
 * inside timers and how late its event loop is (probe.ts). Takes a process id and paths; produces samples, and figures
 * made of them. Reads /proc, so it runs on Linux alone.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Probe } from './probe.ts';

/** One look. */
export interface Sample {
  readonly atMs: number;
  readonly rssBytes: number;
  readonly descriptorCount: number;
  readonly walBytes: number;
  /** Of the log so far. */
  readonly logBytes: number;
  readonly probe: Probe | null;
}

/** Looks once; null where the process has ended. */
export function takeSample(
  pid: number,
  paths: { readonly replica: string; readonly probe: string; readonly log?: string },
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
      walBytes: sizeOf(`${paths.replica}-wal`),
      logBytes: sizeOf(paths.log ?? ''),
      probe: readProbe(paths.probe),
    };
  } catch {
    return null;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readProbe(path: string): Probe | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Probe;
  } catch {
    return null; // not written yet
  }
}

/** A value at a time. */
export interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** A line through points by least squares. */
export interface Trend {
  /** Per hour. */
  readonly slope: number;
  /** Twice the standard error of the slope: the true one is within it 19 times of 20. */
  readonly error: number;
  /** From the first point to the last one, along the line. */
  readonly growth: number;
}

/**
 * Samples of one second after the other resemble each other, so the line goes through the means of so many stretches.
 */
const STRETCHES = 24;

/** The trend of a value over time; there is one of every second. */
export function trendOf(points: readonly Point[]): Trend {
  const firstMs = points[0]?.atMs ?? 0;
  const lengthMs = Math.max(1, (points.at(-1)?.atMs ?? 0) - firstMs);
  const stretchOf = ({ atMs }: Point): number =>
    Math.min(STRETCHES - 1, Math.floor(((atMs - firstMs) / lengthMs) * STRETCHES));
  const stretches = [...Map.groupBy(points, stretchOf).values()];
  const hours = centred(stretches.map((stretch) => mean(stretch.map(({ atMs }) => atMs / 3_600_000))));
  const values = centred(stretches.map((stretch) => mean(stretch.map(({ value }) => value))));
  const spread = sumOfProducts(hours, hours);
  const slope = spread === 0 ? 0 : sumOfProducts(hours, values) / spread;
  const residuals = values.map((value, index) => value - slope * (hours[index] ?? 0));
  const squares = sumOfProducts(residuals, residuals);
  // Where neighbours still resemble each other, the points count as fewer.
  const likeness = squares === 0 ? 0 : Math.max(0, sumOfProducts(residuals.slice(1), residuals) / squares);
  const freedom = Math.max(1, residuals.length - 2) * ((1 - likeness) / (1 + likeness));
  const error = spread === 0 ? Number.POSITIVE_INFINITY : 2 * Math.sqrt(squares / freedom / spread);
  return { slope, error, growth: (slope * lengthMs) / 3_600_000 };
}

function centred(numbers: readonly number[]): readonly number[] {
  const middle = mean(numbers);
  return numbers.map((one) => one - middle);
}

function sumOfProducts(numbers: readonly number[], others: readonly number[]): number {
  return numbers.reduce((total, one, index) => total + one * (others[index] ?? 0), 0);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0) / Math.max(1, numbers.length);
}

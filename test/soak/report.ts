/**
 * The figures of a soak, with what each of them may be, as a table and as JSON. A soak passes when every bound holds
 * and no invariant is hurt. Pure.
 */
import { trendOf, type Point, type Sample, type Trend } from './samples.ts';

/** What a soak found. */
export interface Findings {
  readonly seed: number;
  readonly minutes: number;
  /** On the clocks of daemon and origin; 0 for real time. */
  readonly days: number;
  readonly samples: readonly Sample[];
  /** What contradicts the invariants, in words. */
  readonly problems: readonly string[];
  /** Whole cycles until everything was at rest after the faults had stopped; null if it never was. */
  readonly restCycles: number | null;
  readonly stopMs: number;
  readonly stopCode: number | string;
  readonly livezFailures: number;
  /** What happened meanwhile, counted. */
  readonly counts: Readonly<Record<string, number>>;
}

/** One figure. */
interface Figure {
  readonly name: string;
  readonly value: number;
  /** What the value may be off by; it passes where only that takes it over `max`. */
  readonly error: number;
  readonly unit: string;
  /** The largest value with which it passes; null where it is only told. */
  readonly max: number | null;
}

/** All of it. */
export interface SoakReport {
  readonly passed: boolean;
  readonly seed: number;
  readonly minutes: number;
  readonly days: number;
  readonly figures: readonly Figure[];
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

const MIB = 1024 * 1024;
/**
 * The beginning is left out: code is compiled, caches fill, the first pull comes. Memory grows for some twenty minutes,
 * and then no more.
 */
const WARM_UP_SHARE = 1 / 3;
const WARM_UP_MS_MAX = 20 * 60_000;
/** A slope means something only over so long a time; before, the garbage collector's waves are larger than it. */
const SLOPE_FROM_MS = 15 * 60_000;
/**
 * Slopes an hour that nobody would notice in a month of work, given that what is here grows too: a slope fails once it
 * is larger even without its error. What is kept for ever shows in the heap first: memory that was given back to nobody
 * counts in RSS, but is used again.
 */
const SLOPES_MAX = { rssMiB: 20, heapMiB: 5, walMiB: 2, descriptors: 1, timers: 1 };
/** The log may grow by so much of its speed more an hour. */
const LOG_SPEEDUP_MAX = 0.2;
const PAGES_FAILED_SHARE_MAX = 0.01;
const RSS_GROWTH_MIB_MAX = 150;
const WAL_MIB_MAX = 64;
/** Sockets, downloads and readers come and go; what is never closed adds up. */
const DESCRIPTOR_GROWTH_MAX = 10;
const DELAY_P99_MS_MAX = 200;
const REST_CYCLES_MAX = 3;
const STOP_MS_MAX = 20_000;

/** Makes the report. */
export function reportOf(findings: Findings): SoakReport {
  const figures = [...memoryFigures(findings.samples), ...otherFigures(findings)];
  const problems = [
    ...findings.problems,
    ...(findings.restCycles === null ? ['L1: it never came to rest'] : []),
    ...(findings.stopCode === 0 ? [] : [`the daemon ended with ${findings.stopCode}`]),
  ];
  const passed = problems.length === 0 && figures.every(isFine);
  const { seed, minutes, days, counts } = findings;
  return { passed, seed, minutes, days, figures, problems, counts };
}

function isFine({ value, error, max }: Figure): boolean {
  return max === null || value - error <= max;
}

function figure(name: string, value: number, unit = '', max: number | null = null, error = 0): Figure {
  return { name, value, error, unit, max };
}

function memoryFigures(samples: readonly Sample[]): readonly Figure[] {
  const [firstMs, lastMs] = [samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0];
  const warmMs = firstMs + Math.min(WARM_UP_MS_MAX, (lastMs - firstMs) * WARM_UP_SHARE);
  const warm = samples.filter(({ atMs }) => atMs >= warmMs);
  const isLong = lastMs - warmMs >= SLOPE_FROM_MS;
  const trend = (valueOf: (sample: Sample) => number): Trend =>
    trendOf(warm.map((sample) => ({ atMs: sample.atMs, value: valueOf(sample) })));
  const slope = (name: string, { slope: value, error }: Trend, unit: string, max: number): Figure =>
    figure(`${name}, slope`, value, `${unit}/h`, isLong ? max : null, error);
  const rss = trend(({ rssBytes }) => rssBytes / MIB);
  const descriptors = trend(({ descriptorCount }) => descriptorCount);
  const logged = warm.slice(1).map(({ atMs, logBytes }, index): Point => {
    const { atMs: beforeMs = 0, logBytes: before = 0 } = warm[index] ?? {};
    return { atMs, value: (logBytes - before) / 1024 / ((atMs - beforeMs) / 60_000) };
  });
  const logSpeed = logged.reduce((sum, { value }) => sum + value, 0) / Math.max(1, logged.length);
  const counts = warm.map(({ descriptorCount }) => descriptorCount);
  return [
    slope('RSS', rss, 'MiB', SLOPES_MAX.rssMiB),
    figure('RSS growth', rss.growth, 'MiB', RSS_GROWTH_MIB_MAX),
    figure('RSS at most', maxOf(samples.map(({ rssBytes }) => rssBytes)) / MIB, 'MiB'),
    slope(
      'heap in use',
      trend(({ probe }) => (probe?.heapUsedBytes ?? 0) / MIB),
      'MiB',
      SLOPES_MAX.heapMiB,
    ),
    slope(
      'WAL',
      trend(({ walBytes }) => walBytes / MIB),
      'MiB',
      SLOPES_MAX.walMiB,
    ),
    figure('WAL at most', maxOf(samples.map(({ walBytes }) => walBytes)) / MIB, 'MiB', WAL_MIB_MAX),
    slope('descriptors', descriptors, '', SLOPES_MAX.descriptors),
    figure('descriptors, growth', descriptors.growth, '', DESCRIPTOR_GROWTH_MAX),
    figure('descriptors, fewest', counts.length === 0 ? 0 : Math.min(...counts)),
    figure('descriptors, most', maxOf(counts)),
    slope(
      'timers',
      trend(({ probe }) => probe?.timerCount ?? 0),
      '',
      SLOPES_MAX.timers,
    ),
    figure('log', logSpeed, 'KiB/min'),
    slope('log', trendOf(logged), 'KiB/min', LOG_SPEEDUP_MAX * logSpeed),
  ];
}

function otherFigures({ samples, restCycles, stopMs, livezFailures, counts }: Findings): readonly Figure[] {
  const probe = samples.findLast((sample) => sample.probe !== null)?.probe;
  const missing = Number.POSITIVE_INFINITY;
  const readCount = counts['pages read'] ?? 0;
  const failedShare = readCount === 0 ? missing : (counts['pages without their answer'] ?? 0) / readCount;
  return [
    figure('event loop delay p50', probe?.p50Ms ?? missing, 'ms'),
    figure('event loop delay p99', probe?.p99Ms ?? missing, 'ms', DELAY_P99_MS_MAX),
    figure('event loop delay p99.9', probe?.p999Ms ?? missing, 'ms'),
    figure('event loop delay, most', probe?.maxMs ?? missing, 'ms'),
    figure('… with waits for a processor', probe?.machineP99Ms ?? missing, 'ms'),
    figure('/livez without its answer', livezFailures, '', 0),
    figure('pages without their answer', 100 * failedShare, '%', 100 * PAGES_FAILED_SHARE_MAX),
    figure('cycles until at rest', restCycles ?? missing, '', REST_CYCLES_MAX),
    figure('SIGTERM to the end', stopMs, 'ms', STOP_MS_MAX),
  ];
}

function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, one) => Math.max(most, one), 0);
}

/** The report for people. */
export function reportText({ passed, seed, minutes, days, figures, problems, counts }: SoakReport): string {
  const lines = figures.map((one) => {
    const { name, value, error, unit, max } = one;
    const bound = max === null ? '' : `at most ${Number(max.toFixed(1))}`;
    const within = error === 0 ? '' : `± ${error.toFixed(1)}`;
    return `  ${name.padEnd(28)} ${value.toFixed(1).padStart(10)} ${within.padEnd(9)} ${unit.padEnd(9)} ${bound.padEnd(14)} ${isFine(one) ? '' : 'TOO MUCH'}`.trimEnd();
  });
  const happened = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return [
    `soak of ${minutes} minutes${days === 0 ? '' : ` that were ${days} days to the daemon`}, seed ${seed}: ${passed ? 'passed' : 'FAILED'}`,
    ...lines,
    ...problems.map((problem) => `  ! ${problem}`),
    `  (${happened.join(', ')})`,
    '',
  ].join('\n');
}

/**
 * The figures of a soak, with what each of them may be, as a table and as JSON. A soak passes when every bound holds and no
 * invariant is hurt. Pure.
 */
import { trendOf, type Sample } from './samples.ts';

/** What a soak found. */
export interface Findings {
  readonly seed: number;
  readonly minutes: number;
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
  readonly unit: string;
  /** The largest value with which it passes; null where it is only told. */
  readonly max: number | null;
}

/** All of it. */
export interface SoakReport {
  readonly passed: boolean;
  readonly seed: number;
  readonly minutes: number;
  readonly figures: readonly Figure[];
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

const MIB = 1024 * 1024;
/** The beginning is left out: code is compiled, caches fill, the first pull comes. */
const WARM_UP_SHARE = 1 / 3;
const WARM_UP_MS_MAX = 5 * 60_000;
/** A slope means something only over so long a time; before, the garbage collector's waves are larger than it. */
const SLOPE_FROM_MS = 15 * 60_000;
/** The garbage collector's waves of 50 MiB tilt the line of half an hour by that much. */
const RSS_SLOPE_MIB_MAX = 150;
/** What is kept for ever shows here first: memory that was given back to nobody counts in RSS, but is used again. */
const HEAP_SLOPE_MIB_MAX = 20;
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
  const passed = problems.length === 0 && figures.every(({ value, max }) => max === null || value <= max);
  const { seed, minutes, counts } = findings;
  return { passed, seed, minutes, figures, problems, counts };
}

function memoryFigures(samples: readonly Sample[]): readonly Figure[] {
  const [firstMs, lastMs] = [samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0];
  const warmMs = firstMs + Math.min(WARM_UP_MS_MAX, (lastMs - firstMs) * WARM_UP_SHARE);
  const warm = samples.filter(({ atMs }) => atMs >= warmMs);
  const rss = trendOf(warm, ({ rssBytes }) => rssBytes / MIB);
  const descriptors = trendOf(warm, ({ descriptorCount }) => descriptorCount);
  const heap = trendOf(warm, ({ probe }) => (probe?.heapUsedBytes ?? 0) / MIB);
  const isLong = lastMs - warmMs >= SLOPE_FROM_MS;
  const counts = warm.map(({ descriptorCount }) => descriptorCount);
  return [
    { name: 'RSS slope', value: rss.slope, unit: 'MiB/h', max: isLong ? RSS_SLOPE_MIB_MAX : null },
    { name: 'RSS growth', value: rss.growth, unit: 'MiB', max: RSS_GROWTH_MIB_MAX },
    { name: 'RSS at most', value: maxOf(samples.map(({ rssBytes }) => rssBytes)) / MIB, unit: 'MiB', max: null },
    { name: 'heap in use, slope', value: heap.slope, unit: 'MiB/h', max: isLong ? HEAP_SLOPE_MIB_MAX : null },
    { name: 'WAL at most', value: maxOf(samples.map(({ walBytes }) => walBytes)) / MIB, unit: 'MiB', max: WAL_MIB_MAX },
    { name: 'descriptors, growth', value: descriptors.growth, unit: '', max: DESCRIPTOR_GROWTH_MAX },
    { name: 'descriptors, fewest', value: counts.length === 0 ? 0 : Math.min(...counts), unit: '', max: null },
    { name: 'descriptors, most', value: maxOf(counts), unit: '', max: null },
  ];
}

function otherFigures({ samples, restCycles, stopMs, livezFailures }: Findings): readonly Figure[] {
  const probe = samples.findLast((sample) => sample.probe !== null)?.probe;
  const missing = Number.POSITIVE_INFINITY;
  return [
    { name: 'event loop delay p50', value: probe?.p50Ms ?? missing, unit: 'ms', max: null },
    { name: 'event loop delay p99', value: probe?.p99Ms ?? missing, unit: 'ms', max: DELAY_P99_MS_MAX },
    { name: 'event loop delay p99.9', value: probe?.p999Ms ?? missing, unit: 'ms', max: null },
    { name: 'event loop delay, most', value: probe?.maxMs ?? missing, unit: 'ms', max: null },
    { name: '… with waits for a processor', value: probe?.machineP99Ms ?? missing, unit: 'ms', max: null },
    { name: '/livez without its answer', value: livezFailures, unit: '', max: 0 },
    { name: 'cycles until at rest', value: restCycles ?? missing, unit: '', max: REST_CYCLES_MAX },
    { name: 'SIGTERM to the end', value: stopMs, unit: 'ms', max: STOP_MS_MAX },
  ];
}

function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, one) => Math.max(most, one), 0);
}

/** The report for people. */
export function reportText({ passed, seed, minutes, figures, problems, counts }: SoakReport): string {
  const lines = figures.map(({ name, value, unit, max }) => {
    const isFine = max === null || value <= max;
    const bound = max === null ? '' : `at most ${max}`;
    return `  ${name.padEnd(28)} ${value.toFixed(1).padStart(10)} ${unit.padEnd(6)} ${bound.padEnd(14)} ${isFine ? '' : 'TOO MUCH'}`.trimEnd();
  });
  const happened = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return [
    `soak of ${minutes} minutes, seed ${seed}: ${passed ? 'passed' : 'FAILED'}`,
    ...lines,
    ...problems.map((problem) => `  ! ${problem}`),
    `  (${happened.join(', ')})`,
    '',
  ].join('\n');
}

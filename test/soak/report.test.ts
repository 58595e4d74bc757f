/** What a soak of fifty minutes calls flat, and what it calls a leak, beside the waves of a garbage collector. */
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import type { Probe } from './probe.ts';
import { reportOf } from './report.ts';
import type { Sample } from './samples.ts';

const MIB = 1024 * 1024;
const PROBE: Probe = {
  p50Ms: 1,
  p99Ms: 1,
  p999Ms: 1,
  maxMs: 1,
  machineP99Ms: 1,
  count: 1,
  heapUsedBytes: 40 * MIB,
  externalBytes: 0,
  timerCount: 6,
};

/** A sample of every second; `changeOf` adds to it what has leaked after so many hours. */
function failuresOf(changeOf: (hours: number) => Partial<Sample>): readonly string[] {
  const random = new Random(1);
  const samples = Array.from({ length: 3_000 }, (_, second): Sample => {
    const wave = 25 * (1 + Math.sin(second / 70)) + random.integer(0, 10);
    const steady = { rssBytes: (150 + wave) * MIB, descriptorCount: random.integer(36, 40), walBytes: 4 * MIB };
    return { atMs: second * 1_000, ...steady, logBytes: second * 200, probe: PROBE, ...changeOf(second / 3_600) };
  });
  const { figures } = reportOf({
    seed: 1,
    minutes: 50,
    days: 0,
    samples,
    problems: [],
    restCycles: 1,
    stopMs: 100,
    stopCode: 0,
    livezFailures: 0,
    counts: { 'pages read': 100 },
  });
  return figures.filter(({ value, error, max }) => max !== null && value - error > max).map(({ name }) => name);
}

test.each<[string, (hours: number) => Partial<Sample>, readonly string[]]>([
  ['nothing leaks', () => ({}), []],
  ['memory leaks', (hours) => ({ rssBytes: (150 + 60 * hours) * MIB }), ['RSS, slope']],
  [
    'the heap leaks',
    (hours) => ({ probe: { ...PROBE, heapUsedBytes: (40 + 8 * hours) * MIB } }),
    ['heap in use, slope'],
  ],
  ['timers are left', (hours) => ({ probe: { ...PROBE, timerCount: 6 + Math.floor(4 * hours) } }), ['timers, slope']],
  ['sockets are left', (hours) => ({ descriptorCount: 36 + Math.floor(6 * hours) }), ['descriptors, slope']],
  ['the log of writes grows', (hours) => ({ walBytes: (4 + 6 * hours) * MIB }), ['WAL, slope']],
  ['it logs more and more', (hours) => ({ logBytes: 720_000 * (hours + hours * hours) }), ['log, slope']],
])('where %s, what fails is %j', (_what, changeOf, failures) => {
  expect(failuresOf(changeOf)).toEqual(failures);
});

/**
 * `npm run soak -- --minutes N [--days D] [--seed S] [--json] [--keep] [--verbose]`: the real daemon between a real
 * sandbox under faults and SQL clients at work, and afterwards every invariant checked. With --days the clocks of
 * daemon and origin run faster, and show so many days. Exit code 1 when a bound or an invariant does not hold.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { reportOf, reportText } from './report.ts';
import { soak } from './run.ts';

const MINUTES_DEFAULT = 2;
const MINUTES_MAX = 7 * 24 * 60;
const DAYS_MAX = 366;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    days: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
    keep: { type: 'boolean' },
    verbose: { type: 'boolean' },
  },
});

function numberOf(name: 'minutes' | 'days' | 'seed', missing: number, max: number): number {
  const text = values[name];
  if (text === undefined) return missing;
  const number = Number(text);
  if (!(number > 0 && number <= max)) throw new Error(`--${name} takes a number up to ${max}`);
  return number;
}

const seed = Math.floor(numberOf('seed', randomInt(1, 1_000_000), 1e9));
const minutes = numberOf('minutes', MINUTES_DEFAULT, MINUTES_MAX);
const startedMs = Date.now();
const isVerbose = values.verbose === true;
process.stderr.write(`soak of ${minutes} minutes, seed ${seed}\n`);
const say = (line: string): void => {
  const second = ((Date.now() - startedMs) / 1000).toFixed(1);
  if (isVerbose) process.stderr.write(`${second} ${line}\n`);
};
const keeps = values.keep === true;
const report = reportOf(
  await soak({
    minutes,
    days: numberOf('days', 0, DAYS_MAX),
    seed,
    keeps,
    say: (line) => (line.startsWith('kept') ? process.stderr.write(`${line}\n`) : say(line)),
  }),
);
process.stdout.write(values.json === true ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
process.exitCode = report.passed ? 0 : 1;

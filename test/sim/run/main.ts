/**
 * The simulation's command line.
 *
 *    npm run sim -- --seeds 5000 --from 1 --workers 2     kept cases first, then seeds; sums and what is too rare
 *    npm run sim -- --seeds 5000 --no-kept                without the kept cases, which the ordinary tests run
 *                                                         (sim.test.ts)
 *    npm run sim -- --seeds 5000 --long                   worlds that do not end early: fewer a minute, and what needs
 *                                                         many steps
 *    npm run sim -- --seeds 5000 --follow                 all worlds follow their table, not half of them
 *    npm run sim -- --seeds 5000 --with person,copy       only those of these seeds whose worlds have all of it (TRAITS
 *                                                         in setup.ts)
 *    npm run sim -- --replay 76                           one seed, or a kept case by its file: shrunk, as a story
 *    npm run sim -- --replay 76 --keep test/sim/corpus/name.json
 *    npm run sim -- --exhaustive                          short scenarios, with everything that can go wrong at every
 *                                                         step
 *    npm run sim -- --exhaustive --scenario edit --mode pairs --sample 1000 --seed 7
 *    npm run sim -- --exhaustive --scenario edit --at 17:dieAfter,30:lostAfter
 *
 * Ends with 1 where anything failed, or where something that ought to happen did not, or too seldom.
 */
import { fork } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readCase, readCorpus, tapesOf, textOfCase } from './corpus.ts';
import { tooSeldom } from '../oracles/coverage.ts';
import { loadEngine } from '../world/engine.ts';
import { runExhaustive } from '../stories/exhaustive-run.ts';
import { modeNamed } from '../stories/exhaustive-share.ts';
import { NODE_OPTIONS, Runner, type Sums } from './runner.ts';
import { TRAITS } from '../world/setup.ts';
import { storyOf } from '../stories/story.ts';
import { headerOf } from './usage.ts';
import type { WorkerOrder, WorkerReport } from './worker.ts';

/** From so many seeds on, everything that ought to happen must have happened often enough. */
const SEEDS_FOR_COVERAGE = 3_000;
/** How often a long run says how far it is. */
const SEEDS_PER_LINE = 10_000;
/** How many failures are shrunk at the end of a run. */
const SHRUNK_MAX = 3;

const { values } = parseArgs({
  allowNegative: true,
  options: {
    help: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    replay: { type: 'string' },
    keep: { type: 'string' },
    runs: { type: 'string', default: '2000' },
    source: { type: 'string' },
    all: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    follow: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: true },
    with: { type: 'string', default: '' },
    exhaustive: { type: 'boolean', default: false },
    scenario: { type: 'string' },
    at: { type: 'string' },
    mode: { type: 'string', default: 'singles' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});

if (values.help) {
  process.stdout.write(headerOf(import.meta.filename));
  process.exit(0);
}

const traits = values.with.split(',').filter((trait) => trait !== '');
const unknown = traits.filter((trait) => !Object.hasOwn(TRAITS, trait));
if (unknown.length > 0)
  throw new Error(`No world has ${unknown.join(', ')}; there is ${Object.keys(TRAITS).join(', ')}`);
const follows = values.follow ? 'all' : 'half';
const root =
  values.source === undefined ? new URL('../../../src/', import.meta.url) : new URL(`file://${values.source}/`);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Shrinks a seed, or takes a kept case, and tells what happens in it. */
async function replay(runner: Runner, what: string, keep: string | undefined): Promise<boolean> {
  const isFile = existsSync(what);
  const kept = isFile ? readCase(what) : await runner.shrinkSeed(Number(what), Number(values.runs));
  if (kept === null) {
    say(`Seed ${what} is well.`);
    return true;
  }
  const { failure, trace } = await runner.run(tapesOf(kept));
  say(storyOf(trace, values.all));
  say(failure === null ? 'All is well.' : `Broken: ${failure.oracle}: ${failure.what}`);
  const again = keep ?? `${what}${values.long ? ' --long' : ''}${values.follow ? ' --follow' : ''}`;
  if (!isFile)
    say(`Shrunk in ${'runCount' in kept ? String(kept.runCount) : '0'} runs. Again: npm run sim -- --replay ${again}`);
  if (keep !== undefined) writeFileSync(keep, textOfCase(kept));
  return failure === null;
}

async function runCorpus(runner: Runner): Promise<boolean> {
  let isWell = true;
  for (const [name, kept] of readCorpus()) {
    const { failure } = await runner.run(tapesOf(kept));
    if (failure !== null) {
      isWell = false;
      say(`corpus/${name}: ${failure.oracle}: ${failure.what}`);
    }
  }
  return isWell;
}

/** Runs seeds in processes of their own. */
async function runSeeds(): Promise<Sums> {
  const [count, from, workers] = [Number(values.seeds), Number(values.from), Number(values.workers)];
  const sums: Sums = { seedCount: 0, found: [], coverage: new Map() };
  const startedMs = performance.now();
  const work = Array.from({ length: workers }, (_, index) => {
    const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), { execArgv: NODE_OPTIONS });
    const order: WorkerOrder = {
      root: root.href,
      from: from + index,
      step: workers,
      end: from + count,
      isLong: values.long,
      follows,
      traits,
    };
    worker.send(order);
    return new Promise<void>((resolve, reject) => {
      worker.on('message', (report: WorkerReport) => {
        const lineCount = Math.floor(sums.seedCount / SEEDS_PER_LINE);
        sums.seedCount += report.seedCount;
        for (const found of report.found) {
          sums.found.push(found);
          say(`seed ${found.seed}: ${found.oracle}: ${found.what}`);
        }
        for (const [what, times] of report.coverage) sums.coverage.set(what, (sums.coverage.get(what) ?? 0) + times);
        if (Math.floor(sums.seedCount / SEEDS_PER_LINE) > lineCount) say(sumLine(sums, performance.now() - startedMs));
      });
      worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`A worker ended with ${String(code)}`))));
    });
  });
  await Promise.all(work);
  return sums;
}

function sumLine({ seedCount, found }: Sums, durationMs: number): string {
  return `${seedCount} seeds, ${found.length} failed, ${Math.round(seedCount / (durationMs / 60_000))} a minute`;
}

function printSums(sums: Sums, durationMs: number): boolean {
  const kinds = [...sums.coverage].toSorted(([one], [other]) => one.localeCompare(other));
  if (values.all) for (const [what, count] of kinds) say(`  ${what}: ${count}`);
  // Worlds of one kind need not have everything that worlds have.
  const missing = traits.length > 0 ? [] : tooSeldom(sums.coverage, sums.seedCount);
  say(`${sumLine(sums, durationMs)}; ${kinds.length} kinds of events`);
  if (missing.length > 0) say(`Happened too seldom: ${missing.join(' · ')}`);
  return sums.found.length === 0 && (missing.length === 0 || sums.seedCount < SEEDS_FOR_COVERAGE);
}

async function main(): Promise<boolean> {
  using runner = new Runner(await loadEngine(root), values.long, follows);
  if (values.exhaustive) {
    return await runExhaustive(runner, {
      root,
      scenario: values.scenario,
      at: values.at,
      mode: modeNamed(values.mode),
      sample: values.sample === undefined ? undefined : Number(values.sample),
      seed: Number(values.seed),
      workers: Number(values.workers),
      isWhole: values.all,
      say,
    });
  }
  if (values.replay !== undefined) return await replay(runner, values.replay, values.keep);
  const isCorpusWell = !values.kept || (await runCorpus(runner));
  const startedMs = performance.now();
  const sums = await runSeeds();
  const areSeedsWell = printSums(sums, performance.now() - startedMs);
  const seen = new Set<string>();
  for (const { seed, oracle } of sums.found) {
    if (seen.has(oracle) || oracle === 'determinism' || seen.size >= SHRUNK_MAX) continue;
    seen.add(oracle);
    say(`\nSeed ${seed}, shrunk:`);
    await replay(runner, String(seed), undefined);
  }
  return isCorpusWell && areSeedsWell;
}

process.exitCode = (await main()) ? 0 : 1;

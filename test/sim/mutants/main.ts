/**
 * Shows that the simulation finds bugs: plants each one in a copy of the source and looks for a world there that fails.
 *
 *    npm run mutants                                   all of them, then the pairs
 *    npm run mutants -- --days 3                       of those that tests own a third, another one each day
 *    npm run mutants -- --only blind-create,null-by-equals --seeds 50000 --workers 2
 *
 * Where it was found before (found.ts) is tried first, then every short story, then seeds; what an ordinary test owns
 * is run by that test alone. Each worker hunts one bug at a time. A line for each: the world or test that found it, and
 * what was wrong; or why none can. Ends with 1 where a bug survived, which is a hole in an oracle, or where one that is
 * said to be equivalent was found after all. A world or a test counts only if it is well without the planted bug; tests
 * are run without it at the end, all at once.
 */
import { execFile, fork } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Found } from '../run/runner.ts';
import { SCENARIOS } from '../stories/scenarios.ts';
import { followsIn } from '../world/tape.ts';
import type { Complaint } from '../oracles/verdict.ts';
import { headerOf } from '../run/usage.ts';
import type { WorkerOrder, WorkerReport } from '../run/worker.ts';
import { FOUND_IN, type Hint, type OwningTest } from './found.ts';
import { MUTANT_PAIRS, MUTANTS } from './list.ts';
import { plant, type Mutant } from './mutant.ts';
import type { Probe } from './probe-worker.ts';
import { Prober } from './prober.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
/** The source without a planted bug. */
const UNPLANTED = pathToFileURL(`${join(PROJECT, 'src')}/`).href;
/** A worker that reports nothing for so long hangs in a loop that the planted bug made. */
const SILENCE_MS_MAX = 240_000;
const DAY_MS = 86_400_000;

/** One thing to look for: a mutant, or a pair. */
interface Hunt {
  readonly name: string;
  readonly mutants: readonly Mutant[];
  readonly equivalent: string | undefined;
}

/** How a hunt ended. */
interface Catch {
  /** The world, as it is told, and what was wrong in it; null where none was found. */
  readonly found: (Complaint & { readonly world: string }) | null;
  readonly seedCount: number;
}

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    days: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
  },
});

if (values.help) {
  process.stdout.write(headerOf(import.meta.filename));
  process.exit(0);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Whether it is the turn of a bug, of those that tests own: all of them have theirs within `--days`. */
function isOfToday({ name }: Hunt, index: number): boolean {
  const days = Number(values.days);
  const hint = FOUND_IN[name];
  return hint === undefined || !('test' in hint) || index % days === Math.floor(Date.now() / DAY_MS) % days;
}

function huntsOf(only: string | undefined): readonly Hunt[] {
  const byName = new Map(MUTANTS.map((mutant) => [mutant.name, mutant]));
  const hunts: readonly Hunt[] = [
    ...MUTANTS.map((mutant) => ({ name: mutant.name, mutants: [mutant], equivalent: mutant.equivalent })),
    ...MUTANT_PAIRS.map(({ names }) => ({
      name: names.join('+'),
      mutants: names.flatMap((name) => byName.get(name) ?? []),
      equivalent: undefined,
    })),
  ];
  if (only === undefined) return hunts.filter(isOfToday);
  const chosen = new Set(only.split(','));
  const unknown = [...chosen].filter((name) => !hunts.some((hunt) => hunt.name === name));
  if (unknown.length > 0) throw new Error(`No planted bug is called ${unknown.join(', ')}`);
  return hunts.filter(({ name }) => chosen.has(name));
}

/** A copy of the source in which one bug after another is planted; the packages are shared. */
class Copy {
  readonly folder = mkdtempSync(join(tmpdir(), 'rowsync-mutant-'));
  /** Runs worlds without a planted bug. */
  readonly sound = new Prober();

  constructor() {
    for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
      cpSync(join(PROJECT, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(PROJECT, 'node_modules'), join(this.folder, 'node_modules'));
  }

  plant(mutants: readonly Mutant[]): void {
    for (const mutant of mutants) plant(mutant, join(this.folder, 'src'));
  }

  /** Takes planted bugs out again. */
  mend(mutants: readonly Mutant[]): void {
    for (const { file } of mutants.flatMap(({ edits }) => edits))
      cpSync(join(PROJECT, 'src', file), join(this.folder, 'src', file));
  }

  [Symbol.dispose](): void {
    this.sound[Symbol.dispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The parts of vitest's JSON that are used. */
interface TestReport {
  readonly testResults: readonly {
    /** The path of the file. */
    readonly name: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

/** Runs test files of the copy, each until one test fails; null where vitest has nothing to report. */
function testsOf(folder: string, tests: readonly string[], ...more: readonly string[]): Promise<TestReport | null> {
  const vitest = join(PROJECT, 'node_modules/vitest/vitest.mjs');
  const report = join(folder, 'report.json');
  const options = ['--reporter=json', `--outputFile=${report}`, ...more];
  rmSync(report, { force: true });
  return new Promise((settle) => {
    execFile(process.execPath, [vitest, 'run', ...tests, ...options], { cwd: folder, maxBuffer: 2 ** 28 }, () => {
      settle(existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as TestReport) : null);
    });
  });
}

/** A test as vitest itself names it for a pattern. */
function nameOf({ ancestorTitles, title }: TestReport['testResults'][number]['assertionResults'][number]): string {
  return [...ancestorTitles, title].join(' > ');
}

/**
 * Of tests that failed, those that succeed without a planted bug, by file and name: what fails in every copy finds
 * nothing.
 */
async function passingTests(
  failed: readonly { readonly world: string; readonly what: string }[],
  workers: number,
): Promise<ReadonlySet<string>> {
  if (failed.length === 0) return new Set();
  using copy = new Copy();
  const names = failed.map(({ what }) => what.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  const more = ['--testNamePattern', `^(?:${names.join('|')})$`, `--maxWorkers=${workers}`];
  const report = await testsOf(copy.folder, [...new Set(failed.map(({ world }) => world))], ...more);
  const passed = (report?.testResults ?? []).flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed')
      .map((result) => `${relative(realpathSync(copy.folder), path)}: ${nameOf(result)}`),
  );
  return new Set(passed);
}

/** Runs the test that owns a planted bug. */
async function runTest(copy: Copy, { test }: OwningTest): Promise<Catch> {
  const planted = await testsOf(copy.folder, [test], '--bail=1', '--maxWorkers=1');
  const failed = planted?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const first = failed.find(({ status }) => status === 'failed');
  return { found: first === undefined ? null : { world: test, oracle: 'test', what: nameOf(first) }, seedCount: 0 };
}

/** Looks where it was found before, then in every story, then in seeds. */
async function huntDown(
  { name, equivalent }: Hunt,
  copy: Copy,
  seeds: { from: number; count: number; workers: number },
): Promise<Catch> {
  const hint = FOUND_IN[name];
  if (hint !== undefined && 'test' in hint) return await runTest(copy, hint);
  using prober = new Prober();
  const root = pathToFileURL(`${join(copy.folder, 'src')}/`).href;
  const stories = SCENARIOS.map((scenario): Hint => ({ story: scenario.name, at: '' }));
  for (const world of hint === undefined ? stories : [hint, ...stories]) {
    const failure = await failureOfPlanted(prober, copy.sound, { root, world });
    if (failure !== null) return { found: { world: textOf(world), ...failure }, seedCount: 0 };
  }
  // What no world can tell is hunted in earnest by its name only.
  return equivalent !== undefined && values.only === undefined
    ? { found: null, seedCount: 0 }
    : await huntSeeds(copy.sound, root, seeds);
}

function textOf(world: Hint): string {
  if ('seed' in world) return `seed ${world.seed}${world.follows === true ? ', followed' : ''}`;
  if ('kept' in world) return `corpus/${world.kept}`;
  return world.at === '' ? `story ${world.story}` : `story ${world.story} at ${world.at}`;
}

/** What fails because of the planted bug: a world that fails without it as well says nothing about it. */
async function failureOfPlanted(prober: Prober, sound: Prober, probe: Probe): Promise<Complaint | null> {
  const failure = await prober.run(probe);
  if (failure === null) return null;
  return (await sound.run({ root: UNPLANTED, world: probe.world })) === null ? failure : null;
}

/** Runs seeds until one fails. */
async function huntSeeds(
  sound: Prober,
  root: string,
  seeds: { from: number; count: number; workers: number },
): Promise<Catch> {
  let caught: Catch['found'] = null;
  let seedCount = 0;
  let isEnded = false;
  let checking: Promise<void> = Promise.resolve();
  const workers = Array.from({ length: seeds.workers }, (_, index) => {
    const worker = fork(join(PROJECT, 'test/sim/run/worker.ts'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const end = seeds.from + seeds.count;
    const order: WorkerOrder = {
      root,
      from: seeds.from + index,
      step: seeds.workers,
      end,
      isLong: false,
      follows: 'half',
      traits: [],
    };
    worker.send(order);
    return worker;
  });
  const endAll = (): void => {
    isEnded = true;
    for (const worker of workers) worker.kill('SIGKILL');
  };
  const check = async (found: readonly Found[]): Promise<void> => {
    for (const { seed, oracle, what } of caught === null ? found : []) {
      const world = { seed, follows: followsIn('half', seed) };
      if ((await sound.run({ root: UNPLANTED, world })) !== null) continue;
      caught ??= { world: textOf(world), oracle, what };
      endAll();
    }
  };
  const ends = workers.map(
    (worker) =>
      new Promise<void>((settle, fail) => {
        const onSilence = (): void => {
          caught ??= {
            world: `a seed behind ${seedCount}`,
            oracle: 'hang',
            what: 'the engine does not come to an end',
          };
          endAll();
        };
        let silence = setTimeout(onSilence, SILENCE_MS_MAX);
        worker.on('message', (report: WorkerReport) => {
          clearTimeout(silence);
          silence = setTimeout(onSilence, SILENCE_MS_MAX);
          seedCount += report.seedCount;
          const earlier = checking;
          checking = earlier.then(() => check(report.found));
        });
        worker.on('exit', (code, signal) => {
          clearTimeout(silence);
          // Its seeds did not run: that none of them failed says nothing.
          if (code === 0 || isEnded) settle();
          else {
            endAll();
            fail(new Error(`A worker ended with ${String(code ?? signal)} behind ${seedCount} seeds`));
          }
        });
      }),
  );
  await Promise.all(ends);
  await checking;
  return { found: caught, seedCount };
}

function tell({ name, equivalent }: Hunt, { found, seedCount }: Catch): boolean {
  if (found !== null) {
    const { world, oracle, what } = found;
    if (/^(?:Syntax|Reference)Error/.test(what)) {
      say(`BROKEN    ${name}: its text is no program any more: ${what}`);
      return false;
    }
    say(`found     ${name}: ${world}${seedCount === 0 ? '' : ` (${seedCount} seeds)`}: ${oracle}: ${what}`);
  } else if (equivalent === undefined) say(`SURVIVED  ${name}: all stories, ${seedCount} seeds`);
  else say(`explained ${name}: all stories, ${seedCount} seeds; ${equivalent}`);
  if (found !== null && equivalent !== undefined)
    say(`          … although it was said that no world can: ${equivalent}`);
  return (found !== null) === (equivalent === undefined);
}

async function main(): Promise<boolean> {
  const hunts = huntsOf(values.only);
  const workerCount = Number(values.workers);
  const huntersMax = Math.min(workerCount, hunts.length);
  const workers = Math.floor(workerCount / huntersMax);
  const seeds = { from: Number(values.from), count: Number(values.seeds), workers };
  let isWell = true;
  const counts = { found: 0, all: 0 };
  const count = (wanted: Hunt, caught: Catch): void => {
    isWell = tell(wanted, caught) && isWell;
    counts.all += 1;
    if (caught.found !== null) counts.found += 1;
  };
  const byTests: { readonly wanted: Hunt; readonly found: NonNullable<Catch['found']> }[] = [];
  const queue = hunts.values();
  const hunt = async (): Promise<void> => {
    using copy = new Copy();
    for (const wanted of queue) {
      copy.plant(wanted.mutants);
      const caught = await huntDown(wanted, copy, seeds);
      copy.mend(wanted.mutants);
      if (caught.found?.oracle === 'test') byTests.push({ wanted, found: caught.found });
      else count(wanted, caught);
    }
  };
  await Promise.all(Array.from({ length: huntersMax }, hunt));
  const failedTests = byTests.map(({ found }) => found);
  const passing = await passingTests(failedTests, workerCount);
  for (const { wanted, found } of byTests)
    count(wanted, { found: passing.has(`${found.world}: ${found.what}`) ? found : null, seedCount: 0 });
  say(`${counts.found} of ${counts.all} planted bugs were found.`);
  return isWell;
}

process.exitCode = (await main()) ? 0 : 1;

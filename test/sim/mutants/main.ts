/**
 * Shows that the simulation finds bugs: plants each one in a copy of the source and runs seeds there until one fails.
 *
 *   npm run mutants                                   all of them, then the pairs
 *   npm run mutants -- --only blind-create,null-by-equals --seeds 50000 --workers 2
 *
 * A line for each: the seed that found it, how many were run, and what was wrong; or why no seed can. Ends with 1 where a
 * bug survived, which is a hole in an oracle, or where one that is said to be equivalent was found after all. A seed counts only
 * if it is well without the planted bug.
 */
import { fork } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadEngine } from '../engine.ts';
import { NODE_OPTIONS, Runner, type Found } from '../runner.ts';
import { Tapes } from '../tape.ts';
import type { WorkerOrder, WorkerReport } from '../worker.ts';
import { MUTANT_PAIRS, MUTANTS } from './list.ts';
import { plant, type Mutant } from './mutant.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
/** A worker that reports nothing for so long hangs in a loop that the planted bug made. */
const SILENCE_MS_MAX = 240_000;

/** One thing to look for: a mutant, or a pair. */
interface Hunt {
  readonly name: string;
  readonly mutants: readonly Mutant[];
  readonly equivalent: string | undefined;
}

/** How a hunt ended. */
interface Catch {
  readonly found: Found | null;
  readonly seedCount: number;
  readonly hangs: boolean;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
  },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
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
  if (only === undefined) return hunts;
  const chosen = new Set(only.split(','));
  const unknown = [...chosen].filter((name) => !hunts.some((hunt) => hunt.name === name));
  if (unknown.length > 0) throw new Error(`No planted bug is called ${unknown.join(', ')}`);
  return hunts.filter(({ name }) => chosen.has(name));
}

/** A copy of source and simulation, with everything planted; the packages are shared. */
function makeCopy(mutants: readonly Mutant[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-mutant-'));
  for (const part of ['src', 'test', 'package.json'])
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  for (const mutant of mutants) plant(mutant, join(folder, 'src'));
  return folder;
}

/** Runs seeds in the copy until one fails. */
async function huntDown(
  folder: string,
  seeds: { from: number; count: number; workers: number },
  unplanted: Runner,
): Promise<Catch> {
  const found: Found[] = [];
  let seedCount = 0;
  let hangs = false;
  let checking: Promise<void> = Promise.resolve();
  const root = pathToFileURL(`${join(folder, 'src')}/`).href;
  const workers = Array.from({ length: seeds.workers }, (_, index) => {
    const worker = fork(join(folder, 'test/sim/worker.ts'), {
      execArgv: NODE_OPTIONS,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const order: WorkerOrder = {
      root,
      from: seeds.from + index,
      step: seeds.workers,
      end: seeds.from + seeds.count,
    };
    worker.send(order);
    return worker;
  });
  const endAll = (): void => {
    for (const worker of workers) worker.kill('SIGKILL');
  };
  const ends = workers.map(
    (worker) =>
      new Promise<void>((settle) => {
        const onSilence = (): void => {
          hangs = true;
          endAll();
        };
        let silence = setTimeout(onSilence, SILENCE_MS_MAX);
        worker.on('message', (report: WorkerReport) => {
          clearTimeout(silence);
          silence = setTimeout(onSilence, SILENCE_MS_MAX);
          seedCount += report.seedCount;
          // One after another: they share a disk.
          const earlier = checking;
          checking = (async () => {
            await earlier;
            if (found.length > 0) return;
            found.push(...(await onlyOurs(report.found, unplanted)));
            if (found.length > 0) endAll();
          })();
        });
        worker.on('exit', () => {
          clearTimeout(silence);
          settle();
        });
      }),
  );
  await Promise.all(ends);
  await checking;
  return { found: found[0] ?? null, seedCount, hangs: hangs && found.length === 0 };
}

/** What fails because of the planted bug: a world that fails without it as well says nothing about it. */
async function onlyOurs(found: readonly Found[], unplanted: Runner): Promise<readonly Found[]> {
  const ours: Found[] = [];
  for (const one of found) {
    const { failure } = await unplanted.run(Tapes.fromSeed(one.seed));
    if (failure === null) ours.push(one);
  }
  return ours;
}

function tell({ name, equivalent }: Hunt, { found, seedCount, hangs }: Catch): boolean {
  const isFound = found !== null || hangs;
  if (found !== null) say(`found     ${name}: seed ${found.seed} of ${seedCount}: ${found.oracle}: ${found.what}`);
  else if (hangs) say(`found     ${name}: the engine hangs after ${seedCount} seeds`);
  else if (equivalent === undefined) say(`SURVIVED  ${name}: ${seedCount} seeds`);
  else say(`explained ${name}: ${seedCount} seeds; ${equivalent}`);
  if (isFound && equivalent !== undefined) say(`          … although it was said that no seed can: ${equivalent}`);
  return isFound === (equivalent === undefined);
}

async function main(): Promise<boolean> {
  const seeds = { from: Number(values.from), count: Number(values.seeds), workers: Number(values.workers) };
  let isWell = true;
  const counts = { found: 0, all: 0 };
  using unplanted = new Runner(await loadEngine(pathToFileURL(`${join(PROJECT, 'src')}/`)));
  for (const wanted of huntsOf(values.only)) {
    const folder = makeCopy(wanted.mutants);
    try {
      const caught = await huntDown(folder, seeds, unplanted);
      isWell = tell(wanted, caught) && isWell;
      counts.all += 1;
      if (caught.found !== null || caught.hangs) counts.found += 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  say(`${counts.found} of ${counts.all} planted bugs were found by a seed.`);
  return isWell;
}

process.exitCode = (await main()) ? 0 : 1;

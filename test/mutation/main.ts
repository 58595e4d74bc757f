/**
 * Shows which changes of a decision no test notices.
 *
 *    npm run mutation                                  files in `DONE` that changed since their last proof, or whose
 *                                                      tests did
 *    npm run mutation -- --all                         every file in `DONE`
 *    npm run mutation -- src/reconcile/merge.ts        of one file, by the tests of its room
 *
 * proven.json has what each file was when it was last proven. A run that finds nothing notes it there, but for one of
 * CI.
 *
 * A change that the compiler refuses does not count. Each that survives is printed as soon as that is known, so a run
 * that is cut off has said something. Ends with 1 where a change survives that `equivalent.ts` does not name, or where
 * a name there is no longer needed.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { BaseSequencer, createVitest, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { refusedByCompiler } from './compile.ts';
import { DONE, EQUIVALENT } from './equivalent.ts';
import { weave, type Mutant } from './mutate.ts';
import type { Order, Report } from './runner.ts';

const TOP = resolve(import.meta.dirname, '../..');
const FOLDER = mkdtempSync(join(tmpdir(), 'rowsync-mutation-'));
const ORDER_FILE = join(FOLDER, 'order.json');
const REPORT_FILE = join(FOLDER, 'report.json');
const PROVEN_FILE = join(import.meta.dirname, 'proven.json');

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function readReport(): Report {
  return JSON.parse(readFileSync(REPORT_FILE, 'utf8')) as Report;
}

/** The folder of its tests below `test/`. */
function roomOf(file: string): string {
  const [, room = '', inExtras = ''] = file.split('/');
  return room === 'extras' ? `${room}/${inExtras}` : room;
}

function doesImport(testFile: string, file: string): boolean {
  return readFileSync(testFile, 'utf8').includes(`${relative(TOP, file).replace('src/', '/')}'`);
}

/** Tests of the woven files first: they kill the most, and no test runs again for what is dead. */
function sequencerOf(woven: ReadonlyMap<string, string>): typeof BaseSequencer {
  return class extends BaseSequencer {
    override sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
      const isOwn = ({ moduleId }: TestSpecification): boolean =>
        [...woven.keys()].some((file) => doesImport(moduleId, file));
      return Promise.resolve([...specs.filter(isOwn), ...specs.filter((spec) => !isOwn(spec))]);
    }
  };
}

/** vitest over the woven files; `onFile` is called whenever the tests of a file have ended. */
async function vitestOf(woven: ReadonlyMap<string, string>, onFile: (file: string) => void): Promise<Vitest> {
  Object.assign(process.env, { ROWSYNC_MUTATION: ORDER_FILE, FUZZ_RUNS: '100', FUZZ_SEED: '1' });
  const options = {
    config: false as const,
    root: TOP,
    include: ['test/**/*.test.ts'],
    exclude: ['**/*.long.test.ts'],
    watch: false,
    isolate: false,
    // A cached text would have the mutants of another run.
    fsModuleCache: false,
    maxWorkers: 1,
    pool: 'forks' as const,
    silent: true,
    // Endless loops are ended by counting: time would kill on a busy machine what lives.
    testTimeout: 120_000,
    restoreMocks: true,
    unstubEnvs: true,
    sequence: { sequencer: sequencerOf(woven) },
    reporters: [{ onTestModuleEnd: ({ moduleId }: TestModule) => onFile(relative(TOP, moduleId)) }],
    runner: join(import.meta.dirname, 'runner.ts'),
  };
  const plugin = {
    name: 'mutation',
    enforce: 'pre' as const,
    transform: (_code: string, id: string) => woven.get(id),
  };
  return await createVitest('test', options, { plugins: [plugin] });
}

/** Runs the tests of a room, or those that import a file. */
async function run(vitest: Vitest, room: string, active: number | null, imported?: string): Promise<Report> {
  writeFileSync(ORDER_FILE, JSON.stringify({ active, reportFile: REPORT_FILE } satisfies Order));
  const all = await vitest.globTestSpecifications([`test/${room}/`]);
  const chosen = imported === undefined ? [] : all.filter(({ moduleId }) => doesImport(moduleId, imported));
  const { testModules } = await vitest.runTestSpecifications(chosen.length > 0 ? chosen : all);
  const [error] = active === null ? testModules.flatMap((module) => module.errors()) : [];
  if (error !== undefined) throw new Error(error.message);
  return readReport();
}

/** The mutants of the files of one room that live; each is reported at once. */
async function survivorsOf(
  room: string,
  files: readonly string[],
  onSurvivor: (mutant: Mutant) => void,
): Promise<readonly Mutant[]> {
  const woven = new Map<string, string>();
  const mutants: Mutant[] = [];
  for (const file of files) {
    const { text, mutants: more } = weave(file, readFileSync(join(TOP, file), 'utf8'), mutants.length);
    woven.set(join(TOP, file), text);
    mutants.push(...more);
  }
  let killedSoFar = 0;
  const vitest = await vitestOf(woven, (testFile) => {
    const { length } = readReport().killed;
    if (length > killedSoFar) say(`${testFile}: ${length} of ${mutants.length} killed so far`);
    killedSoFar = Math.max(killedSoFar, length);
  });
  try {
    const report = await run(vitest, room, null);
    const { length } = report.unfit;
    if (length > 0) throw new Error(`${length} tests fail without a mutant, or when run again: ${report.unfit[0]}`);
    const killed = new Set(report.killed);
    const alive = mutants.filter(({ id }) => !killed.has(id));
    const refused = refusedByCompiler(TOP, alive);
    const loaded = new Set(report.loaded);
    const survivors: Mutant[] = [];
    for (const mutant of alive.filter(({ id }) => !refused.has(id))) {
      const tries = loaded.has(mutant.id) ? [join(TOP, mutant.file), undefined] : [];
      let isKilled = false;
      for (const imported of tries) isKilled ||= (await run(vitest, room, mutant.id, imported)).killed.length > 0;
      if (isKilled) continue;
      survivors.push(mutant);
      onSurvivor(mutant);
    }
    say(
      `${room}: ${mutants.length} mutants in ${files.length} files, ${refused.size} refused by the compiler, ${survivors.length} alive`,
    );
    return survivors;
  } finally {
    await vitest.close();
  }
}

/** What an entry of EQUIVALENT names. */
function keyOf({ file, lineText, from, to }: Pick<Mutant, 'file' | 'lineText' | 'from' | 'to'>): string {
  return JSON.stringify([file, lineText, from, to]);
}

async function main(files: readonly string[]): Promise<number> {
  const survivors: Mutant[] = [];
  const named = new Set(EQUIVALENT.map(([file, lineText, from, to]) => keyOf({ file, lineText, from, to })));
  const open: Mutant[] = [];
  const onSurvivor = (mutant: Mutant): void => {
    if (named.has(keyOf(mutant))) return;
    open.push(mutant);
    const { file, line, lineText, from, to } = mutant;
    say(`${file}:${line}: ${lineText}\n    ${from}  →  ${to === '' ? 'removed' : to}`);
  };
  for (const [room, ofRoom] of Map.groupBy(files, roomOf))
    survivors.push(...(await survivorsOf(room, ofRoom, onSurvivor)));
  const keys = new Set(survivors.map(keyOf));
  const unneeded = EQUIVALENT.filter(
    ([file, lineText, from, to]) => files.includes(file) && !keys.has(keyOf({ file, lineText, from, to })),
  );
  for (const [file, lineText, from, to] of unneeded) say(`no longer needed: ${file}: ${lineText}: ${from} → ${to}`);
  say(`${open.length} survivors without a reason, ${unneeded.length} reasons too many`);
  return open.length + unneeded.length === 0 ? 0 : 1;
}

/**
 * The code of a file without lines of comment, and without the paths of its imports: neither can change what a test
 * notices.
 */
function codeOf(file: string): string {
  return readFileSync(join(TOP, file), 'utf8')
    .replace(/^ *(?:\/\*\*[^]*?\*\/|\/\/.*)\n/gm, '')
    .replace(/(?<=\bfrom '|\bimport\(')\.[^']*(?=')/g, '');
}

/** What a file and the tests that import it are now, whatever they are called. */
function digestOf(file: string): string {
  const tests = globSync(`test/${roomOf(file)}/**/*.test.ts`, { cwd: TOP })
    .filter((test) => doesImport(join(TOP, test), join(TOP, file)))
    .map(codeOf)
    .toSorted();
  const hash = createHash('sha256');
  for (const code of [codeOf(file), ...tests]) hash.update(code);
  return hash.digest('hex').slice(0, 16);
}

function readProven(): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(PROVEN_FILE, 'utf8')) as Record<string, string>;
}

function noteProven(digests: Readonly<Record<string, string>>): void {
  const all = { ...readProven(), ...digests };
  const known = DONE.flatMap((file) => (all[file] === undefined ? [] : [[file, all[file]] as const]));
  writeFileSync(PROVEN_FILE, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}

function filesOf(args: readonly string[]): readonly string[] {
  if (args.length > 0) return args.includes('--all') ? DONE : args;
  const proven = readProven();
  return DONE.filter((file) => proven[file] !== digestOf(file));
}

try {
  const files = filesOf(process.argv.slice(2));
  const digests = Object.fromEntries(files.map((file) => [file, digestOf(file)]));
  process.exitCode = await main(files);
  if (process.exitCode === 0 && process.env['CI'] === undefined) noteProven(digests);
} finally {
  rmSync(FOLDER, { recursive: true });
}

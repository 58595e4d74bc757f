/**
 * Every extra can be removed: a copy of the tree without its folder and its line type-checks, its commands are gone
 * from the help, and the core still pulls and pushes. Extras that build on a removed one are removed with it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EXTRAS } from '../../src/extras.ts';
import { LAYERS } from '../support/tidy.ts';

const TOP = new URL('../../', import.meta.url).pathname;
const RUN_MS_MAX = 600_000;

/**
 * One copy for all tests: a change of it costs the compiler only the files that see it, and Node compiles a file once.
 */
const folder = mkdtempSync(join(tmpdir(), 'rowsync-removal-'));

beforeAll(() => {
  for (const name of ['src', 'config', 'systemd', 'package.json', 'tsconfig.json'])
    cpSync(join(TOP, name), join(folder, name), { recursive: true });
  symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  const incremental = { incremental: true, tsBuildInfoFile: './types.json' };
  const only = { extends: join(TOP, 'tsconfig.json'), include: ['src'], compilerOptions: incremental };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(only));
  run('tsc');
}, RUN_MS_MAX);
afterEach(() => {
  for (const name of ['extras', 'extras.ts']) {
    rmSync(join(folder, 'src', name), { recursive: true });
    cpSync(join(TOP, 'src', name), join(folder, 'src', name), { recursive: true });
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The extras that import one, or one that does, and itself. */
function withDependents(name: string): readonly string[] {
  const dependents = new Set([name]);
  for (const on of dependents)
    for (const { name: other } of EXTRAS)
      if (LAYERS[`extras/${other}`]?.includes(`extras/${on}`) === true && imports(other, on)) dependents.add(other);
  return [...dependents];
}

function imports(from: string, to: string): boolean {
  const path = join(TOP, 'src/extras', from);
  return readdirSync(path).some((file) => readFileSync(join(path, file), 'utf8').includes(`'../${to}/`));
}

/** Deletes the folders of extras, and their lines. */
function remove(names: readonly string[]): void {
  for (const name of names) rmSync(join(folder, 'src/extras', name), { recursive: true });
  const list = join(folder, 'src/extras.ts');
  const isOf = (line: string): boolean =>
    names.some((name) => line.includes(`/${name}/`) || line.trim() === `${name.toUpperCase()},`);
  const lines = readFileSync(list, 'utf8').split('\n');
  writeFileSync(list, lines.filter((line) => !isOf(line)).join('\n'));
}

function run(program: string, ...given: readonly string[]): string {
  const path = join(TOP, 'node_modules/.bin', program);
  return execFileSync(path, given, { cwd: folder, encoding: 'utf8', timeout: RUN_MS_MAX });
}

/** Commands of the core that extras add options to. */
const EXTENDED: ReadonlySet<string> = new Set(['sql', 'pull', 'files']);

const commandsOf = (name: string): readonly string[] =>
  (EXTRAS.find((extra) => extra.name === name)?.commands ?? []).flatMap(({ names }) => names);

/** Commands that only these extras have. */
function commandsOnlyOf(names: readonly string[]): readonly string[] {
  const kept = new Set(EXTRAS.filter(({ name }) => !names.includes(name)).flatMap(({ name }) => commandsOf(name)));
  return names.flatMap(commandsOf).filter((command) => !EXTENDED.has(command) && !kept.has(command));
}

test('few extras build on others', () => {
  const dependents = EXTRAS.map(({ name }) => [name, withDependents(name).slice(1).toSorted()] as const);

  expect(Object.fromEntries(dependents.filter(([, others]) => others.length > 0))).toEqual({
    verify: ['demo'],
    check: ['setup'],
    backup: ['rehearse'],
    history: ['doorbell', 'http', 'mcp', 'page', 'putback'],
    putback: ['doorbell', 'http', 'page'],
    page: ['doorbell', 'http'],
    http: ['doorbell'],
  });
});

test.each(EXTRAS.map(({ name }) => name))('%s can be removed', { timeout: RUN_MS_MAX }, (name) => {
  const removed = withDependents(name);

  remove(removed);

  run('tsc');
  const help = run('node', 'src/cli/main.ts', '--help');
  const gone = commandsOnlyOf(removed);
  expect(gone.filter((command) => new RegExp(`^  ${command}\\b`, 'm').test(help))).toEqual([]);
  expect(help).toContain('\n  pull ');
});

test('without any extra the core pulls and pushes', { timeout: 2 * RUN_MS_MAX }, () => {
  const all = readdirSync(join(folder, 'src/extras'));
  for (const name of ['test', 'packaging', 'docs']) cpSync(join(TOP, name), join(folder, name), { recursive: true });
  remove(all);

  run('tsc');
  const help = run('node', 'src/cli/main.ts', '--help');
  const gone = commandsOnlyOf(EXTRAS.map(({ name }) => name));
  expect(gone.filter((command) => new RegExp(`^  ${command}\\b`, 'm').test(help))).toEqual([]);
  const tests = ['pull/pull', 'pull/drift', 'push/push', 'push/refused'].map((name) => `test/${name}.test.ts`);
  run('vitest', 'run', '--testTimeout=60000', '--hookTimeout=60000', ...tests);
});

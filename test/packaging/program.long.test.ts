/**
 * The tests of commands, against what users run: the packed program of npm, and the executable. ROWSYNC_PROGRAM tells
 * them which one (support/program.ts).
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { buildExecutable } from '../../packaging/executable.ts';
import { OWN, X64 } from '../../packaging/platforms.ts';
import { packInto } from '../support/packed.ts';

vi.setConfig({ testTimeout: 900_000 });

const TOP = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rowsync-program-'));

/** Pulls, pushes, exports and what comes back of them, a sink, the daemon and its page. */
const SUITES = [
  'test/cli/commands.slow.test.ts',
  'test/cli/commands/push.slow.test.ts',
  'test/extras/import/import.slow.test.ts',
  'test/extras/page/program.slow.test.ts',
  'test/extras/postgres/command.long.test.ts',
  'test/security/process.slow.test.ts',
];

/**
 * Conflicts, what the documents show, and what the page answers. Both have the same program, so one of them is enough.
 */
const ONCE = [
  'test/cli/commands/conflicts.slow.test.ts',
  'test/cli/documents',
  'test/extras/http/actions.long.test.ts',
  'test/extras/page/address.slow.test.ts',
  'test/extras/page/errors.slow.test.ts',
];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The package without a registry: what it installs beside its bundle comes from the checkout, and nothing else. */
async function packed(): Promise<string> {
  execFileSync('tar', ['-xzf', await packInto(folder)], { cwd: folder });
  mkdirSync(join(folder, 'package/node_modules'));
  symlinkSync(join(TOP, 'node_modules/better-sqlite3'), join(folder, 'package/node_modules/better-sqlite3'));
  return join(folder, 'package/dist/cli/main.cjs');
}

async function executable(): Promise<string> {
  const path = join(folder, 'rowsync');
  await buildExecutable(path, X64);
  return path;
}

test.each([
  ['the package of npm', packed, [...SUITES, ...ONCE]],
  ['the executable', executable, SUITES],
])('%s does what the sources do', async (_what, make, suites) => {
  const vitest = join(TOP, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--maxWorkers=1', '--testTimeout=120000', ...suites], {
    cwd: TOP,
    env: { ...process.env, ROWSYNC_PROGRAM: await make() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];

  expect(code === 0 ? '' : output.slice(-8_000)).toBe('');
});

test('the executable for this machine is made without any other program', async () => {
  const path = join(folder, 'own');
  vi.stubEnv('PATH', folder);

  await buildExecutable(path, OWN).finally(() => vi.unstubAllEnvs());

  expect(execFileSync(path, ['--version'], { encoding: 'utf8', env: { PATH: folder } })).toMatch(/^\d+\.\d+\.\d+\n$/);
});

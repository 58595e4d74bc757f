/** Long texts on a terminal go through the pager of the environment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test, vi } from 'vitest';
import { writePaged } from '../../../src/cli/terminal/pager.ts';
import { collectingOutput } from '../../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

test('a pager gets the text on a terminal, as $PAGER says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-pager-'));
  try {
    vi.stubEnv('PAGER', `cat > '${join(folder, 'seen')}'`);
    const stdout = collectingOutput(80);

    await writePaged({ stdout }, 'all of it\n');

    expect(readFileSync(join(folder, 'seen'), 'utf8')).toBe('all of it\n');
    expect(stdout.text()).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['there is none', '/no/such/pager', 80],
  ['it is no program', '/etc/passwd', 80],
  ['it is switched off', '', 80],
  ['a program reads', 'cat', null],
])('a pager is left out where %s', async (_, pager, width) => {
  vi.stubEnv('PAGER', pager);
  const stdout = collectingOutput(width);

  await writePaged({ stdout }, 'all of it\n');

  expect(stdout.text()).toBe('all of it\n');
});

test('a pager that ends before it has read everything is no failure', async () => {
  vi.stubEnv('PAGER', 'true');
  const stdout = collectingOutput(80);

  await writePaged({ stdout }, 'a line\n'.repeat(100_000));

  expect(stdout.text()).toBe('');
});

test('Ctrl-C is for the pager, which rowsync outlives', async () => {
  const program = new URL('../../../src/cli/terminal/pager.ts', import.meta.url).href;
  const code = `
    const { writePaged } = await import(${JSON.stringify(program)});
    await writePaged({ stdout: { isTerminal: true, write: async () => undefined } }, 'all of it\\n');
    process.stdout.write('and more');
    process.kill(process.pid, 'SIGINT');
    setTimeout(() => undefined, 60_000);`;
  const env = { ...process.env, PAGER: 'kill -INT $PPID; sleep 0.3; cat' };
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const read = text(child.stdout);

  // Behind the pager, it counts again.
  expect(await once(child, 'close')).toEqual([null, 'SIGINT']);
  expect(await read).toBe('all of it\nand more');
});

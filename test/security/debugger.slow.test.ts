/**
 * Node's debugger, which shows all of a process to every other process of its user, and which SIGUSR1 would open. Every
 * way to start rowsync is compared with the one list of flags.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { EXECUTABLE_FLAGS } from '../../packaging/executable.ts';
import { childFlags, NODE_FLAGS } from '../../src/base/node-flags.ts';
import { planInstall } from '../../src/extras/service/service-plan.ts';
import { ownWords } from '../../src/extras/shared/child-pool.ts';

const TOP = join(import.meta.dirname, '../..');
const text = (path: string): string => readFileSync(join(TOP, path), 'utf8');

test('child processes take no signal for the debugger, and the program has a use of its own for it', () => {
  for (const flags of [childFlags(96), ownWords('page')]) expect(flags).toContain('--disable-sigusr1');
  // With it, Node blocks the signal that begins a cycle.
  expect(NODE_FLAGS).not.toContain('--disable-sigusr1');
  expect(EXECUTABLE_FLAGS.execArgv).toBe(NODE_FLAGS);
  expect(ownWords('page').slice(0, -2)).toEqual(childFlags(96));
});

test('units start the executable, or Node with the flags', () => {
  const units = new Map(
    ['rowsync@.service', 'rowsync-sync@.service'].map((name) => [name, text(`systemd/${name}`)] as const),
  );
  const program = ['/opt/node', ...NODE_FLAGS, '/opt/main.cjs'];
  const steps = planInstall({ name: 'main', by: 'daemon', program, units, config: null, token: null, maskKey: '' });

  const starts = [...units.values()].map((unit) => /^ExecStart=(\S+) /m.exec(unit)?.[1]);
  const installed = steps.flatMap((step) => (step.kind === 'write' ? (/^ExecStart=.*$/m.exec(step.text) ?? []) : []));

  expect(starts).toEqual(['/usr/bin/rowsync', '/usr/bin/rowsync']);
  expect(installed).toHaveLength(2);
  for (const line of installed) expect(line).toContain(`=/opt/node ${NODE_FLAGS.join(' ')} /opt/main.cjs `);
});

test('the image starts the executable', () => {
  expect(text('packaging/Containerfile')).toMatch(/^COPY --chmod=755 rowsync-linux-x64 \/usr\/bin\/rowsync$/m);
  expect(text('packaging/Containerfile')).toMatch(/^ENTRYPOINT \["rowsync"\]$/m);
});

test('no other file starts Node', () => {
  const starting = readdirSync(join(TOP, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && /\bprocess\.execPath\b|\bfork\(/.test(text(`src/${name}`)),
  );

  // The first says in an error which Node it is; the other takes the flags from the list.
  expect(starting.toSorted()).toEqual(['cli/start.ts', 'extras/shared/child-pool.ts']);
});

test.each([
  ['src/cli/start.ts', 'without any flag', []],
  ['src/cli/main.ts', 'without any flag', []],
  ['src/cli/start.ts', 'with its flags', NODE_FLAGS],
])('SIGUSR1 opens no debugger in %s %s', async (main, _how, flags) => {
  const child = spawn(process.execPath, [...flags, main, 'sandbox', '--json'], {
    cwd: TOP,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };

  child.kill('SIGUSR1');
  for (let asked = 0; asked < 20; asked += 1) await (await fetch(url)).text();
  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number | null];

  expect(stderr).not.toContain('Debugger');
  expect(code).toBe(0);
});

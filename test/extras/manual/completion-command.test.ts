/**
 * Completion, asked the way a shell asks. What needs a shell that is not there is skipped by name.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/replica.ts';
import { runCli } from '../../support/session.ts';

const hasShell = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** What bash offers for the last of these words. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout: script } = await runCli(['completion', 'bash']);
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rowsync; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${script}\n${ask}`, 'bash', ...words], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash completes commands', async () => {
  expect(await offered('rowsync', 'pu')).toContain('pull');
  expect(await offered('rowsync', 'completio')).toEqual(['completion']);
});

test('bash completes the options of a command, and those that every command has', async () => {
  expect(await offered('rowsync', '--json', 'pull', '--')).toEqual(expect.arrayContaining(['--confirm', '--config']));
  expect(await offered('rowsync', 'status', '--conf')).toEqual(['--config']);
});

test('bash completes commands below a command', async () => {
  expect(await offered('rowsync', 'service', 'in')).toEqual(['install']);
  expect(await offered('rowsync', 'service', 'install', '--dry')).toEqual(['--dry-run']);
});

test.each(['zsh', 'fish'])('there is a script for %s that names every command', async (shell) => {
  const { stdout, exitCode } = await runCli(['completion', shell]);

  expect(exitCode).toBe(0);
  for (const name of ['pull', 'daemon', 'service', 'install', 'restore']) expect(stdout).toContain(name);
});

test.skipIf(!hasShell('zsh'))('zsh reads its script', async () => {
  const { stdout: script } = await runCli(['completion', 'zsh']);

  expect(spawnSync('zsh', ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

test.skipIf(!hasShell('fish'))('fish reads its script', async () => {
  using folder = temporaryFolder();
  const { stdout: script } = await runCli(['completion', 'fish']);
  // fish reads no script from the socket that Node makes the input of a child.
  const file = join(folder.path, 'rowsync.fish');
  writeFileSync(file, script);

  expect(spawnSync('fish', ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

test('another shell is a usage error that names the three', async () => {
  const { exitCode, stderr } = await runCli(['completion', 'tcsh']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('bash, zsh, fish');
});

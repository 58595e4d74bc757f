/** What a command prints is written to the end, or the command fails. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** Runs a line of shell, in which `rowsync` is the program, in an empty folder. */
function shell(line: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-output-'));
  const program = `rowsync() { '${process.execPath}' '${MAIN}' "$@"; }`;
  try {
    return spawnSync('bash', ['-c', `${program}; ${line}`], { cwd: folder, encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.each(['completion bash', 'man', '--help', '--version', 'sandbox'])('%s fails on a full disk', (command) => {
  const { status, stderr } = shell(`rowsync ${command} > /dev/full`);

  expect(status).toBe(1);
  expect(stderr).toContain('error: The output is not complete; writing it failed: ENOSPC');
  expect(stderr).toContain('code: output.failed');
});

test('a file that takes only a part of one text is a failure too', () => {
  const { status, stderr } = shell('ulimit -f 1; rowsync completion bash > out');

  expect(status).toBe(1);
  expect(stderr).toContain('code: output.failed');
});

test('the failure is JSON where JSON is asked for', () => {
  const { status, stderr } = shell('rowsync --json --help > /dev/full');

  expect(status).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'output.failed' } });
});

test('a reader that closes the pipe is no failure', () => {
  const { stdout, stderr } = shell('rowsync completion bash | true; echo "${PIPESTATUS[0]}"');

  expect(stdout).toBe('0\n');
  expect(stderr).toBe('');
});

test('an error keeps its own exit code, and messages that cannot be written change nothing', () => {
  expect(shell('rowsync nonsense > /dev/full 2> /dev/full').status).toBe(2);
  expect(shell('rowsync completion bash 2> /dev/full > out').status).toBe(0);
});

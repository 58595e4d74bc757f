/**
 * The command line as its users run it: a process of its own (program.ts). Never blocks, because the sandbox that the
 * child talks to lives in this process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROGRAM } from './program.ts';
import type { RunResult } from './session.ts';

/** A child under way. */
export interface Child {
  readonly process: ChildProcess;
  /** Its outputs so far. */
  readonly text: { stdout: string; stderr: string };
  /** Resolves when it has ended and all its output has come. */
  readonly end: Promise<RunResult>;
}

/** Starts `rowsync` with these arguments, without a terminal. */
export function startRowsync(
  args: readonly string[],
  options: { folder: string; input?: string; env?: Readonly<Record<string, string>> },
): Child {
  const [command, ...first] = PROGRAM;
  const child = spawn(command, [...first, ...args], {
    cwd: options.folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const text = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk));
  child.stdin.end(options.input ?? '');
  const end = once(child, 'close').then(([code]) => ({ exitCode: Number(code), ...text }));
  return { process: child, text, end };
}

/** Runs `rowsync` to its end. */
export function runRowsync(args: readonly string[], options: { folder: string; input?: string }): Promise<RunResult> {
  return startRowsync(args, options).end;
}

/** A temporary folder with a `rowsync.yaml` for an origin and its token; removed by `dispose`. */
export function makeWorkspace(
  origin: { readonly url: string; readonly database: string; readonly token: string },
  yaml = '',
): { readonly folder: string; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-cli-'));
  writeFileSync(join(folder, 'token'), origin.token, { mode: 0o600 });
  const { url, database } = origin;
  const config = `origin: { url: "${url}", database: "${database}", tokenFile: token }\nreplica: { path: replica.db }\n`;
  writeFileSync(join(folder, 'rowsync.yaml'), config + yaml);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Where the checkout is, and how other programs are run in it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The top of the checkout. */
export const TOP = fileURLToPath(new URL('../', import.meta.url));

/** Runs a program to its end, with its output on ours. @throws where it fails. */
export function runProgram(program: string, args: readonly string[], options: { readonly cwd?: string } = {}): void {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'], cwd: TOP, ...options });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}

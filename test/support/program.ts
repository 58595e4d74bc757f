/**
 * The program that tests start as `rowsync`: the sources, or what ROWSYNC_PROGRAM names, such as the packed program or
 * the executable.
 */
import { fileURLToPath } from 'node:url';

/** Whether another program than the sources is tested. */
export const IS_PACKED = process.env['ROWSYNC_PROGRAM'] !== undefined;

const MAIN = process.env['ROWSYNC_PROGRAM'] ?? fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The command, and what comes before the arguments of `rowsync`. */
export const PROGRAM: readonly [command: string, ...args: string[]] = /\.c?[jt]s$/.test(MAIN)
  ? [process.execPath, MAIN]
  : [MAIN];

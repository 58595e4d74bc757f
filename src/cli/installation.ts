/**
 * What this rowsync was started from: a checkout, the package of npm, or one executable. Output: its version, the files that come
 * with it, and the command that starts it again. In an executable the files are assets of it.
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/** The same relative path from src/cli and from dist/cli. */
const TOP = new URL('../../', import.meta.url);

/** Whether it runs from its sources; there is no `rowsync` on the path then. */
export const isCheckout = import.meta.url.endsWith('.ts');

/** The text of a file that comes with rowsync; the path is relative to the top of the package, such as `package.json`. */
export function readShipped(path: string): string {
  return isSea() ? getAsset(path, 'utf8') : readFileSync(new URL(path, TOP), 'utf8');
}

/** The version of this rowsync. */
export function versionOf(): string {
  const parsed: unknown = JSON.parse(readShipped('package.json'));
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown';
}

/** The words that start this rowsync, with flags for Node; an executable brings its own flags. */
export function ownCommand(nodeFlags: readonly string[]): readonly string[] {
  if (isSea()) return [process.execPath];
  const main = fileURLToPath(new URL(isCheckout ? 'src/cli/main.ts' : 'dist/cli/main.cjs', TOP));
  return [process.execPath, ...nodeFlags, main];
}

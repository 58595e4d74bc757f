/**
 * The version of this rowsync and the files that come with it: in a checkout, in the package of npm, in an executable.
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

export const isCheckout = import.meta.url.endsWith('.ts');

/** What a person types in front of a command; in a checkout there is no `rowsync` on the path. */
export const ROWSYNC = isCheckout ? 'npm run -s rowsync --' : 'rowsync';

/** The top of the checkout or of the package, all of whose parts are in dist/cli. */
const TOP = new URL(isCheckout ? '../../../' : '../../', import.meta.url);

/** The text of a file that comes with rowsync, by its path from the top of the package, such as `package.json`. */
export function readShipped(path: string): string {
  return isSea() ? getAsset(path, 'utf8') : readFileSync(new URL(path, TOP), 'utf8');
}

export function versionOf(): string {
  const parsed: unknown = JSON.parse(readShipped('package.json'));
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown';
}

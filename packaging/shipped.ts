/** Prints the folders of all packages that users get, one a line: those in the bundles, and those that are installed beside them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { TOP } from './paths.ts';

/** Folders of the packages, relative to the checkout, such as `node_modules/undici`. */
export async function shippedFolders(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-bundle-'));
  try {
    return [...installedFolders(), ...(await bundle(folder)).map((found) => found.folder)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Folders of what npm installs with rowsync, as the lock file says. */
function installedFolders(): readonly string[] {
  const text = readFileSync(join(TOP, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, { readonly dev?: boolean }>> };
  return Object.entries(packages).flatMap(([path, { dev }]) => (path === '' || dev === true ? [] : [path]));
}

if (import.meta.main) process.stdout.write(`${(await shippedFolders()).join('\n')}\n`);

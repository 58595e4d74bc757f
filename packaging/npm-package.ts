/**
 * The package for npm, made in a folder of its own. The program is one bundle with every JavaScript package in it; only
 * better-sqlite3, which has machine code, is installed beside it. So the package.json in it names fewer dependencies
 * than that of the checkout.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, NOT_BUNDLED, writeLicenses } from './bundle.ts';
import { runProgram, TOP } from './paths.ts';

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** What only a checkout needs. */
const CHECKOUT_ONLY: readonly string[] = ['private', 'scripts', 'devDependencies', 'allowScripts', 'knip'];

/** The package.json of the package, from that of the checkout. */
export function packedManifest(checkout: Manifest): Manifest {
  const installed = Object.entries(checkout.dependencies).filter(([name]) => NOT_BUNDLED.includes(name));
  const packed = { ...checkout, dependencies: Object.fromEntries(installed) };
  return Object.fromEntries(
    Object.entries(packed).filter(([field]) => !CHECKOUT_ONLY.includes(field)),
  ) as typeof packed;
}

/** Makes the package and packs it; `npmArgs` go to `npm pack`. Returns what npm prints. */
export async function packForNpm(npmArgs: readonly string[], version?: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-package-'));
  try {
    const checkout = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as Manifest;
    const manifest = packedManifest({ ...checkout, version: version ?? checkout.version });
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    for (const name of [...manifest.files, 'README.md', 'LICENSE']) {
      if (name !== 'dist') cpSync(join(TOP, name), join(folder, name), { recursive: true });
    }
    writeLicenses(join(folder, 'dist/licenses.txt'), await bundle(join(folder, 'dist')));
    runProgram(join(TOP, 'node_modules/.bin/tsc'), ['-p', 'src', '--outDir', join(folder, 'dist')]);
    return execFileSync('npm', ['pack', folder, ...npmArgs], { cwd: TOP, encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) process.stdout.write(await packForNpm(process.argv.slice(2)));

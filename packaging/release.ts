/**
 * Everything that is handed to users: the package of npm, one executable, a Debian package, what a container is built from, the list of
 * what is in them (CycloneDX), and checksums. Input: the checkout. Output: files in a folder; the same commit gives the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageAt, writeLicenses } from './bundle.ts';
import { buildDebian } from './debian.ts';
import { buildExecutable } from './executable.ts';
import { packForNpm } from './npm-package.ts';
import { TOP } from './paths.ts';
import { ARM64, X64 } from './platforms.ts';
import { sbomText } from './sbom.ts';

/** When the commit was made, in seconds since 1970; what is built has this time. */
export function commitTime(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  const text = given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: TOP, encoding: 'utf8' });
  return Number(text.trim());
}

/** Fills a folder, which is emptied first. */
export async function makeRelease(release: string): Promise<void> {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release);
  const builtAt = commitTime();
  const { version } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { version: string };
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-dist-'));
  try {
    await packForNpm(['--silent', '--pack-destination', release]);
    const printer = join(release, 'rowsync-linux-x64');
    const packages = await buildExecutable(printer, X64);
    await buildExecutable(join(release, 'rowsync-linux-arm64'), ARM64);
    const licenses = join(folder, 'licenses.txt');
    writeLicenses(licenses, [...packages, packageAt('node_modules/node')]);
    for (const platform of [X64, ARM64]) {
      const executable = join(release, `rowsync-${platform.name}`);
      const parts = { platform, executable, printer, version, builtAt, licenses: readFileSync(licenses, 'utf8') };
      buildDebian(parts, join(folder, platform.debian), join(release, `rowsync_${version}_${platform.debian}.deb`));
    }
    for (const name of ['Containerfile', 'image-setup.sh']) cpSync(join(TOP, 'packaging', name), join(release, name));
    writeFileSync(join(release, 'rowsync.cdx.json'), sbomText(packages, version, builtAt));
    writeFileSync(join(release, 'SHA256SUMS'), sumsOf(release));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function sumsOf(folder: string): string {
  return readdirSync(folder)
    .toSorted()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('');
}

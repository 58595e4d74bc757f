/**
 * The package as users get it, with a version of the test's choice, and a cache of npm that holds all it depends on, so
 * that it can be installed without a network.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { packForNpm } from '../../packaging/npm-package.ts';

const runFile = promisify(execFile);
const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) };

/** Packs into a folder; returns the name of the tarball in it. The version is that of the checkout unless given. */
export async function packInto(folder: string, version?: string): Promise<string> {
  const name = await packForNpm(['--silent', '--pack-destination', folder], version);
  return name.trim();
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

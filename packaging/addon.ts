/**
 * Where an executable takes the machine code of better-sqlite3 from. A Debian package has it as a file. Alone, the
 * executable writes its own copy into a new folder that only this user reads, loads it, and removes it: nothing else
 * can come in between.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { getRawAsset } from 'node:sea';

/** The name of the asset, and of the file. */
const ADDON = 'better_sqlite3.node';

let loaded: unknown;

/** The addon; loaded once. */
export function loadAddon(): unknown {
  return (loaded ??= load());
}

function load(): unknown {
  const installed = join(dirname(process.execPath), '../lib/rowsync', ADDON);
  if (existsSync(installed)) return open(installed);
  const failures: string[] = [];
  for (const parent of [tmpdir(), join(userInfo().homedir, '.cache')]) {
    try {
      return fromCopyIn(parent);
    } catch (thrown) {
      failures.push(String(thrown));
    }
  }
  throw new Error(`No folder lets programs run; name one with TMPDIR. ${failures.join('; ')}`);
}

function fromCopyIn(parent: string): unknown {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'rowsync-'));
  try {
    const path = join(folder, ADDON);
    writeFileSync(path, new Uint8Array(getRawAsset(ADDON)), { mode: 0o500 });
    return open(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function open(path: string): unknown {
  const addon: { exports: unknown } = { exports: {} };
  process.dlopen(addon, path);
  return addon.exports;
}

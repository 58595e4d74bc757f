/**
 * Brings a replica of an earlier version to this one, and keeps the file as it was beside it, as
 * `<replica>.before-<version>`. Invariant (I13): a crash at any moment leaves the old version or the new one, and the
 * copy is whole as soon as it has its name.
 *
 * The copy is made and checked inside the transaction that migrates, so that nothing is written between the two. It
 * stays until the next upgrade has made its own.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { RowsyncError } from '../base/errors.ts';
import { migrateBookkeeping, SCHEMA_VERSION } from './bookkeeping/schema.ts';
import { checkCopy, countRows, makePrivate, PARTIAL, removeFile, takeName, withFile } from './copy-file.ts';
import { replicaError } from './sqlite-errors.ts';
import { MIGRATIONS } from './migrations.ts';
import { sql } from '../base/sql.ts';

export interface Upgrade {
  readonly fromVersion: number;
  readonly copyPath: string;
}

function pathBefore(path: string, version: number): string {
  return `${path}.before-${version}`;
}

/** Brings an earlier version up to this one; null where there is nothing to do. @throws RowsyncError of the replica. */
export function upgradeFile(db: Database.Database, path: string): Upgrade | null {
  const fromVersion = versionOf(db);
  if (fromVersion >= SCHEMA_VERSION) return null;
  const changes = MIGRATIONS[fromVersion];
  if (changes === undefined) {
    throw new RowsyncError('replica', 'replica.older', {
      message: `${path} has version ${fromVersion}, which no release of rowsync wrote`,
      hint: 'Nothing was changed. Move the file away, and pull anew.',
    });
  }
  const copyPath = pathBefore(path, SCHEMA_VERSION);
  const upgrade = db.transaction(() => {
    keepAsItWas(db, path, copyPath);
    migrateBookkeeping(db, changes);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
  upgrade.immediate();
  removeOthers(path, copyPath);
  return { fromVersion, copyPath };
}

function versionOf(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Copies the file by a separate connection, which sees committed data; no process can write meanwhile. */
function keepAsItWas(db: Database.Database, path: string, copyPath: string): void {
  const partial = copyPath + PARTIAL;
  try {
    makePrivate(partial);
    withFile(path, { readonly: true, fileMustExist: true }, (reading) => {
      reading.prepare(sql`VACUUM INTO ?`).run(partial);
    });
    checkCopy(partial, countRows(db));
    takeName(partial, copyPath);
  } catch (thrown) {
    removeFile(partial);
    throw replicaError(thrown, `Copying ${path} before it is brought to version ${SCHEMA_VERSION}`);
  }
}

/** Copies of earlier upgrades, which the new one takes the place of. */
function removeOthers(path: string, copyPath: string): void {
  const stem = `${basename(path)}.before-`;
  for (const name of readdirSync(dirname(path))) {
    const isCopy = name.startsWith(stem) && /^\d+(\.partial)?$/.test(name.slice(stem.length));
    if (isCopy && name !== basename(copyPath)) rmSync(join(dirname(path), name), { force: true });
  }
}

/** What someone does whose rowsync is older than the replica. */
export function downgradeHint(path: string, version: number): string {
  const copy = pathBefore(path, version);
  const back = existsSync(copy)
    ? `go back to the file as it was before the upgrade: rowsync restore ${copy}`
    : 'pull into a new file';
  return `Nothing was changed. Install the newer rowsync again, or ${back}.`;
}

/** The process at work is of an earlier version of rowsync; the file is brought up to date when that has ended. */
export function checkVersion(db: Database.Database, path: string): void {
  const version = versionOf(db);
  if (version === SCHEMA_VERSION) return;
  throw new RowsyncError('replica', 'replica.older', {
    message: `${path} has version ${version}, and a process of that version works on it; this rowsync works with ${SCHEMA_VERSION}`,
    hint: 'Stop that process, or start it again with this version of rowsync.',
  });
}

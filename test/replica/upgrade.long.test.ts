/**
 * Replicas that earlier versions wrote: what is kept when they are opened, what stands beside them then, and what a
 * crash at any step leaves.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { asRowsyncError } from '../../src/base/errors.ts';
import { backUp, restore } from '../../src/extras/backup/replica-copy.ts';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping/schema.ts';
import { openReplica } from '../../src/replica/database.ts';
import { openReader } from '../../src/replica/reader.ts';
import { makeReleased, RELEASED_VERSION } from '../support/released.ts';
import { temporaryFolder } from '../support/replica.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const RUN_MS_MAX = 180_000;
const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';
const CHILD = fileURLToPath(new URL('../support/upgrade-child.ts', import.meta.url));

/**
 * What stands in a file, whatever its version: the version, SQLite's opinion, and every row of a user's or of a base.
 */
function contentOf(path: string): Readonly<Record<string, unknown>> {
  const db = new Database(path, { readonly: true });
  try {
    const names = db
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT GLOB '_rowsync_*' OR name GLOB '_rowsync_base_*'
           OR name IN ('_rowsync_conflicts', '_rowsync_deleted', '_rowsync_batches')) AND name NOT GLOB 'sqlite_*' ORDER BY name`,
      )
      .pluck()
      .all() as string[];
    const rows = names
      .map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).safeIntegers().all().map(renamed)] as const)
      .filter(([, found]) => found.length > 0);
    return {
      version: db.pragma('user_version', { simple: true }),
      integrity: db.pragma('integrity_check', { simple: true }),
      rows: Object.fromEntries(rows) as unknown,
      // The release had two names for a row that is on its way.
      marks: db
        .prepare(`SELECT table_id, row_id, iif(state = 'unknown', 'sending', state) AS state, since FROM _rowsync_rows`)
        .all(),
    };
  } finally {
    db.close();
  }
}

/**
 * A row with the names that its columns have today; an upgraded file keeps the old name beside. No conflict is seen by
 * an upgrade.
 */
function renamed(row: unknown): unknown {
  const { wish, ...others } = row as Readonly<Record<string, unknown>>;
  const now = wish === undefined ? others : { requested: wish, ...others };
  return 'requested' in now ? { seen: 0n, ...now } : now;
}

function open(path: string): ReturnType<typeof openReplica>['upgrade'] {
  const replica = openReplica(path, { clock: systemClock });
  replica.close();
  return replica.upgrade;
}

test('upgrades a file in which somebody has a view of what is not there', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const db = new Database(path);
  db.exec('CREATE VIEW broken AS SELECT x FROM nowhere');
  db.close();

  expect(open(path)).toMatchObject({ fromVersion: RELEASED_VERSION });
});

test('keeps edits, conflicts, evidence and what was sent, and the file as it was beside it', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const before = contentOf(path);

  const upgrade = open(path);

  const copyPath = `${path}.before-${SCHEMA_VERSION}`;
  expect(upgrade).toEqual({ fromVersion: RELEASED_VERSION, copyPath });
  expect(contentOf(path)).toEqual({ ...before, version: SCHEMA_VERSION });
  expect(contentOf(copyPath)).toEqual(before);
  expect(statSync(copyPath).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder.path).filter((name) => name.includes('partial'))).toEqual([]);
});

test('keeps a copy of the file as it was, and the copy of the upgrade before goes', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  for (const name of ['before-2', 'before-3.partial', 'before-me']) writeFileSync(`${path}.${name}`, '');

  open(path);
  const again = open(path);

  expect(again).toBeNull();
  expect(contentOf(`${path}.before-${SCHEMA_VERSION}`)).toMatchObject({ version: RELEASED_VERSION, integrity: 'ok' });
  expect(readdirSync(folder.path).filter((name) => name.includes('before'))).toEqual([
    `replica.db.before-${SCHEMA_VERSION}`,
    'replica.db.before-me',
  ]);
});

test(
  'a crash of an upgrade leaves the old file or the new one, at every step, and the next start ends it',
  () => {
    const steps = countSteps();
    expect(steps).toBeGreaterThan(20);
    const seen = new Set<unknown>();
    for (let step = steps; step >= 1; step -= 1) {
      using folder = temporaryFolder();
      const path = join(folder.path, 'replica.db');
      makeReleased(path);
      const before = contentOf(path);

      const { signal } = runChild(path, step);
      const crashed = contentOf(path);
      const copyPath = `${path}.before-${SCHEMA_VERSION}`;
      const hadCopy = existsSync(copyPath);
      const copied = hadCopy ? contentOf(copyPath) : before;
      open(path);

      seen.add(crashed['version']);
      expect(signal).toBe('SIGKILL');
      expect(crashed).toEqual({ ...before, version: crashed['version'] });
      expect([before['version'], SCHEMA_VERSION]).toContain(crashed['version']);
      expect(hadCopy || crashed['version'] === before['version']).toBe(true);
      expect(copied).toEqual(before);
      expect(contentOf(path)).toEqual({ ...before, version: SCHEMA_VERSION });
      expect(readdirSync(folder.path).filter((name) => name.includes('partial'))).toEqual([]);
    }
    expect(seen.size).toBe(2);
  },
  RUN_MS_MAX,
);

function countSteps(): number {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  return Number(runChild(path, 0).stdout);
}

function runChild(path: string, step: number): { readonly signal: string | null; readonly stdout: string } {
  return spawnSync(process.execPath, [CHILD, path, String(step)], { encoding: 'utf8' });
}

test('an upgrade whose copy is not whole changes nothing', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const db = new Database(path);
  db.unsafeMode();
  db.pragma('writable_schema = ON');
  db.exec(
    `UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = '_rowsync_pages') WHERE name = '_rowsync_deleted'`,
  );
  db.close();
  const before = readFileSync(path);

  expect(() => open(path)).toThrow(expect.objectContaining({ kind: 'replica' }));

  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(folder.path).filter((name) => name.includes('before'))).toEqual([]);
});

test.skipIf(!canMount)(
  `an upgrade for which the disk has no room changes nothing, and is made once there is${why}`,
  () => {
    using folder = temporaryFolder();
    using disk = mountTmpfs(400);
    const [made, path] = [join(folder.path, 'made.db'), join(disk.path, 'replica.db')];
    makeReleased(made);
    copyFileSync(made, path);
    const before = contentOf(path);

    const errors = [tryOpen(path), tryOpen(path)];
    const between = contentOf(path);
    disk.remount('size=20m');
    open(path);

    expect(errors).toMatchObject([{ code: 'replica.full' }, { code: 'replica.full' }]);
    expect(errors[0]?.message).toContain(`before it is brought to version ${SCHEMA_VERSION}`);
    expect(between).toEqual(before);
    expect(contentOf(path)).toEqual({ ...before, version: SCHEMA_VERSION });
  },
);

function tryOpen(path: string): ReturnType<typeof asRowsyncError> | null {
  try {
    open(path);
    return null;
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}

test('a newer file is refused with the command that goes back, where there is a copy', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const before = contentOf(path);
  open(path);
  const newer = SCHEMA_VERSION + 1;
  const copyPath = `${path}.before-${newer}`;
  copyFileSync(`${path}.before-${SCHEMA_VERSION}`, copyPath);
  const db = new Database(path);
  db.pragma(`user_version = ${newer}`);
  db.close();

  const error = tryOpen(path);
  await restore(copyPath, { path, stamp: '20260601T120000Z' });
  open(path);

  expect(error).toMatchObject({ code: 'replica.newer', exitCode: 78 });
  expect(error?.hint).toContain(`rowsync restore ${copyPath}`);
  expect(contentOf(path)).toEqual({ ...before, version: SCHEMA_VERSION });
});

test('a backup of an earlier version is restored and brought up to date', async () => {
  using folder = temporaryFolder();
  const [path, copy] = [join(folder.path, 'replica.db'), join(folder.path, 'copy.db')];
  makeReleased(path);
  await backUp(path, copy);
  rmSync(path);

  await restore(copy, { path, stamp: '20260601T120000Z' });
  open(path);

  expect(contentOf(path)).toMatchObject({ version: SCHEMA_VERSION, integrity: 'ok' });
});

test('of a file of the first release, readers see conflicts and failures, and are sent to a pull for its tables', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const reader = openReader(path);

  const counts = [reader.conflicts({ all: true }), reader.failures()].map(({ length }) => length);

  expect(counts).toEqual([1, 1]);
  expect(() => reader.status()).toThrowError(
    expect.objectContaining({ code: 'replica.older', hint: expect.stringContaining('rowsync pull') as string }),
  );
  reader.close();
});

test.each([RELEASED_VERSION - 1, RELEASED_VERSION + 1])(
  'a file of version %i, which no release wrote, is refused, and stays as it is',
  (version) => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'replica.db');
    makeReleased(path);
    const db = new Database(path);
    db.pragma(`user_version = ${version}`);
    db.close();

    expect(tryOpen(path)).toMatchObject({
      code: 'replica.older',
      hint: expect.stringContaining('pull anew') as string,
    });

    expect(contentOf(path)).toMatchObject({ version });
    expect(readdirSync(folder.path).filter((name) => name.includes('before'))).toEqual([]);
  },
);

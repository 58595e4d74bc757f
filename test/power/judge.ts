/** What must hold after a power cut: first on the disk as it is found, then when the program has continued. */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { filesBeside } from '../../src/extras/shared/stored-content.ts';
import type { Random } from '../../src/sandbox/data/random.ts';
import { integrity, readOrigin, readReplica } from '../support/compare.ts';
import { storeProblems, type SyncFile } from '../support/files.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import type { Survival } from './disk.ts';
import { cutPower, isWaiting, type Acknowledged, type Recording } from './rig.ts';
import { countRows, countRuns } from './stories.ts';

/** Cuts the power behind so many operations, lets the program continue, and returns what is wrong, in words. */
export async function judgeCut(
  recording: Recording,
  count: number,
  survival: Survival,
  random: Random,
): Promise<readonly string[]> {
  const { at, origin } = cutPower(recording, count, survival, random);
  const held = recording.acknowledged.filter((one) => one.at <= at);
  const mayRestore = recording.acknowledged.some((one) => one.restores === true && one.at <= at);
  const found = [...keptProblems(recording, held), ...rawProblems(recording, mayRestore ? [] : held)];
  const storeFolder = mkdtempSync(join(tmpdir(), 'rowsync-power-origin-'));
  const storePath = join(storeFolder, 'store.sqlite');
  writeFileSync(storePath, origin);
  const sandbox = await startTestSandbox({ ...recording.address, storePath, token: recording.token });
  try {
    for (let round = 0; round < 2; round += 1) {
      const { exitCode, stdout, stderr } = await runCli(['sync'], { folder: recording.folder });
      if (exitCode !== 0 && !isWaiting(stdout + stderr)) found.push(`sync ended with ${exitCode}: ${stderr}${stdout}`);
    }
    return [...found, ...endProblems(recording, sandbox, { held, mayRestore })];
  } catch (thrown) {
    return [...found, String(thrown)];
  } finally {
    await sandbox.stop();
    rmSync(storeFolder, { recursive: true });
  }
}

/** Backups and exports: what was said to be whole is there, and what has its name is whole. */
function keptProblems({ folder, acknowledged }: Recording, held: readonly Acknowledged[]): string[] {
  const backups = acknowledged.flatMap(({ backup }) => backup ?? []);
  return [
    ...held.flatMap(({ backup }) => (backup === undefined || existsSync(backup.path) ? [] : ['a backup is gone'])),
    ...backups.flatMap(({ path, rowCount }) => (existsSync(path) ? backupProblems(folder, path, rowCount) : [])),
    ...held.flatMap(({ exported }) =>
      [...(exported ?? [])].flatMap(([path, hash]) => {
        if (!existsSync(path)) return [`${path} of an export is gone`];
        return createHash('sha256').update(readFileSync(path)).digest('hex') === hash
          ? []
          : [`${path} of an export is another`];
      }),
    ),
  ];
}

function backupProblems(folder: string, path: string, rowCount: number): readonly string[] {
  return look(folder, path, (copy) => {
    if (integrity(copy) !== 'ok') return ['a backup is damaged'];
    if (countRows(copy, 'Album') !== rowCount) return ['a backup has other rows'];
    return filesOf(copy).some(({ state, sha256 }) => {
      const content = join(filesBeside(path), String(sha256).slice(0, 2), String(sha256));
      return state === 'here' && !isWhole(content, String(sha256));
    })
      ? ['a file of a backup is not whole']
      : [];
  });
}

function isWhole(path: string, sha256: string): boolean {
  return existsSync(path) && createHash('sha256').update(readFileSync(path)).digest('hex') === sha256;
}

/** The replica as it is found, looked at in a copy, so that nothing is mended. */
function rawProblems({ folder }: Recording, held: readonly Acknowledged[]): readonly string[] {
  const path = join(folder, 'replica.db');
  if (!existsSync(path)) return held.some(({ runCount }) => runCount !== undefined) ? ['the replica is gone'] : [];
  return look(folder, path, (copy) => {
    const state = integrity(copy);
    if (state !== 'ok') return [`the replica is damaged: ${String(state)}`];
    const runs = Math.max(0, ...held.map(({ runCount = 0 }) => runCount));
    const hasRuns = has(copy, 'sync_runs');
    return [
      ...(hasRuns || runs === 0 ? [] : ['the replica is empty']),
      ...(!hasRuns || countRuns(copy) >= runs ? [] : ['a run is gone']),
      // What a release left is not content of this store's making.
      ...(has(copy, 'sync_files') ? storeProblems(filesOf(copy), join(folder, 'nowhere')) : []),
    ];
  });
}

function has(path: string, view: string): boolean {
  const db = new Database(path);
  try {
    return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(view) !== undefined;
  } finally {
    db.close();
  }
}

function filesOf(path: string): readonly SyncFile[] {
  const db = new Database(path);
  try {
    return db.prepare<[], SyncFile>('SELECT * FROM sync_files').all();
  } finally {
    db.close();
  }
}

function look<T>(folder: string, path: string, read: (copy: string) => T): T | readonly string[] {
  const place = mkdtempSync(join(tmpdir(), 'rowsync-power-look-'));
  try {
    const copy = join(place, 'copy.db');
    for (const ending of ['', '-wal', '-journal'])
      if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
    const db = new Database(copy);
    db.pragma('journal_mode = DELETE'); // what is in its log goes into it
    db.close();
    mkdirSync(folder, { recursive: true });
    return read(copy);
  } catch (thrown) {
    return [`${path} cannot be read: ${String(thrown)}`];
  } finally {
    rmSync(place, { recursive: true });
  }
}

function endProblems(
  { folder }: Recording,
  sandbox: TestSandbox,
  { held, mayRestore }: { held: readonly Acknowledged[]; mayRestore: boolean },
): readonly string[] {
  const path = join(folder, 'replica.db');
  const tables = Object.entries(readOrigin(sandbox));
  const titles = tables.flatMap(([, rows]) => rows.map((row) => row['Title']));
  const [here] = [readReplica(path)];
  const wanted = held.flatMap((one) => one.titles ?? []);
  const db = new Database(path, { readonly: true });
  const pending = Number(db.prepare('SELECT count(*) FROM _rowsync_rows').pluck().get());
  const copies = Number(db.prepare(`SELECT count(*) FROM _rowsync_history WHERE kind = 'restored'`).pluck().get());
  db.close();
  const doubled = tables
    .flatMap(([, rows]) => rows.map((row) => row['Code']))
    .filter((code, index, all) => code !== undefined && code !== null && all.indexOf(code) !== index);
  return [
    ...(integrity(path) === 'ok' ? [] : ['the replica is damaged in the end']),
    ...(copies > 0 && !mayRestore ? ['a power cut made the replica count as an older copy'] : []),
    ...wanted.flatMap((title) => {
      const count = titles.filter((one) => one === title).length;
      return count === 1 || (mayRestore && count === 0) ? [] : [`"${title}" is there ${count} times`];
    }),
    ...doubled.map((code) => `${String(code)} was made twice`),
    ...(pending === 0 && JSON.stringify(here, text) !== JSON.stringify(readOrigin(sandbox), text)
      ? ['the two sides differ']
      : []),
  ];
}

function text(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/**
 * Storage that takes no more writes while the daemon runs: a full disk, a file that may only be read. Whoever edits by
 * SQL is told by SQLite. Nothing leaves for the origin whose intent cannot be stored (I11). The daemon says that it is
 * unwell, tries again later and later, and continues by itself once it can.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../support/child.ts';
import { integrity } from '../support/compare.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';
const NOTE: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 50 }, (_, index) => ({ Title: `note ${index + 1}` })),
};
const TWO_WAY = 'tables: { Note: { push: true } }\nschedule: { pull: "0 * * * *", push: "0 * * * *" }\n';
const MUTATIONS = new Set(['create', 'update', 'upsert', 'delete']);

function sent(sandbox: TestSandbox): readonly string[] {
  return sandbox.requests.all.map(({ method }) => method).filter((method) => MUTATIONS.has(method));
}

function titleAt(sandbox: TestSandbox, id: number): unknown {
  return sandbox.store.rows('Note').find((row) => row.id === id)?.values['Title'];
}

/** Lets the configuration in a folder name a replica elsewhere. */
function usePath(folder: string, path: string): void {
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('path: replica.db', `path: ${path}`));
}

function editByShell(path: string, statement: string): string {
  return spawnSync('sqlite3', [path], { input: `.timeout 5000\n${statement};`, encoding: 'utf8' }).stderr;
}

/** Takes all the room there is, the one that SQLite's log holds included. */
function fill(path: string, folder: string): void {
  const db = new Database(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'other'), Buffer.alloc(bavail * bsize));
}

async function settle(daemon: TestDaemon): Promise<void> {
  await daemon.elapse(10);
}

test.skipIf(!canMount)(
  `a disk that is full keeps edits from leaving until there is room, and whoever edits is told${why}`,
  async () => {
    using disk = mountTmpfs(2_048);
    const path = join(disk.path, 'replica.db');
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, TWO_WAY, { prepare: (folder) => usePath(folder, path) });
    await daemon.idle();
    expect(editByShell(path, `UPDATE "Note" SET "Title" = 'early' WHERE _id = 1`)).toBe('');
    fill(path, disk.path);
    sandbox.requests.clear();

    const told = editByShell(path, `UPDATE "Note" SET "Title" = 'late' WHERE _id = 2`);
    await settle(daemon);
    const [sentWhileFull, opened] = [sent(sandbox), daemon.events('circuit.opened')];
    const wholeWhileFull = integrity(path);
    rmSync(join(disk.path, 'other'));
    await settle(daemon);

    expect(told).toContain('full');
    expect(sentWhileFull).toEqual([]);
    expect(opened.map(({ code }) => code)).toContain('replica.full');
    expect(wholeWhileFull).toBe('ok');
    expect(titleAt(sandbox, 1)).toBe('early');
    expect(sent(sandbox)).toEqual(['update']);
    expect(daemon.events('circuit.closed')).toHaveLength(1);
  },
);

/** SQLite's connections that can begin to write, so that a test can take the right away from them. */
function watchWriters(): { readonly writers: Set<Database.Database> } {
  const writers = new Set<Database.Database>();
  const { prepare } = Database.prototype as unknown as Record<'prepare', (text: string) => Database.Statement>;
  vi.spyOn(Database.prototype, 'prepare').mockImplementation(function watched(this: Database.Database, text: string) {
    if (text === 'BEGIN IMMEDIATE') writers.add(this);
    return Reflect.apply(prepare, this, [text]);
  });
  return { writers };
}

afterEach(() => {
  vi.restoreAllMocks();
});

test('a replica that may only be read sends nothing, is unwell with longer and longer waits, and recovers by itself', async () => {
  const { writers } = watchWriters();
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, TWO_WAY);
  await daemon.idle();
  const ours = [...writers].filter((db) => db.open && db.name.endsWith('replica.db'));
  daemon.execute(`UPDATE "Note" SET "Title" = 'early' WHERE _id = 1`);
  sandbox.requests.clear();

  for (const db of ours) db.pragma('query_only = 1');
  await daemon.elapse(20);
  const [sentMeanwhile, opened] = [sent(sandbox), daemon.events('circuit.opened')];
  for (const db of ours) db.pragma('query_only = 0');
  await settle(daemon);

  expect(ours.length).toBeGreaterThan(0);
  expect(sentMeanwhile).toEqual([]);
  expect(opened.length).toBeGreaterThan(2);
  expect(new Set(opened.map(({ code, reason }) => `${String(reason)} ${String(code)}`))).toEqual(
    new Set(['replica replica.path']),
  );
  const waits = opened.map(({ waitMs }) => Number(waitMs));
  expect(waits.at(-1)).toBeGreaterThan(2 * (waits[0] ?? 0));
  expect(titleAt(sandbox, 1)).toBe('early');
  expect(sent(sandbox)).toEqual(['update']);
  expect(daemon.events('circuit.closed')).toHaveLength(1);
});

test.skipIf(!canMount)(
  `a disk that was mounted read-only lets nothing leave, and a push goes on after it${why}`,
  async () => {
    using disk = mountTmpfs(8_192);
    const path = join(disk.path, 'replica.db');
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using workspace = makeWorkspace(sandbox, TWO_WAY);
    usePath(workspace.folder, path);
    await runCli(['pull'], { folder: workspace.folder });
    expect(editByShell(path, `UPDATE "Note" SET "Title" = 'early' WHERE _id = 1`)).toBe('');
    sandbox.requests.clear();

    disk.remount('ro');
    const refused = await runCli(['push'], { folder: workspace.folder });
    const [told, meanwhile] = [editByShell(path, `DELETE FROM "Note"`), sent(sandbox)];
    disk.remount('rw');
    const pushed = await runCli(['push'], { folder: workspace.folder });

    expect(refused).toMatchObject({ exitCode: 1 });
    expect(refused.stderr).toContain('replica.path');
    expect(told).toMatch(/readonly|unable to open/);
    expect(meanwhile).toEqual([]);
    expect(pushed).toMatchObject({ exitCode: 0 });
    expect(titleAt(sandbox, 1)).toBe('early');
  },
);

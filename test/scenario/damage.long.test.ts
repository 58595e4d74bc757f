/**
 * A damaged replica: bytes flipped in the header, in a table, in an index, or the end cut off. It is found before
 * anything is compared or sent, it is a stop that says what to do, and what was edited in it gets out by `rowsync
 * rebuild`.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../support/child.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const NOTE: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ],
  rows: Array.from({ length: 400 }, (_, index) => ({ Title: `note ${index} ${'x'.repeat(100)}`, Count: index })),
};
const PUSHED = 'tables: { Note: { push: true } }\n';
const CHANGES = new Set(['create', 'update', 'upsert', 'delete']);

function changesAt(sandbox: TestSandbox): readonly string[] {
  return sandbox.requests.all.map(({ method }) => method).filter((method) => CHANGES.has(method));
}

/** Every table but the bookkeeping of two-way tables; a page that SQLite finds to be an empty leaf hides its rows. */
const EMPTY_LEAF = Buffer.concat([Buffer.from([13, 0, 0, 0, 0, 0x10, 0, 0]), Buffer.alloc(4088)]);

type Damage = (path: string) => void;

const DAMAGES: Readonly<Record<string, Damage>> = {
  'the magic words of page 1': (path) => overwrite(path, 0, Buffer.alloc(16, 0xa5)),
  'the schema on page 1': (path) => overwrite(path, 100, Buffer.alloc(3_000, 0xa5)),
  'the page of a table': (path) => overwrite(path, offsetOf(path, 'Note'), Buffer.alloc(4096, 0xa5)),
  'the page of a base': (path) => overwrite(path, offsetOf(path, '_rowsync_base_%'), Buffer.alloc(4096, 0xa5)),
  'the page of an index': (path) => overwrite(path, offsetOf(path, 'note_titles'), Buffer.alloc(4096, 0xa5)),
  'a table page that looks empty now': (path) => overwrite(path, leafOf(path), EMPTY_LEAF),
  'the second half, which is cut off': (path) => truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096),
  'everything, cut off': (path) => truncateSync(path, 0),
};

function overwrite(path: string, offset: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

function offsetOf(path: string, name: string): number {
  const db = new Database(path, { readonly: true });
  try {
    const page = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name LIKE ? AND rootpage > 0').pluck().get(name);
    return (Number(page) - 1) * 4096;
  } finally {
    db.close();
  }
}

/** The first leaf below the root of the user table. */
function leafOf(path: string): number {
  const bytes = readFileSync(path);
  const root = offsetOf(path, 'Note');
  const cell = bytes.readUInt16BE(root + 12);
  return (bytes.readUInt32BE(root + cell) - 1) * 4096;
}

/** Brings rows here and edits some; nobody has the file open afterwards, and its log is empty. */
async function startEdited(
  sandbox: TestSandbox,
): Promise<ReturnType<typeof makeWorkspace> & { readonly path: string }> {
  const workspace = makeWorkspace(sandbox, PUSHED);
  const path = join(workspace.folder, 'replica.db');
  const pulled = await runCli(['pull'], { folder: workspace.folder });
  if (pulled.exitCode !== 0) throw new Error(pulled.stderr);
  const db = new Database(path);
  db.exec(`
    CREATE INDEX note_titles ON "Note" ("Title");
    UPDATE "Note" SET "Title" = 'it''s
mine', "Count" = 9007199254740993 WHERE _id = 7;
    UPDATE "Note" SET "Count" = 1.5 WHERE _id = 8;
    INSERT INTO "Note" ("Title") VALUES ('new');
    DELETE FROM "Note" WHERE _id = 9;
    PRAGMA wal_checkpoint(TRUNCATE)`);
  db.close();
  return Object.assign(workspace, { path });
}

describe.each(Object.entries(DAMAGES))('%s', (what, damage) => {
  test('stops commands with 78, sends nothing, and changes nothing more', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using workspace = await startEdited(sandbox);
    damage(workspace.path);
    const before = readFileSync(workspace.path);
    sandbox.requests.clear();

    const { exitCode, stderr } = await runCli(['push', '--confirm'], { folder: workspace.folder });

    const checked = await runCli(['check', '--json'], { folder: workspace.folder });
    const status = await runCli(['status', '--exit-code'], { folder: workspace.folder });

    expect(JSON.stringify(JSON.parse(checked.stdout))).toMatch(
      /"replica","outcome":"fail"|"outcome":"fail",[^}]*is damaged/,
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 78 });
    expect(stderr).toContain('rowsync rebuild');
    expect(status.exitCode).not.toBe(0);
    expect(status.stdout).toContain('needs attention:');
    expect(changesAt(sandbox)).toEqual([]);
    expect(readFileSync(workspace.path).equals(before)).toBe(true);
    if (what === 'the page of an index') return; // which hides no edit
    const refused = await runCli(['rebuild'], { folder: workspace.folder });
    expect(refused).toMatchObject({ exitCode: 78 });
    expect(readFileSync(workspace.path).equals(before)).toBe(true);
    expect(readdirSync(workspace.folder).filter((name) => name.includes('edits'))).toEqual([]);
  });
});

test('rebuild writes down what was edited; on the new replica it edits the rows again, but for cells that changed since', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startEdited(sandbox);
  overwrite(workspace.path, offsetOf(workspace.path, 'note_titles'), Buffer.alloc(4096, 0xa5));
  sandbox.store.update('Note', 8, { Count: 88 });

  const rebuilt = await runCli(['rebuild', '--json'], { folder: workspace.folder });
  const { scriptPath, asidePath } = JSON.parse(rebuilt.stdout) as { scriptPath: string; asidePath: string };
  await runCli(['pull'], { folder: workspace.folder });
  const shell = spawnSync('sqlite3', [workspace.path], { input: readFileSync(scriptPath), encoding: 'utf8' });
  const pushed = await runCli(['push'], { folder: workspace.folder });

  expect({ ...rebuilt, ...shell }).toMatchObject({ exitCode: 0, status: 0, stderr: '' });
  expect(shell.stdout).toBe('not applied: Note, row 8 (the row or the cell has changed since)\n');
  expect(pushed).toMatchObject({ exitCode: 0 });
  expect(statSync(scriptPath).mode & 0o777).toBe(0o600);
  expect(existsSync(asidePath)).toBe(true);
  const rows = new Map(sandbox.store.rows('Note').map(({ id, values }) => [id, values]));
  expect(rows.get(7)).toMatchObject({ Title: "it's\nmine" });
  expect(String(rows.get(7)?.['Count'])).toContain('9007199254740993');
  expect(rows.get(8)).toMatchObject({ Count: 88 });
  expect(rows.has(9)).toBe(false);
  expect([...rows.values()].filter(({ Title }) => Title === 'new')).toHaveLength(1);
});

test('rebuild goes on without the edits that cannot be read where a person gives them up, as comments', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startEdited(sandbox);
  overwrite(workspace.path, leafOf(workspace.path), EMPTY_LEAF);

  const rebuilt = await runCli(['rebuild', '--give-up-edits', '--json'], { folder: workspace.folder });
  const { scriptPath, unread } = JSON.parse(rebuilt.stdout) as { scriptPath: string; unread: readonly string[] };
  const script = readFileSync(scriptPath, 'utf8').trim().split('\n');
  const pulled = await runCli(['pull'], { folder: workspace.folder });

  expect(unread).toHaveLength(1);
  expect(script.filter((line) => !line.startsWith('--'))).toEqual([]);
  expect(script.filter((line) => line.includes('cannot be read') || line.includes('INSERT'))).not.toEqual([]);
  expect(pulled).toMatchObject({ exitCode: 0 });
});

test('a daemon at work stops when its daily look finds damage, says so, and goes on once the file is whole', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, `${PUSHED}schedule: { pull: "0 * * * *", push: "0 * * * *" }\n`);
  await daemon.idle();
  const path = join(daemon.folder, 'replica.db');
  daemon.execute(`PRAGMA wal_checkpoint(TRUNCATE)`);
  const [whole, offset] = [readFileSync(path), leafOf(path)];
  overwrite(path, offset, EMPTY_LEAF);
  sandbox.requests.clear();

  await elapseHours(daemon, 26);
  const [opened] = daemon.events('circuit.opened');
  const finished = daemon.events('work.finished').length;
  overwrite(path, offset, whole.subarray(offset, offset + 4096));
  await elapseHours(daemon, 1);

  expect(opened).toMatchObject({ code: 'replica.damaged', reason: 'replica' });
  expect(String(opened?.['hint'])).toContain('rowsync rebuild');
  expect(changesAt(sandbox)).toEqual([]);
  expect(daemon.events('circuit.closed')).toHaveLength(1);
  expect(daemon.events('work.finished').length).toBeGreaterThan(finished);
  expect(sandbox.store.rows('Note')).toHaveLength(400);
});

test('damage that work meets between two looks stops all work at once, and no page is written after it', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await using daemon = startDaemon(sandbox, `${PUSHED}schedule: { pull: "0 * * * *" }\n`);
  await daemon.idle();
  const path = join(daemon.folder, 'replica.db');
  daemon.execute('PRAGMA wal_checkpoint(TRUNCATE)');
  overwrite(path, offsetOf(path, '_rowsync_pages'), Buffer.alloc(4096, 0xa5));
  daemon.execute('CREATE TABLE mine (a)'); // another client's change empties the cache
  sandbox.requests.clear();

  await elapseHours(daemon, 2);

  const opened = daemon.events('circuit.opened');
  expect(opened.length).toBeGreaterThan(3);
  expect(new Set(opened.map(({ code }) => code))).toEqual(new Set(['replica.damaged']));
  expect(sandbox.requests.count({ method: 'select' })).toBe(0);
  expect(changesAt(sandbox)).toEqual([]);
});

async function elapseHours(daemon: TestDaemon, count: number): Promise<void> {
  for (let hour = 0; hour < count; hour += 1) {
    await daemon.elapse(60);
  }
}

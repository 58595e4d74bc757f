/**
 * When a replica is looked through as it is opened: whenever there is reason to doubt it, and once a day.
 */
import Database from 'better-sqlite3';
import { closeSync, copyFileSync, existsSync, openSync, statSync, utimesSync, writeSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { must } from '../../src/base/assert.ts';
import { systemClock } from '../../src/base/clock.ts';
import { ident, sql } from '../../src/base/sql.ts';
import { captureChanges } from '../../src/capture/find-edits.ts';
import { readTwoWayTables } from '../../src/capture/two-way-table.ts';
import { openReplica } from '../../src/replica/database.ts';
import { baseName } from '../../src/replica/user-tables.ts';
import { checkAfterDamage, isAsLeft, noteLeft } from '../../src/replica/integrity-check.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

const AT = '2026-11-28T00:00:00Z';

let fixture: Fixture;
let path: string;
const clock = { ...systemClock, nowMs: () => statSync(path).mtimeMs };

beforeEach(async () => {
  fixture = await startTwoWay();
  path = fixture.path;
  fixture.replica.close();
});

afterEach(async () => {
  fixture.replica = openReplica(`${path}.other`, { clock: systemClock });
  await fixture[Symbol.asyncDispose]();
});

/** Opens the replica and closes it again. */
function visit(nowMs = clock.nowMs()): void {
  openReplica(path, { clock: { ...systemClock, nowMs: () => nowMs } }).close();
}

/** Opens the replica, writes, and closes it again; says whether rows were compared with their base. */
async function workOn(file: string, meanwhile = (): void => undefined): Promise<boolean> {
  const statements: string[] = [];
  const connect = (name: string, options: Database.Options): Database.Database =>
    new Database(name, { ...options, verbose: (text) => void statements.push(String(text)) });
  const replica = openReplica(file, { clock, connect });
  await replica.write('Looking for edits', (tx) => {
    for (const table of readTwoWayTables(tx)) captureChanges(tx, table, AT);
  });
  meanwhile();
  replica.close();
  return statements.some((text) => /SELECT .*'edited'.* LEFT JOIN/s.test(text));
}

/** Edits a row with the flag set by which triggers know us, as another program; the schema stays as it is. */
function editAsIfOurs(): void {
  const db = new Database(path);
  db.exec(`BEGIN; INSERT INTO _rowsync_writer (flag) VALUES (1); UPDATE "Note" SET "Title" = 'unmarked' WHERE _id = 1;
    DELETE FROM _rowsync_writer; COMMIT`);
  db.close();
}

/** Edits a row of which no trigger tells, as another program. */
function editUnmarked(): void {
  const db = new Database(path);
  const { name, text } = db
    .prepare(`SELECT name, sql AS text FROM sqlite_schema WHERE name GLOB '_rowsync_capture_update_*'`)
    .get() as { name: string; text: string };
  db.exec(`BEGIN; DROP TRIGGER ${name}; UPDATE "Note" SET "Title" = 'unmarked' WHERE _id = 1; ${text}; COMMIT`);
  db.close();
}

function edited(): readonly unknown[] {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare('SELECT row_id FROM _rowsync_rows').pluck().all();
  db.close();
  return rows;
}

/** Overwrites the base, as a disk does: no time of the file tells. */
function rot(): void {
  const { atimeMs, mtimeMs } = statSync(path);
  const db = new Database(path, { readonly: true });
  const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'").pluck().get();
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096, 0xa5), 0, 4096, (Number(root) - 1) * 4096);
  closeSync(file);
  utimesSync(path, atimeMs / 1_000, mtimeMs / 1_000);
}

test('a file that is as a process of ours left it today is not looked through', () => {
  rot();

  expect(() => visit()).not.toThrow();
});

test.each([0.1, 0.4, 0.6, 0.9])(
  'a file is as it was left, whatever the part of a millisecond in its time (%d)',
  (part) => {
    const seconds = (Math.floor(statSync(path).mtimeMs) + part) / 1_000;
    utimesSync(path, seconds, seconds);
    const { mtimeMs } = statSync(path);

    noteLeft(path, `${path}.lock`, mtimeMs);

    expect(isAsLeft(path, `${path}.lock`, mtimeMs)).toBe(true);
  },
);

test('a file to which somebody wrote in the same millisecond is not as it was left', () => {
  const [left, written] = [0.1, 0.4].map((part) => (Math.floor(statSync(path).mtimeMs) + part) / 1_000) as [
    number,
    number,
  ];
  utimesSync(path, left, left);
  noteLeft(path, `${path}.lock`, statSync(path).mtimeMs);

  utimesSync(path, written, written);

  expect(isAsLeft(path, `${path}.lock`, statSync(path).mtimeMs)).toBe(false);
});

test('rows are compared with their base once, and not again in a file to which nobody has written since', async () => {
  await workOn(path);

  expect(await workOn(path)).toBe(false);
  expect(await workOn(path)).toBe(false);
});

test('an edit of which no trigger told is found, if it was made after the file was left', async () => {
  await workOn(path);
  editUnmarked();

  expect(await workOn(path)).toBe(true);
  expect(edited()).toEqual([1]);
});

test.each([
  { name: 'a trigger away', edit: editUnmarked },
  { name: 'the flag set', edit: editAsIfOurs },
])(
  'an edit of which no trigger told is found, if it was made between the last write of a process and its end ($name)',
  async ({ edit }) => {
    await workOn(path);
    await workOn(path, edit);

    expect(await workOn(path)).toBe(true);
    expect(edited()).toEqual([1]);
  },
);

test('a file whose time is a whole second does not count as left, since some file systems know no other times', () => {
  const { atime } = statSync(path);
  for (const name of [path, `${path}.lock`]) utimesSync(name, atime, new Date('2026-11-21T12:00:00.000Z'));
  const isLeft = (): boolean => isAsLeft(path, `${path}.lock`, Date.parse('2026-11-21T13:00:00Z'));
  expect(isLeft()).toBe(false);

  for (const name of [path, `${path}.lock`]) utimesSync(name, atime, new Date('2026-11-21T12:00:00.001Z'));
  expect(isLeft()).toBe(true);
});

test('an edit is found that was made while the file was being opened', async () => {
  await workOn(path);
  let openCount = 0;
  const connect = (name: string, options: Database.Options): Database.Database => {
    openCount += 1;
    // The lock and a look at the file come first.
    if (openCount === 3) editUnmarked();
    return new Database(name, options);
  };
  const replica = openReplica(path, { clock, connect });
  await replica.write('Looking for edits', (tx) => {
    for (const table of readTwoWayTables(tx)) captureChanges(tx, table, AT);
  });
  replica.close();

  expect(edited()).toEqual([1]);
});

test('a file is looked through once a day', () => {
  rot();

  expect(() => visit(clock.nowMs() + 86_400_000)).toThrow('is damaged');
});

test('a file that someone has written to is looked through', () => {
  rot();
  const { atime, mtimeMs } = statSync(path);
  utimesSync(path, atime, new Date(mtimeMs - 1_000));

  expect(() => visit()).toThrow('is damaged');
});

test('a file is looked through after a crash, which leaves its log behind', () => {
  const db = new Database(path);
  db.exec('CREATE TABLE more (a)');
  for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, `${path}.crash${end}`);
  db.close();
  for (const end of ['', '-wal']) copyFileSync(`${path}.crash${end}`, `${path}${end}`);
  expect(existsSync(`${path}-wal`)).toBe(true);
  rot();
  const { mtime } = statSync(path);
  utimesSync(`${path}.lock`, mtime, mtime);

  expect(() => visit()).toThrow('is damaged');
});

test('a file that a process found damaged is looked through, even if nothing was written since', async () => {
  rot();
  const replica = openReplica(path, { clock });
  const [table] = readTwoWayTables(replica);
  const read = sql`SELECT * FROM ${ident(baseName(must(table, 'it is two-way').id))}`;
  await expect(replica.write('Reading', (tx) => tx.prepare(read).all())).rejects.toThrow('malformed');
  replica.close();

  expect(() => visit()).toThrow('is damaged');
});

test('a reader hears of damage that a process met, also of a table of ours that is not there any more', () => {
  checkAfterDamage(path);
  const db = new Database(path);
  db.exec('DROP TABLE _rowsync_local_ids');
  db.close();
  checkAfterDamage(path); // nobody has met it yet

  expect(() => visit()).toThrow(expect.objectContaining({ code: 'replica.damaged' }) as Error);

  expect(() => checkAfterDamage(path)).toThrow(expect.objectContaining({ code: 'replica.damaged' }) as Error);
});

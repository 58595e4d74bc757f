/**
 * Another SQL client changes the tables of a replica while the daemon runs: drops triggers, tables, columns, or gives
 * them other names, with the real sqlite3 shell. Nothing may be deleted or created at the origin by that, edits around
 * the triggers are found by comparison, and everything of ours comes back.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const NOTE: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ],
  rows: Array.from({ length: 8 }, (_, index) => ({ Title: `note ${index + 1}`, Count: index + 1 })),
};
const TWO_WAY = 'tables: { Note: { push: true } }\nschedule: { pull: "0 * * * *", push: "0 * * * *" }\n';
const MIRROR = 'schedule: { pull: "0 * * * *" }\n';

/** Runs statements as a person does at a prompt: what one of them says does not keep the next from running. */
function shell(daemon: TestDaemon, statements: string): string {
  const { stdout, stderr } = spawnSync('sqlite3', [join(daemon.folder, 'replica.db')], {
    input: `.timeout 5000\n${statements}`,
    encoding: 'utf8',
  });
  return stdout + stderr;
}

const DROP_TRIGGERS = `
  SELECT 'DROP TRIGGER "' || name || '";' FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`;

/** Drops every trigger of the table, as the shell lists them. */
function dropTriggers(daemon: TestDaemon): void {
  expect(shell(daemon, shell(daemon, `${DROP_TRIGGERS};`))).toBe('');
}

/** Rows at the origin, as `id title count`. */
function atOrigin(sandbox: TestSandbox): readonly string[] {
  return sandbox.store
    .rows('Note')
    .map(({ id, values }) => `${id} ${String(values['Title'])} ${String(values['Count'] ?? '')}`);
}

function here(daemon: TestDaemon): readonly string[] {
  const rows = daemon.rows('SELECT _id AS id, "Title" AS title, "Count" AS count FROM "Note" ORDER BY _id');
  return (rows as { id: number; title: string; count: number | null }[]).map(
    ({ id, title, count }) => `${id} ${title} ${count ?? ''}`,
  );
}

function triggerCount(daemon: TestDaemon): number {
  return daemon.rows(
    `SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note' AND name GLOB '_rowsync_*'`,
  ).length;
}

const MUTATIONS = new Set(['create', 'update', 'upsert', 'delete']);
function sent(sandbox: TestSandbox): readonly string[] {
  return sandbox.requests.all.map(({ method }) => method).filter((method) => MUTATIONS.has(method));
}

test('edits made while our triggers were dropped are found by comparison, and reach the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, TWO_WAY);
  await daemon.idle();
  const before = triggerCount(daemon);

  dropTriggers(daemon);
  shell(
    daemon,
    `UPDATE "Note" SET "Title" = 'unseen' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
     INSERT INTO "Note" ("Title") VALUES ('fresh');`,
  );
  await daemon.elapse(125);

  expect(before).toBe(4);
  expect(triggerCount(daemon)).toBe(before);
  expect(atOrigin(sandbox)).toEqual([
    '1 unseen 1',
    ...[3, 4, 5, 6, 7, 8].map((n) => `${n} note ${n} ${n}`),
    '9 fresh ',
  ]);
  expect(here(daemon)).toEqual(atOrigin(sandbox));
});

test('an edit of a mirror whose guards were dropped is put right, and nothing is sent', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, MIRROR);
  await daemon.idle();

  dropTriggers(daemon);
  shell(daemon, `UPDATE "Note" SET "Title" = 'vandal'; DELETE FROM "Note" WHERE _id < 5;`);
  await daemon.elapse(65);

  expect(here(daemon)).toEqual(atOrigin(sandbox));
  expect(sent(sandbox)).toEqual([]);
  expect(shell(daemon, `DELETE FROM "Note";`)).toContain('read-only mirror');
});

describe.each([
  ['drops the table', `DROP TABLE "Note";`],
  ['renames the table', `ALTER TABLE "Note" RENAME TO "Old Note";`],
  ['renames a column', `ALTER TABLE "Note" RENAME COLUMN "Title" TO "Name";`],
  [
    'drops a column, with the view and the triggers over it',
    `DROP VIEW sync_changes; triggers; ALTER TABLE "Note" DROP COLUMN "Title";`,
  ],
  ['adds a column', `ALTER TABLE "Note" ADD COLUMN "Mine" TEXT;`],
  ['drops the view of changes', `DROP VIEW sync_changes;`],
] as const)('somebody who %s', (what, statements) => {
  test.each([
    ['', false],
    [', and the schedule pushes at the same time', true],
  ])('deletes nothing at the origin, and edits go on%s', async (_how, pushesAtOnce) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, TWO_WAY);
    await daemon.idle();
    const before = triggerCount(daemon);
    const origin = atOrigin(sandbox);
    const said: string[] = [];
    sandbox.requests.clear();

    for (const statement of statements.split('; ')) {
      if (statement.startsWith('triggers')) dropTriggers(daemon);
      else said.push(shell(daemon, `${statement};`));
    }
    if (pushesAtOnce) await daemon.seconds(10);
    await daemon.elapse(125);

    expect(said.join('')).toBe('');
    expect(sent(sandbox)).toEqual([]);
    expect(atOrigin(sandbox)).toEqual(origin);
    expect(here(daemon)).toEqual(origin);
    expect(triggerCount(daemon)).toBe(before);
    const isNoticed = ['drops the table', 'renames the table'].includes(what);
    expect(daemon.events('table.restored')).toMatchObject(isNoticed ? [{ table: 'Note' }] : []);
    expect(shell(daemon, `UPDATE "Note" SET "Title" = 'after' WHERE _id = 3; DELETE FROM "Note" WHERE _id = 4;`)).toBe(
      '',
    );
    await daemon.elapse(65);
    expect(sent(sandbox).toSorted()).toEqual(['delete', 'update']);
    expect(atOrigin(sandbox)).toEqual(here(daemon));
    expect(here(daemon)).toHaveLength(7);
  });
});

test('somebody who puts an empty table in its place deletes nothing at the origin: the guard asks a person', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, TWO_WAY);
  await daemon.idle();

  shell(daemon, `DROP TABLE "Note"; CREATE TABLE "Note" (_id INTEGER PRIMARY KEY, _allow TEXT) STRICT;`);
  await daemon.elapse(125);

  expect(sent(sandbox)).toEqual([]);
  expect(daemon.events('guard.waits')).toMatchObject([{ code: 'guard.pushDeletes' }, { code: 'guard.pushDeletes' }]);
});

test('somebody who drops the base stops the table, which says so; its edits stay in it, and nothing is sent', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, `${TWO_WAY}push: { delay: false }\n`);
  await daemon.idle();
  const origin = atOrigin(sandbox);
  const [base] = daemon.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'`) as { name: string }[];

  shell(
    daemon,
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title") VALUES ('new'); DELETE FROM "Note" WHERE _id = 2;
     DROP TABLE "${base?.name}";`,
  );
  const edited = here(daemon);
  await daemon.elapse(125);

  expect(sent(sandbox)).toEqual([]);
  expect(here(daemon)).toEqual(edited);
  expect(daemon.rows('SELECT problem_code AS code FROM _rowsync_tables')).toEqual([{ code: 'replica.schema' }]);
  shell(daemon, `DROP TABLE "Note";`);
  await daemon.elapse(125);
  expect(here(daemon)).toEqual(origin);
});

test('somebody who drops the marks stops the daemon, which says so; nothing is sent, and nobody edits unseen', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, TWO_WAY);
  await daemon.idle();

  shell(daemon, `DELETE FROM "Note" WHERE _id = 2; DROP TABLE _rowsync_rows;`);
  await daemon.elapse(65);

  expect(sent(sandbox)).toEqual([]);
  expect(daemon.events('circuit.opened')[0]).toMatchObject({ code: 'replica.damaged', reason: 'replica' });
  expect(shell(daemon, `UPDATE "Note" SET "Title" = 'unseen' WHERE _id = 1;`)).toContain('no such table');
});

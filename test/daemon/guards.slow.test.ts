/**
 * What a guard holds under a running daemon. It is counted, told once, and let through by a person at another terminal,
 * who agrees to what was shown and to no more.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { runRowsync } from '../support/child.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

// Every command is a process that compiles its sources.
vi.setConfig({ testTimeout: 60_000 });

function startSandbox(): Promise<TestSandbox> {
  const rows = Array.from({ length: 10 }, (_, index) => ({ Title: `note ${index + 1}` }));
  const table = (name: string): TableSpec => ({ name, columns: [{ name: 'Title', type: 'Text' }], rows });
  return startTestSandbox({ tables: [table('Note'), table('Order')] });
}

const YAML = `
schedule: { sync: "*/5 * * * *" }
tables: { "*": { push: true } }
notify: { command: ["true"], repeatMinutes: 600 }
`;

function rowsThere(sandbox: TestSandbox): number {
  return sandbox.store.rows('Note').length;
}

function problemOf(daemon: TestDaemon): unknown {
  return daemon.rows(`SELECT state, problem FROM sync_status WHERE "table" = 'Note'`)[0];
}

test('a mass delete by accident is held with its count, told once, and goes when a person at another terminal agrees', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  daemon.execute('DELETE FROM "Note" WHERE _id > 2; UPDATE "Order" SET "Title" = \'edited\' WHERE _id = 1');
  await daemon.elapse(30);
  const held = [rowsThere(sandbox), problemOf(daemon)];
  const told = daemon.events('notice.sent').length;

  const agreed = await runRowsync(['push', 'note', '--confirm'], daemon);
  await daemon.elapse(6);

  expect(held).toEqual([
    10,
    { state: 'held', problem: expect.stringContaining('8 of 10 rows would be deleted') as string },
  ]);
  expect(sandbox.store.rows('Order')[0]?.values['Title']).toBe('edited');
  expect(told).toBe(1);
  expect(agreed).toMatchObject({
    exitCode: 75,
    stderr: expect.stringMatching(/your confirmation is kept for it; Note: .*with 8 edited rows at most\n/) as string,
  });
  expect([rowsThere(sandbox), problemOf(daemon)]).toEqual([2, { state: 'steady', problem: null }]);
});

test('a person looks at what a guard holds with rowsync plan, while the daemon goes on', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  daemon.execute('DELETE FROM "Note" WHERE _id > 2');
  await daemon.elapse(6);

  const { exitCode, stdout } = await runRowsync(['plan', 'Note', '--json'], daemon);

  const { tables } = JSON.parse(stdout) as { tables: { table: string; rows: { rowId: number; kind: string }[] }[] };
  expect(exitCode).toBe(0);
  expect(tables.map(({ table, rows }) => [table, rows.map(({ rowId, kind }) => `${kind} ${rowId}`)])).toEqual([
    ['Note', [3, 4, 5, 6, 7, 8, 9, 10].map((id) => `delete ${id}`)],
  ]);
  expect(daemon.rows('SELECT count(*) AS n FROM _rowsync_writer')).toEqual([{ n: 0 }]);
  expect(rowsThere(sandbox)).toBe(10);
});

test('edits of an older copy wait until a person at another terminal agrees', async () => {
  await using sandbox = await startSandbox();
  await using former = startDaemon(sandbox, YAML);
  await former.idle();
  former.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  await former.stop();
  const replica = readFileSync(join(former.folder, 'replica.db'));
  await using daemon = startDaemon(sandbox, YAML, {
    prepare: (folder) => writeFileSync(join(folder, 'replica.db'), replica),
  });
  await daemon.elapse(6);
  const held = [sandbox.store.rows('Note')[0]?.values['Title'], problemOf(daemon)];

  const agreed = await runRowsync(['push', 'Note', '--confirm'], daemon);
  await daemon.elapse(6);

  expect(held).toEqual([
    'note 1',
    {
      state: 'held',
      problem: expect.stringContaining(
        'older copy was put back, whose edits may be outdated; none of them was sent',
      ) as string,
    },
  ]);
  // The consent is left, and nothing is sent yet.
  expect(agreed.exitCode).toBe(75);
  expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('edited');
  expect(problemOf(daemon)).toEqual({ state: 'steady', problem: null });
});

test('every finished push names its run in sync_runs', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML);

  await daemon.idle();

  const pushed = daemon.events('work.finished').find(({ work }) => work === 'push');
  expect(daemon.rows("SELECT id FROM sync_runs WHERE kind = 'push'")).toEqual([{ id: pushed?.['runId'] }]);
});

test('a consent is for what was shown: a mass edit that grew since is held again', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML.replace('*/5', '0'));
  await daemon.idle();
  daemon.execute('DELETE FROM "Note" WHERE _id > 4');
  await daemon.elapse(1);
  await runRowsync(['push', '--confirm'], daemon);
  daemon.execute('DELETE FROM "Note" WHERE _id > 3');

  await daemon.elapse(10);

  expect(rowsThere(sandbox)).toBe(10);
  expect(problemOf(daemon)).toEqual({ state: 'held', problem: expect.stringContaining('7 of 10 rows') as string });
});

test('rows that vanish in masses at the origin stay until a person at another terminal agrees', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  for (const { id } of sandbox.store.rows('Note').slice(3)) sandbox.store.delete('Note', id);
  await daemon.elapse(10);
  const before = daemon.rows('SELECT count(*) AS n FROM "Note"');

  const agreed = await runRowsync(['pull', '--confirm', '--json'], daemon);
  await daemon.elapse(6);

  expect(before).toEqual([{ n: 10 }]);
  const words = 'your confirmation is kept for it; Note: the next pull may continue, with 7 missing rows at most';
  expect(JSON.parse(agreed.stderr)).toMatchObject({ error: { message: expect.stringContaining(words) as string } });
  expect(daemon.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 3 }]);
});

test('--confirm without anything to agree to says that a process is at work', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();

  const { exitCode, stderr } = await runRowsync(['push', '--confirm'], daemon);

  expect(exitCode).toBe(75);
  expect(stderr).toContain('code: replica.inUse');
});

test('rows outside of another filter stay under a running daemon until a person at another terminal agrees', async () => {
  await using sandbox = await startSandbox();
  const yaml = (rows: string): string => `
schedule: { pull: "*/5 * * * *" }
tables: { "*": { rows: '${rows}' } }
`;
  await using daemon = startDaemon(sandbox, yaml('[Title] <> "note 1"'));
  await daemon.idle();
  const count = (): unknown => daemon.rows('SELECT count(*) AS n FROM "Note"')[0];
  const before = count();
  daemon.reload(yaml('[Title] = "note 3"'));
  await daemon.elapse(12);
  const held = [count(), problemOf(daemon)];

  const agreed = await runRowsync(['pull', 'note', '--confirm'], daemon);
  await daemon.elapse(6);

  expect(before).toEqual({ n: 9 });
  expect(held).toEqual([
    { n: 9 },
    { state: 'held', problem: expect.stringContaining('8 of 9 rows (88 %) lie outside of the filter') as string },
  ]);
  expect(agreed).toMatchObject({ exitCode: 75, stderr: expect.stringContaining('8 missing rows') as string });
  expect([count(), problemOf(daemon)]).toEqual([{ n: 1 }, { state: 'steady', problem: null }]);
  expect(daemon.rows('SELECT DISTINCT reason FROM sync_deleted')).toEqual([{ reason: 'filtered' }]);
});

test('a misspelt key that holds the first pull is let through at another terminal, once the daemon looks again', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, YAML.replace('tables: {', 'tables: { Nota: false,'));
  await daemon.elapse(6);
  const held = daemon.rows(
    "SELECT error_code, (SELECT count(*) FROM sync_status) AS tables FROM sync_runs WHERE kind = 'pull' ORDER BY id DESC LIMIT 1",
  );

  const agreed = await runRowsync(['pull', '--confirm'], daemon);
  await daemon.elapse(30);

  expect(held).toEqual([{ error_code: 'guard.keys', tables: 0 }]);
  expect(agreed.exitCode).toBe(75);
  expect(agreed.stderr).toContain(', and your confirmation is kept for it; the next pull may continue\n');
  expect(daemon.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 10 }]);
});

test('tables that vanish in masses are let through at another terminal, as they were shown', async () => {
  const table = (name: string): TableSpec => ({ name, columns: [{ name: 'Title', type: 'Text' }], rows: [] });
  await using sandbox = await startTestSandbox({ tables: ['A', 'B', 'C', 'D'].map(table) });
  await using daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  for (const name of ['A', 'B', 'C']) sandbox.store.dropTable(name);
  await daemon.elapse(10);
  const states = (): unknown => daemon.rows("SELECT group_concat(state, ' ') AS states FROM sync_status")[0];
  const before = states();

  const agreed = await runRowsync(['pull', '--confirm', '--json'], daemon);
  await daemon.elapse(30);

  const words = 'your confirmation is kept for it; the next pull may continue';
  expect(JSON.parse(agreed.stderr)).toMatchObject({ error: { message: expect.stringContaining(words) as string } });
  expect(before).toEqual({ states: expect.not.stringContaining('gone') as string });
  expect(states()).toEqual({ states: 'gone gone gone steady' });
});

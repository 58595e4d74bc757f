/**
 * `rowsync schema` as a user types it: what the origin changed, and dropping what it no longer has.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

function tables(): readonly TableSpec[] {
  const columns = ['Title', 'Size', 'Old'].map((name) => ({ name, type: 'Text' }) as const);
  const rows = [
    { Title: 'a', Old: 'x' },
    { Title: 'b', Old: 'x' },
  ];
  return [
    { name: 'Note', columns, rows },
    { name: 'Empty', columns: [{ name: 'Title', type: 'Text' }] },
  ];
}

test('schema prune lists first, with exit code 3, and drops with --confirm', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  sandbox.store.dropColumn('Note', 'Old');
  sandbox.store.dropTable('Empty');
  await runCli(['pull'], workspace);

  const listed = await runCli(['schema', 'prune'], workspace);
  const kept = await runCli(['sql', 'SELECT count("Old") FROM "Note"', '-f', 'csv'], workspace);
  const dropped = await runCli(['schema', 'prune', '--confirm'], workspace);
  const again = await runCli(['schema', 'prune'], workspace);

  expect(listed.exitCode).toBe(3);
  expect(listed.stdout).toContain('\n  Empty\n  Note.Old\n');
  expect(kept.stdout).toContain('2');
  expect(dropped.exitCode).toBe(0);
  expect(dropped.stdout).toBe('Dropped:\n  Empty\n  Note.Old\n');
  expect(again.exitCode).toBe(0);
});

test('schema shows what the origin changed, with what is stopped and why', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  const steady = await runCli(['schema'], workspace);
  sandbox.store.dropColumn('Note', 'Old');
  sandbox.store.dropTable('Empty');
  await runCli(['pull'], workspace);

  const shown = await runCli(['schema'], workspace);
  const asJson = await runCli(['schema', '--json'], workspace);
  const { columns } = sandbox.store.table('Note');
  const hiddenColumns = columns.map(({ name }) => ['Note', name] as const).slice(1);
  sandbox.store.setRole({ name: 'Blind', canWrite: true, hiddenTables: [], hiddenColumns });
  sandbox.store.changeUser({ role: 'Blind' });
  await runCli(['pull'], workspace);
  const stopped = await runCli(['schema'], workspace);

  expect(steady).toMatchObject({ exitCode: 0, stdout: 'The replica has the shape that the origin described last\n' });
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toMatch(/Empty .*the origin no longer shows the table/);
  expect(shown.stdout).toMatch(/Note .* Old .*the origin no longer shows the column/);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    drift: [
      { table: 'Empty', column: null, kind: 'gone' },
      { table: 'Note', column: 'Old', kind: 'removed' },
    ],
  });
  expect(stopped.stdout).toMatch(
    /Note: \d+ of \d+ columns vanished at once; nothing was changed\n {2}what to do: Check the rights/,
  );
});

test('dropping works on the replica alone; there may be nothing to drop', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  const without = await runCli(['schema', 'prune', '--confirm'], workspace);
  await runCli(['pull'], workspace);
  sandbox.requests.clear();

  const listed = await runCli(['schema', 'prune'], workspace);
  const dropped = await runCli(['schema', 'prune', '--confirm', '--json'], workspace);

  expect([without.exitCode, without.stdout]).toEqual([1, '']);
  expect(listed).toMatchObject({
    exitCode: 0,
    stdout: 'Nothing to drop: the origin has every table and column of the replica\n',
  });
  expect([dropped.exitCode, JSON.parse(dropped.stdout)]).toEqual([0, { dropped: [] }]);
  expect(sandbox.requests.all).toEqual([]);
});

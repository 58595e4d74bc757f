/**
 * `rowsync sandbox` as a user types it, over the replica of another sandbox.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const TABLES = [
  { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'one' }, { Title: 'two' }] },
];

test('sandbox --replica says what the replica does not know, and --data refuses it', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES, database: '4711' });
  using workspace = makeWorkspace(sandbox);
  const folder = workspace.folder;
  const run = (...args: readonly string[]) => runCli(args, { folder, signal: AbortSignal.abort() });
  expect(await runCli(['pull'], { folder })).toMatchObject({ exitCode: 0 });

  const served = await run('sandbox', '--replica', 'replica.db', '--mask', 'Note.Title', '--rows', '1');
  const asJson = await run('sandbox', '--replica', 'replica.db', '--json');

  expect(served.stdout).toContain('The sandbox serves replica.db');
  expect(served.stdout).toContain(
    'Not known here, so it may differ from the origin:\n  defaults, formulas, validation',
  );
  expect(served.exitCode).toBe(0);
  expect(JSON.parse(asJson.stdout)).toMatchObject({ database: '4711', unknown: [], rules: [], users: [{}] });
  const refused = await run('sandbox', '--data', 'replica.db');
  expect(refused.stderr).toContain(`rowsync sandbox --replica ${join(folder, 'replica.db')}`);
  expect(refused.exitCode).not.toBe(0);
});

test.each([
  ['masks without a replica', ['--mask', 'Note.Title'], '--mask and --rows are for a replica'],
  ['a replica and other data', ['--replica', 'replica.db', '--data', 'replica.db'], 'comes from one place'],
  ['a replica that is not there', ['--replica', 'other.db'], 'other.db'],
])('sandbox refuses %s', async (_what, args, words) => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const refused = await runCli(['sandbox', ...args], { folder, signal: AbortSignal.abort() });

  expect(refused.stderr).toContain(words);
  expect(refused.exitCode).not.toBe(0);
});

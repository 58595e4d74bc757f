/**
 * A match column that was misspelt and corrected: the problem that a push stored ends with the next pull.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

test('a pull ends what a push said of a misspelt match column that was corrected', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'tables: { Note: { push: true, match: Code } }\n');
  const run = (...args: string[]) => runCli(args, { folder: made.folder });
  const respell = (from: string, to: string): void => {
    const path = join(made.folder, 'rowsync.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace(`match: ${from} `, `match: ${to} `));
  };
  await run('pull');
  respell('Code', 'Cod');
  await run('pull');
  await run('push');
  const before = await run('status');
  respell('Cod', 'Code');

  const pulled = await run('pull');
  const after = await run('status');

  expect(pulled.exitCode).toBe(0);
  expect(before.stdout).toContain('the column "Cod" does not exist');
  expect(pulled.stdout).not.toContain('"Cod"');
  expect(after.stdout).not.toContain('"Cod"');
});

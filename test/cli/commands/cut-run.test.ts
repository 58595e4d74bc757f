/** What `status` says of a run whose process was killed. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { PRIVATE_MODE, takeLock } from '../../../src/replica/lock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

test('a run is under way while a process holds the replica, and interrupted after', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, '');
  await runCli(['pull'], workspace);
  const path = join(workspace.folder, 'replica.db');
  const db = new Database(path);
  db.exec(`UPDATE _rowsync_runs SET finished_at = NULL, outcome = 'running'`);
  db.close();
  const isCut = async () => {
    const { stdout } = await runCli(['status', '--json'], workspace);
    return (JSON.parse(stdout) as { runs: { outcome: string }[] }).runs.map(({ outcome }) => outcome);
  };

  const lock = takeLock(path, PRIVATE_MODE);
  const held = await isCut();
  lock.close();

  expect(held).toEqual(['running']);
  expect(await isCut()).toEqual(['interrupted']);
  expect((await runCli(['status'], workspace)).stdout).toContain(': interrupted\n');
});

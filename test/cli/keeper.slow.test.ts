/**
 * Who keeps the tables, where nothing answers for a daemon: the lock of the replica tells that a process is at work.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { isInUse } from '../../src/replica/lock.ts';
import { makeWorkspace, runRowsync } from '../support/child.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { NOTE } from '../support/two-way.ts';

test('a daemon that listens nowhere is seen to be late, as in a container', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'http: { listen: false }\nschedule: { pull: "*/5 * * * *" }\n');
  const path = join(workspace.folder, 'replica.db');
  const exitCode = async (): Promise<number> => (await runRowsync(['status', '--exit-code'], workspace)).exitCode;
  await runRowsync(['pull'], workspace);
  const db = new Database(path);
  db.exec(`UPDATE _rowsync_pages SET verified_at = '2026-01-01T00:00:00Z'`);
  db.close();

  const alone = await exitCode();
  const daemon = openReplica(path, { clock: systemClock });
  const beside = await exitCode();
  daemon.close();

  expect([alone, beside]).toEqual([0, 75]);
});

test('looking whether a replica is in use makes no file', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');

  const before = isInUse(path);
  const replica = openReplica(path, { clock: systemClock });
  const during = isInUse(path);
  replica.close();

  expect([before, during, isInUse(path)]).toEqual([false, true, false]);
});

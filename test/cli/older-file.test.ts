/**
 * Messages about a replica of an earlier version that has not been opened for writing since.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../support/session.ts';
import { makeReleased } from '../support/released.ts';

test('status says that the next pull brings it up to date, and nothing of its tables', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-'));
  const path = join(folder, 'replica.db');
  makeReleased(path);
  writeFileSync(
    join(folder, 'rowsync.yaml'),
    `origin: { url: "https://db.example", database: "1", tokenFile: token }\nreplica: { path: ${path} }\n`,
  );

  const { stdout, exitCode } = await runCli(['status', '--json'], { folder });

  const { replica, tables, problems } = JSON.parse(stdout) as Record<string, unknown>;
  expect([exitCode, tables]).toEqual([0, []]);
  expect(replica).toMatchObject({ isOlder: true });
  expect(problems).toMatchObject([{ code: 'replica.older' }]);
  rmSync(folder, { recursive: true });
});

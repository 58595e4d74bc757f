/**
 * An export reports edits that have not been pushed.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

test('says how many rows with edits are left out, and nothing if there are none', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'tables: { Note: { push: true } }\n');
  const { folder } = made;
  await runCli(['pull'], { folder });
  const before = await runCli(['export', 'lake'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id <= 2; INSERT INTO "Note" ("Title") VALUES ('new')`);
  db.close();

  const { stdout } = await runCli(['export', 'lake'], { folder });

  expect(stdout).toContain('left out: edits of 3 rows that the origin does not have yet (Note)\n');
  expect(before.stdout).not.toContain('left out');
});

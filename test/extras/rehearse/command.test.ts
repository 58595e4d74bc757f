/**
 * `rowsync rehearse` as a user types it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const TWO_WAY = 'tables: { "*": { push: true, match: Code } }\n';

/** A replica with an edit, a new row and a row that the origin would refuse, and what surrounds it. */
async function startEdited() {
  const sandbox = await startTestSandbox({ tables: [NOTE] });
  const workspace = makeWorkspace(sandbox, TWO_WAY);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const path = join(folder, 'replica.db');
  const db = new Database(path);
  db.exec(`
    UPDATE "Note" SET "Title" = 'rehearsed' WHERE _id = 1;
    DELETE FROM "Note" WHERE _id = 2;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1');
    UPDATE "Note" SET "Code" = 'c5' WHERE _id = 6`);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const stop = async (): Promise<void> => {
    workspace[Symbol.dispose]();
    await sandbox.stop();
  };
  return {
    sandbox,
    folder,
    path,
    run: (...args: readonly string[]) => runCli(args, { folder }),
    [Symbol.asyncDispose]: stop,
  };
}

test('rehearse says what would be accepted and refused, and touches neither the replica nor the origin', async () => {
  await using world = await startEdited();
  const before = {
    bytes: readFileSync(world.path),
    names: readdirSync(world.folder),
    rows: world.sandbox.store.rows('Note'),
  };
  world.sandbox.requests.clear();

  const rehearsed = await world.run('rehearse');

  expect(rehearsed.stderr).toBe('');
  expect(rehearsed.stdout).toContain('This was a rehearsal on a copy');
  expect(rehearsed.stdout).toContain('Note, row 6, Code: Cannot insert duplicate value "c5" into column "Code"');
  expect(rehearsed.stdout).toContain('Note: Id in 1 new row');
  expect(rehearsed.stdout).toContain('computed there, and frozen here: Total');
  expect(rehearsed.exitCode).toBe(1);
  expect(world.sandbox.requests.all).toEqual([]);
  expect(world.sandbox.store.rows('Note')).toEqual(before.rows);
  expect(readFileSync(world.path).equals(before.bytes)).toBe(true);
  // Reading the file lets SQLite put its own two beside it, as every command that reads does.
  expect(readdirSync(world.folder).filter((name) => !/-(?:shm|wal)$/.test(name))).toEqual(before.names);
  expect(readFileSync(`${world.path}-wal`)).toHaveLength(0);
});

test('rehearse foretells what the push does', async () => {
  await using world = await startEdited();

  const rehearsed = JSON.parse((await world.run('rehearse', '--json')).stdout) as { tables: readonly object[] };
  const pushed = JSON.parse((await world.run('push', '--json')).stdout) as { tables: readonly object[] };

  const [told, done] = [rehearsed, pushed].map(({ tables }) => tables.map((table) => ({ ...table, durationMs: 0 })));
  expect(told).toEqual(done);
  expect(told).toMatchObject([{ insertedCount: 1, updatedCount: 1, deletedCount: 1, refusedCount: 1 }]);
});

test('rehearse works while nothing waits, and beside what was refused earlier', async () => {
  await using world = await startEdited();
  await world.run('push');

  const rehearsed = JSON.parse((await world.run('rehearse', '--json')).stdout) as object;

  expect(rehearsed).toMatchObject({
    exitCode: 0,
    refused: [],
    sideEffects: [],
    rules: ['Note.Code: Cannot insert duplicate value "c5" into column "Code" (1 row)'],
  });
});

test('rehearse uses the names that the replica has', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        ...NOTE,
        name: 'Site Note',
        columns: [...NOTE.columns, { name: 'Grand Total', type: 'Numeric', kind: 'Summary' }],
      },
    ],
  });
  using workspace = makeWorkspace(sandbox, TWO_WAY);
  const { folder } = workspace;
  const config = join(folder, 'rowsync.yaml');
  writeFileSync(config, readFileSync(config, 'utf8').replace(/^replica: \{/mu, 'replica: { names: snake,'));
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE site_note SET code = 'c5' WHERE _id = 6`);
  await runCli(['push'], { folder });
  db.exec(`INSERT INTO site_note (title, code) VALUES ('new', 'n1')`);
  db.close();

  const { stdout } = await runCli(['rehearse'], { folder });

  expect(stdout).toContain('site_note: computed there, and frozen here: total, grand_total');
  expect(stdout).toContain('site_note: id in 1 new row');
  expect(stdout).toContain('site_note.code: Cannot insert duplicate value "c5" into column "Code" (1 row)');
});

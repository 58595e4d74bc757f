/**
 * `rowsync restore` and `rebuild` as processes that are killed before each step that they take on the disk. The former
 * replica or the backup is there, whole, or neither and both under other names. What was edited last stands somewhere,
 * and nothing is created a second time by whatever comes next.
 */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace, startRowsync } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const NOTE: TableSpec = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'first' }] };

/**
 * Ends the process before its nth call of a function that changes names, or makes something durable; tells how many
 * calls there were.
 */
const KILLER = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
let left = Number(process.env.KILL_BEFORE);
let count = 0;
for (const name of ['renameSync', 'fsyncSync', 'rmSync']) {
  const real = fs[name];
  fs[name] = (...given) => {
    count += 1;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return real(...given);
  };
}
syncBuiltinESMExports();
process.on('exit', () => process.stderr.write('calls: ' + count));`;

/** Titles of edited rows in a file that a person finds. */
function editedIn(path: string): readonly unknown[] {
  const db = new Database(path, { fileMustExist: true });
  try {
    return db.prepare(`SELECT local FROM sync_changes WHERE "column" = 'Title'`).pluck().all();
  } finally {
    db.close();
  }
}

test.each([
  ['restore', ['copy.db']],
  ['rebuild', []],
] as const)(
  'a %s that is killed at any step loses no edit, and nothing is created twice',
  { timeout: 600_000 },
  async (command, args) => {
    let calls = 100;
    for (let step = 1; step <= calls; step += 1) {
      await using sandbox = await startTestSandbox({ tables: [NOTE] });
      using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
      const { folder } = workspace;
      await runCli(['pull'], { folder });
      const client = new Database(join(folder, 'replica.db'));
      client.exec(`INSERT INTO "Note" ("Title") VALUES ('new')`);
      await runCli(['backup', 'copy.db'], { folder });
      await runCli(['push'], { folder });
      client.exec(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

      const env = {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(KILLER)}`,
        KILL_BEFORE: String(step),
      };
      const { stderr } = await startRowsync([command, ...args], { folder, env }).end;
      client.close();
      calls = Number(/calls: (\d+)/.exec(stderr)?.[1] ?? calls);
      // A look at copies: opening the files themselves might mend what is to be judged.
      const look = join(folder, 'look');
      mkdirSync(look);
      for (const name of readdirSync(folder)) {
        if (/^replica\.db(\.replaced-\w+)?(-wal)?$/.test(name)) copyFileSync(join(folder, name), join(look, name));
      }
      const found = readdirSync(look).filter((name) => !name.endsWith('-wal'));
      expect(
        found.flatMap((name) => editedIn(join(look, name))),
        `before step ${step}`,
      ).toContain('edited');

      const again = step % 2 === 0 ? (await runCli(['restore', 'copy.db'], { folder })).exitCode : 0;
      const synced = await runCli(['sync'], { folder });
      expect([step, again, synced.exitCode]).toEqual([step, 0, 0]);
      const titles = sandbox.store.rows('Note').map(({ values }) => values['Title']);
      expect([
        ['first', 'new'],
        ['edited', 'new'],
      ]).toContainEqual(titles);
    }
    expect(calls).toBeGreaterThan(5);
  },
);

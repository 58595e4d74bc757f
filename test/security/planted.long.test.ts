/**
 * Whoever may write the replica writes rowsync's own tables, of which commands tell what stands in them. None of them
 * shows what acts on a terminal, or adds a line to what it says.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

vi.setConfig({ testTimeout: 240_000 });

const CONFIG = 'tables: { Note: { push: true, match: Code, conflict: ask } }\n';
/**
 * What no output for eyes may hold, but the line breaks that end lines, and the tabs between the cells of a list in a
 * pipe.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const COMMANDS = [['status'], ['conflicts', '--all'], ['failures'], ['plan'], ['files', 'list'], ['schema']];

/** A replica in which everything stands that commands tell of. */
async function startTroubled(sandbox: TestSandbox): Promise<{ folder: string; [Symbol.dispose](): void }> {
  const workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec(
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Photo" = 'file:/nowhere/at/all' WHERE _id = 2`,
  );
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  sandbox.store.delete('Note', 6);
  sandbox.store.addColumn('Note', { name: 'Extra', type: 'Text' });
  await runCli(['pull'], workspace);
  await runCli(['push'], workspace);
  sandbox.store.dropColumn('Note', 'Extra');
  await runCli(['pull'], workspace);
  db.exec(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 3`);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return workspace;
}

test('whatever text stands in a table of ours, no command shows what acts', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startTroubled(sandbox);
  const path = join(workspace.folder, 'replica.db');
  const pristine = join(workspace.folder, 'pristine');
  copyFileSync(path, pristine);
  const columns = textColumns(path);
  const shown: unknown[] = [];

  for (const { table, column } of columns) {
    for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true });
    copyFileSync(pristine, path);
    plant(path, table, column);
    for (const command of COMMANDS) {
      const { stdout, stderr } = await runCli(command, workspace);
      const lines = `${stdout}\n${stderr}`
        .split('\n')
        .filter((line, _index, all) => ACTING.test(line.replaceAll('\t', '')) || isForged(line, all));
      if (lines.length > 0) shown.push({ place: `${table}.${column}`, command, lines });
    }
  }

  expect(columns.length).toBeGreaterThan(40);
  expect(shown).toEqual([]);
});

/** Whether a line of a list has more cells than its head, or fewer. */
function isForged(line: string, all: readonly string[]): boolean {
  const cellsOf = (each: string): number => each.split('\t').length;
  return line.includes('\t') && cellsOf(line) !== cellsOf(all.find((each) => each.includes('\t')) ?? '');
}

/** The columns of tables of ours in which a text stands. */
function textColumns(path: string): readonly { readonly table: string; readonly column: string }[] {
  const db = new Database(path, { readonly: true });
  try {
    return db
      .prepare(
        `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list t, pragma_table_info(t.name) c
         WHERE t.name GLOB '_rowsync_*' AND t.type = 'table' AND c.type IN ('TEXT', 'ANY') ORDER BY 1, 2`,
      )
      .all() as { table: string; column: string }[];
  } finally {
    db.close();
  }
}

/** Puts what acts behind each text of a column, whatever the column allows. */
function plant(path: string, table: string, column: string): void {
  const db = new Database(path);
  db.pragma('ignore_check_constraints = ON');
  db.exec(`UPDATE OR IGNORE "${table}" SET "${column}" = "${column}" || char(10) || 'forged' || char(9) || 'forged' || char(27) || '[2J' || char(0x9b, 0x202e)
    WHERE typeof("${column}") = 'text'`);
  db.close();
}

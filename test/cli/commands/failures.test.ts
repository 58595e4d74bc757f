/** `rowsync failures` and `rowsync retry`: what is listed, with what helps each, and what may be tried again. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli, type RunResult } from '../../support/session.ts';

let sandbox: TestSandbox;
let run: (args: readonly string[], width?: number) => Promise<RunResult>;
let execute: (statements: string) => void;

const listed = async (): Promise<readonly Record<string, unknown>[]> => {
  const { stdout } = await run(['failures', '--json']);
  return (JSON.parse(stdout) as { failures: Record<string, unknown>[] }).failures;
};

/** A pulled table whose rows may be edited, of which code c4 is taken. */
beforeEach(async () => {
  sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Note',
        columns: [
          { name: 'Title', type: 'Text' },
          { name: 'Code', type: 'Text', options: ['Unique'] },
        ],
        rows: [1, 2, 3, 4].map((number) => ({ Title: `title ${number}`, Code: `c${number}` })),
      },
    ],
  });
  const workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  onTestFinished(async () => {
    workspace[Symbol.dispose]();
    await sandbox.stop();
  });
  run = (args, width) => runCli(args, { folder: workspace.folder, ...(width === undefined ? {} : { width }) });
  execute = (statements) => {
    const db = new Database(join(workspace.folder, 'replica.db'));
    db.exec(statements);
    db.close();
  };
  await run(['pull']);
});

test('a replica in which nothing failed has no failures', async () => {
  expect((await run(['failures'])).stdout).toBe('No failures\n');
  expect(await listed()).toEqual([]);
  expect((await run(['retry'])).exitCode).toBe(0);
});

test('a refused row is listed with the words of the origin and the name of the row, until a retry succeeds', async () => {
  execute(`UPDATE "Note" SET "Code" = 'c4' WHERE _id = 1`);
  await run(['push']);

  const [failure] = await listed();
  expect(failure).toMatchObject({ table: 'Note', rowId: 1, kind: 'update', status: 400 });
  const { stdout, exitCode } = await run(['failures']);
  expect(exitCode).toBe(0);
  const [titles, line, more] = stdout.split('\n');
  expect(titles).toBe('id\ttable\trow\trow name\twhat\tcolumn\tstatus\treason\tsent\ttried again');
  expect(line?.split('\t')).toEqual(
    expect.arrayContaining([String(failure?.['id']), 'Note', '1', '400', 'on edit or retry']),
  );
  expect(more).toBe('');

  sandbox.store.update('Note', 4, { Code: 'free' });
  expect((await run(['retry', String(failure?.['id'])])).stdout).toContain('1 row to be tried again');
  expect((await run(['push'])).exitCode).toBe(0);
  expect(await listed()).toEqual([]);
  expect(sandbox.store.rows('Note')[0]?.values['Code']).toBe('c4');
});

test('a terminal gets a table that fits, with the number of failures', async () => {
  execute(`UPDATE "Note" SET "Code" = 'c4' WHERE _id IN (1)`);
  await run(['push']);

  const { stdout } = await run(['failures'], 80);

  expect(stdout).toMatch(/1 failure\n$/);
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

test('a new row that may exist is retried by its number alone', async () => {
  execute(`INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Code" = 'c4' WHERE _id = 1`);
  sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create' }] });
  await run(['push']);
  sandbox.faults.replace({ faults: [] });
  const kinds = async () => (await listed()).map(({ kind }) => String(kind)).toSorted();
  expect(await kinds()).toEqual(['inDoubt', 'update']);
  expect((await run(['failures'])).stdout).toMatch(/\tinDoubt\t.*\ton retry\n/);

  expect((await run(['retry'])).stdout).toContain('1 row to be tried again');
  expect(await kinds()).toEqual(['inDoubt']);

  const [inDoubt] = await listed();
  expect((await run(['retry', String(inDoubt?.['id'])])).exitCode).toBe(0);
  await run(['push']);
  expect(sandbox.store.rows('Note').filter(({ values }) => values['Title'] === 'new')).toHaveLength(1);
});

test('a number that no failure has is a mistake on the command line', async () => {
  for (const id of ['x', '1.5', '1e3', '9'.repeat(16), '999']) {
    const { exitCode, stderr } = await run(['retry', id]);

    expect([id, exitCode]).toEqual([id, 2]);
    expect(stderr).toContain('rowsync failures');
  }
});

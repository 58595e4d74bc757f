/**
 * The commands of a two-way table, as a user meets them: plan, push, sync, failures, retry, and their exit codes.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli, type RunResult } from '../../support/session.ts';

interface PageInput {
  readonly sandbox: TestSandbox;
  readonly folder: string;
  run(...args: readonly string[]): Promise<RunResult>;
  /** The JSON that a command prints. */
  json(...args: readonly string[]): Promise<{ readonly exitCode: number; readonly value: Record<string, unknown> }>;
  sql(statements: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startDesk(
  yaml = 'tables: { "*": { push: true, match: Code } }\n',
  more: readonly { readonly name: string; readonly type: 'Attachment' }[] = [],
  allowAdd = true,
): Promise<PageInput> {
  const sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Note',
        allowAdd,
        columns: [{ name: 'Title', type: 'Text' }, { name: 'Code', type: 'Text', options: ['Unique'] }, ...more],
        rows: [1, 2, 3, 4].map((number) => ({ Title: `title ${number}`, Code: `c${number}` })),
      },
    ],
  });
  const { url, database, token } = sandbox;
  const workspace = makeWorkspace({ url, database, token }, yaml);
  const run = (...args: readonly string[]): Promise<RunResult> => runCli(args, { folder: workspace.folder });
  const page: PageInput = {
    sandbox,
    folder: workspace.folder,
    run,
    json: async (...args) => {
      const { exitCode, stdout } = await run(...args, '--json');
      return { exitCode, value: JSON.parse(stdout) as Record<string, unknown> };
    },
    sql: (statements) => {
      const db = new Database(join(workspace.folder, 'replica.db'));
      db.exec(statements);
      db.close();
    },
    [Symbol.asyncDispose]: async () => {
      workspace[Symbol.dispose]();
      await sandbox.stop();
    },
  };
  await run('pull');
  return page;
}

test('plan shows every change with old and new values, and changes nothing', async () => {
  await using page = await startDesk();
  page.sql(`UPDATE "Note" SET "Title" = 'new title' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
    INSERT INTO "Note" ("Title", "Code") VALUES ('added', 'n1')`);

  const { exitCode, stdout } = await page.run('plan', '--summary');

  expect(exitCode).toBe(0);
  expect(stdout).toContain('Note: 1 update, 1 insert, 1 delete; 3 write calls');
  expect(stdout).toContain('update 1 (new title)  Title: "title 1" -> "new title"');
  expect(stdout).toContain('insert -2  Title: "added", Code: "n1"');
  expect(stdout).toContain('delete 2');
  expect((await page.run('push', '--dry-run')).stdout).toBe((await page.run('plan')).stdout);
  expect(page.sandbox.requests.count({ method: 'upsert' })).toBe(0);
  const { value } = await page.json('plan');
  expect(value).toMatchObject({
    tables: [
      {
        table: 'Note',
        writeCallCount: 3,
        rows: [
          { rowId: 1, kind: 'update', fate: 'sent', method: 'update', cells: [{ column: 'Title', base: 'title 1' }] },
          { rowId: -2, kind: 'insert', fate: 'sent', method: 'upsert' },
          { rowId: 2, kind: 'delete', fate: 'sent', method: 'delete', cells: [] },
        ],
      },
    ],
  });
});

test('plan with nothing to do says so', async () => {
  await using page = await startDesk();

  expect((await page.run('plan')).stdout).toBe('Nothing to push\n');
});

test('push carries the edits and says what it did', async () => {
  await using page = await startDesk();
  page.sql(`UPDATE "Note" SET "Title" = 'new title' WHERE _id = 1`);

  const { exitCode, stdout } = await page.run('push');

  expect(exitCode).toBe(0);
  expect(stdout).toContain('1 row pushed');
  expect(page.sandbox.store.rows('Note')[0]?.values['Title']).toBe('new title');
});

test('sync pulls, then pushes', async () => {
  await using page = await startDesk();
  page.sql(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  page.sandbox.store.update('Note', 2, { Title: 'theirs' });

  const { exitCode, value } = await page.json('sync');

  expect(exitCode).toBe(0);
  expect(value).toMatchObject({
    exitCode: 0,
    tables: [{ table: 'Note', updatedCount: 1 }],
    push: { tables: [{ table: 'Note', updatedCount: 1 }] },
  });
  expect(page.sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual([
    'mine',
    'theirs',
    'title 3',
    'title 4',
  ]);
});

test('verify first finds out what became of rows whose answers got lost', async () => {
  await using page = await startDesk('tables: { "*": { push: true, match: Code } }\n');
  page.sql(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  const faults = [
    { fault: 'resetAfter', method: 'upsert' } as const,
    { fault: 'html', method: 'select', nth: 2 } as const,
  ];
  page.sandbox.faults.replace({ faults });
  await page.run('push');
  page.sandbox.faults.replace({ faults: [] });

  expect((await page.run('verify')).exitCode).toBe(0);

  expect((await page.json('sql', `SELECT _id FROM "Note" WHERE "Title" = 'new'`)).value).toEqual([{ _id: 5 }]);
  await page.run('push');
  expect((await page.run('failures')).stdout).toBe('No failures\n');
});

test('a guard exits with 3 and is lifted by --confirm', async () => {
  await using page = await startDesk('tables: { "*": { push: true } }\nsafety: { maxPushRows: 1 }\n');
  page.sql(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);

  const held = await page.run('push');

  expect(held.exitCode).toBe(3);
  expect(held.stdout).toContain('guard.pushRows');
  expect((await page.run('status')).stdout).toContain('safety.maxPushRows');
  expect((await page.run('push', '--confirm')).exitCode).toBe(0);
  expect((await page.run('status')).stdout).not.toContain('safety.maxPushRows');
});

test.each([
  { guard: 'maxPushRows: 1', edit: `UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`, words: '2 rows would be changed' },
  { guard: 'maxDeletePercent: 20', edit: 'DELETE FROM "Note" WHERE _id = 1', words: '1 of 4 rows would be deleted' },
])('plan says that a push is held by $guard, and what lets it through', async ({ guard, edit, words }) => {
  await using page = await startDesk(`tables: { "*": { push: true } }\nsafety: { ${guard} }\n`);
  page.sql(edit);

  const text = await page.run('plan');
  const { stdout: json } = await page.run('plan', '--json');
  await page.run('push', '--confirm');

  expect(text.stdout).toContain(`  a push is held: ${words}`);
  expect(text.stdout).toContain('rowsync push --confirm "Note"');
  expect(json).toMatch(/"held": "Note: .*rowsync discard --all \\"Note\\"/);
  expect((await page.run('plan')).stdout).toBe('Nothing to push\n');
});

test.each([[['pull', 'Noet']], [['push', 'Noet']], [['sql', 'SELECT * FROM Noet']]])(
  '%j asks whether the nearest table was meant',
  async (command) => {
    await using page = await startDesk();

    const { exitCode, stdout, stderr } = await page.run(...command);

    expect(exitCode).toBe(2);
    expect(stdout + stderr).toContain('(did you mean Note?)');
  },
);

test('a conflict that is asked about exits with 3 until it is resolved', async () => {
  await using page = await startDesk('tables: { "*": { push: true, conflict: ask } }\n');
  page.sql(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  page.sandbox.store.update('Note', 1, { Title: 'theirs' });

  const { exitCode, stdout } = await page.run('push');

  expect(exitCode).toBe(3);
  expect(stdout).toContain('needs attention:\n  Note: 1 conflict to decide');
  expect((await page.run('plan', '--summary')).stdout).toContain(
    'conflict (update) 1 (mine)  Title: "theirs" -> "mine"',
  );
  page.sql(`UPDATE sync_conflicts SET resolution = 'local'`);
  expect((await page.run('push')).exitCode).toBe(0);
  expect(page.sandbox.store.rows('Note')[0]?.values['Title']).toBe('mine');
});

test('a refused row is listed with the words of the origin, and tried again on demand', async () => {
  await using page = await startDesk();
  page.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
  page.sql(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 1`);

  const pushed = await page.run('push');
  expect(pushed.exitCode).toBe(1);
  expect(pushed.stdout).toContain('1 edit: 1 refused');
  expect(pushed.stdout).toContain('needs attention:\n  Note: 1 row refused by the origin');
  expect((await page.run('push')).exitCode).toBe(0);
  expect((await page.run('push', '--strict')).exitCode).toBe(3);
  const { value } = await page.json('failures');
  expect(value['failures']).toMatchObject([{ table: 'Note', rowId: 1, kind: 'update', status: 400 }]);
  expect((await page.run('failures')).stdout).toContain('duplicate');
  expect((await page.run('status')).stdout).toContain('1 row refused');
  page.sandbox.store.delete('Note', 5);
  expect((await page.run('retry')).stdout).toContain('1 row to be tried again');
  expect((await page.run('push', '--strict')).exitCode).toBe(0);
  expect((await page.run('failures')).stdout).toBe('No failures\n');
});

test('a later push says of a row that was refused before that it is still parked', async () => {
  await using page = await startDesk();
  page.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
  page.sql(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 1`);
  const first = await page.run('push');
  page.sql(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);
  const second = await page.run('push');

  const countsOf = ({ stdout }: RunResult): readonly string[] =>
    stdout
      .split('\n')
      .filter((line) => /^(?:table|Note) /.test(line))
      .map((line) => line.replaceAll(/ {2,}/g, ' '));
  expect(countsOf(first)).toEqual(['table inserted updated deleted refused in conflict waiting', 'Note 0 0 0 1 0 0']);
  expect(countsOf(second)).toEqual([
    'table inserted updated deleted refused in conflict waiting still parked',
    'Note 0 1 0 0 0 0 1',
  ]);
});

test('retry of what does not wait is an error of usage', async () => {
  await using page = await startDesk();

  expect((await page.run('retry', '7')).exitCode).toBe(2);
  expect((await page.run('retry', 'x')).exitCode).toBe(2);
});

test('a push makes no replica where there is none', async () => {
  await using page = await startDesk();
  const path = join(page.folder, 'replica.db');
  rmSync(path);

  const { exitCode, stderr } = await page.run('push');

  expect(exitCode).toBe(1);
  expect(stderr).toContain('There is no replica');
  expect(existsSync(path)).toBe(false);
});

test('push of a mirror names the fix', async () => {
  await using page = await startDesk('');

  const { exitCode, stderr } = await page.run('push', 'Note');

  expect(exitCode).toBe(2);
  expect(stderr).toContain('push: true');
  expect((await page.run('push')).stdout).toContain('no table is pushed');
});

test.each([
  ['{ push: true, match: Code }', []],
  ['{ push: true }', ['warn: Note is pushed without a match column']],
  ['{ push: { insert: false } }', []],
  ['{ push: { insert: true } }', ['warn: Note is pushed without a match column']],
  ['{ push: {} }', ['warn: Note is pushed without a match column']],
  ['{ push: true, match: Nope }', ['fail: Note: the match column "Nope" does not exist']],
  ['{ push: true, match: Title }', ['fail: Note: the match column "Title" is not unique']],
])('check judges what identifies rows: %s', async (options, expected) => {
  await using page = await startDesk(`tables: { "*": ${options} }\n`);

  const { value } = await page.json('check');

  const checks = value['checks'] as readonly { name: string; outcome: string; message: string; hint: string }[];
  const found = checks.filter(({ name, outcome }) => name === 'push' && outcome !== 'ok');
  expect(found.map(({ outcome, message }) => `${outcome}: ${message.split(':').slice(0, 2).join(':')}`)).toEqual(
    expected.map((text) => expect.stringContaining(text) as unknown),
  );
  expect(found.filter(({ hint }) => !hint.includes('Code'))).toEqual([]);
});

test.each([
  [
    '"*"',
    '{ push: true }',
    'Add "Note" under tables, with the options of "*". Set tables.Note.match to a unique column (',
  ],
  [
    '"No*"',
    '{ push: true, match: Nope }',
    'Add "Note" under tables, with the options of "No*". Correct tables.Note.match: ',
  ],
  ['Note', '{ push: true }', 'Set tables.Note.match to a unique column ('],
  ['Note', '{ push: true, match: Nope }', 'Correct tables.Note.match: '],
])('check sets a match for one table, not for every table of a pattern: %s: %s', async (key, options, expected) => {
  await using page = await startDesk(`tables: { ${key}: ${options} }\n`);

  const { value } = await page.json('check');

  const checks = value['checks'] as readonly { name: string; outcome: string; hint: string }[];
  const hints = checks.flatMap(({ name, outcome, hint }) => (name === 'push' && outcome !== 'ok' ? [hint] : []));
  expect(hints).toEqual([expect.stringContaining(expected)]);
});

test.each([
  ['true', 'warn: Note: this user may not add rows; inserts are refused here'],
  ['{}', 'warn: Note: this user may not add rows; inserts are refused here'],
  ['{ insert: true }', 'warn: Note: this user may not add rows; inserts are refused here'],
  ['{ insert: false }', undefined],
])('check names the missing right to add rows: push: %s', async (push, expected) => {
  await using page = await startDesk(`tables: { "*": { push: ${push}, match: Code } }\n`, [], false);

  const { value } = await page.json('check');

  const checks = value['checks'] as readonly { name: string; outcome: string; message: string }[];
  const found = checks.filter(({ name, outcome }) => name === 'push' && outcome !== 'ok');
  expect(found.map(({ outcome, message }) => `${outcome}: ${message}`)).toEqual(
    expected === undefined ? [] : [expected],
  );
});

test('plan says what a push would refuse by an option that no pull has seen yet', async () => {
  await using page = await startDesk();
  page.sql(`INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  const file = join(page.folder, 'rowsync.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('push: true', 'push: { insert: false }'));

  const planned = await page.run('plan', '--summary');
  const pushed = await page.run('push');

  expect(planned.stdout).toContain('Note: 1 update; 1 not sent; ');
  const why = 'rows may not be added: the configuration says push: { insert: false }';
  expect(planned.stdout).toContain(`  cannot be sent (insert) -2  Title: "new": ${why}`);
  expect(pushed.stdout).toContain('2 edits: 1 arrived, 1 cannot be sent');
  expect((await page.run('failures')).stdout).toContain(why);
});

test('failures says what helps a create that may have happened', async () => {
  await using page = await startDesk('tables: { "*": { push: true } }\n');
  page.sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create' }] });
  page.sql(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  const pushed = await page.run('push');

  const { stdout } = await page.run('failures');

  expect(stdout).toContain('\tinDoubt\t');
  expect(stdout).toContain('\ton retry');
  expect(stdout).not.toContain('on edit');
  const said = [pushed.stdout, (await page.run('status')).stdout, (await page.run('plan', '--summary')).stdout];
  for (const text of said) expect(text).not.toContain('refused by');
  for (const text of said.slice(0, 2)) {
    expect(text).toContain('1 row in doubt: the origin may have the change');
    expect(text).toContain('what to do: look at the origin first');
  }
  expect(said[0]).toMatch(/^table .* in doubt /m);
  expect(said[2]).toContain('  in doubt (insert) -2  Title: "new": ');
});

test('discard says which edits may have arrived', async () => {
  await using page = await startDesk('tables: { "*": { push: true } }\n');
  page.sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create', count: 1 }] });
  page.sql(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  await page.run('push');
  page.sql(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3 AND _id > 0`);

  const { stdout } = await page.run('discard', 'Note', '--all');

  expect(stdout).toBe(
    'Put 2 rows of Note back, and removed 1 new row; row -2 was in doubt, so the origin may have what you discarded: look there\n',
  );
});

test('a row that cannot be sent is not said to be refused by the origin', async () => {
  await using page = await startDesk('tables: { "*": { push: true } }\nfiles: { uploadDir: uploads }\n', [
    { name: 'Photo', type: 'Attachment' },
  ]);
  page.sql(`UPDATE "Note" SET "Photo" = 'file:none.txt' WHERE _id = 1`);

  const planned = await page.run('plan', '--summary');
  const pushed = await page.run('push');
  const status = await page.run('status');
  const after = await page.run('plan', '--summary');

  for (const { stdout } of [pushed, status]) {
    expect(stdout).toContain('1 row cannot be sent');
    expect(stdout).not.toContain('refused by');
  }
  for (const { stdout } of [planned, after]) expect(stdout).toContain('  cannot be sent (update) 1 (title 1)  Photo: ');
});

test.each(['plan', 'push'])('%s says that it waits for another program, and does not fail', async (command) => {
  await using page = await startDesk();
  page.sql(`UPDATE "Note" SET "Title" = 'new title' WHERE _id = 1`);
  const other = new Database(join(page.folder, 'replica.db'));
  other.exec('BEGIN IMMEDIATE');
  const clock = testClock();
  let sleeps = 0;
  const patient = async (ms: number): Promise<void> => {
    clock.advance(Math.max(ms, 600));
    sleeps += 1;
    if (sleeps === 5) other.exec('COMMIT');
  };

  const { exitCode, stderr } = await runCli([command], { folder: page.folder, clock: { ...clock, sleep: patient } });
  other.close();

  expect({ exitCode, stderr: stderr.match(/^waiting .*$/gm) }).toEqual({
    exitCode: 0,
    stderr: [
      `waiting for another program that writes to ${join(page.folder, 'replica.db')}; if a SQL client has unsaved changes, save or undo them there`,
    ],
  });
});

/**
 * What `rowsync check` finds out about columns, rights and the answers of an origin.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { makeReleased } from '../../support/released.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const TABLES: readonly TableSpec[] = [
  {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Total', type: 'Numeric', kind: 'Summary' },
    ],
    rows: Array.from({ length: 9 }, (_, index) => ({ Title: `note ${index}`, Total: 1 })),
  },
];

interface Found {
  readonly name: string;
  readonly outcome: string;
  readonly message: string;
  readonly hint: string;
}

/** The findings of these names. */
async function check(folder: string, ...names: readonly string[]): Promise<readonly Found[]> {
  const { stdout } = await runCli(['check', '--json'], { folder });
  const { checks } = JSON.parse(stdout) as { checks: readonly Found[] };
  return checks.filter(({ name }) => names.includes(name));
}

const outcomes = (found: readonly Found[]): readonly string[] => found.map(({ name, outcome }) => `${name} ${outcome}`);

/** A sandbox that was pulled into a workspace, and then spoiled. */
async function pulled(sandbox: TestSandbox, yaml = 'limits: { pageRows: 4 }\n') {
  const workspace = makeWorkspace(sandbox, yaml);
  await runCli(['pull'], workspace);
  return workspace;
}

const FOLLOWING = 'schedule: { follow: "* * * * *" }\nlimits: { pageRows: 4 }\n';

test('says how many tables can be followed', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox, FOLLOWING);

  const [found] = await check(workspace.folder, 'follow');

  expect(found).toMatchObject({ outcome: 'ok' });
  expect(found?.message).toMatch(
    /^\d+ tables?, of which \d can be followed; requests an hour: .+ 120 when followed, \d+ for full pulls.*the last pull received [\d.]+ \w+$/,
  );
});

test.each([
  ['a schedule asks for it', FOLLOWING, 'warn'],
  ['nobody asks for it', 'limits: { pageRows: 4 }\n', 'ok'],
])('an origin that does not count rows, where following is on or off (%s)', async (_what, yaml, outcome) => {
  await using sandbox = await startTestSandbox({
    tables: TABLES,
    intercept: (request, response) => {
      if (!request.path.includes('COUNT')) return false;
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":400,"code":3100,"message":"no"}');
      return true;
    },
  });
  using workspace = await pulled(sandbox, yaml);

  const [found] = await check(workspace.folder, 'follow');

  expect(found).toMatchObject({ outcome });
  expect(found?.message).toContain('the origin does not count rows');
});

test('a role that is not shown when rows were changed', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  const hiddenColumns = TABLES.map(({ name }) => [name, 'Date Modified'] as const);
  sandbox.store.setRole({ name: 'Administrator', canWrite: true, hiddenTables: [], hiddenColumns });
  using workspace = await pulled(sandbox, FOLLOWING);

  const [found] = await check(workspace.folder, 'follow');

  expect(found).toMatchObject({ outcome: 'warn', message: 'no table says when a row was changed' });
});

test.each([
  ['[Title] <> "note 3"', 'ok', '8 rows under the filter [Title] <> "note 3"', ''],
  ['[Titel] = "x"', 'fail', 'There is no such column', 'Correct tables.Note.rows.'],
])('says whether the origin takes the filter %s of a table', async (rows, outcome, message, hint) => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = makeWorkspace(sandbox, `tables: { Note: { rows: '${rows}' } }\n`);

  const [found] = await check(workspace.folder, 'rows');

  expect(found).toMatchObject({ outcome, hint });
  expect(found?.message).toContain(message);
});

test('says whether the origin adds up rows as it returns them', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox);

  expect(await check(workspace.folder, 'aggregates')).toMatchObject([
    { outcome: 'ok', message: 'of a day of Note agree with its rows: 3 measures' },
  ]);
});

test.each([
  ['does not add up rows', 400, '{"error":400,"code":3100,"message":"no"}', 'ok', 'does not add up rows of Note'],
  ['has a form of its own', 200, '[{"Day":"1"}]', 'ok', 'in a form that is not known'],
  [
    'adds up other rows',
    200,
    '[{"Date Created":"2026-01-01","Id//COUNT":9,"Date Modified//MAX":null,"Total//SUM":9}]',
    'warn',
    'do not agree with its rows: count, modified, sum of Total',
  ],
])('an origin that %s', async (_what, status, body, outcome, message) => {
  await using sandbox = await startTestSandbox({
    tables: TABLES,
    intercept: (request, response) => {
      if (!request.path.includes('SUM')) return false;
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
      return true;
    },
  });
  using workspace = await pulled(sandbox);

  const [found] = await check(workspace.folder, 'aggregates');

  expect(found).toMatchObject({ outcome });
  expect(found?.message).toContain(message);
});

test('an origin that keeps its word', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox);

  const found = await check(workspace.folder, 'order', 'etags', 'honesty', 'columns', 'sqlite', 'mode');

  expect(found.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  const text = found.map(({ message }) => message).join('\n');
  expect(text).toContain('Note 8 (2 writable)');
  expect(text).toContain('honoured: Note');
  expect(text).toContain('1 stored page of 3 read again');
  expect(text).toMatch(/rowsync has SQLite 3\.\d+/);
});

test('an origin that says "not modified" whatever changed', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox, '');
  sandbox.store.update('Note', 1, { Title: 'changed since' });
  sandbox.faults.replace({ faults: [{ fault: 'notModified', method: 'select' }] });

  const found = await check(workspace.folder, 'honesty');

  expect(outcomes(found)).toEqual(['honesty fail']);
  expect(found[0]?.hint).toContain('rowsync resync "Note"');
});

test('a change since the last pull is no lie', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox, '');
  sandbox.store.update('Note', 1, { Title: 'changed since' });

  expect(outcomes(await check(workspace.folder, 'honesty'))).toEqual(['honesty ok']);
});

test('edits that are still to be pushed are no lie', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox, 'tables: { Note: { push: true } }\n');
  await runCli(['pull'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine'`);
  db.close();

  expect(outcomes(await check(workspace.folder, 'honesty'))).toEqual(['honesty ok']);
});

test('an origin that sends rows again in spite of their ETag', async () => {
  let count = 0;
  await using sandbox = await startTestSandbox({
    tables: TABLES,
    intercept: (request) => {
      if (request.method === 'select') sandbox.store.update('Note', 1, { Title: `turn ${(count += 1)}` });
      return false;
    },
  });
  using workspace = makeWorkspace(sandbox);

  const found = await check(workspace.folder, 'etags');

  expect(outcomes(found)).toEqual(['etags warn']);
  expect(found[0]?.message).toContain('although their ETag was sent: Note');
});

test('rights that a pushed table lacks', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  sandbox.store.changeUser({ admin: [] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true, workflow: suppress } }\n');

  const found = await check(workspace.folder, 'rights');

  expect(found).toMatchObject([{ outcome: 'fail' }]);
  expect(found[0]?.message).toContain('ManageData');
});

test('a replica that others may read', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = await pulled(sandbox);
  const path = join(workspace.folder, 'replica.db');
  chmodSync(path, 0o644);
  const open = await check(workspace.folder, 'mode');
  chmodSync(path, 0o660);

  const grouped = await check(workspace.folder, 'mode');

  expect(open[0]).toMatchObject({ outcome: 'warn', hint: `chmod o= "${path}"` });
  expect(grouped[0]?.hint).toContain('replica.shared');
});

test('a replica of the first release, which the next pull brings up to date', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = makeWorkspace(sandbox);
  makeReleased(join(workspace.folder, 'replica.db'));

  const found = await check(workspace.folder, 'replica', 'etags', 'honesty');

  expect(outcomes(found)).toEqual(['replica ok', 'etags ok']);
  expect(found[0]?.message).toContain('earlier version');
});

test('a daemon that ran here and does not answer is missed; who never started one misses none', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = makeWorkspace(sandbox, 'http: { listen: /tmp/rowsync-no-such.sock }\n');

  const before = await check(workspace.folder, 'daemon', 'problems');
  writeFileSync(join(workspace.folder, 'replica.db.page-key'), 'key');
  const found = await check(workspace.folder, 'daemon', 'problems');

  expect(before.filter(({ message }) => message.includes('No daemon answers'))).toEqual([]);
  expect(found).toContainEqual({
    name: 'problems',
    outcome: 'warn',
    message: 'daemon.silent: No daemon answers, although one should run',
    hint: expect.stringContaining('Start it, also if it was stopped') as string,
  });
});

test('a folder of backups and a program of notices that are not there', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  const yaml = (folder: string, program: string): string =>
    `schedule: { backup: "0 3 * * *" }\nbackup: { folder: ${folder} }\nnotify: { command: ["${program}"] }\n`;
  using good = makeWorkspace(sandbox, yaml('.', 'true'));
  using bad = makeWorkspace(sandbox, yaml('/nonexist', '/nonexist/tell'));
  using unknown = makeWorkspace(sandbox, yaml('rowsync.yaml', 'no-such-program'));

  expect(outcomes(await check(good.folder, 'backup', 'notices'))).toEqual(['notices ok', 'backup ok']);
  for (const { folder } of [bad, unknown]) {
    expect(outcomes(await check(folder, 'backup', 'notices'))).toEqual(['notices fail', 'backup fail']);
  }
  expect((await runCli(['check'], bad)).exitCode).toBe(1);
});

test('references that name no column or no table', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using bad = makeWorkspace(sandbox, 'tables: { Note: { push: true, references: { Foo: Note, title: Bar } } }\n');
  using good = makeWorkspace(sandbox, 'tables: { Note: { push: true, references: { title: note } } }\n');

  const found = await check(bad.folder, 'columns');

  expect(found.find(({ outcome }) => outcome === 'fail')).toMatchObject({
    message: 'Note: references names what does not come here: column "Foo", table "Bar"',
    hint: 'Correct tables.Note.references.',
  });
  expect(outcomes(await check(good.folder, 'columns'))).toEqual(['columns ok']);
});

test('own names of columns: of one that does not exist, and one name for two', async () => {
  const tables = [
    { name: 'Note', columns: ['Title', 'Text', 'Code'].map((name) => ({ name, type: 'Text' as const })) },
  ];
  await using sandbox = await startTestSandbox({ tables });
  const yaml = (names: string): string => `tables: { Note: { columnNames: ${names} } }\n`;
  using unknown = makeWorkspace(sandbox, yaml('{ Nope: x, Title: y }'));
  using doubled = makeWorkspace(sandbox, yaml('{ Title: x, Text: X }'));
  using taken = makeWorkspace(sandbox, yaml('{ Title: code }'));
  using good = makeWorkspace(sandbox, yaml('{ Title: text, Text: title }'));
  const wrong = async ({ folder }: { readonly folder: string }): Promise<readonly string[]> =>
    (await check(folder, 'columns')).flatMap(({ outcome, message }) => (outcome === 'ok' ? [] : [message]));

  expect(await wrong(unknown)).toEqual(['Note: columnNames names columns that do not exist: Nope']);
  expect(await wrong(doubled)).toEqual(['Note: columnNames gives several columns the same name: Title, Text']);
  expect(await wrong(taken)).toEqual(['Note: columnNames gives several columns the same name: Title, Code']);
  expect(await wrong(good)).toEqual([]);
});

test('what is well is said in words alone', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using workspace = makeWorkspace(sandbox);

  const found = await check(workspace.folder, 'problems');

  expect(found).toMatchObject([{ outcome: 'note', message: 'There is no replica yet' }]);
});

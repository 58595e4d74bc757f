/** `rowsync sql`: the form of an answer, where the query comes from, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

let sandbox: TestSandbox;
let workspace: ReturnType<typeof makeWorkspace>;

beforeAll(async () => {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'N', type: 'Numeric' },
  ] as const;
  const rows = [
    { Title: '=1+1', N: 9_007_199_254_740_993n },
    { Title: null, N: null },
    { Title: 'tab\there', N: 0.5 },
  ];
  sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns, rows }] });
  workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
});
afterAll(async () => {
  workspace[Symbol.dispose]();
  await sandbox.stop();
});

const QUERY = 'SELECT "Title", "N" FROM "Note" ORDER BY _id';
const sql = (args: readonly string[], world: Parameters<typeof runCli>[1] = {}) =>
  runCli(['sql', ...args], { folder: workspace.folder, ...world });

test.each<[string, readonly string[], string]>([
  ['in a pipe', [QUERY], 'Title\tN\n=1+1\t9007199254740993\n\t\ntab\\there\t0.5\n'],
  ['csv', ['-f', 'csv', QUERY], 'Title,N\n=1+1,9007199254740993\n,\ntab\there,0.5\n'],
  [
    'csv for a spreadsheet',
    ['-f', 'csv', '--escape-formulas', `${QUERY} LIMIT 1`],
    "Title,N\n'=1+1,9007199254740993\n",
  ],
  ['jsonl', ['-f', 'jsonl', `${QUERY} LIMIT 1 OFFSET 1`], '{"Title":null,"N":null}\n'],
  ['markdown', ['-f', 'markdown', 'SELECT 1 AS one'], '| one |\n| --- |\n| 1 |\n'],
])('an answer as %s has every digit, and tells nothing from an empty text', async (_form, args, expected) => {
  const { exitCode, stdout } = await sql(args);

  expect({ exitCode, stdout: stdout.replaceAll('\r\n', '\n') }).toEqual({ exitCode: 0, stdout: expected });
});

test('an answer in JSON is a list of rows', async () => {
  const { stdout } = await sql(['--json', `${QUERY} LIMIT 2`]);

  expect(stdout).toContain('9007199254740993');
  expect(JSON.parse(stdout)).toMatchObject([{ Title: '=1+1' }, { Title: null, N: null }]);
});

describe('the query', () => {
  test('comes from the input where none is given', async () => {
    expect((await sql([], { input: 'SELECT 1 AS one;\n' })).stdout).toBe('one\n1\n');
  });

  test.each([
    ['none', ''],
    ['blanks', ' \n'],
  ])('that is %s is a mistake on the command line', async (_what, input) => {
    const { exitCode, stderr } = await sql([], { input });

    expect(exitCode).toBe(2);
    expect(stderr).toContain('No query was given');
  });

  test('that is too long for SQLite is not read to its end', async () => {
    const { exitCode, stderr } = await sql([], { input: `SELECT 1 -- ${'x'.repeat(1_000_000)}` });

    expect(exitCode).toBe(2);
    expect(stderr).toContain('longer than 1000000 characters');
  });

  test.each([
    ['DELETE FROM "Note"', 'read'],
    ['SELECT 1; SELECT 2', ''],
    ['SELECT nonsense', 'no such column: nonsense'],
    ["ATTACH 'x.db' AS x", ''],
  ])('%s is refused, and nothing changes', async (query, says) => {
    const { exitCode, stderr, stdout } = await sql([query]);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(says);
    expect((await sql(['SELECT count(*) AS n FROM "Note"'])).stdout).toBe('n\n3\n');
  });

  test.each([['--fresh', '1min'], ['--moment']])('cannot be about now and about a time: %s %s', async (...flags) => {
    const { exitCode, stderr } = await sql([
      '--at',
      '2026-01-01',
      ...flags.filter((flag) => flag !== undefined),
      QUERY,
    ]);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('--at excludes --fresh and --moment');
  });
});

test('an answer from a table that is not read to its end says so, beside the answer', async () => {
  const rows = Array.from({ length: 20 }, (_, index) => ({ Title: `${index}` }));
  const table = { columns: [{ name: 'Title', type: 'Text' }] as const, rows };
  await using half = await startTestSandbox({
    tables: [
      { name: 'Half', ...table },
      { name: 'Whole', ...table },
    ],
  });
  using made = makeWorkspace(half, 'limits: { pageRows: 5, concurrency: 1 }\n');
  half.answerInstead(2, { status: 400, body: '{}' }, { method: 'select', table: half.store.table('Half').alias });
  await runCli(['pull'], made);

  const [onHalf, onWhole] = await Promise.all(
    ['Half', 'Whole'].map((name) => runCli(['sql', `SELECT count(*) AS n FROM "${name}"`], made)),
  );

  expect(onHalf?.stderr).toBe('not read to the end yet: Half\n');
  expect(onHalf?.exitCode).toBe(0);
  expect(onWhole).toMatchObject({ stderr: '', stdout: 'n\n20\n' });
});

test('there is nothing to ask before the first pull', async () => {
  using made = makeWorkspace(sandbox);

  const { exitCode, stderr } = await runCli(['sql', 'SELECT 1'], made);

  expect(exitCode).toBe(1);
  expect(stderr).toContain('code: replica.path');
});

/**
 * `rowsync contract` as a user types it.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { QUESTIONS, REQUESTS_MAX } from '../../../src/extras/questions/questions.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const TOKEN = 'c0ffee00c0ffee11c0ffee22c0ffee33';
const CANARY = 'Canary';

const TABLES: readonly TableSpec[] = [
  {
    name: `${CANARY} table`,
    key: `${CANARY} key`,
    columns: [
      { name: `${CANARY} key`, type: 'Text', options: ['Unique'] },
      { name: `${CANARY} text`, type: 'Text' },
      { name: `${CANARY} place`, type: 'Location' },
      { name: `${CANARY} number`, type: 'Numeric' },
      { name: `${CANARY} agent`, type: 'User' },
      { name: `${CANARY} scan`, type: 'Attachment' },
      { name: `${CANARY} seen`, type: 'Timestamp' },
    ],
    rows: Array.from({ length: 4 }, (_, index) => ({
      [`${CANARY} key`]: `${CANARY} ${index}`,
      [`${CANARY} text`]: index === 0 ? null : `${CANARY} value`,
      [`${CANARY} place`]: `51.5074,-0.1278 ${CANARY}`,
      [`${CANARY} number`]: 4711.25,
      [`${CANARY} agent`]: `${CANARY} Lee <canary@example.com>`,
      [`${CANARY} scan`]: { name: `${CANARY}.txt`, mediaType: 'text/plain', bytes: Buffer.from(CANARY) },
      [`${CANARY} seen`]: '2026-07-04T12:00:00Z',
    })),
  },
];

/** A sandbox whose every name and value is a canary, and a folder that is configured for it. */
async function startWorld(
  intercept?: NonNullable<Parameters<typeof startTestSandbox>[0]>['intercept'],
  tables: readonly TableSpec[] = TABLES,
) {
  const sandbox = await startTestSandbox({
    tables,
    token: TOKEN,
    ...(intercept === undefined ? {} : { intercept }),
  });
  const workspace = makeWorkspace(sandbox, '');
  const { folder } = workspace;
  const stop = async (): Promise<void> => {
    workspace[Symbol.dispose]();
    await sandbox.stop();
  };
  return {
    sandbox,
    folder,
    report: join(folder, 'answers.txt'),
    run: (args: readonly string[], world: Parameters<typeof runCli>[1] = {}) =>
      runCli(['contract', ...args], { folder, ...world }),
    [Symbol.asyncDispose]: stop,
  };
}

const LINE = /^(?:as assumed|differs {3}|not asked ) {2}/gm;

test('says how the origin answers each question, and only reads', async () => {
  await using world = await startWorld();

  const { exitCode, stdout, stderr } = await world.run([]);

  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
  expect(stdout.match(LINE)).toHaveLength(QUESTIONS.length);
  expect(stdout).toContain(`at most ${REQUESTS_MAX} requests, one after the other, all of which only read`);
  expect(stdout).toMatch(/as assumed {2}Are timestamps in a filter in UTC\? yes \(\d+ ms\)/);
  expect(stdout).toMatch(/as assumed {2}How does a value of such a type look .* string: 9\.9,-9\.9_a \(/);
  expect(stdout).toMatch(/differs {5}Which column types are there .* Location; rowsync assumes: none \(/);
  const { all } = world.sandbox.requests;
  expect(all.length).toBeGreaterThan(30);
  expect(all.length).toBeLessThanOrEqual(REQUESTS_MAX);
  const kinds = new Set(all.map(({ method }) => method));
  expect([...kinds].filter((method) => /create|update$|upsert|delete$|setup/.test(method))).toEqual([]);
});

test('four tables without rows, one with every kind of column and five more take all requests that are announced', async () => {
  const empty = Array.from({ length: 9 }, (_, index) => ({ name: `Empty ${index}`, columns: [] }));
  await using world = await startWorld(undefined, [...empty.slice(0, 4), ...TABLES, ...empty.slice(4)]);

  const { exitCode, stdout, stderr } = await world.run(['--report', 'answers.txt', '--confirm']);

  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toContain(', 0 not asked\n');
  expect(world.sandbox.requests.all).toHaveLength(REQUESTS_MAX);
  expect(existsSync(world.report)).toBe(true);
});

test('a table without a row, or with one, is not asked what takes rows to answer', async () => {
  const [table] = TABLES;
  const [one] = table?.rows ?? [];
  const tables = [
    { ...table, name: 'Empty', rows: [] },
    { ...table, name: 'Single', rows: [one] },
  ] as readonly TableSpec[];
  await using world = await startWorld(undefined, tables);

  const empty = await world.run(['Empty']);
  const single = await world.run(['Single']);

  const notAsked = ['In which order come rows', 'Which row properties come', 'Does `column=*` take'];
  expect(notAsked.filter((text) => !empty.stdout.includes(`not asked   ${text}`))).toEqual([]);
  expect(notAsked.filter((text) => single.stdout.includes(`not asked   ${text}`))).toEqual(notAsked.slice(0, 1));
});

test('a report has the lines that were read, and no value, no name and no secret', async () => {
  await using world = await startWorld();

  const { exitCode, stdout } = await world.run(['--report', 'answers.txt', '--confirm']);

  const written = readFileSync(world.report, 'utf8');
  expect(exitCode).toBe(0);
  expect(stdout).toBe(`${written}Written to ${world.report}\n`);
  expect(statSync(world.report).mode & 0o777).toBe(0o600);
  expect(written.match(LINE)).toHaveLength(QUESTIONS.length);
  const { users, url } = world.sandbox;
  const secrets = [TOKEN, CANARY, '4711', '51.5', ...users.map(({ email }) => email), new URL(url).host, '2026-07-04'];
  expect(secrets.filter((text) => written.toLowerCase().includes(text.toLowerCase()))).toEqual([]);
});

test('a person at a terminal is asked before the report is written', async () => {
  await using world = await startWorld();

  const no = await world.run(['--report', 'answers.txt'], { typed: [''] });
  const isThere = existsSync(world.report);
  const yes = await world.run(['--report', 'answers.txt'], { typed: ['yes'] });

  expect([no.exitCode, isThere, yes.exitCode]).toEqual([3, false, 0]);
  expect(readFileSync(world.report, 'utf8').match(LINE)).toHaveLength(QUESTIONS.length);
});

test.for([
  ['the end of the input', []],
  ['Ctrl-C', ['\u0003']],
] as const)('%s is no consent, and --confirm is named', async ([, typed]) => {
  await using world = await startWorld();

  const { exitCode, stderr } = await world.run(['--report', 'answers.txt'], { typed });

  expect(exitCode).toBe(3);
  expect(stderr).toContain(`\n${world.report} was not written. Read the lines, then run it again with --confirm.\n`);
  expect(stderr).not.toContain('init');
  expect(existsSync(world.report)).toBe(false);
});

test('a script gets exit code 3 without its consent, and nothing is written', async () => {
  await using world = await startWorld();

  const { exitCode, stderr } = await world.run(['--report', 'answers.txt']);

  expect(exitCode).toBe(3);
  expect(stderr).toContain('run it again with --confirm');
  expect(existsSync(world.report)).toBe(false);
});

test('a file that is there is not written over, and nothing is asked', async () => {
  await using world = await startWorld();

  const { exitCode, stderr } = await world.run(['--report', 'rowsync.yaml', '--confirm']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('is there already');
  expect(world.sandbox.requests.all).toEqual([]);
});

test.for([
  ['a folder that is not there', 'missing/answers.txt', 'ENOENT'],
  ['a file as a folder', 'rowsync.yaml/answers.txt', 'ENOTDIR'],
] as const)('%s is refused before anything is asked', async ([, file, code]) => {
  await using world = await startWorld();

  const { exitCode, stderr } = await world.run(['--report', file, '--confirm']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    `cannot be written: ${code}\n  what to do: Name a file that does not exist yet, in a folder that you may write to.\n`,
  );
  expect(world.sandbox.requests.all).toEqual([]);
});

test('a wrong token is one sentence', async () => {
  await using world = await startWorld();
  world.sandbox.store.revokeToken(TOKEN);

  const { exitCode, stdout, stderr } = await world.run([]);

  expect(exitCode).toBe(1);
  expect(stdout.match(LINE)).toBeNull();
  expect(stderr).toMatch(
    /^error: asking who is calling: the origin answered 403 .*\n {2}what to do: Check the token .*\n {2}code: origin\.forbidden\n$/,
  );
});

test('a signal ends it between two questions, without a report', async () => {
  await using world = await startWorld();
  const stopping = new AbortController();
  world.sandbox.before(12, () => stopping.abort());

  const { exitCode, stdout, stderr } = await world.run(['--report', 'answers.txt', '--confirm'], {
    signal: stopping.signal,
  });

  const count = stdout.match(LINE)?.length ?? 0;
  expect(exitCode).toBe(75);
  expect(count).toBeGreaterThan(3);
  expect(stderr).toBe(
    `Stopped after ${count} of ${QUESTIONS.length} questions. Nothing was changed at the origin, and no report was written.\n`,
  );
  expect(existsSync(world.report)).toBe(false);
});

test('an origin that is busy in the middle ends it, and no answer is made up', async () => {
  await using world = await startWorld();
  world.sandbox.answerInstead(15, { status: 503, body: '' });

  const { exitCode, stderr } = await world.run(['--report', 'answers.txt', '--confirm']);

  expect(exitCode).toBe(75);
  expect(stderr).toContain('the origin answered 503');
  expect(existsSync(world.report)).toBe(false);
});

test.for([
  ['before an answer', 'reset'],
  ['in an answer', 'half'],
] as const)('a connection that is cut %s to the long query string is an answer to that question', async ([, how]) => {
  await using world = await startWorld((request, response) => {
    if (!request.path.includes('y'.repeat(17_000))) return false;
    if (how === 'half') response.writeHead(200, { 'Content-Length': 9 }).write('half');
    response.destroy();
    return true;
  });

  const { exitCode, stdout } = await world.run([]);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/differs {5}With which status is .* 16 KB refused\? no answer; rowsync assumes: 414 \(/);
  expect(stdout.match(LINE)).toHaveLength(QUESTIONS.length);
});

test('a connection that is cut in any other question ends it', async () => {
  await using world = await startWorld();
  world.sandbox.answerInstead(15, 'reset');

  expect((await world.run([])).exitCode).toBe(75);
});

test('an answer that cannot be read is not repeated', async () => {
  let count = 0;
  await using world = await startWorld((_request, response) => {
    count += 1;
    if (count < 7) return false;
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(`{"${CANARY}": `);
    return true;
  });

  const { stdout, stderr } = await world.run([]);

  expect(stdout).toContain('the answer is not one of the known ones');
  expect(`${stdout}${stderr}`).not.toContain(CANARY);
});

test('for a program: the answers, and where they were written', async () => {
  await using world = await startWorld();

  const { exitCode, stdout } = await world.run(['--json', '--report', 'answers.txt', '--confirm']);

  const printed = JSON.parse(stdout) as { readonly answers: readonly object[] };
  expect(exitCode).toBe(0);
  expect(printed).toMatchObject({ exitCode: 0, report: world.report });
  expect(printed.answers).toHaveLength(QUESTIONS.length);
  expect(printed.answers).toContainEqual({
    question: 'Are ETags strong or weak?',
    outcome: 'as assumed',
    answer: 'strong',
    durationMs: expect.any(Number) as number,
  });
});

test('a table is named, and one that is not there is refused', async () => {
  await using world = await startWorld();

  expect((await world.run([`${CANARY} table`])).exitCode).toBe(0);
  const { exitCode, stderr } = await world.run(['Nothing']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('The database has no table of this name');
});

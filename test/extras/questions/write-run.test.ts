/**
 * `rowsync contract --write-in` as a user types it: what it says and asks before it writes, and that nothing of it is
 * left.
 */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { WRITE_REQUESTS_MAX } from '../../../src/extras/questions/write-run.ts';
import { ROWS_MAX, WRITING_QUESTIONS } from '../../../src/extras/questions/writing.ts';
import { LATER, MARKER, NOTHING, startWriteWorld, TABLE } from './write-world.ts';

vi.setConfig({ testTimeout: 60_000 });

const LINE = /^(?:as assumed|differs {3}|not asked ) {2}/gm;
const WRITES = /^(?:create|update|upsert|delete)$/;

test('asks all questions, is answered as assumed, and leaves no row, and none in the recycle bin', async () => {
  await using world = await startWriteWorld();

  const { exitCode, stdout, stderr } = await world.write(['--confirm', '--report', 'answers.txt']);

  expect(exitCode).toBe(0);
  expect(stdout.match(LINE)).toHaveLength(WRITING_QUESTIONS.length);
  expect(stdout).toContain(`${WRITING_QUESTIONS.length} as assumed, 0 differences, 0 not asked\n`);
  expect(stdout).toContain(
    `at most ${WRITE_REQUESTS_MAX} requests, one after the other, which write in one table alone`,
  );
  expect(stderr).toMatch(/^7 rows deleted, none left$/m);
  expect(await world.left()).toEqual(NOTHING);
  const { all } = world.sandbox.requests;
  expect(all.length).toBeLessThanOrEqual(WRITE_REQUESTS_MAX);
  expect(new Set(all.filter(({ method }) => WRITES.test(method)).map(({ table }) => table)).size).toBe(1);
  expect(world.sandbox.store.rows('Canary table')).toHaveLength(1);
  // The ids that are purged were all made by it.
  const purged = all
    .filter(({ method }) => method === 'delete')
    .flatMap(({ path }) => path.match(/(?<=id=)\d+/g) ?? []);
  expect(purged.filter((id) => Number(id) > ROWS_MAX)).toEqual([]);
});

test('a report of it has no value, no name and no secret', async () => {
  await using world = await startWriteWorld();

  await world.write(['--confirm', '--report', 'answers.txt']);

  const written = readFileSync(world.report, 'utf8');
  const { token, users, url } = world.sandbox;
  const secrets = [token, 'Canary', 'Contract Test', new URL(url).host, ...users.map(({ email }) => email)];
  expect(written.match(LINE)).toHaveLength(WRITING_QUESTIONS.length);
  expect(secrets.filter((text) => written.toLowerCase().includes(text.toLowerCase()))).toEqual([]);
});

test('says what it is going to do, what cannot be taken back and how it is cleaned up, and asks', async () => {
  await using world = await startWriteWorld();

  const no = await world.write([], { typed: ['no'] });
  const requests = world.sandbox.requests.all.filter(({ method }) => WRITES.test(method));
  const yes = await world.write([], { typed: ['yes'] });

  expect([no.exitCode, requests]).toEqual([3, []]);
  expect(no.stderr).toMatch(
    new RegExp(
      `In "Contract Test", which has no row now, up to ${ROWS_MAX} rows are made, .* rowsync contract [0-9a-f]{12} in the column "Canary name"`,
    ),
  );
  expect(no.stderr).toContain('numbers of an Autonumber are used up');
  expect(no.stderr).toContain(
    'If rowsync is killed, rowsync contract --clean-up "Contract Test" deletes the rows that are left.\n',
  );
  expect(no.stderr).toContain('Write in "Contract Test"? (yes or no) [no]: ');
  expect(no.stderr).toContain('Nothing was written. Read the lines, then run it again with --confirm.\n');
  expect(yes.exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

test.for([
  ['a script', {}],
  ['--json', { typed: ['yes'] }],
] as const)('%s needs --confirm', async ([name, given]) => {
  await using world = await startWriteWorld();

  const { exitCode } = await world.write(name === '--json' ? ['--json'] : [], given);

  expect(exitCode).toBe(3);
  expect(world.sandbox.requests.all.filter(({ method }) => WRITES.test(method))).toEqual([]);
});

test('a table with a row that no run made is refused, also with --confirm', async () => {
  await using world = await startWriteWorld({ ...TABLE, rows: [{ 'Canary name': 'Ada', 'Canary code': 'a' }] });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(2);
  expect(stderr).toContain('The table has rows that this command did not make');
  expect(await world.left()).toEqual({ ...NOTHING, rows: 1 });
});

test('a table without a column for the marker is refused', async () => {
  await using world = await startWriteWorld({
    name: 'Contract Test',
    columns: [
      { name: 'Id text', type: 'Text', options: ['Unique'] },
      { name: 'Short', type: 'Text', width: 20 },
    ],
  });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(2);
  expect(stderr).toContain('no column for the marker');
});

test('a Required column that cannot be filled leaves the questions that need no row, and is named before', async () => {
  const columns = [...TABLE.columns, { name: 'Canary agent', type: 'User', options: ['Required'] }] as const;
  await using world = await startWriteWorld({ ...TABLE, columns });

  const { exitCode, stdout, stderr } = await world.write();

  expect(exitCode).toBe(0);
  expect(stderr).toContain(
    'there is no value for the Required "Canary agent" (User): questions that need a row are not asked',
  );
  expect(stdout).toContain('not asked   How is a new row answered? a Required column cannot be filled (');
  expect(stdout).toContain(
    'not asked   How is an update that changes nothing answered? no row could be made that is found again (',
  );
  expect(stdout).toContain('as assumed  How is a new row with an unknown column answered? 400, code 3100 (');
  expect(stdout).not.toContain('Canary agent');
  expect(stdout.match(LINE)).toHaveLength(WRITING_QUESTIONS.length);
  expect(await world.left()).toEqual(NOTHING);
});

test('a table with the marker alone is asked what it can be asked, with a reason for the rest', async () => {
  await using world = await startWriteWorld({ name: 'Contract Test', columns: [{ name: 'Name', type: 'Text' }] });

  const { exitCode, stdout } = await world.write();

  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    'not asked   What becomes of null in a Checkbox column? the table has no Checkbox column to write to (',
  );
  expect(stdout).toContain('the table has no Unique Text column to write to');
  expect(stdout).toContain('as assumed  How is a new row answered? 201, key as text (');
  expect(await world.left()).toEqual(NOTHING);
});

test('Required columns of every type that has a value are filled, Unique ones and the key too', async () => {
  const types = ['Multiline', 'Checkbox', 'Duration', 'Date', 'Time', 'Timestamp', 'Phone', 'EMail', 'URL'] as const;
  await using world = await startWriteWorld({
    name: 'Contract Test',
    key: 'Key',
    columns: [
      { name: 'Key', type: 'Text', width: 60 },
      { name: 'Name', type: 'Text' },
      { name: 'Number', type: 'Numeric', options: ['Required', 'Unique'] },
      ...types.map((type) => ({ name: `A ${type}`, type, options: ['Required'] as const })),
    ],
  });

  const { exitCode, stdout } = await world.write();

  expect(exitCode).toBe(0);
  expect(stdout).toContain('as assumed  How is a new row answered? 201, key as text (');
  expect(await world.left()).toEqual(NOTHING);
});

test('an origin whose user may not add rows is asked the rest', async () => {
  await using world = await startWriteWorld({ ...TABLE, allowAdd: false });

  const { exitCode, stdout } = await world.write();

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/differs {5}How is a new row answered\? 403, code \d+; rowsync assumes: 201, key as text \(/);
  expect(await world.left()).toEqual(NOTHING);
});

test('a wrong token is one sentence', async () => {
  await using world = await startWriteWorld();
  world.sandbox.store.revokeToken(world.sandbox.token);

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^error: asking who is calling: the origin answered 403 .*\n {2}what to do: Check the token .*\n {2}code: origin\.forbidden\n$/,
  );
});

test('options that exclude each other are refused, and there may be nothing to clean up', async () => {
  await using world = await startWriteWorld();

  const both = await world.write(['--clean-up', 'Contract Test']);
  const report = await world.cleanUp({}, ['--report', 'answers.txt']);
  const nothing = await world.cleanUp();

  expect([both.exitCode, report.exitCode]).toEqual([2, 2]);
  expect(report.stderr).toContain('--clean-up asks nothing that --report could write');
  expect([nothing.exitCode, nothing.stderr]).toEqual([0, '0 rows deleted, none left\n']);
});

test('a program gets one JSON document of every end', async () => {
  await using world = await startWriteWorld();
  world.sandbox.answerInstead(3, { status: 503, body: '' }, { method: 'select' });
  const stopping = new AbortController();
  world.sandbox.before(1, () => stopping.abort(), { method: 'create' });

  const unasked = await world.write(['--json']);
  const stopped = await world.write(['--json', '--confirm'], { signal: stopping.signal });
  const cleaned = await world.cleanUp({}, ['--json']);

  const documents = [unasked, stopped, cleaned].map(({ stdout }) => JSON.parse(stdout) as unknown);
  expect(documents).toEqual([
    { exitCode: 3, answers: [], report: null },
    { exitCode: 75, answers: [], report: null },
    { exitCode: 0, message: '1 row deleted, none left' },
  ]);
  expect([unasked, stopped, cleaned].map(({ exitCode }) => exitCode)).toEqual([3, 75, 0]);
});

test('Ctrl-C deletes the rows before it ends', async () => {
  await using world = await startWriteWorld();
  const stopping = new AbortController();
  world.sandbox.before(20, () => stopping.abort());

  const { exitCode, stderr } = await world.write(['--confirm', '--report', 'answers.txt'], { signal: stopping.signal });

  expect(exitCode).toBe(75);
  expect(stderr).toContain(
    'Deleting the rows that were made. If this does not finish, rowsync contract --clean-up "Contract Test" deletes them.\n',
  );
  expect(stderr).toMatch(/\nStopped after \d+ of \d+ questions, and no report was written\.\n$/);
  expect(await world.left()).toEqual(NOTHING);
});

test.for(['create', 'upsert'])('a row whose answer to %s is lost is found and deleted', async (method) => {
  await using world = await startWriteWorld();
  world.sandbox.faults.replace({ faults: [{ fault: 'resetAfter', method, nth: 2 }] });

  expect((await world.write()).exitCode).toBe(75);
  // A refused row may still arrive as far as the command can know.
  expect((await world.cleanUp({ clock: LATER })).exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

test('a request that never arrived may still do so: a clean-up after two minutes is named', async () => {
  await using world = await startWriteWorld();
  world.sandbox.faults.replace({ faults: [{ fault: 'resetBefore', method: 'create', nth: 1 }] });

  const first = await world.write();
  world.sandbox.store.insert('Contract Test', {
    'Canary name': MARKER,
    'Canary code': 'late',
  });
  const later = await world.cleanUp({ clock: LATER });

  expect(first.exitCode).toBe(75);
  expect(first.stderr).toContain(
    'A request that left less than two minutes ago was not answered, and the origin or a proxy may still carry it out: ' +
      'run rowsync contract --clean-up "Contract Test" in ',
  );
  expect([later.exitCode, later.stderr]).toEqual([0, '1 row deleted, none left\n']);
  expect(await world.left()).toEqual(NOTHING);
});

test('a clean-up that fails says so, and the next run finishes it first', async () => {
  await using world = await startWriteWorld();
  world.sandbox.faults.replace({ faults: [{ fault: 'unavailable', method: 'select', nth: 2 }] });

  const first = await world.write();
  const rows = world.rows();
  const second = await world.write();

  expect([first.exitCode, rows]).toEqual([75, 7]);
  expect(first.stderr).toMatch(
    /The rows that were made may be left \(.*503.*\)\. .* Run rowsync contract --clean-up "Contract Test"; or delete by hand the rows of .*\n$/,
  );
  expect(second.exitCode).toBe(0);
  expect(second.stderr).toMatch(
    /^In "Contract Test", which has 7 rows of a run that was cut short, [^]*\n7 rows deleted, none left\n/,
  );
  expect(await world.left()).toEqual(NOTHING);
});

test('rows that may not be deleted are said, with what to do', async () => {
  await using world = await startWriteWorld();
  world.sandbox.answerInstead(2, { status: 403, body: '{}' }, { method: 'delete' });
  world.sandbox.answerInstead(3, { status: 403, body: '{}' }, { method: 'delete' });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(3);
  expect(stderr).toMatch(
    /^0 rows deleted\. Rows with these ids of the table "Contract Test" could not be deleted, .*: \d.*\. Delete by hand the rows that this run made\.$/m,
  );
  expect((await world.cleanUp()).exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

test('a run asks nothing while rows of an earlier one cannot be deleted', async () => {
  await using world = await startWriteWorld();
  world.sandbox.store.insert('Contract Test', { 'Canary name': MARKER, 'Canary code': 'left' });
  world.sandbox.answerInstead(1, { status: 403, body: '{}' }, { method: 'delete' });

  const { exitCode, stdout } = await world.write();

  expect([exitCode, stdout.match(LINE)]).toEqual([3, null]);
  expect((await world.cleanUp()).stderr).toBe('1 row deleted, none left\n');
});

test.for(['rowsync contract', 'rowsync contract 0123456789a', ` ${MARKER}`, 'Rowsync contract 0123456789ab'])(
  'a row with the text "%s" is of no run, and stays',
  async (text) => {
    await using world = await startWriteWorld();
    world.sandbox.store.insert('Contract Test', { 'Canary name': text, 'Canary code': 'other' });

    const written = await world.write();
    const cleaned = await world.cleanUp();

    expect([written.exitCode, cleaned.stderr]).toEqual([2, '0 rows deleted, none left\n']);
    expect(await world.left()).toEqual({ ...NOTHING, rows: 1 });
  },
);

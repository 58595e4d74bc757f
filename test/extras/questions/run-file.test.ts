/**
 * The run file of `rowsync contract --write-in`: whatever it says, nothing is deleted that is not of its run, and no row of the run is forgotten.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import {
  beginRunFile,
  cleanUp,
  cleanUpText,
  failedText,
  findRunFile,
  type RunFile,
} from '../../../src/extras/questions/run-file.ts';
import { NOTHING, startWriteWorld } from './write-world.ts';

vi.setConfig({ testTimeout: 60_000 });

type World = Awaited<ReturnType<typeof startWriteWorld>>;

/** A run file as a run would have written it, with what differs. */
function writeRunFile({ sandbox, runFile }: World, head: object = {}, lines: readonly string[] = []): void {
  const database = `${sandbox.url}/secure/api/v2/${sandbox.database}`;
  const place = { database, table: 'Canary table', tableName: 'Canary table', column: 'Title' };
  const whole = { ...place, marker: 'rowsync contract 0123456789ab', ...head };
  writeFileSync(runFile, [JSON.stringify(whole), ...lines, ''].join('\n'), { mode: 0o600 });
}

test.for<readonly [what: string, head: object, lines: readonly string[]]>([
  ['an empty marker', { marker: '' }, []],
  ['a marker that is shorter', { marker: 'rowsync contract' }, []],
  ['a marker that is longer', { marker: 'rowsync contract 0123456789abc' }, []],
  ['no table', { table: null }, []],
  ['a column that is none', { column: 4 }, []],
  ['a database that is none', { database: '' }, []],
  ['a line that is cut in the middle', {}, ['{"sentMs":', '{"made":[1]}']],
  ['a line that is none', {}, ['null']],
  ['another line', {}, ['{"other":1}']],
  ['a time that is none', {}, ['{"sentMs":"now"}']],
  ['an id that is a text', {}, ['{"made":["1"]}']],
  ['an id below one', {}, ['{"made":[0]}']],
  ['ids that are none', {}, ['{"made":1}']],
])('a run file with %s deletes nothing and is named', async ([, head, lines]) => {
  await using world = await startWriteWorld();
  writeRunFile(world, head, lines);

  const cleaned = await world.cleanUp();
  const written = await world.write();

  expect([cleaned.exitCode, written.exitCode]).toEqual([2, 2]);
  expect(cleaned.stderr).toMatch(/^error: .*replica\.db\.contract .*\n {2}what to do: .*\n {2}code: usage\.invalid\n$/);
  expect(world.sandbox.store.rows('Canary table')).toHaveLength(1);
  expect(existsSync(world.runFile)).toBe(true);
});

test.for<readonly [what: string, change: (path: string) => void]>([
  ['that others may read', (path) => chmodSync(path, 0o640)],
  [
    'that is a link',
    (path) => {
      renameSync(path, `${path}.other`);
      symlinkSync(`${path}.other`, path);
    },
  ],
])('a run file %s is not believed', async ([, change]) => {
  await using world = await startWriteWorld();
  writeRunFile(world, { marker: 'rowsync contract 0123456789ab' });
  change(world.runFile);

  const { exitCode, stderr } = await world.cleanUp();

  expect(exitCode).toBe(2);
  expect(stderr).toContain('cannot be used as a run file');
});

test('while a run works, neither a clean-up nor another run touches its rows or its file', async () => {
  await using world = await startWriteWorld();
  const others: unknown[] = [];
  const tryOthers = async (): Promise<void> => {
    for (const run of [world.cleanUp, world.write]) {
      const { exitCode, stderr } = await run();
      others.push([exitCode, /code: (.*)\n$/.exec(stderr)?.[1], existsSync(world.runFile)]);
    }
  };
  world.sandbox.before(1, tryOthers, { method: 'updated' });

  const { exitCode, stdout } = await world.write();

  expect(others).toEqual([
    [75, 'replica.inUse', true],
    [75, 'replica.inUse', true],
  ]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(' as assumed, 0 differences, 0 not asked\n');
  expect(await world.left()).toEqual(NOTHING);
});

test('a second run that a person agrees to later finds the first one at work', async () => {
  await using world = await startWriteWorld();
  let second: Awaited<ReturnType<World['write']>> | undefined;
  world.sandbox.before(1, async () => (second = await world.write([], { typed: ['yes'] })), { method: 'create' });

  await world.write();

  expect(second?.exitCode).toBe(75);
  expect(second?.stderr).toContain('Run it again, once at a time.');
  expect(await world.left()).toEqual(NOTHING);
});

test('a run whose file is gone makes no further row, and leaves none', async () => {
  await using world = await startWriteWorld();
  world.sandbox.before(1, () => rmSync(world.runFile), { method: 'updated' });

  const { exitCode, stderr } = await world.write();

  expect(exitCode).toBe(2);
  expect(stderr).toContain('The run file cannot be written, so no further row is made: ENOENT');
  expect(stderr).toContain(`Make ${world.runFile} writable.`);
  expect(await world.left()).toEqual(NOTHING);
});

test('a last line that was cut is taken off before another is written', async () => {
  await using world = await startWriteWorld();
  world.sandbox.answerInstead(2, { status: 503, body: '' }, { method: 'select' });
  await world.write();
  writeFileSync(world.runFile, `${readFileSync(world.runFile, 'utf8')}{"sentMs":17`);

  const { exitCode } = await world.cleanUp();

  expect(exitCode).toBe(0);
  expect(await world.left()).toEqual(NOTHING);
});

const SENT_MS = 1_000_000;
const MARKER = 'rowsync contract 0123456789ab';

/** A run file with what was noted, and an origin that shows these rows to one read after the other. */
function startCleanUp(note: (runFile: RunFile) => void, ...reads: readonly (readonly object[])[]) {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-run-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'replica.db.contract');
  const head = { database: 'd', table: 't', tableName: 'Contract Test', column: 'Name', marker: MARKER };
  note(beginRunFile(path, head));
  const paths: string[] = [];
  const call = (asked: string) => {
    paths.push(asked);
    const rows = asked.includes('/select.json')
      ? reads[paths.filter((each) => each.includes('/select.json')).length - 1]
      : [];
    return Promise.resolve({ status: 200, headers: { get: () => null }, text: JSON.stringify(rows) });
  };
  const clean = async (nowMs: number) => {
    const runFile = must(findRunFile(path, 'd'), 'the run file is there');
    const [line, exitCode] = cleanUpText(await cleanUp(runFile, { call }, nowMs), runFile);
    return { line, exitCode, isThere: existsSync(path) };
  };
  return { path, paths, clean };
}

function row(id: number, text = `${MARKER} 1`): object {
  return { '@row.id': id, Name: text };
}

test('a row that was made and is never shown keeps the run file, and is named with the way out', async () => {
  const { path, clean } = startCleanUp(
    (runFile) => {
      runFile.noteSent(SENT_MS);
      runFile.noteAnswer([4, 5]);
    },
    [row(4)],
    [],
  );

  const { line, exitCode, isThere } = await clean(SENT_MS);

  expect([exitCode, isThere]).toEqual([3, true]);
  expect(line).toBe(
    '1 row deleted. The origin said that it made rows with these ids in the table "Contract Test", but does not show them: 5. ' +
      `Delete by hand the rows that this run made, and run rowsync contract --clean-up. If none of them is left, remove ${path}.`,
  );
});

test('a row that was shown before it was deleted is gone, also for a later clean-up', async () => {
  const { clean } = startCleanUp(
    (runFile) => {
      runFile.noteSent(SENT_MS);
      runFile.noteAnswer([4, 5]);
    },
    [row(4), row(5)],
    [row(5)],
    [],
  );

  const first = await clean(SENT_MS);
  const second = await clean(SENT_MS);

  expect([first.exitCode, first.isThere]).toEqual([3, true]);
  expect(first.line).toContain(
    '1 row deleted. Rows with these ids of the table "Contract Test" could not be deleted, or have no marker: 5. ',
  );
  expect(second).toEqual({ line: '0 rows deleted, none left', exitCode: 0, isThere: false });
});

test('a row of somebody else whose id the origin named is not deleted, and the run file may be removed', async () => {
  const { path, paths, clean } = startCleanUp(
    (runFile) => {
      runFile.noteSent(SENT_MS);
      runFile.noteAnswer([4]);
    },
    [row(4, 'Ada')],
  );

  const { line, exitCode } = await clean(SENT_MS);

  expect(exitCode).toBe(3);
  expect(paths.filter((each) => each.includes('delete'))).toEqual([]);
  expect(line).toContain(`If none of them is left, remove ${path}.`);
});

test('an unanswered request keeps the run file for two minutes, whatever rows are there meanwhile', async () => {
  const { clean } = startCleanUp((runFile) => runFile.noteSent(SENT_MS), [row(4), row(5)], [], [], []);

  const young = await clean(SENT_MS + 20_000);
  const still = await clean(SENT_MS + 119_999);
  const old = await clean(SENT_MS + 120_000);

  expect([young.exitCode, young.isThere, still.exitCode, old]).toEqual([
    75,
    true,
    75,
    { line: '0 rows deleted, none left', exitCode: 0, isThere: false },
  ]);
  expect(young.line).toBe(
    '2 rows deleted. A request that left less than two minutes ago was not answered, and the origin or a proxy may still carry it out: ' +
      'run rowsync contract --clean-up in 1 min 40 s.',
  );
});

test('a run file that cannot be removed is said, and that no row is left', async () => {
  const { path } = startCleanUp(() => undefined);
  const runFile = must(findRunFile(path, 'd'), 'the run file is there');
  rmSync(path);
  mkdirSync(path);
  const call = () => Promise.resolve({ status: 200, headers: { get: () => null }, text: '[]' });

  const [line, exitCode] = cleanUpText(await cleanUp(runFile, { call }, SENT_MS), runFile);

  expect(exitCode).toBe(3);
  expect(line).toContain(`0 rows deleted, none left. Remove ${path}: `);
});

test.for<readonly [what: string, status: number, rows: unknown, exitCode: number, said: string]>([
  ['500 rows', 200, Array.from({ length: 500 }, (_, id) => row(id + 1)), 3, 'The table has 500 rows or more). Delete'],
  ['a column that was renamed', 400, {}, 3, 'refused (400)). '],
  ['rows without an id', 200, [{}], 75, 'not one of the known ones). '],
])('a clean-up that fails because of %s says what to do by hand', async ([, status, rows, exitCode, said]) => {
  const { path } = startCleanUp(() => undefined);
  const runFile = must(findRunFile(path, 'd'), 'the run file is there');
  const call = () => Promise.resolve({ status, headers: { get: () => null }, text: JSON.stringify(rows) });

  const failed = await cleanUp(runFile, { call }, SENT_MS).catch((thrown: unknown) => failedText(thrown, runFile));

  expect(failed).toEqual([expect.stringContaining(said), exitCode]);
  expect(failed).toEqual([
    expect.stringContaining(
      `or delete by hand the rows of the table "Contract Test" whose column "Name" begins with "${MARKER}", and remove ${path}.`,
    ),
    exitCode,
  ]);
  expect(existsSync(path)).toBe(true);
});

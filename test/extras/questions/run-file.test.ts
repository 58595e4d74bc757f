/**
 * The run file of `rowsync contract --write-in`: whatever it says, nothing is deleted that is not of its run, and no row of the run is forgotten.
 */
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { NOTHING, startWriteWorld } from './write-world.ts';

vi.setConfig({ testTimeout: 60_000 });

type World = Awaited<ReturnType<typeof startWriteWorld>>;

/** A run file as a run would have written it, with what differs. */
function writeRunFile({ sandbox, runFile }: World, head: object = {}, lines: readonly string[] = []): void {
  const database = `${sandbox.url}/secure/api/v2/${sandbox.database}`;
  const whole = { database, table: 'Canary table', column: 'Title', marker: 'rowsync contract 0123456789ab', ...head };
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
  expect(stderr).toContain(`Make it possible to write ${world.runFile}`);
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

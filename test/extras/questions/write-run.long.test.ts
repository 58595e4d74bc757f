/**
 * `rowsync contract --write-in`, interrupted at every request in every way: nothing of it is left once the clean-up is
 * done.
 */
import { expect, test, vi } from 'vitest';
import { startRowsync } from '../../support/child.ts';
import { LATER, NOTHING, startWriteWorld } from './write-world.ts';

vi.setConfig({ testTimeout: 300_000 });

/** The first request that writes, the last one before the clean-up, and the last one of it. */
const [FIRST, LAST, END] = [6, 50, 53];

/** Every one of them. */
const EVERY = Array.from({ length: END - FIRST + 1 }, (_, index) => FIRST + index);

test('these are all requests of a run', async () => {
  await using world = await startWriteWorld();

  await world.write();

  const methods = world.sandbox.requests.all.map(({ method }) => method);
  expect(methods.indexOf('create') + 1).toBe(FIRST);
  expect(methods.slice(LAST)).toEqual(['select', 'delete', 'select']);
});

test('Ctrl-C at any request deletes the rows before it ends', async () => {
  await using world = await startWriteWorld();
  for (const nth of EVERY.filter((number) => number <= LAST)) {
    const stopping = new AbortController();
    world.sandbox.before(nth, () => stopping.abort());

    const { exitCode, stderr } = await world.write(['--confirm'], { signal: stopping.signal });

    expect([nth, exitCode, await world.left()]).toEqual([nth, 75, NOTHING]);
    expect(stderr).toContain(
      'Deleting the rows that were made. If this does not finish, rowsync contract --clean-up "Contract Test" deletes them.\n',
    );
  }
});

test.for(['resetAfter', 'resetBefore', 'truncated', 'html'] as const)('%s at any request', async (fault) => {
  await using world = await startWriteWorld();
  for (const nth of EVERY) {
    world.sandbox.faults.replace({ faults: [{ fault, nth }] });

    await world.write();
    const rows = world.rows();
    const { exitCode } = await world.cleanUp({ clock: LATER });

    const isCleanedUp = nth > LAST || rows === 0;
    expect([nth, exitCode, isCleanedUp, await world.left()]).toEqual([nth, 0, true, NOTHING]);
  }
});

// A process for each takes a second; what is lost at every request is above.
test('kill -9 at every third request: the next command cleans up', async () => {
  await using world = await startWriteWorld();
  for (const nth of EVERY.filter((number) => number % 3 === 0)) {
    const args = ['contract', '--write-in', 'Contract Test', '--confirm'];
    const child = startRowsync(args, { folder: world.folder });
    world.sandbox.before(nth, () => child.process.kill('SIGKILL'));
    await child.end;
    // What it had sent is carried out before the next request.
    const { exitCode } = await world.cleanUp({ clock: LATER });

    expect([nth, exitCode, await world.left()]).toEqual([nth, 0, NOTHING]);
  }
});

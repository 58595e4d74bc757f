/**
 * Sinks beside the work of the daemon: each sends soon after a change, waits ever longer after failures, and ends when
 * it is asked to.
 */
import { expect, test } from 'vitest';
import { silentLogger, type Logger } from '../../../src/base/log.ts';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import { startSinks } from '../../../src/extras/postgres/runner.ts';
import { readSinkStatus } from '../../../src/extras/shared/sinks.ts';
import { testClock } from '../../support/clock.ts';
import { noPostgres, startPostgres } from '../../support/postgres.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { replicaCells, sinkSettings, targetCells } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

const CLOSED: PgAddress = {
  host: '127.0.0.1',
  port: 1,
  database: 'none',
  user: 'me',
  password: null,
  sslMode: 'disable',
  sslRoot: null,
  sslCert: null,
  sslKey: null,
};

/** Sinks of a pulled replica on a clock that the test moves; `events` is what was logged since it was last read. */
async function startWorld(sinks: readonly ReturnType<typeof sinkSettings>[], tables = [NOTE]) {
  const fixture: Fixture = await startFixture({ tables });
  await fixture.pull();
  const clock = testClock({ sleepsAdvance: false });
  const logged: { event: string; [fact: string]: unknown }[] = [];
  const note = (event: string, facts?: object): void => void logged.push({ event, ...facts });
  const log: Logger = { ...silentLogger, info: note, warn: note };
  const running = startSinks(sinks, { replica: fixture.replica, clock, log });
  return {
    fixture,
    clock,
    running,
    events: () => logged.splice(0),
    /** Lets time pass until it waits again. */
    elapse: async (ms: number) => {
      clock.advance(ms);
      await clock.sleeper();
    },
    [Symbol.asyncDispose]: async () => {
      await running.stop();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

test('a server that cannot be reached is tried again after ever longer waits, and a stop ends that', async () => {
  await using world = await startWorld([sinkSettings(CLOSED)]);
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await world.clock.sleeper();
    const failed = world.events();
    expect(failed).toMatchObject([{ event: 'sink.failed', sink: 'warehouse', code: 'sink.unreachable', attempt }]);
    waits.push(world.clock.waits.at(-1) ?? 0);
    world.clock.advance(waits.at(-1) ?? 0);
  }
  await world.running.stop();
  world.events();
  world.clock.advance(3_600_000);

  expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
  expect(waits[2]).toBeGreaterThan(waits[1] ?? 0);
  expect(world.events()).toEqual([]);
  expect(readSinkStatus(world.fixture.replica)).toMatchObject([{ problem: { code: 'sink.unreachable' } }]);
});

test('without sinks the replica forgets the former ones', async () => {
  await using world = await startWorld([sinkSettings(CLOSED)]);
  await world.clock.sleeper();
  await world.running.stop();
  const before = readSinkStatus(world.fixture.replica).length;
  const { replica } = world.fixture;

  await startSinks([], { replica, clock: world.clock, log: silentLogger }).stop();

  expect(before).toBe(1);
  expect(readSinkStatus(replica)).toEqual([]);
});

test.skipIf(noPostgres !== null)(
  'a change is sent within a second, a quiet sink is left in peace, and a held table is said once',
  { timeout: 60_000 },
  async () => {
    await using server = await startPostgres();
    const address = await server.database();
    await using world = await startWorld([sinkSettings(address)]);
    const { fixture } = world;
    const level = async (): Promise<void> =>
      expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));

    await world.clock.sleeper();
    const first = world.events();
    await level();
    await world.elapse(1_000);
    const quiet = world.events();
    fixture.sandbox.store.update('Note', 1, { Title: 'later' });
    await fixture.pull();
    await world.elapse(1_000);
    const sent = world.events();
    await level();
    await server.rows(address, `ALTER TABLE crm."Note" ADD CONSTRAINT theirs CHECK ("Title" <> 'bad')`);
    fixture.sandbox.store.update('Note', 1, { Title: 'bad' });
    await fixture.pull();
    await world.elapse(1_000);
    await world.elapse(31_000);
    const held = world.events().map(({ event }) => event);
    const admin = { ...address, database: 'postgres' };
    await server.rows(admin, `ALTER DATABASE ${address.database} ALLOW_CONNECTIONS false`);
    await server.cut(address);
    fixture.sandbox.store.update('Note', 1, { Title: 'good' });
    await fixture.pull();
    await world.elapse(1_000);
    const failed = world.events();
    await server.rows(admin, `ALTER DATABASE ${address.database} ALLOW_CONNECTIONS true`);
    await world.elapse(600_000);
    await server.rows(address, `ALTER TABLE crm."Note" DROP CONSTRAINT theirs`);
    await world.elapse(900_000);
    const recovered = world.events().map(({ event }) => event);

    expect(first).toEqual([{ event: 'sink.sent', sink: 'warehouse', rowCount: 6 }]);
    expect(quiet).toEqual([]);
    expect(sent).toEqual([{ event: 'sink.sent', sink: 'warehouse', rowCount: 1 }]);
    expect(held.filter((event) => event === 'guard.waits')).toHaveLength(1);
    expect(failed).toMatchObject([{ event: 'sink.failed', attempt: 1 }]);
    expect(recovered).toContain('sink.recovered');
    await level();
  },
);

/**
 * Sinks on the command line and beside a daemon, as child processes against a real server.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import { runRowsync, startRowsync } from '../../support/child.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { replicaCells, targetCells } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

let server: PostgresServer;

/** A text with this in it. */
function containing(part: string): unknown {
  return expect.stringContaining(part);
}

/** Writes a configuration with a sink beside the replica of a fixture; returns its path. */
function configure({ folder, path, sandbox }: Fixture, { port, database }: PgAddress): string {
  writeFileSync(join(folder, 'token'), sandbox.token, { mode: 0o600 });
  writeFileSync(join(folder, 'warehouse.url'), `postgresql://rowsync@127.0.0.1:${port}/${database}\n`, { mode: 0o600 });
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      origin: { url: sandbox.url, database: sandbox.database, tokenFile: 'token' },
      replica: { path },
      schedule: { sync: '* * * * *' },
      sinks: { warehouse: { postgres: { urlFile: 'warehouse.url', schema: 'crm' } } },
    }),
  );
  return file;
}

describe.skipIf(noPostgres !== null)('rowsync sink', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('checks, sends, verifies, mends, grants and drops', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const config = configure(fixture, address);
    fixture.replica.close();
    const run = (...args: string[]) => runRowsync(['-c', config, ...args], { folder: fixture.folder });
    expect(await run('pull')).toMatchObject({ exitCode: 0 });
    expect(await run('sink', 'check')).toMatchObject({
      exitCode: 0,
      stdout: containing('every right that is needed'),
    });
    expect(await run('sink', 'send')).toMatchObject({
      exitCode: 0,
      stdout: containing('1 table, 6 rows loaded'),
    });
    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
    for (const command of ['load', 'verify']) {
      expect(await run('sink', command, 'Notes')).toMatchObject({
        exitCode: 2,
        stderr: containing('warehouse gets no table Notes (did you mean Note?)'),
      });
    }
    expect(await run('sink')).toMatchObject({ exitCode: 0, stdout: containing('warehouse: up to date') });
    expect(await run('status')).toMatchObject({ exitCode: 0, stdout: containing('warehouse: up to date') });
    expect(await run('sink', 'verify')).toMatchObject({
      exitCode: 0,
      stdout: containing('Every cell matches the replica'),
    });

    await server.rows(
      address,
      `UPDATE crm."Note" SET "Title" = 'x' WHERE _id = 3; DELETE FROM crm."Note" WHERE _id = 6`,
    );
    expect(await run('sink', 'verify')).toMatchObject({ exitCode: 3, stdout: containing('3, 6') });
    expect(await run('sink', 'load', 'Note')).toMatchObject({ exitCode: 0 });
    expect(await run('sink', 'verify')).toMatchObject({ exitCode: 0 });

    await server.rows(
      address,
      `ALTER TABLE crm."Note" ADD CONSTRAINT theirs CHECK (_id <> 3) NOT VALID; UPDATE crm."Note" SET "Title" = 'x' WHERE _id = 2`,
    );
    const held = await run('sink', 'load');
    expect(held.exitCode).toBe(3);
    expect(held.stdout).toMatch(/^Note: PostgreSQL: .*theirs.*\n {2}what to do: Drop the constraint/m);
    await server.rows(address, `ALTER TABLE crm."Note" DROP CONSTRAINT theirs`);

    const grants = await run('sink', 'grants', 'analyst');
    await server.rows(address, `CREATE ROLE analyst; ${grants.stdout}`);
    expect(
      await server.rows(
        address,
        `SELECT has_table_privilege('analyst', 'crm."Note"', 'SELECT') AS reads, has_table_privilege('analyst', 'crm."Note"', 'UPDATE') AS writes`,
      ),
    ).toEqual([{ reads: true, writes: false }]);
    expect(await run('sink', 'drop')).toMatchObject({ exitCode: 3 });
    expect(await run('sink', 'drop', '--confirm')).toMatchObject({
      exitCode: 0,
      stdout: containing('Note'),
    });
    expect(await targetCells(server, address)).toEqual({});
  }, 120_000);

  test('a daemon sends by itself, also after the server was away', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const config = configure(fixture, address);
    fixture.replica.close();
    const daemon = startRowsync(['-c', config, 'daemon'], { folder: fixture.folder });
    const level = async (title: string): Promise<boolean> => {
      const cells = await targetCells(server, address).catch(() => ({}));
      return JSON.stringify(cells).includes(title);
    };
    try {
      await expect.poll(() => level('title 1'), { timeout: 20_000 }).toBe(true);
      await server.crash();
      fixture.sandbox.store.update('Note', 1, { Title: 'after the crash' });
      daemon.process.kill('SIGUSR1');
      await expect.poll(() => level('after the crash'), { timeout: 30_000, interval: 200 }).toBe(true);
      // A person asks for a load; the daemon has the replica, and does it.
      await server.rows(address, `UPDATE crm."Note" SET "Title" = 'not ours' WHERE _id = 2`);
      const asked = await runRowsync(['-c', config, 'sink', 'load', 'Note'], { folder: fixture.folder });
      expect(asked).toMatchObject({ exitCode: 0, stdout: containing('A daemon works on the replica') });
      await expect.poll(() => level('not ours'), { timeout: 20_000, interval: 200 }).toBe(false);
    } finally {
      daemon.process.kill('SIGTERM');
    }

    const { exitCode, stdout } = await daemon.end;

    expect(exitCode).toBe(0);
    expect(stdout).toContain('"event":"sink.sent"');
    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
  }, 120_000);
});

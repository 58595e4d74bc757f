/**
 * What is done with a sink by hand: the check of rights, the comparison of every cell, dropping tables, grants.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tableRules } from '../../../src/config/table-patterns.ts';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import { checkSink, dropSink, grantStatements, verifySink } from '../../../src/extras/postgres/maintenance.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { openWriter, sinkSettings, targetCells } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

let server: PostgresServer;

async function send(fixture: Fixture, address: PgAddress, options: Parameters<typeof openWriter>[2] = {}) {
  await using writer = await openWriter(fixture, address, options);
  return await writer.work();
}

describe.skipIf(noPostgres !== null)('a sink by hand', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    { rights: [], missing: ['the schema crm is missing, and the user may not make it'] },
    { rights: ['GRANT CREATE ON DATABASE $db TO $user'], missing: [] },
    { rights: ['CREATE SCHEMA crm'], missing: ['the user may not make tables in the schema crm'] },
    {
      rights: ['CREATE SCHEMA crm', 'GRANT USAGE ON SCHEMA crm TO $user'],
      missing: ['the user may not make tables in the schema crm'],
    },
    {
      rights: ['CREATE SCHEMA crm', 'GRANT CREATE ON SCHEMA crm TO $user'],
      missing: ['the user may not make tables in the schema crm'],
    },
    { rights: ['CREATE SCHEMA crm', 'GRANT USAGE, CREATE ON SCHEMA crm TO $user'], missing: [] },
    {
      rights: ['CREATE SCHEMA crm AUTHORIZATION $user', 'REVOKE TEMPORARY ON DATABASE $db FROM PUBLIC'],
      missing: ['the user may not make temporary tables'],
    },
  ])('the check of a user with $rights misses $missing', async ({ rights, missing }) => {
    const address = await server.database();
    const user = `of_${address.database}`;
    await server.rows(address, `CREATE ROLE ${user} LOGIN`);
    for (const right of rights)
      await server.rows(address, right.replace('$user', user).replace('$db', address.database));

    const found = await checkSink(sinkSettings({ ...address, user }));

    expect(found).toMatchObject({ isEncrypted: false, missing });
    const [{ count } = { count: '' }] = await server.rows(
      address,
      `SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('crm')`,
    );
    expect(count).toBe('0');
  });

  test('every row that differs is found, and nothing is changed', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await send(fixture, address);
    const equal = await verifySink(sinkSettings(address), fixture.path, []);
    await server.rows(
      address,
      `UPDATE crm."Note" SET "Count" = 1.0001 WHERE _id = 1; UPDATE crm."Note" SET "Body" = '' WHERE _id = 3;
       DELETE FROM crm."Note" WHERE _id = 2; INSERT INTO crm."Note" (_id, "Title") VALUES (99, 'theirs')`,
    );
    const before = await targetCells(server, address);

    const found = await verifySink(sinkSettings(address), fixture.path, ['Note']);

    const none = { table: 'Note', rowCount: 6, differing: [], differingCount: 0, skipped: null };
    expect(equal).toEqual([none]);
    expect(found).toEqual([
      { ...none, differing: expect.arrayContaining([1, 2, 3, 99]) as unknown, differingCount: 4 },
    ]);
    expect(await targetCells(server, address)).toEqual(before);
  });

  test('a row that is on its way is no difference, and one behind it still is', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await send(fixture, address);
    fixture.sandbox.store.update('Note', 1, { Title: 'on its way' });
    fixture.sandbox.store.delete('Note', 2);
    await fixture.pull();
    await server.rows(address, `UPDATE crm."Note" SET "Title" = 'theirs' WHERE _id = 3`);

    const [found] = await verifySink(sinkSettings(address), fixture.path, []);

    expect(found).toMatchObject({ rowCount: 5, differing: [3], differingCount: 1 });
  });

  test('a deleted row that is kept is no difference', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await send(fixture, address, { deletes: 'keep' });
    fixture.sandbox.store.delete('Note', 2);
    await fixture.pull();
    await send(fixture, address, { deletes: 'keep' });
    const settings = { ...sinkSettings(address), deletes: 'keep' } as const;
    const kept = await verifySink(settings, fixture.path, []);
    await server.rows(address, `UPDATE crm."Note" SET _deleted_at = now() WHERE _id = 4`);

    const marked = await verifySink(settings, fixture.path, []);

    expect(kept).toMatchObject([{ rowCount: 5, differing: [] }]);
    expect(marked).toMatchObject([{ rowCount: 5, differing: [4] }]);
  });

  test('tables that are not there, or lack a column, are named and not compared; others are left out', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Late' }, { ...NOTE, name: 'Out' }] });
    await fixture.pull();
    const address = await server.database();
    const tables = tableRules({ '*': {}, Out: false });
    await send(fixture, address, { tables: tableRules({ Note: {} }) });
    fixture.sandbox.store.addColumn('Note', { name: 'Rank', type: 'Numeric' });
    await fixture.pull();

    const found = await verifySink({ ...sinkSettings(address), tables }, fixture.path, []);

    expect(found.map(({ table, skipped }) => [table, skipped])).toEqual([
      ['Note', 'its columns are on their way'],
      ['Late', 'it is not there yet'],
    ]);
  });

  test('one table is dropped with what is known of it, and comes back with the next round', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    await fixture.pull();
    const address = await server.database();
    await send(fixture, address);

    const dropped = await dropSink(sinkSettings(address), ['Note']);
    const left = Object.keys(await targetCells(server, address));
    const known = await server.rows(address, 'SELECT name FROM crm._rowsync_tables');
    await send(fixture, address);

    expect([dropped, left, known]).toEqual([['Note'], ['Other'], [{ name: 'Other' }]]);
    expect(Object.keys(await targetCells(server, address)).toSorted()).toEqual(['Note', 'Other']);
  });

  test('all that rowsync made is dropped, and nothing of others', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    const nothing = await dropSink(sinkSettings(address), []);
    await send(fixture, address);
    await server.rows(address, 'CREATE TABLE crm.theirs (x int PRIMARY KEY); CREATE VIEW crm.seen AS SELECT 1');

    const dropped = await dropSink(sinkSettings(address), []);

    const standing = `SELECT relname AS name FROM pg_class WHERE relnamespace = 'crm'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1`;
    expect(nothing).toEqual([]);
    expect(await server.rows(address, standing)).toEqual([{ name: 'seen' }, { name: 'theirs' }]);
    expect(dropped).toEqual([
      'Note',
      '_rowsync_columns',
      '_rowsync_cursor',
      '_rowsync_tables',
      'sync_columns',
      'sync_files',
      'sync_replaced',
      'sync_status',
    ]);
  });

  test.each([
    { what: 'a name that is not there', names: ['Note', 'Nope'], code: 'usage.invalid' },
    { what: 'a table of others', names: ['theirs'], code: 'usage.invalid' },
    { what: 'a table under a view of others', names: ['Note'], code: 'sink.inTheWay' },
    { what: 'everything, with a view of others on it', names: [], code: 'sink.inTheWay' },
  ])('to drop $what drops nothing', async ({ names, code }) => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await send(fixture, address);
    await server.rows(
      address,
      'CREATE TABLE crm.theirs (x int PRIMARY KEY); CREATE VIEW crm.seen AS SELECT _id FROM crm."Note"',
    );

    await expect(dropSink(sinkSettings(address), names)).rejects.toMatchObject({ code });

    expect((await targetCells(server, address))['Note']).toHaveLength(6);
    expect(await server.rows(address, 'SELECT name FROM crm._rowsync_tables')).toEqual([{ name: 'Note' }]);
  });

  test('the grants let a role read the tables of now and of later, and write none', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await server.rows(address, `CREATE ROLE "an ""analyst" LOGIN`);
    await send(fixture, address);

    for (const statement of grantStatements(sinkSettings(address), 'an "analyst'))
      await server.rows(address, statement);
    fixture.sandbox.store.addTable({ ...NOTE, name: 'Later' });
    await fixture.pull();
    await send(fixture, address);

    const reader = { ...address, user: 'an "analyst' };
    for (const table of ['Note', 'Later'])
      expect(await server.rows(reader, `SELECT count(*)::int FROM crm."${table}"`)).toEqual([{ count: 6 }]);
    await expect(server.rows(reader, 'DELETE FROM crm."Note"')).rejects.toThrow('permission denied');
    await expect(server.rows(reader, 'CREATE TABLE crm.mine (x int)')).rejects.toThrow('permission denied');
  });
});

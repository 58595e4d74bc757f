/**
 * Tables about the replica in the target: status, columns, files, and the history.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HISTORY } from '../../support/history.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { openWriter } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';

let server: PostgresServer;

const WITH_HISTORY = { settings: { tableOptions: () => ({ sort: null, history: HISTORY }) } };

/** Columns of a table of the target, and the same of the view here. */
async function sameColumns(fixture: Fixture, address: PgAddress): Promise<void> {
  const columns = `"table", "column", origin_table, origin_column, type, state`;
  const there = await server.rows(
    address,
    `SELECT ${columns} FROM crm.sync_columns ORDER BY "table" COLLATE "C", "column" COLLATE "C"`,
  );
  expect(there).toEqual(fixture.rows(`SELECT ${columns} FROM sync_columns ORDER BY 1, 2`));
}

describe.skipIf(noPostgres !== null)('tables about the replica', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('are filled again where the target lost them', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address);
    await writer.work();
    await server.rows(address, 'DROP SCHEMA crm CASCADE');
    fixture.sandbox.store.update('Note', 1, { Title: 'news' });
    await fixture.pull();

    const first = await writer.work().catch((thrown: unknown) => thrown);
    await writer.work();

    expect(first).toMatchObject({ code: 'sink.refused' });
    await sameColumns(fixture, address);
    expect(await server.rows(address, 'SELECT "table", rows::int, state FROM crm.sync_status')).toEqual([
      { table: 'Note', rows: 6, state: 'steady' },
    ]);
  });

  test('forgotten values go, also of a table that was renamed meanwhile', async () => {
    await using fixture = await startFixture({ tables: [NOTE] }, WITH_HISTORY);
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address);
    fixture.sandbox.store.update('Note', 1, { Title: 'a secret' });
    await fixture.pull();
    await writer.work();
    fixture.sandbox.store.renameTable('Note', 'Memo');
    await fixture.pull();
    await writer.work();
    fixture.execute(`UPDATE _rowsync_history SET cells = '[]', origin_by = NULL WHERE row_id = 1;
      INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, cells)
        SELECT id, 1, 'forgotten', unixepoch(), NULL, NULL, 'decision', '{"column":null,"columnSeq":null,"entries":1}' FROM _rowsync_tables`);
    fixture.sandbox.store.update('Memo', 2, { Title: 'later' });
    await fixture.pull();

    const { tables } = await writer.work();

    expect(tables).toMatchObject([{ tableName: 'Memo', state: 'live' }]);
    const there = await server.rows(address, 'SELECT id::int, "table", kind, after FROM crm.sync_history ORDER BY id');
    expect(JSON.stringify(there)).not.toContain('a secret');
    expect(there.map(({ id, kind }) => ({ id, kind }))).toEqual(
      fixture.rows('SELECT id, kind FROM sync_history ORDER BY id'),
    );
  });
});

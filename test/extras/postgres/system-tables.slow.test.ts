/**
 * Tables about the replica in the target: status, columns, files, and the history.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tableRules } from '../../../src/config/table-patterns.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { forgetColumn } from '../../../src/history/prune.ts';
import { readColumns } from '../../../src/replica/bookkeeping/columns.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
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

  test('forgotten values of a pruned table go, and the history of its other rows stays', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Memo' }] }, WITH_HISTORY);
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address);
    fixture.sandbox.store.update('Note', 1, { Title: 'a secret' });
    fixture.sandbox.store.update('Note', 2, { Title: 'no secret' });
    await fixture.pull();
    await writer.work();
    const [note] = fixture.rows(`SELECT id FROM _rowsync_tables WHERE local_name = 'Note'`) as { id: number }[];
    fixture.sandbox.store.dropTable('Note');
    await fixture.pull();
    await fixture.replica.write('pruning', (tx) => prune(tx, '2026-11-21T12:00:00Z'));
    fixture.execute(`UPDATE _rowsync_history SET cells = '[]' WHERE row_id = 1 AND table_id = ${note?.id};
      INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, cells)
        VALUES (${note?.id}, 1, 'forgotten', unixepoch(), NULL, NULL, 'decision', '{"column":null,"columnSeq":null,"entries":1}')`);
    fixture.sandbox.store.update('Memo', 2, { Title: 'later' });
    await fixture.pull();

    await writer.work();

    const there = await server.rows(
      address,
      `SELECT row_id::int, after ->> 'Title' AS title FROM crm.sync_history WHERE "table" = 'Note' AND kind = 'update'`,
    );
    expect(there).toEqual([{ row_id: 2, title: 'no secret' }]);
  });

  test('values of a column that the configuration keeps out go from the history of every row', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Memo' }] }, WITH_HISTORY);
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address);
    for (const id of [1, 2]) fixture.sandbox.store.update('Note', id, { Title: `a secret ${id}` });
    fixture.sandbox.store.update('Memo', 2, { Title: 'no secret' });
    await fixture.pull();
    await writer.work();
    await fixture.replica.write('Forgetting a column', (tx) => {
      const id = readTables(tx).find(({ localName }) => localName === 'Note')?.id ?? 0;
      for (const column of readColumns(tx, id))
        if (column.name === 'Title') forgetColumn(tx, id, column, '2026-11-21T12:00:00Z');
    });
    fixture.sandbox.store.update('Memo', 3, { Title: 'later' });
    await fixture.pull();

    await writer.work();

    const there = await server.rows(address, 'SELECT id::int, kind, after FROM crm.sync_history ORDER BY id');
    expect(JSON.stringify(there)).not.toContain('a secret');
    expect(JSON.stringify(there)).toContain('no secret');
    expect(there.map(({ id, kind }) => ({ id, kind }))).toEqual(
      fixture.rows('SELECT id, kind FROM sync_history ORDER BY id'),
    );
  });

  test('are written where they differ, and hold no table that is left out', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Salary' }] });
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address, { tables: tableRules({ '*': {}, Salary: false }) });
    await writer.work();
    const writers = () =>
      server.rows(address, `SELECT "table", "column", xmin::text FROM crm.sync_columns ORDER BY 1, 2`);
    const before = await writers();
    for (const name of ['Note', 'Salary']) fixture.sandbox.store.addColumn(name, { name: 'Rank', type: 'Numeric' });
    await fixture.pull();
    await writer.work();

    const after = await writers();

    const known = new Set(before.map((line) => JSON.stringify(line)));
    expect(before.every(({ table }) => table === 'Note')).toBe(true);
    expect(
      after.filter((line) => !known.has(JSON.stringify(line))).map(({ table, column }) => [table, column]),
    ).toEqual([['Note', 'Rank']]);
    expect(after).toHaveLength(before.length + 1);
    expect(await server.rows(address, 'SELECT "table" FROM crm.sync_status')).toEqual([{ table: 'Note' }]);
  });

  test('say of a column that the origin dropped that it is there no more, although no row changed', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    const address = await server.database();
    await using writer = await openWriter(fixture, address);
    await writer.work();
    fixture.sandbox.store.dropColumn('Note', 'Due');
    await fixture.pull();

    await writer.work();

    expect(await server.rows(address, `SELECT state FROM crm.sync_columns WHERE "column" = 'Due'`)).toEqual([
      { state: 'removed' },
    ]);
    await sameColumns(fixture, address);
  });

  test('of a history of many entries all arrive once, in order, with what JSON cannot hold replaced', async () => {
    await using fixture = await startFixture({ tables: [NOTE] }, WITH_HISTORY);
    await fixture.pull();
    const address = await server.database();
    const add = (count: number): void =>
      fixture.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, cells)
        SELECT t.id, 1, 'update', unixepoch(), NULL, unixepoch(), 'pull',
          json_array(json_array((SELECT seq FROM _rowsync_columns WHERE local_name = 'Title'), 'a', 'b' || char(0) || i))
        FROM _rowsync_tables t, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`);
    add(2_500);
    await using writer = await openWriter(fixture, address);
    await writer.work();
    add(3);
    fixture.sandbox.store.update('Note', 2, { Title: 'later' });
    await fixture.pull();

    await writer.work();
    await writer.work();

    const there = await server.rows(address, 'SELECT id::int, kind, row_id::int FROM crm.sync_history ORDER BY id');
    expect(there).toEqual(fixture.rows('SELECT id, kind, row_id FROM sync_history ORDER BY id'));
    expect(await server.rows(address, `SELECT after ->> 'Title' AS title FROM crm.sync_history WHERE id = 2`)).toEqual([
      { title: 'b\uFFFD1' },
    ]);
  });
});

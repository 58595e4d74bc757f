/**
 * A sink brings PostgreSQL level with the replica: the first load, changes, renames, deletes, what it cannot hold, what
 * stands in the way.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import { checkSink } from '../../../src/extras/postgres/maintenance.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { tableRules } from '../../../src/config/table-patterns.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { backUp, restore } from '../../../src/extras/backup/replica-copy.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import { HISTORY } from '../../support/history.ts';
import { clientOf, noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { ALL_TABLES, openWriter, replicaCells, sinkSettings, targetCells } from '../../support/sink.ts';
import { NOTE, startTwoWay } from '../../support/two-way.ts';

let server: PostgresServer;

/** A text with this in it. */
function containing(part: string): unknown {
  return expect.stringContaining(part);
}

describe.skipIf(noPostgres !== null)('a sink', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  async function expectLevel(fixture: Fixture, address: PgAddress): Promise<void> {
    expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
  }

  test('loads tables, and then sends what was touched', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();

    expect(await writer.work()).toMatchObject({ loadedRows: 6, tables: [{ tableName: 'Note', state: 'live' }] });
    await expectLevel(fixture, address);

    const { store } = fixture.sandbox;
    store.update('Note', 1, { Title: 'a\tb\\c\nd', Count: '12345678901234567890.123456', Due: null, Done: true });
    store.delete('Note', 2);
    store.insert('Note', { Title: 'new', Seen: '2026-11-21T17:05:00Z', Starts: '23:59:59', Spent: 90.5 });
    await fixture.pull();
    expect(writer.isBehind()).toBe(true);

    expect(await writer.work()).toMatchObject({ loadedRows: 0, sentRows: 3 });

    await expectLevel(fixture, address);
    expect(writer.isBehind()).toBe(false);
    expect(await writer.work()).toMatchObject({ loadedRows: 0, sentRows: 0 });
    await writer.close();
  });

  test('sends nothing while a misspelt key keeps a table out that is there', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address, { tables: tableRules({ '*': {}, Noet: false }) });
    await fixture.pull();

    await expect(writer.work()).rejects.toMatchObject({
      code: 'config.invalid',
      message: containing('no table is called Noet (did you mean Note?)'),
    });
    expect(await server.rows(address, `SELECT to_regclass('crm."Note"') AS found`)).toEqual([{ found: null }]);
    await writer.close();
  });

  test('a table that is left out stays out when it is renamed, and what it left there is named', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    await fixture.pull();
    const first = await openWriter(fixture, address);
    await first.work();
    await first.close();
    const writer = await openWriter(fixture, address, { tables: tableRules({ '*': {}, Note: false }) });

    const left = await writer.work();
    fixture.sandbox.store.renameTable('Note', 'Memo');
    await fixture.pull();

    await expect(writer.work()).rejects.toMatchObject({
      code: 'config.invalid',
      message: containing('no table is called Note'),
    });
    expect(left).toMatchObject({ tables: [], left: ['Note'] });
    expect(await server.rows(address, `SELECT to_regclass('crm."Memo"') AS found`)).toEqual([{ found: null }]);
    await writer.close();
  });

  test('sends a table whose first load ends while the others are looked at', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    let isFirstLook = true;
    const find: typeof ALL_TABLES.byName.find = (name) => {
      if (isFirstLook) {
        fixture.execute(`
          INSERT INTO _rowsync_touched SELECT id, 0, 1, 0, unixepoch() FROM _rowsync_tables WHERE true
            ON CONFLICT DO UPDATE SET seq = excluded.seq;
          UPDATE _rowsync_tables SET state = 'steady'`);
      }
      isFirstLook = false;
      return ALL_TABLES.byName.find(name);
    };
    const writer = await openWriter(fixture, address, {
      tables: { ...ALL_TABLES, byName: { ...ALL_TABLES.byName, find } },
    });
    await fixture.pull();
    fixture.execute(`UPDATE _rowsync_tables SET state = 'loading'; DELETE FROM _rowsync_touched`);

    expect(await writer.work()).toMatchObject({ loadedRows: 6, tables: [{ tableName: 'Note', state: 'live' }] });

    await expectLevel(fixture, address);
    await writer.close();
  });

  test('loads a table again of which any row changed while it was looked at', async () => {
    await using fixture = await startTwoWay();
    const address = await server.database();
    const touch = (row: number): string => `
      INSERT INTO _rowsync_touched SELECT id, ${row}, (SELECT coalesce(max(seq), 0) + 1 FROM _rowsync_touched), 0, unixepoch()
        FROM _rowsync_tables WHERE true ON CONFLICT DO UPDATE SET seq = excluded.seq`;
    let isMoment = false;
    const find: typeof ALL_TABLES.byName.find = (name) => {
      if (isMoment)
        fixture.execute(`UPDATE _rowsync_base_${noteId} SET "Title" = 'another' WHERE _id = 2; ${touch(0)}`);
      isMoment = false;
      return ALL_TABLES.byName.find(name);
    };
    const writer = await openWriter(fixture, address, {
      tables: { ...ALL_TABLES, byName: { ...ALL_TABLES.byName, find } },
    });
    await fixture.pull();
    const noteId = readTables(fixture.replica)[0]?.id;
    await writer.work();
    fixture.execute(touch(1));
    isMoment = true;

    await writer.work();

    await expectLevel(fixture, address);
    expect(writer.isBehind()).toBe(false);
    await writer.close();
  });

  test('sends of a two-way table what the origin confirmed', async () => {
    await using fixture = await startTwoWay();
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title") VALUES ('new')`);
    await fixture.pull();
    await writer.work();
    expect(
      await server.rows(
        address,
        `SELECT count(*) FILTER (WHERE _id < 0) AS ours, count(*) FILTER (WHERE "Title" = 'mine') AS mine FROM crm."Note"`,
      ),
    ).toEqual([{ ours: '0', mine: '0' }]);

    await pushNow(fixture);
    await writer.work();

    await expectLevel(fixture, address);
    expect(
      await server.rows(address, `SELECT _id FROM crm."Note" WHERE "Title" IN ('mine', 'new') ORDER BY 1`),
    ).toEqual([{ _id: '1' }, { _id: '7' }]);
    await writer.close();
  });

  test('follows names of tables and columns, adds columns, and drops nothing', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    await server.rows(address, `CREATE VIEW crm.titles AS SELECT _id, "Title" FROM crm."Note"`);
    const { store } = fixture.sandbox;
    store.renameColumn('Note', 'Title', 'Between');
    store.renameColumn('Note', 'Body', 'Title');
    store.renameColumn('Note', 'Between', 'Body');
    store.addColumn('Note', { name: 'Rank', type: 'Numeric' });
    store.dropColumn('Note', 'Due');
    store.changeColumn('Note', 'Count', { type: 'Text' });
    store.renameTable('Note', 'Remark');
    store.update('Remark', 1, { Rank: 7, Title: 'a body' });
    await fixture.pull({ confirm: true });

    await writer.work();

    await expectLevel(fixture, address);
    expect(Object.keys(await targetCells(server, address))).toEqual(['Remark']);
    expect(await server.rows(address, `SELECT * FROM crm.titles WHERE _id = 1`)).toEqual([
      { _id: '1', Title: 'title 1' },
    ]);
    expect(
      await server.rows(
        address,
        `SELECT col_description('crm."Remark"'::regclass, attnum) AS words FROM pg_attribute WHERE attname = 'Spent' AND attrelid = 'crm."Remark"'::regclass`,
      ),
    ).toEqual([{ words: 'Column "Spent" of the origin: Duration, in seconds (Updatable)' }]);
    await writer.close();
  });

  test('gives names that are too long, or taken by PostgreSQL, a shorter one', async () => {
    const long = 'ä'.repeat(40);
    await using fixture = await startFixture({
      tables: [
        {
          name: long,
          columns: [
            { name: `${long}1`, type: 'Text' },
            { name: `${long}2`, type: 'Text' },
            { name: 'xmin', type: 'Text' },
          ],
          rows: [{ [`${long}1`]: 'one', [`${long}2`]: 'two', xmin: 'three' }],
        },
      ],
    });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();

    await writer.work();

    const [name = ''] = Object.keys(await targetCells(server, address));
    expect(name).toMatch(/^ä+~\d+$/u);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
    const [row] = (await targetCells(server, address))[name] ?? [];
    expect(row).toEqual(expect.arrayContaining(['one', 'two', 'three']));
    await writer.close();
  });

  test('replaces what PostgreSQL cannot hold, and lists it until it is gone', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    const { store } = fixture.sandbox;
    store.update('Note', 1, { Title: 'a\0b', Due: '0000-01-01' });
    await fixture.pull();
    await writer.work();
    const listed = `SELECT "table", row_id, "column" FROM crm.sync_replaced ORDER BY "column"`;
    expect(await server.rows(address, `SELECT "Title", "Due"::text FROM crm."Note" WHERE _id = 1`)).toEqual([
      { Title: 'a\uFFFDb', Due: null },
    ]);
    expect(await server.rows(address, listed)).toEqual([
      { table: 'Note', row_id: '1', column: 'Due' },
      { table: 'Note', row_id: '1', column: 'Title' },
    ]);

    store.update('Note', 1, { Title: 'a b' });
    await fixture.pull();
    await writer.work();

    expect(await server.rows(address, listed)).toEqual([{ table: 'Note', row_id: '1', column: 'Due' }]);
    await writer.close();
  });

  test('never touches a table of someone else, and sends the others', async () => {
    await using fixture = await startFixture({
      tables: [NOTE, { name: 'Person', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'Ann' }] }],
    });
    const address = await server.database();
    await server.rows(address, `CREATE SCHEMA crm`);
    await server.rows(address, `CREATE TABLE crm."Note" (x int PRIMARY KEY)`);
    const writer = await openWriter(fixture, address);
    await fixture.pull();

    const { tables } = await writer.work();

    expect(tables).toMatchObject([
      {
        tableName: 'Note',
        state: 'held',
        problem: { code: 'sink.foreign', message: containing('was not made by rowsync') },
      },
      { tableName: 'Person', state: 'live' },
    ]);
    expect(await server.rows(address, `SELECT count(*) FROM crm."Note"`)).toEqual([{ count: '0' }]);
    await server.rows(address, `DROP TABLE crm."Note"`);
    expect((await writer.work()).tables).toMatchObject([{ state: 'live' }, { state: 'live' }]);
    await expectLevel(fixture, address);
    await writer.close();
  });

  test('leaves a table out that a constraint there refuses, and catches up later', async () => {
    await using fixture = await startFixture({
      tables: [NOTE, { name: 'Person', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'Ann' }] }],
    });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    await server.rows(address, `ALTER TABLE crm."Note" ADD CONSTRAINT mine CHECK ("Title" <> 'bad')`);
    const { store } = fixture.sandbox;
    store.update('Note', 1, { Title: 'bad' });
    store.update('Note', 2, { Title: 'good' });
    store.update('Person', 1, { Name: 'Bea' });
    await fixture.pull();

    const { tables } = await writer.work();

    expect(tables).toMatchObject([
      { state: 'held', problem: { code: 'sink.refused', message: containing('mine') } },
      { state: 'live' },
    ]);
    expect(JSON.stringify(tables)).not.toContain('bad');
    expect(await server.rows(address, `SELECT "Name" FROM crm."Person"`)).toEqual([{ Name: 'Bea' }]);
    store.update('Person', 1, { Name: 'Cleo' });
    await fixture.pull();
    await server.rows(address, `ALTER TABLE crm."Note" DROP CONSTRAINT mine`);
    await writer.close();
    const next = await openWriter(fixture, address);
    await next.work();
    await expectLevel(fixture, address);
    await next.close();
  });

  test('keeps deleted rows with the time, where it is told to', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address, { deletes: 'keep' });
    await fixture.pull();
    await writer.work();
    fixture.sandbox.store.delete('Note', 2);
    await fixture.pull();

    await writer.work();

    expect(await server.rows(address, `SELECT _id, "Title" FROM crm."Note" WHERE _deleted_at IS NOT NULL`)).toEqual([
      { _id: '2', Title: 'title 2' },
    ]);
    await writer.close();
  });

  test('writes no row that is as it was, and reloads in place under the views of others', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    await server.rows(address, `CREATE VIEW crm.titles AS SELECT "Title" FROM crm."Note"`);
    await server.rows(address, `UPDATE crm."Note" SET "Title" = 'not ours' WHERE _id = 3`);
    await server.rows(address, `DELETE FROM crm."Note" WHERE _id = 4`);
    const before = await server.rows(address, `SELECT _id, xmin FROM crm."Note" WHERE _id NOT IN (3, 4) ORDER BY 1`);

    await writer.work(['Note']);

    await expectLevel(fixture, address);
    expect(await server.rows(address, `SELECT _id, xmin FROM crm."Note" WHERE _id NOT IN (3, 4) ORDER BY 1`)).toEqual(
      before,
    );
    await writer.close();
  });

  test('a database that is not in UTF8 is refused by the check, and the hint of a refusal is about that', async () => {
    const address = { ...(await server.database()), database: 'latin' };
    await server.rows(
      { ...address, database: 'postgres' },
      `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`,
    );
    await using fixture = await startFixture({ tables: [NOTE] });
    fixture.sandbox.store.update('Note', 1, { Title: '漢字' });
    await fixture.pull();

    const found = await checkSink(sinkSettings(address));
    const { tables } = await (await openWriter(fixture, address)).work();

    expect(found.missing).toEqual(['the database is in LATIN1, and most texts go into UTF8 only']);
    expect(tables[0]?.problem?.hint).toContain("ENCODING 'UTF8'");
  });

  test('the journal there is never ahead of the rows', async () => {
    const settings = { tableOptions: () => ({ sort: null, history: HISTORY }) };
    await using fixture = await startFixture({ tables: [NOTE] }, { settings });
    const address = await server.database();
    await fixture.pull();
    // Another change, while rows were read and the journal was not.
    const onStep = (step: string): void => {
      if (step === 'rows')
        fixture.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause)
          SELECT id, 1, 'delete', unixepoch(), unixepoch(), unixepoch(), 'pull' FROM _rowsync_tables`);
    };
    const writer = await openWriter(fixture, address, { onStep });
    await writer.work();
    fixture.sandbox.store.update('Note', 1, { Title: 'new' });
    await fixture.pull();
    const [[last] = []] = (fixture.rows('SELECT max(seq) AS last FROM _rowsync_history') as { last: number }[]).map(
      (row) => [row.last],
    );

    await writer.work();

    const [there] = await server.rows(address, 'SELECT max(id)::int AS last FROM crm.sync_history');
    expect(there?.['last']).toBe(last);
    await writer.close();
  });

  test('a copy that is put back twice compares everything each time', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const first = await openWriter(fixture, address);
    await fixture.pull();
    await first.work();
    const backup = join(fixture.folder, 'backup.db');
    await backUp(fixture.path, backup);
    const lives: string[] = [];
    for (const title of ['one', 'two', 'three']) {
      fixture.sandbox.store.update('Note', 1, { Title: title });
      await fixture.pull();
      await (await openWriter(fixture, address)).work();
      fixture.replica.close();
      await restore(backup, { path: fixture.path, stamp: `2026-11-26T0${lives.length}:00:00Z` });
      fixture.replica = openReplica(fixture.path, { clock: systemClock });
      const { tables } = await (await openWriter(fixture, address)).work();
      lives.push(tables.map(({ state }) => state).join());
    }

    expect(lives).toEqual(['live', 'live', 'live']);
    await expectLevel(fixture, address);
  });

  test('an older copy of the replica compares everything; another replica is told to ask', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await using other = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    fixture.execute(`VACUUM INTO '${fixture.folder}/copy.db'`);
    fixture.sandbox.store.update('Note', 1, { Title: 'later' });
    await fixture.pull();
    await writer.work();
    await writer.close();

    // The copy comes back, and lives on differently.
    const { sent } = { sent: fixture.rows('SELECT sent FROM _rowsync_sinks') };
    fixture.execute(
      `UPDATE _rowsync_sinks SET sent = 1; DELETE FROM _rowsync_touched WHERE row_id <> 0; DROP TRIGGER IF EXISTS none`,
    );
    expect(sent).not.toEqual([{ sent: 1 }]);
    const copy = await openWriter(fixture, address);
    await copy.work();
    await copy.close();
    await expectLevel(fixture, address);

    await other.pull();
    const stranger = await openWriter(other, address);
    await expect(stranger.work()).rejects.toMatchObject({ code: 'sink.taken' });
    await stranger.work([]);
    expect(Object.keys(await targetCells(server, address))).toContain('Note');
    await stranger.close();
  });

  test('sends the journal where history is on, and forgets what a person had forgotten', async () => {
    await using fixture = await startFixture(
      { tables: [NOTE] },
      { settings: { tableOptions: () => ({ sort: null, history: { keepDays: 10, bytesMax: 1e9 } }) } },
    );
    const address = await server.database();
    const writer = await openWriter(fixture, address);
    await fixture.pull();
    await writer.work();
    fixture.sandbox.store.update('Note', 1, { Title: 'later\0' });
    await fixture.pull();
    await writer.work();
    const entries = `SELECT id::int, kind, row_id::int, after FROM crm.sync_history WHERE kind = 'update'`;
    expect(await server.rows(address, entries)).toMatchObject([
      { kind: 'update', row_id: 1, after: { Title: 'later\uFFFD' } },
    ]);
    const here = fixture.rows('SELECT count(*) AS count FROM sync_history') as { count: number }[];
    expect(await server.rows(address, 'SELECT count(*)::int FROM crm.sync_history')).toEqual(here);
    await writer.close();
  });

  test('tells nothing of a table that is left out, neither its history nor its files nor its name', async () => {
    const secret = { ...NOTE, name: 'Salary' };
    await using fixture = await startFixture(
      { tables: [NOTE, secret] },
      { settings: { tableOptions: () => ({ sort: null, history: { keepDays: 10, bytesMax: 1e9 } }) } },
    );
    const address = await server.database();
    const open = () => openWriter(fixture, address, { tables: tableRules({ '*': {}, Salary: false }) });
    const writer = await open();
    await fixture.pull();
    await writer.work();
    for (const name of ['Note', 'Salary']) fixture.sandbox.store.update(name, 1, { Title: `of ${name}` });
    await fixture.pull();
    await writer.work();
    await writer.close();
    const again = await open();
    await again.work();

    const told = `SELECT "table", count(*)::int FROM crm.sync_history WHERE kind = 'update' GROUP BY 1`;
    expect(await server.rows(address, told)).toEqual([{ table: 'Note', count: 1 }]);
    for (const name of ['sync_history', 'sync_status', 'sync_columns', 'sync_files']) {
      const [found] = await server.rows(address, `SELECT count(*)::int FROM crm.${name} WHERE "table" = 'Salary'`);
      expect(found).toEqual({ count: 0 });
    }
    await again.close();
  });

  test('stops at once, whatever the server is busy with', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const address = await server.database();
    const stopping = new AbortController();
    const writer = await openWriter(fixture, address, { signal: stopping.signal });
    await fixture.pull();
    await writer.work();
    const blocker = clientOf(address);
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE crm."Note" IN ACCESS EXCLUSIVE MODE');
    fixture.sandbox.store.update('Note', 1, { Title: 'later' });
    await fixture.pull();

    const work = writer.work().catch((thrown: unknown) => thrown);
    await expect
      .poll(() => server.rows(address, 'SELECT count(*)::int FROM pg_locks WHERE NOT granted'), { timeout: 4_000 })
      .toEqual([{ count: 1 }]);
    stopping.abort();

    expect(await work).toMatchObject({ code: 'origin.stopped' });
    await blocker.end();
    const next = await openWriter(fixture, address);
    await next.work();
    await expectLevel(fixture, address);
    await next.close();
  });
});

/**
 * Our bookkeeping in PostgreSQL: the cursor that moves in one transaction with the rows, the place of each table, our
 * columns.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import {
  beginSeries,
  forgetLoads,
  isThere,
  LEVEL,
  moveCursor,
  pgSchema,
  prepareTarget,
  readCursor,
  readOwnColumns,
  readPlaces,
  readRelations,
  storeOwnColumns,
} from '../../../src/extras/postgres/bookkeeping.ts';
import { connect, type PgConnection } from '../../../src/extras/postgres/connection.ts';
import type { PgColumn } from '../../../src/extras/shared/pg-columns.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';

let server: PostgresServer;
const TARGET = pgSchema('a "schema"');
const SERIES = { epoch: 'e1', seq: 5, replica: 'https://example.org Demo' };

async function startTarget(): Promise<PgConnection> {
  const session = await connect(await server.database());
  await prepareTarget(session, TARGET);
  return session;
}

describe.skipIf(noPostgres !== null)('the bookkeeping of a target', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('is made once, and in a schema that is there already', async () => {
    await using session = await startTarget();
    await beginSeries(session, TARGET, SERIES);
    await prepareTarget(session, TARGET);

    expect(await readCursor(session, TARGET)).toEqual(SERIES);
    expect([await isThere(session, TARGET.cursor), await isThere(session, TARGET.of('nothing'))]).toEqual([
      true,
      false,
    ]);
  });

  test('has a cursor that only its own series moves, and only from where it is', async () => {
    await using session = await startTarget();
    const none = await readCursor(session, TARGET);
    await beginSeries(session, TARGET, SERIES);

    const moves = [
      await moveCursor(session, TARGET, { epoch: 'e1', from: 4, to: 9 }),
      await moveCursor(session, TARGET, { epoch: 'e1', from: 6, to: 9 }),
      await moveCursor(session, TARGET, { epoch: 'e0', from: 5, to: 9 }),
      await moveCursor(session, TARGET, { epoch: 'e1', from: 5, to: 9 }),
      await moveCursor(session, TARGET, { epoch: 'e1', from: 5, to: 10 }),
    ];

    expect(none).toBeNull();
    expect(moves).toEqual([false, false, false, true, false]);
    expect(await readCursor(session, TARGET)).toEqual({ ...SERIES, seq: 9 });
  });

  test('knows the place of each table, and forgets all of them with a new series, the history too', async () => {
    await using session = await startTarget();
    await beginSeries(session, TARGET, SERIES);
    await session.query(
      sql`INSERT INTO ${TARGET.tables} VALUES (2, 'B', ${LEVEL}, 3), (1, 'A', 4, 4), (3, 'C', NULL, NULL)`,
    );
    await session.query(
      sql`CREATE TABLE ${TARGET.of('sync_history')} (id bigint); INSERT INTO ${TARGET.of('sync_history')} VALUES (1)`,
    );

    const before = await readPlaces(session, TARGET);
    await forgetLoads(session, TARGET, [2, 9]);
    const asked = await readPlaces(session, TARGET);
    await forgetLoads(session, TARGET, []);
    await beginSeries(session, TARGET, { ...SERIES, epoch: 'e2', seq: 7 });

    const [a, c] = [
      { tableId: 1, name: 'A', seq: 4, loadedSeq: 4 },
      { tableId: 3, name: 'C', seq: null, loadedSeq: null },
    ];
    expect(before).toEqual([a, { tableId: 2, name: 'B', seq: LEVEL, loadedSeq: 3 }, c]);
    expect(asked).toEqual([a, { tableId: 2, name: 'B', seq: LEVEL, loadedSeq: null }, c]);
    expect((await readPlaces(session, TARGET)).map(({ seq, loadedSeq }) => [seq, loadedSeq])).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(await session.query(sql`SELECT * FROM ${TARGET.of('sync_history')}`)).toEqual([]);
    expect(await readCursor(session, TARGET)).toMatchObject({ epoch: 'e2', seq: 7 });
  });

  test('tells tables that rowsync made, by their key, from everything else in the schema', async () => {
    await using session = await startTarget();
    const here = (name: string) => TARGET.of(name);
    await session.query(
      sql`CREATE TABLE ${here('Ours')} (_id bigint CONSTRAINT "_rowsync_pk_7" PRIMARY KEY, "a ""b""" text, gone int)`,
    );
    await session.query(sql`ALTER TABLE ${here('Ours')} DROP COLUMN gone`);
    await session.query(sql`ALTER TABLE ${here('Ours')} RENAME TO "Renamed"`);
    await session.query(sql`CREATE TABLE ${here('theirs')} (x int CONSTRAINT _rowsync_pk_x PRIMARY KEY)`);
    await session.query(sql`CREATE VIEW ${here('seen')} AS SELECT 1 AS one`);
    await session.query(sql`CREATE TABLE public."Elsewhere" (_id bigint CONSTRAINT "_rowsync_pk_8" PRIMARY KEY)`);

    const relations = await readRelations(session, TARGET);

    const found = relations.filter(({ name }) => !/^(?:_rowsync|sync)_/.test(name));
    expect(found.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      { name: 'Renamed', tableId: 7, columns: ['_id', 'a "b"'] },
      { name: 'seen', tableId: null, columns: ['one'] },
      { name: 'theirs', tableId: null, columns: ['x'] },
    ]);
  });

  test('has the columns of a table in place of those before, by table', async () => {
    await using session = await startTarget();
    const column = (seq: number, name: string, type: PgColumn['type']): PgColumn => ({
      seq,
      originId: seq + 100,
      name,
      type,
    });
    await storeOwnColumns(session, TARGET, 1, [column(2, 'B', 'numeric'), column(1, 'A', 'text')]);
    await storeOwnColumns(session, TARGET, 2, [column(3, 'C', 'date')]);
    await storeOwnColumns(session, TARGET, 1, [column(1, 'A "x"', 'text'), column(-2, 'B', 'numeric')]);
    await session.query(sql`UPDATE ${TARGET.columns} SET type = 'later' WHERE table_id = 2`);

    const columns = await readOwnColumns(session, TARGET);
    await storeOwnColumns(session, TARGET, 1, []);

    expect([...columns]).toEqual([
      [1, [column(-2, 'B', 'numeric'), column(1, 'A "x"', 'text')]],
      [2, [column(3, 'C', 'text')]],
    ]);
    expect((await readOwnColumns(session, TARGET)).has(1)).toBe(false);
  });
});

/**
 * Tables of the target follow the names and columns of the replica; nothing that rowsync did not make is touched, and
 * no value is lost.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tableRules } from '../../../src/config/table-patterns.ts';
import { RowsyncError } from '../../../src/base/errors.ts';
import { ident } from '../../../src/base/sql.ts';
import { pgSchema, prepareTarget, readOwnColumns } from '../../../src/extras/postgres/bookkeeping.ts';
import { connect, type PgConnection } from '../../../src/extras/postgres/connection.ts';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import {
  followShapes,
  makeTable,
  sentColumnNames,
  sentTable,
  type SentTable,
  type ShapeOutcome,
} from '../../../src/extras/postgres/shape-tables.ts';
import { dropSink } from '../../../src/extras/postgres/maintenance.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { AT, NOTE } from '../../support/two-way.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture } from '../../support/replica.ts';
import { openWriter, replicaCells, sinkSettings, targetCells } from '../../support/sink.ts';

let server: PostgresServer;
const TARGET = pgSchema('crm');

/** A table that is sent, with columns as `number name type id`; the id is 100 more than the number. */
function tableOf(
  id: number,
  name: string,
  columns: readonly string[],
  { leftOut = [], masked = 0 }: { readonly leftOut?: readonly number[]; readonly masked?: number } = {},
): SentTable {
  const parts = columns.map((column) => column.split(' '));
  const records = parts.map(([seq, local = '', type = 'Text', originId = Number(seq) + 100]) => ({
    seq: Number(seq),
    id: Number(originId),
    name: local,
    localName: local,
    type,
    kind: null,
    state: 'live',
    mask: masked === Number(seq) ? { kind: 'hash' } : null,
  }));
  const table = { id, name, localName: name, leftOut: leftOut.map((seq) => ({ id: seq + 100 })) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of them
  return sentTable({ table, source: name, columns: records } as unknown as SentTable['source']);
}

interface Target extends AsyncDisposable {
  readonly address: PgAddress;
  readonly session: PgConnection;
  follow(tables: readonly SentTable[], except?: ReadonlyMap<number, RowsyncError>): Promise<ShapeOutcome>;
  /** Names of tables and of their columns, as `Note: Title, Body`. */
  shapes(): Promise<readonly string[]>;
  rows(query: string): Promise<readonly Record<string, unknown>[]>;
}

/** A database with tables of a sink, each with a row 1 whose texts are the names of their columns. */
async function startTarget(tables: readonly SentTable[], deletes: 'remove' | 'keep' = 'remove'): Promise<Target> {
  const address = await server.database();
  const session = await connect(address);
  await prepareTarget(session, TARGET);
  for (const table of tables) {
    await makeTable(session, TARGET, { table, deletes: 'remove' });
    const cells = table.columns.map(({ name, type }) => (type === 'text' ? `'${name}'` : 'NULL'));
    await server.rows(
      address,
      `INSERT INTO crm.${ident(table.name)} VALUES (1, NULL${cells.map((it) => `, ${it}`).join('')})`,
    );
  }
  const rows = (query: string): Promise<readonly Record<string, unknown>[]> => server.rows(address, query);
  return {
    address,
    session,
    rows,
    follow: (now, except = new Map()) => followShapes(session, TARGET, { tables: now, deletes, except }),
    shapes: async () => {
      const found = await rows(
        `SELECT c.relname || ': ' || string_agg(a.attname, ', ' ORDER BY a.attnum) AS shape FROM pg_class c JOIN pg_attribute a
           ON a.attrelid = c.oid AND a.attnum > 2 AND NOT a.attisdropped
         WHERE c.relnamespace = 'crm'::regnamespace AND c.relkind = 'r' AND c.relname !~ '^_rowsync|^sync' GROUP BY c.relname ORDER BY 1`,
      );
      return found.map(({ shape }) => String(shape));
    },
    [Symbol.asyncDispose]: () => session.close(),
  };
}

function codesOf({ problems }: ShapeOutcome): readonly (readonly [number, string])[] {
  return [...problems].map(([id, { code }]) => [id, code] as const);
}

describe.skipIf(noPostgres !== null)('the shape of a table there', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('a table that is made has a key that says whose it is, comments, and a place for what cannot be deleted', async () => {
    const table = tableOf(7, 'It"s', ['1 Title', '2 Price Numeric']);
    await using target = await startTarget([table]);

    const comments = await target.rows(
      `SELECT col_description('crm."It""s"'::regclass, attnum) AS words FROM pg_attribute WHERE attrelid = 'crm."It""s"'::regclass AND attnum > 2 ORDER BY attnum`,
    );

    expect(sentColumnNames(table)).toEqual(['_id', '_allow', '"Title"', '"Price"']);
    expect(
      await target.rows(
        `SELECT conname AS name FROM pg_constraint WHERE contype = 'p' AND conrelid = 'crm."It""s"'::regclass`,
      ),
    ).toEqual([{ name: '_rowsync_pk_7' }]);
    expect(comments).toEqual([
      { words: 'Column "Title" of the origin: Text' },
      { words: 'Column "Price" of the origin: Numeric' },
    ]);
    expect((await readOwnColumns(target.session, TARGET)).get(7)).toEqual([
      { seq: 1, originId: 101, name: 'Title', type: 'text' },
      { seq: 2, originId: 102, name: 'Price', type: 'numeric' },
    ]);
  });

  test('tables and columns that swap their names keep their rows', async () => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X', '2 Y']), tableOf(2, 'B', ['3 Z'])]);

    const outcome = await target.follow([tableOf(1, 'B', ['1 Y', '2 X']), tableOf(2, 'A', ['3 Z'])]);

    expect([codesOf(outcome), outcome.standing]).toEqual([[], new Set([1, 2])]);
    expect(await target.rows('SELECT "X", "Y" FROM crm."B"')).toEqual([{ X: 'Y', Y: 'X' }]);
    expect(await target.rows('SELECT "Z" FROM crm."A"')).toEqual([{ Z: 'Z' }]);
  });

  test('a column that is gone stays with its values, a new one of its name stands beside it', async () => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X', '2 Y'])]);

    await target.follow([tableOf(1, 'A', ['1 X'])]);
    const left = await target.rows('SELECT "Y" FROM crm."A"');
    await target.follow([tableOf(1, 'A', ['1 X', '3 Y Numeric'])]);

    expect(left).toEqual([{ Y: 'Y' }]);
    expect(await target.rows('SELECT "Y", "Y (old)" FROM crm."A"')).toEqual([{ Y: null, 'Y (old)': 'Y' }]);
  });

  test.each([
    { what: 'is left out', now: tableOf(1, 'A', ['1 X'], { leftOut: [2] }), shape: 'A: X, Y' },
    {
      what: 'is masked from now on',
      now: tableOf(1, 'A', ['1 X', '3 Y Numeric 102'], { masked: 3 }),
      shape: 'A: X, Y (old), Y',
    },
  ])('of a column that $what no value stays', async ({ now, shape }) => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X', '2 Y'])]);

    await target.follow([now]);
    const [row] = await target.rows('SELECT * FROM crm."A"');
    await target.rows(`UPDATE crm."A" SET "X" = 'Y'`);
    await target.follow([now]);

    expect(await target.shapes()).toEqual([shape]);
    expect(Object.values(row ?? {})).toEqual([
      '1',
      null,
      'X',
      ...shape
        .split(', ')
        .slice(1)
        .map(() => null),
    ]);
    expect(await target.rows('SELECT "X" FROM crm."A"')).toEqual([{ X: 'Y' }]);
  });

  test('a table or column of others is never touched, and only the table that needs its name is held', async () => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X']), tableOf(2, 'B', ['2 Y'])]);
    await target.rows(
      `CREATE VIEW crm."Taken" AS SELECT 1 AS one; ALTER TABLE crm."B" ADD COLUMN "Mine" text DEFAULT 'mine'`,
    );
    const outcome = await target.follow([tableOf(1, 'Taken', ['1 X']), tableOf(2, 'B', ['2 Z', '4 Mine'])]);

    expect(codesOf(outcome)).toEqual([
      [1, 'sink.foreign'],
      [2, 'sink.foreign'],
    ]);
    expect([...outcome.standing]).toEqual([]);
    expect(await target.shapes()).toEqual(['A: X', 'B: Y, Mine']);
    expect(await target.rows('SELECT one, "Mine" FROM crm."Taken", crm."B"')).toEqual([{ one: 1, Mine: 'mine' }]);
  });

  test('a table that is held for another reason keeps its shape', async () => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X'])]);
    const busy = new RowsyncError('originDown', 'sink.busy', { message: 'A reader locks it', hint: 'Wait.' });

    const outcome = await target.follow([tableOf(1, 'B', ['1 Z'])], new Map([[1, busy]]));

    expect([codesOf(outcome), [...outcome.standing]]).toEqual([[[1, 'sink.busy']], []]);
    expect(await target.shapes()).toEqual(['A: X']);
  });

  test('a table that is no longer sent makes room for another one, however long its name is', async () => {
    const long = 'n'.repeat(63);
    await using target = await startTarget([tableOf(1, long, ['1 X']), tableOf(2, 'B', ['2 Y'])]);

    const outcome = await target.follow([tableOf(2, long, ['2 Y'])]);

    expect(codesOf(outcome)).toEqual([]);
    expect(await target.shapes()).toEqual([`${'n'.repeat(61)}~1: X`, `${long}: Y`].toSorted());
    expect(await target.rows(`SELECT * FROM crm."${long}"`)).toEqual([{ _id: '1', _allow: null, Y: 'Y' }]);
  });

  test('where deleted rows are kept, a table gets the column for it', async () => {
    await using target = await startTarget([tableOf(1, 'A', ['1 X'])], 'keep');

    await target.follow([tableOf(1, 'A', ['1 X'])]);
    await target.follow([tableOf(1, 'A', ['1 X'])]);

    expect(await target.shapes()).toEqual(['A: X, _deleted_at']);
  });

  test('a new table under the name of one that is gone and pruned here is sent, and the old rows stay', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    const address = await server.database();
    const { store } = fixture.sandbox;
    await fixture.pull();
    await using writer = await openWriter(fixture, address);
    await writer.work();
    store.dropTable('Note');
    await fixture.pull({ confirm: true });
    await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
    store.addTable({ ...NOTE, rows: [{ Title: 'anew' }] });
    await fixture.pull();

    const { tables } = await writer.work();

    expect(tables.map(({ tableName, state }) => `${tableName} ${state}`).toSorted()).toEqual([
      'Note live',
      'Other live',
    ]);
    expect(await targetCells(server, address)).toMatchObject(replicaCells(fixture.path));
    expect(await server.rows(address, `SELECT count(*)::int FROM pg_class WHERE relname LIKE 'Note~old%'`)).toEqual([
      { count: 1 },
    ]);
    expect(await server.rows(address, `SELECT "Title" FROM crm."Note"`)).toEqual([{ Title: 'anew' }]);
  });

  test('a renamed table has its new name in sync_replaced, and where it is no longer sent', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    const address = await server.database();
    fixture.sandbox.store.update('Note', 1, { Title: 'a\0b' });
    await fixture.pull();
    const first = await openWriter(fixture, address);
    await first.work();
    fixture.sandbox.store.renameTable('Note', 'Memo');
    await fixture.pull();
    await first.work();
    await first.close();
    await using writer = await openWriter(fixture, address, { tables: tableRules({ Other: {} }) });

    const { left } = await writer.work();

    expect(left).toEqual(['Memo']);
    expect(await server.rows(address, 'SELECT "table", "column" FROM crm.sync_replaced')).toEqual([
      { table: 'Memo', column: 'Title' },
    ]);
    expect(await dropSink(sinkSettings(address), left)).toEqual(['Memo']);
    expect(await server.rows(address, 'SELECT * FROM crm.sync_replaced')).toEqual([]);
  });

  test('a column of the origin that is called _deleted_at is never taken for the time of a delete', async () => {
    const odd = { name: 'Odd', systemColumns: false, columns: [{ name: '_deleted_at', type: 'Text' as const }] };
    await using fixture = await startFixture({
      tables: [{ ...odd, rows: [{ _deleted_at: 'theirs' }, { _deleted_at: 'gone' }] }],
    });
    const address = await server.database();
    await fixture.pull();
    await using writer = await openWriter(fixture, address, { deletes: 'keep' });
    await writer.work();
    fixture.sandbox.store.delete('Odd', 2);
    await fixture.pull({ confirm: true });

    const { tables } = await writer.work();

    expect(tables).toMatchObject([{ tableName: 'Odd', state: 'live' }]);
    const rows = await server.rows(address, 'SELECT * FROM crm."Odd" ORDER BY _id');
    expect(rows.map((row) => [row['_deleted_at'] === null, Object.values(row).includes('theirs')])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(rows[1]?.['_deleted_at']).toBeInstanceOf(Date);
  });
});

/**
 * Rows go into a table of the target, and only those that differ are written: a needless update costs standbys as much
 * as a real one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import { pgSchema, prepareTarget } from '../../../src/extras/postgres/bookkeeping.ts';
import { connect } from '../../../src/extras/postgres/connection.ts';
import {
  applyRows,
  copyRowsText,
  freshTable,
  listReplaced,
  makeEqual,
  type CopyTarget,
  type ReplacedCell,
} from '../../../src/extras/postgres/copy-rows.ts';
import { makeTable, type SentTable } from '../../../src/extras/postgres/shape-tables.ts';
import type { SourceRow } from '../../../src/extras/shared/confirmed-rows.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';

let server: PostgresServer;
const TARGET = pgSchema('crm');

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
const NOTE = {
  id: 1,
  name: 'Note',
  shape: '',
  columns: [
    { seq: 1, originId: 101, name: 'Title', type: 'text' },
    { seq: 2, originId: 102, name: 'Due', type: 'date' },
  ],
  source: { table: { id: 1, name: 'Note', leftOut: [] }, source: 'Note', columns: [] },
} as unknown as SentTable;

function row(id: number, title: string | null, due: string | null = null): SourceRow {
  return [BigInt(id), null, title, due];
}

interface Target extends CopyTarget, AsyncDisposable {
  apply(rows: readonly SourceRow[], gone?: readonly number[]): Promise<void>;
  /** Rows as `id title due`, with a mark for those that are deleted there; and the transaction that wrote each. */
  rows(): Promise<readonly string[]>;
  writers(): Promise<ReadonlyMap<string, string>>;
  listed(): Promise<readonly string[]>;
}

/** A table Note with rows 1 to 3. */
async function startTarget(deletes: 'remove' | 'keep' = 'remove'): Promise<Target> {
  const address = await server.database();
  const session = await connect(address);
  await prepareTarget(session, TARGET);
  await makeTable(session, TARGET, { table: NOTE, deletes });
  const sending: CopyTarget = { session, target: TARGET, deletes };
  const apply: Target['apply'] = (rows, gone = []) => session.transact(() => applyRows(sending, NOTE, { rows, gone }));
  await apply([row(1, 'a'), row(2, 'b', '2026-11-25'), row(3, null)]);
  const mark = deletes === 'keep' ? `|| CASE WHEN _deleted_at IS NULL THEN '' ELSE ' gone' END` : '';
  return {
    ...sending,
    apply,
    rows: async () => {
      const found = await server.rows(
        address,
        `SELECT concat_ws(' ', _id, coalesce("Title", '-'), "Due") ${mark} AS line FROM crm."Note" ORDER BY _id`,
      );
      return found.map(({ line }) => String(line));
    },
    writers: async () =>
      new Map(
        (await server.rows(address, `SELECT _id, xmin FROM crm."Note"`)).map((it) => [
          String(it['_id']),
          String(it['xmin']),
        ]),
      ),
    listed: async () => {
      const found = await server.rows(address, `SELECT row_id, "column", "table" FROM crm.sync_replaced ORDER BY 1, 2`);
      return found.map((it) => `${String(it['table'])} ${String(it['row_id'])} ${String(it['column'])}`);
    },
    [Symbol.asyncDispose]: () => session.close(),
  };
}

test('rows are lines of COPY, and a cell that PostgreSQL cannot hold is replaced and named', () => {
  const replaced: ReplacedCell[] = [];

  const text = copyRowsText(
    NOTE,
    [row(1, 'a\tb\\c\n'), row(2, 'x\0y', '0000-01-01'), [3n, 'E\0', null, null]],
    replaced,
  );

  expect(text).toBe('1\t\\N\ta\\tb\\\\c\\n\t\\N\n2\t\\N\tx\uFFFDy\t\\N\n3\tE\uFFFD\t\\N\t\\N\n');
  expect(replaced.map(({ rowId, column }) => `${rowId} ${column}`)).toEqual(['2 Title', '2 Due', '3 _allow']);
});

describe.skipIf(noPostgres !== null)('rows', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('are inserted, changed and removed; one that is as it was is not written', async () => {
    await using target = await startTarget();
    const before = await target.writers();

    await target.apply([row(1, 'a'), row(2, 'b'), row(4, 'd')], [3, 99]);

    const after = await target.writers();
    expect(await target.rows()).toEqual(['1 a', '2 b', '4 d']);
    expect(after.get('1')).toBe(before.get('1'));
    expect(after.get('2')).not.toBe(before.get('2'));
  });

  test('that are gone stay with the time where they are kept, once, until they come back', async () => {
    await using target = await startTarget('keep');
    await target.apply([], [2]);
    const [gone, writer] = [await target.rows(), (await target.writers()).get('2')];

    await target.apply([], [2]);
    const again = (await target.writers()).get('2');
    await target.apply([row(2, 'b', '2026-11-25')]);

    expect(gone).toEqual(['1 a', '2 b 2026-11-25 gone', '3 -']);
    expect(again).toBe(writer);
    expect(await target.rows()).toEqual(['1 a', '2 b 2026-11-25', '3 -']);
  });

  test.each(['remove', 'keep'] as const)(
    'of a whole table make it equal (deletes: %s), and leave what is as it was',
    async (deletes) => {
      await using target = await startTarget(deletes);
      const { session } = target;
      const before = await target.writers();

      await session.transact(async () => {
        const from = await freshTable(target, NOTE);
        await session.copy(sql`COPY ${from} (_id, _allow, "Title", "Due") FROM STDIN`, [
          copyRowsText(NOTE, [row(1, 'a'), row(3, 'c'), row(5, 'e')], []),
        ]);
        await makeEqual(target, NOTE, from);
      });

      const kept = deletes === 'keep' ? ['2 b 2026-11-25 gone'] : [];
      expect(await target.rows()).toEqual(['1 a', ...kept, '3 c', '5 e']);
      expect((await target.writers()).get('1')).toBe(before.get('1'));
    },
  );

  test('of several pieces of one transaction go through one temporary table', async () => {
    await using target = await startTarget();

    await target.session.transact(async () => {
      for (const id of [7, 8]) await applyRows(target, NOTE, { rows: [row(id, 'piece')], gone: [] });
      const made = sql`SELECT relname FROM pg_class WHERE relname LIKE '\\_rowsync\\_in%'`;
      expect(await target.session.query(made)).toHaveLength(1);
    });

    expect((await target.rows()).slice(3)).toEqual(['7 piece', '8 piece']);
  });

  test('whose cells were replaced are listed until they are written as they are, or go', async () => {
    await using target = await startTarget();
    await target.apply([row(1, 'a\0'), row(2, 'b\0', '0000-01-01'), row(3, 'c\0')]);
    const all = await target.listed();
    await target.apply([row(2, 'b\0', '2026-11-25')], [3]);
    const some = await target.listed();
    await listReplaced(
      target,
      NOTE,
      [],
      [
        { rowId: '9', column: 'Title', why: 'why' },
        { rowId: '9', column: 'Title', why: 'twice' },
      ],
    );
    const more = await target.listed();
    await listReplaced(target, NOTE, null, []);

    expect(all).toEqual(['Note 1 Title', 'Note 2 Due', 'Note 2 Title', 'Note 3 Title']);
    expect(some).toEqual(['Note 1 Title', 'Note 2 Title']);
    expect(more).toEqual([...some, 'Note 9 Title']);
    expect(await target.listed()).toEqual([]);
  });

  test('are all there or none, where one is refused', async () => {
    await using target = await startTarget();
    await target.session.query(sql`ALTER TABLE ${TARGET.of('Note')} ADD CONSTRAINT theirs CHECK ("Title" <> 'bad')`);

    await expect(target.apply([row(4, 'good'), row(1, 'bad')], [2])).rejects.toMatchObject({ code: 'sink.refused' });

    expect(await target.rows()).toEqual(['1 a', '2 b 2026-11-25', '3 -']);
  });
});

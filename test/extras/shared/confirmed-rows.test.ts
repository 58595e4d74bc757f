/**
 * Rows as the origin confirmed them: what an edit here changed is not among them, and no digit is lost.
 */
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import {
  blockReader,
  inSnapshot,
  namesCheck,
  readAllRows,
  readForgotten,
  readHead,
  readHistory,
  readLastSeq,
  readLines,
  readSourceRows,
  readSources,
  readTableChanges,
  readView,
  type SinkSource,
  type SourceRow,
} from '../../../src/extras/shared/confirmed-rows.ts';
import { ensureSinks } from '../../../src/extras/shared/sinks.ts';
import { sql } from '../../../src/base/sql.ts';
import { touchTable } from '../../../src/replica/bookkeeping/changed-rows.ts';
import { capture, NOTE, startTwoWay } from '../../support/two-way.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';

function sourceOf({ replica }: Fixture): SinkSource {
  return must(readSources(replica)[0], 'the table was pulled');
}

/** The id and the title of rows. */
function titlesOf({ columns }: SinkSource, rows: Iterable<SourceRow>): readonly unknown[] {
  const at = columns.findIndex(({ localName }) => localName === 'Title');
  return [...rows].map(([id, , ...values]) => [id, values[at]]);
}

describe('rows', () => {
  test('of a two-way table are those of its base: no edit, no new row, and what was deleted here', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
      INSERT INTO "Note" ("Title") VALUES ('fresh')`);
    await capture(fixture);
    const source = sourceOf(fixture);
    const expected = [1, 2, 3, 4, 5, 6].map((id) => [BigInt(id), `title ${id}`]);

    expect(source.source).not.toBe('Note');
    expect(titlesOf(source, readAllRows(fixture.replica, source))).toEqual(expected);
    expect(titlesOf(source, readSourceRows(fixture.replica, source, [9, 2, -1, 1]))).toEqual(expected.slice(0, 2));
    const read = blockReader(fixture.replica, source);
    expect([titlesOf(source, read(0n, 2)), titlesOf(source, read(2n, 2)), titlesOf(source, read(6n, 2))]).toEqual([
      expected.slice(0, 2),
      expected.slice(2, 4),
      [],
    ]);
  });

  test('of a mirror are those of the table, with every digit of their numbers, in blocks of those of the origin alone', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    fixture.sandbox.store.update('Note', 1, { Count: '9007199254740993' });
    await fixture.pull();
    fixture.execute(
      `INSERT INTO _rowsync_writer VALUES (1); INSERT INTO "Note" (_id, "Title") VALUES (-5, 'odd'); DELETE FROM _rowsync_writer`,
    );
    const source = sourceOf(fixture);

    const [row] = readSourceRows(fixture.replica, source, [1]);
    const first = blockReader(fixture.replica, source)(-100n, 1);

    expect(source.source).toBe('Note');
    expect(row?.[2 + source.columns.findIndex(({ localName }) => localName === 'Count')]).toBe(9_007_199_254_740_993n);
    expect(titlesOf(source, first)).toEqual([[1n, 'title 1']]);
    expect(titlesOf(source, readAllRows(fixture.replica, source))).toHaveLength(6);
  });

  test('are of the columns that are in the file, and of no table that is not', async () => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    await fixture.pull();
    fixture.execute(`DROP TABLE "Other"; ALTER TABLE "Note" DROP COLUMN "Body"`);

    const sources = readSources(fixture.replica);

    expect(sources.map(({ table }) => table.localName)).toEqual(['Note']);
    expect(sources[0]?.columns.map(({ localName }) => localName)).not.toContain('Body');
    expect([...readAllRows(fixture.replica, sourceOf(fixture))]).toHaveLength(6);
  });

  test('of a view come with the columns that are asked for', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();

    expect([...readView(fixture.replica, 'sync_status', ['rows', 'table'])]).toEqual([[6n, 'Note']]);
  });
});

test('names mean the same until a table or a column is called otherwise, whatever else changes in the schema', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const isSame = namesCheck(fixture.replica, readSources(fixture.replica));

  expect(isSame()).toBe(true);
  fixture.execute('CREATE TABLE mine (a)');
  expect(isSame()).toBe(true);
  fixture.sandbox.store.renameColumn('Note', 'Title', 'Subject');
  await fixture.pull();

  expect(isSame()).toBe(false);
  expect(isSame()).toBe(false);
});

test('reads of one snapshot do not see what is written meanwhile, and it ends also where a read fails', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const count = (): number => readSourceRows(fixture.replica, sourceOf(fixture), [1, 2]).length;
  const remove = `INSERT INTO _rowsync_writer VALUES (1); DELETE FROM "Note" WHERE _id = 1; DELETE FROM _rowsync_writer`;

  const counts = inSnapshot(fixture.replica, () => {
    const before = count();
    fixture.execute(remove);
    return [before, count()];
  });

  expect(counts).toEqual([2, 2]);
  expect(count()).toBe(1);
  expect(() =>
    inSnapshot(fixture.replica, () => {
      throw new Error('it fails');
    }),
  ).toThrow('it fails');
  expect(() => fixture.replica.prepare(sql`BEGIN`).run()).not.toThrow();
  fixture.replica.prepare(sql`COMMIT`).run();
});

test('changed rows come in the order of their changes, each once, behind a number, and tables that changed as a whole', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  const { replica, sandbox } = fixture;
  await fixture.pull();
  await ensureSinks(replica, ['a']);
  expect(readHead(replica)).toBe(0);
  for (const id of [3, 1, 3]) {
    sandbox.store.update('Note', id, { Count: readHead(replica) + 10 });
    await fixture.pull();
  }
  const { id } = sourceOf(fixture).table;
  await replica.write('Test', (tx) => touchTable(tx, id));

  const lines = readLines(replica, 0, 10).map(({ tableId, rowId, seq }) => [tableId, rowId, seq]);

  expect(lines).toEqual([
    [id, 1, 2],
    [id, 3, 3],
    [id, 0, 4],
  ]);
  expect(readLines(replica, 2, 1).map(({ rowId }) => rowId)).toEqual([3]);
  expect(readHead(replica)).toBe(4);
  expect([...readTableChanges(replica)]).toEqual([[id, 4]]);
});

test('the history comes behind an entry and up to another, some of its entries or all but those of a table', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: { keepDays: 400, bytesMax: 1_000_000 } }) };
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] }, { settings });
  const { replica } = fixture;
  expect(readLastSeq(replica)).toBe(0);
  await fixture.pull();
  const first = readLastSeq(replica);
  fixture.sandbox.store.update('Note', 1, { Title: 'one' });
  await fixture.pull();
  fixture.sandbox.store.update('Other', 2, { Title: 'two' });
  await fixture.pull();
  const last = readLastSeq(replica);
  const read = (changes: Partial<Parameters<typeof readHistory>[2]>): readonly unknown[] =>
    readHistory(replica, ['table', 'row_id'], {
      after: first,
      upTo: last,
      limit: 9,
      ids: null,
      out: new Set(),
      ...changes,
    });

  expect(last).toBe(first + 2);
  expect(read({})).toEqual([
    ['Note', 1n],
    ['Other', 2n],
  ]);
  expect(read({ ids: [first, last, last + 1] })).toEqual([['Other', 2n]]);
  expect(read({ out: new Set(['Note']) })).toEqual([['Other', 2n]]);
  expect(read({ limit: 1 })).toHaveLength(1);
  expect(read({ upTo: first })).toEqual([]);
  expect(readForgotten(replica, { after: 0, upTo: last })).toEqual([]);
});

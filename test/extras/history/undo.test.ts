/**
 * Changes taken back as edits of a client, in a transaction: what is written, what is only listed, and what is left
 * alone.
 */
import { expect, test } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import { undoTable, type TableUndo, type UndoSelection } from '../../../src/extras/history/undo.ts';
import { workAsClient } from '../../../src/extras/shared/sql-client.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import { HISTORY } from '../../support/history.ts';
import { here, pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, twoWaySettings } from '../../support/two-way.ts';

const MIRROR = { tableOptions: () => ({ sort: null, history: HISTORY }), maxDeletePercent: 100 };
const TWO_WAY = {
  maxDeletePercent: 100,
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
};

/** A table with history whose first pull is run 1. */
async function startKept(settings: typeof TWO_WAY | typeof MIRROR = TWO_WAY): Promise<Fixture> {
  const fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  return fixture;
}

const SINCE_START: UndoSelection = { which: { afterSeq: 1, sinceMs: 0 }, rowId: null };

function undo(
  fixture: Fixture,
  {
    selection = SINCE_START,
    goneKeys = [],
    isKept = true,
  }: { selection?: UndoSelection; goneKeys?: readonly string[]; isKept?: boolean } = {},
): TableUndo {
  const { id, localName } = must(readTables(fixture.replica)[0], 'a table was pulled');
  const back = { hereAgain: new Set<string>(), goneKeys: new Map(goneKeys.map((cell) => [cell, null])) };
  return workAsClient(fixture.path, (from) => undoTable(from, { id, table: localName }, selection, back), { isKept });
}

/** Titles and bodies of the first rows. */
function titles(fixture: Fixture): readonly unknown[] {
  return here(fixture, ['Title', 'Body']).slice(0, 2);
}

const PULLED = [
  [1, 'title 1', null],
  [2, 'title 2', null],
];

test('the changes of a run go, those of others stay, and each says whose it was', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 2, { Title: 'later' });
  await fixture.pull();

  const undone = undo(fixture, { selection: { which: { runId: 2 }, rowId: null } });

  expect(titles(fixture)).toEqual([PULLED[0], [2, 'later', null]]);
  expect(undone).toMatchObject({
    table: 'Note',
    isTwoWay: true,
    changeCount: 1,
    edits: [{ rowId: 1, kind: 'update', cells: [{ column: 'Title', today: 'theirs', edited: 'title 1' }] }],
    ofOrigin: [{ rowId: 1, by: ['Alice Martin <alice.martin@example.com>'] }],
    refusals: [],
  });
});

test('of one row, only that one', async () => {
  await using fixture = await startKept();
  for (const id of [1, 2]) fixture.sandbox.store.update('Note', id, { Title: 'theirs' });
  await fixture.pull();

  const { changeCount } = undo(fixture, { selection: { ...SINCE_START, rowId: 2 } });

  expect([changeCount, titles(fixture)]).toEqual([1, [[1, 'theirs', null], PULLED[1]]]);
});

test('a cell that changed since is listed, and the rest of its row is taken back', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs', Body: 'theirs' });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 1, { Title: 'since' });
  await fixture.pull();

  const { refusals } = undo(fixture, { selection: { which: { runId: 2 }, rowId: null } });

  expect(titles(fixture)[0]).toEqual([1, 'since', null]);
  expect(refusals).toEqual([{ rowId: 1, column: 'Title', why: 'changed since' }]);
});

test('a dry run finds the same and writes nothing', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();

  const dry = undo(fixture, { isKept: false });
  const before = titles(fixture);
  const kept = undo(fixture);

  expect(before[0]).toEqual([1, 'theirs', null]);
  expect(dry).toEqual(kept);
});

test('of a mirror nothing is written', async () => {
  await using fixture = await startKept(MIRROR);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  fixture.sandbox.store.delete('Note', 3);
  await fixture.pull({ confirm: true });

  const undone = undo(fixture);

  expect(titles(fixture)[0]).toEqual([1, 'theirs', null]);
  expect(undone).toMatchObject({ isTwoWay: false, edits: [{ rowId: 1 }], deleted: [{ oldId: 3 }], withdrawn: [] });
});

test('a row that is gone at the origin is named with its values, and not made here', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.delete('Note', 2);
  await fixture.pull({ confirm: true });

  const { deleted, edits } = undo(fixture);

  const columns = fixture.rows('SELECT id, local_name AS name FROM _rowsync_columns') as { id: number; name: string }[];
  const [row] = deleted;
  const values: unknown = Object.fromEntries(
    [...(row?.values ?? [])].map(([id, value]) => [columns.find((it) => it.id === id)?.name, value]),
  );
  expect(edits).toEqual([]);
  expect(row).toMatchObject({ oldId: 2, deletedAt: expect.stringMatching(/^20\d\d-.*Z$/) as unknown });
  expect(values).toMatchObject({ Title: 'title 2', Code: 'c2', Count: 2n, Due: '2026-11-21' });
  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 5 }]);
});

test.each([
  [3, 'Code'],
  [30, 'Code'],
  [3, null],
  [30, null],
])(
  'of %i deleted rows, those that are here again are found, by the match column %s or all values',
  async (count, match) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      Title: `title ${index}`,
      Code: match === null ? null : `c${index}`,
      Count: index % 2 === 0 ? index : index + 0.5,
      Done: index % 2 === 0,
    }));
    const settings = {
      maxDeletePercent: 100,
      tableOptions: () => ({ ...twoWaySettings({ match }).tableOptions(''), sort: null, history: HISTORY }),
    };
    await using fixture = await startFixture({ tables: [{ ...NOTE, rows }] }, { settings });
    await fixture.pull();
    for (const id of rows.keys()) fixture.sandbox.store.delete('Note', id + 1);
    await fixture.pull({ confirm: true });
    for (const row of rows.slice(1, 3))
      fixture.sandbox.store.insert('Note', match === null ? row : { ...row, Title: 'another' });
    await fixture.pull();

    const { same, deleted } = undo(fixture, { isKept: false });

    expect(same.map(({ row }) => row.oldId)).toEqual([2, 3]);
    expect(deleted).toHaveLength(count - 2);
  },
);

test('of a row that was made again with other values, each cell that differs is named', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.delete('Note', 2);
  await fixture.pull({ confirm: true });
  fixture.sandbox.store.insert('Note', { Code: 'c2', Title: 'another', Count: 2, Due: '2026-11-21' });
  await fixture.pull();
  const before = fixture.rows('SELECT * FROM "Note"');

  const { same, edits, refusals } = undo(fixture);

  expect([same.length, edits]).toEqual([1, []]);
  expect(refusals).toEqual(
    ['Title', 'Done'].map((column) => ({ rowId: 2, column, why: 'another value in row 7, which took its place' })),
  );
  expect(fixture.rows('SELECT * FROM "Note"')).toEqual(before);
});

test.each([2, 30])(
  'without a match column, none of %i equal rows stands for another that was deleted',
  async (count) => {
    const rows = Array.from({ length: count + 1 }, () => ({ Title: 'twin', Count: 1 }));
    const settings = {
      maxDeletePercent: 100,
      tableOptions: () => ({ ...twoWaySettings().tableOptions(''), sort: null, history: HISTORY }),
    };
    await using fixture = await startFixture({ tables: [{ ...NOTE, rows }] }, { settings });
    await fixture.pull();
    for (let id = 1; id <= count; id += 1) fixture.sandbox.store.delete('Note', id);
    await fixture.pull({ confirm: true });
    const before = undo(fixture, { isKept: false });
    fixture.sandbox.store.insert('Note', { Title: 'twin', Count: 1 });
    await fixture.pull();

    const { same, deleted } = undo(fixture, { isKept: false });

    expect([before.same.length, before.deleted.length]).toEqual([0, count]);
    // One came back, and counts for one.
    expect([same.length, deleted.length]).toEqual([1, count - 1]);
  },
);

test('a delete that was not sent is withdrawn, with the values that the origin has', async () => {
  await using fixture = await startKept();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 2`);
  await capture(fixture);
  fixture.execute('DELETE FROM "Note" WHERE _id = 2');
  await capture(fixture);

  const { withdrawn, refusals, deleted } = undo(fixture, {
    selection: { which: { afterSeq: 2, sinceMs: 0 }, rowId: null },
  });

  expect([withdrawn, deleted]).toEqual([[2], []]);
  expect(titles(fixture)).toEqual(PULLED);
  expect(refusals).toEqual([{ rowId: 2, column: 'Body', why: 'the row is back with the value that the origin has' }]);
});

test('a delete that may have arrived is neither withdrawn nor put back', async () => {
  await using fixture = await startKept();
  fixture.execute('DELETE FROM "Note" WHERE _id = 2');
  await capture(fixture);
  fixture.execute(`UPDATE _rowsync_rows SET state = 'inDoubt' WHERE row_id = 2`);

  const { withdrawn, refusals, deleted } = undo(fixture);

  expect([withdrawn, deleted]).toEqual([[], []]);
  expect(refusals).toMatchObject([
    { rowId: 2, column: null, why: expect.stringContaining('may have arrived') as unknown },
  ]);
});

test('a row that was made here and deleted again comes back, where the origin takes new rows', async () => {
  await using fixture = await startKept();
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`);
  await capture(fixture);
  const [made] = fixture.rows('SELECT max(seq) AS seq FROM _rowsync_history') as { seq: number }[];
  fixture.execute(`DELETE FROM "Note" WHERE "Code" = 'c8'`);
  await capture(fixture);
  const selection: UndoSelection = { which: { afterSeq: made?.seq ?? 0, sinceMs: 0 }, rowId: null };
  const closed = twoWaySettings({ match: 'Code', inserts: false }).tableOptions('');
  await fixture.pull({ settings: { ...TWO_WAY, tableOptions: () => ({ ...closed, sort: null, history: HISTORY }) } });
  const refused = undo(fixture, { selection });
  await fixture.pull({ settings: TWO_WAY });

  const { edits } = undo(fixture, { selection });

  expect(refused.edits).toEqual([]);
  expect(refused.refusals).toMatchObject([{ column: null }]);
  expect(edits).toMatchObject([{ kind: 'insert' }]);
  expect(fixture.rows(`SELECT "Title" FROM "Note" WHERE "Code" = 'c8'`)).toEqual([{ Title: 'mine' }]);
});

test('what a trigger of another program refuses is listed, and the others are taken back', async () => {
  await using fixture = await startKept();
  for (const id of [1, 2]) fixture.sandbox.store.update('Note', id, { Title: 'theirs' });
  await fixture.pull();
  fixture.execute(
    `CREATE TRIGGER theirs BEFORE UPDATE ON "Note" WHEN old._id = 1 BEGIN SELECT raise(ABORT, 'a secret'); END`,
  );

  const { edits, refusals } = undo(fixture);

  expect(titles(fixture)).toEqual([[1, 'theirs', null], PULLED[1]]);
  expect(edits.map(({ rowId }) => rowId)).toEqual([2]);
  expect(refusals).toMatchObject([{ rowId: 1, column: null }]);
  expect(JSON.stringify(refusals)).not.toContain('a secret');
});

test('a cell never gets back a key that none of the deleted rows gets again', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs', Body: 'x' });
  fixture.sandbox.store.update('Note', 2, { Title: 'theirs' });
  await fixture.pull();
  const [{ id, tableId } = { id: 0, tableId: 0 }] = fixture.rows(
    `SELECT id, table_id AS tableId FROM _rowsync_columns WHERE local_name = 'Title'`,
  ) as { id: number; tableId: number }[];

  const { edits, refusals } = undo(fixture, { goneKeys: [`${tableId} ${id} title 1`, `${tableId} ${id} title 2`] });

  expect(titles(fixture)).toEqual([
    [1, 'theirs', null],
    [2, 'theirs', null],
  ]);
  expect(edits.map(({ rowId }) => rowId)).toEqual([1]);
  expect(refusals.map(({ rowId, column, why }) => [rowId, column, why])).toEqual([
    [1, 'Title', 'it referred to a row that gets a new key'],
    [2, 'Title', 'it referred to a row that gets a new key'],
  ]);
});

test('an edit that no entry tells of yet is taken back, unless it may be older', async () => {
  await using fixture = await startKept();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  const [{ ms } = { ms: 0 }] = fixture.rows('SELECT max(since) * 1000 AS ms FROM _rowsync_rows') as { ms: number }[];

  const older = undo(fixture, { selection: { which: { afterSeq: 1, sinceMs: ms + 1_000 }, rowId: null } });
  const untouched = titles(fixture)[0];
  const taken = undo(fixture, { selection: { which: { afterSeq: 1, sinceMs: ms }, rowId: null } });

  expect(untouched).toEqual([1, 'mine', null]);
  expect(older).toMatchObject({ changeCount: 0, computedCount: 0, edits: [], refusals: [{ rowId: 1, column: null }] });
  expect(taken).toMatchObject({ edits: [{ rowId: 1 }], refusals: [], ofOrigin: [] });
  expect(titles(fixture)).toEqual(PULLED);
});

test('a sent edit is taken back with what the origin made of it, and names nobody as its author', async () => {
  await using fixture = await startKept();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await pushNow(fixture);

  const { edits, ofOrigin } = undo(fixture);
  await pushNow(fixture);

  expect(edits).toMatchObject([{ rowId: 1, kind: 'update' }]);
  expect(ofOrigin).toEqual([]);
  expect(fixture.sandbox.store.rows('Note')[0]?.values['Title']).toBe('title 1');
});

test('without a history nothing is known, so nothing is done', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: { tableOptions: () => ({ sort: null }) } });
  await fixture.pull();

  expect(undo(fixture)).toEqual({
    table: 'Note',
    isTwoWay: false,
    changeCount: 0,
    computedCount: 0,
    edits: [],
    cells: new Map(),
    ofOrigin: [],
    withdrawn: [],
    deleted: [],
    same: [],
    refusals: [],
  });
});

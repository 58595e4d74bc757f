/** The history of a table begins, is proven and ends; what it says of columns outlives them. */
import { expect, test } from 'vitest';
import {
  configureHistory,
  endHistory,
  findHistory,
  forgetKnownEdits,
  holdPruning,
  keepNames,
  markHistory,
  noteCaptured,
  proveHistory,
  readHistories,
  secondsOf,
} from '../../../src/replica/bookkeeping/history.ts';
import { closeSweep, openSweep } from '../../../src/replica/bookkeeping/sweeps.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';

const FIRST = '2026-11-21T12:00:00Z';
const SECOND = '2026-11-21T13:00:00Z';
const THIRD = '2026-11-21T14:00:00Z';

function sweep(bare: Bare, startedAt: string, endedAt: string): Promise<void> {
  return bare.write((tx) => {
    openSweep(tx, 1, startedAt);
    closeSweep(tx, 1, { at: endedAt, watermark: null, filter: null });
  });
}

function configure(bare: Bare, isWanted: boolean, at = FIRST): Promise<void> {
  return bare.write((tx) => configureHistory(tx, 1, { isWanted, at }));
}

/** Entries about tables, as the view shows them. */
function marks(bare: Bare): unknown[] {
  return bare.lines('SELECT kind, row_id, at, cause, run_id, note FROM sync_history ORDER BY id');
}

test('a history begins at once where the table was read to its end, else with the end of its first sweep', async () => {
  await using read = await openBare();
  await sweep(read, FIRST, SECOND);
  await configure(read, true, THIRD);
  await using unread = await openBare();
  await configure(unread, true);

  expect(findHistory(read.replica, 1)).toEqual({
    tableId: 1,
    begunSeq: 1,
    provenAt: secondsOf(FIRST),
    capturedAt: null,
    bytes: 0,
    oldestAt: secondsOf(THIRD),
    pruningHeld: null,
  });
  expect(findHistory(unread.replica, 1)).toMatchObject({ begunSeq: null, provenAt: null, oldestAt: null });

  await sweep(unread, SECOND, THIRD);

  expect(findHistory(unread.replica, 1)).toMatchObject({ begunSeq: 1, provenAt: secondsOf(SECOND) });
  expect(marks(unread)).toEqual([['begin', null, THIRD, 'pull', null, null]]);
});

test('of a table that is loaded again since another program dropped it, it begins once that is done', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  bare.execute(`UPDATE _rowsync_tables SET state = 'loading'`);

  await configure(bare, true);

  expect(findHistory(bare.replica, 1)?.begunSeq).toBeNull();
});

test('one that is known is not begun again, and one that is unknown cannot end', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  await configure(bare, false);
  expect([findHistory(bare.replica, 1), marks(bare)]).toEqual([null, []]);
  await configure(bare, true);
  await configure(bare, true, THIRD);

  expect(marks(bare)).toHaveLength(1);
  expect(readHistories(bare.replica).map(({ tableId }) => tableId)).toEqual([1]);
});

test('switched off, it ends with the reason, and nothing of what was known is left', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  await configure(bare, true);
  bare.execute(
    `INSERT INTO _rowsync_history_edits VALUES (1, 5, NULL), (2, 5, NULL); INSERT INTO _rowsync_history_doubts VALUES (1, 6, 0), (2, 6, 0)`,
  );

  await configure(bare, false, THIRD);

  expect(findHistory(bare.replica, 1)).toBeNull();
  expect(marks(bare).at(-1)).toEqual(['end', null, THIRD, 'pull', null, '{"why":"history is switched off"}']);
  for (const part of ['edits', 'doubts']) {
    expect(bare.lines(`SELECT table_id FROM _rowsync_history_${part}`)).toEqual([[2]]);
  }
});

test('one that ends to begin again waits for the next sweep, and keeps how old its entries are', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  await configure(bare, true);

  await bare.write((tx) => endHistory(tx, 1, { at: SECOND, why: 'a column was dropped', isAgain: true }));
  expect(findHistory(bare.replica, 1)).toMatchObject({ begunSeq: null, provenAt: null, oldestAt: secondsOf(FIRST) });
  // It has ended already.
  await bare.write((tx) => endHistory(tx, 1, { at: SECOND, why: 'again', isAgain: true }));
  expect(marks(bare)).toHaveLength(2);

  await sweep(bare, SECOND, THIRD);

  expect(findHistory(bare.replica, 1)).toMatchObject({ begunSeq: 3, oldestAt: secondsOf(FIRST) });
});

test('a sweep proves every row but suspects, edited and unreadable ones, which keep the time of their last proof', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  await configure(bare, true);
  bare.execute(`INSERT INTO _rowsync_suspects VALUES (1, 5, 0); INSERT INTO _rowsync_rows VALUES (1, 6, 'edited', 0);
    INSERT INTO _rowsync_unreadable VALUES (1, 7, 'Title', '', '')`);
  const doubts = (): unknown[] => bare.lines('SELECT row_id, proven_at FROM _rowsync_history_doubts ORDER BY row_id');

  await bare.write((tx) => openSweep(tx, 1, SECOND));
  await bare.write((tx) => proveHistory(tx, 1, THIRD));
  expect(doubts()).toEqual([5, 6, 7].map((id) => [id, secondsOf(FIRST)]));
  expect(findHistory(bare.replica, 1)?.provenAt).toBe(secondsOf(SECOND));

  bare.execute('DELETE FROM _rowsync_suspects; INSERT INTO _rowsync_suspects VALUES (1, 8, 0)');
  await bare.write((tx) => proveHistory(tx, 1, THIRD));

  expect(doubts()).toEqual([
    [6, secondsOf(FIRST)],
    [7, secondsOf(FIRST)],
    [8, secondsOf(SECOND)],
  ]);
});

test('a history that begins does not know when rows without a proof were last equal to the origin', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, SECOND);
  bare.execute('INSERT INTO _rowsync_suspects VALUES (1, 5, 0)');

  await configure(bare, true);

  expect(bare.lines('SELECT row_id, proven_at FROM _rowsync_history_doubts')).toEqual([[5, null]]);
});

test('when edits were captured is noted of a history that has begun only', async () => {
  await using bare = await openBare();
  await configure(bare, true);
  await bare.write((tx) => noteCaptured(tx, 1, FIRST));
  expect(findHistory(bare.replica, 1)?.capturedAt).toBeNull();
  await sweep(bare, FIRST, SECOND);

  await bare.write((tx) => noteCaptured(tx, 1, SECOND));

  expect(findHistory(bare.replica, 1)?.capturedAt).toBe(secondsOf(SECOND));
});

test('an entry about a table has the cause and the run of its transaction, but where only one cause is possible', async () => {
  await using bare = await openBare();

  await bare.write(
    (tx) => {
      markHistory(tx, 1, { kind: 'pruned', at: FIRST, note: { entries: 2 } });
      markHistory(tx, 1, { kind: 'schema', at: FIRST });
      markHistory(tx, 1, { kind: 'forgotten', at: FIRST, rowId: 5 });
      markHistory(tx, null, { kind: 'forgotten', at: FIRST });
    },
    { cause: 'push', runId: 3 },
  );

  expect(marks(bare)).toEqual([
    ['pruned', null, FIRST, 'push', 3, '{"entries":2}'],
    ['schema', null, FIRST, 'schema', 3, null],
    ['forgotten', 5, FIRST, 'decision', 3, null],
    ['forgotten', null, FIRST, 'schema', 3, null],
  ]);
  expect(bare.lines('SELECT "table" FROM sync_history WHERE row_id = 5')).toEqual([['Note']]);
});

test('the views name the cells of an entry, each version with its values, and a column that was dropped by its last name', async () => {
  await using bare = await openBare([described('Title'), described('Count', 'Numeric')]);
  const entry = (kind: string, cells: string): void =>
    bare.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, origin_at, cause, cells)
      VALUES (1, 5, '${kind}', 0, 0, 60, 60, 'pull', '${cells}')`);
  entry('insert', '[[1,null,"a"],[0,null,"Edit"]]');
  entry('update', '[[1,"a","b"],[2,1,9007199254740993]]');
  entry('delete', '[[1,"b",null]]');
  await bare.write((tx) => keepNames(tx, 1, [2]));
  bare.execute(`DELETE FROM _rowsync_columns WHERE local_name = 'Count'`);

  expect(bare.lines('SELECT kind, before, after, stamped, not_after FROM sync_history ORDER BY id')).toEqual([
    ['insert', null, '{"Title":"a","_allow":"Edit"}', 1, '1970-01-01T00:01:00Z'],
    [
      'update',
      '{"Title":"a","Count (pruned)":1}',
      '{"Title":"b","Count (pruned)":9007199254740993}',
      1,
      '1970-01-01T00:01:00Z',
    ],
    ['delete', '{"Title":"b"}', null, 1, '1970-01-01T00:01:00Z'],
  ]);
  expect(bare.lines(`SELECT "column", origin_id, before FROM sync_history_cells WHERE kind = 'update'`)).toEqual([
    ['Title', 1, 'a'],
    ['Count (pruned)', null, 1],
  ]);
});

test('names are kept of the columns that go, or of a table with all of its columns, and only where there is a history', async () => {
  await using bare = await openBare([described('Title'), described('Count')]);
  const names = (): unknown[] => bare.lines('SELECT column_seq, name FROM _rowsync_history_names ORDER BY 1');
  await bare.write((tx) => keepNames(tx, 1, 'all'));
  expect(names()).toEqual([]);
  await bare.write((tx) => {
    markHistory(tx, 1, { kind: 'begin', at: FIRST });
    keepNames(tx, 1, [2]);
  });
  expect(names()).toEqual([[2, 'Count (pruned)']]);

  await bare.write((tx) => keepNames(tx, 1, 'all'));

  expect(names()).toEqual([
    [0, 'Note (pruned)'],
    [1, 'Title (pruned)'],
    [2, 'Count (pruned)'],
  ]);
});

test('why old entries stay is kept until they may go; known edits go with their table alone', async () => {
  await using bare = await openBare();
  await configure(bare, true);
  bare.execute(`INSERT INTO _rowsync_history_edits VALUES (1, 5, NULL), (2, 5, NULL)`);
  const held: unknown[] = [];
  for (const why of ['the clock is ahead', null]) {
    await bare.write((tx) => holdPruning(tx, 1, why));
    held.push(findHistory(bare.replica, 1)?.pruningHeld);
  }

  await bare.write((tx) => forgetKnownEdits(tx, 1));

  expect(held).toEqual(['the clock is ahead', null]);
  expect(bare.lines('SELECT table_id FROM _rowsync_history_edits')).toEqual([[2]]);
});

/** Which rows are edited, being sent or parked, and which ids new rows get. */
import { expect, test } from 'vitest';
import {
  countEdits,
  countUnsent,
  countWaiting,
  editVersion,
  forgetRowStates,
  hasMarks,
  readEditedIds,
  readOldestPending,
  readRowEnds,
  readRowState,
  readRowStates,
  readTablesToPush,
  renumberRowState,
  startLocalIds,
  storeRowStates,
  takeLocalId,
} from '../../../src/replica/bookkeeping/row-states.ts';
import { storeProblem } from '../../../src/replica/bookkeeping/table-errors.ts';
import { readTable, storeFacts } from '../../../src/replica/bookkeeping/tables.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT, startTwoWay } from '../../support/two-way.ts';

const LATER = '2026-11-21T12:30:00Z';
const LAST = '2026-11-21T13:00:00Z';

/** The two-way table Note with rows of these states. */
async function startWith(states: Readonly<Record<number, string>> = {}): Promise<Bare> {
  const bare = await openBare([described('Title')], { isTwoWay: true });
  await bare.write((tx) => {
    for (const [id, state] of Object.entries(states)) storeRowStates(tx, 1, [Number(id)], { state, at: AT });
  });
  return bare;
}

const marks = (bare: Bare): unknown[] =>
  bare.lines(`SELECT row_id, state, since FROM _rowsync_rows WHERE table_id = 1 ORDER BY row_id`);

test('a mark keeps the time of its first state, and goes once the row is clean', async () => {
  await using bare = await startWith({ 1: 'edited', 2: 'edited' });
  await bare.write((tx) => storeRowStates(tx, 1, [1], { state: 'sending', at: LATER }));
  expect(marks(bare)).toEqual([
    [1, 'sending', Date.parse(AT) / 1000],
    [2, 'edited', Date.parse(AT) / 1000],
  ]);

  await bare.write((tx) => storeRowStates(tx, 1, [1, 99], { state: 'clean', at: LATER }));

  expect([...readRowStates(bare.replica, 1, [1, 2, 3])]).toEqual([[2, 'edited']]);
  expect(hasMarks(bare.replica, 1)).toBe(true);
  await bare.write((tx) => forgetRowStates(tx, 1));
  expect(hasMarks(bare.replica, 1)).toBe(false);
});

test('the last edit that ends takes the hold of the push with it', async () => {
  await using bare = await startWith({ 1: 'edited', 2: 'edited' });
  const held = (): string | null => readTable(bare.replica, 1).pushCode;
  await bare.write((tx) => {
    storeProblem(tx, 1, 'push', { code: 'guard.pushRows', message: 'too many', hint: 'confirm' });
    storeRowStates(tx, 1, [1], { state: 'refused', at: LATER });
  });
  expect(held()).toBe('guard.pushRows');

  await bare.write((tx) => storeRowStates(tx, 1, [2], { state: 'clean', at: LATER }));

  expect(held()).toBeNull();
});

test('rows are counted by what they wait for', async () => {
  await using bare = await startWith({
    1: 'edited',
    2: 'sending',
    3: 'refused',
    4: 'inDoubt',
    5: 'conflicted',
    6: 'conflicted',
  });
  bare.execute(`INSERT INTO _rowsync_refusals (table_id, row_id, kind, reason, status, tries, since_ms)
    VALUES (1, 3, 'update', 'no', 403, 1, 0)`);

  expect(countWaiting(bare.replica, 1)).toEqual({
    waitingCount: 2,
    parkedCount: 2,
    parkedInDoubtCount: 1,
    openConflictCount: 2,
  });
  expect(countUnsent(bare.replica, 1)).toBe(4);
  expect(readRowEnds(bare.replica, 1).get(3)).toEqual({ state: 'refused', status: 403 });
  expect(readRowEnds(bare.replica, 1).get(4)).toEqual({ state: 'inDoubt', status: null });
  expect([1, 9].map((rowId) => readRowState(bare.replica, { table: 'Note', rowId }))).toEqual(['edited', null]);
  expect(countWaiting(bare.replica, 2)).toEqual({
    waitingCount: 0,
    parkedCount: 0,
    parkedInDoubtCount: 0,
    openConflictCount: 0,
  });
});

test('edits are told by kind, and read in the order in which they are sent', async () => {
  await using bare = await startWith({
    [-3]: 'edited',
    [-2]: 'edited',
    [-4]: 'refused',
    1: 'edited',
    2: 'edited',
    3: 'edited',
    4: 'edited',
    5: 'sending',
  });
  bare.execute(`INSERT INTO "Note" (_id) VALUES (-4), (-3), (-2), (1), (3), (5)`);
  const note = { id: 1, localName: 'Note' };
  const read = (kind: 'insert' | 'update' | 'delete', after: number | null = null, isReversed = false, count = 10) =>
    readEditedIds(bare.replica, note, { kind, after, count, isReversed });

  expect(countEdits(bare.replica, note)).toEqual({ insert: 2, update: 2, delete: 2 });
  // New rows as they were made.
  expect([read('insert'), read('insert', -2), read('insert', null, false, 1)]).toEqual([[-2, -3], [-3], [-2]]);
  expect([read('update'), read('update', 1), read('update', null, true), read('update', 3, true)]).toEqual([
    [1, 3],
    [3],
    [3, 1],
    [1],
  ]);
  expect([read('delete'), read('delete', null, true)]).toEqual([
    [2, 4],
    [4, 2],
  ]);
});

test('a table is pushed if it is two-way and has an edit, or a refused row whose time has come', async () => {
  await using bare = await startWith({ 1: 'refused', 2: 'conflicted' });
  const names = (nowMs: number): readonly string[] => readTablesToPush(bare.replica, nowMs);
  bare.execute(`INSERT INTO _rowsync_refusals (table_id, row_id, kind, reason, tries, since_ms, retry_at_ms)
    VALUES (1, 1, 'update', 'no', 1, 0, 1000), (1, 2, 'update', 'no', 1, 0, 0)`);
  expect([names(999), names(1000.7)]).toEqual([[], ['Note']]);

  await bare.write((tx) => storeRowStates(tx, 1, [3], { state: 'sending', at: AT }));
  expect(names(0)).toEqual(['Note']);
  await bare.write((tx) => storeFacts(tx, 1, { push: 'off' }));
  expect(names(5000)).toEqual([]);
  await bare.write((tx) => storeFacts(tx, 1, { push: 'on', state: 'gone' }));
  expect(names(5000)).toEqual([]);
});

test('the oldest edit that waits for a push counts, and no parked one', async () => {
  await using bare = await startWith({ 1: 'refused' });
  await bare.write((tx) => {
    storeRowStates(tx, 1, [2], { state: 'edited', at: LAST });
    storeRowStates(tx, 1, [3], { state: 'sending', at: LATER });
  });

  expect([...readOldestPending(bare.replica)]).toEqual([['Note', LATER]]);
});

test('a mark goes along to the new id of its row, in place of one there', async () => {
  await using bare = await startWith({ [-2]: 'inDoubt', 7: 'edited', 8: 'edited' });

  await bare.write((tx) => renumberRowState(tx, 1, -2, 7));

  expect(Object.fromEntries(readRowStates(bare.replica, 1, [-2, 7, 8]))).toEqual({ 7: 'inDoubt', 8: 'edited' });
});

test('ids of ours count down, are never given again, and begin below those of which something is kept', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', [described('Title')]);
  bare.execute(`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, winner, at, state)
    VALUES (2, 'Task', -7, 'inserted', 'local', '${AT}', 'discarded'), (2, 'Task', 9, 'cell', 'local', '${AT}', 'decided')`);

  const taken = await bare.write((tx) => {
    for (const id of [1, 2]) startLocalIds(tx, id);
    const first = [takeLocalId(tx, 1), takeLocalId(tx, 1), takeLocalId(tx, 2)];
    startLocalIds(tx, 1);
    return [...first, takeLocalId(tx, 1)];
  });

  expect(taken).toEqual([-2, -3, -8, -4]);
});

test('a decision made on older edits is told by another version, of the row and of the table', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x', "Count" = 5 WHERE _id IN (1, 2)`);
  const of = (rowId: number | null): string => editVersion(fixture.replica, { table: 'Note', rowId });
  const before = [of(1), of(2), of(null)];
  expect([of(1), of(2), of(null)]).toEqual(before);

  // The same number, as a text: it is another value to whoever sees it.
  fixture.execute(`UPDATE "Note" SET "Count" = '5' WHERE _id = 1`);

  expect(of(1)).not.toBe(before[0]);
  expect(of(2)).toBe(before[1]);
  expect(of(null)).not.toBe(before[2]);
});

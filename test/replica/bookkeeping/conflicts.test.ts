/**
 * Conflicts keep every version with all of its digits; an open one waits for a person, who may decide it with plain
 * SQL.
 */
import { expect, test } from 'vitest';
import {
  closeConflict,
  conflictVersion,
  countConflicts,
  countUnseen,
  hasOpenConflict,
  keepConflicts,
  readConflict,
  readConflictLine,
  readConflictsSince,
  readDiscardedSince,
  readLastConflictId,
  readLostSince,
  readOpenQuestions,
  readQuestionedIds,
  readRequests,
  readRequestTables,
  readUnseen,
  renumberConflicts,
  settleConflicts,
  shownSince,
  storeSeen,
  storeVersions,
  takenVersion,
  type ConflictLine,
} from '../../../src/replica/bookkeeping/conflicts.ts';
import { storeRowStates } from '../../../src/replica/bookkeeping/row-states.ts';
import { must } from '../../../src/base/assert.ts';
import type { KeptConflict } from '../../../src/reconcile/merge.ts';
import type { Value } from '../../../src/wire/schema.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

/** Larger than a double holds. */
const LONG = 2n ** 60n + 1n;
const CELL: KeptConflict = {
  kind: 'cell',
  column: 0,
  base: 'was',
  local: 'mine',
  remote: 'theirs',
  winner: 'nobody',
  state: 'open',
  renews: null,
};
const LOST = { winner: 'origin', state: 'decided' } as const;

function open(): Promise<Bare> {
  return openBare([described('Title'), described('Count', 'Numeric')], { isTwoWay: true });
}

function keep(bare: Bare, rowId: number, change: Partial<KeptConflict> = {}, at = AT): Promise<void> {
  const table = { ...bare.target(), columns: bare.target().columns as never };
  return bare.write((tx) => keepConflicts(tx, table, { rowId, lines: [{ ...CELL, ...change }], at }));
}

function row(id: number, ...values: readonly Value[]) {
  return { id, allow: null, values };
}

const ids = (lines: readonly { readonly id: number }[]): readonly number[] => lines.map(({ id }) => id);

test('a cell is kept with its three versions under its column; a long number is shown as a text', async () => {
  await using bare = await open();

  await keep(bare, 5, { column: 1, base: null, local: LONG, remote: 7 });

  expect(readConflictLine(bare.replica, 1)).toEqual({
    id: 1,
    table: 'Note',
    rowId: 5,
    kind: 'cell',
    column: 'Count',
    base: null,
    local: String(LONG),
    remote: 7,
    winner: 'nobody',
    at: AT,
    state: 'open',
    resolution: null,
    problem: null,
  });
  expect(readConflict(bare.replica, 1)).toMatchObject({ tableId: 1, columnSeq: 2, local: LONG, remote: 7n });
  expect([readConflictLine(bare.replica, 9), readConflict(bare.replica, 9)]).toEqual([null, null]);
});

test('a whole row is kept as an object of its columns, and a version that does not exist as null', async () => {
  await using bare = await open();

  await keep(bare, 5, {
    kind: 'deletedHere',
    column: null,
    base: row(5, 'was', LONG),
    local: null,
    remote: row(5, 'x', 1),
  });

  expect(readConflictLine(bare.replica, 1)).toMatchObject({
    column: null,
    base: `{"_id":5,"Title":"was","Count":${LONG}}`,
    local: null,
    remote: '{"_id":5,"Title":"x","Count":1}',
  });
});

test('a question that is asked again keeps its number and its first base, with the versions of now', async () => {
  await using bare = await open();
  await keep(bare, 5);

  await keep(bare, 5, { renews: 1, base: 'later base', local: 'mine 2', remote: 'theirs 2' });

  expect(bare.lines('SELECT id, base, local, remote, state FROM sync_conflicts')).toEqual([
    [1, 'was', 'mine 2', 'theirs 2', 'open'],
  ]);
});

test('it is shown under the names that its table and column have now', async () => {
  await using bare = await open();
  await keep(bare, 5);
  bare.execute(
    `UPDATE _rowsync_tables SET local_name = 'Letter'; UPDATE _rowsync_columns SET local_name = 'Heading' WHERE seq = 1`,
  );
  expect(bare.lines('SELECT "table", "column" FROM sync_conflicts')).toEqual([['Letter', 'Heading']]);

  bare.execute('DELETE FROM _rowsync_tables; DELETE FROM _rowsync_columns');

  expect(bare.lines('SELECT "table", "column" FROM sync_conflicts')).toEqual([['Note', 'Title']]);
});

test('open questions are found by row and column, also where the table has the column no more', async () => {
  await using bare = await open();
  await keep(bare, 5, { column: 1 });
  await keep(bare, 5, { kind: 'deletedThere', column: null });
  await keep(bare, 6, LOST);
  await keep(bare, 7);
  const [, count] = bare.target().columns;
  const left = { id: 1, columns: [must(count, 'the second column')] as never };

  expect([...readOpenQuestions(bare.replica, left, [5, 6, 7])]).toEqual([
    [
      5,
      [
        { rowId: 5, id: 1, kind: 'cell', column: 0 },
        { rowId: 5, id: 2, kind: 'deletedThere', column: null },
      ],
    ],
    [7, [{ rowId: 7, id: 4, kind: 'cell', column: -1 }]],
  ]);
  expect([5, 6].map((rowId) => hasOpenConflict(bare.replica, 1, rowId))).toEqual([true, false]);
});

test('rows with a question are those with an open one, and those that wait for one that is closed', async () => {
  await using bare = await open();
  await keep(bare, 5);
  await keep(bare, 6, LOST);
  await bare.write((tx) => {
    storeRowStates(tx, 1, [7], { state: 'conflicted', at: AT });
    storeRowStates(tx, 1, [8], { state: 'edited', at: AT });
  });

  expect(readQuestionedIds(bare.replica, 1)).toEqual([5, 7]);
});

test('a person decides with an UPDATE, and nothing else of a conflict can be changed', async () => {
  await using bare = await open();
  await keep(bare, 5);
  await keep(bare, 6, { kind: 'deletedHere', column: null, local: null });
  const decide = (set: string, id: number): void => bare.execute(`UPDATE sync_conflicts SET ${set} WHERE id = ${id}`);

  expect(() => decide(`local = 'x'`, 1)).toThrow('only resolution and value');
  expect(() => decide(`state = 'settled'`, 1)).toThrow('only resolution and value');
  expect(() => decide(`resolution = 'mine'`, 1)).toThrow('resolution is one of local, remote, base and value');
  expect(() => decide(`resolution = 'value', value = 'x'`, 2)).toThrow('takes local, remote or base');
  expect(readRequestTables(bare.replica)).toEqual([]);
  decide(`resolution = 'value', value = 'both'`, 1);
  decide(`resolution = 'remote'`, 2);
  decide('resolution = NULL', 2);

  expect(readRequestTables(bare.replica)).toEqual([1]);
  expect(readRequests(bare.replica, 1)).toMatchObject([{ id: 1, resolution: 'value', value: 'both', state: 'open' }]);
  expect(readRequests(bare.replica, 2)).toEqual([]);
});

test('a decision is carried out once; a problem leaves the question open, and the next decision clears it', async () => {
  await using bare = await open();
  await keep(bare, 5);
  bare.execute(`UPDATE sync_conflicts SET resolution = 'local'`);

  await bare.write((tx) => closeConflict(tx, 1, { problem: 'the row is gone' }));
  expect(readRequests(bare.replica, 1)).toEqual([]);
  expect(readConflictLine(bare.replica, 1)).toMatchObject({ state: 'open', problem: 'the row is gone' });

  bare.execute(`UPDATE sync_conflicts SET resolution = 'remote'`);
  expect(readConflictLine(bare.replica, 1)).toMatchObject({ state: 'open', problem: null });
  await bare.write((tx) => closeConflict(tx, 1, { resolution: 'remote', value: null }));

  expect(readRequests(bare.replica, 1)).toEqual([]);
  expect(readConflictLine(bare.replica, 1)).toMatchObject({ state: 'resolved', resolution: 'remote', problem: null });
});

test('questions that need no answer any more are settled, with what was asked for them', async () => {
  await using bare = await open();
  for (const id of [5, 6, 7]) await keep(bare, id);
  bare.execute(`UPDATE sync_conflicts SET resolution = 'local'`);

  await bare.write((tx) => {
    settleConflicts(tx, []);
    settleConflicts(tx, [1, 3]);
  });

  expect(bare.lines('SELECT state FROM sync_conflicts ORDER BY id')).toEqual([['settled'], ['open'], ['settled']]);
  expect(ids(readRequests(bare.replica, 1))).toEqual([2]);
});

test('edits that lost are shown for a week, until a person has seen them', async () => {
  await using bare = await open();
  const week = 7 * 86_400_000;
  const since = shownSince(Date.parse(AT) + week);
  await keep(bare, 1, LOST, '2026-11-21T11:59:59Z');
  await keep(bare, 2, LOST);
  await keep(bare, 3, { winner: 'local', state: 'decided' });
  await keep(bare, 4);
  await keep(bare, 5, LOST, '2026-11-22T00:00:00Z');
  expect([since, ids(readUnseen(bare.replica, since))]).toEqual([AT, [2, 5]]);
  expect([...countUnseen(bare.replica, since)]).toEqual([['Note', { count: 2, since: AT }]]);
  expect(ids(readLostSince(bare.replica, 1))).toEqual([2, 5]);

  expect(await bare.write((tx) => storeSeen(tx, 4))).toBe(2);

  expect(ids(readUnseen(bare.replica, since))).toEqual([5]);
  expect(ids(readLostSince(bare.replica, 1))).toEqual([2, 5]);
});

test('a run finds its own conflicts, and discarded edits come the oldest first', async () => {
  await using bare = await open();
  expect(readLastConflictId(bare.replica)).toBe(0);
  for (const rowId of [1, 2, 3]) await keep(bare, rowId, { winner: 'local', state: 'discarded' });
  await keep(bare, 4, LOST);

  expect(readConflictsSince(bare.replica, 1, 2)).toEqual([
    { rowId: 3, winner: 'local' },
    { rowId: 4, winner: 'origin' },
  ]);
  expect(ids(readDiscardedSince(bare.replica, 1, 1))).toEqual([2]);
  expect([readLastConflictId(bare.replica), countConflicts(bare.replica, 1), countConflicts(bare.replica, 2)]).toEqual([
    4, 4, 0,
  ]);
});

test('conflicts go along to the new id of their row, and single versions can be written anew', async () => {
  await using bare = await open();
  await keep(bare, -2);
  await keep(bare, -3);
  await bare.write((tx) => {
    renumberConflicts(tx, 1, -2, 9);
    storeVersions(tx, 1, { remote: 'theirs 2' });
  });

  expect(bare.lines('SELECT row_id, base, local, remote FROM sync_conflicts ORDER BY id')).toEqual([
    [9, 'was', 'mine', 'theirs 2'],
    [-3, 'was', 'mine', 'theirs'],
  ]);
});

test('a decision made on older versions is told by its digest', async () => {
  await using bare = await open();
  await keep(bare, 5);
  const version = (): string => conflictVersion(must(readConflictLine(bare.replica, 1), 'it is kept'));
  const before = version();

  await keep(bare, 5, { renews: 1, remote: 'theirs 2' });

  expect(version()).not.toBe(before);
  await keep(bare, 5, { renews: 1 });
  expect(version()).toBe(before);
});

test.each<readonly [Partial<ConflictLine>, string]>([
  [{ state: 'open', winner: 'nobody' }, ''],
  [{ state: 'decided', winner: 'origin' }, 'remote'],
  [{ state: 'decided', winner: 'local' }, 'local'],
  [{ state: 'resolved', winner: 'nobody', resolution: 'base' }, 'base'],
  [{ state: 'resolved', winner: 'origin', resolution: 'value' }, 'another value'],
  // Decided by a person and not carried out yet.
  [{ state: 'open', winner: 'nobody', resolution: 'local' }, ''],
])('%j ended with the version %j', (change, version) => {
  const line = { resolution: null, ...change } as ConflictLine;

  expect(takenVersion(line)).toBe(version);
});

/** Why rows were not taken, and when they are tried again: by themselves where that can help, and not before. */
import { expect, test } from 'vitest';
import {
  forgetRefusals,
  readDueIds,
  readNextRetryMs,
  readOvertakenRefusals,
  readReasons,
  readSent,
  readUnansweredIds,
  readWaiting,
  readWaitingDeletes,
  renumberRefusal,
  storeRefusal,
} from '../../../src/replica/bookkeeping/refusals.ts';
import { storeRowStates } from '../../../src/replica/bookkeeping/row-states.ts';
import type { RowRefusal } from '../../../src/reconcile/row-outcome.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const NOW = Date.parse(AT);
const MINUTE = 60_000;
const REFUSAL: RowRefusal = { kind: 'update', reason: 'no', column: null, words: null, hope: 'soon', cells: [] };
const COLUMNS = [described('Price', 'Numeric'), described('Done', 'Checkbox'), described('Title')];

interface Refused {
  readonly change?: Partial<RowRefusal>;
  readonly nowMs?: number;
  readonly state?: string;
}

/** Refuses a row of Note. */
function refuse(bare: Bare, rowId: number, { change, nowMs = NOW, state = 'refused' }: Refused = {}): Promise<void> {
  return bare.write((tx) => {
    storeRefusal(tx, { id: 1, columns: bare.target().columns as never }, { ...REFUSAL, ...change, rowId }, nowMs);
    storeRowStates(tx, 1, [rowId], { state, at: AT });
  });
}

function failures(bare: Bare, columns = '*'): unknown[] {
  return bare.rows(`SELECT ${columns} FROM sync_failures ORDER BY id`);
}

test('a refusal is shown with what was sent, each value with all of its digits, and with the words of the origin', async () => {
  await using bare = await openBare(COLUMNS);
  const words = { status: 400, code: 3001, source: 'Price', message: 'too much' } as never;
  const cells = [
    { column: 0, value: 2n ** 62n },
    { column: 1, value: true },
    { column: 2, value: null },
  ];

  await refuse(bare, 5, { change: { words, cells, kind: 'insert', reason: 'too much' } });

  expect(failures(bare)).toEqual([
    {
      id: 1,
      table: 'Note',
      row_id: 5,
      kind: 'insert',
      column: 'Price',
      reason: 'too much',
      since: AT,
      status: 400,
      code: 3001,
      sent: '{"Price":4611686018427387904,"Done":1,"Title":null}',
      retry_at: '2026-11-21T12:01:00Z',
    },
  ]);
  expect(readSent(bare.replica, 1, 5)).toBe('{"Price":4611686018427387904,"Done":1,"Title":null}');
  expect([...readReasons(bare.replica, 1)]).toEqual([[5, { reason: 'too much', isOfOrigin: true }]]);
});

test('the column at fault is ours where a check of ours named it, and the origin’s word where no column is called so', async () => {
  await using bare = await openBare(COLUMNS);
  const words = { status: 400, code: 1, source: 'Elsewhere', message: '' } as never;

  await refuse(bare, 1, { change: { column: 2, words } });
  await refuse(bare, 2, { change: { words } });
  await refuse(bare, 3);

  expect(failures(bare, '"column", sent')).toEqual([
    { column: 'Title', sent: null },
    { column: 'Elsewhere', sent: null },
    { column: null, sent: null },
  ]);
  expect([readReasons(bare.replica, 1).get(3), readSent(bare.replica, 1, 3)]).toEqual([
    { reason: 'no', isOfOrigin: false },
    null,
  ]);
});

test.each([
  ['soon', [MINUTE, 2 * MINUTE, 4 * MINUTE]],
  ['later', [60 * MINUTE, 120 * MINUTE, 240 * MINUTE]],
] as const)('a row that may be taken %s waits longer each time', async (hope, waits) => {
  await using bare = await openBare(COLUMNS);

  for (const wait of waits) {
    await refuse(bare, 5, { change: { hope } });
    expect([readDueIds(bare.replica, 1, NOW + wait - 1), readDueIds(bare.replica, 1, NOW + wait)]).toEqual([[], [5]]);
  }

  expect(failures(bare)).toHaveLength(1);
});

test('a row without hope is not tried again by itself, and a parked one is not due', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, 1, { change: { hope: 'never' } });
  await refuse(bare, 2, { state: 'inDoubt' });
  await refuse(bare, 3, { state: 'edited' });

  expect(readDueIds(bare.replica, 1, NOW + 1_000 * MINUTE)).toEqual([]);
  expect(readNextRetryMs(bare.replica, NOW)).toBe(Infinity);
});

test('the next try is that of the first row that is due later', async () => {
  await using bare = await openBare(COLUMNS);
  await bare.makeTable(2, 'Task', COLUMNS);
  await refuse(bare, 1, { change: { hope: 'later' } });
  await refuse(bare, 2, { nowMs: NOW - 1 });

  expect(readNextRetryMs(bare.replica, NOW)).toBe(NOW - 1 + MINUTE);
  expect(readNextRetryMs(bare.replica, NOW + MINUTE)).toBe(NOW + 60 * MINUTE);
});

test('a row that was refused later than now is due: the clock was set back', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, 1, { change: { hope: 'later' } });

  expect(readDueIds(bare.replica, 1, NOW - 500 * MINUTE)).toEqual([1]);
});

test('what waits is listed in the order of its failures, all or some of it; what goes on is not', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, 9);
  await refuse(bare, -2, { state: 'inDoubt' });
  await refuse(bare, 3, { state: 'edited' });
  const short = (ids: readonly number[]): unknown =>
    readWaiting(bare.replica, ids).map(({ rowId, state }) => [rowId, state]);

  expect(short([])).toEqual([
    [9, 'refused'],
    [-2, 'inDoubt'],
  ]);
  expect(short([2, 3])).toEqual([[-2, 'inDoubt']]);
  expect(failures(bare, 'row_id, kind')).toEqual([
    { row_id: 9, kind: 'update' },
    { row_id: -2, kind: 'inDoubt' },
  ]);
});

test('rows whose request ended without a message are told from those that the origin, or a check of ours, refused', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, 1, { change: { words: { status: 502, code: null, source: null } as never } });
  await refuse(bare, 2, { change: { words: { status: 400, code: 5, source: null } as never } });
  await refuse(bare, 3);

  expect(readUnansweredIds(bare.replica, 1, [1, 2, 3])).toEqual([1]);
  expect(readUnansweredIds(bare.replica, 1, [2, 3])).toEqual([]);
});

test('waiting deletes are refused ones, and those of which a person is asked', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, 1, { change: { kind: 'delete' } });
  await refuse(bare, 2);
  await refuse(bare, 3, { change: { kind: 'delete' }, state: 'edited' });
  await bare.write((tx) => storeRowStates(tx, 1, [4, 5, 6], { state: 'conflicted', at: AT }));
  bare.execute(`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, winner, at, state)
    VALUES (1, 'Note', 4, 'deletedHere', 'nobody', '${AT}', 'open'), (1, 'Note', 5, 'deletedThere', 'nobody', '${AT}', 'open'),
      (1, 'Note', 6, 'deletedHere', 'origin', '${AT}', 'settled')`);

  expect(readWaitingDeletes(bare.replica, 1)).toEqual([1, 4]);
});

test('a refusal is outdated once a row that was refused with values is deleted, or a deleted one is here', async () => {
  await using bare = await openBare(COLUMNS);
  bare.execute(`INSERT INTO "Note" (_id) VALUES (1), (3)`);
  await refuse(bare, 1);
  await refuse(bare, 2);
  await refuse(bare, 3, { change: { kind: 'delete' } });
  await refuse(bare, 4, { change: { kind: 'delete' } });

  expect(readOvertakenRefusals(bare.replica, bare.target())).toEqual([2, 3]);
});

test('a row takes its refusal along to its new id, in place of one there; an accepted row has none, and counts anew', async () => {
  await using bare = await openBare(COLUMNS);
  await refuse(bare, -2, { change: { reason: 'of the new row' } });
  await refuse(bare, 7, { change: { reason: 'of another' } });
  await bare.write((tx) => renumberRefusal(tx, 1, -2, 7));
  expect([...readReasons(bare.replica, 1)]).toEqual([[7, { reason: 'of the new row', isOfOrigin: false }]]);

  await bare.write((tx) => forgetRefusals(tx, 1, [7]));
  await refuse(bare, 7);

  expect(readDueIds(bare.replica, 1, NOW + MINUTE)).toEqual([7]);
});

test('a row that cannot be read is a failure without an id, which no person retries', async () => {
  await using bare = await openBare(COLUMNS);
  bare.execute(`INSERT INTO _rowsync_unreadable VALUES (1, 8, 'Done', 'no truth value', '${AT}')`);

  expect(failures(bare, 'id, "table", row_id, kind, "column", reason, since, retry_at')).toEqual([
    {
      id: null,
      table: 'Note',
      row_id: 8,
      kind: 'read',
      column: 'Done',
      reason: 'no truth value',
      since: AT,
      retry_at: null,
    },
  ]);
});

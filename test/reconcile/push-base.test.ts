import { describe, expect, test } from 'vitest';
import type { SentFile } from '../../src/reconcile/files.ts';
import { mergeRow, type MergeColumn, type MergeDecision } from '../../src/reconcile/merge.ts';
import { baseAfterAnswer, baseAsSent, isApplied, isLeftAsSent, type SentRow } from '../../src/reconcile/push-settle.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
  { type: 'Text', writable: false, automatic: true },
];

function row(id: number, ...values: readonly Value[]): Row {
  return { id, allow: null, values: Object.freeze(values) };
}

const BEFORE = row(7, 'a', 'x', 'f');
/** The first cell was sent as `b`. */
const SENT: SentRow = { base: BEFORE, sent: [{ column: 0, value: 'b' }] };
const NEW: SentRow = { base: null, sent: [{ column: 0, value: 'b' }] };

test('the base as sent has the cells that were sent, and the others as they were', () => {
  expect(baseAsSent(SENT, 7, 3)).toEqual(row(7, 'b', 'x', 'f'));
  expect(baseAsSent(NEW, 9, 3)).toEqual(row(9, 'b', null, null));
  expect(baseAsSent({ ...SENT, base: { ...BEFORE, allow: 'Edit' } }, 7, 3).allow).toBe('Edit');
});

test('a row that was deleted here meanwhile has the form of the origin in a cell that was sent empty', () => {
  const columns: readonly MergeColumn[] = [{ type: 'Checkbox', writable: true }];
  const before: SentRow = { base: row(7, true), sent: [{ column: 0, value: null }] };
  const facts = { columns, isAccepted: true, arrived: new Set<number>() };

  expect(baseAfterAnswer(before, { local: null, remote: row(7, false) }, facts).values).toEqual([false]);
  expect(baseAfterAnswer(before, { local: row(7, null), remote: row(7, false) }, facts).values).toEqual([null]);
});

/** What the one merge makes of a row, under the policy that the origin wins. */
function settle(before: SentRow, now: { local: Row | null; remote: Row }, isAccepted: boolean): MergeDecision {
  const base = baseAfterAnswer(before, now, { columns: COLUMNS, isAccepted, arrived: new Set() });
  return mergeRow({ base, ...now }, COLUMNS, 'origin');
}

function textOf({ local, state, conflicts }: MergeDecision): string {
  const values = local === null ? 'no row' : local.values.join();
  return `${state} ${values} ${conflicts.map((conflict) => conflict.kind).join()}`.trim();
}

describe('a row that was accepted and read back', () => {
  test.each<[string, SentRow, Row | null, Row, string]>([
    ['is settled', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), 'settled b,x,g'],
    ['takes what the origin made of the value', SENT, row(7, 'b', 'x', 'f'), row(7, 'B', 'x', 'g'), 'settled B,x,g'],
    ['keeps a cell that was edited again', SENT, row(7, 'c', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed c,x,g'],
    ['keeps an edit back to the old value', SENT, row(7, 'a', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed a,x,g'],
    ['keeps an edit of another cell', SENT, row(7, 'b', 'y', 'f'), row(7, 'b', 'x', 'g'), 'changed b,y,g'],
    ['takes what a workflow did to another cell', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'z', 'g'), 'settled b,z,g'],
    ['takes the defaults of a new row', NEW, row(-1, 'b', null, null), row(9, 'b', 'd', 'g'), 'settled b,d,g'],
    [
      'is a conflict in a cell that both sides changed',
      SENT,
      row(7, 'b', 'y', 'f'),
      row(7, 'b', 'z', 'g'),
      'settled b,z,g cell',
    ],
    [
      'is a conflict in a sent cell that both sides changed since',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'd', 'x', 'g'),
      'settled d,x,g cell',
    ],
    ['is still to be deleted where it was deleted since', SENT, null, row(7, 'b', 'x', 'f'), 'changed no row'],
    ['is still to be deleted where it is new', NEW, null, row(9, 'b', null, 'g'), 'changed no row'],
    [
      'is a conflict where it was deleted, and others changed it',
      SENT,
      null,
      row(7, 'b', 'z', 'f'),
      'settled b,z,f deletedHere',
    ],
  ])('%s', (_what, before, local, remote, expected) => {
    expect(textOf(settle(before, { local, remote }, true))).toBe(expected);
  });
});

describe('a row that was looked up after its answer got lost', () => {
  test.each<[string, SentRow, Row | null, Row, string]>([
    ['was applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), 'settled b,x,g'],
    ['was not applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'a', 'x', 'f'), 'changed b,x,f'],
    ['was applied and edited here since', SENT, row(7, 'c', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed c,x,g'],
    ['was not applied and edited here since', SENT, row(7, 'c', 'x', 'f'), row(7, 'a', 'x', 'f'), 'changed c,x,f'],
    ['was created', NEW, row(-1, 'b', null, null), row(9, 'b', 'd', 'g'), 'settled b,d,g'],
    ['is to be deleted where it was deleted here since', NEW, null, row(9, 'b', null, 'g'), 'changed no row'],
    [
      'is a conflict where a colleague wrote another value',
      SENT,
      row(7, 'b', 'x', 'f'),
      row(7, 'c', 'x', 'g'),
      'settled c,x,g cell',
    ],
    [
      'is a conflict where it was emptied here since, and a colleague wrote',
      SENT,
      row(7, null, 'x', 'f'),
      row(7, 'c', 'x', 'g'),
      'settled c,x,g cell',
    ],
    [
      'is settled where both sides emptied it since',
      SENT,
      row(7, null, 'x', 'f'),
      row(7, null, 'x', 'g'),
      'settled ,x,g',
    ],
  ])('%s', (_what, before, local, remote, expected) => {
    expect(textOf(settle(before, { local, remote }, false))).toBe(expected);
  });
});

describe('the base after an answer', () => {
  const base = (before: SentRow, now: { local: Row | null; remote: Row }, columns = COLUMNS): Row =>
    baseAfterAnswer(before, now, { columns, isAccepted: false, arrived: new Set() });

  test.each<[string, Row | null, Row]>([
    ['is empty but for what was sent', row(-1, 'b', null, null), row(9, 'b', null, null)],
    ['has what the origin filled in where the row was deleted here', null, row(9, 'b', null, 'g')],
  ])('of a new row %s', (_what, local, expected) => {
    expect(base(NEW, { local, remote: row(9, 'b', 'd', 'g') })).toEqual(expected);
  });

  test('keeps the rights on the row', () => {
    const before = { ...SENT, base: { ...BEFORE, allow: 'Edit' } };
    expect(base(before, { local: BEFORE, remote: BEFORE }).allow).toBe('Edit');
  });

  test.each<[string, Value, Value, Value]>([
    ['is as before where the origin has that, which is also its form of what was sent', 1.234568, 1.234568, 1.234568],
    ['is as sent where the origin has its form of it, and had another value', 5, 1.234568, 1.23456789],
    ['is as sent where the origin has its form of it, and had none', null, 1.234568, 1.23456789],
    ['is as before where the origin has another value', 5, 6, 5],
  ])('of a number %s', (_what, before, there, expected) => {
    const sent = { base: row(7, before), sent: [{ column: 0, value: 1.23456789 }] };
    const now = { local: row(7, 1.23456789), remote: row(7, there) };
    expect(base(sent, now, [{ type: 'Numeric', writable: true }]).values).toEqual([expected]);
  });
});

describe('the base of a cell with a file', () => {
  const columns: readonly MergeColumn[] = [{ type: 'Attachment', writable: true }];
  const [OLD, OURS, THEIRS] = ['old.txt;1;g1', 'a.txt;2;g2', 'b.txt;2;g3'];
  const file: SentFile = { path: '/a.txt', name: 'a.txt', type: 'text/plain', bytes: 1, sha256: '00', before: OLD };
  const before: SentRow = { base: row(7, OLD), sent: [{ column: 0, value: 'file:a.txt', file }] };

  test.each<[string, Value, Value, boolean, boolean, Value]>([
    [
      'is the request where the row stands as sent, so that the answer settles it',
      'file:a.txt',
      OURS,
      true,
      true,
      'file:a.txt',
    ],
    ['is what the origin shows where another file is asked for', 'file:b.txt', OURS, true, true, OURS],
    ['is what the origin shows where the file was removed here', null, OURS, true, true, OURS],
    ['is the former one where that was put back', OLD, OURS, true, true, OLD],
    ['is the request where the file arrived, whatever was answered', 'file:a.txt', OURS, true, false, 'file:a.txt'],
    ['is the request where the same file was there before', 'file:a.txt', OLD, true, false, 'file:a.txt'],
    ['is the former one where the file did not arrive', 'file:a.txt', OLD, false, false, OLD],
    ['is the request where the origin took it, and shows another one', 'file:a.txt', THEIRS, false, true, 'file:a.txt'],
  ])('%s', (_what, local, remote, hasArrived, isAccepted, expected) => {
    const arrived = new Set(hasArrived ? [0] : []);
    const now = { local: row(7, local), remote: row(7, remote) };
    expect(baseAfterAnswer(before, now, { columns, isAccepted, arrived }).values).toEqual([expected]);
  });

  test('is what the origin shows where there was none before, and it was removed here', () => {
    const now = { local: row(7, null), remote: row(7, OURS) };
    const facts = { columns, isAccepted: true, arrived: new Set([0]) };
    expect(baseAfterAnswer({ ...before, base: row(7, null) }, now, facts).values).toEqual([OURS]);
  });

  test.each([
    ['has arrived', [0], true],
    ['has not arrived, though the name is the same', [], false],
  ])('is applied where the file %s', (_what, arrived, expected) => {
    expect(isApplied(before.sent, row(7, 'file:a.txt'), columns, new Set(arrived))).toBe(expected);
  });
});

test.each<[string, Value, Value, boolean]>([
  ['as it was sent', 'b', 'b', true],
  ['otherwise', 'b', 'c', false],
  ['nothing of it', 'b', null, false],
  ['nothing where nothing was sent', null, null, true],
])('whether a row holds what was sent: %s', (_what, value, there, expected) => {
  expect(isApplied([{ column: 0, value }], row(7, there, 'x', 'f'), COLUMNS, new Set())).toBe(expected);
});

test('a row holds what was sent where it holds every cell, each by its type', () => {
  const columns = [{ type: 'Numeric', writable: true } as const, ...COLUMNS];
  const sent = [
    { column: 0, value: 1.23456789 },
    { column: 1, value: 'b' },
  ];
  expect(isApplied(sent, row(7, 1.234568, 'b'), columns, new Set())).toBe(true);
  expect(isApplied(sent, row(7, 1.234568, 'c'), columns, new Set())).toBe(false);
  expect(isApplied([{ column: 0, value: null }], null, columns, new Set())).toBe(false);
});

test.each([
  ['as it was sent', 'update', row(7, 'b', 'x', 'f'), true],
  ['edited since', 'update', row(7, 'c', 'x', 'f'), false],
  ['deleted since', 'update', null, false],
  ['deleted, as was asked', 'delete', null, true],
  ['put back, though its delete was asked', 'delete', row(7, 'b', 'x', 'f'), false],
] as const)('whether a row is left as it was sent: %s', (_what, kind, local, expected) => {
  expect(isLeftAsSent({ ...SENT, local }, kind, COLUMNS)).toBe(expected);
});

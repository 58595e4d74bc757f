import { describe, expect, test } from 'vitest';
import { mergeRow, type Conflict, type MergeColumn, type MergeDecision } from '../../src/reconcile/merge.ts';
import {
  baseAfterLookup,
  baseAsSent,
  baseForReadBack,
  baseOfFormerFiles,
  baseOfMadeAgain,
  baseOfMet,
  baseOfMetLater,
  baseOfMetUnsent,
  baseOfReplaced,
  mayBeColleagues,
  type SentRow,
} from '../../src/reconcile/push-settle.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
  { type: 'Text', writable: false },
];

function row(id: number, ...values: readonly Value[]): Row {
  return { id, allow: null, values };
}

const BEFORE = row(7, 'a', 'x', 'f');
/** The first cell was sent as `b`. */
const SENT: SentRow = { base: BEFORE, sent: [{ column: 0, value: 'b' }] };
const NEW: SentRow = { base: null, sent: [{ column: 0, value: 'b' }] };

test('the base as sent has the cells that were sent, and the others as they were', () => {
  expect(baseAsSent(SENT, 7, 3)).toEqual(row(7, 'b', 'x', 'f'));
  expect(baseAsSent(NEW, 9, 3)).toEqual(row(9, 'b', null, null));
});

describe('a row that was accepted and read back', () => {
  const settle = (before: SentRow, local: Row | null, remote: Row): MergeDecision =>
    mergeRow({ base: baseForReadBack(before, { local, remote }, COLUMNS), local, remote }, COLUMNS, 'origin');

  test.each<[string, SentRow, Row, Row, Row, string]>([
    ['is settled', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), row(7, 'b', 'x', 'g'), 'settled'],
    [
      'takes what the origin made of the value',
      SENT,
      row(7, 'b', 'x', 'f'),
      row(7, 'B', 'x', 'g'),
      row(7, 'B', 'x', 'g'),
      'settled',
    ],
    [
      'keeps a cell that was edited again',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'b', 'x', 'g'),
      row(7, 'c', 'x', 'g'),
      'changed',
    ],
    [
      'keeps it although the origin changed what was sent',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'B', 'x', 'g'),
      row(7, 'c', 'x', 'g'),
      'changed',
    ],
    [
      'keeps an edit back to the old value',
      SENT,
      row(7, 'a', 'x', 'f'),
      row(7, 'b', 'x', 'g'),
      row(7, 'a', 'x', 'g'),
      'changed',
    ],
    [
      'keeps an edit of another cell',
      SENT,
      row(7, 'b', 'y', 'f'),
      row(7, 'b', 'x', 'g'),
      row(7, 'b', 'y', 'g'),
      'changed',
    ],
    [
      'takes what a workflow did to another cell',
      SENT,
      row(7, 'b', 'x', 'f'),
      row(7, 'b', 'w', 'g'),
      row(7, 'b', 'w', 'g'),
      'settled',
    ],
    [
      'takes the defaults of a new row',
      NEW,
      row(9, 'b', null, null),
      row(9, 'b', 'default', 'g'),
      row(9, 'b', 'default', 'g'),
      'settled',
    ],
    [
      'keeps an edit of a cell that the origin gave a default',
      NEW,
      row(9, 'b', 'mine', null),
      row(9, 'b', 'default', 'g'),
      row(9, 'b', 'mine', 'g'),
      'changed',
    ],
  ])('%s', (_what, before, local, remote, expected, state) => {
    const decision = settle(before, local, remote);

    expect(decision).toEqual({ local: expected, base: remote, conflicts: [], state });
  });

  test('is a conflict in a cell that was not sent and that both sides changed', () => {
    const { conflicts } = settle(SENT, row(7, 'b', 'mine', 'f'), row(7, 'b', 'theirs', 'f'));

    expect(conflicts).toMatchObject([{ kind: 'cell', column: 1, local: 'mine', remote: 'theirs' }]);
  });

  test('is a conflict when it was deleted in flight, and others changed a cell that was not sent', () => {
    const { conflicts } = settle(SENT, null, row(7, 'B', 'theirs', 'g'));

    expect(conflicts).toEqual([
      { kind: 'deletedHere', base: row(7, 'B', 'x', 'f'), remote: row(7, 'B', 'theirs', 'g'), winner: 'origin' },
    ]);
  });

  test('is still to be deleted when it was deleted in flight', () => {
    const remote = row(7, 'B', 'x', 'g');

    expect(settle(SENT, null, remote)).toEqual({ local: null, base: remote, conflicts: [], state: 'changed' });
  });
});

test('a key that a statement left out while the row was on its way is taken from the origin', () => {
  const columns: readonly MergeColumn[] = [{ type: 'Autonumber', writable: true, automatic: true }, ...COLUMNS];
  const sent = [{ column: 0, value: '7' }];
  const [local, remote] = [row(-1, null, 'b', 'x', null), row(9, '7', null, null, null)];

  for (const base of [
    baseForReadBack({ base: null, sent }, { local, remote }, columns),
    baseAfterLookup({ base: null, sent }, { local, remote }, columns),
  ]) {
    expect(mergeRow({ base, local, remote }, columns, 'local').local?.values[0]).toBe('7');
  }
});

test('a match value that only said which row is meant is in conflict like any other cell that was not sent', () => {
  const sent = [
    { column: 0, value: 'b' },
    { column: 1, value: 'x' },
  ];
  const [local, remote] = [row(7, 'b', null, 'f'), row(7, 'b', 'theirs', 'f')];
  const base = baseForReadBack({ base: BEFORE, sent }, { local, remote }, COLUMNS);

  expect(mergeRow({ base, local, remote }, COLUMNS, 'origin')).toMatchObject({
    local: remote,
    conflicts: [{ kind: 'cell', column: 1, base: 'x', local: null, remote: 'theirs', winner: 'origin' }],
    state: 'settled',
  });
});

describe('a row that was looked up after its answer got lost', () => {
  const settle = (before: SentRow, local: Row | null, remote: Row): MergeDecision =>
    mergeRow({ base: baseAfterLookup(before, { local, remote }, COLUMNS), local, remote }, COLUMNS, 'origin');

  test.each<[string, SentRow, Row, Row, Row, string]>([
    ['was applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), row(7, 'b', 'x', 'g'), 'settled'],
    ['was not applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'a', 'x', 'f'), row(7, 'b', 'x', 'f'), 'changed'],
    [
      'was applied and edited here since',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'b', 'x', 'f'),
      row(7, 'c', 'x', 'f'),
      'changed',
    ],
    [
      'was not applied and edited here since',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'a', 'x', 'f'),
      row(7, 'c', 'x', 'f'),
      'changed',
    ],
    ['was created', NEW, row(9, 'b', null, null), row(9, 'b', 'default', 'g'), row(9, 'b', 'default', 'g'), 'settled'],
  ])('%s', (_what, before, local, remote, expected, state) => {
    expect(settle(before, local, remote)).toMatchObject({ local: expected, conflicts: [], state });
  });

  test('is to be deleted where it was created and deleted here since', () => {
    const remote = row(9, 'b', 'default', 'g');

    expect(settle(NEW, null, remote)).toEqual({ local: null, base: remote, conflicts: [], state: 'changed' });
  });

  test('is a conflict where it was deleted here since, and the origin has other values', () => {
    const { conflicts } = settle(NEW, null, row(9, 'theirs', 'default', 'g'));

    expect(conflicts).toMatchObject([{ kind: 'deletedHere' }]);
  });

  test('is a conflict where a colleague wrote another value', () => {
    const { conflicts } = settle(SENT, row(7, 'b', 'x', 'f'), row(7, 'theirs', 'x', 'f'));

    expect(conflicts).toMatchObject([{ kind: 'cell', column: 0, base: 'a', local: 'b', remote: 'theirs' }]);
  });

  test('is a conflict where a cell of it was emptied here since, and a colleague wrote another value', () => {
    const { conflicts } = settle(NEW, row(-1, null, 'x', null), row(9, 'theirs', 'x', null));

    expect(conflicts).toMatchObject([{ kind: 'cell', column: 0, base: 'b', local: null, remote: 'theirs' }]);
  });

  test('is settled where a cell of it was emptied on both sides since', () => {
    const { conflicts, state } = settle(NEW, row(-1, null, 'x', null), row(9, null, 'x', null));

    expect({ conflicts, state }).toEqual({ conflicts: [], state: 'settled' });
  });

  test('is a conflict where the row with the same match value is somebody else’s', () => {
    const { conflicts } = settle(
      {
        base: null,
        sent: [
          { column: 0, value: 'b' },
          { column: 1, value: 'mine' },
        ],
      },
      row(-1, 'b', 'mine', null),
      row(9, 'b', 'theirs', 'g'),
    );

    expect(conflicts).toMatchObject([{ kind: 'cell', column: 1, local: 'mine', remote: 'theirs' }]);
  });
});

test('a row that its update made again is a new one, but for what only the origin writes', () => {
  const base = baseOfMadeAgain(row(9, 'b', null, null), BEFORE, COLUMNS);

  expect(base).toEqual(row(9, 'b', null, 'f'));
  expect(mergeRow({ base, local: row(7, 'b', 'x', 'f'), remote: row(9, 'b', null, 'g') }, COLUMNS, 'origin')).toEqual({
    local: row(9, 'b', 'x', 'g'),
    base: row(9, 'b', null, 'g'),
    conflicts: [],
    state: 'changed',
  });
});

test.each<[string, Row, Row, readonly Conflict[]]>([
  ['stays empty', row(9, 'was', 'old', 'g'), row(9, null, 'old', 'g'), []],
  [
    'goes over what is there instead, which is kept',
    row(9, 'theirs', 'old', 'g'),
    row(9, null, 'old', 'g'),
    [{ kind: 'cell', column: 0, base: 'was', local: null, remote: 'theirs', winner: 'local' }],
  ],
])('what was emptied in a new row that the origin had before %s', (_what, remote, merged, conflicts) => {
  const local = row(-2, null, 'old', null);

  const decision = mergeRow(
    { base: baseOfMetUnsent(['was', 'old', 'f'], local, { columns: COLUMNS, held: new Map() }), local, remote },
    COLUMNS,
    'local',
  );

  expect(decision).toMatchObject({ local: merged, conflicts, state: 'changed' });
});

test.each<[string, readonly Value[] | null, Row, Row, readonly Conflict[], string]>([
  ['is no edit of it', null, row(-2, 'm', 'file:a'), row(9, 'm', 'a;1;g'), [], 'settled'],
  [
    'is none of one that was there before',
    ['m', 'z;1;g', null],
    row(-2, 'm', 'file:a'),
    row(9, 'm', 'a;1;g'),
    [],
    'settled',
  ],
  [
    'is one where another was named since',
    null,
    row(-2, 'm', 'file:b'),
    row(9, 'm', 'a;1;g'),
    [{ kind: 'cell', column: 1, base: null, local: 'file:b', remote: 'a;1;g', winner: 'local' }],
    'changed',
  ],
  ['is nothing where none is named any more', null, row(-2, 'm', null), row(9, 'm', 'a;1;g'), [], 'settled'],
])(
  'a file of a new row that the row which it meets shows already %s',
  (_what, former, local, remote, conflicts, state) => {
    const columns: readonly MergeColumn[] = [
      { type: 'Text', writable: true },
      { type: 'Attachment', writable: true },
    ];
    const base = baseOfMetUnsent(former, local, { columns, held: new Map([[1, 'file:a']]) });

    expect(mergeRow({ base, local, remote }, columns, 'local')).toMatchObject({ conflicts, state });
  },
);

describe('a create of a row that the origin had before, and whose answer got lost', () => {
  const sent = ['mine', 'old'].map((value, column) => ({ column, value }));
  const settle = (local: Row, remote: Row): MergeDecision => {
    const base = baseAfterLookup({ base: null, sent }, { local, remote }, COLUMNS);
    const met = baseOfMet(['was', 'old', 'f'], local, COLUMNS);
    return mergeRow({ base: baseOfMetLater(base, met, COLUMNS), local, remote }, COLUMNS, 'local');
  };

  test.each<[string, Row, Row, Row, readonly number[], string]>([
    [
      'is settled as it was sent',
      row(-2, 'mine', 'old', null),
      row(9, 'mine', 'old', 'g'),
      row(9, 'mine', 'old', 'g'),
      [],
      'settled',
    ],
    [
      'goes over what was edited here alone',
      row(-2, 'mine', 'old', null),
      row(9, 'theirs', 'new', 'g'),
      row(9, 'mine', 'new', 'g'),
      [0],
      'changed',
    ],
    [
      'leaves empty what was emptied there since',
      row(-2, 'mine', 'old', null),
      row(9, 'mine', null, 'g'),
      row(9, 'mine', null, 'g'),
      [],
      'settled',
    ],
    [
      'keeps what was edited while it was on its way',
      row(-2, 'mine', 'newer', null),
      row(9, 'mine', 'old', 'g'),
      row(9, 'mine', 'newer', 'g'),
      [],
      'changed',
    ],
  ])('%s', (_what, here, remote, merged, conflicts, state) => {
    const decision = settle(here, remote);

    expect(decision.local).toEqual(merged);
    expect(decision.conflicts).toMatchObject(conflicts.map((column) => ({ kind: 'cell', column, winner: 'local' })));
    expect(decision.conflicts).toHaveLength(conflicts.length);
    expect(decision.state).toBe(state);
  });
});

test('a row that may be put in the place of a deleted one keeps what it holds in cells that were not sent', () => {
  const settle = (remote: Row): MergeDecision => {
    const again = baseOfMadeAgain(row(9, null, null, null), BEFORE, COLUMNS);
    const base = baseOfReplaced(again, { former: BEFORE, sent: SENT.sent, remote });
    return mergeRow({ base, local: row(7, 'b', 'x', 'f'), remote }, COLUMNS, 'origin');
  };

  expect(settle(row(9, 'c', 'new', 'g')).local).toEqual(row(9, 'c', 'new', 'g'));
  expect(settle(row(9, 'c', null, 'g')).local).toEqual(row(9, 'c', 'x', 'g'));
});

test.each<[string, Row | null, Row, boolean]>([
  ['given up here, and not as sent', row(-1, 'c', 'y', null), row(9, 'b', 'z', null), true],
  ['deleted here, and not as sent', null, row(9, 'b', 'z', null), true],
  ['given up here, and just as sent', row(-1, 'c', 'y', null), row(9, 'b', 'x', 'f'), false],
  ['deleted here, and just as sent', null, row(9, 'b', 'x', 'f'), false],
  ['still here, and not as sent', row(-1, 'b', 'y', null), row(9, 'b', 'z', null), false],
])('the row that has the unique value of a create may be a colleague’s: %s', (_what, local, remote, expected) => {
  const by = { column: 0, value: 'b' };
  const sent = [by, { column: 1, value: 'x' }];

  expect(mayBeColleagues({ by, sent, isWhole: true, local, remote, columns: COLUMNS })).toBe(expected);
});

test('the row that has the unique value of a create may be a colleague’s where not all that was sent is shown', () => {
  const by = { column: 0, value: 'b' };
  const facts = { by, sent: [by], isWhole: false, remote: row(9, 'b', 'x', 'f'), columns: COLUMNS };

  expect(mayBeColleagues({ ...facts, local: null })).toBe(true);
  expect(mayBeColleagues({ ...facts, local: row(-1, 'b', 'x', 'f') })).toBe(false);
});

describe('the base of a cell with files', () => {
  const former = row(7, 'a', 'x.txt;1;guid', 'f');

  test.each<[string, Row | null, Row | null, Value]>([
    ['has the former one that stands here', former, row(7, 'a', 'x.txt;1;guid', 'f'), 'x.txt;1;guid'],
    ['is what the origin says where another one stands here', former, row(7, 'a', 'y.txt;1;guid', 'f'), 'there'],
    ['is what the origin says where one is asked for', row(7, 'a', 'file:a', 'f'), row(7, 'a', 'file:a', 'f'), 'there'],
    ['is what the origin says where nothing is left', former, row(7, 'a', null, 'f'), 'there'],
    ['is what the origin says where the row was deleted', former, null, 'there'],
    ['is what the origin says of a new row', null, row(7, 'a', 'x.txt;1;guid', 'f'), 'there'],
  ])('%s', (_what, before, local, expected) => {
    const columns = [{ type: 'Text' }, { type: 'Attachment' }, { type: 'Text' }] as const;
    const base = baseOfFormerFiles(row(7, 'b', 'there', 'g'), { former: before, local }, columns);

    expect(base).toEqual(row(7, 'b', expected, 'g'));
  });
});

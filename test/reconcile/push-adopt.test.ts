import { describe, expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import { adoptAlike, adoptAsSent, adoptByValue, doubtOfAbsent, mayBeMade } from '../../src/reconcile/push-adopt.ts';
import type { Value } from '../../src/wire/schema.ts';

function adopted(...creates: readonly (readonly [id: number, candidates: readonly number[]])[]): object {
  return Object.fromEntries(adoptAlike(creates.map(([id, candidates]) => ({ id, candidates }))));
}

test('a create is the one row that fits it', () => {
  expect(adopted([-1, [7]], [-2, [9]])).toEqual({ '-1': 7, '-2': 9 });
});

test('as many rows as alike creates are theirs in the order in which they were sent', () => {
  expect(adopted([-5, [9, 7]], [-4, [7, 9]])).toEqual({ '-4': 7, '-5': 9 });
});

test('a row below the newest one that was known when a create left is not the create', () => {
  const find = (candidates: readonly number[]): object => {
    return Object.fromEntries(adoptAlike([{ id: -1, candidates, newestKnown: 8 }]));
  };
  expect(find([7])).toEqual({});
  expect(find([7, 9])).toEqual({ '-1': 9 });
});

test.each([
  ['no row fits', [[-1, []]]],
  ['more rows fit than were created', [[-1, [7, 9]]]],
  [
    'fewer rows fit than were created',
    [
      [-1, [7]],
      [-2, [7]],
    ],
  ],
  [
    'a row fits another create as well',
    [
      [-1, [7]],
      [-2, [7, 9]],
    ],
  ],
] as const)('where %s, all are in doubt', (_what, creates) => {
  expect(adopted(...creates)).toEqual({});
});

describe('by a unique value', () => {
  const rowWith = (id: number, isExact = true) => ({ row: { id, allow: null, values: [] }, isExact });
  const none = new Set<number>();

  test.each([
    ['a row above the newest one that was known when it left is its own', [2], 5, 7],
    ['so is that row where a pull has brought it in since', [2, 7], 5, 7],
    ['so is a row that is not known here', [], 9, 2],
    ['a row that was known before is not', [2, 7], 7, undefined],
    ['without a newest one the value alone tells', [2, 7], undefined, 2],
  ] as const)('%s', (_what, known, newestKnown, id) => {
    const lost = { id: -1, found: [rowWith(2), rowWith(7)], newestKnown };
    expect(adoptByValue([lost], { known: new Set(known), taken: none }).get(-1)?.id).toBe(id);
  });

  test.each<[string, readonly number[], number | undefined]>([
    ['is about a row that was known', [], 2],
    ['leaves one alone that was known and is edited here', [2], undefined],
    ['is about one that came since, edited or not', [7], 2],
  ])('an upsert of a new row %s', (_what, edited, id) => {
    const lost = { id: -1, found: [rowWith(2)], newestKnown: 5, isMet: true };
    const found = adoptByValue([lost], { known: new Set([2, 7]), taken: none, edited: new Set(edited) });
    expect(found.get(-1)?.id).toBe(id);
    const later = { ...lost, found: [rowWith(2), rowWith(7)] };
    expect(adoptByValue([later], { known: new Set([2, 7]), taken: none, edited: new Set(edited) }).get(-1)?.id).toBe(
      id ?? 7,
    );
  });

  test('a row of another change that was sent is not its own', () => {
    const lost = { id: -1, found: [rowWith(7)] };
    expect(adoptByValue([lost], { known: none, taken: new Set([7]) }).size).toBe(0);
  });

  test('each row is one create, that of the value to the letter where there is one', () => {
    const one = { id: -1, found: [rowWith(7, false), rowWith(8)] };
    const other = { id: -2, found: [rowWith(7), rowWith(8, false)] };
    const third = { id: -3, found: [rowWith(7, false), rowWith(8, false)] };
    const found = adoptByValue([third, one, other], { known: none, taken: none });
    expect([...found].map(([id, row]) => [id, row.id])).toEqual([
      [-1, 8],
      [-2, 7],
    ]);
  });
});

test('what a create made under another unique value is newer than what was known, and no row of another change', () => {
  const others = new Set([10]);
  const rows = [11, 10, 9, 8, 7].map((id) => ({ id }));
  expect(mayBeMade(rows, { newestKnown: 8, others })).toEqual([{ id: 9 }, { id: 11 }]);
  expect(mayBeMade(rows, { newestKnown: undefined, others })).toEqual([]);
});

describe('by all that was sent', () => {
  const columns: readonly MergeColumn[] = [
    { type: 'Text', writable: true },
    { type: 'Text', writable: true },
  ];
  const sent = [
    { column: 0, value: 'A-1' },
    { column: 1, value: 'x' },
  ];
  const rowOf = (id: number, ...values: readonly Value[]) => ({ id, allow: null, values });
  const none = new Set<number>();

  test.each([
    ['that stands as it was sent', [rowOf(8, 'A-2', 'x'), rowOf(9, 'A-1', 'x')], none, 9],
    ['never one with another value', [rowOf(9, 'A-1', 'y')], none, undefined],
    ['never one that was known when it left', [rowOf(7, 'A-1', 'x')], none, undefined],
    ['never one that another change is about', [rowOf(9, 'A-1', 'x')], new Set([9]), undefined],
  ])('a create is the row of a pull %s', (_what, rows, taken, id) => {
    const found = adoptAsSent([{ id: -1, cells: sent, newestKnown: 7 }], rows, { taken, columns });
    expect(found.get(-1)?.id).toBe(id);
  });

  test.each<[string, string | null, number | undefined]>([
    ['its file under its name, the first one there', 'a.txt;1;b0a2c9a0-0000-4000-8000-000000000001', 9],
    ['a later file under its name', 'a.txt;2;b0a2c9a0-0000-4000-8000-000000000001', undefined],
    ['another file', 'b.txt;1;b0a2c9a0-0000-4000-8000-000000000001', undefined],
    ['no file', null, undefined],
  ])('a row that shows %s', (_what, shown, id) => {
    const file = { path: '/a.txt', name: 'a.txt', type: 'text/plain', bytes: 1, sha256: 'x', before: null };
    const cells = [
      { column: 0, value: 'A-1' },
      { column: 1, value: 'file:a.txt', file },
    ];
    const withFile = { taken: none, columns: columns.with(1, { type: 'Attachment', writable: true }) };

    const found = adoptAsSent([{ id: -1, cells }], [rowOf(9, 'A-1', shown)], withFile);

    expect(found.get(-1)?.id).toBe(id);
  });

  test('a row is taken for one create only', () => {
    const creates = [-1, -2].map((id) => ({ id, cells: sent }));
    expect(adoptAsSent(creates, [rowOf(9, 'A-1', 'x')], { taken: none, columns })).toEqual(
      new Map([[-1, rowOf(9, 'A-1', 'x')]]),
    );
  });
});

test.each([
  ['may go again where its sender does not find it, and nothing is like it', {}, null],
  [
    'is in doubt where no value tells it',
    { isIdentified: false },
    'nothing at the origin proves that it was, or was not',
  ],
  ['is in doubt where another caller looked', { isSender: false }, 'it may be hidden from the present user or role'],
  [
    'is in doubt where it was on its way in an older copy',
    { isOlder: true },
    'this replica is an older copy that was put back: it may have another unique value by now',
  ],
  ['is in doubt where a row is like it', { likelyId: 7 }, 'row 7 is like it but for what is unique'],
  [
    'is in doubt where more rows are like it than were looked at',
    { isPartial: true },
    'more rows are like it but for what is unique than one answer has',
  ],
])('a create without an answer, which is not returned, %s', (_what, facts, why) => {
  const usual = { isIdentified: true, isSender: true, isOlder: false, likelyId: null, isPartial: false };

  expect(doubtOfAbsent({ ...usual, ...facts })).toBe(why);
});

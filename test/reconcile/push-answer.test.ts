import { describe, expect, test } from 'vitest';
import {
  areStatusesInOrder,
  isRightLost,
  isRowAtFault,
  isUndone,
  judgeRefusal,
  judgeAnswer,
  type BatchVerdict,
  type RetryHope,
  type RowReply,
  rowsMaxAfter,
  unansweredHope,
  UNANSWERED_MAX,
  madeIds,
  retryHope,
} from '../../src/reconcile/push-answer.ts';
import type { ChangeKind, SentCell } from '../../src/reconcile/push-plan.ts';
import { ROW_ANSWERS } from '../../src/reconcile/row-state.ts';

test.each<[ChangeKind, number, number | null, RowReply['as'] | RetryHope]>([
  ['insert', 201, null, 'accepted'],
  ['insert', 200, null, 'matched'],
  ['insert', 304, null, 'accepted'],
  ['insert', 300, null, 'never'],
  ['insert', 400, 409, 'never'],
  ['insert', 404, null, 'never'],
  ['insert', 403, 4000, 'later'],
  ['update', 200, null, 'accepted'],
  ['update', 304, null, 'accepted'],
  ['update', 400, 0, 'never'],
  ['update', 403, 0, 'later'],
  ['update', 403, 4000, 'missing'],
  ['update', 404, 0, 'missing'],
  ['update', 409, 0, 'never'],
  ['update', 429, 0, 'soon'],
  ['update', 500, 0, 'soon'],
  ['insert', 500, 0, 'failed'],
  ['delete', 500, 0, 'soon'],
  ['delete', 200, null, 'accepted'],
  ['delete', 403, 4000, 'missing'],
  ['delete', 404, null, 'missing'],
  ['delete', 403, 12, 'later'],
  ['delete', 409, 12, 'never'],
])('%s that is answered %i (code %s) is %s', (kind, status, code, expected) => {
  const errors = code === null ? [] : [{ error: status, code, message: 'No', source: 'B' }];
  const answer = judgeAnswer({ kind, cells: [] }, { status, id: 7, key: null, errors });
  expect(answer?.as === 'refused' ? retryHope(answer.refusal?.status ?? 0) : answer?.as).toBe(expected);
});

describe('the answer about a row', () => {
  const source = 'B';
  const errors = [
    { error: 400, code: 3100, message: 'Too long', source },
    { error: 400, code: 0, message: 'and wrong', source: null },
  ];
  const file: SentCell = {
    column: 0,
    value: 'x',
    file: { path: 'x.txt', name: 'x.txt', type: 'text/plain', bytes: 1, sha256: 'ab', before: null },
  };

  test('is kept with its id if the row was taken', () => {
    const answer = judgeAnswer({ kind: 'insert', cells: [] }, { status: 201, id: 7, key: null, errors: [] });
    expect(answer).toEqual({ as: 'accepted', id: 7, refusal: null });
  });

  test('is kept with its words and without its id if the row may be there all the same', () => {
    const answer = judgeAnswer({ kind: 'insert', cells: [] }, { status: 500, id: 7, key: null, errors: [] });
    const refusal = { status: 500, code: null, message: 'the origin answered 500 without a message', source: null };
    expect(answer).toEqual({ as: 'failed', id: null, refusal });
  });

  test('has the words of all errors of a refused row', () => {
    const answer = judgeAnswer({ kind: 'update', cells: [file] }, { status: 400, id: 7, key: null, errors });
    const refusal = { status: 400, code: 3100, message: 'Too long; and wrong', source };
    expect(answer).toEqual({ as: 'refused', id: null, refusal });
  });

  test('is none if the origin failed over an update with a file', () => {
    const failed = { status: 503, id: 7, key: null, errors };
    expect(judgeAnswer({ kind: 'update', cells: [file] }, failed)).toBe(null);
    expect(judgeAnswer({ kind: 'update', cells: [] }, failed)?.as).toBe('refused');
    expect(judgeAnswer({ kind: 'update', cells: [file] }, { ...failed, status: 500 })).toBe(null);
    expect(judgeAnswer({ kind: 'update', cells: [{ column: 0, value: 'x' }] }, failed)?.as).toBe('refused');
    expect(judgeAnswer({ kind: 'insert', cells: [file] }, failed)?.as).toBe('failed');
  });

  test('has the id of the row that a new one met', () => {
    const answer = judgeAnswer({ kind: 'insert', cells: [] }, { status: 200, id: 7, key: null, errors: [] });
    expect(answer).toEqual({ as: 'matched', id: 7, refusal: null });
  });
});

type Answered = { readonly status: number; readonly id: number | null };

test.each<[string, readonly (readonly [number, ChangeKind])[], readonly Answered[], boolean]>([
  [
    'in order',
    [
      [1, 'update'],
      [2, 'update'],
    ],
    [
      { status: 200, id: 1 },
      { status: 304, id: 2 },
    ],
    true,
  ],
  [
    'in another order',
    [
      [1, 'update'],
      [2, 'update'],
    ],
    [
      { status: 200, id: 2 },
      { status: 200, id: 1 },
    ],
    false,
  ],
  [
    'one too few',
    [
      [1, 'update'],
      [2, 'update'],
    ],
    [{ status: 200, id: 1 }],
    false,
  ],
  [
    'one too many',
    [[1, 'update']],
    [
      { status: 200, id: 1 },
      { status: 200, id: 2 },
    ],
    false,
  ],
  ['without the id of a row that was done', [[1, 'update']], [{ status: 200, id: null }], false],
  ['without the id of a row that was refused', [[1, 'update']], [{ status: 400, id: null }], true],
  [
    'with two rows of one id',
    [
      [-1, 'insert'],
      [-2, 'insert'],
    ],
    [
      { status: 201, id: 9 },
      { status: 201, id: 9 },
    ],
    false,
  ],
  [
    'of new rows',
    [
      [-1, 'insert'],
      [-2, 'insert'],
    ],
    [
      { status: 201, id: 9 },
      { status: 201, id: 10 },
    ],
    true,
  ],
  ['without the id of a row that was there already', [[1, 'update']], [{ status: 304, id: null }], false],
  ['without the id of a row that was led elsewhere', [[1, 'update']], [{ status: 300, id: null }], true],
  ['without the id of a row with a strange status', [[1, 'update']], [{ status: 305, id: null }], true],
  ['of an update that made a row', [[1, 'update']], [{ status: 201, id: 1 }], false],
  ['of another row than the one to update', [[1, 'update']], [{ status: 200, id: 9 }], false],
  ['of deletes, without ids', [[1, 'delete']], [{ status: 200, id: null }], true],
  [
    'of deletes in another order',
    [
      [1, 'delete'],
      [2, 'delete'],
    ],
    [
      { status: 200, id: 2 },
      { status: 403, id: 1 },
    ],
    false,
  ],
])('statuses %s prove something or nothing', (_what, sent, statuses, expected) => {
  expect(
    areStatusesInOrder(
      sent.map(([id, kind]) => ({ id, kind })),
      statuses,
    ),
  ).toBe(expected);
});

test.each<[number, number | null, BatchVerdict]>([
  [400, 3100, 'split'],
  [403, 0, 'split'],
  [403, 999, 'split'],
  [403, 1000, 'stop'],
  [403, 1001, 'stop'],
  [403, 1999, 'stop'],
  [403, 2000, 'split'],
  [400, 1500, 'split'],
  [422, 0, 'split'],
  [401, null, 'stop'],
  [404, null, 'split'],
  [405, 0, 'stop'],
  [409, 0, 'split'],
  [413, null, 'split'],
  [414, null, 'split'],
  [415, 0, 'stop'],
])('a whole batch that is refused with %i (code %s) asks for %s', (status, code, verdict) => {
  expect(judgeRefusal({ status, code, words: 'No' })).toBe(verdict);
});

test.each<[RowReply['as'], number, number | null, boolean]>([
  ['refused', 403, 5, true],
  ['refused', 403, null, true],
  ['refused', 400, 5, false],
  ['refused', 403, 4000, false],
  ['missing', 403, 5, false],
])('a row that is %s with %i (code %s) lacks a right: %s', (as, status, code, expected) => {
  expect(isRightLost({ answer: { as, id: null, refusal: { status, code, message: 'No', source: null } } })).toBe(
    expected,
  );
});

test.each([undefined, { answer: null }, { answer: { as: 'refused', id: null, refusal: null } as const }])(
  'a row without words of the origin lacks no right: %j',
  (end) => {
    expect(isRightLost(end)).toBe(false);
  },
);

test.each<[number, BatchVerdict]>([
  [400, 'ask'],
  [403, 'ask'],
  [406, 'ask'],
  [409, 'ask'],
  [404, 'stop'],
  [402, 'stop'],
  [405, 'stop'],
  [407, 'stop'],
  [408, 'stop'],
  [410, 'stop'],
  [411, 'stop'],
  [421, 'stop'],
  [422, 'ask'],
  [425, 'stop'],
  [426, 'stop'],
  [428, 'stop'],
  [429, 'stop'],
  [499, 'ask'],
  [500, 'stop'],
  [511, 'stop'],
  [301, 'stop'],
  [413, 'split'],
  [414, 'split'],
  [401, 'stop'],
])(
  '%i without a message is of a row only if it is about size, or the origin answers another request: %s',
  (status, verdict) => {
    expect(judgeRefusal({ status, code: null, words: '' })).toBe(verdict);
  },
);

test.each([
  [413, true],
  [414, true],
  [400, false],
  [403, false],
  [409, false],
])('a row that is refused alone with %i is at fault for certain: %s', (status, isCertain) => {
  expect(isRowAtFault({ status })).toBe(isCertain);
});

describe('after a request without an answer about its rows', () => {
  test.each([
    ['many rows are halved', 500, 250],
    ['three rows leave in twos', 3, 2],
    ['two rows leave alone', 2, 1],
    ['a row that was alone leaves alone', 1, 1],
  ])('%s', (_what, rowCount, expected) => {
    expect(rowsMaxAfter(rowCount)).toBe(expected);
  });

  test('any number of rows comes down to one, well within the bound of a push', () => {
    let count = 0;
    for (let rowCount = 500; rowCount > 1; rowCount = rowsMaxAfter(rowCount)) count += 1;

    expect(count).toBe(9);
    expect(count * 4).toBeLessThan(UNANSWERED_MAX);
  });
});

test.each([
  [0, 'soon'],
  [500, 'soon'],
  [502, 'soon'],
  [200, 'later'],
  [403, 'later'],
  [406, 'later'],
  [413, 'later'],
] as const)('a row that ended its request with %i is tried again %s', (status, hope) => {
  expect(unansweredHope(status)).toBe(hope);
});

test.each([
  [400, 'never'],
  [401, 'later'],
  [402, 'never'],
  [403, 'later'],
  [408, 'soon'],
  [425, 'soon'],
  [426, 'never'],
  [429, 'soon'],
  [500, 'soon'],
] as const)('a row that is refused with %i is tried again %s', (status, hope) => {
  expect(retryHope(status)).toBe(hope);
});

test('a code without words, and words without a code, are the origin’s', () => {
  expect(judgeRefusal({ status: 400, code: 3100, words: '' })).toBe('split');
  expect(judgeRefusal({ status: 400, code: null, words: 'No' })).toBe('split');
});

test('an answer gives ids to new rows that it says it made, and to no others', () => {
  const sent = (['insert', 'insert', 'update', 'insert'] as const).map((kind) => ({ kind }));
  const statuses = [
    { status: 201, id: 9 },
    { status: 200, id: 4 },
    { status: 201, id: 5 },
    { status: 201, id: null },
  ];

  expect(madeIds(sent, statuses)).toEqual([9]);
});

test('of the ends of a row, only a refusal and one that never left are asked nothing', () => {
  const undone = ROW_ANSWERS.filter((as) => as !== 'lost' && isUndone({ answer: { as, id: null, refusal: null } }));

  expect([undone, isUndone({ answer: null })]).toEqual([['refused', 'unsent'], false]);
});

import { expect, test } from 'vitest';
import { judgePush, type PushVerdict } from '../../src/reconcile/guards.ts';

const FACTS = {
  rowCount: 100,
  changeCount: 0,
  deleteCount: 0,
  maxPushRows: 10,
  maxDeletePercent: 50,
  confirmed: false,
};

test.each<[string, Partial<typeof FACTS>, PushVerdict]>([
  ['nothing changed', {}, { kind: 'go' }],
  ['as many rows changed as are allowed', { changeCount: 10 }, { kind: 'go' }],
  ['one more row changed', { changeCount: 11 }, { kind: 'hold', reason: 'rows', percent: 0 }],
  ['half of the rows are deleted', { changeCount: 50, deleteCount: 50, maxPushRows: 50 }, { kind: 'go' }],
  [
    'more than half are deleted',
    { changeCount: 51, deleteCount: 51 },
    { kind: 'hold', reason: 'deletes', percent: 51 },
  ],
  [
    'no delete is allowed',
    { changeCount: 1, deleteCount: 1, maxDeletePercent: 0 },
    { kind: 'hold', reason: 'deletes', percent: 1 },
  ],
  ['a person confirmed', { changeCount: 100, deleteCount: 100, confirmed: true }, { kind: 'go' }],
  [
    'the origin has no rows yet, and too many are new',
    { rowCount: 0, changeCount: 11 },
    { kind: 'hold', reason: 'rows', percent: 0 },
  ],
  ['the origin has no rows yet', { rowCount: 0, changeCount: 5 }, { kind: 'go' }],
])('judges the size of a push when %s', (_what, facts, verdict) => {
  expect(judgePush({ ...FACTS, ...facts })).toEqual(verdict);
});

import { expect, test } from 'vitest';
import { heldEdits, judgePush } from '../../src/reconcile/guards.ts';

const FACTS = {
  rowCount: 100,
  changeCount: 0,
  deleteCount: 0,
  maxPushRows: 10,
  maxDeletePercent: 50,
};

test.each<[string, Partial<typeof FACTS>, ReturnType<typeof judgePush>]>([
  ['nothing changed', {}, null],
  ['as many rows changed as are allowed', { changeCount: 10 }, null],
  ['one more row changed', { changeCount: 11 }, 'rows'],
  ['half of the rows are deleted', { changeCount: 50, deleteCount: 50, maxPushRows: 50 }, null],
  ['more than half are deleted', { changeCount: 51, deleteCount: 51 }, 'deletes'],
  ['the only row is deleted', { rowCount: 1, changeCount: 1, deleteCount: 1 }, 'deletes'],
  ['no delete is allowed', { changeCount: 1, deleteCount: 1, maxDeletePercent: 0 }, 'deletes'],
  ['the origin has no rows yet, and too many are new', { rowCount: 0, changeCount: 11 }, 'rows'],
  ['the origin has no rows yet', { rowCount: 0, changeCount: 5 }, null],
  ['the origin is not known to have a row, and one is deleted', { rowCount: 0, changeCount: 1, deleteCount: 1 }, null],
])('judges the size of a push when %s', (_what, facts, verdict) => {
  expect(judgePush({ ...FACTS, ...facts })).toBe(verdict);
});

test('the commands for held edits name a table behind their options, so that its name may begin like one', () => {
  const { hint } = heldEdits({ localName: '-Old' }, 'guard.pushRows', '150 rows would be changed');

  expect(hint).toContain('rowsync push --confirm -- "-Old";');
  expect(hint).toContain('rowsync discard --all -- "-Old" puts');
});

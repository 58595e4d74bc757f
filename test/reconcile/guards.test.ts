import { expect, test } from 'vitest';
import {
  heldEdits,
  judgePush,
  leftOutError,
  isMassRemoval,
  isCallerChanged,
  isNarrowed,
  judgeDeletion,
} from '../../src/reconcile/guards.ts';

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

const DELETION = {
  rowCount: 100,
  missingCount: 0,
  maxDeletePercent: 50,
  identityChanged: false,
  isNarrowed: false,
  confirmed: false,
};

test.each([
  ['nothing is missing', {}, null],
  ['half is missing', { missingCount: 50 }, null],
  ['more than half is missing', { missingCount: 51 }, 'share'],
  ['everything is missing', { missingCount: 100, maxDeletePercent: 100 }, 'empty'],
  ['the only row is missing', { rowCount: 1, missingCount: 1 }, 'empty'],
  ['everything is missing and a person confirmed', { missingCount: 100, confirmed: true }, null],
  ['one row is missing for another caller', { missingCount: 1, identityChanged: true }, 'identity'],
  [
    'a row is missing for another caller, where none is known',
    { rowCount: 0, missingCount: 1, identityChanged: true },
    'identity',
  ],
  ['nothing is missing for another caller', { identityChanged: true }, null],
  ['one row is missing under another filter', { missingCount: 1, isNarrowed: true }, 'narrowed'],
  ['nothing is missing under another filter', { isNarrowed: true }, null],
  ['a person confirmed another filter', { missingCount: 60, isNarrowed: true, confirmed: true }, null],
  ['many rows leave a filter', { missingCount: 99, maxDeletePercent: 100 }, null],
  ['no share is allowed', { missingCount: 1, maxDeletePercent: 0 }, 'share'],
  ['the replica has no rows', { rowCount: 0 }, null],
])('judges deletes when %s', (_name, facts, expected) => {
  expect(judgeDeletion({ ...DELETION, ...facts })).toBe(expected);
});

test.each([
  ['there is no filter', { filter: null, settledBy: '[A] = 1', wasRead: true }, false],
  ['the filter is as it was', { filter: '[A] = 1', settledBy: '[A] = 1', wasRead: true }, false],
  ['the filter is another one', { filter: '[A] = 2', settledBy: '[A] = 1', wasRead: true }, true],
  ['there was none', { filter: '[A] = 1', settledBy: null, wasRead: true }, true],
  ['the table was never read whole', { filter: '[A] = 1', settledBy: null, wasRead: false }, false],
])('rows may lie outside of the filter where %s: %s', (_name, facts, expected) => {
  expect(isNarrowed(facts)).toBe(expected);
});

test.each([
  [2, 1, false],
  [3, 2, true],
  [4, 2, true],
  [5, 2, false],
  [2, 2, true],
  [1, 1, false],
  [10, 6, true],
  [0, 0, false],
])('of %i things, %i vanishing is a mass removal: %s', (liveCount, vanishedCount, expected) => {
  expect(isMassRemoval(liveCount, vanishedCount)).toBe(expected);
});

const ME = {
  url: 'https://a.example',
  database: '1',
  userId: 7,
  role: 'Admin',
  timeZone: 'UTC',
  admin: ['ManageData'],
};

test.each([
  ['the same caller', ME, false],
  ['another user', { ...ME, userId: 8 }, true],
  ['another role', { ...ME, role: 'Reader' }, true],
  ['another time zone', { ...ME, timeZone: 'Asia/Tokyo' }, true],
  ['a permission more', { ...ME, admin: ['ManageData', 'ManageUsers'] }, true],
  ['a permission less', { ...ME, admin: [] }, false],
  ['permissions that were not noted', { ...ME, admin: null }, false],
  ['another host', { ...ME, url: 'https://b.example' }, true],
])('after %s, the caller counts as changed: %s', (_name, stored, expected) => {
  expect(isCallerChanged(stored, ME)).toBe(expected);
});

test.each([
  [false, 'push is switched off in the configuration', 'set push: true again'],
  [true, 'it is no longer at the origin', "give the calling user's role the right to it back"],
])(
  'edits of a table that no push carries are held, and a person is told what helps (gone: %s)',
  (isGone, why, helps) => {
    const { exitCode, code, message, hint } = leftOutError('Note', 2, isGone);

    expect({ exitCode, code }).toEqual({ exitCode: 3, code: 'guard.pending' });
    expect(message).toBe(`Note: ${why}, and no push sends the edits of 2 rows that wait here`);
    expect(hint).toContain(`If they are meant, ${helps};`);
  },
);

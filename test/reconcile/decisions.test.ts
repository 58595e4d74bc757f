import { expect, test } from 'vitest';
import { isMassRemoval, isCallerChanged, isNarrowed, judgeDeletion } from '../../src/reconcile/guards.ts';
import { planSelection } from '../../src/reconcile/column-selection.ts';
import { describedColumn } from '../support/described.ts';

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

test('names every column that the star leaves out, and sorts by creation time, then key', () => {
  const columns = [
    describedColumn('Id', { kind: 'Key' }),
    describedColumn('Name'),
    describedColumn('Locked', { readOnly: true }),
    describedColumn('Total', { kind: 'Summary' }),
    describedColumn('Date Created', { kind: 'DateCreated', type: 'Timestamp' }),
  ];

  const plan = planSelection({ key: 'Id', columns }, null);

  expect(plan).toEqual({
    selection: { columns: ['*', 'Locked', 'Total', 'Date Created'], sort: ['Date Created', 'Id'] },
    unknownSort: [],
  });
});

test('names every column where the origin does not say which ones can be written', () => {
  const plan = planSelection({ key: 'Id', columns: [describedColumn('Id', { kind: null, readOnly: null })] }, null);

  expect(plan.selection).toEqual({ columns: ['*', 'Id'], sort: ['Id'] });
});

test('takes a configured order, ends it with the key and reports names that do not exist', () => {
  const columns = [describedColumn('Id', { kind: 'Key' }), describedColumn('Position')];

  const plan = planSelection({ key: 'Id', columns }, ['position', 'Nowhere']);

  expect(plan).toEqual({ selection: { columns: ['*'], sort: ['Position', 'Id'] }, unknownSort: ['Nowhere'] });
});

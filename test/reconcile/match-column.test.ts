import { expect, test } from 'vitest';
import {
  FILTER_BYTES_MAX,
  filterOfValue,
  filterRoom,
  isSameAtOrigin,
  joinClauses,
  judgeHolder,
  judgeMatch,
  matchError,
  matchKey,
} from '../../src/reconcile/match-column.ts';
import { QUERY_BYTES_MAX, selectQuery } from '../../src/wire/request-paths.ts';
import type { Row, Value } from '../../src/wire/schema.ts';
import { describedColumn } from '../support/described.ts';

const COLUMNS = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
] as const;

function row(...values: readonly Value[]): Row {
  return { id: 1, allow: null, values };
}

const KNOWN = { base: row('a', 'x'), local: row('a', 'x') };
const DELETED = { base: row('a', 'x'), local: null };
const DELETED_BEFORE_IT_HAD_IT = { base: row(null, 'x'), local: null };
const RENAMED = { base: row('a', 'x'), local: row('b', 'x') };
const EMPTIED = { base: row('a', 'x'), local: row(null, 'x') };

test.each([
  ['nobody has', undefined, null, 'send', 'send'],
  ['an unknown row has', { id: 1 }, null, 'merged with 1', 'merged with 1'],
  ['a row has that is deleted here', { id: 1 }, DELETED, 'wait', 'soon'],
  ['a row has since it was deleted here', { id: 1 }, DELETED_BEFORE_IT_HAD_IT, 'wait', 'soon'],
  ['a row has that has another one here', { id: 1 }, RENAMED, 'wait', 'soon'],
  ['a row has that has none here', { id: 1 }, EMPTIED, 'wait', 'soon'],
  ['a row has that has it here too', { id: 1 }, KNOWN, 'later', 'later'],
  ['the origin refuses to look for', 'refused', null, 'later', 'later'],
  ['the origin says something unclear about', 'unclear', null, 'soon', 'soon'],
] as const)('a match value that %s', (_what, holder, known, verdict, last) => {
  const judge = (isLast: boolean): string => {
    const judged = judgeHolder(holder, known, { match: 0, columns: COLUMNS, isLast });
    if (typeof judged === 'string') return judged;
    return 'reason' in judged ? (judged.hope ?? 'never') : `merged with ${judged.id}`;
  };

  expect([judge(false), judge(true)]).toEqual([verdict, last]);
});

test('a match value in another spelling of the same number is not given up here', () => {
  const known = { base: row('7.0', 'x'), local: row(7, 'x') };
  const columns = [{ type: 'Numeric', writable: true }] as const;

  expect(judgeHolder({ id: 1 }, known, { match: 0, columns, isLast: false })).toMatchObject({ hope: 'later' });
});

const TABLE = {
  key: 'Number',
  columns: [
    describedColumn('Number', { type: 'Autonumber', readOnly: true, kind: 'Key' }),
    describedColumn('Code', { dataOptions: ['unique'] }),
    describedColumn('Locked', { dataOptions: ['Unique'], readOnly: true }),
    describedColumn('Serial', { type: 'Autonumber', dataOptions: ['Unique'] }),
    describedColumn('Title'),
  ],
};

test.each([
  ['a unique column, whatever its case', 'CODE', { column: 'Code', problem: null }],
  ['a column that is no more', 'Gone', { column: null, problem: 'does not exist' }],
  ['a column in which values may repeat', 'Title', { column: null, problem: 'is not unique' }],
  ['a unique column that the caller may not write', 'Locked', { column: 'Locked', problem: 'cannot be written' }],
  ['the key that the origin gives', 'Number', { column: 'Number', problem: 'cannot be written' }],
  ['no column', null, { column: null, problem: null }],
])('rows are matched by %s, or why not', (_what, wished, verdict) => {
  expect(judgeMatch(TABLE, wished)).toEqual({ ...verdict, usable: ['Code'] });
});

test('a key that people write is unique without saying so', () => {
  expect(judgeMatch({ key: 'Title', columns: TABLE.columns }, 'Title').usable).toEqual(['Code', 'Title']);
});

test('the message about a column says why, and which ones can be used', () => {
  const error = matchError('Order', 'Title', judgeMatch(TABLE, 'Title'));
  const none = matchError('Order', 'Title', { ...judgeMatch(TABLE, 'Code'), usable: [] });

  expect(error).toMatchObject({ code: 'config.invalid', hint: 'Columns that are unique and writable: "Code".' });
  expect(error.message).toBe('tables.Order.match: the column "Title" is not unique');
  expect(none.message).toContain('"Title" cannot be used');
  expect(none.hint).toContain('No column of the table is both unique and writable');
});

test.each([
  ['Müller', 'MULLER'],
  ['straße', 'STRASSE'],
  ['x  ', ' x'],
  ['ＡＢＣ１', 'abc1'],
  ['Ørsted', 'orsted'],
  ['Łódź', 'lodz'],
  ['Æsop', 'aesop'],
  ['Œuvre', 'oeuvre'],
  ['Þór', 'thor'],
  ['Bjarnað', 'bjarnad'],
  ['Đorđe', 'dorde'],
  ['Ħal', 'hal'],
  ['Ŧ', 't'],
  ['ırmak', 'irmak'],
  ['a\u{AD}b', 'ab'],
  ['e\u{301}', 'é'],
])('%j and %j may be one value at the origin', (one, other) => {
  expect([matchKey(one) === matchKey(other), isSameAtOrigin('Text', one, other)]).toEqual([true, true]);
});

test.each([
  ['a', 'b'],
  ['1', '10'],
  ['a b', 'ab'],
  ['a-b', 'ab'],
])('%j and %j are two values everywhere', (one, other) => {
  expect([matchKey(one) === matchKey(other), isSameAtOrigin('Text', one, other)]).toEqual([false, false]);
});

test('a number is alike to itself alone', () => {
  expect(matchKey(7)).toBe(matchKey(7n));
  expect(matchKey(7)).not.toBe(matchKey(70));
});

test.each([
  [7, 7n, true],
  [7, '7.0', true],
  [7, 70, false],
  [null, 0, false],
])('the numbers %s and %s are one value at the origin: %s', (one, other, expected) => {
  expect(isSameAtOrigin('Numeric', one, other)).toBe(expected);
});

test('an empty value is alike to an empty text, and a text to no number', () => {
  expect(matchKey(null)).toBe(matchKey(''));
  expect(isSameAtOrigin('Text', '7', 7)).toBe(false);
  expect(isSameAtOrigin('Text', 7, '7')).toBe(false);
});

test('clauses share filters as far as they fit, and none is lost', () => {
  // Each takes ten bytes with its ` or `, whose blanks are encoded.
  const clauses = ['aa', 'bb', 'cc', 'dd', 'ee'];

  expect(joinClauses(clauses, 20)).toEqual(['aa or bb', 'cc or dd', 'ee']);
  expect(joinClauses(clauses, 29)).toEqual(['aa or bb', 'cc or dd', 'ee']);
  expect(joinClauses(clauses, 30)).toEqual(['aa or bb or cc', 'dd or ee']);
  expect(joinClauses(clauses, 1)).toEqual(clauses);
  expect(joinClauses([], 30)).toEqual([]);
});

test.each([1, 3, 150])('filters beside %i columns fill a query, and no more', (count) => {
  const columns = Array.from({ length: count }, (_, index) => `Größe ${index}`);
  const clauses = Array.from({ length: 2000 }, (_, id) => `[Größe 0] = "${id}"`);

  const filters = joinClauses(clauses, filterRoom(columns));
  const lengths = filters.map((filter) => selectQuery({ columns, sort: [], filter, top: 1 }).length);

  expect(Math.max(...lengths)).toBeLessThanOrEqual(QUERY_BYTES_MAX);
  expect(Math.max(...lengths)).toBeGreaterThan(QUERY_BYTES_MAX - 200);
});

test('a filter finds a value, where it compares exactly and fits', () => {
  const name = { name: 'A', type: 'Text' } as const;
  const room = FILTER_BYTES_MAX - encodeURIComponent(filterOfValue(name, 'x') ?? '').length + 1;

  expect(filterOfValue(name, 'x'.repeat(room))).toContain('xxx');
  expect(filterOfValue(name, 'x'.repeat(room + 1))).toBeNull();
  expect(filterOfValue(name, null)).toBeNull();
});

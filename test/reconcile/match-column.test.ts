import { expect, test } from 'vitest';
import { judgeHolder, judgeMatch, matchError } from '../../src/reconcile/match-column.ts';
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
const RENAMED = { base: row('a', 'x'), local: row('b', 'x') };
const EMPTIED = { base: row('a', 'x'), local: row(null, 'x') };

test.each([
  ['nobody has', undefined, null, 'send', 'send'],
  ['an unknown row has', { id: 1 }, null, 'adopt', 'adopt'],
  ['a row has that is deleted here', { id: 1 }, DELETED, 'wait', 'soon'],
  ['a row has that has another one here', { id: 1 }, RENAMED, 'wait', 'soon'],
  ['a row has that has none here', { id: 1 }, EMPTIED, 'wait', 'soon'],
  ['a row has that has it here too', { id: 1 }, KNOWN, 'later', 'later'],
  ['the origin refuses to look for', 'refused', null, 'later', 'later'],
  ['the origin says something unclear about', 'unclear', null, 'soon', 'soon'],
] as const)('a match value that %s', (_what, holder, known, verdict, last) => {
  const judge = (isLast: boolean): string => {
    const judged = judgeHolder(holder, known, { match: 0, columns: COLUMNS, isLast });
    return typeof judged === 'string' ? judged : (judged.hope ?? 'never');
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

  expect(error).toMatchObject({ code: 'config.invalid', hint: 'Unique and writable are: "Code".' });
  expect(error.message).toBe('tables.Order.match: the column "Title" is not unique');
  expect(none.message).toContain('"Title" cannot be used');
  expect(none.hint).toContain('No column of the table is both unique and writable');
});

import { expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import { changedColumns, isAsAccepted, isAsExpected, isSameShape } from '../../src/reconcile/renamed-columns.ts';
import type { ColumnDescriptor, Row, TableDescriptor, Value } from '../../src/wire/schema.ts';
import { describedColumn } from '../support/described.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: false },
  { type: 'Numeric', writable: true, automatic: true },
  { type: 'Attachment', writable: true },
];

function row(...values: readonly Value[]): Row {
  return { id: 1, allow: null, values };
}

test.each([
  ['the same cells', row('a', 'x', 1, null), true],
  ['another computed value', row('a', 'y', 1, null), true],
  ['another automatic value', row('a', 'x', 2, null), true],
  ['another value that people write', row('b', 'x', 1, null), false],
])('a row with %s is as expected: it is only then that names need no look', (_what, now, expected) => {
  expect(isAsExpected(COLUMNS, now, row('a', 'x', 1, null))).toBe(expected);
});

const FILE = { name: 'a', type: 'b', path: '/a', bytes: 1, sha256: 'c', before: null };

test.each([
  ['an update that the origin shows as it was sent', 'update', row('b', 'x', 1, null), true],
  ['an update in another form', 'update', row('B', 'x', 1, null), false],
  ['a file that the origin shows in its own form', 'update', row('b', 'x', 1, 'a;1;2'), true],
  ['a new row as it was sent', 'insert', row('b', 'x', 1, 'a;1;2'), true],
  ['a new row with a default of the origin in another cell', 'insert', row('b', 'x', 9, 'a;1;2'), true],
  ['a new row with another value', 'insert', row('c', 'x', 1, 'a;1;2'), false],
] as const)('%s is as it was accepted, or has its names looked at', (_what, kind, now, expected) => {
  const cells = [
    { column: 0, value: 'b' },
    { column: 3, value: 'file:/a', file: FILE },
  ];
  const base = kind === 'insert' ? null : row('a', 'x', 1, null);

  expect(isAsAccepted(COLUMNS, now, { kind, base, cells })).toBe(expected);
});

test.each([
  ['an update beside which another cell changed', 'update', row('b', 'x', 1, null, 'theirs'), false],
  ['an update that left the other cells', 'update', row('b', 'x', 1, null, 'd'), true],
  ['an update of a cell that the origin fills in itself, and did', 'update', row('b', 'x', 2, null, 'd'), true],
  ['a new row with a default in a cell that was not sent', 'insert', row('b', 'x', 1, null, 'theirs'), true],
  ['a new row of which one value is another', 'insert', row('b', 'x', 2, null, 'd'), false],
  ['a new row with a number in another spelling', 'insert', row('b', 'x', '1.0', null, 'd'), true],
] as const)('%s is as it was accepted, or not', (_what, kind, now, expected) => {
  const columns: readonly MergeColumn[] = [...COLUMNS, { type: 'Text', writable: true }];
  const cells = [
    { column: 0, value: 'b' },
    { column: 2, value: 1 },
  ];
  const base = kind === 'insert' ? null : row('a', 'x', 1, null, 'd');

  expect(isAsAccepted(columns, now, { kind, base, cells })).toBe(expected);
});

test('an update beside which the origin filled in a cell by itself is as it was accepted', () => {
  const sent = { kind: 'update', base: row('a', 'x', 1, null), cells: [{ column: 0, value: 'b' }] } as const;

  expect(isAsAccepted(COLUMNS, row('b', 'x', 2, null), sent)).toBe(true);
});

function described(change: Partial<ColumnDescriptor> = {}): TableDescriptor {
  const column = describedColumn('Title', { alias: 'f_1', ...change });
  return { id: 1, name: 'T', alias: 't', key: 'Id', columns: [column] } as unknown as TableDescriptor;
}

test.each<
  [string, Partial<ColumnDescriptor>, isSame: boolean, forWriters: readonly string[], forReaders: readonly string[]]
>([
  ['is as it was', {}, true, [], []],
  ['is renamed', { name: 'Heading' }, false, ['Title'], ['Title']],
  ['is another one of its name', { id: 2 }, false, ['Title'], ['Title']],
  ['has another type', { type: 'Numeric' }, false, ['Title'], ['Title']],
  ['has another alias, by which values are sent', { alias: 'f_2' }, true, ['Title'], []],
  ['is locked', { readOnly: true }, true, ['Title'], []],
])('a column that %s', (_what, change, isSame, forWriters, forReaders) => {
  const read = { id: 1, name: 'Title', alias: 'f_1', type: 'Text' } as const;

  expect(isSameShape(described(), described(change))).toBe(isSame);
  expect(changedColumns([{ ...read, writable: true }], described(change))).toEqual(forWriters);
  expect(changedColumns([{ ...read, writable: false }], described(change))).toEqual(forReaders);
});

test('a table with another key has another shape', () => {
  expect(isSameShape(described(), { ...described(), key: 'Title' })).toBe(false);
});

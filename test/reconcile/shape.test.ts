import { expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import { isAsAccepted, isAsExpected } from '../../src/reconcile/shape.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

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

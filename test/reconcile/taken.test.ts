import { expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import { lockedEdit, valuesTaken } from '../../src/reconcile/taken.ts';
import type { Value } from '../../src/wire/schema.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
  { type: 'Text', writable: false },
  { type: 'Autonumber', writable: true, automatic: true },
];
const OLD = ['old', 'same', 'c1', '1'];
const NEW = ['new', 'same', 'c2', '1'];
const NOW = ['now', 'since', 'c3', '2'];

type Case = readonly [
  string,
  readonly Value[],
  readonly (readonly Value[])[],
  readonly Value[] | null,
  readonly Value[],
];

test.each<Case>([
  ['cells in which versions differ', OLD, [OLD, NEW], NOW, ['old', 'since', 'c3', '2']],
  ['what was edited beside them stays', NEW, [OLD, NEW], ['x', 'mine', 'c3', '2'], ['new', 'mine', 'c3', '2']],
  ['of a row that was deleted here', OLD, [OLD, NEW], null, ['old', 'since', 'c3', '2']],
  ['all of a version that stands alone', OLD, [OLD], NOW, ['old', 'same', 'c3', '1']],
  [
    'but what only the origin fills in',
    ['a', null, null, null],
    [['a', null, null, null]],
    NOW,
    ['a', null, 'c3', '2'],
  ],
])('a version that is taken writes %s', (_what, taken, versions, local, expected) => {
  expect(valuesTaken({ taken, versions, base: NOW, local }, COLUMNS)).toEqual(expected);
});

const LOCKED: readonly MergeColumn[] = [
  { type: 'Text', writable: true, locked: false },
  { type: 'Text', writable: false, locked: true },
  { type: 'Autonumber', writable: false, locked: true, automatic: true },
];

test.each<readonly [string, readonly Value[], readonly Value[], number | null]>([
  ['of another column', ['new', 'x', '1'], ['old', 'x', '1'], null],
  ['of a locked column', ['old', 'y', '1'], ['old', 'x', '1'], 1],
  ['of a locked column of a row that has no base', ['old', 'y', '1'], [], 1],
  ['of what only the origin gives', ['old', 'x', '2'], ['old', 'x', '1'], null],
])('a version that is taken with an edit %s says what would be lost', (_what, edited, before, expected) => {
  expect(lockedEdit({ edited, before }, LOCKED)).toBe(expected);
});

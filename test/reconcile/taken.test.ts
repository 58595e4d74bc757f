import { expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import { valuesTaken } from '../../src/reconcile/taken.ts';
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

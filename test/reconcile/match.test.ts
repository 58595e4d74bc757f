import { expect, test } from 'vitest';
import { judgeHolder } from '../../src/reconcile/match.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

const COLUMNS = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
] as const;

function row(...values: readonly Value[]): Row {
  return { id: 1, allow: null, values };
}

test.each([
  ['is deleted here', row('a', 'x'), null, true, 'soon'],
  ['has another value here', row('a', 'x'), row('b', 'x'), true, 'soon'],
  ['has none here', row('a', 'x'), row(null, 'x'), true, 'soon'],
  ['has other edits', row('a', 'x'), row('a', 'y'), true, 'never'],
  ['was given the value by a colleague, and has other edits', row('c', 'x'), row('c', 'y'), true, 'never'],
  ['is not known to the origin under that id', null, row('a', 'x'), true, 'never'],
  ['was sent', row('a', 'x'), row('a', 'x'), false, 'soon'],
] as const)('a new row whose match value is that of one that %s', (_what, base, local, isEdited, hope) => {
  expect(judgeHolder({ base, local }, { match: 0, columns: COLUMNS, isEdited }).hope).toBe(hope);
});

/** Which copies of the replica can be put back: the exclusion must not be wider than what no client can tell. */
import { expect, test } from 'vitest';
import type { LocalRow } from './books.ts';
import { findUnrecognisable } from './copies.ts';

function row(id: number, tag: string, code: string | null): LocalRow {
  return { id, tag, cells: { Code: code } };
}

test.each([
  ['was never sent', [], null],
  ['has its code there', [row(3, 't-1', 'c-1')], null],
  ['has there the code that it was sent with', [row(3, 't-1', 'c-0')], null],
  ['has another code there', [row(3, 't-1', 'c-2')], 't-1'],
  ['has no code there', [row(3, 't-1', null)], 't-1'],
  ['left its code to another row', [row(1, 't-2', 'c-1')], 't-1'],
])('a new row of a copy is recognised or not where it %s', (_what, origin, tag) => {
  const copy = { rows: [row(-1, 't-1', 'c-1')], sent: '[[-1,"insert",[["x","c-0"]]]]' };

  expect(findUnrecognisable(copy, [row(9, 't-9', 'c-9'), ...origin])).toBe(tag);
});

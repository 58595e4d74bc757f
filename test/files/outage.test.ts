import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { OutageWatch } from '../../src/files/outage.ts';

const say = { message: 'it failed', hint: 'try again' };
const DOWN = new RowsyncError('originDown', 'origin.busy', say);
const REFUSED = new RowsyncError('originRefused', 'origin.refused', say);

/** Takes note of failures, and of successes for null; returns after how many one was thrown, if any. */
function notes(watch: OutageWatch, endings: readonly (RowsyncError | null)[]): number | null {
  for (const [index, ending] of endings.entries()) {
    try {
      watch.note(ending);
    } catch {
      return index + 1;
    }
  }
  return null;
}

test.each([
  ['successes', [null, null, null], null],
  ['two failures of the origin', [DOWN, DOWN], null],
  ['a success in between', [DOWN, DOWN, null, DOWN], null],
  ['a file that is refused in between', [DOWN, DOWN, REFUSED, DOWN], null],
  ['three in a row', [DOWN, DOWN, DOWN], 3],
  ['refused files', [REFUSED, REFUSED, REFUSED, REFUSED], null],
  ['a token that is not accepted', [new RowsyncError('auth', 'origin.unauthorized', say)], 1],
  ['a stop', [new RowsyncError('originDown', 'origin.stopped', say)], 1],
  ['a full disk', [null, new RowsyncError('replica', 'replica.full', say)], 2],
  ['a defect', [new RowsyncError('bug', 'bug.assertion', say)], 1],
] as const)('%s: whether the work ends, and no other file is asked for', (_what, endings, after) => {
  const watch = new OutageWatch();

  expect(notes(watch, endings)).toBe(after);
  expect(watch.isOver).toBe(after !== null);
});

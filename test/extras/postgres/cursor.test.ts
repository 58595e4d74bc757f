/**
 * Whether a target continues where this replica left it.
 */
import { describe, expect, test } from 'vitest';
import { judgeCursor } from '../../../src/extras/postgres/cursor.ts';

describe('a target', () => {
  const own = { epoch: 'b', former: 'a', sent: 5, pending: 8 };

  test.each([
    ['is empty', null, false, 'begin'],
    ['stands where it was left', { epoch: 'b', seq: 5 }, false, 'go'],
    ['stands at the end of a batch whose answer was lost', { epoch: 'b', seq: 8 }, false, 'go'],
    ['stands elsewhere in the same series: the file is an older copy', { epoch: 'b', seq: 9 }, false, 'again'],
    ['stands behind: the target was put back', { epoch: 'b', seq: 4 }, false, 'again'],
    ['never heard of the new series', { epoch: 'a', seq: 99 }, false, 'again'],
    ['has rows of someone else', { epoch: 'x', seq: 5 }, false, 'taken'],
    ['has rows of someone else, and a person agreed', { epoch: 'x', seq: 5 }, true, 'again'],
    ['stands where it was left, and a person wants all compared', { epoch: 'b', seq: 5 }, true, 'again'],
  ] as const)('that %s', (_what, target, isAgreed, verdict) => {
    expect(judgeCursor(own, target, isAgreed)).toBe(verdict);
  });

  test('that has rows, for a file that remembers nothing, is taken', () => {
    const none = { epoch: null, former: null, sent: 0, pending: null };

    expect(judgeCursor(none, { epoch: 'x', seq: 0 }, false)).toBe('taken');
    expect(judgeCursor(none, null, false)).toBe('begin');
  });
});

/**
 * Decisions about sinks: where a target stands, how tables stand there, and what has to be done to one.
 */
import { describe, expect, test } from 'vitest';
import { judgeCursor } from '../../src/extras/postgres/cursor.ts';
import { pgName, planPgTable, type PgColumn } from '../../src/extras/shared/pg-columns.ts';

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

describe('names', () => {
  test('stay as they are where PostgreSQL takes them', () => {
    expect(pgName('Größe "x" %', 7, 'column')).toBe('Größe "x" %');
    expect(pgName('xmin', 7, 'table')).toBe('xmin');
  });

  test('that are too long, or of PostgreSQL itself, end with a number', () => {
    expect(pgName('xmin', 7, 'column')).toBe('xmin~7');
    expect(pgName('😀'.repeat(20), 7, 'column')).toBe(`${'😀'.repeat(15)}~7`);
    expect(Buffer.byteLength(pgName('a'.repeat(80), 123_456, 'table'))).toBe(63);
  });
});

describe('a table', () => {
  const column = (seq: number, name: string, type: PgColumn['type'] = 'text', originId = seq): PgColumn => ({
    seq,
    originId,
    name,
    type,
  });

  test.each([
    ['as it should be', [column(1, 'A')], [column(1, 'A')], ['A'], [], []],
    ['with a column that was renamed', [column(1, 'B')], [column(1, 'A')], ['A'], [{ from: 'A', to: 'B' }], []],
    [
      'whose columns swapped names',
      [column(1, 'B'), column(2, 'A')],
      [column(1, 'A'), column(2, 'B')],
      ['A', 'B'],
      [
        { from: 'A', to: 'B' },
        { from: 'B', to: 'A' },
      ],
      [],
    ],
    ['with a new column', [column(1, 'A'), column(2, 'B')], [column(1, 'A')], ['A'], [], [column(2, 'B')]],
    ['with a column that is gone here', [column(1, 'A')], [column(1, 'A'), column(2, 'B')], ['A', 'B'], [], []],
    ['of another ledger', [column(9, 'A', 'text', 1)], [column(1, 'A')], ['A'], [], []],
    [
      'with an old column under the name of a new one of another type',
      [column(2, 'A', 'numeric')],
      [column(1, 'A')],
      ['A'],
      [{ from: 'A', to: 'A (old)' }],
      [column(2, 'A', 'numeric')],
    ],
  ])('%s', (_what, wanted, known, standing, renames, added) => {
    expect(planPgTable(wanted, known, standing)).toEqual({ kind: 'apply', renames, added });
  });

  test('with a column of someone else under the name of one of ours waits', () => {
    expect(planPgTable([column(1, 'A')], [], ['A'])).toEqual({ kind: 'hold', name: 'A' });
    expect(planPgTable([column(1, 'A')], [column(1, 'A')], ['A', 'mine'])).toEqual({
      kind: 'apply',
      renames: [],
      added: [],
    });
  });
});

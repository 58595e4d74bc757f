/**
 * Names, types and columns of tables in PostgreSQL, and what gives a table there the columns of today.
 */
import { describe, expect, test } from 'vitest';
import { pgName, pgType, planPgTable, type PgColumn } from '../../../src/extras/shared/pg-columns.ts';

test.each([
  ['Text', 'text'],
  ['Multiline', 'text'],
  ['Checkbox', 'boolean'],
  ['Numeric', 'numeric'],
  ['Duration', 'numeric'],
  ['Date', 'date'],
  ['Time', 'time'],
  ['Timestamp', 'timestamptz'],
  ['Attachment', 'text'],
] as const)('a column of type %s is %s there', (type, expected) => {
  expect(pgType(type)).toBe(expected);
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

  test('whose old column is named as another old one was before gets the next number', () => {
    const wanted = [column(3, 'A', 'numeric')];

    expect(planPgTable(wanted, [column(1, 'A')], ['A', 'A (old)'])).toMatchObject({
      renames: [{ from: 'A', to: 'A (old 2)' }],
    });
  });

  test('keeps nothing of a column that a person dropped there, which comes anew', () => {
    expect(planPgTable([column(1, 'A')], [column(1, 'A')], [])).toEqual({
      kind: 'apply',
      renames: [],
      added: [column(1, 'A')],
    });
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

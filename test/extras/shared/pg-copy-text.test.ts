/**
 * Values as COPY of PostgreSQL reads them: every digit and character arrives, and what PostgreSQL cannot hold is
 * replaced and named.
 */
import { describe, expect, test } from 'vitest';
import { copyLine, copyText, type Replaced } from '../../../src/extras/shared/pg-copy-text.ts';
import type { PgType } from '../../../src/extras/shared/pg-columns.ts';
import type { Stored } from '../../../src/replica/connection.ts';

test.each<[PgType, Stored, string]>([
  ['text', 'plain ä 😀 "quoted", \'single\'', 'plain ä 😀 "quoted", \'single\''],
  ['text', 'a\tb\nc\rd', String.raw`a\tb\nc\rd`],
  ['text', String.raw`\N`, String.raw`\\N`],
  ['text', String.raw`\.`, String.raw`\\.`],
  ['text', '\\\n', String.raw`\\` + String.raw`\n`],
  ['text', '', ''],
  ['text', 5, '5'],
  ['text', 9_007_199_254_740_993n, '9007199254740993'],
  ['numeric', 9_007_199_254_740_993n, '9007199254740993'],
  ['numeric', 1e21, '1000000000000000000000'],
  ['numeric', -0.000_000_1, '-0.0000001'],
  ['numeric', '123456789012345678901234567890.25', '123456789012345678901234567890.25'],
  ['boolean', 0n, 'f'],
  ['boolean', 1, 't'],
  ['bigint', -5n, '-5'],
  ['date', '2024-02-29', '2024-02-29'],
  ['date', '9999-12-31', '9999-12-31'],
  ['time', '08:30:00', '08:30:00'],
  ['timestamptz', '2026-06-01T23:59:59Z', '2026-06-01T23:59:59Z'],
  ['timestamptz', '2026-06-01T23:59:59.123456Z', '2026-06-01T23:59:59.123456Z'],
])('%s %s is written as %s', (type, stored, text) => {
  expect(copyText(stored, type)).toBe(text);
});

test.each(['text', 'boolean', 'numeric', 'date', 'time', 'timestamptz', 'bigint'] as const)(
  'no value of the type %s is NULL, and no text can be taken for it',
  (type) => {
    expect(copyText(null, type)).toBe(String.raw`\N`);
  },
);

test.each<[PgType, Stored]>([
  ['text', 'a\0b'],
  ['numeric', Infinity],
  ['numeric', 'many'],
  ['numeric', ''],
  ['boolean', 2n],
  ['boolean', 'yes'],
  ['bigint', 5],
  ['date', '0000-01-01'],
  ['date', '2026-02-29'],
  ['date', '2026-1-1'],
  ['date', 20_260_101n],
  ['time', '24:00:00'],
  ['time', '8:30'],
  ['timestamptz', '2026-06-01T24:00:00Z'],
  ['timestamptz', '2026-06-01T23:59:60Z'],
  ['timestamptz', '2026-06-01T10:00:00.1234567Z'],
  ['timestamptz', '2026-06-01T10:00:00+02:00'],
  ['timestamptz', '2026-02-30T10:00:00Z'],
  ['timestamptz', '2026-06-01'],
])('PostgreSQL has no %s %s', (type, stored) => {
  expect(copyText(stored, type)).toBe(undefined);
});

test('a date that was refused once is refused again, and one that was taken is taken again', () => {
  const texts = ['2026-02-29', '2026-02-28', '2026-02-29', '2026-02-28'];

  expect(texts.map((text) => copyText(text, 'date'))).toEqual([undefined, '2026-02-28', undefined, '2026-02-28']);
});

describe('a line', () => {
  function lineOf(cells: readonly Stored[], types: readonly PgType[]): { line: string; replaced: readonly Replaced[] } {
    const replaced: Replaced[] = [];
    const line = copyLine(cells, types, (one) => void replaced.push(one));
    return { line, replaced };
  }

  test('has its cells between tabs, and an end', () => {
    expect(lineOf([7n, 'a\tb', null], ['bigint', 'text', 'date'])).toEqual({ line: '7\ta\\tb\t\\N\n', replaced: [] });
  });

  test('keeps a text with a NUL but for the NUL, leaves out another value that is none, and names both', () => {
    const { line, replaced } = lineOf(['a\0\tb', '2026-02-30', 3n], ['text', 'date', 'numeric']);

    expect(line).toBe('a\uFFFD\\tb\t\\N\t3\n');
    expect(replaced.map(({ column }) => column)).toEqual([0, 1]);
    expect(replaced.map(({ why }) => why)).toEqual([
      'the text has a NUL, which is replaced by U+FFFD',
      'PostgreSQL has no such date; the cell is empty there',
    ]);
  });
});

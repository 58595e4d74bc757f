/** The kinds of options: what each takes, and the one sentence in which it refuses everything else. */
import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import { choice, decimalNumber, integerOption, section, size, text, textList } from '../../src/config/option-kinds.ts';

/** What a kind makes of a value, or its complaints. */
function read(kind: z.ZodType, value: unknown): unknown {
  const parsed = kind.safeParse(value);
  return parsed.success ? parsed.data : parsed.error.issues.map(({ message }) => message);
}

describe('a size', () => {
  const kind = size('How much.');

  test.each([
    [1, 1],
    [2 ** 50, 2 ** 50],
    ['1KB', 1_000],
    ['500MB', 500_000_000],
    ['2GB', 2_000_000_000],
    ['999999TB', 999_999e12],
  ])('of %s is %d bytes', (given, bytes) => {
    expect(read(kind, given)).toBe(bytes);
  });

  test.each([0, -1, 1.5, 2 ** 50 + 2, '0KB', '1.5GB', '1kb', '1 KB', '1', '1000000KB', '', null])(
    'is not %j',
    (given) => {
      expect(read(kind, given)).toEqual(['must be a size such as 500MB or 2GB, or a whole number of bytes']);
    },
  );
});

describe('a number', () => {
  const bounds = { from: 2, to: 10, default: 4, unit: 'rows', doc: 'How many.' };

  test('is taken at its bounds, and has a default', () => {
    expect([2, 10, undefined].map((given) => read(integerOption(bounds), given))).toEqual([2, 10, 4]);
    expect(read(decimalNumber(bounds), 2.5)).toBe(2.5);
  });

  test.each([1, 11, '4', null, Number.NaN])('is refused beyond: %j', (given) => {
    expect(read(decimalNumber(bounds), given)).toEqual(['must be a number from 2 to 10']);
    expect(read(integerOption(bounds), given)).toEqual(['must be a whole number from 2 to 10']);
  });

  test('that is to be whole is not 2.5', () => {
    expect(read(integerOption(bounds), 2.5)).toEqual(['must be a whole number from 2 to 10']);
  });

  test('says its unit in the schema', () => {
    expect(integerOption(bounds).meta()?.description).toBe('How many. Unit: rows.');
  });
});

describe('a text', () => {
  test.each(['', ' ', '\t', 'a\nb', 'a\u0000', 5, null])('is visible; %j is not', (given) => {
    expect(read(text({ mustBe: 'must be a path', doc: '' }), given)).toEqual(['must be a path']);
  });

  test('may have blanks in it, and letters of any language', () => {
    expect(read(text({ mustBe: 'must be a path', doc: '' }), ' ü 字 ')).toBe(' ü 字 ');
  });

  test.each([[[]], [['']], [['a', 5]], ['a']])('list has one at least: %j', (given) => {
    expect(read(textList('must be a list'), given)).toContain('must be a list');
  });

  test('of a choice is one of its words', () => {
    const kind = choice(['run', 'walk', 'stop'], '');

    expect(read(kind, 'walk')).toBe('walk');
    expect(read(kind, 'Walk')).toEqual(['must be run, walk or stop']);
  });
});

describe('a section', () => {
  const kind = section({ colour: choice(['red', 'blue'], '').optional(), size: size('').optional() }, 'Looks.');

  test.each([null, [], 'red'])('is a mapping, and not %j', (given) => {
    expect(read(kind, given)).toEqual(['must be a mapping of options']);
  });

  test('names the options that it knows, and the one that was meant', () => {
    expect(read(kind, { colours: 'red' })).toEqual([
      'is not a known option (did you mean colour?); known here: colour, size',
    ]);
    expect(read(kind, { colours: 1, x: 2 })).toEqual(['is not a known option; known here: colour, size']);
  });
});

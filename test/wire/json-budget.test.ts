/** What a JSON text may cost: looked at before it is parsed, whether or not it is JSON. */
import { describe, expect, test } from 'vitest';
import { tooLargeFailure } from '../../src/origin/request-errors.ts';
import { parseBody, tooCostly } from '../../src/wire/json.ts';
import { overBudget } from '../../src/wire/json-budget.ts';

/** So many levels, in a text with too many brackets to be parsed without a look. */
function nested(levels: number): string {
  return `[${'[],'.repeat(1_000)}${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}]`;
}

/** A list that is looked at for its many brackets, without a quote behind them. */
function beside(items: string): string {
  return `[${items},${'[],'.repeat(1_000)}[]]`;
}

describe('within the budget', () => {
  test.each([
    ['a small page with many brackets in its texts', JSON.stringify([{ Code: '[[{{'.repeat(10_000) }])],
    ['brackets in a text behind a quote of its own', beside(String.raw`"\"${'['.repeat(65)}"`)],
    ['brackets in a text behind a backslash and a quote', beside(String.raw`"\\\"${'['.repeat(65)}"`)],
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['64 levels among many brackets', nested(64)],
    ['a small text with many objects side by side', `[${'{},'.repeat(2_000)}{}]`],
    ['a text of 8,388,608 characters', `["${'x'.repeat(8 * 1_024 * 1_024)}"]`],
    ['1,200,000 values', `[${'1,'.repeat(1_199_999)}1]`],
  ])('is %s', (_, text) => {
    expect(overBudget(text)).toBeNull();
    expect(() => parseBody(text, 'select')).not.toThrow();
  });
});

describe('over the budget', () => {
  test.each([
    ['a thousand levels in a small text', '['.repeat(1_001), 'deeper than 64'],
    [
      '65 levels behind a text that ends in a backslash',
      beside(String.raw`"\\",${nested(65)}`),
      'deeper than 64 levels',
    ],
    ['65 levels behind a text that ends in a quote', beside(String.raw`"\"",${nested(65)}`), 'deeper than 64 levels'],
    ['65 levels among many brackets', nested(65), 'deeper than 64 levels'],
    ['one long text', `["${'x'.repeat(8 * 1_024 * 1_024 + 1)}"]`, 'characters'],
    ['a long text that does not end', `["${'x'.repeat(9 * 1_024 * 1_024)}`, 'characters'],
    ['1,200,001 values', `[${'1,'.repeat(1_200_000)}1]`, 'more than 1200000 values'],
  ])('are %s', (_, text, complaint) => {
    expect(overBudget(text)).toContain(complaint);
    expect(() => parseBody(text, 'select')).toThrow(expect.objectContaining({ code: 'origin.tooLarge' }) as Error);
  });
});

test('an answer beyond a bound has one hint, wherever the bound was met', () => {
  const attempted = { what: 'select', host: 'h', isChange: false, scrub: (text: string) => text };

  expect(tooCostly('select', 'it is deep').hint).toBe(tooLargeFailure(attempted).error.hint);
});

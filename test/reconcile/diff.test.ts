import { expect, test } from 'vitest';
import { hasNews, isInQuestion } from '../../src/reconcile/diff.ts';
import type { Row } from '../../src/wire/schema.ts';

const row = (id: number, value: string | null): Row => ({ id, allow: 'Edit', values: ['kept', value] });

test.each([
  ['no row', [], [row(1, 'a')], false],
  ['rows as they were', [row(2, 'b'), row(1, 'a')], [row(1, 'a'), row(2, 'b')], false],
  ['a row that was unknown', [row(1, 'a'), row(2, 'b')], [row(1, 'a')], true],
  ['a cell that changed', [row(1, 'x')], [row(1, 'a')], true],
  ['a cell that was emptied', [row(1, null)], [row(1, 'a')], true],
  ['another right, which no column holds', [{ ...row(1, 'a'), allow: null }], [row(1, 'a')], false],
] as const)('what came is news or not: %s', (_what, rows, base, expected) => {
  expect(hasNews(rows, base)).toBe(expected);
});

test.each([
  ['two that agree', 'Text', ['a', 'a'], false],
  ['two that do not', 'Text', ['a', 'b'], true],
  ['a third one that does not', 'Text', ['a', 'a', null], true],
  ['one number in two spellings', 'Numeric', [1, '1.0'], false],
  ['one version alone', 'Text', ['a'], true],
] as const)('kept versions leave a column in question, or not: %s', (_what, type, versions, expected) => {
  expect(isInQuestion(type, versions)).toBe(expected);
});

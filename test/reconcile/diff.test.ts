import { expect, test } from 'vitest';
import { hasNews } from '../../src/reconcile/diff.ts';
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

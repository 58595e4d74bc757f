import { expect, test } from 'vitest';
import type { Row } from '../../src/wire/schema.ts';
import { isTakenAs, differingRows } from '../../src/reconcile/merge.ts';

const row = (id: number, value: string | null): Row => ({ id, allow: 'Edit', values: ['kept', value] });

test.each([
  ['no row', [], [row(1, 'a')], false],
  ['rows as they were', [row(2, 'b'), row(1, 'a')], [row(1, 'a'), row(2, 'b')], false],
  ['a row that was unknown', [row(1, 'a'), row(2, 'b')], [row(1, 'a')], true],
  ['a cell that changed', [row(1, 'x')], [row(1, 'a')], true],
  ['a cell that was emptied', [row(1, null)], [row(1, 'a')], true],
  ['another right', [{ ...row(1, 'a'), allow: null }], [row(1, 'a')], true],
] as const)('what came is news or not: %s', (_what, rows, base, expected) => {
  expect(differingRows(rows, new Map(base.map((one) => [one.id, one]))).length > 0).toBe(expected);
});

test.each([
  ['User', 'a@b.example', 'Ann <A@b.example>', true],
  ['User', 'Bob <a@b.example>', 'Ann <a@b.example>', true],
  ['User', 'a@b.example', 'Ann <a@b.example.org>', false],
  ['User', 'a@b.example', null, false],
  ['Numeric', 0.333333333333333, 0.333333, true],
  ['Numeric', 0.6666666, 0.666667, true],
  ['Numeric', -0.0000004, 0, true],
  ['Numeric', -1.0000005, '-1.000001', true],
  ['Numeric', 1.0000005, -1, false],
  ['Numeric', '123456789012345678901234.5678901', '123456789012345678901234.56789', true],
  ['Numeric', 0.3333334, 0.333335, false],
  ['Numeric', 0.333, 0.333001, false],
  ['Timestamp', '2026-07-01T10:00:00.5Z', '2026-07-01T10:00:00Z', true],
  ['Timestamp', '2026-07-01T10:00:00.5Z', '2026-07-01T10:00:01Z', false],
  ['Timestamp', '2026-07-01T10:00:00Z', '2026-07-01T10:00:00.5Z', false],
  ['Timestamp', null, '2026-07-01T10:00:00Z', false],
  ['Checkbox', null, false, true],
  ['Checkbox', null, true, false],
  ['Checkbox', false, null, false],
  ['Text', '', null, true],
  ['Text', 'a', null, false],
  ['Text', 'a', 'A', false],
] as const)('what the origin may make of a value of the type %s: %s, %s', (type, sent, there, expected) => {
  expect(isTakenAs(type, sent, there)).toBe(expected);
});

/** Assumptions of ours: what breaks one is a defect of rowsync, and never taken for anything else. */
import { expect, test } from 'vitest';
import { assert, must, oneOf } from '../../src/base/assert.ts';
import type { RowsyncError } from '../../src/base/errors.ts';

const BUG = expect.objectContaining({ kind: 'bug', code: 'bug.assertion' }) as RowsyncError;

test('a broken assumption is reported as a bug, with its words', () => {
  expect(() => assert(false, 'rows have ids')).toThrow(BUG);
  expect(() => assert(false, 'rows have ids')).toThrow('rows have ids');
  expect(() => assert(true, 'rows have ids')).not.toThrow();
});

test.each([0, '', false, Number.NaN, 0n, []])('%s is a value', (value) => {
  expect(must(value, 'it is there')).toBe(value);
});

test.each([undefined, null])('%j is no value', (value) => {
  expect(() => must(value, 'it is there')).toThrow(BUG);
});

test.each(['Edited', 'edited ', '', null, 1])('%j is none of the words edited and sending', (text) => {
  expect(oneOf(['edited', 'sending'], 'sending')).toBe('sending');
  expect(() => oneOf(['edited', 'sending'], text)).toThrow(BUG);
});

/**
 * What each mask makes of a value.
 */
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';

import { isSameMask, maskedReader, maskedType, maskKeyDigest, maskProblem } from '../../src/wire/mask.ts';
import type { ColumnType, Mask, MaskKind, Value } from '../../src/wire/schema.ts';
import { columnReader, readOutput } from '../../src/wire/values.ts';

const KEY = 'a key of some length';

function masked(kind: MaskKind, from: ColumnType, value: Value, key = KEY): Value | undefined {
  const mask: Mask = { kind, from, pattern: 'x', ...(kind === 'constant' ? { constant: 'hidden' } : {}) };
  return maskedReader((raw) => raw as Value, mask, key)(value);
}

test.each([
  ['last4', 'Phone', '+1 555 0100', '0100'],
  ['last4', 'Text', 'short', null],
  ['last4', 'Text', 'eight\u{1F600}\u{1F601}\u{1F602}', 't\u{1F600}\u{1F601}\u{1F602}'],
  ['last4', 'Numeric', 12345678, '5678'],
  ['last4', 'Numeric', 1e21, '0000'],
  ['last4', 'Text', '12345678.50', '8.50'],
  ['year', 'Date', '1981-05-06', 1981],
  ['year', 'Timestamp', '2026-12-31T23:00:00Z', 2026],
  ['domain', 'EMail', 'Ann@Example.NET', 'example.net'],
  ['domain', 'User', 'Ann <ann@example.net>', 'example.net'],
  ['domain', 'URL', 'https://ann:secret@example.net:8080/path?q=a@b.example', 'example.net'],
  ['domain', 'Text', 'no address', null],
  ['domain', 'Text', 'ann@example.net and more', null],
  ['domain', 'EMail', 'https://example.net/', null],
  ['constant', 'Text', 'anything', 'hidden'],
  ['null', 'Text', 'anything', null],
] as const)('%s of a %s: %s', (kind, type, value, expected) => {
  expect(masked(kind, type, value)).toBe(expected);
});

test.each(['hash', 'last4', 'year', 'domain', 'constant', 'null'] as const)(
  '%s leaves a missing value missing',
  (kind) => {
    expect(masked(kind, 'Text', null)).toBeNull();
  },
);

test('equal values have equal hashes in columns of any type, under one key only', () => {
  const one = masked('hash', 'Text', '42');

  expect(one).toMatch(/^[0-9a-f]{32}$/);
  expect(masked('hash', 'Numeric', 42)).toBe(one);
  expect(masked('hash', 'Text', '43')).not.toBe(one);
  expect(masked('hash', 'Text', '42', 'another key')).not.toBe(one);
  expect(maskKeyDigest(KEY)).toBe(
    createHmac('sha256', KEY).update('rowsync: which key this is').digest('hex').slice(0, 16),
  );
});

test('a value that cannot be read stays unreadable', () => {
  const read = columnReader(
    readOutput,
    { name: 'X', type: 'Numeric', mask: { kind: 'year', from: 'Date', pattern: 'X' } },
    null,
  );

  expect(read('1981-05-06T00:00:00+00:00')).toBe(1981);
  expect(read('no date')).toBeUndefined();
});

test('only dates and timestamps have a year', () => {
  expect(maskProblem('year', 'Date')).toBeNull();
  expect(maskProblem('year', 'Timestamp')).toBeNull();
  expect((['year', 'hash'] as const).map(maskedType)).toEqual(['Numeric', 'Text']);
  expect(maskProblem('year', 'Text')).toContain('only dates and timestamps');
  expect(maskProblem('hash', 'Attachment')).toBeNull();
});

test('masks are the same where they give the same values', () => {
  const hash: Mask = { kind: 'hash', from: 'Text', pattern: 'a', key: 'k' };

  expect(isSameMask(hash, { ...hash, pattern: 'b', from: 'EMail' })).toBe(true);
  expect(isSameMask(hash, { ...hash, key: 'other' })).toBe(false);
  expect(isSameMask(hash, { ...hash, from: 'Numeric' })).toBe(false);
  expect(isSameMask({ ...hash, constant: 'a' }, { ...hash, constant: 'b' })).toBe(false);
  expect(isSameMask(hash, null)).toBe(false);
  expect(isSameMask(null, null)).toBe(true);
});

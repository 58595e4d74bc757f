/**
 * The option `contracts`: a folder beside the configuration, and days that old names stay.
 */
import { expect, test } from 'vitest';
import { CONTRACT_OPTIONS } from '../../../src/extras/contracts/options.ts';
import type { OptionSection } from '../../../src/config/options.ts';

function read(given: unknown): unknown {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
  const context = { folder: '/etc/rowsync' } as Parameters<NonNullable<OptionSection['read']>>[1];
  return CONTRACT_OPTIONS.read?.(given, context).settings;
}

test.each([
  ['left out', undefined, undefined],
  ['empty', {}, { folder: null, keepDays: 0 }],
  ['with a folder', { folder: 'queries' }, { folder: '/etc/rowsync/queries', keepDays: 0 }],
  ['with a folder elsewhere', { folder: '/srv/queries' }, { folder: '/srv/queries', keepDays: 0 }],
  ['with days', { keepOldNames: '30d' }, { folder: null, keepDays: 30 }],
  ['with very many days', { keepOldNames: '99999d' }, { folder: null, keepDays: 99_999 }],
])('%s', (_what, given, settings) => {
  expect(read(given)).toEqual(settings);
});

test.each([
  [{ keepOldNames: '30' }],
  [{ keepOldNames: '0d' }],
  [{ keepOldNames: '1w' }],
  [{ folder: 3 }],
  [{ other: 1 }],
  [null],
])('%j is no such option', (given) => {
  expect(CONTRACT_OPTIONS.schema?.safeParse(given).success).toBe(false);
});

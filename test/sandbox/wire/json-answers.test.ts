/** Moments that the sandbox writes into descriptions. */
import { expect, test } from 'vitest';
import { millisecondTextFromUtc } from '../../../src/sandbox/wire/json-answers.ts';

test.each([
  ['2026-07-01T12:00:00Z', '2026-07-01T14:00:00.000+02:00'],
  ['2026-07-01T12:00:00.5Z', '2026-07-01T14:00:00.500+02:00'],
  ['2026-07-01T12:00:00.123456Z', '2026-07-01T14:00:00.123+02:00'],
])('%s has milliseconds as %s', (utc, text) => {
  expect(millisecondTextFromUtc(utc, 'Europe/Paris')).toBe(text);
});

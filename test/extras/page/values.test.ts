/**
 * How single values are shown.
 */
import { expect, test } from 'vitest';
import { spanHtml } from '../../../src/extras/page/values.ts';

test.each([
  ['72', '1 min 12 s'],
  ['28800', '8 h'],
  ['90061.5', '1 d 1 h 1 min 1.5 s'],
  ['-60', '-1 min'],
  ['0', '0 s'],
  ['0.25', '0.25 s'],
])('%s seconds are read as %s, and are in the title', (seconds, words) => {
  expect(spanHtml(seconds).toString()).toBe(`<span title="${seconds} seconds">${words}</span>`);
});

test('what is no number of seconds is shown as it is', () => {
  expect(spanHtml('PT1H').toString()).toBe('PT1H');
});

/** When an expression is due, in words. */
import { expect, test } from 'vitest';
import { timesText } from '../../src/config/cron-times.ts';

test.each([
  ['* * * * *', 'every minute'],
  ['*/1 * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes'],
  ['*/7 * * * *', 'at */7 * * * *'],
  ['17 * * * *', 'every hour'],
  ['0 */6 * * *', 'every 6 hours'],
  ['0 */5 * * *', 'at 0 */5 * * *'],
  ['5 3 * * *', 'every day at 03:05'],
  ['*/5 8-18 * * *', 'at */5 8-18 * * *'],
  ['0 3 * * 1', 'at 0 3 * * 1'],
])('%s is said as "%s"', (text, words) => {
  expect(timesText(text)).toBe(words);
});

/**
 * What the doorbell promises, in virtual time: changes that rang are here within two seconds, and lost rings cost freshness only.
 */
import { expect, test } from 'vitest';
import { playRinging } from '../../support/ringing.ts';

// eslint
test('changes that rang are here within two seconds, and the others after the next poll', async () => {
  const { rungMs, lostCount, requestCount, readCount, seconds, writeCount, isSame } = await playRinging(120);

  const sorted = rungMs.map((ms) => ms ?? Infinity).toSorted((a, b) => a - b);
  expect(sorted[Math.ceil(sorted.length * 0.99) - 1]).toBeLessThanOrEqual(2_000);
  expect([lostCount, isSame, writeCount]).toEqual([0, true, 0]);
  // A read asks for the list of tables and the user, and three times for each of the tables; there is one a second and table at most, and the polls.
  expect(readCount).toBeLessThanOrEqual(3 * seconds);
  expect(requestCount).toBeLessThanOrEqual(5 * readCount + 11 * Math.ceil(seconds / 60));
});

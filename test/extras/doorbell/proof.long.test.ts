/**
 * The whole proof of the doorbell.
 */
import { expect, test } from 'vitest';
import { proveRinging } from '../../support/ringing.ts';

test('1,000 changes at 20 a second, half of the rings dropped, and 10,000 forged', { timeout: 300_000 }, async () => {
  await expect(proveRinging(1_000)).resolves.toBeUndefined();
});

/**
 * What the doorbell promises, in virtual time: changes that rang are here within two seconds, and dropped rings cost
 * freshness only.
 */
import { expect, test } from 'vitest';
import { proveRinging } from '../../support/ringing.ts';

test('changes that rang are here within two seconds, the others after the next poll, and forged rings do nothing', async () => {
  await expect(proveRinging(60)).resolves.toBeUndefined();
});

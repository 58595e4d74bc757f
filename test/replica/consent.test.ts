/**
 * What a person lets through once counts once, also where the power fails behind it.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { giveConsent } from '../../src/replica/consent.ts';
import { openReplica, type TransactionFacts } from '../../src/replica/database.ts';
import { pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

/** Opens the replica once more; the transactions that were kept of what is done with it from then on. */
function watch(fixture: Fixture): readonly TransactionFacts[] {
  const seen: TransactionFacts[] = [];
  fixture.replica.close();
  fixture.replica = openReplica(fixture.path, {
    clock: systemClock,
    surround: (facts, run) => {
      seen.push(facts);
      return run(() => undefined);
    },
  });
  return seen;
}

const USED_UP = { what: 'Using up a consent', isKept: true, isDurable: true };

test('a consent to a push is used up for good', async () => {
  await using fixture = await startTwoWay({});
  const settings = { maxPushRows: 1 };
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'`);
  await pushNow(fixture, { settings });
  expect(giveConsent(fixture.path, ['push'], [])).toHaveLength(1);
  const seen = watch(fixture);

  await pushNow(fixture, { settings });

  expect(seen).toContainEqual(USED_UP);
});

test('a consent to deletes is used up for good', async () => {
  await using fixture = await startTwoWay({});
  for (const { id } of fixture.sandbox.store.rows('Note')) fixture.sandbox.store.delete('Note', id);
  await fixture.pull();
  expect(giveConsent(fixture.path, ['pull'], [])).toHaveLength(1);
  const seen = watch(fixture);

  await fixture.pull();

  expect(seen).toContainEqual(USED_UP);
});

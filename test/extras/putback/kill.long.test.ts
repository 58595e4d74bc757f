/**
 * A large family put back by processes that are killed at any request: nothing is there twice, nothing is missing, and a further run sends nothing.
 */
import { expect, test } from 'vitest';
import { startFamily } from '../../support/putback.ts';

test('1,000 parents with 5,000 descendants return once under 64 kills', { timeout: 900_000 }, async () => {
  await using world = await startFamily({ groups: 200, isUnique: true });
  const before = world.graph();
  await world.purge();
  const args = ['putback', 'Customer', '--with', 'Order,Line,Link', '--confirm'];

  const killedCount = await world.putBackUnderKills(
    args,
    Array.from({ length: 64 }, (_, index) => 12 + ((index * 7) % 31)),
  );
  const after = world.graph();
  world.sandbox.requests.clear();
  const again = await world.run(...args);

  expect(killedCount).toBeGreaterThan(32);
  expect(after).toEqual(before);
  expect(again.exitCode).toBe(0);
  for (const method of ['create', 'upsert', 'update', 'delete'])
    expect(world.sandbox.requests.count({ method })).toBe(0);
});

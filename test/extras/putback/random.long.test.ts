/**
 * Rows lost at random, with rows that stay and lose their reference, put back while answers are lost: nothing is twice,
 * nothing is missing.
 */
import { expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/data/random.ts';
import { startFamily } from '../../support/putback.ts';
import { seeds } from '../../support/seeds.ts';

/** Columns that refer to other rows: the table that they refer to, and whether one may be empty. */
const REFERENCES = [
  { table: 'Customer', column: 'Parent Customer', to: 'Customer', mayBeEmpty: true },
  { table: 'Order', column: 'Customer', to: 'Customer', mayBeEmpty: false },
  { table: 'Link', column: 'Customer', to: 'Customer', mayBeEmpty: true },
  { table: 'Line', column: 'Order Id', to: 'Order', mayBeEmpty: true },
  { table: 'Link', column: 'Order', to: 'Order', mayBeEmpty: true },
] as const;

test.each(seeds(3))('rows lost at random return once, and what stayed is linked again, seed %i', async (seed) => {
  await using world = await startFamily({ groups: 2, isUnique: true, yaml: 'tables: { "*": { history: true } }\n' });
  const random = new Random(seed);
  const chance = (percent: number): boolean => random.integer(0, 99) < percent;
  const { store, sandbox } = world;
  const before = world.graph();
  // A row is deleted, and each one that refers to it is deleted, too, loses its reference, or keeps it.
  const lose = (table: string, id: number): void => {
    if (!store.ids(table).includes(id)) return;
    store.delete(table, id, { purge: chance(50) });
    for (const { table: from, column, mayBeEmpty } of REFERENCES.filter(({ to }) => to === table))
      for (const { id: child, values } of store.rows(from)) {
        if (values[column] !== String(id)) continue;
        const fate = random.integer(0, 3);
        if (fate < 2) lose(from, child);
        else if (fate === 2 && mayBeEmpty) store.update(from, child, { [column]: '' });
      }
  };
  for (const id of store.ids('Customer')) if (chance(30)) lose('Customer', id);
  await world.run('pull', '--confirm');
  // A push without an answer leaves a row to a person if the bin has rows that were deleted about then.
  world.wait(3_600_000);
  sandbox.faults.replace({
    faults: Array.from({ length: random.integer(0, 4) }, () => ({
      fault: (['resetAfter', 'resetBefore', 'unavailable'] as const)[random.integer(0, 2)] ?? 'resetAfter',
      method: ['upsert', 'update', 'select', 'retrieve'][random.integer(0, 3)] ?? 'upsert',
      nth: random.integer(1, 6),
    })),
  });

  const command = ['putback', 'Customer', '--with', 'Order,Line,Link', '--confirm'];
  let exitCode = -1;
  for (let attempt = 0; attempt < 8 && exitCode !== 0; attempt += 1) exitCode = (await world.run(...command)).exitCode;
  sandbox.faults.replace({ faults: [] });
  const resumed = await world.run('putback', '--resume');
  const after = world.graph();
  sandbox.requests.clear();
  const again = await world.run(...command);

  expect([exitCode, resumed.stderr, resumed.exitCode, again.exitCode]).toEqual([0, '', 0, 0]);
  expect(after).toEqual(before);
  for (const method of ['create', 'upsert', 'update', 'delete']) expect(sandbox.requests.count({ method })).toBe(0);
});

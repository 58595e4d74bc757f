/**
 * A large family put back by processes that are killed at any request: nothing is there twice, nothing is missing, and
 * a further run sends nothing.
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

test.each([[[]], [[7, 9, 6, 8, 10, 5]]])(
  'older revisions of a file are attached first, in order, and nothing twice, killed at requests %j',
  async (kills) => {
    await using world = await startFamily({ isUnique: true, yaml: 'tables: { "*": { files: all } }\n' });
    const scan = (at: number) => ({ name: `v${at}.txt`, mediaType: 'text/plain', bytes: Buffer.from(`version ${at}`) });
    for (const at of [2, 3]) world.store.update('Line', 1, { Scan: scan(at) });
    await world.run('pull');
    world.store.delete('Line', 1, { purge: true });
    await world.run('pull', '--confirm');
    const command = ['putback', 'Line', '1', '--revisions'];

    const planned = await world.run(...command);
    await world.putBackUnderKills([...command, '--confirm'], kills);
    world.sandbox.requests.clear();
    const done = await world.run('putback', '--resume');
    await world.run('pull');

    expect(planned.stdout).toContain('3 files of 30 B');
    expect([done.stderr, done.exitCode]).toEqual(['', 0]);
    expect(world.sandbox.requests.count({ method: 'update' })).toBe(0);
    const [{ id }] = world.rows('SELECT max(_id) AS id FROM Line') as [{ id: number }];
    expect(
      world.rows(`SELECT revision, name FROM sync_files WHERE "table" = 'Line' AND row_id = ${id} ORDER BY revision`),
    ).toEqual([
      { revision: 1, name: 'scan; of 1.txt' },
      { revision: 2, name: 'v2.txt' },
      { revision: 3, name: 'v3.txt' },
    ]);
  },
);

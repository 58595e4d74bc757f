/**
 * After a push, the origin goes back to what a page said before it. The page answers 304 to the ETag of that time, and
 * the rows that were pushed must follow anyway. Tables without system columns, where nothing else on a page tells the
 * two times apart.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { here, pushNow } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';

const PLAIN: TableSpec = {
  name: 'Plain',
  systemColumns: false,
  columns: [{ name: 'Title', type: 'Text' }],
  rows: [{ Title: 'one' }, { Title: 'two' }, { Title: 'three' }],
};

test('a value that a colleague puts back after it was pushed comes back here', async () => {
  await using fixture = await startTwoWay({ tables: [PLAIN] });
  fixture.execute(`UPDATE "Plain" SET "Title" = 'changed' WHERE _id = 2`);
  await pushNow(fixture, { confirm: true });

  fixture.sandbox.store.update('Plain', 2, { Title: 'two' });
  await fixture.pull();

  expect(here(fixture, ['Title'], 'Plain')).toEqual([
    [1, 'one'],
    [2, 'two'],
    [3, 'three'],
  ]);
});

test('a value that a colleague changed is taken before a push, and followed when it is put back', async () => {
  await using fixture = await startTwoWay({ tables: [PLAIN] });
  fixture.sandbox.store.update('Plain', 2, { Title: 'theirs' });
  fixture.execute(`DELETE FROM "Plain" WHERE _id = 2`);
  await pushNow(fixture, { confirm: true }); // deleted here, edited there: the origin wins, and the row is back
  expect(here(fixture, ['Title'], 'Plain')).toContainEqual([2, 'theirs']);

  fixture.sandbox.store.update('Plain', 2, { Title: 'two' });
  await fixture.pull();

  expect(here(fixture, ['Title'], 'Plain')).toContainEqual([2, 'two']);
});

test('rows that are deleted after a page had them, and before they are asked for, wait for a person where they are too many', async () => {
  await using fixture = await startTwoWay({ tables: [PLAIN] });
  fixture.execute(`UPDATE "Plain" SET "Title" = 'changed ' || _id`);
  await pushNow(fixture, { confirm: true });
  for (const [index, title] of ['one', 'two', 'three'].entries())
    fixture.sandbox.store.update('Plain', index + 1, { Title: title });
  const deleteAll = (): void => [1, 2, 3].forEach((id) => fixture.sandbox.store.delete('Plain', id));
  fixture.sandbox.before(1, deleteAll, { method: 'retrieve' });

  const first = await fixture.pull();
  const second = await fixture.pull();

  expect([first, second].map(({ tables }) => tables[0]?.deletedCount)).toEqual([0, 0]);
  expect(second.tables[0]?.held?.code).toBe('guard.deletes');
  expect(here(fixture, ['Title'], 'Plain')).toHaveLength(3);

  await fixture.pull({ confirm: true });
  expect(here(fixture, ['Title'], 'Plain')).toEqual([]);
});

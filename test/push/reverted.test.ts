/**
 * After a push, the origin goes back to what a page said before it: the page answers 304 to the ETag of that time, and the rows that
 * were pushed must follow all the same. Tables without system columns, where nothing else on a page tells the two times apart.
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

/**
 * Tables whose names mean something else in our own SQL, such as an alias, are pulled, edited and pushed like any
 * other. They keep no other table from changing its shape.
 */
import { expect, test } from 'vitest';
import { readOrigin, readReplica } from '../support/compare.ts';
import { codesOf, here, pushNow } from '../support/push.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

test.each([
  ['B', 'B'],
  ['Excluded', 'Excluded'],
  ['Waiting', 'Waiting'],
  ['Here', 'Here'],
  ['There', 'There'],
  ['New', 'origin_New'],
  ['Old', 'origin_Old'],
])('a table called %s', async (name, local) => {
  const tables = [name, 'Zebra'].map((each) => ({ ...NOTE, name: each }));
  await using fixture = await startTwoWay({ tables, editing: { match: 'Code' } });
  const { store } = fixture.sandbox;
  store.update(name, 2, { Title: 'theirs' });
  await fixture.pull();
  expect(here(fixture, ['Title'], local)[1]).toEqual([2, 'theirs']);

  fixture.execute(`INSERT INTO "${local}" ("Title", "Code") VALUES ('new', 'n');
    INSERT OR REPLACE INTO "${local}" (_id, "Title", "Code") VALUES (1, 'mine', 'c1');
    UPDATE "${local}" SET "Title" = 'mine' WHERE _id = 3; DELETE FROM "${local}" WHERE _id = 4`);
  expect(await captured(fixture, local)).toEqual([
    'insert -2 Title,Code',
    'update 1 Title,Count,Done,Due',
    'update 3 Title',
    'delete 4',
  ]);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  store.renameTable('Zebra', 'Horse');
  const { error, tables: pulled } = await fixture.pull();

  expect([error, ...pulled.map((table) => table.error)]).toEqual([null, null, null]);
  const there = readOrigin(fixture.sandbox) as Readonly<Record<string, unknown>>;
  expect(Object.values(readReplica(fixture.path))).toEqual(expect.arrayContaining(Object.values(there)));
});

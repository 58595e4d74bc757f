/**
 * Names to which JavaScript gives a meaning of its own, as tables, as columns and as values. The prototypes that all
 * objects share are frozen here, so that code which writes to one of them throws instead of changing what every other
 * object says.
 */
import { expect, test } from 'vitest';

import { withDatabase } from '../support/compare.ts';
import { atOrigin, codesOf, countsOf, pushNow } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON', 'then'];

for (const shared of [Object, Array, Function, Map, Set, String, Number, Promise]) Object.freeze(shared.prototype);

/** A row with a value of its own in each column. */
function rowOf(name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(NAMES.map((column) => [column, `${column} of ${name}`]));
}

/** The rows of a table as lists: as objects, the driver would assign a column `__proto__` to the prototype. */
function rowsHere(path: string, table: string): readonly unknown[] {
  const columns = NAMES.map((column) => `, "${column}"`).join('');
  return withDatabase(path, (db) => db.prepare(`SELECT _id${columns} FROM "${table}" ORDER BY _id`).raw().all());
}

test('every row and every edit of them arrives, and no prototype is written to', async () => {
  const tables = ['Note', ...NAMES].map((name) => ({
    name,
    columns: NAMES.map((column, index) => ({
      name: column,
      type: 'Text',
      ...(index === 0 ? { options: ['Unique'] } : {}),
    })),
    rows: NAMES.map((row) => rowOf(`${name} ${row}`)),
    systemColumns: false,
  }));
  await using fixture = await startTwoWay({ tables, editing: { match: '__proto__' } });

  for (const { name } of tables) {
    expect(rowsHere(fixture.path, name)).toEqual(
      NAMES.map((row, index) => [index + 1, ...Object.values(rowOf(`${name} ${row}`))]),
    );
  }

  const columns = NAMES.map((column) => `"${column}"`).join(', ');
  const values = NAMES.map((column) => `'new ${column}'`).join(', ');
  fixture.execute(`UPDATE "Note" SET "constructor" = '__proto__', "__proto__" = 'toString' WHERE _id = 1;
    INSERT INTO "Note" (${columns}) VALUES (${values});
    DELETE FROM "Note" WHERE _id = 2`);
  const report = await pushNow(fixture, { tables: ['Note'] });

  expect(codesOf(report)).toEqual([]);
  expect(countsOf(report)).toEqual({ inserted: 1, updated: 1, deleted: 1 });
  expect(rowsHere(fixture.path, 'Note')).toEqual(atOrigin(fixture, NAMES));
  expect(rowsHere(fixture.path, 'Note')[0]).toEqual([
    1,
    'toString',
    '__proto__',
    ...NAMES.slice(2).map((column) => `${column} of Note __proto__`),
  ]);
});

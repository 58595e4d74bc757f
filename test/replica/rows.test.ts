/** Rows in and out of user tables. */
import { expect, test } from 'vitest';
import { ident, sql } from '../../src/base/sql.ts';
import { readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { queryNumbers } from '../../src/replica/query.ts';
import { readRowsById, readStoredById, storedFromValue } from '../../src/replica/rows.ts';
import { sampleTables } from '../../src/sandbox/data/sample.ts';
import { columnType, COLUMN_TYPES } from '../../src/wire/schema.ts';
import { startFixture } from '../support/replica.ts';

test('a value is stored just as it is given to SQLite, so that an unchanged row is told from a changed one', async () => {
  await using fixture = await startFixture({ tables: sampleTables(1) });
  await fixture.pull();
  const { replica } = fixture;

  const seen = new Set<string>();
  for (const { id, localName } of readTables(replica)) {
    const columns = readColumns(replica, id).map((column) => ({ ...column, type: columnType(column.type) }));
    const target = { id, localName, columns };
    const ids = queryNumbers(replica, sql`SELECT _id FROM ${ident(localName)} LIMIT 200`, []);
    const storedById = readStoredById(replica, target, ids);
    for (const row of readRowsById(replica, target, ids).values()) {
      expect([BigInt(row.id), row.allow, ...row.values.map(storedFromValue)]).toStrictEqual(storedById.get(row.id));
      for (const [index, { type }] of columns.entries()) if (row.values[index] !== null) seen.add(type);
    }
  }

  expect(COLUMN_TYPES.filter((type) => !seen.has(type))).toEqual(['Unknown']); // no sample has one
});

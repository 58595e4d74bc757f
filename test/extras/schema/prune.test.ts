/** Removing what the origin does not have any more. */
import { expect, test } from 'vitest';
import { prune } from '../../../src/extras/schema/prune.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';

function goods(): TableSpec {
  return {
    name: 'Good',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Price', type: 'Numeric' },
    ],
    rows: ['a', 'b', 'c'].map((title, index) => ({ Title: title, Price: index + 1 })),
    systemColumns: false,
  };
}

function described(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "column", state FROM sync_columns ORDER BY "column"');
}

function columnsOf(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

test('keeps the values of a removed column, marked, until the schema is pruned', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.dropColumn('Good', 'Title');

  const report = await fixture.pull();
  const kept = fixture.rows('SELECT "Title" FROM "Good" ORDER BY _id');
  const marked = described(fixture);
  const dropped = await fixture.replica.write('pruning', (tx) => prune(tx, '2026-11-21T12:00:00Z'));

  expect(report.tables[0]?.error).toBeNull();
  expect(kept).toEqual([{ Title: 'a' }, { Title: 'b' }, { Title: 'c' }]);
  expect(marked).toContainEqual({ column: 'Title', state: 'removed' });
  expect(dropped).toEqual(['Good.Title']);
  expect(columnsOf(fixture, 'Good')).toEqual(['_id', '_allow', 'Id', 'Price']);
});

test('prunes a column of a table that another client dropped', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.dropColumn('Good', 'Title');
  await fixture.pull();
  fixture.execute('DROP TABLE "Good"');

  const dropped = await fixture.replica.write('pruning', (tx) => prune(tx, '2026-11-21T12:00:00Z'));
  await fixture.pull();

  expect(dropped).toEqual(['Good.Title']);
  expect(columnsOf(fixture, 'Good')).toEqual(['_id', '_allow', 'Id', 'Price']);
});

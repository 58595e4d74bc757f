/**
 * The cost of a pull of many tables: nothing as large as the schema, or the ledger, is read once per table.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

const WHOLE = /FROM sqlite_schema(?! WHERE rowid)|FROM _rowsync_tables ORDER BY/;

function tablesOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    name: `Note ${index}`,
    columns: ['Text', 'Numeric', 'Checkbox'].map((type) => ({ name: `A ${type}`, type })),
    rows: [{ 'A Text': 'theirs' }],
  }));
}

/** Opens the replica again, and returns the list of its statements, which grows. */
function openListening(fixture: Fixture): readonly string[] {
  const statements: string[] = [];
  fixture.replica = openReplica(fixture.path, {
    clock: systemClock,
    connect: (path, options) =>
      new Database(path, { ...options, verbose: (text) => void statements.push(String(text)) }),
  });
  return statements;
}

/**
 * How many statements of a pull that finds nothing new read the whole schema or ledger, and which ones change the
 * schema.
 */
async function secondPull(
  tableCount: number,
  isTwoWay: boolean,
): Promise<{ readonly wholeCount: number; readonly changes: readonly string[] }> {
  await using fixture = await startFixture(
    { tables: tablesOf(tableCount) },
    isTwoWay ? { settings: twoWaySettings() } : {},
  );
  await fixture.pull();
  fixture.replica.close();
  const statements = openListening(fixture);
  await fixture.pull();
  return {
    wholeCount: statements.filter((text) => WHOLE.test(text)).length,
    changes: statements.filter((text) => /^\s*(?:CREATE|DROP|ALTER)/.test(text)),
  };
}

test.each([
  ['mirrors', false],
  ['two-way tables', true],
])('%s cost a pull no reading of everything each', async (_what, isTwoWay) => {
  const few = await secondPull(6, isTwoWay);
  const more = await secondPull(12, isTwoWay);

  expect(more.wholeCount).toBe(few.wholeCount);
  expect(few.wholeCount).toBeGreaterThan(0);
  expect(more.changes).toEqual([]);
});

test('the view of changes is made once for all tables that a pull makes two-way', async () => {
  await using fixture = await startFixture({ tables: tablesOf(5) }, { settings: twoWaySettings() });
  fixture.replica.close();
  const statements = openListening(fixture);

  await fixture.pull();

  expect(statements.filter((text) => /^\s*CREATE VIEW sync_changes/.test(text))).toHaveLength(1);
  fixture.execute(`UPDATE "Note 0" SET "A Text" = 'ours'; UPDATE "Note 4" SET "A Text" = 'ours'`);
  expect(fixture.rows('SELECT "table", local FROM sync_changes ORDER BY 1')).toEqual([
    { table: 'Note 0', local: 'ours' },
    { table: 'Note 4', local: 'ours' },
  ]);
});

test('a first pull of two-way tables makes each table, its base and four triggers once', async () => {
  await using fixture = await startFixture({ tables: tablesOf(3) }, { settings: twoWaySettings() });
  fixture.replica.close();
  const statements = openListening(fixture);

  await fixture.pull();

  const made = statements.filter(
    (text) => /^\s*CREATE (?:TABLE|TRIGGER)/.test(text) && !text.includes('_rowsync_guard_'),
  );
  expect(made).toHaveLength(3 * (2 + 4));
});

test('a first pull of mirrors makes tables and guards once, without dropping any', async () => {
  await using fixture = await startFixture({ tables: tablesOf(3) });
  fixture.replica.close();
  const statements = openListening(fixture);

  await fixture.pull();

  expect(statements.filter((text) => /^\s*(?:CREATE|DROP|ALTER)/.test(text))).toHaveLength(3 * (1 + 3));
  expect(() => fixture.execute(`DELETE FROM "Note 0"`)).toThrow('read-only mirror');
});

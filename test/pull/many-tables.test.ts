/**
 * What a pull costs where there are many tables: nothing that is as large as the schema, or as the ledger, is read once for each table.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { startFixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

const WHOLE = /FROM sqlite_schema(?! WHERE rowid)|FROM _rowsync_tables ORDER BY/;

/** How many statements of a pull that finds nothing new read the whole schema or ledger, and which ones change the schema. */
async function secondPull(
  tableCount: number,
  isTwoWay: boolean,
): Promise<{ readonly wholeCount: number; readonly changes: readonly string[] }> {
  const tables = Array.from({ length: tableCount }, (_, index) => ({
    name: `Note ${index}`,
    columns: ['Text', 'Numeric', 'Checkbox'].map((type) => ({ name: `A ${type}`, type })),
    rows: [{ 'A Text': 'theirs' }],
  }));
  await using fixture = await startFixture({ tables }, isTwoWay ? { settings: twoWaySettings() } : {});
  await fixture.pull();
  fixture.replica.close();
  const statements: string[] = [];
  fixture.replica = openReplica(fixture.path, {
    clock: systemClock,
    connect: (path, options) =>
      new Database(path, { ...options, verbose: (text) => void statements.push(String(text)) }),
  });
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
  const few = await secondPull(2, isTwoWay);
  const more = await secondPull(6, isTwoWay);

  expect(more.wholeCount).toBe(few.wholeCount);
  expect(few.wholeCount).toBeGreaterThan(0);
  expect(more.changes).toEqual([]);
});

/** What the configuration says of a table follows it through renames, and names that are misspelt are told. */
import { expect, test } from 'vitest';
import { withBoundNames, tableRules } from '../../src/config/table-patterns.ts';
import { pullSettings } from '../../src/config/settings.ts';
import type { TableOptions } from '../../src/config/options.ts';
import { boundNameOf } from '../../src/replica/bookkeeping/described-tables.ts';
import type { PullSettings } from '../../src/pull/context.ts';
import type { PullReport } from '../../src/pull/report.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

type Keys = Readonly<Record<string, TableOptions>>;

function staff(name: string): TableSpec {
  return {
    name,
    columns: [
      { name: 'Name', type: 'Text' },
      { name: 'Salary', type: 'Numeric' },
    ],
    rows: [
      { Name: `${name} one`, Salary: 1 },
      { Name: `${name} two`, Salary: 2 },
    ],
    systemColumns: false,
  };
}

/** The settings that a configuration with these tables has in a replica. */
function settingsFor(fixture: Fixture, tables: Keys): PullSettings {
  const config = withBoundNames({ tables: tableRules(tables) }, (name) => boundNameOf(fixture.replica, name));
  return pullSettings({
    ...config,
    replica: { names: 'origin' },
    limits: { pageRows: 500, concurrency: 4, requestsPerSecond: 0 },
    safety: { maxDeletePercent: 50, maxPushRows: 1000 },
    schedule: { timeZone: 'UTC', pull: false, push: false, follow: false, added: {}, isRung: false },
  });
}

const pullWith = (fixture: Fixture, tables: Keys, options: { tables?: string[]; confirm?: boolean } = {}) =>
  fixture.pull({ ...options, settings: settingsFor(fixture, tables) });

function columnsOf(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

const codesOf = ({ tables }: PullReport): readonly (string | undefined)[] =>
  tables.map(({ table, held, error }) => `${table} ${held?.code ?? error?.code ?? 'read'}`).toSorted();

const HIDE = { columns: { exclude: ['Salary'] } };

test('a rename at the origin brings no column that is left out, and each pull says so until the name is changed', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  await pullWith(fixture, { '*': {}, 'Staff Member': HIDE });
  fixture.sandbox.store.renameTable('Staff Member', 'Employee');

  const first = await pullWith(fixture, { '*': {}, 'Staff Member': HIDE });
  const second = await pullWith(fixture, { '*': {}, 'Staff Member': HIDE });
  const corrected = await pullWith(fixture, { '*': {}, Employee: HIDE });

  const note =
    'Staff Member is now called Employee; its configuration still applies: change the name in the configuration';
  expect([first.notes, second.notes, corrected.notes]).toEqual([[note], [note], []]);
  expect(codesOf(corrected)).toEqual(['Employee read']);
  expect(columnsOf(fixture, 'Employee')).toEqual(['_id', '_allow', 'Id', 'Name']);
});

test('a rename at the origin lets in no row outside of the filter', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  const keys = { '*': {}, 'Staff Member': { rows: '[Salary]=1' } };
  await pullWith(fixture, keys);
  fixture.sandbox.store.renameTable('Staff Member', 'Employee');

  await pullWith(fixture, keys);

  expect(fixture.rows('SELECT "Name" FROM "Employee"')).toEqual([{ Name: 'Staff Member one' }]);
});

test('a table that is left out stays out when it is renamed', async () => {
  await using fixture = await startFixture({ tables: [staff('Secret'), staff('Other')] });
  const keys = { '*': {}, Secret: false as const };
  await pullWith(fixture, keys);
  fixture.sandbox.store.renameTable('Secret', 'Public');

  const report = await pullWith(fixture, keys);

  expect(codesOf(report)).toEqual(['Other read']);
  expect(report.notes).toHaveLength(1);
  expect(fixture.rows(`SELECT 1 FROM sqlite_schema WHERE name = 'Public'`)).toEqual([]);
});

test('a renamed two-way table keeps its edits and stays two-way', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  const keys = { '*': {}, 'Staff Member': { push: true } };
  await pullWith(fixture, keys);
  fixture.execute(`UPDATE "Staff Member" SET "Name" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.renameTable('Staff Member', 'Employee');

  await pullWith(fixture, keys);

  expect(fixture.rows('SELECT mode, pending FROM sync_status')).toEqual([{ mode: 'two-way', pending: 1 }]);
});

test('a new table that takes a bound name waits until its former owner is named, and nothing of it comes before', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  const keys = { '*': {}, 'Staff Member': { push: true } };
  await pullWith(fixture, keys);
  fixture.sandbox.store.renameTable('Staff Member', 'Employee');
  fixture.sandbox.store.addTable(staff('Staff Member'));

  const waiting = await pullWith(fixture, keys);
  const whileWaiting = fixture.rows(`SELECT 1 FROM sqlite_schema WHERE tbl_name = 'Staff Member'`);
  const named = await pullWith(fixture, { ...keys, Employee: { push: true } });

  expect(codesOf(waiting)).toEqual(['Employee read', 'Staff Member guard.names']);
  expect(whileWaiting).toEqual([]);
  expect(codesOf(named)).toEqual(['Employee read', 'Staff Member read']);
  expect(fixture.rows('SELECT "table", mode FROM sync_status ORDER BY 1')).toEqual([
    { table: 'Employee', mode: 'two-way' },
    { table: 'Staff Member', mode: 'two-way' },
  ]);
});

test('tables that swap their names wait until a person confirms, who was told', async () => {
  await using fixture = await startFixture({ tables: [staff('A'), staff('B')] });
  const keys = { '*': {}, A: HIDE, B: { sort: ['Name'] } };
  await pullWith(fixture, keys);
  fixture.sandbox.store.renameTable('A', 'Between');
  fixture.sandbox.store.renameTable('B', 'A');
  fixture.sandbox.store.renameTable('Between', 'B');

  const unseen = await pullWith(fixture, keys, { confirm: true });
  const swapped = { '*': {}, A: { sort: ['Name'] }, B: HIDE };
  const before = await pullWith(fixture, swapped);
  const confirmed = await pullWith(fixture, swapped, { confirm: true });

  expect(codesOf(unseen)).toEqual(['A guard.names', 'B guard.names']);
  expect(codesOf(before)).toEqual(['A guard.names', 'B guard.names']);
  expect(codesOf(confirmed)).toEqual(['A read', 'B read']);
  expect(columnsOf(fixture, 'B')).toEqual(['_id', '_allow', 'Id', 'Name']);
  expect(fixture.rows('SELECT "Name" FROM "B" ORDER BY 1')).toEqual([{ Name: 'A one' }, { Name: 'A two' }]);
});

test('a key that matches nothing is told by each pull', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  const keys = { '*': {}, 'Staf Member': {} };

  const reports = [await pullWith(fixture, keys), await pullWith(fixture, keys)];

  const note = 'No table matches Staf Member under tables (did you mean Staff Member?)';
  expect(reports.map(({ notes }) => notes)).toEqual([[note], [note]]);
});

test.each<{ what: string; option: TableOptions }>([
  { what: 'a table', option: false },
  { what: 'columns', option: HIDE },
  { what: 'values', option: { mask: { Salary: 'null' } } },
  { what: 'rows', option: { rows: '[Salary]=1' } },
])('a misspelt key that keeps $what out holds the first pull until a person confirms', async ({ option }) => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });
  const keys = { '*': {}, 'Staf Member': option };

  const held = await pullWith(fixture, keys);
  const confirmed = await pullWith(fixture, keys, { confirm: true });
  const later = await pullWith(fixture, keys);

  expect(held).toMatchObject({ tables: [], error: { code: 'guard.keys', exitCode: 3 } });
  expect(codesOf(confirmed)).toEqual(['Staff Member read']);
  expect(later).toMatchObject({
    error: null,
    notes: ['No table matches Staf Member under tables (did you mean Staff Member?)'],
  });
});

test('a key that matches nothing holds no first pull where no pattern brings tables that it does not name', async () => {
  await using fixture = await startFixture({ tables: [staff('Staff Member')] });

  const report = await pullWith(fixture, { 'Staff Member': {}, Secret: false });

  expect(report.error).toBeNull();
});

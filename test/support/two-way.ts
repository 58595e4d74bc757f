/**
 * A two-way table against a sandbox, and what a test asks of it.
 *
 *    await using fixture = await startTwoWay();                          // table Note, pulled, edits captured
 *    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);   // as another SQL client
 *    await capture(fixture);  expect(changesOf(fixture)).toEqual([...])
 */
import { captureChanges, readAllChanges } from '../../src/capture/find-edits.ts';
import { findTwoWayTable, type TwoWayTable } from '../../src/capture/two-way-table.ts';
import { must } from '../../src/base/assert.ts';
import type { EditingOptions, PullSettings } from '../../src/pull/context.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import type { Row, Value } from '../../src/wire/schema.ts';
import { startFixture, type Fixture } from './replica.ts';

/** A table with a column of every type that has a form of its own. */
export const NOTE: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text', width: 20, options: ['Required'] },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Body', type: 'Multiline' },
    { name: 'Count', type: 'Numeric' },
    { name: 'Done', type: 'Checkbox' },
    { name: 'Due', type: 'Date' },
    { name: 'Starts', type: 'Time' },
    { name: 'Seen', type: 'Timestamp' },
    { name: 'Spent', type: 'Duration' },
    { name: 'Total', type: 'Numeric', kind: 'Summary' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: Array.from({ length: 6 }, (_, index) => ({
    Title: `title ${index + 1}`,
    Code: `c${index + 1}`,
    Count: index + 1,
    Done: index % 2 === 0,
    Due: '2026-11-21',
    Total: 10,
  })),
};

/** Stamp of captures in tests. */
export const AT = '2026-11-21T12:00:00Z';

/** Settings under which every table is two-way. */
export function twoWaySettings(editing: Partial<EditingOptions> = {}): Pick<PullSettings, 'tableOptions'> {
  return {
    tableOptions: () => ({ sort: null, editing: { match: null, conflict: 'origin', workflow: 'run', ...editing } }),
  };
}

/** A fixture whose tables are two-way and pulled. */
export async function startTwoWay(
  options: Partial<SandboxOptions> & { readonly editing?: Partial<EditingOptions>; readonly pageRows?: number } = {},
): Promise<Fixture> {
  const { editing, pageRows, ...sandbox } = options;
  const settings = { ...twoWaySettings(editing), ...(pageRows === undefined ? {} : { pageRows }) };
  const fixture = await startFixture({ tables: [NOTE], ...sandbox }, { settings });
  await fixture.pull();
  return fixture;
}

/** The two-way table of a fixture, as the ledger describes it now. */
export function twoWayTable(fixture: Fixture, name = 'Note'): TwoWayTable {
  const ledger = must(
    readTables(fixture.replica).find((table) => table.localName === name),
    'the table was pulled',
  );
  return must(findTwoWayTable(fixture.replica, ledger.id), 'the table is two-way');
}

/** A row as the origin would return it, with these values and no others. */
export function rowOf(table: TwoWayTable, id: number, values: Readonly<Record<string, Value>>): Row {
  return { id, allow: null, values: table.columns.map(({ localName }) => values[localName] ?? null) };
}

/** Makes the marks true, as every push does first. */
export async function capture(fixture: Fixture, name = 'Note'): Promise<void> {
  await fixture.replica.write('Capturing', (tx) => captureChanges(tx, twoWayTable(fixture, name), AT));
}

/** The changes of a table in short: `update 3 Title,Count`. */
export function changesOf(fixture: Fixture, name = 'Note'): readonly string[] {
  const table = twoWayTable(fixture, name);
  return [...readAllChanges(fixture.replica, table)].map(({ kind, id, columns }) =>
    `${kind} ${id} ${columns.map((column) => table.columns[column]?.localName ?? '').join()}`.trim(),
  );
}

/** Captures, then the changes. */
export async function captured(fixture: Fixture, name = 'Note'): Promise<readonly string[]> {
  await capture(fixture, name);
  return changesOf(fixture, name);
}

/** Two columns of Note give each other their names at the origin. */
export function swapNames({ sandbox: { store } }: Pick<Fixture, 'sandbox'>): void {
  store.renameColumn('Note', 'Title', 'Between');
  store.renameColumn('Note', 'Body', 'Title');
  store.renameColumn('Note', 'Between', 'Body');
}

/** Takes away what sees edits, as some programs do that rebuild a table. */
export function dropCaptureTriggers(fixture: Fixture): void {
  const names = fixture.rows(
    `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`,
  ) as readonly { readonly name: string }[];
  for (const { name } of names) fixture.execute(`DROP TRIGGER "${name}"`);
}

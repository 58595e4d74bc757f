/**
 * What capture, merge and push need to know of a table is read without the origin, and once while nothing of it
 * changes.
 */
import { expect, test } from 'vitest';
import { findTwoWayTable, missingColumnsError, readTwoWayTables } from '../../src/capture/two-way-table.ts';
import { readColumns, storeColumnState } from '../../src/replica/bookkeeping/columns.ts';
import { storeEditing, storeFacts } from '../../src/replica/bookkeeping/tables.ts';
import { must } from '../../src/base/assert.ts';
import { addColorColumn } from '../../src/replica/user-tables.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { AT } from '../support/two-way.ts';

const start = (columns: readonly ColumnDescriptor[] = [described('Title'), described('Body')]): Promise<Bare> =>
  openBare(columns, { isTwoWay: true });

function table(bare: Bare) {
  return must(findTwoWayTable(bare.replica, 1), 'it is two-way');
}

test('a table is two-way with its live columns, match column and rights', async () => {
  await using bare = await start();
  await bare.makeTable(2, 'Mirror', []);
  await bare.write((tx) => storeEditing(tx, 1, { matchColumn: 'Title', allowsAdd: false }));

  expect(readTwoWayTables(bare.replica).map(({ localName }) => localName)).toEqual(['Note']);
  expect(table(bare)).toMatchObject({
    id: 1,
    name: 'Note',
    columns: [{ localName: 'Title' }, { localName: 'Body' }],
    keptColumns: [],
    matchColumn: 'Title',
    allowsAdd: false,
  });
});

test.each([
  ['it is to be a mirror', `UPDATE _rowsync_tables SET push = 'off'`],
  ['it waits for its first sweep', `UPDATE _rowsync_tables SET push = 'waiting'`],
  ['another client dropped it', 'DROP TABLE "Note"'],
  ['another client dropped its base', 'DROP TABLE _rowsync_base_1'],
  ['it is not known', 'DELETE FROM _rowsync_tables'],
])('a table is not two-way while %s', async (_what, statement) => {
  await using bare = await start();
  bare.execute(statement);

  expect([findTwoWayTable(bare.replica, 1), readTwoWayTables(bare.replica)]).toEqual([null, []]);
});

test.each<readonly [string, Partial<ColumnDescriptor>, object]>([
  ['a plain column', {}, { required: false, automatic: false, locked: false, writable: true }],
  ['a required one', { dataOptions: ['Unique', 'Required'] }, { required: true }],
  ['an autonumber', { type: 'Autonumber' }, { automatic: true }],
  ['a key', { kind: 'Key' }, { automatic: true }],
  ['the owner of a record', { kind: 'RecordOwner' }, { automatic: true }],
  ['one that this caller may not write', { readOnly: true }, { writable: false, locked: true }],
  ['one that the origin computes', { kind: 'Formula' }, { writable: false, locked: false }],
])('of %s, what an edit has to know', async (_what, change, expected) => {
  await using bare = await start([described('Title', 'Text', change)]);

  expect(table(bare).columns[0]).toMatchObject(expected);
});

test('columns that are no longer described are kept, with the one for colors, as far as they are in the table', async () => {
  await using bare = await start([described('Title'), described('Old'), described('Aside'), described('Dropped')]);
  await bare.write((tx) => {
    for (const [name, state] of [
      ['Old', 'removed'],
      ['Aside', 'aside'],
      ['Dropped', 'removed'],
    ] as const) {
      const { seq } = must(
        readColumns(tx, 1).find(({ localName }) => localName === name),
        name,
      );
      storeColumnState(tx, seq, state, AT);
    }
    storeFacts(tx, 1, { row_colors: 'seen' });
    addColorColumn(tx, { id: 1, localName: 'Note' });
  });
  bare.execute('ALTER TABLE "Note" DROP COLUMN "Dropped"');

  expect(table(bare).columns.map(({ localName }) => localName)).toEqual(['Title']);
  expect(table(bare).keptColumns.map(({ localName }) => localName)).toEqual(['Old', 'Aside', '_color']);
});

test('it is the same object until its columns, its facts or the schema change', async () => {
  await using bare = await start();
  const seen = [table(bare)];
  const changes: readonly (() => Promise<unknown> | void)[] = [
    () => bare.execute(`INSERT INTO "Note" ("Title") VALUES ('a row')`),
    () => bare.write((tx) => storeEditing(tx, 1, { matchColumn: 'Body', allowsAdd: true })),
    () => bare.execute(`UPDATE _rowsync_columns SET width = 5 WHERE seq = 1`),
    () => bare.execute('CREATE INDEX mine ON "Note" ("Title")'),
  ];
  for (const change of changes) {
    await change();
    seen.push(table(bare));
  }

  const same = seen.slice(1).map((each, index) => each === seen[index]);

  expect(same).toEqual([true, false, false, false]);
  expect(seen.at(-1)).toMatchObject({ matchColumn: 'Body', columns: [{ width: 5 }, {}] });
});

test('an error about vanished columns names each of them', () => {
  const error = missingColumnsError({ localName: 'Note' }, [{ name: 'Title' }, { name: 'Body' }]);

  expect(error).toMatchObject({
    code: 'guard.columns',
    message: expect.stringMatching(/^Note:.*"Title", "Body"/u) as unknown,
  });
});

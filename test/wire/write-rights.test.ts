/** What is known of a column where its description says nothing of it. */
import { expect, test } from 'vitest';
import { leavesRightsOpen, withRights, type KnownRights } from '../../src/wire/write-rights.ts';
import { isWritable, type ColumnDescriptor, type TableDescriptor } from '../../src/wire/schema.ts';

function column(id: number, name: string, type: string, rights: Partial<ColumnDescriptor> = {}): ColumnDescriptor {
  const bare = { alias: '', dataOptions: [], displayOptions: [], width: null, kind: null, readOnly: null, other: {} };
  return { id, name, type, ...bare, ...rights };
}

function table(key: string, ...columns: readonly ColumnDescriptor[]): TableDescriptor {
  const summary = { id: 1, recordName: 'T', recordsName: 'Ts', alias: '', showTab: true, color: '', other: {} };
  return { ...summary, allowAdd: true, key, columns, views: [] };
}

/** Kind, and whether it may be written. */
function shown(described: TableDescriptor): readonly string[] {
  return described.columns.map((one) => `${one.name}: ${String(one.kind)}${isWritable(one) ? ', writable' : ''}`);
}

test.each<[title: string, one: ColumnDescriptor, isReturned: boolean, expected: string]>([
  ['a returned column is updatable', column(1, 'A', 'Text'), true, 'A: Updatable, writable'],
  ['any other is not', column(1, 'A', 'Text'), false, 'A: null'],
  ['a counted key that is not returned is not given', column(1, 'Id', 'Autonumber'), false, 'Id: Key'],
  ['a counted key that is returned may be', column(1, 'Id', 'Autonumber'), true, 'Id: Key, writable'],
  ['any other key may be given to a new row', column(1, 'Id', 'Text'), false, 'Id: Key, writable'],
  ['a change is dated', column(1, 'date modified', 'Timestamp'), false, 'date modified: DateModified'],
  ['a change has an author', column(1, 'Last Modified By', 'User'), false, 'Last Modified By: LastModifiedBy'],
  ['a row is dated', column(1, 'Date Created', 'Timestamp'), false, 'Date Created: DateCreated'],
  ['a row has an author', column(1, 'Created By', 'User'), false, 'Created By: CreatedBy'],
  ['a text of that name is none', column(1, 'Date Modified', 'Text'), false, 'Date Modified: null'],
  ['nor is what people write', column(1, 'Date Modified', 'Timestamp'), true, 'Date Modified: Updatable, writable'],
  ['an owner may be written', column(1, 'Record Owner', 'User'), true, 'Record Owner: RecordOwner, writable'],
  ['or not', column(1, 'Record Owner', 'User'), false, 'Record Owner: RecordOwner'],
  ['what the description says stays', column(1, 'A', 'Text', { kind: 'Lookup' }), true, 'A: Lookup'],
  ['also by half', column(1, 'A', 'Text', { readOnly: true }), true, 'A: null'],
  ['for good as well', column(1, 'A', 'Text', { readOnly: false }), false, 'A: null, writable'],
])('%s', (_title, one, isReturned, expected) => {
  expect(shown(withRights(table('Id', one), new Set(isReturned ? [one.name] : [])))).toEqual([expected]);
});

test('without a row, what was known of a column stays, and nothing else may be written', () => {
  const known: readonly KnownRights[] = [
    { id: 1, kind: 'Updatable', writable: true },
    { id: 2, kind: null, writable: false },
    { id: 3, kind: 'Unknown', writable: true },
  ];
  const described = table('D', ...['A', 'B', 'C', 'D'].map((name, index) => column(index + 1, name, 'Text')));

  const completed = withRights(described, null, known);

  expect(shown(completed)).toEqual(['A: Updatable, writable', 'B: null', 'C: Unknown', 'D: Unknown']);
  expect(completed.columns.map(({ readOnly }) => readOnly)).toEqual([false, true, true, true]);
  expect([leavesRightsOpen(described), leavesRightsOpen(completed)]).toEqual([true, false]);
});

test('of a description that says something of some columns, only the others are completed', () => {
  const mixed = table('Id', column(1, 'A', 'Text', { kind: 'Lookup' }), column(2, 'B', 'Text'));

  expect(leavesRightsOpen(mixed)).toBe(true);
  expect(shown(withRights(mixed, new Set(['A', 'B'])))).toEqual(['A: Lookup', 'B: Updatable, writable']);
});

test('columns whose rights had to be asked are requested by name; a whole description stays as it is', () => {
  const whole = table('Id', column(1, 'Id', 'Autonumber', { kind: 'Key', readOnly: false }));

  expect(withRights(whole, new Set())).toBe(whole);
  expect(withRights(table('Id', column(1, 'Id', 'Autonumber')), new Set()).asksByName).toBe(true);
});

/**
 * Which columns come, and how they are masked.
 */
import { expect, test } from 'vitest';
import {
  selectPulledColumns,
  chosenAsRead,
  misnamedColumns,
  overtakenColumns,
  planSelection,
  type Choosing,
  type ColumnChoice,
  columnNames,
} from '../../src/reconcile/column-selection.ts';
import { planMeasures } from '../../src/reconcile/fingerprint.ts';
import { isWritable, type ColumnDescriptor, type Mask, type TableDescriptor } from '../../src/wire/schema.ts';
import { describedColumn } from '../support/described.ts';

function column(id: number, name: string, type = 'Text', kind = 'Updatable'): ColumnDescriptor {
  const options = { dataOptions: ['Required'], displayOptions: [], width: 20, readOnly: false };
  return { id, name, alias: `c_${id}`, type, kind, other: {}, ...options };
}

const TABLE: TableDescriptor = {
  id: 1,
  recordName: 'Customer',
  recordsName: 'Customers',
  alias: 't_1',
  showTab: true,
  color: '',
  allowAdd: true,
  key: 'Id',
  views: [],
  other: {},
  columns: [
    column(1, 'Id', 'Autonumber', 'Key'),
    column(2, 'Code'),
    column(3, 'Name'),
    column(4, 'Notes'),
    column(5, 'Notes 2', 'Multiline'),
    column(6, 'Credit', 'Numeric', 'Summary'),
    column(7, 'Date Created', 'Timestamp', 'DateCreated'),
    column(8, 'Date Modified', 'Timestamp', 'DateModified'),
  ],
};

function choosing(choice: Partial<ColumnChoice>, before: Partial<Choosing> = {}): Choosing {
  const all = { include: null, exclude: [], masks: [], isOfOneTable: true, match: null, sort: null, ...choice };
  return { choice: all, leftOut: [], known: [], keyDigest: () => 'digest', ...before };
}

function namesOf({ columns }: TableDescriptor): readonly string[] {
  return columns.map(({ name }) => name);
}

test('without a choice, the description is what it was', () => {
  const chosen = selectPulledColumns(TABLE, { choice: null, leftOut: [], known: [], keyDigest: () => '' });

  expect(chosen.descriptor).toBe(TABLE);
  expect(columnNames(chosen.descriptor)[0]).toBe('*');
});

test('a choice that matches nothing asks as before', () => {
  expect(selectPulledColumns(TABLE, choosing({ exclude: ['Other'] })).descriptor).toBe(TABLE);
});

test.each([
  {
    what: 'a typing error',
    choice: { exclude: ['Noets', 'Code'] },
    problem: 'no column "Noets" (did you mean Notes?)',
  },
  { what: 'a name like no other', choice: { exclude: ['Salary'] }, problem: 'no column "Salary"' },
  { what: 'a pattern', choice: { exclude: ['Salary*'] }, problem: null },
  { what: 'a key that means several tables', choice: { exclude: ['Noets'], isOfOneTable: false }, problem: null },
  { what: 'a name that a column had', choice: { exclude: ['Pay'] }, problem: null },
  { what: 'the key, which comes', choice: { exclude: ['id'] }, problem: null },
])('a name to leave out that no column has is a problem: $what', ({ choice, problem }) => {
  const problems = problem === null ? [] : [`columns.exclude: the table has ${problem}`];

  const known = [{ id: 99, name: 'Pay', state: 'removed' as const, mask: null }];

  expect(selectPulledColumns(TABLE, choosing(choice, { known })).problems).toEqual(problems);
});

test('a name to leave out that a column had before it was renamed is a problem, since the column would come', () => {
  const known = [{ id: 4, name: 'Remarks', state: 'live' as const, mask: null }];
  const renamed = { ...TABLE, columns: TABLE.columns.map((one) => (one.id === 4 ? { ...one, name: 'Text' } : one)) };

  expect(selectPulledColumns(renamed, choosing({ exclude: ['Remarks'] }, { known })).problems).toHaveLength(1);
});

test('columns that are left out are not described, and the others are asked for by name', () => {
  const { descriptor, leftOut, kept } = selectPulledColumns(
    TABLE,
    choosing({ exclude: ['notes*', 'Id', 'code'], match: 'Code' }),
  );

  expect(namesOf(descriptor)).toEqual(['Id', 'Code', 'Name', 'Credit', 'Date Created', 'Date Modified']);
  expect(columnNames(descriptor)).toEqual(namesOf(descriptor));
  expect(leftOut).toEqual([
    { id: 4, pattern: 'notes*' },
    { id: 5, pattern: 'notes*' },
  ]);
  expect(kept).toEqual([
    { name: 'Id', why: 'the key' },
    { name: 'Code', why: 'the match column' },
  ]);
});

test('columns that are not listed are left out, but for those that are needed', () => {
  const known = [{ id: 99, name: 'Secret', state: 'removed' as const, mask: null }];
  const { descriptor, leftOut } = selectPulledColumns(TABLE, choosing({ include: ['Name', 'n*2'] }, { known }));

  expect(namesOf(descriptor)).toEqual(['Id', 'Name', 'Notes 2', 'Date Created', 'Date Modified']);
  expect(leftOut).toEqual([2, 4, 6].map((id) => ({ id, pattern: null })));
});

test('times and columns of sort come, whatever is to be left out', () => {
  const { kept } = selectPulledColumns(TABLE, choosing({ exclude: ['date*', 'code'], sort: ['Code'] }));

  expect(kept).toEqual([
    { name: 'Code', why: 'the column of sort' },
    { name: 'Date Created', why: 'the time of creation' },
    { name: 'Date Modified', why: 'the time of the last change' },
  ]);
});

test('the most specific pattern leaves a column out', () => {
  expect(selectPulledColumns(TABLE, choosing({ exclude: ['*otes', 'Notes'] })).leftOut).toEqual([
    { id: 4, pattern: 'Notes' },
  ]);
});

test('a column that is hidden and known is left out from now on', () => {
  const known = [{ id: 99, name: 'Notes of old', state: 'removed' as const, mask: null }];

  expect(selectPulledColumns(TABLE, choosing({ exclude: ['Notes of*'] }, { known })).leftOut).toEqual([
    { id: 99, pattern: 'Notes of*' },
  ]);
});

test('a column stays left out under another name while its pattern is there', () => {
  const renamed = { ...TABLE, columns: TABLE.columns.map((one) => (one.id === 4 ? { ...one, name: 'Remarks' } : one)) };
  const before = { leftOut: [{ id: 4, pattern: 'Notes' }] };

  const still = selectPulledColumns(renamed, choosing({ exclude: ['Notes'] }, before));
  expect(namesOf(still.descriptor)).toEqual(namesOf(TABLE).filter((name) => name !== 'Notes'));
  expect(still.problems).toEqual([]);
  expect(namesOf(selectPulledColumns(renamed, choosing({ exclude: ['Name'] }, before)).descriptor)).toContain(
    'Remarks',
  );
});

test('a column that is not described for a while stays left out under another name', () => {
  const isOther = ({ id }: ColumnDescriptor): boolean => id !== 4;
  const without = { ...TABLE, columns: TABLE.columns.filter(isOther) };
  const choice = { exclude: ['Notes', 'Code'] };

  const hidden = selectPulledColumns(without, choosing(choice, { leftOut: [{ id: 4, pattern: 'Notes' }] }));
  const back = { ...TABLE, columns: [...without.columns, column(4, 'Remarks')] };

  expect(namesOf(selectPulledColumns(back, choosing(choice, { leftOut: hidden.leftOut })).descriptor)).not.toContain(
    'Remarks',
  );
  expect(selectPulledColumns(without, choosing({ exclude: ['Name'] }, { leftOut: hidden.leftOut })).leftOut).toEqual([
    { id: 3, pattern: 'Name' },
  ]);
});

test('a masked column has the type of its mask, and can neither be written nor measured', () => {
  const masks = [
    { pattern: 'c*', kind: 'hash' as const },
    { pattern: 'Code', kind: 'last4' as const },
  ];
  const { descriptor, problems } = selectPulledColumns(TABLE, choosing({ masks }));
  const [code, credit] = ['Code', 'Credit'].map((name) => descriptor.columns.find((one) => one.name === name));

  expect(problems).toEqual([]);
  expect(code).toMatchObject({ type: 'Text', width: null, dataOptions: [], mask: { kind: 'last4', from: 'Text' } });
  expect(code?.mask?.key).toBeUndefined();
  expect(credit).toMatchObject({ type: 'Text', mask: { kind: 'hash', from: 'Numeric', key: 'digest' } });
  expect(descriptor.columns.filter((one) => one.mask !== undefined).some(isWritable)).toBe(false);
  expect(planMeasures(descriptor)?.measures.map(({ column: name }) => name)).not.toContain('Credit');
});

test.each([
  ['Id', 'mask.Id: the column "Id" is needed as it is at the origin, as the key'],
  ['date c*', 'mask.date c*: the column "Date Created" is needed as it is at the origin, as the time of creation'],
  ['Nmae', 'mask.Nmae: the table has no such column (did you mean Name?)'],
])('refuses a mask of %s', (pattern, problem) => {
  expect(selectPulledColumns(TABLE, choosing({ masks: [{ pattern, kind: 'hash' }] })).problems).toEqual([problem]);
});

test('refuses to mask what match and sort need', () => {
  const masks = [
    { pattern: 'c*', kind: 'hash' as const },
    { pattern: 'Name', kind: 'hash' as const },
  ];
  const { problems } = selectPulledColumns(TABLE, choosing({ masks, match: 'Code', sort: ['Name'] }));
  expect(problems).toEqual([
    'mask.c*: the column "Code" is needed as it is at the origin, as the match column',
    'mask.Name: the column "Name" is needed as it is at the origin, as the column of sort',
  ]);
});

test('refuses a mask that does not fit the type', () => {
  expect(selectPulledColumns(TABLE, choosing({ masks: [{ pattern: 'Name', kind: 'year' }] })).problems).toEqual([
    'mask.Name: the column "Name" is of the type Text, and only dates and timestamps have a year',
  ]);
});

test('a column stays masked under another name while its pattern is there, and no other one is', () => {
  const masks = [
    { pattern: 'Code', kind: 'hash' as const },
    { pattern: 'Name', kind: 'hash' as const },
    { pattern: 'Nmae', kind: 'hash' as const },
    { pattern: 'Pay', kind: 'hash' as const },
  ];
  const known = [
    { id: 3, name: 'Name', state: 'aside' as const, mask: null },
    { id: 2, name: 'Code', state: 'live' as const, mask: { ...HASH, pattern: 'Code' } },
    { id: 3, name: 'Name', state: 'live' as const, mask: HASH },
    { id: 99, name: 'Pay', state: 'removed' as const, mask: null },
  ];
  const renamed = { ...TABLE, columns: TABLE.columns.map((one) => (one.id === 3 ? { ...one, name: 'Title' } : one)) };

  const { descriptor, problems } = selectPulledColumns(renamed, choosing({ masks }, { known }));

  expect(descriptor.columns.flatMap(({ id, mask }) => (mask === undefined ? [] : [id]))).toEqual([2, 3]);
  expect(problems).toEqual(['mask.Nmae: the table has no such column']);
});

test('a mask of several tables may name a column that only some of them have', () => {
  const masks = [{ pattern: 'Nmae', kind: 'hash' as const }];

  expect(selectPulledColumns(TABLE, choosing({ masks, isOfOneTable: false })).problems).toEqual([]);
});

const HASH: Mask = { kind: 'hash', from: 'Text', pattern: 'Name', key: 'digest' };

test.each([
  { what: 'left out', choice: { exclude: ['Name'] }, mask: null, isOvertaken: true },
  { what: 'masked', choice: { masks: [{ pattern: 'Name', kind: 'hash' as const }] }, mask: null, isOvertaken: true },
  {
    what: 'masked as before',
    choice: { masks: [{ pattern: 'N*e', kind: 'hash' as const }] },
    mask: HASH,
    isOvertaken: false,
  },
  {
    what: 'masked with another key',
    choice: { masks: [{ pattern: 'Name', kind: 'hash' as const }] },
    mask: { ...HASH, key: 'other' },
    isOvertaken: true,
  },
  { what: 'not masked any more', choice: {}, mask: HASH, isOvertaken: true },
  { what: 'as it was', choice: {}, mask: null, isOvertaken: false },
])('a column that is $what is overtaken: $isOvertaken', ({ choice, mask, isOvertaken }) => {
  const known = [{ id: 3, name: 'Name', state: 'live' as const, mask }];
  const order = choosing(choice, { known });

  expect(overtakenColumns(known, selectPulledColumns(TABLE, order), order)).toEqual(isOvertaken ? known : []);
});

test.each([
  ['Name', 3, []],
  ['N*', 99, []],
  ['X*', 99, []],
  ['Absent', 3, [{ kind: 'renamed', words: '"Absent" is now called "Name", which stays left out' }]],
  ['Misspelt', 0, []],
  ['Absent', 99, [{ kind: 'stray', words: 'the origin no longer shows a column "Absent"' }]],
])('the name %s to leave out, which belongs to column %i', (pattern, id, expected) => {
  expect(misnamedColumns(TABLE, { exclude: [pattern], leftOut: id === 0 ? [] : [{ id, pattern }] })).toEqual(expected);
});

test('a name to leave out that two columns had means the one that is shown, and no column of another name', () => {
  const leftOut = [
    { id: 2, pattern: 'Other' },
    { id: 99, pattern: 'Absent' },
    { id: 3, pattern: 'Absent' },
  ];
  const renamed = { kind: 'renamed', words: '"Absent" is now called "Name", which stays left out' };

  expect(misnamedColumns(TABLE, { exclude: ['Absent', 'Misspelt'], leftOut })).toEqual([renamed]);
});

test.each<[string, Partial<ColumnChoice>, Mask | null, boolean]>([
  ['is to be left out', { exclude: ['Notes*'] }, null, true],
  ['is not listed', { include: ['Name'] }, null, true],
  ['is to be masked', { masks: [{ pattern: 'Notes*', kind: 'hash' }] }, null, true],
  ['was masked already', { masks: [{ pattern: 'Notes*', kind: 'hash' }] }, HASH, false],
  ['comes as it is', {}, null, false],
])('values of a column that the origin hides now, and that %s, go as well or not', (_what, choice, mask, expected) => {
  const known = [{ id: 99, name: 'Notes of old', state: 'removed' as const, mask }];
  const order = choosing(choice, { known });

  expect(overtakenColumns(known, selectPulledColumns(TABLE, order), order)).toEqual(expected ? known : []);
});

test('values of a column that is left out under its new name go', () => {
  const known = [{ id: 4, name: 'Remarks', state: 'live' as const, mask: null }];
  const order = choosing({ exclude: ['Notes'] }, { known });

  expect(overtakenColumns(known, selectPulledColumns(TABLE, order), order)).toEqual(known);
});

test('what was sent is settled with the columns as they were read', () => {
  const known = [{ id: 3, name: 'Name', state: 'live' as const, mask: HASH }];
  const read = chosenAsRead(TABLE, { leftOut: [{ id: 4, pattern: 'Notes' }], known });
  const retyped = { ...TABLE, columns: TABLE.columns.map((one) => (one.id === 3 ? { ...one, type: 'Date' } : one)) };

  expect(namesOf(read)).toEqual(namesOf(TABLE).filter((name) => name !== 'Notes'));
  expect(read.asksByName).toBe(true);
  expect(read.columns.find(({ id }) => id === 3)).toMatchObject({ type: 'Text', mask: HASH });
  expect(chosenAsRead(retyped, { leftOut: [], known }).columns.find(({ id }) => id === 3)?.type).toBe('Unknown');
  expect(chosenAsRead(TABLE, { leftOut: [], known: [] })).toBe(TABLE);
  const gone = known.map((one) => ({ ...one, state: 'removed' as const }));
  expect(chosenAsRead(TABLE, { leftOut: [], known: gone })).toBe(TABLE);
});

test.each<[string, readonly string[] | null, string, readonly string[], readonly string[]]>([
  ['creation', null, 'Id', ['Date Created', 'Id'], []],
  ['what is configured, and the key', ['code', 'Other'], 'Id', ['Code', 'Id'], ['Other']],
  ['the key alone', ['Id'], 'Id', ['Id'], []],
  ['what is configured, without a key that is hidden', ['Code'], 'Hidden', ['Code'], []],
])('asks for all columns in the order of %s', (_what, wished, key, sort, unknownSort) => {
  const { selection, unknownSort: unknown } = planSelection({ ...TABLE, key }, wished);

  expect(selection).toEqual({
    columns: ['*', 'Credit', 'Date Created', 'Date Modified'],
    sort,
  });
  expect(unknown).toEqual(unknownSort);
});

test('names every column that the star leaves out, and sorts by creation time, then key', () => {
  const columns = [
    describedColumn('Id', { kind: 'Key' }),
    describedColumn('Name'),
    describedColumn('Locked', { readOnly: true }),
    describedColumn('Total', { kind: 'Summary' }),
    describedColumn('Date Created', { kind: 'DateCreated', type: 'Timestamp' }),
  ];

  const plan = planSelection({ key: 'Id', columns }, null);

  expect(plan).toEqual({
    selection: { columns: ['*', 'Locked', 'Total', 'Date Created'], sort: ['Date Created', 'Id'] },
    unknownSort: [],
  });
});

test('names every column where the origin does not say which ones can be written', () => {
  const plan = planSelection({ key: 'Id', columns: [describedColumn('Id', { kind: null, readOnly: null })] }, null);

  expect(plan.selection).toEqual({ columns: ['*', 'Id'], sort: ['Id'] });
});

test('takes a configured order, ends it with the key and reports names that do not exist', () => {
  const columns = [describedColumn('Id', { kind: 'Key' }), describedColumn('Position')];

  const plan = planSelection({ key: 'Id', columns }, ['position', 'Nowhere']);

  expect(plan).toEqual({ selection: { columns: ['*'], sort: ['Position', 'Id'] }, unknownSort: ['Nowhere'] });
});

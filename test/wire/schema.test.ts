/** What descriptions of columns mean: their type, whether they may be written, and their options. */
import { expect, test } from 'vitest';
import { COLUMN_TYPES, columnType, hasOption, isEditable, isWritable, MASK_KINDS } from '../../src/wire/schema.ts';

// Names of types: specification 2.4.
test.each<[string, string]>([
  ...COLUMN_TYPES.flatMap((type): readonly [string, string][] => [
    [type, type],
    [type.toUpperCase(), type],
  ]),
  ['Location', 'Unknown'],
  ['', 'Unknown'],
])('a column of the type %j is read as %s', (named, type) => {
  expect(columnType(named)).toBe(type);
});

// Kinds: specification 2.3, and origin facts 3.3.
test.each<[string | null, boolean | null, boolean]>([
  ['Updatable', false, true],
  ['Updatable', null, true],
  ['Key', null, true],
  ['RecordOwner', null, true],
  ['Updatable', true, false],
  ['Formula', null, false],
  ['DateCreated', false, false],
  [null, false, true],
  [null, true, false],
  [null, null, false],
])('a column of the kind %s with readOnly %s may be written: %s', (kind, readOnly, may) => {
  expect(isWritable({ kind, readOnly })).toBe(may);
});

test.each([
  ['Text', 'Updatable', true],
  ['Text', 'Formula', false],
  ['Autonumber', 'Key', false],
  ['autonumber', 'Formula', false],
])('an edit may change a column of the type %s and the kind %s: %s', (type, kind, may) => {
  expect(isEditable({ type, kind, readOnly: null })).toBe(may);
});

test.each<[readonly string[], boolean]>([
  [['Unique'], true],
  [['Required', 'UNIQUE'], true],
  [['UniqueX'], false],
  [[], false],
])('the options %j have Unique: %s', (options, has) => {
  expect(hasOption(options, 'Unique')).toBe(has);
});

test('masks have the names that configurations say', () => {
  expect(MASK_KINDS).toEqual(['hash', 'last4', 'year', 'domain', 'null', 'constant']);
});

/** Which table people mean by a name. */
import { expect, test } from 'vitest';
import { tableNamed, tablesNamed } from '../../../src/replica/bookkeeping/tables.ts';

const ARCHIVE = { name: 'Order Archive', localName: 'Order' };
const LIVE = { name: 'Order', localName: 'live' };
const NOTE = { name: 'Note', localName: 'note' };
const UPPER = { name: 'NOTE', localName: 'NOTE_4' };
const TABLES = [UPPER, LIVE, ARCHIVE, NOTE];

test.each([
  ['Order', ARCHIVE],
  ['Order Archive', ARCHIVE],
  ['order', ARCHIVE],
  ['LIVE', LIVE],
  ['NOTE', UPPER],
  ['Note', NOTE],
  ['nOTE', NOTE],
  ['note_4', UPPER],
  ['ORDER ARCHIVE', ARCHIVE],
  ['Orders', undefined],
])('%s means one table at most', (name, expected) => {
  expect(tableNamed(TABLES, name)).toBe(expected);
});

test('some names mean as many tables, and no name all', () => {
  expect(tablesNamed(TABLES, ['Order', 'Note', 'order archive', 'Orders'])).toEqual([ARCHIVE, NOTE]);
  expect(tablesNamed(TABLES, [])).toEqual(TABLES);
});

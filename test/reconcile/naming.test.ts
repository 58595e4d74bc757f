import { foldIdent } from '../../src/base/sql.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  asideName,
  isNameOf,
  isUnrenamable,
  localName,
  newNames,
  planTableNames,
  type NameScope,
  type NameStyle,
  type TableName,
} from '../../src/reconcile/naming.ts';

const STYLES = fc.constantFrom<NameStyle>('origin', 'snake');

const CASES: readonly (readonly [NameScope, string, string])[] = [
  ['table', 'Order Details', 'Order Details'],
  ['table', 'select', 'select'],
  ['table', 'a "quoted" [name]', 'a "quoted" [name]'],
  ['table', 'two\nlines', 'two\nlines'],
  ['table', 'sqlite_stat1', 'origin_sqlite_stat1'],
  ['table', 'SQLITE_x', 'origin_SQLITE_x'],
  ['table', '_rowsync_pages', 'origin__rowsync_pages'],
  ['table', 'sync_status', 'origin_sync_status'],
  ['table', 'json_tree', 'origin_json_tree'],
  ['table', 'DBSTAT', 'origin_DBSTAT'],
  ['table', 'fts3tokenize', 'origin_fts3tokenize'],
  ['table', '_id', '_id'],
  ['table', '', 'origin_7'],
  ['table', ' ', 'origin_7'],
  ['table', 'nul\0in it', 'nulin it'],
  ['column', 'half \uD83D', 'half \uFFFD'],
  ['table', 'my sync_status', 'my sync_status'],
  ['column', '_id', 'origin__id'],
  ['column', 'OID', 'origin_OID'],
  ['column', 'rowid', 'origin_rowid'],
  ['column', '_RowId_', 'origin__RowId_'],
  ['table', 'oid', 'oid'],
  ['column', 'customer_id', 'customer_id'],
  ['column', '_id2', '_id2'],
  ['column', '_ALLOW', 'origin__ALLOW'],
  ['column', 'sqlite_x', 'sqlite_x'],
  ['column', '__proto__', '__proto__'],
  ['column', 'Größe/Poids', 'Größe/Poids'],
];

test.each(CASES)('names the %s %j in the replica %j', (scope, name, expected) => {
  expect(localName({ scope, style: 'origin' }, { name, id: 7 }, new Set())).toBe(expected);
});

test.each([
  ['Order Line', 'order_line'],
  ['CustomerID', 'customer_id'],
  ['HTTPStatus Code', 'http_status_code'],
  ['E-Mail / Phone', 'e_mail_phone'],
  ['Größe (cm)', 'größe_cm'],
  ['2nd Phone', '_2nd_phone'],
  ['Phone 2', 'phone_2'],
  ['_id', 'id'],
  ['new', 'origin_new'],
  ['order', 'order'],
  ['%', 'origin_7'],
])('names %j in snake case %j', (name, expected) => {
  expect(localName({ scope: 'table', style: 'snake' }, { name, id: 7 }, new Set())).toBe(expected);
});

test('a name that the configuration gives comes first, whatever the style', () => {
  const given = (name: string): string | undefined => (name === 'Order Line' ? 'Lines' : undefined);
  const nameOf = (name: string): string =>
    localName({ scope: 'table', style: 'snake', given }, { name, id: 7 }, new Set());

  expect(['Order Line', 'Order Date'].map(nameOf)).toEqual(['Lines', 'order_date']);
});

test('puts the id behind a name that is taken, where case does not count', () => {
  expect(localName({ scope: 'table', style: 'origin' }, { name: 'NOTE', id: 7 }, new Set(['note']))).toBe('NOTE_7');
});

test('keeps apart what only differs outside of A to Z, as SQLite does', () => {
  expect(
    localName({ scope: 'column', style: 'origin' }, { name: 'STRAẞE', id: 7 }, new Set([foldIdent('straße')])),
  ).toBe('STRAẞE');
});

test('finds a free name even when the one with the id is taken', () => {
  expect(localName({ scope: 'table', style: 'origin' }, { name: 'Note', id: 7 }, new Set(['note', 'note_7']))).toBe(
    'Note_7_',
  );
});

test('dates the name of a column that makes room, and counts on the same day', () => {
  const taken = new Set(['price (removed 2026-11-21)']);

  expect(asideName('Price', 'removed', '2026-11-21', new Set())).toBe('Price (removed 2026-11-21)');
  expect(asideName('Price', 'removed', '2026-11-21', taken)).toBe('Price (removed 2026-11-21, 2)');
  taken.add('price (removed 2026-11-21, 2)');
  expect(asideName('Price', 'removed', '2026-11-21', taken)).toBe('Price (removed 2026-11-21, 3)');
});

test.each([
  ['Note', true],
  ['Note_7', true],
  ['Note_7_', true],
  ['Note_8', false],
  ['Note_71', false],
  ['Note_7_x', false],
  ['Nota_7', false],
  ['note', false],
])('the name of a thing that the origin calls Note may be %s: %s', (local, expected) => {
  expect(isNameOf(local, { scope: 'column', style: 'origin' }, { name: 'Note', id: 7 })).toBe(expected);
});

test('the new names are those that no known thing has, whatever the case', () => {
  const described = ['Note', 'Price', '_id'].map((name, index) => ({ name, id: index + 1 }));

  expect(newNames({ scope: 'column', style: 'origin' }, [{ localName: 'note' }], described)).toEqual([
    'Price',
    'origin__id',
  ]);
});

test('never gives two things the same name, and never a reserved one', () => {
  const names = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'A', 'a_2', '_id', 'sqlite_a')));
  fc.assert(
    fc.property(names, fc.constantFrom<NameScope>('table', 'column'), STYLES, (list, scope, style) => {
      const taken = new Set<string>();
      for (const [index, name] of list.entries()) {
        const local = localName({ scope, style }, { name, id: index + 1 }, taken);
        expect(taken.has(foldIdent(local))).toBe(false);
        expect(local).not.toContain('\0');
        expect(local.trim()).not.toBe('');
        expect(local).not.toMatch(scope === 'table' ? /^(sqlite_|_rowsync_|sync_)/i : /^(_id|_allow)$/i);
        taken.add(foldIdent(local));
      }
    }),
  );
});

const table = (id: number, name: string, local = name, isGone = false): TableName => ({
  id,
  name,
  localName: local,
  isGone,
});

test.each<{
  what: string;
  known: readonly TableName[];
  described: readonly (readonly [id: number, name: string])[];
  taken?: readonly string[];
  names: Readonly<Record<number, string>>;
}>([
  { what: 'a new table', known: [], described: [[1, 'A']], names: { 1: 'A' } },
  {
    what: 'a chain of renames',
    known: [table(1, 'Alpha'), table(2, 'Beta')],
    described: [
      [1, 'Beta'],
      [2, 'Beta 2025'],
    ],
    names: { 1: 'Beta', 2: 'Beta 2025' },
  },
  {
    what: 'a swap',
    known: [table(1, 'A'), table(2, 'B')],
    described: [
      [1, 'B'],
      [2, 'A'],
    ],
    names: { 1: 'B', 2: 'A' },
  },
  {
    what: 'a table that was dropped and made again',
    known: [table(1, 'A', 'A', true)],
    described: [[2, 'A']],
    names: { 1: 'A (gone 2026-11-26)', 2: 'A' },
  },
  {
    what: 'two tables that are gone, whose dated names meet',
    known: [table(1, 'A', 'A', true), table(2, 'B', 'A (gone 2026-11-26)', true)],
    described: [[3, 'A']],
    names: { 1: 'A (gone 2026-11-26, 2)', 3: 'A' },
  },
  {
    what: 'a table that is gone, and whose name no other one has',
    known: [table(1, 'A', 'A', true)],
    described: [[2, 'B']],
    names: { 2: 'B' },
  },
  {
    what: 'a table with a number behind its name, once that is free',
    known: [table(1, 'A', 'A_1')],
    described: [[1, 'A']],
    names: { 1: 'A' },
  },
  {
    what: 'a table whose name another one keeps that is not described now',
    known: [table(1, 'A'), table(2, 'B')],
    described: [[2, 'A']],
    names: { 2: 'A_2' },
  },
  {
    what: 'a table whose name a view of a user has',
    known: [],
    described: [[1, 'A']],
    taken: ['a'],
    names: { 1: 'A_1' },
  },
  {
    what: 'a table that was not made yet, whose name a view of a user has by now',
    known: [table(1, 'A'), table(2, 'B')],
    described: [
      [1, 'A'],
      [2, 'B'],
    ],
    taken: ['a'],
    names: { 1: 'A_1', 2: 'B' },
  },
  {
    what: 'two tables whose names differ in case',
    known: [table(1, 'NOTE', 'NOTE_1'), table(2, 'Note')],
    described: [
      [1, 'NOTE'],
      [2, 'Note'],
    ],
    names: { 1: 'NOTE_1', 2: 'Note' },
  },
  {
    what: 'two new tables whose names differ in case, the newer one first',
    known: [],
    described: [
      [2, 'note'],
      [1, 'NOTE'],
    ],
    names: { 1: 'NOTE', 2: 'note_2' },
  },
  {
    what: 'a table that gets a new name, which it has here already, after an older one',
    known: [table(2, 'Before', 'Note')],
    described: [
      [1, 'NOTE'],
      [2, 'Note'],
    ],
    names: { 1: 'NOTE', 2: 'Note_2' },
  },
  {
    what: 'a table whose name is written otherwise here',
    known: [table(1, 'sync_x', 'origin_sync_x')],
    described: [[1, 'sync_x']],
    names: { 1: 'origin_sync_x' },
  },
  { what: 'another case', known: [table(1, 'Thing')], described: [[1, 'thing']], names: { 1: 'thing' } },
])('names the tables: $what', ({ known, described, taken = [], names }) => {
  const planned = planTableNames(
    known,
    described.map(([id, name]) => ({ id, name })),
    { taken: new Set(taken), day: '2026-11-26', style: 'origin' },
  );

  expect(Object.fromEntries(planned)).toEqual(names);
});

test.each([
  ['rowid', true],
  ['OID', true],
  ['_rowid_', true],
  ['my_rowid', false],
  ['rowid_2', false],
  ['Void', false],
  ['', false],
])('SQLite renames no column called %j: %s', (name, isKept) => {
  expect(isUnrenamable(name)).toBe(isKept);
});

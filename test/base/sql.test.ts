/** SQL text that is put together, as SQLite itself reads it. */
import Database from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import {
  allOf,
  anyOf,
  foldIdent,
  ident,
  isOther,
  joinSql,
  literal,
  sql,
  unionAll,
  type Sql,
} from '../../src/base/sql.ts';

const db = new Database(':memory:');
afterAll(() => void db.close());

/** The only value of the only row. */
function valueOf(query: Sql): unknown {
  return db.prepare(query).pluck().get();
}

const NAMES = ['Note', 'two words', 'a"b', '"', "it's", '"; DROP TABLE "x', '[a]', '`', '漢字', 'a\nb', 'select', '--'];

test.each(NAMES)('a column called %j is found under that name', (name) => {
  const row = db.prepare(sql`SELECT 1 AS ${ident(name)}`).get();

  expect(row).toEqual({ [name]: 1 });
});

test.each([...NAMES, '', "''", '%?', '\\'])('a literal has the text %j', (text) => {
  expect(valueOf(sql`SELECT ${literal(text)}`)).toBe(text);
});

test('a literal has no NUL, at which SQLite would end the statement', () => {
  expect(valueOf(sql`SELECT ${literal('a\0b')}`)).toBe('ab');
});

test('texts and parts are put together in their order', () => {
  expect(sql`SELECT ${ident('a')}, ${-1} FROM ${ident('b')}`).toBe('SELECT "a", -1 FROM "b"');
  expect(joinSql([sql`a`, sql`b`])).toBe('a, b');
  expect(joinSql([])).toBe('');
});

test.each(['Note', 'NOTE', 'É', 'É'.toLowerCase(), 'K', 'İ', 'ß', 'A_Z[\\]^'])(
  'two names are one if SQLite takes them for one: %j',
  (name) => {
    const isOneHere = (other: string): boolean => foldIdent(name) === foldIdent(other);
    const isOneThere = (other: string): boolean =>
      valueOf(sql`SELECT ${literal(name)} = ${literal(other)} COLLATE NOCASE`) === 1;

    for (const other of ['note', 'é', 'É', 'k', 'i̇', 'SS', 'a_z[\\]^', 'a_z{|}~']) {
      expect([other, isOneHere(other)]).toEqual([other, isOneThere(other)]);
    }
  },
);

test.each([
  ['a', 'a', 0],
  ['a', 'A', 1],
  ['a', null, 1],
  [null, null, 0],
  ['', null, 1],
  [1, 1.5, 1],
])('%j and %j differ: %i, whatever the columns compare by', (one, other, expected) => {
  db.exec('DROP TABLE IF EXISTS t; CREATE TABLE t (one COLLATE NOCASE, other COLLATE NOCASE)');
  db.prepare('INSERT INTO t VALUES (?, ?)').run(one, other);

  expect(valueOf(sql`SELECT ${isOther(sql`one`, sql`other`)} FROM t`)).toBe(expected);
});

test.each([1, 2, 3, 2_500])('%i conditions are one, and SQLite takes them', (count) => {
  const falseBut = (index: number): readonly Sql[] =>
    Array.from({ length: count }, (_, place) => sql`${place} = ${index}`);
  const trueBut = (index: number): readonly Sql[] =>
    Array.from({ length: count }, (_, place) => sql`${place} <> ${index}`);

  for (const index of [0, count - 1]) {
    expect(valueOf(sql`SELECT ${anyOf(falseBut(index))}`)).toBe(1);
    expect(valueOf(sql`SELECT ${allOf(trueBut(index))}`)).toBe(0);
  }
  expect(valueOf(sql`SELECT ${anyOf(falseBut(-1))}`)).toBe(0);
  expect(valueOf(sql`SELECT ${allOf(trueBut(-1))}`)).toBe(1);
});

test('conditions stay together beside others', () => {
  expect(valueOf(sql`SELECT 0 AND ${anyOf([sql`0`, sql`1`])}`)).toBe(0);
  expect(valueOf(sql`SELECT NOT ${allOf([sql`0`, sql`1`])}`)).toBe(1);
});

test.each([1, 400, 401, 1_201])('the rows of %i selects come once each', (count) => {
  const selects = Array.from({ length: count }, (_, index) => sql`SELECT ${index} AS n`);

  expect(valueOf(sql`SELECT count(DISTINCT n) || ' ' || sum(n) FROM (${unionAll(selects)})`)).toBe(
    `${count} ${(count * (count - 1)) / 2}`,
  );
});

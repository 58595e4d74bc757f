/**
 * The text of a query with the names of today: only names change, and only as far as SQLite agrees.
 */
import { expect, test } from 'vitest';
import { correct, type FormerName } from '../../../src/extras/contracts/query-correction.ts';

const column = (former: string, now: string | null): FormerName => ({
  isTable: false,
  former,
  now,
  words: `${former} is ${now}`,
});
const table = (former: string, now: string | null): FormerName => ({
  isTable: true,
  former,
  now,
  words: `${former} is ${now}`,
});

/**
 * Compiles as SQLite does, word by word: the first missing name is the problem. `there` may have a name in front of its
 * table.
 */
function compilerOf(missing: readonly (readonly [pattern: RegExp, problem: string])[]) {
  return (text: string): string | null => missing.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

test.each([
  ['a column', 'SELECT Price FROM Good', [column('Price', 'Cost')], 'SELECT "Cost" FROM Good'],
  ['in any case', 'SELECT pRICE FROM Good', [column('Price', 'Cost')], 'SELECT "Cost" FROM Good'],
  ['in quotes', 'SELECT "Price" FROM Good', [column('Price', 'Cost')], 'SELECT "Cost" FROM Good'],
  ['in brackets', 'SELECT [Price] FROM Good', [column('Price', 'Cost')], 'SELECT "Cost" FROM Good'],
  ['in back quotes', 'SELECT `Price` FROM Good', [column('Price', 'Cost')], 'SELECT "Cost" FROM Good'],
  ['with a quote in it', 'SELECT Price FROM Good', [column('Price', 'The "Cost"')], 'SELECT "The ""Cost""" FROM Good'],
  ['with a $ in it', 'SELECT Price FROM Good', [column('Price', '$&')], 'SELECT "$&" FROM Good'],
] as const)('%s is corrected', (_what, text, names, corrected) => {
  const problemOf = compilerOf([[/price/i, 'no such column: Price - should this be']]);
  const plain = compilerOf([[/price/i, 'no such column: Price']]);

  expect(correct(text, plain, names)).toEqual({ causes: ['Price is ' + names[0].now], corrected });
  expect(correct(text, problemOf, names).corrected).toBeNull();
});

test('texts, comments and longer words are never changed', () => {
  const text = `SELECT Price, 'Price', "a ""Price""", PriceList -- Price\nFROM Good /* Price */`;
  const problemOf = compilerOf([[/SELECT Price,/, 'no such column: Price']]);

  const { corrected } = correct(text, problemOf, [column('Price', 'Cost')]);

  expect(corrected).toBe(text.replace('SELECT Price', 'SELECT "Cost"'));
});

test('a table is corrected everywhere, a column of one of two tables only where it has to be', () => {
  const inTable = correct('SELECT Good.Title FROM Good', compilerOf([[/\bGood\b/, 'no such table: Good']]), [
    table('Good', 'Article'),
  ]);
  const inOne = correct(
    'SELECT g.Title, m.Title FROM Good g JOIN Maker m',
    (text) => {
      if (text.includes('g.Title')) return 'no such column: g.Title';
      return text.includes('m."Heading"') ? 'no such column: m.Heading' : null;
    },
    [column('Title', 'Heading')],
  );

  expect(inTable.corrected).toBe('SELECT "Article".Title FROM "Article"');
  expect(inOne.corrected).toBe('SELECT g."Heading", m.Title FROM Good g JOIN Maker m');
});

test('the name that an answer gives its column stays', () => {
  const problemOf = compilerOf([[/SELECT Price/, 'no such column: Price']]);

  const { corrected } = correct('SELECT Price AS Price FROM Good', problemOf, [column('Price', 'Cost')]);

  expect(corrected).toBe('SELECT "Cost" AS Price FROM Good');
});

test('a chain of renames is followed to the name of today, the newest first', () => {
  const problemOf = compilerOf([
    [/\ba\b/, 'no such column: a'],
    [/\bb\b/, 'no such column: b'],
  ]);

  const found = correct('SELECT a FROM t', problemOf, [column('b', 'c'), column('a', 'b')]);

  expect(found).toEqual({ causes: ['a is b', 'b is c'], corrected: 'SELECT "c" FROM t' });
});

test('what is gone is a cause, and has no correction', () => {
  const problemOf = compilerOf([[/Price/, 'no such column: Price']]);

  expect(correct('SELECT Price FROM Good', problemOf, [column('Price', null)])).toEqual({
    causes: ['Price is null'],
    corrected: null,
  });
});

test.each([
  ['another problem', 'near "SELEC": syntax error', [column('Price', 'Cost')]],
  ['a name that nothing had', 'no such column: Other', [column('Price', 'Cost')]],
  ['a name of which a part was one', 'no such column: thePrice', [column('Price', 'Cost')]],
])('%s is explained by nothing', (_what, problem, names) => {
  expect(correct('SELECT Price FROM Good', () => problem, names)).toEqual({ causes: [], corrected: null });
});

test('names that lead to each other end, without a correction', () => {
  const problemOf = (text: string): string =>
    /"?a"?\b/.test(text.slice(7, 10)) ? 'no such column: a' : 'no such column: b';

  const { causes, corrected } = correct('SELECT a FROM t', problemOf, [column('a', 'b'), column('b', 'a')]);

  expect([causes, corrected]).toEqual([['a is b', 'b is a'], null]);
});

test('a query that compiles is left as it is', () => {
  expect(correct('SELECT 1', () => null, [column('1', '2')])).toEqual({ causes: [], corrected: null });
});

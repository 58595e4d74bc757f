/**
 * Queries are compiled against a copy of the schema without rows; nothing of the replica is read or changed.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SchemaModel } from '../../../src/extras/contracts/schema-model.ts';

const SCHEMA = `
  CREATE TABLE "Order Line" (_id INTEGER PRIMARY KEY, "the ""name""" TEXT, Price NUMERIC, twice AS (Price * 2));
  CREATE TABLE Maker (_id INTEGER PRIMARY KEY, Title TEXT);
  CREATE VIEW dear AS SELECT _id, Price FROM "Order Line" WHERE Price > 1;
  CREATE VIEW dearest AS SELECT * FROM dear;
  CREATE VIEW broken AS SELECT absent FROM Maker;
  CREATE VIRTUAL TABLE words USING fts5(word);
  INSERT INTO Maker VALUES (1, 'm')`;

function model(schema = SCHEMA): SchemaModel {
  const db = new Database(':memory:');
  db.exec(schema);
  try {
    return new SchemaModel(db);
  } finally {
    db.close();
  }
}

test.each([
  ['SELECT "the ""name""" AS n, twice FROM "Order Line"', ['n', 'twice'], null],
  ['SELECT * FROM dearest', ['_id', 'Price'], null],
  ['SELECT word FROM words', ['word'], null],
  ['SELECT count(*) AS n FROM Maker', ['n'], null],
  ['SELECT Nope FROM Maker', null, 'no such column: Nope'],
  ['SELECT "Nope" FROM Maker', null, 'no such column: "Nope"'],
  ['SELECT 1 FROM Nope', null, 'no such table: Nope'],
  ['SELECT * FROM broken', null, 'no such column: absent'],
  ['SELECT 1; SELECT 2', null, 'The supplied SQL string contains more than one statement'],
  ['', null, 'The supplied SQL string contains no statements'],
  ['DELETE FROM Maker', null, 'only a query that reads can be registered'],
  ['DELETE FROM Maker RETURNING _id', null, 'only a query that reads can be registered'],
  ['PRAGMA user_version = 3', null, 'only a query that reads can be registered'],
])('%j has the columns %j and the problem %j', (text, columns, problem) => {
  using made = model();

  expect(made.compile(text)).toEqual({ columns, problem });
});

test('a query is compiled as if something were not there, and then with everything again', () => {
  using made = model();
  const text = 'SELECT Price FROM "Order Line" JOIN Maker';

  expect(made.compileWithout(text, 'order line', 'PRICE').problem).toBe('no such column: Price');
  expect(made.compileWithout(text, 'Maker', null).problem).toBe('no such table: Maker');
  expect(made.compileWithout('SELECT 1 FROM dearest', 'dear', null).problem).toBe('no such table: main.dear');
  expect(made.compileWithout('SELECT 1 FROM dearest', 'dear', null).problem).toBe('no such table: main.dear');
  expect(made.compileWithout('SELECT 1 FROM words', 'words', null).problem).toBeNull();
  expect(made.compile('SELECT * FROM dearest, Maker, "Order Line"').problem).toBeNull();
});

test.each([
  ['SELECT Price FROM "Order Line"', 'Order Line', 'Price', true],
  ['select PRICE from [order line]', 'Order Line', 'Price', true],
  ['SELECT "the ""name""" FROM "Order Line"', 'Order Line', 'the "name"', true],
  ['SELECT * FROM dearest', 'Order Line', 'Price', true],
  ['SELECT * FROM "Order Line"', 'Order Line', null, true],
  ['SELECT * FROM "Order Line"', 'Order Line', 'Price', false],
  [`SELECT 'Price', _id FROM "Order Line"`, 'Order Line', 'Price', false],
  ['SELECT Title FROM Maker -- Order Line', 'Order Line', null, false],
  ['SELECT * FROM dear', 'dear', null, true],
  ['SELECT Nope FROM "Order Line" WHERE Price', 'Order Line', 'Price', false],
])('%j names %s, %s: %s', (text, table, column, isNamed) => {
  using made = model();

  expect(made.names(text, table, column)).toBe(isNamed);
});

test.each([
  ['SELECT * FROM "Order Line"', true],
  ['SELECT "Order Line".* FROM "Order Line"', true],
  ['SELECT Price FROM "Order Line"', false],
  ['SELECT count(*) FROM "Order Line"', false],
  ['SELECT * FROM Maker', false],
  ['SELECT * FROM dear', false],
])('%j takes all columns: %s', (text, isTaken) => {
  using made = model();

  expect(made.takesAll(text, 'Order Line', 'Price')).toBe(isTaken);
});

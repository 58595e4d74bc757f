/** Which rows a smaller copy takes along: never fewer than what the taken ones refer to. */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { closeOver, type ReplicaRows } from '../../../src/sandbox/store/replica-rows.ts';

function table(id: number, sourceName: string, options: Partial<ReplicaRows> & { recordName?: string }): ReplicaRows {
  const { keyName = 'Key', possibleReferences = [], recordName = sourceName } = options;
  return { id, sourceName, keyName, possibleReferences, summary: { recordName } };
}

/** The ids that are taken of each table, as "table:id". */
function taken(statements: string, tables: readonly ReplicaRows[], count: number): readonly string[] {
  const file = new Database(':memory:');
  try {
    file.exec(statements);
    closeOver(file, tables, count);
    const text = 'SELECT table_id || ? || id FROM temp.taken ORDER BY table_id, id';
    return file.prepare<[string], string>(text).pluck().all(':');
  } finally {
    file.close();
  }
}

const CUSTOMERS = `CREATE TABLE Customer (_id INTEGER PRIMARY KEY, "Key" TEXT);
  INSERT INTO Customer VALUES (1, 'a'), (2, 'b'), (3, 'c');`;

test('the latest rows of each table, and none of those that wait for the origin', () => {
  const statements = `${CUSTOMERS} INSERT INTO Customer VALUES (-1, 'new');`;

  expect(taken(statements, [table(1, 'Customer', {})], 2)).toEqual(['1:2', '1:3']);
  expect(taken(statements, [table(1, 'Customer', {})], 9)).toEqual(['1:1', '1:2', '1:3']);
});

test('a column with the name of a table refers to it, also where it has other values', () => {
  const statements = `${CUSTOMERS} CREATE TABLE Bill (_id INTEGER PRIMARY KEY, "Key" TEXT, customer TEXT);
    INSERT INTO Bill VALUES (1, '1', 'c'), (2, '2', 'a'), (3, '3', 'nobody');`;
  const tables = [table(1, 'Customer', {}), table(2, 'Bill', { possibleReferences: ['customer'] })];

  expect(taken(statements, tables, 2)).toEqual(['1:1', '1:2', '1:3', '2:2', '2:3']);
});

test('a column under another name refers where all of its values are keys', () => {
  const of = (payer: string): readonly string[] => {
    const statements = `${CUSTOMERS} CREATE TABLE Bill (_id INTEGER PRIMARY KEY, "Key" TEXT, Payer TEXT);
      INSERT INTO Bill VALUES (1, '1', '${payer}'), (2, '2', 'a');`;
    return taken(statements, [table(1, 'Customer', {}), table(2, 'Bill', { possibleReferences: ['Payer'] })], 1);
  };

  expect(of('b')).toEqual(['1:1', '1:3', '2:2']);
  expect(of('nobody')).toEqual(['1:3', '2:2']);
});

test('references are followed to their end, also in a circle', () => {
  const statements = `CREATE TABLE Person (_id INTEGER PRIMARY KEY, "Key" TEXT, Chief TEXT);
    INSERT INTO Person VALUES (1, 'a', 'b'), (2, 'b', 'c'), (3, 'c', 'a'), (4, 'd', NULL), (5, 'e', 'a');`;

  expect(taken(statements, [table(1, 'Person', { possibleReferences: ['Chief'] })], 1)).toEqual([
    '1:1',
    '1:2',
    '1:3',
    '1:5',
  ]);
});

test('nothing refers to a table whose key is left out', () => {
  const statements = `${CUSTOMERS} CREATE TABLE Bill (_id INTEGER PRIMARY KEY, "Key" TEXT, Customer TEXT);
    INSERT INTO Bill VALUES (1, '1', 'a');`;
  const tables = [table(1, 'Customer', { keyName: null }), table(2, 'Bill', { possibleReferences: ['Customer'] })];

  expect(taken(statements, tables, 1)).toEqual(['1:3', '2:1']);
});

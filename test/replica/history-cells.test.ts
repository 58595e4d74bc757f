/**
 * Values of the history in JSON are read back exactly as they were, through SQLite's JSON and JSONB.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { exactFromText, exactText, type Exact } from '../../src/replica/history-cells.ts';

const VALUES: readonly Exact[] = [
  null,
  '',
  'a "quoted" \\ text\0 with \u2028, \n and 😀',
  '{"blob":"00"}',
  '12',
  0n,
  -9_223_372_036_854_775_808n,
  9_223_372_036_854_775_807n,
  1,
  -0,
  0.1,
  1e21,
  5e-324,
  Number.MAX_VALUE,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Buffer.from([0, 255]),
  { raw: 'ff41' },
];

test.each(['json(?) -> 0', 'jsonb(?) -> 0'])('every value comes back from %s', (expression) => {
  const db = new Database(':memory:');
  const read = db.prepare(`SELECT ${expression}`).pluck();

  const back = VALUES.map((value) => exactFromText(String(read.get(`[${exactText(value)}]`))));

  expect(back).toStrictEqual(VALUES);
});

import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { look, thing } from './thing.ts';

test.each([
  ['integers as INTEGER', 7, 'integer'],
  ['integers of 64 bits as INTEGER', 9223372036854775807n, 'integer'],
  ['longer integers as TEXT', 9223372036854775808n, 'text'],
  ['what a double holds as REAL', 0.1, 'real'],
  ['19 digits as TEXT', '1.234567890123456789', 'text'],
  ['a decimal text that a double holds as REAL', '2.50', 'real'],
])('keeps %s', async (_what, value, type) => {
  await using sandbox = await startTestSandbox({ tables: [{ ...thing, rows: [{ N: value }] }] });

  expect(look(sandbox, 'SELECT typeof("N") AS type FROM "Big ""Thing"""')).toEqual([{ type }]);
  expect(String(sandbox.store.rows(thing.name)[0]?.values['N'])).toBe(String(value).replace(/0$/, ''));
});

test.each([
  ['a text in a checkbox', { C: 'yes' }],
  ['a text that is no decimal', { N: 'x' }],
  ['a number that is not finite', { N: Number.NaN }],
  ['a column that does not exist', { Nope: 1 }],
  ['the name of a column in another case', { n: 1 }],
])('refuses %s', async (_what, cells) => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  expect(() => sandbox.store.insert(thing.name, cells)).toThrow(/Broken assumption/);
  expect(sandbox.store.count(thing.name)).toBe(1);
});

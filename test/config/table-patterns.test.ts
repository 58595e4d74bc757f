/**
 * Which pattern decides on a table.
 */
import { expect, test } from 'vitest';

import { tableRules } from '../../src/config/table-patterns.ts';

const sortBy = (column: string): { sort: string[] } => ({ sort: [column] });

test.each([
  { name: 'Customer', decides: 'Customer', why: 'a name comes before any pattern' },
  { name: 'Customer Note', decides: 'Customer*', why: 'more literal characters come first' },
  { name: 'Cat', decides: 'C*t', why: 'two letters are more than one' },
  { name: 'City', decides: 'C*', why: 'no other pattern fits' },
  { name: 'Order', decides: '*', why: 'the star fits everything' },
  { name: 'customer', decides: '*', why: 'case matters' },
  { name: 'C\nt', decides: 'C*t', why: 'a star stands for line breaks too' },
])('$decides decides on $name: $why', ({ name, decides }) => {
  const rules = tableRules({ '*': {}, 'C*': {}, 'C*t': {}, 'Customer*': {}, Customer: {} });

  expect(rules.find(name)?.pattern).toBe(decides);
});

test('leaves a table alone that no pattern matches', () => {
  expect(tableRules({ Customer: {} }).find('Order')).toBeNull();
});

test('leaves a table alone where the most specific pattern says false', () => {
  const rules = tableRules({ '*': sortBy('Id'), 'Audit*': false, 'Audit Log': {} });

  expect(rules.find('Audit Trail')).toBeNull();
  expect(rules.find('Audit Log')).toEqual({ pattern: 'Audit Log', options: {} });
  expect(rules.find('Other')).toEqual({ pattern: '*', options: { sort: ['Id'] } });
});

test('takes every other character of a pattern literally', () => {
  const rules = tableRules({ 'a.b (c) [d] {2} ^$|?+\\/-': {}, 'x.*': {} });

  expect(rules.find('a.b (c) [d] {2} ^$|?+\\/-')).not.toBeNull();
  expect(rules.find('xyz')).toBeNull();
  expect(rules.find('x.yz')).not.toBeNull();
});

test('prefers the table whose name has a star itself', () => {
  const rules = tableRules({ 'A*': sortBy('pattern'), 'A*B': sortBy('name') });

  expect(rules.find('A*B')?.options).toEqual(sortBy('name'));
});

test('decides the same way whatever the order of the file', () => {
  const forth = tableRules({ '*': {}, 'A*': {}, Ab: {} });
  const back = tableRules({ Ab: {}, 'A*': {}, '*': {} });

  expect(forth.byName.keys).toEqual(back.byName.keys);
});

test('matches many stars in bounded time', () => {
  const rules = tableRules({ [`${'*'.repeat(200)}x`]: {} });

  expect(rules.find('a'.repeat(400))).toBeNull();
});

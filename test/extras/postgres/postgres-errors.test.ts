/**
 * What errors of the PostgreSQL driver say to people.
 */
import { expect, test } from 'vitest';
import { pgError } from '../../../src/extras/postgres/postgres-errors.ts';

test.each([
  ['connect ECONNREFUSED 127.0.0.1:5499', 'ECONNREFUSED', 'PostgreSQL: connect ECONNREFUSED 127.0.0.1:5499'],
  ['', 'ECONNREFUSED', 'PostgreSQL: ECONNREFUSED'],
  ['relation "x" is strange', 'XX000', 'PostgreSQL: relation "x" is strange (XX000)'],
  ['no code at all', undefined, 'PostgreSQL: no code at all'],
])('%j with the code %j says the code once', (message, code, said) => {
  expect(pgError(Object.assign(new Error(message), { code })).message).toBe(said);
});

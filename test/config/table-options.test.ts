/**
 * The options `columns` and `mask`.
 */
import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { optionsSchema } from '../../src/config/options.ts';
import { problemsFromIssues } from '../../src/config/config-errors.ts';

function readTable(yaml: string) {
  const table: unknown = parse(yaml);
  const origin = { url: 'https://www.teamdesk.net', database: '1' };
  return optionsSchema().safeParse({ origin, replica: { path: 'replica.db' }, tables: { Customer: table } });
}

function complaints(yaml: string): string[] {
  const problems = problemsFromIssues(readTable(yaml).error?.issues ?? []);
  return problems.map(({ path, complaint }) => `${path.join('.')} ${complaint}`);
}

test('takes columns to leave out, or columns to take', () => {
  expect(readTable('columns: { exclude: [Bank Account, Notes*] }').success).toBe(true);
  expect(readTable('columns: { include: [Name] }').success).toBe(true);
});

test.each([
  'columns: { exclude: [A], include: [B] }',
  'columns: {}',
  'columns: { exclude: [] }',
  'columns: [A]',
  'columns: { exclude: [""] }',
])('refuses %s', (yaml) => {
  expect(complaints(yaml)).toEqual([expect.stringContaining('tables.Customer.columns')]);
});

test('takes every mask, and null written as YAML does', () => {
  const table = readTable('mask: { A: hash, B: last4, C: year, D: domain, E: "null", F: null, G: { constant: x } }');

  const masks = table.data?.tables['Customer'];
  expect(masks).toMatchObject({ mask: { E: 'null', F: 'null', G: { constant: 'x' } } });
});

test.each(['mask: { A: md5 }', 'mask: { A: { constant: 1 } }', 'mask: hash', 'mask: { A: {} }'])(
  'refuses %s',
  (yaml) => {
    expect(complaints(yaml)).toHaveLength(1);
  },
);

test('refuses to mask what match and sort need as it is at the origin', () => {
  expect(complaints('{ push: true, match: External Id, mask: { "external*": hash } }')).toEqual([
    'tables.Customer.mask.external* names "External Id", which match needs as it is at the origin',
  ]);
  expect(complaints('{ sort: [Name], mask: { Name: hash } }')).toEqual([
    'tables.Customer.mask.Name names "Name", which sort needs as it is at the origin',
  ]);
});

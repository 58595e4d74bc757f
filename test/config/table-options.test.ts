/** The options of a table: which are taken, which are refused, and which need another one beside them. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { isPushed } from '../../src/config/table-options.ts';
import { optionsSchema } from '../../src/config/options.ts';
import { problemsFromIssues } from '../../src/config/config-errors.ts';

function readTable(yaml: string) {
  const table: unknown = parse(yaml);
  const origin = { url: 'https://www.teamdesk.net', database: '1' };
  return optionsSchema().safeParse({ origin, replica: { path: 'replica.db' }, tables: { Customer: table } });
}

function complaints(yaml: string): string[] {
  const problems = problemsFromIssues(readTable(yaml).error?.issues ?? []);
  return [...new Set(problems.map(({ path, complaint }) => `${path.join('.')} ${complaint}`))];
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

test.each([
  ['match: Code', 'match'],
  ['conflict: ask', 'conflict'],
  ['workflow: suppress', 'workflow'],
  ['delete: purge', 'delete'],
])('refuses %s for a table that is not pushed', (yaml, option) => {
  const complaint = [`tables.Customer.${option} says how to push, and needs push: true beside it`];

  expect(complaints(`{ ${yaml} }`)).toEqual(complaint);
  expect(complaints(`{ push: false, ${yaml} }`)).toEqual(complaint);
  expect(complaints(`{ push: true, ${yaml} }`)).toEqual([]);
  expect(complaints(`{ push: { insert: false }, ${yaml} }`)).toEqual([]);
});

test.each([
  [undefined, false],
  [false, false],
  [true, true],
  [{}, true],
  [{ insert: false }, true],
])('push: %j makes a table editable: %s', (push, expected) => {
  expect(isPushed({ push })).toBe(expected);
});

test.each(['push: yes please', 'push: { delete: false }', 'conflict: remote', 'workflow: off', 'delete: keep'])(
  'refuses %s',
  (yaml) => {
    expect(complaints(`{ ${yaml.startsWith('push') ? '' : 'push: true, '}${yaml} }`)).toHaveLength(1);
  },
);

test.each([
  ['true', true],
  ['false', false],
  ['{ keep: 30d }', { keep: 30 }],
  ['{ maxBytes: 5MB }', { maxBytes: 5_000_000 }],
  ['{ keep: 99999d, maxBytes: 1 }', { keep: 99_999, maxBytes: 1 }],
])('takes history: %s', (yaml, expected) => {
  expect(readTable(`history: ${yaml}`).data?.tables['Customer']).toEqual({ history: expected });
});

test.each(['0d', '30', '1.5d', '100000d', '-1d', '30 d', 'd'])('refuses to keep history for %j', (keep) => {
  expect(complaints(`history: { keep: "${keep}" }`)).toEqual([
    'tables.Customer.history.keep must be a number of days, such as 400d',
  ]);
});

test.each([
  'files: some',
  'files: { revisions: some }',
  'files: { types: [png] }',
  'files: { types: [] }',
  'files: { maxFileBytes: 0 }',
])('refuses %s', (yaml) => {
  expect(complaints(yaml)).toHaveLength(1);
});

test('takes files by revision, size and type', () => {
  const files = '{ revisions: all, maxFileBytes: 1KB, types: [image/*, application/vnd.ms-excel] }';

  expect(readTable(`files: ${files}`).data?.tables['Customer']).toEqual({
    files: { revisions: 'all', maxFileBytes: 1_000, types: ['image/*', 'application/vnd.ms-excel'] },
  });
});

test.each(['sync_status', '_rowsync_rows', 'sqlite_master', '', ' ', 'a\\nb'])('refuses to call a table %j', (name) => {
  expect(complaints(`name: "${name}"`)).toEqual([
    expect.stringContaining('must be a name that SQL can use for a table'),
  ]);
});

test.each(['_id', '', ' '])('refuses to call a column %j', (name) => {
  expect(complaints(`columnNames: { Name: "${name}" }`)).toEqual([
    expect.stringContaining('must be a name that SQL can use for a column'),
  ]);
});

test('a name of its own is for one table, not for a pattern', () => {
  const origin = { url: 'https://www.teamdesk.net', database: '1' };
  const read = (tables: object) => optionsSchema().safeParse({ origin, replica: { path: 'r' }, tables });

  expect(read({ Customer: { name: 'client' } }).success).toBe(true);
  expect(problemsFromIssues(read({ 'Cust*': { name: 'client' } }).error?.issues ?? [])).toMatchObject([
    { path: ['tables', 'Cust*', 'name'], complaint: 'is for one table, not for a pattern' },
  ]);
});

test('a filter of rows fits into an address as it is sent, in bytes', () => {
  expect(complaints(`rows: "${'x'.repeat(4_000)}"`)).toEqual([]);
  // Each takes six characters there.
  expect(complaints(`rows: "${'é'.repeat(667)}"`)).toEqual([expect.stringContaining('tables.Customer.rows must be')]);
});

test.each([1, 10])('takes a sort by %i columns', (count) => {
  const names = Array.from({ length: count }, (_, index) => `C${index}`);

  expect(complaints(`sort: [${names.join(', ')}]`)).toEqual([]);
});

test('refuses a sort by eleven columns', () => {
  const names = Array.from({ length: 11 }, (_, index) => `C${index}`);

  expect(complaints(`sort: [${names.join(', ')}]`)).toHaveLength(1);
});

/**
 * Problems of a configuration in words: all of them at once, each with its place, and no value that could be a secret.
 */
import { beforeEach, expect, test } from 'vitest';
import { configFolder, GOOD, type ConfigFolder } from '../support/config.ts';

let problemsOf: ConfigFolder['problemsOf'];
beforeEach(() => {
  ({ problemsOf } = configFolder());
});

test('reports every problem at once, with line, path and value', () => {
  const message = problemsOf(`origin:
  url: ftp://example.net
  database: abc
  tokenFile: nowhere
  colour: red
replica: {}
tables:
  Customer: { sort: Id, pull: true, push: maybe }
  Order: yes please
limits: { concurrency: 11, pageRows: 2.5, requestsPerSecond: fast }
safety: { maxDeletePercent: 101 }
schedule: { cycle: "* * * * *" }
`);

  expect(message.split('\n')).toEqual([
    '/rowsync.yaml has 14 problems:',
    '  line 2, origin.url must be the scheme and host of the origin, such as https://www.teamdesk.net; it is "ftp://example.net"',
    '  line 3, origin.database must be the number of the database, such as "21995"; it is "abc"',
    '  line 4, origin.tokenFile names a file /nowhere that cannot be read (ENOENT)',
    '  line 5, origin.colour is not a known option; known here: url, database, tokenFile, token, tokenIn, user, passwordFile, password, proxy, caFile, format',
    '  line 6, replica.path is missing: it must be the path of the SQLite file',
    '  line 8, tables.Customer.sort must be a list of 1 to 10 different column names; it is "Id"',
    '  line 8, tables.Customer.pull is not a known option (did you mean push?); known here: name, columnNames, columns, mask, rows, files, history, push, match, conflict, workflow, delete, references, sort, schedule',
    '  line 8, tables.Customer.push must be true, false or { insert: false }; it is "maybe"',
    '  line 9, tables.Order must be a mapping of options: {} for the defaults, or false to leave the table alone; it is "yes please"',
    '  line 10, limits.concurrency must be a whole number from 1 to 10; it is 11',
    '  line 10, limits.pageRows must be a whole number from 2 to 500; it is 2.5',
    '  line 10, limits.requestsPerSecond must be a number from 0 to 1000; it is "fast"',
    '  line 11, safety.maxDeletePercent must be a number from 0 to 100; it is 101',
    '  line 12, schedule.cycle is not a known option; known here: timeZone, sync, pull, push, follow, files',
  ]);
});

test('never shows a password inside an address', () => {
  const message = problemsOf(GOOD.replace('https://', 'https://me:hunter2@'));

  expect(message).toContain('origin.url must be');
  expect(message).not.toContain('hunter2');
});

test('shows the reference, not the value, of an environment variable', () => {
  const message = problemsOf(GOOD.replace('"https://example.net"', '"${HOST}"'), { HOST: 'hunter2' });

  expect(message).toContain('it is "${HOST}"');
  expect(message).not.toContain('hunter2');
});

test('bounds what a broken file can print', () => {
  const yaml = `${GOOD}\ntables:\n${Array.from({ length: 200 }, (_, index) => `  T${index}: 1`).join('\n')}`;

  const message = problemsOf(yaml);

  expect(message.split('\n')).toHaveLength(52);
  expect(message).toContain('and 150 more');
});

test('a problem has the place of the deepest part of its path that is there, and problems are in the order of the file', () => {
  const yaml = `replica:
  paht: x
origin: { url: "https://example.net", database: "1", tokenFile: token }
tables:
  A: { sort: [x, 5] }
`;

  expect(problemsOf(yaml).split('\n').slice(1)).toEqual([
    '  line 1, replica.path is missing: it must be the path of the SQLite file',
    '  line 2, replica.paht is not a known option (did you mean path?); known here: path, shared, names, files, maskKeyFile',
    '  line 5, tables.A.sort[1] must be a list of 1 to 10 different column names; it is 5',
  ]);
});

test('a section that is missing altogether has no line', () => {
  expect(problemsOf('origin: { url: "https://example.net", database: "1", tokenFile: token }')).toContain(
    'rowsync.yaml has a problem:\n  replica is missing: it must be a mapping of options',
  );
});

test('what is wrong in an anchor is shown where it is used', () => {
  expect(problemsOf(`${GOOD}\ntables: { A: &odd { sort: [5] }, B: *odd }`)).toContain(
    'line 5, tables.B.sort[0] must be a list of 1 to 10 different column names; it is 5',
  );
});

test.each([
  [
    'a mapping of options',
    'files: { revisions: some }',
    'tables.A.files.revisions must be latest, all or none; it is "some"',
  ],
  [
    'a word',
    'files: some',
    'tables.A.files must be latest, all or none, or a mapping of revisions, maxFileBytes and types; it is "some"',
  ],
  ['an unknown key', 'files: { revision: all }', 'tables.A.files.revision'],
])('of several forms, the complaint is about the one that was meant: %s', (_form, option, says) => {
  expect(problemsOf(`${GOOD}\ntables: { A: { ${option} } }`)).toContain(says);
});

test.each([
  ['a name with a dot', '"a.b": 5', 'tables."a.b" must be'],
  ['a name with a quote', `'a"b': 5`, String.raw`tables."a\"b" must be`],
  ['a name with a line break', '"a\\nb": 5', String.raw`tables."a\nb" must be`],
  ['a name with a blank', 'a b: 5', 'tables.a b must be'],
])('%s cannot be misread', (_name, key, says) => {
  expect(problemsOf(`${GOOD}\ntables: { ${key} }`)).toContain(says);
});

test('a long value is cut', () => {
  expect(problemsOf(`${GOOD}\nschedule: { timeZone: "${'x'.repeat(61)}" }`)).toContain(`it is "${'x'.repeat(60)}…"`);
});

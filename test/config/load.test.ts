/**
 * Loading a file: its defaults, its paths, its warnings, and that what is wrong is refused before anything is done.
 */
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configFolder, failure, GOOD, TOKEN, type ConfigFolder } from '../support/config.ts';

let folder: ConfigFolder['folder'];
let file: ConfigFolder['file'];
let load: ConfigFolder['load'];
let problemsOf: ConfigFolder['problemsOf'];
beforeEach(() => {
  ({ folder, file, load, problemsOf } = configFolder());
});

test('fills in every default and makes paths absolute, relative to the file', () => {
  const { config, warnings } = load(GOOD);

  expect(warnings).toEqual([]);
  expect(config).toMatchObject({
    file,
    origin: {
      url: 'https://example.net',
      database: '21995',
      credentials: { kind: 'bearer', token: TOKEN },
      format: 'json',
    },
    replica: { path: join(folder, 'data/replica.db') },
    limits: { concurrency: 4, requestsPerSecond: 0, pageRows: 500 },
    safety: { maxDeletePercent: 50 },
  });
  expect(config.tables.find('Customer')).toEqual({ pattern: '*', options: {} });
});

test('takes the folder of files to attach, relative to the file', () => {
  expect(load(GOOD).config.files.uploadDir).toBeNull();
  expect(load(`${GOOD}\nfiles: { uploadDir: out }`).config.files.uploadDir).toBe(join(folder, 'out'));
});

test('takes the format that the origin is to answer in', () => {
  const yaml = GOOD.replace('tokenFile', 'format: xml, tokenFile');

  expect(load(yaml).config.origin.format).toBe('xml');
  expect(problemsOf(GOOD.replace('tokenFile', 'format: csv, tokenFile'))).toContain(
    'origin.format must be json or xml; it is "csv"',
  );
});

test.each([
  { what: 'an empty file', yaml: '', says: 'the file must be a mapping of options; it is empty' },
  { what: 'a list', yaml: '- origin', says: 'the file must be a mapping of options; it is a list' },
  { what: 'a text', yaml: 'hello', says: 'the file must be a mapping of options; it is "hello"' },
  { what: 'missing sections', yaml: '{}', says: 'origin is missing' },
  {
    what: 'an empty section',
    yaml: `${GOOD}\nlimits:\n`,
    says: 'line 5, limits must be a mapping of options; it is empty',
  },
  {
    what: 'a table without options',
    yaml: `${GOOD}\ntables:\n  Customer:\n`,
    says: 'tables.Customer must be a mapping',
  },
  { what: 'a list of tables', yaml: `${GOOD}\ntables: [Customer]`, says: 'tables must be a mapping from table names' },
  { what: 'a key with dots', yaml: `${GOOD}\ntables: { "a.b": 5 }`, says: 'tables."a.b" must be' },
  {
    what: 'a __proto__ key',
    yaml: `${GOOD}\ntables: { __proto__: {} }`,
    says: 'tables.__proto__ cannot be used as a key',
  },
  { what: 'a __proto__ key at the top', yaml: `${GOOD}\n__proto__: {}`, says: '__proto__ cannot be used' },
  {
    what: 'a sort without columns',
    yaml: `${GOOD}\ntables: { A: { sort: [] } }`,
    says: 'tables.A.sort must be a list',
  },
  {
    what: 'a sort twice by one column',
    yaml: `${GOOD}\ntables: { A: { sort: [x, x] } }`,
    says: 'tables.A.sort must be',
  },
  { what: 'an empty column name', yaml: `${GOOD}\ntables: { A: { sort: [""] } }`, says: 'tables.A.sort[0] must be' },
  {
    what: 'a filter of rows without a sign',
    yaml: `${GOOD}\ntables: { A: { rows: '' } }`,
    says: 'tables.A.rows must be a filter',
  },
  {
    what: 'a blank filter of rows',
    yaml: `${GOOD}\ntables: { A: { rows: ' ' } }`,
    says: 'tables.A.rows must be a filter',
  },
  {
    what: 'a filter of rows that no address holds',
    yaml: `${GOOD}\ntables: { A: { rows: '${'x'.repeat(4_001)}' } }`,
    says: 'tables.A.rows must be a filter',
  },
  { what: 'a path in the address', yaml: GOOD.replace('.net', '.net/secure'), says: 'origin.url must be' },
  { what: 'a port that is none', yaml: GOOD.replace('.net', '.net:99999'), says: 'origin.url must be' },
  { what: 'an address without a scheme', yaml: GOOD.replace('https://', ''), says: 'origin.url must be' },
  { what: 'a blank replica path', yaml: GOOD.replace('data/replica.db', '" "'), says: 'replica.path must be the path' },
  {
    what: 'not a number',
    yaml: `${GOOD}\nlimits: { concurrency: .nan }`,
    says: 'limits.concurrency must be a whole number',
  },
])('refuses $what', ({ yaml, says }) => {
  expect(problemsOf(yaml)).toContain(says);
});

test('warns about credentials that travel unencrypted, unless they stay on this machine', () => {
  expect(load(GOOD.replace('https://example', 'http://example')).warnings).toEqual([
    'origin.url: http sends the credentials and every row unencrypted; use https',
  ]);
  expect(load(GOOD.replace('https://example.net', 'http://localhost:80')).warnings).toEqual([]);
});

test('needs no secret for a command that stays on this machine', () => {
  const { config } = load(GOOD.replace('tokenFile: token', 'tokenFile: nowhere'), {}, false);

  expect(config.origin.credentials).toBeNull();
});

test('still validates the rest for a command that stays on this machine', () => {
  expect(failure(() => load(`${GOOD}\nx: 1`, {}, false)).code).toBe('config.invalid');
});

test.each([
  { what: 'a file that does not exist', path: 'nowhere.yaml' },
  { what: 'a folder', path: '.' },
])('reports $what as missing', ({ path }) => {
  const error = failure(() => loadConfig(join(folder, path)));

  expect(error.code).toBe('config.missing');
  expect(error.exitCode).toBe(2);
});

/**
 * Loading real files from a temporary folder: every kind of bad input is reported, all at once, without a secret.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { RowsyncError } from '../../src/base/errors.ts';
import { loadConfig, type LoadedConfig } from '../../src/config/load.ts';
import { findConfig, serviceConfig } from '../../src/config/paths.ts';
import type { Environment } from '../../src/config/secrets.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-config-'));
  file = join(folder, 'rowsync.yaml');
  secretFile('token', `${TOKEN}\n`);
});

afterEach(() => rmSync(folder, { recursive: true }));

function secretFile(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode });
  chmodSync(path, mode);
  return path;
}

function load(yaml: string, environment: Environment = {}, needsCredentials = true): LoadedConfig {
  writeFileSync(file, yaml);
  return loadConfig(file, { environment, needsCredentials });
}

function failure(attempt: () => unknown): RowsyncError {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

const problemsOf = (yaml: string, environment: Environment = {}): string =>
  failure(() => load(yaml, environment)).message.replaceAll(folder, '');

const GOOD = `
origin: { url: "https://example.net", database: "21995", tokenFile: token }
replica: { path: data/replica.db }
`;

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

test.each([
  { what: 'bad indentation', yaml: 'origin:\n  url: a\n database: b', line: 3 },
  { what: 'a key that stands twice', yaml: 'replica: {}\nreplica: {}', line: 2 },
  { what: 'two documents', yaml: '{}\n---\n{}', line: 2 },
  { what: 'an unknown tag', yaml: 'a: !secret b', line: 1 },
  { what: 'an alias to nothing', yaml: 'a: *hunter2', line: 1 },
  { what: 'an environment variable in braces without quotes', yaml: 'a: { b: ${hunter2} }', line: 1 },
])('names the line of $what, and quotes nothing', ({ yaml, line }) => {
  const error = failure(() => load(yaml));

  expect(error.code).toBe('config.invalid');
  expect(error.message).toContain(`line ${line}: `);
  expect(error.message).not.toContain('hunter2');
  expect(error.hint).toContain('a text with : or # or * or { in it needs quotes');
});

test.each([
  ['21995', '21995'],
  ['"21995"', '21995'],
  ['"21995-3"', '21995-3'],
])('takes database %s', (yaml, database) => {
  expect(load(GOOD.replace('"21995"', yaml)).config.origin.database).toBe(database);
});

test.each([
  ['https://example.net/', 'https://example.net'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
  ['https://EXAMPLE.net:443', 'https://example.net'],
])('takes the address %s as %s', (yaml, url) => {
  expect(load(GOOD.replace('https://example.net', yaml)).config.origin.url).toBe(url);
});

test('warns about credentials that travel unencrypted, unless they stay on this machine', () => {
  expect(load(GOOD.replace('https://example', 'http://example')).warnings).toEqual([
    'origin.url: http sends the credentials and every row unencrypted; use https',
  ]);
  expect(load(GOOD.replace('https://example.net', 'http://localhost:80')).warnings).toEqual([]);
});

test.each([
  { login: 'tokenFile: token', credentials: { kind: 'bearer', token: TOKEN } },
  { login: 'token: "${TOKEN}"', credentials: { kind: 'bearer', token: 'abc' } },
  {
    login: 'user: a@example.net, passwordFile: password',
    credentials: { kind: 'basic', user: 'a@example.net', password: ' pass word: ü ' },
  },
  { login: 'user: "${USER}", password: "${TOKEN}"', credentials: { kind: 'basic', user: 'somebody', password: 'abc' } },
  { login: 'tokenFile: "${CREDENTIALS_DIRECTORY}/t"', credentials: { kind: 'bearer', token: 'from-systemd' } },
  { login: 'tokenFile: "${CREDENTIALS_DIRECTORY:-/x}/t"', credentials: { kind: 'bearer', token: 'from-systemd' } },
  { login: 'tokenFile: "${NOT_SET:-run}/t"', credentials: { kind: 'bearer', token: 'from-systemd' }, mode: 0o600 },
])('logs in with $login', ({ login, credentials, mode = 0o440 }) => {
  secretFile('password', '\uFEFF pass word: ü \r\n');
  secretFile('run/t', 'from-systemd', mode);
  const environment = { TOKEN: 'abc', USER: 'somebody', CREDENTIALS_DIRECTORY: join(folder, 'run') };

  const loaded = load(GOOD.replace('tokenFile: token', login), environment);

  expect(loaded.config.origin.credentials).toEqual(credentials);
  expect(loaded.warnings).toEqual([]);
});

test.each([
  { login: 'user: a@example.net', says: 'origin.user needs passwordFile or password beside it' },
  { login: 'password: "${P}"', says: 'origin.password needs user beside it' },
  { login: 'token: "${P}", tokenFile: token', says: 'conflicts with tokenFile: keep only one way to log in' },
  { login: 'token: "${P}", user: a', says: 'origin.user conflicts with token' },
  { login: 'user: a, password: "${P}", passwordFile: token', says: 'conflicts with passwordFile: keep only one' },
  {
    login: 'token: "${UNSET}"',
    says: 'origin.token names the environment variable UNSET, which is empty',
  },
  { login: 'tokenFile: empty', says: 'origin.tokenFile names /empty, which is empty' },
  { login: 'tokenFile: words', says: 'origin.tokenFile names /words, which has no token in it' },
  { login: 'tokenFile: huge', says: 'origin.tokenFile names /huge, which is too large for a secret' },
  { login: 'tokenFile: "."', says: 'which is not a file' },
  { login: 'user: a, passwordFile: lines', says: 'origin.passwordFile names /lines, which has more than one line' },
  { login: 'user: "a:b", passwordFile: token', says: 'origin.user must be a user name' },
])('refuses to log in with $login', ({ login, says }) => {
  secretFile('empty', ' \n');
  secretFile('words', 'not a token');
  secretFile('lines', 'a\nb');
  secretFile('huge', 'x'.repeat(20_000));

  expect(problemsOf(GOOD.replace('tokenFile: token', login), { P: 'secret' })).toContain(says);
});

test('says which ways to log in there are when none is given', () => {
  expect(problemsOf(GOOD.replace(', tokenFile: token', ''))).toContain('origin needs a way to log in: tokenFile');
});

test('gives problems with secrets alone a code of their own', () => {
  expect(failure(() => load(GOOD.replace('tokenFile: token', 'tokenFile: x'))).code).toBe('config.secret');
  expect(failure(() => load(`${GOOD}\nx: 1`)).code).toBe('config.invalid');
});

test.each([0o644, 0o640, 0o620, 0o604])('refuses a secret file of ours with mode %o', (mode) => {
  const path = secretFile('token', TOKEN, mode);

  const { code, message } = failure(() => load(GOOD));

  expect(code).toBe('config.secret');
  expect(message).toContain(`origin.tokenFile is refused: users other than its owner may use ${path}`);
  expect(message).toContain(`chmod 600 ${path}`);
});

test.each([0o600, 0o400])('takes a secret file of ours with mode %o', (mode) => {
  secretFile('token', TOKEN, mode);

  expect(load(GOOD).warnings).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)('warns about an open secret file that somebody else put there', () => {
  const path = secretFile('token', TOKEN, 0o444);
  chownSync(path, 12_345, 12_345);

  expect(load(GOOD).warnings).toEqual([
    `origin.tokenFile: users other than its owner may use ${path} (mode 444); run: chmod 600 ${path}`,
  ]);
});

test.each([
  `tokenFile: ${TOKEN}`,
  `token: ${TOKEN}`,
  `user: a, password: ${TOKEN}`,
  `passwordd: ${TOKEN}`,
  `tokenFile: { a: ${TOKEN} }`,
  `token: ["${TOKEN}"]`,
])('never shows a secret that stands where none belongs: %s', (login) => {
  const error = failure(() => load(GOOD.replace('tokenFile: token', login)));

  expect(error.message).not.toContain(TOKEN);
  expect(error.hint).not.toContain(TOKEN);
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

test('puts environment variables in the place of their names, and reports those that are not set', () => {
  const yaml = GOOD.replace('data/replica.db', '"${HERE}/$$${x}/replica.db"').replace('example', '${MISSING}');

  expect(problemsOf(yaml)).toContain('origin.url needs the environment variable MISSING, which is not set');
  expect(load(yaml, { HERE: 'there', MISSING: 'a' }).config.replica.path).toBe(join(folder, 'there/${x}/replica.db'));
});

test('needs no secret for a command that stays on this machine', () => {
  const { config } = load(GOOD.replace('tokenFile: token', 'tokenFile: nowhere'), {}, false);

  expect(config.origin.credentials).toBeNull();
});

test('still validates the rest for a command that stays on this machine', () => {
  expect(failure(() => load(`${GOOD}\nx: 1`, {}, false)).code).toBe('config.invalid');
});

test('bounds what a broken file can print', () => {
  const yaml = `${GOOD}\ntables:\n${Array.from({ length: 200 }, (_, index) => `  T${index}: 1`).join('\n')}`;

  const message = problemsOf(yaml);

  expect(message.split('\n')).toHaveLength(52);
  expect(message).toContain('and 150 more');
});

test('refuses a file that expands without bound', () => {
  const yaml = [
    'a0: &a0 [x]',
    ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`),
  ].join('\n');

  expect(failure(() => load(yaml)).code).toBe('config.invalid');
});

test.each(['tables: &a { A: *a }', 'tables: &a\n  A: { sort: [x, *a] }', 'a: &a [*a]'])(
  'refuses a value that contains itself: %j',
  (yaml) => {
    const error = failure(() => load(`${GOOD}\n${yaml}`));

    expect(error.code).toBe('config.invalid');
    expect(error.message).toContain('an alias (*name) is inside of what its anchor (&name) names');
  },
);

test('takes the keys of tables as they stand in the file, whatever YAML makes of them', () => {
  const { config } = load(
    `${GOOD}\ntables: { "*": {}, 1.0: false, 0x10: false, true: false, 1: { push: true }, ~: false }`,
  );

  for (const name of ['1.0', '0x10', 'true', '~']) expect(config.tables.find(name)).toBeNull();
  expect(config.tables.find('16')?.pattern).toBe('*');
  expect(config.tables.find('1')?.options).toEqual({ push: true });
});

test('compares the names of tables in NFC, and refuses one that stands there in two spellings', () => {
  const { config } = load(`${GOOD}\ntables: { "*": {}, "Cafe\u0301": false, "Pa\u0301t*": false }`);

  expect(config.tables.find('Caf\u00e9')).toBeNull();
  expect(config.tables.find('Cafe\u0301')).toBeNull();
  expect(config.tables.find('P\u00e1tio')).toBeNull();
  expect(config.tables.find('Pa\u0301tio')).toBeNull();
  expect(failure(() => load(`${GOOD}\ntables: { "Cafe\u0301": false, "Caf\u00e9": {} }`)).code).toBe('config.invalid');
});

test.each([
  { what: 'a file that does not exist', path: 'nowhere.yaml' },
  { what: 'a folder', path: '.' },
])('reports $what as missing', ({ path }) => {
  const error = failure(() => loadConfig(join(folder, path)));

  expect(error.code).toBe('config.missing');
  expect(error.exitCode).toBe(2);
});

test('looks for rowsync.yaml in the current folder first, and takes a named file as it is', () => {
  writeFileSync(file, GOOD);

  expect(findConfig(undefined, folder)).toBe(file);
  expect(findConfig('other.yaml', folder)).toBe(join(folder, 'other.yaml'));
});

test('says where it looked when there is no configuration', () => {
  const error = failure(() => findConfig(undefined, folder));

  expect(error.code).toBe('config.missing');
  expect(error.message).toContain(`${file} and /etc/rowsync/rowsync.yaml`);
});

test('takes the only configuration of a folder, and lists several', () => {
  const services = join(folder, 'services');
  mkdirSync(services);
  writeFileSync(join(services, 'main.yaml'), GOOD);
  expect(findConfig('services', folder)).toBe(join(services, 'main.yaml'));
  writeFileSync(join(services, 'crm.yaml'), GOOD);

  const error = failure(() => findConfig('services', folder));

  expect(error.code).toBe('config.missing');
  expect(error.message).toContain('2 configurations');
  expect(error.hint).toContain('--service crm');
});

test('a service has its configuration in /etc/rowsync, and nowhere else', () => {
  expect(serviceConfig('main')).toBe('/etc/rowsync/main.yaml');
  expect(failure(() => serviceConfig('../main')).code).toBe('usage.invalid');
});

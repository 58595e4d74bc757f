/**
 * Values that are not in the configuration: environment variables, and secrets in files that only their owner may read.
 */
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  expandVariables,
  isSystemdCredential,
  looksLikeToken,
  readCredentials,
  readNamedSecret,
  SecretSources,
} from '../../src/config/secrets.ts';
import { configFolder, failure, GOOD, TOKEN, type ConfigFolder } from '../support/config.ts';

let folder: ConfigFolder['folder'];
let load: ConfigFolder['load'];
let problemsOf: ConfigFolder['problemsOf'];
let secretFile: ConfigFolder['secretFile'];
beforeEach(() => {
  ({ folder, load, problemsOf, secretFile } = configFolder());
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

test('gives problems with secrets alone a code and a hint of their own', () => {
  const secret = failure(() => load(GOOD.replace('tokenFile: token', 'tokenFile: x')));
  const invalid = failure(() => load(`${GOOD}\nx: 1`));

  expect([secret.code, invalid.code]).toEqual(['config.secret', 'config.invalid']);
  expect(secret.hint).toMatch(/^Correct the secret, or what names it in \/.*, and run/);
  expect(invalid.hint).toMatch(/^Correct \/.*, and run/);
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

test('puts environment variables in the place of their names, and reports those that are not set', () => {
  const yaml = GOOD.replace('data/replica.db', '"${HERE}/$$${x}/replica.db"').replace('example', '${MISSING}');

  expect(problemsOf(yaml)).toContain('origin.url needs the environment variable MISSING, which is not set');
  expect(load(yaml, { HERE: 'there', MISSING: 'a' }).config.replica.path).toBe(join(folder, 'there/${x}/replica.db'));
});

describe('variables', () => {
  const expand = (values: unknown, environment = {}) =>
    expandVariables(values, environment, ([key]) => key === 'hidden');

  test.each([
    ['${A}', 'a'],
    ['${A}/${B}', 'a/b'],
    ['${MISSING:-else}', 'else'],
    ['${EMPTY:-else}', 'else'],
    ['${A:-else}', 'a'],
    ['${MISSING:-}', ''],
    ['${MISSING:-a:-b}', 'a:-b'],
    ['$${A}', '${A}'],
    ['$A and {A}', '$A and {A}'],
    ['${NESTED}', '${A}'],
  ])('%s is %j', (text, expected) => {
    const environment = { A: 'a', B: 'b', EMPTY: '', NESTED: '${A}' };

    expect(expand({ at: [text, 5, null] }, environment)).toEqual({ values: { at: [expected, 5, null] }, problems: [] });
  });

  test('keys stay as they are, and secrets are left to those who read them', () => {
    const values = { '${A}': 1, origin: { token: '${A}', url: '${A}' }, hidden: { any: '${A}' } };

    expect(expand(values, { A: 'a' }).values).toEqual({
      '${A}': 1,
      origin: { token: '${A}', url: 'a' },
      hidden: { any: '${A}' },
    });
  });

  test('one that is not set is a problem at its place, which shows no value', () => {
    const { problems } = expand({ a: { b: ['x', '${MISSING}-${EMPTY}'] } }, { EMPTY: '' });

    expect(problems).toEqual(
      ['MISSING', 'EMPTY'].map((name) => ({
        path: ['a', 'b', 1],
        complaint: `needs the environment variable ${name}, which is not set`,
        showValue: false,
      })),
    );
  });
});

test.each([
  ['0123456789abcdef0123456789abcdef', true],
  ['/etc/rowsync/0123456789abcdef01234567', true],
  ['token', false],
  ['my-token-of-the-hosted-database', false],
  ['0123456789abcdef01234567.txt', false],
])('%s looks like a token itself: %s', (path, expected) => {
  expect(looksLikeToken(path)).toBe(expected);
});

test('a token that was written in place of its file is not shown', () => {
  const sources = new SecretSources(folder, {});

  expect(readNamedSecret(['origin', 'tokenFile'], TOKEN, sources)).toBeNull();

  expect(sources.problems).toMatchObject([{ path: ['origin', 'tokenFile'], showValue: false }]);
  expect(JSON.stringify(sources.problems)).not.toContain(TOKEN);
});

test.each([
  ['/run/credentials/x/token', '/run/credentials/x', true],
  ['/run/credentials/x/../y/token', '/run/credentials/x', false],
  ['/run/credentials/xy/token', '/run/credentials/x', false],
  ['/run/credentials/x', '/run/credentials/x', false],
  ['/anywhere', '', false],
])('%s is a credential of systemd in %j: %s', (path, credentials, expected) => {
  expect(isSystemdCredential(path, { CREDENTIALS_DIRECTORY: credentials })).toBe(expected);
  expect(isSystemdCredential(path, {})).toBe(false);
});

test('a token has blanks around it cut off; a password keeps them', () => {
  const sources = new SecretSources(folder, { T: ' abc ', P: ' a b ' });

  expect(readNamedSecret(['origin', 'token'], '${T}', sources)).toBe('abc');
  expect(readNamedSecret(['origin', 'password'], '${P}', sources)).toBe(' a b ');
  expect(sources.problems).toEqual([]);
});

test('what validation complains of is not complained of twice', () => {
  const sources = new SecretSources(folder, {});

  expect(readCredentials({ tokenFile: 5 }, sources)).toBeNull();
  expect(readCredentials({ token: 'plain' }, sources)).toBeNull();
  expect(readCredentials({ user: 7, password: '${P}' }, new SecretSources(folder, { P: 'x' }))).toBeNull();
  expect(sources.problems).toEqual([]);
});

test('only a token can be sent in the path', () => {
  const sources = new SecretSources(folder, { P: 'x' });

  expect(readCredentials({ tokenIn: 'path', user: 'a', password: '${P}' }, sources)).toBeNull();
  expect(sources.problems).toMatchObject([{ path: ['origin', 'tokenIn'] }]);
});

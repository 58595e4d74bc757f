/** The options of the origin: which addresses and numbers of a database are taken, and which are refused. */
import { beforeEach, expect, test } from 'vitest';
import { configFolder, GOOD, type ConfigFolder } from '../support/config.ts';

let load: ConfigFolder['load'];
let problemsOf: ConfigFolder['problemsOf'];
beforeEach(() => {
  ({ load, problemsOf } = configFolder());
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

test.each([
  ['a path', 'https://example.net/secure'],
  ['a query', 'https://example.net?x=1'],
  ['a login', 'https://me:hunter2@example.net'],
  ['another scheme', 'ftp://example.net'],
  ['no scheme', 'example.net'],
  ['a port that is too large', 'https://example.net:99999'],
  ['a blank', 'https://example .net'],
])('refuses an address with %s', (_what, url) => {
  const message = problemsOf(GOOD.replace('https://example.net', url));

  expect(message).toContain('origin.url must be the scheme and host of the origin');
  expect(message).not.toContain('hunter2');
});

test.each(['"0x10"', '"21995-"', '""', '0', '1.5', '"../1"', `"${'1'.repeat(21)}"`])(
  'refuses the number %s of a database',
  (database) => {
    expect(problemsOf(GOOD.replace('"21995"', database))).toContain('origin.database must be the number');
  },
);

test.each(['user: "a:b"', 'user: ""', 'user: "a\\tb"'])('refuses %s', (user) => {
  expect(problemsOf(GOOD.replace('tokenFile: token', `${user}, passwordFile: token`))).toContain(
    'origin.user must be a user name',
  );
});

test.each([
  'proxy: "http://me:hunter2@proxy.example:1"',
  'proxy: proxy.example',
  'proxy: http://proxy.example:99999',
  'proxy: { url: "http://proxy.example:99999" }',
  'proxy: { url: environment }',
  'proxy: 5',
])('refuses %s without showing it', (proxy) => {
  const message = problemsOf(GOOD.replace('tokenFile', `${proxy}, tokenFile`));

  expect(message).toContain('origin.proxy');
  expect(message).not.toContain('hunter2');
});

test('a token is sent in a header unless the path is wanted', () => {
  const token = '0123456789abcdef0123456789abcdef';

  expect(load(GOOD).config.origin.credentials).toEqual({ kind: 'bearer', token });
  expect(load(GOOD.replace('tokenFile', 'tokenIn: path, tokenFile')).config.origin.credentials).toEqual({
    kind: 'urlToken',
    token,
  });
});

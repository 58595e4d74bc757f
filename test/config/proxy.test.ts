/** The proxy and the authorities that a configuration names, from real files and a given environment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Environment } from '../../src/config/secrets.ts';
import { originSecrets, originSettings } from '../../src/config/settings.ts';
import { isExcepted } from '../../src/config/proxy.ts';
import type { OriginRoute } from '../../src/origin/proxy.ts';
import { makeCertificates } from '../support/certificates.ts';

const PASSWORD = 'pass/w@rd: 100%';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-way-'));
  writeFileSync(join(folder, 'token'), 'a-token', { mode: 0o600 });
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  writeFileSync(join(folder, 'nothing.pem'), 'no certificate');
  writeFileSync(join(folder, 'broken.pem'), '-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

function load(origin: string, environment: Environment = {}, url = 'https://example.net') {
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(
    file,
    `origin: { url: "${url}", database: "1", tokenFile: token, ${origin} }\nreplica: { path: r.db }\n`,
  );
  return loadConfig(file, { needsCredentials: true, environment }).config;
}

const wayOf = (origin: string, environment?: Environment, url?: string): OriginRoute =>
  load(origin, environment, url).origin.route;

function problemsOf(origin: string, environment: Environment = {}): string {
  try {
    load(origin, environment);
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return thrown.message;
    throw thrown;
  }
  return '';
}

const PROXY = 'http://proxy.example:3128';

describe('origin.proxy', () => {
  test('is none unless it is given, whatever the environment says', () => {
    expect(wayOf('', { HTTPS_PROXY: PROXY, https_proxy: PROXY, HTTP_PROXY: PROXY })).toEqual({
      proxy: null,
      authorities: null,
    });
  });

  test('is an address, or a mapping with a login that is read from a file or a variable', () => {
    const login = { user: 'us', password: PASSWORD };

    expect(wayOf(`proxy: "${PROXY}"`).proxy).toEqual({ url: PROXY, login: null });
    expect(wayOf('proxy: { url: "https://proxy.example" }').proxy).toEqual({
      url: 'https://proxy.example',
      login: null,
    });
    expect(wayOf(`proxy: { url: "${PROXY}", user: us, passwordFile: password }`).proxy).toEqual({ url: PROXY, login });
    expect(wayOf(`proxy: { url: "${PROXY}", user: us, password: "\${PW}" }`, { PW: PASSWORD }).proxy).toEqual({
      url: PROXY,
      login,
    });
  });

  test('has its password among the secrets, and goes to whoever opens the origin', () => {
    const config = load(`proxy: { url: "${PROXY}", user: us, passwordFile: password }`);

    expect(originSecrets(config)).toEqual(['a-token', PASSWORD]);
    expect(originSettings(config).proxy).toEqual({ url: PROXY, login: { user: 'us', password: PASSWORD } });
  });

  test.each([
    ['proxy: "http://us:pass/w0rd@proxy.example:3128"', /origin\.proxy must be the address of a proxy without a login/],
    ['proxy: { url: "http://us:w0rd@proxy.example" }', /origin\.proxy\.url must be the address of a proxy without/],
    ['proxy: "socks5://proxy.example"', /origin\.proxy must be the address/],
    [
      `proxy: { url: "${PROXY}", user: us, password: w0rd }`,
      /origin\.proxy\.password must name an environment variable/,
    ],
    [`proxy: { url: "${PROXY}", user: us }`, /origin\.proxy\.user needs passwordFile or password/],
    [`proxy: { url: "${PROXY}", passwordFile: password }`, /origin\.proxy\.passwordFile needs user/],
    [`proxy: { url: "${PROXY}", user: us, passwordFile: gone }`, /origin\.proxy\.passwordFile names a file .*ENOENT/],
    [`proxy: { url: "${PROXY}", user: us, passwordFile: password, password: "\${PW}" }`, /keep only one/],
    ['proxy: { user: us }', /origin\.proxy\.url is missing/],
    ['caFile: gone.pem', /origin\.caFile names a file .*gone\.pem that cannot be read as certificates \(ENOENT\)/],
    ['caFile: nothing.pem', /origin\.caFile names .* which has no certificate in PEM/],
    ['caFile: broken.pem', /origin\.caFile names a file .* cannot be read as certificates/],
  ])('%s is refused, and shows no password', (origin, message) => {
    const problems = problemsOf(origin, { PW: 'w0rd' });

    expect(problems).toMatch(message);
    expect(problems).not.toContain('w0rd');
  });
});

describe('the environment, where the configuration says so', () => {
  const login = { user: 'us', password: PASSWORD };
  const withLogin = `http://us:${encodeURIComponent(PASSWORD)}@proxy.example:3128`;

  test.each<[string, Environment, string, OriginRoute['proxy']]>([
    [
      'names the proxy of https',
      { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other' },
      'https://example.net',
      { url: PROXY, login: null },
    ],
    [
      'names the proxy of http',
      { HTTP_PROXY: PROXY, HTTPS_PROXY: 'http://other' },
      'http://example.net',
      { url: PROXY, login: null },
    ],
    [
      'may have the name in small letters',
      { https_proxy: PROXY, HTTPS_PROXY: 'http://other' },
      'https://example.net',
      { url: PROXY, login: null },
    ],
    [
      'may leave out the scheme',
      { HTTPS_PROXY: 'proxy.example:3128' },
      'https://example.net',
      { url: PROXY, login: null },
    ],
    ['may have the login in the address', { HTTPS_PROXY: withLogin }, 'https://example.net', { url: PROXY, login }],
    ['may name none', {}, 'https://example.net', null],
    ['may except the origin', { HTTPS_PROXY: PROXY, NO_PROXY: 'example.net' }, 'https://example.net', null],
    ['may except it in small letters', { HTTPS_PROXY: PROXY, no_proxy: 'example.net' }, 'https://example.net', null],
  ])('%s', (_title, environment, url, proxy) => {
    expect(wayOf('proxy: environment', environment, url).proxy).toEqual(proxy);
  });

  test.each(['http://us:w0rd@', 'socks5://us:w0rd@proxy.example', 'http://us:w0rd%zz@proxy.example'])(
    'is refused where it has no address of a proxy, and shows no password: %s',
    (text) => {
      const problems = problemsOf('proxy: environment', { HTTPS_PROXY: text });

      expect(problems).toMatch(/origin\.proxy finds no address of a proxy in the environment variable HTTPS_PROXY/);
      expect(problems).not.toContain('w0rd');
    },
  );

  test.each([
    ['https://a.example.net', 'example.net', true],
    ['https://a.example.net', '.example.net', true],
    ['https://a.example.net', '*.example.net', true],
    ['https://badexample.net', 'example.net', false],
    ['https://A.Example.net', 'a.example.NET', true],
    ['https://a.example.net', 'other.net, a.example.net', true],
    ['https://a.example.net', 'other.net a.example.net:443', true],
    ['https://a.example.net', 'a.example.net:8443', false],
    ['http://a.example.net:8080', 'a.example.net:8080', true],
    ['https://a.example.net', '*', true],
    ['https://a.example.net', '', false],
    ['https://a.example.net', ' , .,', false],
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://a.example.net', '10.0.0.0/8', false],
    ['https://10.1.2.3', '10.0.0.0/99', false],
    ['https://127.0.0.1:8443', '127.0.0.1', true],
    ['https://[::1]:8443', '::1', true],
    ['https://[::1]:8443', '[::1]:8443', true],
    ['https://[::1]:8443', '[::1]:1', false],
  ])('%s with NO_PROXY=%s: %s', (url, exceptions, expected) => {
    expect(isExcepted(new URL(url), exceptions)).toBe(expected);
  });
});

test('origin.caFile is read as certificates, relative to the file', () => {
  using certificates = makeCertificates();

  const { authorities } = wayOf(`caFile: "${certificates.caPath}"`);

  expect(authorities?.trim()).toBe(certificates.ca.trim());
});

/**
 * Addresses of sinks: what libpq would make of them, where passwords come from, and that no problem shows one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretSources } from '../../../src/config/secrets.ts';
import { readSinks } from '../../../src/extras/postgres/options.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-sinks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(
  postgres: { url?: string; urlFile?: string; passwordFile?: string },
  environment: Record<string, string> = {},
) {
  const options = {
    warehouse: {
      postgres: { schema: 'crm', ...postgres },
      tables: { '*': {}, Log: false as const },
      deletes: 'remove' as const,
    },
  };
  const sources = new SecretSources(folder, environment);
  const sinks = readSinks(options, { sources, needsSecrets: true });
  return { sinks, problems: sources.problems, warnings: sources.warnings };
}

test('an address in a file has the password in it', () => {
  writeFileSync(join(folder, 'url'), 'postgresql://me:p%40ss@db.example.com:6432/warehouse?sslrootcert=ca.pem\n', {
    mode: 0o600,
  });

  const { sinks, problems, warnings } = read({ urlFile: 'url' });

  expect([problems, warnings]).toEqual([[], []]);
  expect(sinks[0]?.address).toEqual({
    host: 'db.example.com',
    port: 6432,
    database: 'warehouse',
    user: 'me',
    password: 'p@ss',
    sslMode: 'verify-full',
    sslRoot: join(folder, 'ca.pem'),
    sslCert: null,
    sslKey: null,
  });
  expect(sinks[0]?.tables.find('Customer')).not.toBeNull();
  expect(sinks[0]?.tables.find('Log')).toBeNull();
});

test('an address may come from a variable, and a password from a file of its own', () => {
  writeFileSync(join(folder, 'password'), 'secret\n', { mode: 0o600 });

  expect(read({ url: '${URL}' }, { URL: 'postgres://me:x@localhost/w' }).sinks[0]?.address).toMatchObject({
    password: 'x',
    sslMode: 'prefer',
  });
  expect(
    read({ url: 'postgresql://me@/w?host=/run/postgresql', passwordFile: 'password' }).sinks[0]?.address,
  ).toMatchObject({
    host: '/run/postgresql',
    user: 'me',
    database: 'w',
    password: 'secret',
  });
});

test.each([
  ['postgresql://me:hunter2@db/w', 'has a password in it'],
  ['mysql://me@db/w', 'must be an address that begins with postgresql://'],
  ['postgresql://me@db/w?sslmode=maybe', 'has an sslmode that is not one of'],
  ['postgresql://me@db/w?target_session_attrs=any', 'has a parameter that is not known'],
  ['postgresql://db/w', 'needs a user'],
  ['postgresql://me@a,b/w', 'several hosts'],
  ['postgresql://me%@db/w', 'special characters in user or password as %40'],
  ['postgresql://me@db:port/w', 'is not an address'],
  ['postgresql://me@db/w?port=543x', 'has a port that is not a number from 1 to 65535'],
  ['postgresql://me@db:0/w', 'has a port that is not a number from 1 to 65535'],
  ['postgresql://me@db/w?port=65536', 'has a port that is not a number from 1 to 65535'],
])('%s is a problem', (url, complaint) => {
  const { problems } = read({ url });

  expect(problems.map((problem) => problem.complaint).join()).toContain(complaint);
  expect(JSON.stringify(problems)).not.toContain('hunter2');
});

test('a password with a % that stands for itself is a problem, which does not show it', () => {
  writeFileSync(join(folder, 'url'), 'postgresql://me:hunter%2@db/w', { mode: 0o600 });

  const { sinks, problems } = read({ urlFile: 'url' });

  expect(sinks).toEqual([]);
  expect(problems).toMatchObject([{ complaint: expect.stringContaining('special characters') as unknown }]);
  expect(JSON.stringify(problems)).not.toContain('hunter');
});

test('a mode that proves nothing of a server elsewhere is remarked on', () => {
  expect(read({ url: 'postgresql://me@db/w?sslmode=require' }).warnings).toEqual([
    expect.stringContaining('does not prove'),
  ]);
  expect(read({ url: 'postgresql://me@127.0.0.1/w?sslmode=disable' }).warnings).toEqual([]);
});

test('an address is named once', () => {
  expect(read({}).problems[0]?.complaint).toContain('needs url or urlFile');
  expect(read({ url: 'postgresql://me@db/w', urlFile: 'x' }).problems[0]?.complaint).toContain('keep one');
});

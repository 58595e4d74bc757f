/**
 * `rowsync init`: what is asked, what is written, and what is refused.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestProxy } from '../../support/proxy.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { SECTIONS } from '../../support/sections.ts';

const TABLES: readonly TableSpec[] = [
  {
    name: 'Customer',
    columns: [
      { name: 'Name', type: 'Text' },
      { name: 'External Id', type: 'Text', options: ['Unique'] },
      { name: 'Code', type: 'Text', options: ['Unique'] },
    ],
    rows: [{ Name: 'a' }],
  },
  { name: 'Order', columns: [{ name: 'Title', type: 'Text' }], rows: [] },
];

test('asks for everything, shows no token, writes both files, and checks them', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  const pasted = `${sandbox.url}/secure/db/${sandbox.database}/overview.aspx`;
  const typed = [pasted, sandbox.token, '*', 'customer, Order', 'code', 'yes', 'purge', 'my.db'];

  const { exitCode, stdout, stderr } = await runCli(['init'], { folder: folder.path, typed });

  expect(exitCode).toBe(0);
  expect(stdout).toContain('0 failed');
  expect(stdout).toMatch(/\nnext:\n {2}npm run -s rowsync -- pull {6}copies the tables\n/);
  expect(stderr).toContain('Column that identifies rows of Customer (External Id, Code, or - for none)');
  expect(stderr).toContain('Order has no column that is unique and writable');
  expect(stdout + stderr).not.toContain(sandbox.token);
  const { config } = loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  expect(config.origin).toMatchObject({ url: sandbox.url, database: sandbox.database });
  expect(config.replica.path).toBe(join(folder.path, 'my.db'));
  expect(config.tables.find('Customer')?.options).toMatchObject({ push: true, match: 'Code', delete: 'purge' });
  expect(config.tables.find('Order')?.options.match).toBe(undefined);
  expect(config.tables.find('Other')?.options.push).toBe(undefined);
  const token = join(folder.path, 'token');
  expect(readFileSync(token, 'utf8')).toBe(`${sandbox.token}\n`);
  expect(statSync(token).mode & 0o777).toBe(0o600);
});

test('writes nothing where the token is refused, or the input ends', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  const start = [`${sandbox.url}/secure/db/${sandbox.database}`];

  const refused = await runCli(['init'], { folder: folder.path, typed: [...start, 'wrongtoken'] });
  const ended = await runCli(['init'], { folder: folder.path, typed: start });

  expect(refused.stderr).toContain('origin.forbidden');
  expect(refused.exitCode).toBe(2);
  expect(ended).toMatchObject({ exitCode: 2 });
  expect(ended.stderr).toContain('The input ended');
  expect(['token', 'rowsync.yaml'].filter((name) => existsSync(join(folder.path, name)))).toEqual([]);
});

test('keeps the token beside the configuration, and uses the one that is there', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, 'etc'));
  const token = join(folder.path, 'etc', 'token');
  const pasted = `${sandbox.url}/secure/db/${sandbox.database}`;

  const first = await runCli(['init', '--config', 'etc/a.yaml'], {
    folder: folder.path,
    typed: [pasted, sandbox.token, '*', '', ''],
  });
  const second = await runCli(['init', '--config', 'etc/b.yaml'], {
    folder: folder.path,
    typed: [pasted, '*', '', ''],
  });

  expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
  expect(first.stderr).toContain(`written: ${token}`);
  expect(second.stderr).toContain(`The token in ${token} is used.`);
  expect(readFileSync(token, 'utf8')).toBe(`${sandbox.token}\n`);
  expect(readFileSync(join(folder.path, 'etc', 'b.yaml'), 'utf8')).toContain('tokenFile: "token"');
});

test.each([[[]], [['any answer']]])('never takes a token for the name of its file (typed: %j)', async (typed) => {
  using folder = temporaryFolder();
  const token = '0123456789abcdef0123456789ABCDEF';

  const { exitCode, stdout, stderr } = await runCli(['init', '--token-file', token], {
    folder: folder.path,
    ...(typed.length > 0 && { typed }),
  });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('looks like a token');
  expect(stdout + stderr).not.toContain(token);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('takes options without a terminal, and names all that are missing', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  const bare = await runCli(['init', '--url', sandbox.url], { folder: folder.path });
  writeFileSync(join(folder.path, 'token'), sandbox.token, { mode: 0o600 });

  const given = ['--url', sandbox.url, '--database', sandbox.database, '--token-file', 'token'];
  const chosen = ['--table', 'Cust*', 'Order', '--push', 'Customer=External Id'];
  const { exitCode, stdout } = await runCli(['init', ...given, ...chosen], { folder: folder.path });

  expect(bare.exitCode).toBe(2);
  // The file `token` beside the configuration is the usual one.
  const usual = await runCli(['init', '--config', 'other.yaml', ...given.slice(0, 4)], { folder: folder.path });

  expect(bare.stderr).toMatch(/required: --database.*, --token-file/);
  expect(usual.exitCode).toBe(0);
  expect(readFileSync(join(folder.path, 'other.yaml'), 'utf8')).toContain('tokenFile: "token"');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('ok    tables');
  const { tables } = loadConfig(join(folder.path, 'rowsync.yaml'), {
    needsCredentials: true,
    sections: SECTIONS,
  }).config;
  expect(tables.byName.keys.map(({ key }) => key).toSorted()).toEqual(['Cust*', 'Customer', 'Order']);
  expect(tables.find('Customer')?.options).toMatchObject({ push: true, match: 'External Id' });
});

test('never replaces a configuration', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'mine.yaml');
  writeFileSync(file, 'precious');

  const { exitCode, stderr } = await runCli(['init', '--config', file], { folder: folder.path });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('exists already');
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

test.each([
  ['at a terminal', true],
  ['from options', false],
] as const)('goes through a proxy with a login %s, and writes it down', async (_title, isTyped) => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  await using proxy = await startTestProxy({ login: { user: 'us', password: 'proxy-pass-1' } });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'proxy-password'), 'proxy-pass-1', { mode: 0o600 });
  writeFileSync(join(folder.path, 'token'), sandbox.token, { mode: 0o600 });
  const route = ['--proxy', proxy.url, '--proxy-user', 'us', '--proxy-password-file', 'proxy-password'];
  const url = `${sandbox.url}/secure/db/${sandbox.database}/`;
  const typed = [url, '*', '', 'replica.db'];

  const { exitCode, stdout, stderr } = isTyped
    ? await runCli(['init', ...route], { folder: folder.path, typed })
    : await runCli(['init', '--url', url, '--token-file', 'token', ...route], { folder: folder.path });

  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(stdout).toContain(`is reached through the proxy ${proxy.host}`);
  expect(stdout + stderr).not.toContain('proxy-pass-1');
  const { config } = loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  expect(config.origin.route.proxy).toEqual({ url: proxy.url, login: { user: 'us', password: 'proxy-pass-1' } });
});

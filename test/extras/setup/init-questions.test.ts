/** What `rowsync init` asks, what it asks again, and what it checks at the origin before anything is written. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { routeOptions } from '../../../src/extras/setup/init-questions.ts';
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

test('asks again what cannot be, and uses a token file that is there', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'my-token'), sandbox.token, { mode: 0o600 });
  const typed = [
    'no address',
    sandbox.url,
    'x',
    sandbox.database,
    '',
    'Nope',
    'Customer',
    'Name',
    '-',
    'yes',
    'maybe',
    '',
    '',
  ];

  const { exitCode, stderr } = await runCli(['init', '--token-file', 'my-token'], { folder: folder.path, typed });

  expect(exitCode).toBe(0);
  for (const said of [
    'Not a web address',
    'has digits only',
    'no table Nope',
    'Answer with one of them: External Id, Code, or -.',
    'Answer bin or purge.',
  ]) {
    expect(stderr).toContain(said);
  }
  const { options } =
    loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS }).config.tables.find(
      'Customer',
    ) ?? {};
  expect(options).toMatchObject({ push: true, delete: 'bin' });
  expect(options?.match).toBe(undefined);
});

test('asks again for an address that does not answer and for a token that is refused, and for nothing else', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  const { database } = sandbox;
  const nowhere = `http://127.0.0.1:9/secure/db/${database}`;
  const pasted = `${sandbox.url}/secure/db/${database}`;
  const typed = [
    nowhere,
    sandbox.token.replace(/^./, 'x'),
    pasted,
    sandbox.token,
    'Nope',
    'Customer',
    'Custmer',
    '',
    '',
  ];

  const { exitCode, stdout, stderr } = await runCli(['init'], { folder: folder.path, typed });

  expect(exitCode).toBe(0);
  expect(stdout).toContain('0 failed');
  expect(stderr.split('API token (it is not shown): ')).toHaveLength(3);
  expect(stderr).toContain('(origin.unreachable)');
  expect(stderr).toContain('There is no table Nope; capital letters count.');
  expect(stderr).toContain('There is no table Custmer (did you mean Customer?).');
  expect(stdout + stderr).not.toContain(sandbox.token.slice(1));
});

test.each([
  { what: 'a table that is not there', token: null, push: 'Custmer', exit: 2, says: '(did you mean Customer?)' },
  { what: 'a column that is not there', token: null, push: 'Customer=Cod', exit: 2, says: 'Cod' },
  { what: 'a token that is refused', token: 'wrong', push: 'Customer', exit: 1, says: 'origin.forbidden' },
])('writes nothing from options for $what', async ({ token, push, exit, says }) => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'token'), token ?? sandbox.token, { mode: 0o600 });
  const given = ['--url', sandbox.url, '--database', sandbox.database, '--token-file', 'token'];

  const { exitCode, stderr } = await runCli(['init', ...given, '--push', push], { folder: folder.path });

  expect(exitCode).toBe(exit);
  expect(stderr).toContain(says);
  expect(readdirSync(folder.path)).toEqual(['token']);
});

test('a table that --push names twice is one table, and with two match columns a mistake', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'token'), sandbox.token, { mode: 0o600 });
  const given = ['init', '--url', sandbox.url, '--database', sandbox.database, '--table', '*'];

  const two = ['--push', 'Customer=External Id', '--push', 'customer=Code'];
  const refused = await runCli([...given, ...two], { folder: folder.path });
  const files = readdirSync(folder.path);
  const again = ['--table', '*', '--push', 'Customer', '--push', 'customer=External Id', 'Order'];
  const { exitCode } = await runCli([...given, ...again], { folder: folder.path });

  expect(refused).toMatchObject({ exitCode: 2 });
  expect(refused.stderr).toContain('--push: "Customer" has two match columns, "External Id" and "Code"');
  expect(files).toEqual(['token']);
  expect(exitCode).toBe(0);
  const { config } = loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  expect(config.tables.byName.keys.map(({ key }) => key).toSorted()).toEqual(['*', 'Customer', 'Order']);
  expect(config.tables.find('Customer')?.options).toMatchObject({ push: true, match: 'External Id' });
});

test.each([
  [['--proxy', 'http://us:w0rd@proxy.example'], /--proxy must be the address of a proxy without a login/],
  [['--proxy-user', 'us'], /--proxy-user and --proxy-password-file need --proxy/],
])('refuses %j before anything is asked or written', async (route, message) => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'token'), 'abc', { mode: 0o600 });

  const { exitCode, stderr } = await runCli(
    ['init', '--url', 'https://127.0.0.1:1/secure/db/1', '--token-file', 'token', ...route],
    { folder: folder.path },
  );

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain('w0rd');
  expect(existsSync(join(folder.path, 'rowsync.yaml'))).toBe(false);
});

test('ends where the proxy refuses, in its words, and asks for no other token', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  await using proxy = await startTestProxy({ login: { user: 'us', password: 'proxy-pass-1' } });
  using folder = temporaryFolder();
  const typed = [`${sandbox.url}/secure/db/${sandbox.database}/`, sandbox.token];

  const { exitCode, stderr } = await runCli(['init', '--proxy', proxy.url], { folder: folder.path, typed });

  expect(exitCode).toBe(1);
  expect(stderr).toContain(`the proxy ${proxy.host} answered 407`);
  expect(existsSync(join(folder.path, 'rowsync.yaml'))).toBe(false);
});

test('a table that --push names without a match column is asked for one', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'token'), sandbox.token, { mode: 0o600 });
  const pasted = `${sandbox.url}/secure/db/${sandbox.database}`;
  const args = ['init', '--url', pasted, '--table', '*', '--push', 'Customer', '--push', 'Order'];

  const stopped = await runCli(args, { folder: folder.path, typed: ['', 'no'] });
  const files = readdirSync(folder.path);
  const written = await runCli(args, { folder: folder.path, typed: ['', 'yes', ''] });

  expect(stopped).toMatchObject({ exitCode: 2 });
  expect(files).toEqual(['token']);
  expect(written).toMatchObject({ exitCode: 0 });
  const { config } = loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  expect(config.tables.find('Customer')?.options).toMatchObject({ push: true, match: 'External Id' });
});

test('a name that was typed twice, or with blanks around it, is one name', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using folder = temporaryFolder();
  const typed = [`${sandbox.url}/secure/db/${sandbox.database}`, sandbox.token, ' Order ,, Customer,Order', '', ''];

  const { exitCode } = await runCli(['init'], { folder: folder.path, typed });

  expect(exitCode).toBe(0);
  const { config } = loadConfig(join(folder.path, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  expect(config.tables.byName.keys.map(({ key }) => key).toSorted()).toEqual(['Customer', 'Order']);
});

test.each([
  [{}, { proxy: undefined, caFile: undefined }],
  [{ proxy: 'environment' }, { proxy: 'environment', caFile: undefined }],
  [
    { proxy: 'http://p.example', caFile: 'ca' },
    { proxy: 'http://p.example', caFile: 'ca' },
  ],
  [
    { proxy: 'http://p.example', proxyUser: 'us', proxyPasswordFile: 'pw' },
    { proxy: { url: 'http://p.example', user: 'us', passwordFile: 'pw' }, caFile: undefined },
  ],
])('the way %j is one of the configuration', (options, expected) => {
  expect(routeOptions(options)).toEqual(expected);
});

test.each([{ proxy: 'proxy.example' }, { proxy: 'environment', proxyUser: 'us' }, { proxyPasswordFile: 'pw' }])(
  'the way %j is a mistake on the command line',
  (options) => {
    expect(() => routeOptions(options)).toThrow(expect.objectContaining({ code: 'usage.invalid' }) as Error);
  },
);

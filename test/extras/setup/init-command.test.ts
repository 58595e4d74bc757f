/**
 * `rowsync init`: what is asked, what is written, and what is refused.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { answerComplaints, firstConfigText, readAddress } from '../../../src/extras/setup/init-config.ts';
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

test.each([
  ['https://www.teamdesk.net/secure/db/21995/overview.aspx?x=1', 'https://www.teamdesk.net', '21995'],
  ['www.teamdesk.net/secure/db/21995-2/', 'https://www.teamdesk.net', '21995-2'],
  ['http://127.0.0.1:8080/secure/api/v2/7/describe.json', 'http://127.0.0.1:8080', '7'],
  ['localhost:8080/secure/db/7', 'http://localhost:8080', '7'],
  ['127.0.0.1:8080', 'http://127.0.0.1:8080', null],
  ['https://localhost:8080', 'https://localhost:8080', null],
  ['localhost.example', 'https://localhost.example', null],
  ['https://www.teamdesk.net', 'https://www.teamdesk.net', null],
  ['https://user:secret@www.teamdesk.net/secure/db/5/', 'https://www.teamdesk.net', '5'],
])('reads the address %s', (pasted, url, database) => {
  expect(readAddress(pasted)).toEqual({ url, database });
});

test.each(['', 'ftp://www.teamdesk.net', 'https://', 'two words'])('takes %j for no address', (pasted) => {
  expect(readAddress(pasted)).toBeNull();
});

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

test('never replaces a configuration', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'mine.yaml');
  writeFileSync(file, 'precious');

  const { exitCode, stderr } = await runCli(['init', '--config', file], { folder: folder.path });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('exists already');
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

test('quotes whatever a name may hold', () => {
  using folder = temporaryFolder();
  const odd = 'a: "b" #c ${HOME} \\ * é';
  const file = join(folder.path, 'rowsync.yaml');
  const origin = { url: 'https://www.teamdesk.net', database: '21995', tokenFile: 'token' };
  const answers = { ...origin, replicaPath: 'r.db', tables: ['*'], pushed: [{ table: 'Odd', match: odd }] };
  expect(answerComplaints(answers, SECTIONS)).toEqual([]);

  writeFileSync(file, firstConfigText(answers));

  const { config } = loadConfig(file, { needsCredentials: false, sections: SECTIONS });
  expect(config.tables.find('Odd')?.options.match).toBe(odd);
});

test('says which answers cannot be options', () => {
  const answers = {
    url: 'https://a.example',
    database: '1',
    tokenFile: 'token',
    replicaPath: '',
    tables: ['*'],
    pushed: [],
  };

  expect(answerComplaints(answers, SECTIONS)).toEqual(['replica.path must be the path of the SQLite file']);
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

/**
 * The command line itself: help, usage errors, and what happens without a configuration or a replica.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Command } from 'commander';
import { commandsFor } from '../../src/cli/program.ts';
import { EXTRAS } from '../../src/extras.ts';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowsync-cli-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const COMMANDS = ['demo', 'check', 'pull', 'sync', 'status', 'sql', 'verify', 'files', 'resync', 'schema', 'sandbox'];

test.each(['--help', '-h', 'help'])('%s lists every command and the exit codes', async (argument) => {
  const { exitCode, stdout, stderr } = await runCli([argument]);

  expect(exitCode).toBe(0);
  expect(stderr).toBe('');
  expect(COMMANDS.filter((command) => !stdout.includes(`\n  ${command} `))).toEqual([]);
  expect(stdout).toContain('75  the origin or the replica cannot be used now');
});

test.each([...COMMANDS.filter((command) => command !== 'schema'), 'schema show', 'schema prune'])(
  'the help of %s has the options that every command takes',
  async (command) => {
    const { exitCode, stdout } = await runCli([...command.split(' '), '--help']);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Usage: rowsync ${command}`);
    expect(stdout).toContain('--config <file>');
    expect(stdout).toContain('--json');
  },
);

test.each(['-- how many', '--how many'])('takes SQL that begins with a comment for what it is: %s', async (comment) => {
  const { exitCode, stderr } = await runCli(['sql', `${comment}\nSELECT 1`, '--config', join(folder, 'none.yaml')]);

  expect(stderr).not.toContain('unknown option');
  expect(stderr).toContain('none.yaml');
  expect(exitCode).not.toBe(0);
});

test('prints the version of the package', async () => {
  const { stdout } = await runCli(['--version']);

  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('the help of every command fits a terminal of 80 columns', async () => {
  const names = commandsFor(['--help'], EXTRAS).flatMap((module) => module.names);
  const helps = await Promise.all(['help', ...names].map((name) => runCli([name, '--help'], { width: 80 })));
  const lines = helps.flatMap(({ stdout }) => stdout.split('\n'));

  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.length).toBeGreaterThan(1_000);
});

test('what an example says of itself goes below it where both are too wide', async () => {
  const { stdout } = await runCli(['resolve', '--help'], { width: 80 });

  expect(stdout).toContain(
    '\n  rowsync resolve 12 --take remote --again\n      what is decided already needs --again\n',
  );
});

test('prints the help, and fails, without a command', async () => {
  const { exitCode, stdout, stderr } = await runCli([]);

  expect(exitCode).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain('Usage: rowsync');
});

test('the help that is printed without a command fits the terminal', async () => {
  const { stderr } = await runCli([], { stderrWidth: 80 });

  expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('a misspelt command below another one is not taken for a table alone', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);

  const { exitCode, stderr } = await runCli(['files', 'lst'], workspace);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('The replica has no table called "lst"');
  expect(stderr).toContain('Did you mean rowsync files list? Otherwise: It has: Note.');
});

test.each([
  { args: ['pul'], says: "unknown command 'pul' (Did you mean pull?)" },
  { args: ['pull', '--confrim'], says: "unknown option '--confrim' (Did you mean --confirm?)" },
  { args: ['resync'], says: "missing required argument 'table'" },
  { args: ['sql', '--format', 'xml', 'x'], says: 'Allowed choices are table, tsv, json, jsonl, csv, markdown.' },
  { args: ['sql', 'SELECT 1', 'SELECT 2'], says: 'too many arguments' },
  { args: ['sandbox', '--port', '99999'], says: 'It must be a whole number from 0 to 65535.' },
  { args: ['sandbox', '--activity', 'some'], says: 'It must be a whole number from 0 to 1000.' },
  { args: ['status', '--config'], says: 'argument missing' },
  { args: ['help', 'pul'], says: "unknown command 'pul' (Did you mean pull?)" },
  { args: ['sink', 'lod'], says: 'Did you mean rowsync sink load?' },
  { args: ['proposals', 'aply', 'x'], says: 'Did you mean rowsync proposals apply?' },
  { args: ['service', 'statsu'], says: "unknown command 'statsu' (Did you mean status?)" },
  {
    args: ['service', 'install', '--name', 'x'],
    says: 'Leave out --name, and give the name alone: rowsync service',
  },
  {
    args: ['history', 'Order Line', '-137'],
    says: 'what to do: Write -- before a negative number: rowsync history "Order Line" -- -137\n',
  },
  {
    args: ['history', 'Customer', '-3', '--verbose'],
    says: 'Write -- before a negative number: rowsync history Customer --verbose -- -3\n',
  },
])('refuses $args', async ({ args, says }) => {
  const { exitCode, stdout, stderr } = await runCli(args, { folder });

  expect(exitCode).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(says);
  expect(stderr).toContain('code: usage.invalid');
});

test('prints an error as one JSON line with --json, wherever that stands', async () => {
  for (const args of [
    ['--json', 'pull'],
    ['pull', '--json'],
    ['pull', '--json', '--nonsense'],
  ]) {
    const { exitCode, stdout, stderr } = await runCli(args, { folder });

    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    const { error } = JSON.parse(stderr) as { error: Record<string, string> };
    expect(Object.keys(error)).toEqual(['code', 'kind', 'message', 'hint']);
    expect(error['code']).toMatch(/^(config\.missing|usage\.invalid)$/);
  }
});

test.each(['pull', 'sync', 'status', 'sql SELECT', 'verify', 'resync X', 'schema', 'schema prune', 'check'])(
  '%s says where it looked for a configuration',
  async (command) => {
    const { exitCode, stderr } = await runCli(command.split(' '), { folder });

    expect(exitCode).toBe(2);
    expect(stderr).toContain(`looked for ${join(folder, 'rowsync.yaml')} and /etc/rowsync/rowsync.yaml`);
    expect(stderr).toContain('code: config.missing');
  },
);

const CONFIG = `
origin: { url: "http://127.0.0.1:9", database: "1", tokenFile: token }
replica: { path: replica.db }
`;

test.each(['sql SELECT', 'resync X', 'schema', 'schema prune', 'schema prune --confirm'])(
  '%s needs no secret, and says that there is no replica',
  async (command) => {
    writeFileSync(join(folder, 'rowsync.yaml'), CONFIG);

    const { exitCode, stderr } = await runCli(command.split(' '), { folder });

    expect(exitCode).toBe(1);
    expect(stderr).toContain('code: replica.path');
    expect(stderr).toContain('what to do: Make it with `rowsync pull`.');
  },
);

test('status needs no secret either, and renders the account of a replica that is not there', async () => {
  writeFileSync(join(folder, 'rowsync.yaml'), CONFIG);

  const plain = await runCli(['status'], { folder });
  const coded = await runCli(['status', '--exit-code', '--json'], { folder });

  expect(plain.exitCode).toBe(1);
  expect(plain.stdout).toContain('late:\n  There is no replica yet\n    what to do: Run rowsync pull');
  expect(coded.exitCode).toBe(75);
  expect(JSON.parse(coded.stdout)).toMatchObject({ problems: [{ code: 'replica.unpulled', severity: 'late' }] });
});

test.each(['pull', 'verify', 'check'])('%s reports a secret that cannot be read', async (command) => {
  writeFileSync(join(folder, 'rowsync.yaml'), CONFIG);

  const { exitCode, stderr } = await runCli([command], { folder });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('code: config.secret');
});

test('refuses a secret that others can read', async () => {
  writeFileSync(join(folder, 'rowsync.yaml'), CONFIG);
  writeFileSync(join(folder, 'token'), 'abc', { mode: 0o644 });

  const { exitCode, stderr } = await runCli(['pull'], { folder });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('origin.tokenFile is refused: users other than its owner may use');
});

test.each([
  { what: 'no query', input: undefined, says: 'No query was given' },
  { what: 'an empty query', input: '  \n', says: 'No query was given' },
  {
    what: 'a query that is too long',
    input: `SELECT ${'1'.repeat(1_000_000)}`,
    says: 'longer than 1000000 characters',
  },
])('refuses $what on stdin', async ({ input, says }) => {
  writeFileSync(join(folder, 'rowsync.yaml'), CONFIG);
  mkdirSync(join(folder, 'x'));

  const { exitCode, stderr } = await runCli(['sql'], { folder, ...(input === undefined ? {} : { input }) });

  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});

const COMMANDS_TABLE = commandsFor([], EXTRAS);

test.each(COMMANDS_TABLE.filter(({ group, names }) => group !== undefined && !names.includes('sql')))(
  'the table of commands names what the module of $names adds',
  async ({ names, load }) => {
    const program = new Command();

    (await load())(program, () => () => Promise.resolve());

    expect(program.commands.map((command) => command.name())).toEqual(names);
  },
);

test.each([
  { args: ['--version'], names: [] },
  { args: ['status'], names: ['status'] },
  { args: ['--config', 'pull', '--json', 'status', 'push'], names: ['status'] },
  { args: ['-c', 'a.yaml', 'sync', '--confirm'], names: ['pull', 'sync'] },
  { args: ['--service', 'sql', 'status'], names: ['status'] },
  { args: ['help', 'resolve'], names: ['conflicts', 'resolve', 'discard'] },
])('a command line loads the commands that it names: $args', ({ args, names }) => {
  expect(commandsFor(args, EXTRAS).flatMap((found) => found.names)).toEqual(names);
});

test.each([[[]], [['--help']], [['help']], [['pul']], [['man']], [['completion', 'bash']]])(
  'every command is loaded where the answer may list all: %j',
  (args) => {
    expect(commandsFor(args, EXTRAS)).toEqual(COMMANDS_TABLE);
  },
);

test.each([
  [['resolve'], 'what to do: Write rowsync resolve [options] <id>, such as: rowsync resolve 12 --take local'],
  [['push', '--confirmed'], 'what to do: Write rowsync push [options] [table...], such as: rowsync push'],
  [['files', 'export'], 'what to do: Write rowsync files export [options] <folder> [table...]'],
])('%j without its arguments shows how it is used', async (args, usage) => {
  const { exitCode, stderr } = await runCli(args);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(usage);
});

/**
 * Secrets and values of rows that would be noticed anywhere. Every command, in every form, against an origin that keeps
 * its word and one that throws the token back. The token stands in the file that holds it and nowhere else. Values of
 * rows stand in the replica and in answers that are about them, but in no log, status or metric.
 */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace, startRowsync } from '../support/child.ts';
import { startDaemon } from '../support/daemon.ts';
import { ask as askAll, type Asked, type Asking } from '../support/http.ts';
import { decisionFields, postOf, signIn, type SignedIn } from '../support/page.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli, type RunResult } from '../support/session.ts';

vi.setConfig({ testTimeout: 60_000 });

const TOKEN = 'c0ffee00c0ffee11c0ffee22c0ffee33';
/** One that reads otherwise in every encoding. */
const PASSWORD = 'pa"ss\\wo/rd+with=odd%20&chars? äö€';
const VALUE = 'canary-in-a-row';

/** The forms in which a secret could slip through. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    secret.toUpperCase(),
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)),
    new URLSearchParams({ s: secret }).toString().slice('s='.length),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
  return [...new Set(forms)];
}

const FORMS = formsOf(TOKEN);

const TABLES: readonly TableSpec[] = [
  {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text', width: 40 },
      { name: 'Code', type: 'Text', options: ['Unique'] },
      { name: 'Photo', type: 'Attachment' },
    ],
    rows: Array.from({ length: 5 }, (_, index) => ({ Title: `${VALUE} ${index}`, Code: `c${index}` })),
  },
  { name: 'Empty', columns: [{ name: 'Title', type: 'Text' }] },
];

const YAML = 'tables: { Note: { push: true, conflict: ask, files: all, history: true } }\nlimits: { pageRows: 2 }\n';

/** How each command is called; a command without a line fails the test. */
const CALLS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  init: [['--config', 'other.yaml', '--url', 'https://127.0.0.1:1/secure/db/1', '--token-file', 'token']],
  check: [[]],
  pull: [[], ['Note']],
  sync: [[]],
  plan: [[]],
  push: [['--dry-run'], []],
  status: [[]],
  sql: [['SELECT count(*) FROM "Note"'], ['SELECT nonsense'], ['--at', 'now', 'SELECT * FROM "Note"']],
  conflicts: [[], ['--all']],
  resolve: [['1', '--take', 'local']],
  discard: [['Note', '1']],
  import: [['Note', 'new.csv']],
  failures: [[]],
  retry: [[]],
  verify: [[]],
  resync: [['Note']],
  'schema show': [[]],
  'schema prune': [[]],
  'files list': [[]],
  'files pull': [[]],
  'files verify': [[]],
  'files export': [['exported']],
  'files prune': [[]],
  backup: [['copy.db']],
  restore: [['copy.db']],
  'service install': [
    ['--dry-run', '--root', '.', '--url', 'https://a.example', '--database', '1', '--token-file', 'token'],
  ],
  'service uninstall': [['--dry-run', '--root', '.']],
  'service status': [['canary']],
  completion: [['bash'], ['zsh'], ['fish']],
  man: [[]],
  rebuild: [[], ['--give-up-edits']],
  history: [['Note', '1']],
  'history forget': [['Note', '5']],
  'history restart': [['Note']],
  putback: [['Note', '5']],
  'doorbell show': [[]],
  'doorbell test': [[]],
  'doorbell renew': [[]],
  rehearse: [[]],
  contract: [
    [],
    ['Note', '--report', 'answers.txt', '--confirm'],
    ['--write-in', 'Empty', '--report', 'writes.txt', '--confirm'],
    ['--clean-up'],
  ],
  undo: [['--since', '1h', '--dry-run'], ['1']],
  log: [[], ['--table', 'Note']],
  diff: [['--from', '1h']],
  mcp: [[]],
  'proposals list': [[]],
  'proposals show': [['canary']],
  'proposals apply': [['canary']],
  'proposals drop': [['canary']],
  changes: [['--after', '0']],
  contracts: [[]],
  export: [['tables', '--format', 'csv']],
  'sink status': [[]],
  'sink check': [[]],
  'sink load': [[]],
  'sink send': [[]],
  'sink verify': [[]],
  'sink drop': [[]],
  'sink grants': [['reader']],
};

/** Commands that continue until they are stopped, or have a token of their own: tested below. */
const OTHERS = ['daemon', 'demo', 'sandbox'];

async function leafCommands(): Promise<readonly string[]> {
  const { stdout } = await runCli(['completion', 'bash']);
  const paths = [...stdout.matchAll(/^ {4}'([^']+)'\) words=/gm)].map(([, path = '']) => path);
  return paths.filter((path) => !paths.some((other) => other.startsWith(`${path} `)));
}

/** Everything below a folder, but the file that holds the secret, in which a form of it stands. */
function filesWithToken(folder: string, forms = FORMS, holder = 'token'): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name);
    if (name === holder || !existsSync(path) || !statSync(path).isFile()) return false;
    const content = readFileSync(path, 'latin1');
    return forms.some((form) => content.includes(form));
  });
}

/** An edit, a refused edit and a conflict, so that every command has something to speak of. */
function makeTrouble(sandbox: TestSandbox, folder: string): void {
  const path = join(folder, 'replica.db');
  if (!existsSync(path)) return;
  const db = new Database(path);
  const isPulled = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'Note'`).get() !== undefined;
  if (!isPulled) return void db.close(); // made anew, from an origin that answers badly
  db.exec(`UPDATE "Note" SET "Title" = '${VALUE} edited' WHERE _id IN (1, 2);
           INSERT INTO "Note" ("Title", "Code") VALUES ('${VALUE} new', 'c4')`);
  db.close();
  sandbox.store.update('Note', 1, { Title: `${VALUE} at the origin` });
}

async function runAll(
  sandbox: TestSandbox,
  folder: string,
): Promise<readonly (RunResult & { readonly call: string })[]> {
  const results: (RunResult & { readonly call: string })[] = [];
  for (const flags of [[], ['--verbose'], ['--json', '--verbose']]) {
    for (const [command, calls] of Object.entries(CALLS)) {
      if (command === 'plan') makeTrouble(sandbox, folder);
      if (command === 'rebuild' && flags.length < 2) continue; // nothing is left to speak of behind it
      for (const given of calls) {
        const args = [...command.split(' '), ...given, ...flags];
        results.push({ call: args.join(' '), ...(await runCli(args, { folder })) });
      }
    }
  }
  return results;
}

function callsWith(results: readonly (RunResult & { readonly call: string })[], forms: readonly string[]) {
  return results
    .filter(({ stdout, stderr }) => forms.some((form) => (stdout + stderr).includes(form)))
    .map(({ call }) => call);
}

test('every command is called here', async () => {
  const known = [...Object.keys(CALLS), ...OTHERS];

  expect((await leafCommands()).filter((command) => !known.includes(command))).toEqual([]);
});

/** An origin that refuses with the credentials in its words, as a badly set up proxy does. */
function throwBack(request: { readonly method: string }, response: ServerResponse): boolean {
  if (request.method === 'user') return false;
  const words = `no such thing as ${FORMS.join(' ')}`;
  response.writeHead(400, { 'Content-Type': 'application/json', 'X-Token': TOKEN });
  response.end(JSON.stringify({ error: 400, code: 400, message: words, source: TOKEN }));
  return true;
}

describe.each([
  ['an origin that keeps its word', undefined],
  ['an origin that throws the token back', throwBack],
])('with %s', (_which, intercept) => {
  test('no command shows the token, no log shows a row, and no file holds the token', async () => {
    let isSpoiled = false;
    await using sandbox = await startTestSandbox({
      tables: TABLES,
      token: TOKEN,
      intercept: (request, response) => isSpoiled && intercept !== undefined && intercept(request, response),
    });
    using workspace = makeWorkspace(sandbox, YAML);
    const { folder } = workspace;
    await runCli(['pull'], workspace);
    isSpoiled = true;

    const results = await runAll(sandbox, folder);

    expect(callsWith(results, FORMS)).toEqual([]);
    const logs = results.map(({ call, stderr }) => ({ call, exitCode: 0, stdout: '', stderr: logLines(stderr) }));
    expect(callsWith(logs, [VALUE])).toEqual([]);
    expect(filesWithToken(folder)).toEqual([]);
    expect(logs.filter(({ stderr }) => stderr.includes('"origin.request"')).length).toBeGreaterThan(10);
  });
});

test('no command shows a password or what is sent of it, and no file holds them', async () => {
  let isSpoiled = false;
  let words = '';
  await using sandbox = await startTestSandbox({
    tables: TABLES,
    intercept: (request, response) => {
      if (!isSpoiled || request.method === 'user') return false;
      response.writeHead(400, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: 400, code: 400, message: words, source: words }));
      return true;
    },
  });
  using workspace = makeWorkspace(sandbox, YAML);
  const { folder } = workspace;
  const [password, email] = [PASSWORD, 'canary@example.com'];
  sandbox.store.addUsers({ ...sandbox.store.user, email, password });
  const forms = [...formsOf(password), ...formsOf(`${email}:${password}`)];
  words = `no such thing as ${forms.join(' ')}`;
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(join(folder, 'password'), `${password}\n`, { mode: 0o600 });
  const written = readFileSync(file, 'utf8');
  writeFileSync(file, written.replace('tokenFile: token', `user: ${email}, passwordFile: password`));
  const first = await runCli(['pull'], workspace);

  const results = await runAll(sandbox, folder);
  isSpoiled = true;
  const spoiled = await runAll(sandbox, folder);

  expect(first.exitCode).toBe(0);
  expect(callsWith([...results, ...spoiled], forms)).toEqual([]);
  expect(filesWithToken(folder, forms, 'password')).toEqual([]);
  expect(results.filter(({ stderr }) => stderr.includes('"origin.request"')).length).toBeGreaterThan(10);
});

test.each(['', '--verbose', '--json --verbose'])('the demo shows its token nowhere (flags: %s)', async (given) => {
  const flags = given.split(' ').filter((flag) => flag !== '');
  using scratch = temporaryFolder();
  const { exitCode, stdout, stderr } = await startRowsync(['demo', ...flags], {
    folder: scratch.path,
    env: { TMPDIR: scratch.path },
  }).end;

  const folder = join(scratch.path, readdirSync(scratch.path).find((name) => name.startsWith('rowsync-demo-')) ?? '');
  const forms = formsOf(readFileSync(join(folder, 'token'), 'utf8').trim());
  expect(exitCode).toBe(0);
  expect(forms.filter((form) => (stdout + stderr).includes(form))).toEqual([]);
  expect(filesWithToken(folder, forms)).toEqual([]);
});

test('the sandbox tells its secrets once, where it was asked for them, and not what it was asked and answered', async () => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1:1', database: '1', token: TOKEN }, YAML);
  const { folder } = workspace;
  const child = startRowsync(['sandbox', '--json', '--verbose', '--token', TOKEN, '--control', '0'], { folder });
  while (!child.text.stdout.includes('\n')) await once(child.process.stdout ?? child.process, 'data');
  const ready = JSON.parse(child.text.stdout) as { url: string; database: string; control: string };
  const root = `${ready.url}/secure/api/v2/${ready.database}`;
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const rows = await (await fetch(`${root}/Customer/select.json?top=1`, { headers })).text();
  const inPath = await fetch(`${root}/${TOKEN}/describe.json`);
  await inPath.text();
  const refused = await (
    await fetch(`${root}/describe.json`, { headers: { Authorization: `Bearer x${TOKEN}` } })
  ).text();
  const seen = await (await fetch(`${ready.control}/requests`)).text();
  child.process.kill('SIGTERM');
  const { stdout, stderr } = await child.end;

  const [row] = JSON.parse(rows) as readonly { readonly Name: string }[];
  expect(inPath.status).toBe(200);
  expect(seen).toContain('select');
  expect(stdout.split('\n')).toHaveLength(2);
  for (const where of [stderr, seen, refused]) {
    expect([...FORMS, row?.Name ?? 'a name'].filter((form) => where.includes(form))).toEqual([]);
  }
});

/** The lines of the log; the rest of stderr is progress and words for the person who asked. */
function logLines(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{"level"'))
    .join('\n');
}

function ask(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port, path, agent: false }, (response) => resolve(text(response)))
      .on('error', reject)
      .end();
  });
}

test('the daemon says neither, in its log at every level, over HTTP or to whom it tells', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES, token: TOKEN });
  await using daemon = startDaemon(sandbox, '');
  const told = join(daemon.folder, 'told');
  const command = [process.execPath, '-e', `fs.appendFileSync(${JSON.stringify(told)}, fs.readFileSync(0))`];
  await daemon.idle();
  daemon.reload(`${YAML}http: { listen: "127.0.0.1:0" }\nnotify: { command: ${JSON.stringify(command)} }\n`);
  await daemon.elapse(7);
  makeTrouble(sandbox, daemon.folder);
  await daemon.elapse(7);
  const port = Number(String(daemon.events('http.listening')[0]?.['path']).split(':').at(-1));
  const answers = [];
  for (const path of ['/', '/livez', '/readyz', '/status', '/metrics']) answers.push(await ask(port, path));
  const person = await signIn(daemon);
  const page = await askAs(person, '/');
  const refused = await askAs(
    person,
    '/decide',
    postOf({ token: person.token, ...decisionFields(person, { id: 0 }) }, port),
  );
  sandbox.store.revokeToken(TOKEN);
  await daemon.elapse(7);
  const later = await askAs(person, '/');
  for (const path of ['/readyz', '/status', '/metrics']) answers.push(await ask(port, path));
  await daemon.stop();

  const log = JSON.stringify(daemon.events());
  const notices = readFileSync(told, 'utf8');
  expect(notices).toContain('needsPerson');
  expect(log).toContain('origin.request');
  for (const where of [log, notices, answers.join('\n')]) {
    expect([...FORMS, VALUE].filter((form) => where.includes(form))).toEqual([]);
  }
  // Who has signed in sees values, which is what the page is for, and no secret.
  const seen = [page, refused, later].map(({ body }) => body).join('\n');
  expect(page.body).toContain('Sign out');
  expect([...FORMS, person.key].filter((form) => seen.includes(form))).toEqual([]);
  for (const secret of [person.key, person.cookie.split('=')[1] ?? person.key, person.token]) {
    for (const where of [log, notices, answers.join('\n')]) expect(where).not.toContain(secret);
  }
  expect(filesWithToken(daemon.folder)).toEqual([]);
});

/** Asks as who has signed in. */
function askAs({ port, cookie }: SignedIn, path: string, asking: Asking = {}): Promise<Asked> {
  const headers = { Host: `127.0.0.1:${port}`, ...asking.headers, Cookie: cookie };
  return askAll({ port }, path, { ...asking, headers });
}

test('a token that stands where none belongs is in no complaint', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES, token: TOKEN });
  using workspace = makeWorkspace(sandbox, YAML);
  const file = join(workspace.folder, 'rowsync.yaml');
  const written = readFileSync(file, 'utf8');
  const wrong = [
    written.replace('tokenFile: token', `token: ${TOKEN}`),
    written.replace('tokenFile: token', `tokenFile: ${TOKEN}`),
    written.replace('tokenFile: token', `user: me, password: ${TOKEN}`),
    `${written}notify: { webhook: ${TOKEN} }\n`,
  ];
  const results = [];
  for (const yaml of wrong) {
    writeFileSync(file, yaml);
    for (const command of ['check', 'pull', 'status', 'daemon']) {
      results.push({ call: command, ...(await runCli([command], workspace)) });
    }
  }

  expect(callsWith(results, FORMS)).toEqual([]);
  expect(results.filter(({ call, exitCode }) => call !== 'status' && exitCode !== 2)).toEqual([]);
});

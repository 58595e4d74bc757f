/**
 * Columns that are left out and masked values, planted so that they would be noticed anywhere: in every file beside the
 * replica, in what each command and the page say, in logs, backups and exports, and in PostgreSQL.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../support/child.ts';
import { startDaemon } from '../support/daemon.ts';
import { ask } from '../support/http.ts';
import { signIn } from '../support/page.ts';
import { noPostgres, startPostgres } from '../support/postgres.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

vi.setConfig({ testTimeout: 120_000 });

/** In each value that must not come here; a year of birth is known by its day. */
const CANARIES = ['planted-canary', '-05-17'] as const;

function cells(number: number, what = 'planted-canary') {
  return {
    Secret: `${what}-secret-${number}`,
    Memo: `${what}-memo-${number}\nsecond line`,
    'E-Mail': `${what}.mail${number}@example.net`,
    Phone: `${what}-phone-010${number}`,
    Born: `198${number % 10}-05-17`,
    Site: `https://example.net/${what}-${number}`,
    Nick: `${what}-nick-${number}`,
    Remark: `${what}-remark-${number}`,
  };
}

const PERSON: TableSpec = {
  name: 'Person',
  columns: [
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Title', type: 'Text' },
    { name: 'Secret', type: 'Text' },
    { name: 'Memo', type: 'Multiline' },
    { name: 'E-Mail', type: 'EMail' },
    { name: 'Phone', type: 'Phone' },
    { name: 'Born', type: 'Date' },
    { name: 'Site', type: 'URL' },
    { name: 'Nick', type: 'Text' },
    { name: 'Remark', type: 'Text' },
    { name: 'Scan', type: 'Attachment' },
  ],
  rows: [1, 2, 3, 4, 5, 6].map((number) => ({
    Code: `c${number}`,
    Title: `title ${number}`,
    Scan: { name: 'planted-canary.txt', mediaType: 'text/plain', bytes: Buffer.from('planted-canary in a file') },
    ...cells(number),
  })),
};

const TABLES_YAML = `tables:
  Person:
    push: true
    match: Code
    conflict: ask
    history: true
    columns: { exclude: [secret, Mem*, Scan] }
    mask: { E-Mail: hash, Phone: last4, Born: year, Site: domain, Nick: { constant: hidden }, Remark: null }
backup: { folder: backups }
limits: { pageRows: 2 }
`;

/** A canary in every form in which something could be stored or sent. */
function formsOf(canary: string): readonly string[] {
  const bytes = Buffer.from(canary);
  // Of three shifts, the middle of each, since its ends depend on what stands beside it.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  return [
    canary,
    canary.toUpperCase(),
    encodeURIComponent(canary),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    Buffer.from(canary, 'utf16le').toString('latin1'),
    ...(bytes.length > 12 ? base64 : []),
  ];
}

const FORMS = CANARIES.flatMap(formsOf);

function isIn(text: string): boolean {
  return FORMS.some((form) => text.includes(form));
}

function filesWith(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name);
    return existsSync(path) && statSync(path).isFile() && isIn(readFileSync(path, 'latin1'));
  });
}

/** What colleagues and people here do meanwhile: changes, a delete, a conflict, a row that is refused. */
function makeTrouble({ store }: TestSandbox, folder: string): void {
  store.update('Person', 1, { Title: 'at the origin', ...cells(11) });
  store.update('Person', 2, cells(12));
  store.delete('Person', 3);
  store.insert('Person', { Code: 'c7', Title: 'new there', ...cells(7) });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Person" SET "Title" = 'edited' WHERE _id IN (1, 4);
           INSERT INTO "Person" ("Title", "Code") VALUES ('new here', 'c5')`);
  expect(() => db.exec(`UPDATE "Person" SET "Phone" = 'x' WHERE _id = 4`)).toThrow(/masked/);
  db.close();
}

const BEFORE = [['check'], ['pull']];
const AFTER = [
  ['pull'],
  ['plan'],
  ['push'],
  ['sync'],
  ['pull'],
  ['conflicts', '--all'],
  ['failures'],
  ['status'],
  ['verify'],
  ['sql', 'SELECT * FROM "Person"'],
  ['sql', 'SELECT * FROM sync_history'],
  ['sql', '--at', 'now', 'SELECT * FROM "Person"'],
  ['history', 'Person', '1'],
  ['log'],
  ['diff', '--from', '1h'],
  ['changes', '--after', '0'],
  ['schema', 'show'],
  ['files', 'pull'],
  ['files', 'list'],
  ['undo', '--since', '1h', '--dry-run'],
  ['export', 'csv', '--format', 'csv'],
  ['export', 'parquet', '--format', 'parquet'],
  ['backup', 'copy.db'],
  ['resync', 'Person'],
  ['pull'],
  ['check'],
  ['rebuild', '--give-up-edits'],
  ['pull'],
];

test.each(['json', 'xml'])('no command and no file has what is left out or masked (%s)', async (format) => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  using workspace = makeWorkspace(sandbox, TABLES_YAML);
  const { folder } = workspace;
  const file = join(folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('tokenFile: token', `tokenFile: token, format: ${format}`));
  const results: { readonly call: string; readonly stdout: string; readonly stderr: string }[] = [];
  const run = async (calls: readonly (readonly string[])[]): Promise<void> => {
    for (const call of calls)
      for (const flags of call[0] === 'rebuild' ? [[]] : [['--verbose'], ['--json']])
        results.push({ call: [...call, ...flags].join(' '), ...(await runCli([...call, ...flags], { folder })) });
  };

  await run(BEFORE);
  makeTrouble(sandbox, folder);
  await run(AFTER);

  expect(results.filter(({ stdout, stderr }) => isIn(stdout + stderr)).map(({ call }) => call)).toEqual([]);
  expect(filesWith(folder)).toEqual([]);
  const { stdout } = await runCli(['sql', '--json', 'SELECT * FROM "Person" WHERE _id = 2'], { folder });
  expect(stdout).toContain('"Born":1982');
  expect(stdout).toContain('"Nick":"hidden"');
  expect(sandbox.store.rows('Person').find(({ id }) => id === 4)?.values).toMatchObject({
    Title: 'edited',
    ...cells(4),
  });
  const asked = sandbox.requests.all.map(({ path }) => decodeURIComponent(path));
  expect(asked.filter((path) => /Secret|Memo|Scan|column=\*/.test(path))).toEqual([]);
});

test('the daemon says nothing of it, on its page, in metrics, its log or a feed', async () => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  await using daemon = startDaemon(sandbox, `${TABLES_YAML}http: { listen: "127.0.0.1:0" }\n`);
  await daemon.elapse(7);
  makeTrouble(sandbox, daemon.folder);
  await daemon.elapse(14);
  const person = await signIn(daemon);
  const headers = { Host: `127.0.0.1:${person.port}`, Cookie: person.cookie };
  const paths = [
    '/',
    '/status',
    '/metrics',
    '/browse',
    '/browse/Person',
    '/browse/Person/1',
    '/browse/Person/2',
    '/edit/Person/1',
  ];
  const answers = [];
  for (const path of [
    ...paths,
    '/ask?sql=SELECT%20*%20FROM%20%22Person%22',
    '/export/csv?sql=SELECT%20*%20FROM%20%22Person%22',
  ])
    answers.push({ path, ...(await ask({ port: person.port }, path, { headers })) });
  await daemon.stop();

  expect(answers.find(({ path }) => path === '/browse/Person')?.body).toContain('>masked<');
  expect(answers.filter(({ body }) => isIn(body)).map(({ path }) => path)).toEqual([]);
  expect(isIn(JSON.stringify(daemon.events()))).toBe(false);
  expect(filesWith(daemon.folder)).toEqual([]);
});

test.skipIf(noPostgres !== null)('PostgreSQL has nothing of it, also of what was there before', async () => {
  await using server = await startPostgres();
  const address = await server.database();
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  using workspace = makeWorkspace(sandbox, 'tables: { Person: { history: true } }\n');
  const { folder } = workspace;
  const file = join(folder, 'rowsync.yaml');
  const sinks = 'sinks: { warehouse: { postgres: { urlFile: warehouse.url, schema: crm } } }\n';
  const whole = readFileSync(file, 'utf8') + sinks;
  const chosen = whole.replace(
    'tables: { Person: { history: true } }',
    TABLES_YAML.trim().replace(/^ {4}(push|match|conflict).*\n/gm, ''),
  );
  writeFileSync(join(folder, 'warehouse.url'), `postgresql://rowsync@127.0.0.1:${address.port}/${address.database}\n`, {
    mode: 0o600,
  });
  const run = (...args: string[]) => runCli(args, { folder });
  const everything = async (): Promise<string> => {
    const rows = [];
    for (const table of ['"Person"', 'sync_history'])
      rows.push(await server.rows(address, `SELECT * FROM crm.${table}`));
    return JSON.stringify(rows);
  };
  writeFileSync(file, whole);
  await run('pull');
  sandbox.store.update('Person', 1, cells(11));
  await run('pull');
  await run('sink', 'send');
  const before = await everything();

  writeFileSync(file, chosen);
  const held = await run('pull');
  const confirmed = await run('pull', '--confirm');
  const sent = await run('sink', 'send');

  expect(isIn(before)).toBe(true);
  expect([held.exitCode, confirmed.exitCode, sent.exitCode]).toEqual([3, 0, 0]);
  const after = await everything();
  expect(after).toContain('"Nick":"hidden"');
  expect(FORMS.filter((form) => after.includes(form))).toEqual([]);
  const comments = await server.rows(
    address,
    `SELECT col_description('crm."Person"'::regclass, attnum) AS text FROM pg_attribute WHERE attrelid = 'crm."Person"'::regclass AND attname = 'E-Mail'`,
  );
  expect(comments[0]?.['text']).toContain('masked (hash)');
});

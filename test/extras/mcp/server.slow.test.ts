/**
 * The server for agents as agents meet it: a child process, spoken to by the SDK's client, over a replica of a real
 * sandbox. What is asked is answered within bounds, with how old it is; what is proposed changes nothing before a
 * person applies it.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startAgent, type Agent } from '../../support/agent.ts';
import { makeWorkspace, runRowsync } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const NOTE = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'], width: 10 },
    { name: 'Price', type: 'Numeric' },
    { name: 'Done', type: 'Checkbox' },
    { name: 'Photo', type: 'Attachment' },
    { name: 'Phone', type: 'Text' },
  ],
  rows: Array.from({ length: 1_500 }, (_, n) => ({ Title: `note ${n}`, Code: `c${n}`, Phone: `+1 555 000${n % 10}` })),
} as const;
const READ_ONLY = { name: 'Archive', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'old' }] } as const;
const YAML = 'tables: { Archive: {}, Note: { push: true, match: Code, mask: { Phone: last4 } } }\n';

let sandbox: TestSandbox;
let workspace: ReturnType<typeof makeWorkspace>;
let agent: Agent;

beforeAll(async () => {
  sandbox = await startTestSandbox({ tables: [NOTE, READ_ONLY] });
  workspace = makeWorkspace(sandbox, YAML);
  await runCli(['pull'], workspace);
  agent = await startAgent(workspace.folder);
});

afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  workspace[Symbol.dispose]();
});

/** Everything that a tool could have changed: the tables, and every file in the folder but proposals. */
function fingerprint(): string {
  const db = new Database(join(workspace.folder, 'replica.db'), { readonly: true });
  const hash = createHash('sha256');
  const names = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1`).pluck().all() as string[];
  for (const name of names) hash.update(JSON.stringify(db.prepare(`SELECT * FROM "${name}"`).all()));
  db.close();
  hash.update(
    readdirSync(workspace.folder)
      .filter((name) => !/-shm$|-wal$|\.proposals$/.test(name))
      .join(),
  );
  return hash.digest('hex');
}

test('the list of tables has the account of every other surface, with the configuration', async () => {
  using other = makeWorkspace(sandbox, 'tables: { Note: {}, Nott: {} }\n');
  await runCli(['pull'], other);
  await using asking = await startAgent(other.folder);

  const { value } = await asking.call('list_tables');
  const { stdout } = await runCli(['status', '--json'], other);

  const { problems } = JSON.parse(stdout) as { problems: { code: string; severity: string }[] };
  expect(problems.map(({ code }) => code)).toEqual(['config.stray']);
  expect(value['problems']).toMatchObject(problems.map(({ code, severity }) => ({ code, severity })));
});

test('a client that closes its end right behind its requests still gets every answer', async () => {
  const request = (id: number, method: string, params: object): string =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
  const query = { name: 'query', arguments: { sql: 'SELECT count(*) FROM Note' } };
  const input = [
    request(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }),
    `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`,
    ...[2, 3, 4].map((id) => request(id, 'tools/call', query)),
    request(5, 'tools/list', {}),
  ];

  const { stdout, exitCode } = await runRowsync(['mcp'], { ...workspace, input: input.join('') });

  const answered = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; result?: { isError?: boolean } });
  expect(answered.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
  expect(answered.filter(({ result }) => result === undefined || result.isError === true)).toEqual([]);
  expect(exitCode).toBe(0);
});

describe('answers', () => {
  test('list the tables with their rows and how old they are', async () => {
    const { value, isError } = await agent.call('list_tables');

    expect(isError).toBe(false);
    expect(value['tables']).toMatchObject([
      {
        table: 'Archive',
        rows: 1,
        may_propose_edits: false,
        state: 'steady',
        fresh_since: expect.any(String) as string,
      },
      { table: 'Note', rows: 1_500, may_propose_edits: true, edits_not_at_origin: 0 },
    ]);
  });

  test('describe a table', async () => {
    const { value } = await agent.call('describe_table', { table: 'Note' });

    expect(value).toMatchObject({ table: 'Note', may_add_rows: true, fresh_since: expect.any(String) as string });
    expect(value['columns']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: '_id', writable: false }),
        expect.objectContaining({ name: 'Id', writable: false }),
        expect.objectContaining({ name: 'Code', type: 'Text', writable: true }),
        expect.objectContaining({ name: 'Phone', masked_by: 'last4', writable: false }),
      ]),
    );
    expect(await agent.call('describe_table', { table: 'Nobody' })).toMatchObject({ isError: true });
    expect((await agent.call('describe_table', { table: 'Notes' })).text).toContain('(did you mean Note?)');
  });

  test('are rows, with the age of the tables that were read', async () => {
    const { value } = await agent.call('query', { sql: 'SELECT _id, "Title" FROM "Note" WHERE _id <= 2 ORDER BY 1' });

    expect(value).toMatchObject({
      columns: ['_id', 'Title'],
      rows: [
        [1, 'note 0'],
        [2, 'note 1'],
      ],
      is_cut: false,
    });
    expect(value['how_old']).toMatchObject([
      {
        table: 'Note',
        fresh_since: expect.any(String) as string,
        followed_at: null,
        age_seconds: expect.any(Number) as number,
      },
    ]);
  });

  test('have 100,000 characters at most, whatever was asked', async () => {
    const wide = Array.from({ length: 600 }, (_, index) => `hex(zeroblob(1000)) AS c${index}`).join(', ');
    const tall = 'SELECT printf(\'%.*c\', 2000, char(1)) AS x FROM "Note" LIMIT 500';
    const hopeless = Array.from({ length: 600 }, (_, index) => `1 AS "${'n'.repeat(200)}${index}"`).join(', ');

    const answers = [await agent.call('query', { sql: `SELECT ${wide}` }), await agent.call('query', { sql: tall })];

    for (const { text, isError } of answers) {
      expect(isError).toBe(false);
      expect(text.length).toBeLessThanOrEqual(100_000);
    }
    expect(answers.map(({ value }) => value['row_count'])).toEqual([1, expect.any(Number)]);
    expect(answers[1]?.value['is_cut']).toBe(true);
    expect(await agent.call('query', { sql: `SELECT ${hopeless}` })).toMatchObject({ isError: true });
  });

  test('refuse at once what is no query, however many blanks precede it', async () => {
    const { isError, text } = await agent.call('query', { sql: `${' '.repeat(5_000)}x` });

    expect(isError).toBe(true);
    expect(text).toContain('Only one SELECT is answered');
  });

  test('have masked values only as they are masked', async () => {
    const { value, text } = await agent.call('query', { sql: 'SELECT "Phone" FROM "Note" WHERE _id = 1' });

    expect(value['rows']).toEqual([[expect.stringMatching(/0000$/)]]);
    expect(text).not.toContain('+1 555');
  });

  test('say how old every table is', async () => {
    const { value } = await agent.call('list_tables');

    expect(value['tables']).toMatchObject([1, 2].map(() => ({ fresh_since: expect.any(String) as string })));
  });

  test.each([
    ['rows', 'SELECT * FROM "Note"', { row_count: 100, is_cut: true }],
    ['characters of one value', `SELECT replace(hex(zeroblob(500000)), '0', 'x') AS x`, { is_cut: false }],
    ['characters of all', `SELECT a."Title", hex(zeroblob(500)) FROM "Note" a`, { is_cut: true }],
  ])('are cut after too many %s', async (_what, sql, cut) => {
    const { value, text } = await agent.call('query', { sql, ...('row_count' in cut ? {} : { max_rows: 1_000 }) });

    expect(value).toMatchObject(cut);
    expect(text.length).toBeLessThan(250_000);
  });

  test('that nobody wants any more are ended, and the next one comes', async () => {
    const controller = new AbortController();
    const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';
    const asked = agent.client.callTool({ name: 'query', arguments: { sql } }, undefined, {
      signal: controller.signal,
    });
    controller.abort(new Error('not wanted'));

    await expect(asked).rejects.toThrow('not wanted');
    const answers = await Promise.all([1, 2, 3].map((n) => agent.call('query', { sql: `SELECT ${n}` })));

    expect(answers.map(({ value }) => value['rows'])).toEqual([[[1]], [[2]], [[3]]]);
  });

  test('that need too much memory are ended, and the next one comes', async () => {
    const sql =
      'WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400) SELECT length(group_concat(hex(zeroblob(1000000)))) FROM n';
    const large = await agent.call('query', { sql });
    const next = await agent.call('query', { sql: 'SELECT 1' });

    expect(large).toMatchObject({ isError: true });
    expect(large.text).toMatch(/perhaps for lack of memory: ask for less/);
    expect(next.value).toMatchObject({ rows: [[1]] });
  });
});

describe('no tool', () => {
  test.each([
    ['updates', `UPDATE "Note" SET "Title" = 'x'`],
    ['inserts', `INSERT INTO "Note" ("Title") VALUES ('x') RETURNING _id`],
    ['deletes', `DELETE FROM "Note" RETURNING _id`],
    ['deletes behind a WITH', `WITH x AS (SELECT 1) DELETE FROM "Note" RETURNING _id`],
    ['decides a conflict', `UPDATE sync_conflicts SET resolution = 'local' RETURNING id`],
    ['makes a table', 'CREATE TABLE x (a)'],
    ['makes a temporary one', 'CREATE TEMP TABLE x AS SELECT * FROM "Note"'],
    ['drops one', 'DROP TABLE "Note"'],
    ['attaches a file', `ATTACH 'other.db' AS other`],
    ['writes a copy', `VACUUM INTO 'copy.db'`],
    ['sets a PRAGMA', 'PRAGMA journal_mode = DELETE'],
    ['reads a PRAGMA', '/* SELECT */ PRAGMA database_list'],
    ['explains', 'EXPLAIN QUERY PLAN SELECT 1'],
    ['begins', 'BEGIN IMMEDIATE'],
    ['does two things', `SELECT 1; DELETE FROM "Note"`],
    ['loads code', `SELECT load_extension('/tmp/x.so')`],
    ['writes a file', `SELECT writefile('x', 'y')`],
    ['reads a file', `SELECT readfile('token')`],
  ])('%s', async (_what, sql) => {
    const before = fingerprint();

    const answer = await agent.call('query', { sql });

    expect(answer).toMatchObject({ isError: true });
    expect(fingerprint()).toBe(before);
    expect(existsSync(join(workspace.folder, 'copy.db'))).toBe(false);
  });

  test('takes other arguments than it says, or is another than those five', async () => {
    const { tools } = await agent.client.listTools();

    expect(tools.map(({ name }) => name)).toEqual([
      'list_tables',
      'describe_table',
      'query',
      'propose_edits',
      'list_proposals',
    ]);
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name)).toEqual([
      'propose_edits',
    ]);
    expect(await agent.call('query', { sql: 'SELECT 1', replicaPath: '/etc/passwd' })).toMatchObject({ isError: true });
    expect(await agent.call('query', { sql: 'SELECT 1', max_rows: 100_000 })).toMatchObject({ isError: true });
    expect(await agent.call('query', { sql: `SELECT '${'x'.repeat(30_000)}'` })).toMatchObject({ isError: true });
    expect(await agent.call('apply_proposal', { name: 'x' })).toMatchObject({ isError: true });
  });

  test.each([
    [
      'a table that is a mirror',
      { table: 'Archive', action: 'update', row_id: 1, values: { Title: 'x' } },
      /read-only mirror/,
    ],
    ['a table that is not there', { table: 'Nobody', action: 'delete', row_id: 1 }, /no such table/],
    ['a table of rowsync itself', { table: '_rowsync_tables', action: 'delete', row_id: 1 }, /no such table/],
    [
      'a row that is not there',
      { table: 'Note', action: 'update', row_id: 9_999, values: { Title: 'x' } },
      /no such row/,
    ],
    [
      'a column that is not there',
      { table: 'Note', action: 'update', row_id: 1, values: { _id: 2 } },
      /no such column/,
    ],
    [
      'a number that the origin gives',
      { table: 'Note', action: 'update', row_id: 1, values: { Id: '5' } },
      /cannot be written/,
    ],
    [
      'a masked column',
      { table: 'Note', action: 'update', row_id: 1, values: { Phone: '+1 555 9999' } },
      /masked here/,
    ],
    [
      'a file',
      { table: 'Note', action: 'update', row_id: 1, values: { Photo: 'file:/etc/passwd' } },
      /attached by people/,
    ],
    ['nothing', { table: 'Note', action: 'update', row_id: 1, values: { Title: 'note 0' } }, /changes nothing/],
    ['SQL', { table: 'Note', action: 'update', row_id: 1, sql: 'DELETE FROM Note' }, /arguments are wrong/],
  ])('proposes an edit of %s', async (_what, edit, words) => {
    const answer = await agent.call('propose_edits', { name: 'bad', edits: [edit] });

    expect(answer).toMatchObject({ isError: true });
    expect(answer.text).toMatch(words);
    expect((await agent.call('list_proposals')).value).toEqual({ proposals: [] });
  });

  test.each(['../x', 'a/b', '.hidden', 'A', '', 'x'.repeat(61)])('keeps a proposal of the name "%s"', async (name) => {
    const edits = [{ table: 'Note', action: 'update', row_id: 1, values: { Title: 'x' } }];

    expect(await agent.call('propose_edits', { name, edits })).toMatchObject({ isError: true });
  });
});

describe('a proposal', () => {
  test('reaches the origin only when a person has applied and pushed it', async () => {
    await using own = await startTestSandbox({ tables: [NOTE, READ_ONLY] });
    using place = makeWorkspace(own, YAML);
    const { folder } = place;
    await runCli(['pull'], place);
    await using other = await startAgent(folder);
    const isWrite = ({ method }: { readonly method: string }): boolean =>
      !/describe|select|retrieve|user|count/.test(method);
    const titles = (): readonly unknown[] =>
      own.store
        .rows('Note')
        .slice(0, 3)
        .map(({ values }) => values['Title']);
    own.requests.clear();

    const proposed = await other.call('propose_edits', {
      name: 'tidy-notes',
      note: 'Titles begin with a capital letter.',
      edits: [
        { table: 'Note', action: 'update', row_id: 1, values: { Title: 'Note 0', Price: 12.5, Done: true } },
        { table: 'Note', action: 'delete', row_id: 2 },
        { table: 'Note', action: 'insert', values: { Title: 'Note new', Code: 'new', Price: 9007199254740991 } },
      ],
    });
    const waiting = await runCli(['proposals', '--json'], place);
    const status = await runCli(['status'], place);
    const shown = await runCli(['proposals', 'show', 'tidy-notes'], place);
    await runCli(['push'], place);
    const asked = own.requests.all.filter(isWrite);
    const declined = await runCli(['proposals', 'apply', 'tidy-notes'], { ...place, typed: ['no'], width: 80 });
    const left = await runCli(['proposals', 'apply', 'tidy-notes'], { ...place, typed: [], width: 80 });
    const before = titles();
    const applied = await runCli(['proposals', 'apply', 'tidy-notes'], { ...place, typed: ['yes'], width: 80 });
    const plan = await runCli(['plan'], place);
    const pushed = await runCli(['push'], place);

    expect(proposed).toMatchObject({ isError: false });
    expect(proposed.text).toContain('rowsync proposals show tidy-notes');
    expect(proposed.value['edits']).toMatchObject([
      { cells: [{ column: 'Title', was: 'note 0', value: 'Note 0' }, { was: null, value: 12.5 }, { value: 1 }] },
      { kind: 'delete' },
      { kind: 'insert', cells: [{ value: 'Note new' }, { value: 'new' }, { value: '9007199254740991' }] },
    ]);
    expect(JSON.parse(waiting.stdout)).toMatchObject({ proposals: [{ name: 'tidy-notes', state: 'waiting' }] });
    expect(status.stdout).toContain('agents    1 proposal to decide: rowsync proposals\n');
    expect(shown).toMatchObject({ exitCode: 0 });
    expect(shown.stdout).toContain('Titles begin with a capital letter.\nNote: 1 update, 1 insert, 1 delete\n');
    expect(shown.stdout).toContain(
      'update 1\n    Title: "note 0" -> "Note 0"\n    Price: NULL -> 12.5\n    Done: NULL -> 1\n',
    );
    expect(shown.stdout).toContain('  insert\n    Title: "Note new"\n');
    expect((await runCli(['proposals', 'show', 'tidy-ntes'], place)).stderr).toContain('did you mean tidy-notes?');
    expect(shown.stdout.indexOf('delete 2')).toBeGreaterThan(shown.stdout.indexOf('update 1'));
    expect(shown.stdout).toContain('nothing was edited; rowsync proposals apply tidy-notes does it');
    expect(asked).toEqual([]);
    for (const no of [declined, left]) expect(no).toMatchObject({ exitCode: 3, stdout: 'Nothing was edited\n' });
    expect(declined.stderr).toContain('Note: 1 delete, 1 update, 1 insert. Make these edits? (yes or no)');
    expect(before).toEqual(['note 0', 'note 1', 'note 2']);
    expect(applied).toMatchObject({ exitCode: 0 });
    expect(applied.stdout).toContain('3 rows edited here, 1 of them deleted; rowsync push carries it');
    expect(plan.stdout).toContain('1 update, 1 insert, 1 delete');
    expect(pushed).toMatchObject({ exitCode: 0 });
    expect(titles()).toEqual(['Note 0', 'note 2', 'note 3']);
    expect(own.store.rows('Note').at(-1)?.values).toMatchObject({ Title: 'Note new', Code: 'new' });
    expect((await other.call('list_proposals')).value).toMatchObject({
      proposals: [{ name: 'tidy-notes', state: 'applied' }],
    });
    const again = await runCli(['proposals', 'apply', 'tidy-notes'], place);
    expect(again).toMatchObject({ exitCode: 2 });
    expect(again.stderr).toContain('The proposal tidy-notes was applied already');
  });

  test('is refused whole where a cell or a row changed since, and waits on', async () => {
    await agent.call('propose_edits', {
      name: 'late',
      edits: [
        { table: 'Note', action: 'update', row_id: 10, values: { Title: 'ten' } },
        { table: 'Note', action: 'update', row_id: 11, values: { Title: 'eleven' } },
        { table: 'Note', action: 'delete', row_id: 12 },
        { table: 'Note', action: 'delete', row_id: 13 },
      ],
    });
    const db = new Database(join(workspace.folder, 'replica.db'));
    db.exec(`UPDATE "Note" SET "Title" = 'by hand' WHERE _id IN (11, 12); DELETE FROM "Note" WHERE _id = 13`);

    const applied = await runCli(['proposals', 'apply', 'late'], workspace);
    const title = db.prepare('SELECT "Title" FROM "Note" WHERE _id = 10').pluck().get();
    db.close();

    expect(applied.exitCode).toBe(3);
    expect(applied.stdout).toContain('Nothing was changed. These edits cannot be made:');
    expect(applied.stdout).toMatch(
      /Note 11 Title: changed since\n.*Note 12 Title: changed since\n.*Note 13: the row was deleted since/,
    );
    expect(title).toBe('note 9');
    expect(JSON.parse((await runCli(['proposals', '--json'], workspace)).stdout)).toMatchObject({
      proposals: [{ name: 'late', state: 'waiting' }],
    });
    expect(await runCli(['proposals', 'drop', 'late'], workspace)).toMatchObject({ exitCode: 0 });
    await runCli(['discard', 'Note', '--all'], workspace);
  });

  test('is refused where the triggers would refuse a value, with its row and column', async () => {
    const edits = [
      { table: 'Note', action: 'update', row_id: 20, values: { Title: 'twenty' } },
      { table: 'Note', action: 'update', row_id: 21, values: { Price: 'no number' } },
      { table: 'Note', action: 'insert', values: { Code: 'much too long' } },
    ];

    const proposed = await agent.call('propose_edits', { name: 'wrong-value', edits });

    expect(proposed.isError).toBe(true);
    expect(proposed.value).toMatchObject({
      problems: [
        'edit 2, row 21: "Price" of Note takes a number such as 12.5, without exponent',
        'edit 3: "Code" of Note takes at most 10 characters',
      ],
    });
    expect((await agent.call('list_proposals')).text).not.toContain('wrong-value');
  });

  test('is refused whole in the words of our trigger, not in those of another program; its other edits are shown', async () => {
    const edits = [
      { table: 'Note', action: 'update', row_id: 20, values: { Title: 'twenty' } },
      { table: 'Note', action: 'update', row_id: 21, values: { Price: 7 } },
      { table: 'Note', action: 'update', row_id: 22, values: { Title: 'foreign' } },
    ];
    await agent.call('propose_edits', { name: 'wrong-value', edits });
    const file = join(workspace.folder, 'replica.db.proposals', 'wrong-value.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"value": "7"', String.raw`"value": "\"no number\""`));
    const db = new Database(join(workspace.folder, 'replica.db'));
    db.exec(`CREATE TRIGGER mine BEFORE UPDATE ON "Note" WHEN NEW."Title" = 'foreign'
      BEGIN SELECT RAISE(ABORT, 'a secret of the row'); END`);
    const before = fingerprint();

    const shown = await runCli(['proposals', 'show', 'wrong-value'], workspace);
    const applied = await runCli(['proposals', 'apply', 'wrong-value'], workspace);
    const after = fingerprint();
    db.exec('DROP TRIGGER mine');
    db.close();

    for (const { exitCode, stdout, stderr } of [shown, applied]) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });
      expect(stdout).toContain('Title: "note 19" -> "twenty"');
      expect(stdout).toContain(
        'Nothing was changed. These edits cannot be made:\n  Note 21: "Price" of Note takes a number such as 12.5, without exponent\n' +
          '  Note 22: a trigger that another SQL client made refuses it\n',
      );
    }
    expect(after).toBe(before);
    expect((await agent.call('list_proposals')).text).toContain('"state":"waiting"');
    await runCli(['proposals', 'drop', 'wrong-value'], workspace);
  });

  test('leaves nothing behind where a trigger of a person rolls the transaction back, neither shown nor applied', async () => {
    const edits = [
      { table: 'Note', action: 'update', row_id: 20, values: { Title: 'forbidden' } },
      { table: 'Note', action: 'update', row_id: 21, values: { Title: 'kept by mistake' } },
    ];
    await agent.call('propose_edits', { name: 'rolled-back', edits });
    const db = new Database(join(workspace.folder, 'replica.db'));
    db.exec(`CREATE TRIGGER mine BEFORE UPDATE ON "Note" WHEN NEW."Title" = 'forbidden'
      AND NOT EXISTS (SELECT 1 FROM _rowsync_writer) BEGIN SELECT RAISE(ROLLBACK, 'not that'); END`);
    const before = fingerprint();

    const shown = await runCli(['proposals', 'show', 'rolled-back'], workspace);
    const applied = await runCli(['proposals', 'apply', 'rolled-back'], workspace);
    const after = fingerprint();
    db.exec('DROP TRIGGER mine');
    db.close();

    for (const { exitCode, stderr } of [shown, applied]) {
      expect(exitCode).toBe(1);
      expect(stderr).toContain('a trigger that another SQL client made refuses it');
    }
    expect(after).toBe(before);
    await runCli(['proposals', 'drop', 'rolled-back'], workspace);
  });
});

test('the server needs no secret, asks the origin nothing, and says nothing beside the protocol', async () => {
  using place = makeWorkspace(sandbox, YAML);
  await runCli(['pull'], place);
  writeFileSync(join(place.folder, 'token'), '');
  sandbox.requests.clear();
  await using other = await startAgent(place.folder);

  const answer = await other.call('query', { sql: 'SELECT count(*) FROM "Note"' });

  expect(answer.value).toMatchObject({ rows: [[1_500]] });
  expect(sandbox.requests.all).toEqual([]);
  expect(other.said()).toBe('');
});

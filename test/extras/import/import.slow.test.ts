/**
 * `rowsync import`: files as other programs write them become edits, or nothing is done at all.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const MIRROR: TableSpec = { name: 'Mirror', columns: [{ name: 'Title', type: 'Text' }], rows: [] };

interface Imported {
  readonly written: boolean;
  readonly matchedBy: string | null;
  readonly columns: readonly { header: string; column: string | null; notWritten: string | null }[];
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly equalCount: number;
  readonly leftOutCount: number;
  readonly problems: readonly { line: number | null; column: string | null; problem: string }[];
  readonly rows: readonly { rowId: number; kind: string; cells: readonly { column: string; local: unknown }[] }[];
}

async function startWorld(yaml = 'tables: { Note: { push: true, match: Code }, Mirror: {} }\n', note = NOTE) {
  const sandbox = await startTestSandbox({ tables: [note, MIRROR] });
  const made = makeWorkspace(sandbox, yaml);
  const run = (args: readonly string[]) => runCli(args, { folder: made.folder });
  await run(['pull']);
  const write = (name: string, content: string | Buffer): void => writeFileSync(join(made.folder, name), content);
  return {
    store: sandbox.store,
    folder: made.folder,
    run,
    write,
    rows: async (columns: string, where = '1') => {
      const query = `SELECT ${columns} FROM Note WHERE ${where} ORDER BY abs(_id)`;
      return JSON.parse((await run(['sql', '--json', query])).stdout) as Record<string, unknown>[];
    },
    /** Writes a file and imports it. */
    take: async (name: string, content: string | Buffer | null, ...args: readonly string[]) => {
      if (content !== null) write(name, content);
      const { exitCode, stdout, stderr } = await run(['import', 'Note', name, '--json', ...args]);
      return { exitCode, error: stderr, ...(stdout.startsWith('{') ? (JSON.parse(stdout) as Imported) : null) };
    },
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('a plan writes nothing; --confirm makes edits, which a push carries; the second time nothing is left to do', async () => {
  await using world = await startWorld();
  const file = 'Title,Code,Count,Done\nsix,c6,6,false\nchanged,c2,2.5,true\nnew,c9,9,yes\n';

  const plan = await world.take('a.csv', file);
  const waiting = await world.run(['plan']);
  const done = await world.take('a.csv', null, '--confirm');
  const again = await world.take('a.csv', null, '--confirm');
  const pushed = await world.run(['push']);

  expect(plan).toMatchObject({ exitCode: 0, written: false, matchedBy: 'Code', insertedCount: 1, updatedCount: 2 });
  expect(waiting.stdout).toBe('Nothing to push\n');
  expect(done).toMatchObject({ exitCode: 0, written: true, insertedCount: 1, updatedCount: 2 });
  expect(again).toMatchObject({ written: true, insertedCount: 0, updatedCount: 0, equalCount: 3 });
  expect(pushed.exitCode).toBe(0);
  expect(world.store.rows('Note')).toHaveLength(7);
  expect(await world.rows('"Title", "Count", "Done", "Body"', `"Code" IN ('c2', 'c9')`)).toEqual([
    { Title: 'changed', Count: 2.5, Done: 1, Body: null },
    { Title: 'new', Count: 9, Done: 1, Body: null },
  ]);
});

test('the cell that a row is found by stays as it is here, however the file spells it', async () => {
  await using world = await startWorld();

  const taken = await world.take('a.csv', 'Title,Code\nchanged, C2 \nnew,C9\n', '--confirm');

  expect(taken).toMatchObject({ exitCode: 0, insertedCount: 1, updatedCount: 1 });
  expect(await world.rows('"Title", "Code"', `"Title" IN ('changed', 'new')`)).toEqual([
    { Title: 'new', Code: 'C9' },
    { Title: 'changed', Code: 'c2' },
  ]);
});

test('every cell that cannot be read is listed with its line, and so is what a trigger refuses; then nothing is done', async () => {
  await using world = await startWorld();
  const file =
    'Title,Code,Count,Due\nfine,n1,1,2026-01-01\n"two\nlines",n2,"1,5",2026-01-01\na,n3,1,01/02/2026\n,n4,1,\nshort,n5\n';

  const taken = await world.take('a.csv', file, '--confirm');

  expect(taken).toMatchObject({ exitCode: 1, written: false });
  expect(taken.problems).toEqual([
    { line: 3, column: 'Count', problem: 'is not a number such as 12.5' },
    {
      line: 5,
      column: 'Due',
      problem: 'is not a date such as 2026-11-21 (--locale or --dates say how others are written)',
    },
    { line: 6, column: 'Title', problem: 'must have a value' },
    { line: 7, column: null, problem: 'has 2 cells, and the first line has 4' },
  ]);
  expect(await world.rows('count(*) AS n')).toEqual([{ n: 6 }]);
});

test.each([[], ['--confirm']])(
  'nothing is kept where a trigger of another program ends the transaction, with %j',
  async (...args) => {
    await using world = await startWorld();
    const db = new Database(join(world.folder, 'replica.db'));
    db.exec(
      `CREATE TRIGGER theirs BEFORE INSERT ON "Note" WHEN new."Code" = 'n1' BEGIN SELECT raise(ROLLBACK, 'no'); END`,
    );
    db.close();

    const taken = await world.take('a.csv', 'Title,Code\na,n1\nb,n2\n', ...args);

    expect(taken.exitCode).not.toBe(0);
    expect(taken.error).toContain('a trigger that another SQL client made refuses it');
    expect(await world.rows('count(*) AS n')).toEqual([{ n: 6 }]);
  },
);

test('a row is listed with all of its cells at once: those that cannot be read, and required ones that are empty', async () => {
  await using world = await startWorld();

  const taken = await world.take('a.csv', 'Title,Code,Count,Due\n,n1,"1,5",01/02/2026\n,c1,x,\n', '--confirm');

  expect(taken.problems?.map(({ line, column, problem }) => `${line} ${column} ${problem.slice(0, 15)}`)).toEqual([
    '2 Count is not a number',
    '2 Due is not a date s',
    '2 Title must have a val',
    '3 Count is not a number',
    '3 Title must have a val',
  ]);
});

test('columns that are not written are named with the reason', async () => {
  await using world = await startWorld('tables: { Note: { push: true, match: Code, mask: { Body: hash } } }\n');

  world.write('a.csv', 'title,CODE,Id,Total,Body,Photo,Titel,_id,_allow,\nx,c9,77,5,b,p.jpg,t,,Edit,0\n');
  const { stdout } = await world.run(['import', 'Note', 'a.csv', '--ignore', 'Titel']);

  expect(stdout).toContain('columns: title, CODE\n');
  expect(stdout).toContain('  not written: Id (the origin numbers the rows)\n');
  expect(stdout).toContain('  not written: Total (the origin computes it, or does not let you write it)\n');
  expect(stdout).toContain('  not written: Body (it is masked)\n');
  expect(stdout).toContain('  not written: Photo (files are attached with SQL (docs/files.md))\n');
  expect(stdout).toContain('  not written: Titel (ignored)\n');
  expect(stdout).toContain('  not written: _id (the origin numbers the rows)\n');
  expect(stdout).toContain('  not written: _allow (the origin says what you may do)\n');
  expect(stdout).toContain('  not written: column 10 (it has no name)\n');
  expect(stdout).toContain('rows are matched by _id\n');
  expect(stdout).toContain('1 row: nothing was written; --confirm does it\n');
});

test('a column that the table does not have stops the import, with the nearest name', async () => {
  await using world = await startWorld();
  world.write('a.csv', 'Titel,Code\nx,c9\n');

  const { exitCode, stdout } = await world.run(['import', 'Note', 'a.csv', '--confirm']);
  const unknown = await world.run(['import', 'Note', 'a.csv', '--ignore', 'Title']);
  const nameless = await world.run(['import', 'Note', 'a.csv', '--match', 'Nope']);

  expect(exitCode).toBe(1);
  expect(stdout).toContain('  Titel: is not a column of Note; did you mean "Title"? (--ignore leaves it out)\n');
  expect(await world.rows('count(*) AS n')).toEqual([{ n: 6 }]);
  expect(unknown.stderr).toContain('The file has no column "Title"');
  expect(nameless.stderr).toContain(
    'Note has no column Nope\n  what to do: Name a column of the file with --match: Code.',
  );
});

test('a file with _id is matched by it: what is not here is listed, and no value is a new row', async () => {
  await using world = await startWorld();

  const foreign = await world.take('a.csv', '_id,Title\n1,one\n99,x\n', '--confirm');
  const taken = await world.take('a.csv', '_id,Title,Code\n1,one,c1\n,new,c9\n', '--confirm');
  const byCode = await world.take('a.csv', '_id,Title,Code\n99,two,c2\n', '--match', 'Code');

  expect(foreign).toMatchObject({ exitCode: 1, written: false });
  expect(foreign.problems).toEqual([
    { line: 3, column: '_id', problem: 'is not here, and the origin gives it: leave it empty for a new row' },
  ]);
  expect(taken).toMatchObject({ matchedBy: '_id', insertedCount: 1, updatedCount: 1, problems: [] });
  expect(byCode).toMatchObject({ matchedBy: 'Code', insertedCount: 0, updatedCount: 1, problems: [] });
});

test('a file with the number of the rows is matched by it where nothing else is named', async () => {
  await using world = await startWorld('tables: { Note: { push: true } }\n');

  const numbered = await world.take('a.csv', 'Id,Title\n4,Renamed\n', '--confirm');
  const ignored = await world.take('b.csv', 'Id,Title\n4,Another\n', '--ignore', 'Id');

  expect(numbered).toMatchObject({ matchedBy: 'Id', insertedCount: 0, updatedCount: 1, problems: [] });
  expect(ignored).toMatchObject({ matchedBy: null, insertedCount: 1, updatedCount: 0 });
});

test('rows that may be several are listed, and nothing is done', async () => {
  await using world = await startWorld('tables: { Note: { push: true } }\n');

  const twice = await world.take('a.csv', 'Code,Title\nc1,a\nC1 ,b\n', '--match', 'Code', '--confirm');
  const two = await world.take('a.csv', 'Due,Title\n2026-11-21,a\n,b\n', '--match', 'Due', '--confirm');
  const foreign = await world.take('a.csv', 'Id,Title\n1,a\n99,b\n,c\n', '--match', 'Id', '--confirm');

  expect(twice.problems).toEqual([{ line: 3, column: 'Code', problem: 'has the same value as line 2' }]);
  expect(two.problems).toEqual([
    { line: 2, column: 'Due', problem: 'is the value of 6 rows here: 1, 2, 3, 4, 5' },
    { line: 3, column: 'Due', problem: 'is empty, so nothing says whether the row is here' },
  ]);
  expect(foreign.problems).toEqual([
    { line: 3, column: 'Id', problem: 'is not here, and the origin gives it: leave it empty for a new row' },
  ]);
  expect(await world.rows('count(*) AS n', `"Title" NOT GLOB 'title*'`)).toEqual([{ n: 0 }]);
});

test('an export that was edited comes back by _id, and only what is different is an edit', async () => {
  await using world = await startWorld();
  const { stdout } = await world.run(['sql', '--format', 'csv', 'SELECT * FROM Note']);

  const taken = await world.take('a.csv', stdout.replace('title 3', 'three'), '--confirm');

  expect(taken).toMatchObject({ insertedCount: 0, updatedCount: 1, equalCount: 5, problems: [] });
  expect(taken.rows?.[0]).toMatchObject({ rowId: 3, cells: [{ column: 'Title', local: 'three' }] });
});

test('a new row that was not pushed may lose its match value, as with plain SQL; a row of the origin may not', async () => {
  const required = (column: (typeof NOTE.columns)[number]) => ({ ...column, options: ['Unique', 'Required'] });
  const columns = NOTE.columns.map((column) => (column.name === 'Code' ? required(column) : column));
  await using world = await startWorld(undefined, { ...NOTE, columns });
  await world.take('new.csv', 'Title,Code\nnew,c9\n', '--confirm');
  const [row] = await world.rows('_id', '_id < 0');

  const known = await world.take('a.csv', '_id,Code\n1,\n', '--confirm');
  const fresh = await world.take('b.csv', `_id,Code\n${String(row?.['_id'])},\n`, '--confirm');

  expect(known.problems).toEqual([{ line: 2, column: 'Code', problem: 'must have a value' }]);
  expect(fresh).toMatchObject({ exitCode: 0, updatedCount: 1, problems: [] });
  expect(await world.rows('"Code"', '_id < 0')).toEqual([{ Code: null }]);
});

test('--update-only leaves out what is not here', async () => {
  await using world = await startWorld();

  const taken = await world.take('a.csv', 'Code,Title\nc1,one\nc9,nine\n', '--update-only', '--confirm');

  expect(taken).toMatchObject({ insertedCount: 0, updatedCount: 1, leftOutCount: 1 });
});

test.each([
  ['with a BOM, semicolons, CRLF and quotes, as Excel does', '\uFEFFTitle;Code;Count\r\n"a; ""b""";c9;1,5\r\n;;\r\n'],
  ['with a line that says the separator', 'sep=;\r\nTitle;Code;Count\r\n"a; ""b""";c9;1,5\r\n'],
  ['with tabs', 'Title\tCode\tCount\n"a; ""b"""\tc9\t1,5\n'],
])('a CSV %s is read', async (_words, content) => {
  await using world = await startWorld();

  const taken = await world.take('a.csv', content, '--locale', 'de-DE', '--confirm');

  expect(taken).toMatchObject({ insertedCount: 1, problems: [] });
  expect(await world.rows('"Title", "Count"', `"Code" = 'c9'`)).toEqual([{ Title: 'a; "b"', Count: 1.5 }]);
});

test.each([
  ['UTF-16', Buffer.from('\uFEFFTitle,Code\na,b\n', 'utf16le'), 'a.csv is in UTF-16, or not text'],
  ['another encoding', Buffer.from('Title,Code\na,b\nä,c\n', 'latin1'), 'a.csv is not in UTF-8: line 3'],
  ['a spreadsheet', Buffer.from('PK\u0003\u0004...'), 'a.csv is a spreadsheet or an archive'],
  ['a quote that does not end', 'Title,Code\n"a,b\n', 'a.csv: the quotes after line'],
  ['no column of the table', 'Foo,Bar\n1,2\n', 'No column of the file is one of Note'],
  ['a column twice', 'Title,title\n1,2\n', 'Two columns of the file are'],
])('%s is refused with words', async (_words, content, message) => {
  await using world = await startWorld();

  const taken = await world.take('a.csv', content, '--confirm');

  expect(taken.exitCode).toBe(2);
  expect(taken.error).toContain(message);
});

test('JSON Lines keep numbers whole, and leave columns alone that a line does not have', async () => {
  await using world = await startWorld();
  const lines = [
    '{"Code":"c1","Count":12345678901234567890.5}',
    '{"Code":"c2","Done":true,"Due":null}',
    '{"Code":"c9","Title":"nine","Seen":"2026-11-21T17:05:00Z"}',
  ];

  const taken = await world.take('a.jsonl', `${lines.join('\n')}\n`, '--confirm');

  expect(taken).toMatchObject({ insertedCount: 1, updatedCount: 2, problems: [] });
  expect(await world.rows('"Title", CAST("Count" AS TEXT) AS n, "Due"', `"Code" IN ('c1', 'c2')`)).toEqual([
    { Title: 'title 1', n: '12345678901234567890.5', Due: '2026-11-21' },
    { Title: 'title 2', n: '2', Due: null },
  ]);
});

test("a Parquet export comes back with every digit, and Python's csv module is understood", async () => {
  await using world = await startWorld();
  world.store.update('Note', 1, {
    Count: '12345678901234567890.123456',
    Body: 'two\nlines',
    Seen: '2026-11-21T17:05:00.5Z',
    Starts: '23:59:58',
    Spent: 90,
  });
  await world.run(['pull']);
  await world.run(['export', 'lake', 'Note']);
  const manifest = await world.run(['export', 'lake', 'Note', '--json']);
  const file = (JSON.parse(manifest.stdout) as { tables: { file: string }[] }).tables[0]?.file ?? '';
  const script = `import csv
with open('p.csv', 'w', newline='') as f:
    w = csv.DictWriter(f, ['Code', 'Title', 'Body', 'Due'], quoting=csv.QUOTE_ALL)
    w.writeheader()
    w.writerow({'Code': 'c9', 'Title': 'say "hi", ä', 'Body': 'a\\nb', 'Due': None})`;
  execFileSync('python3', ['-c', script], { cwd: world.folder });

  const same = await world.take(join('lake', file), null, '--match', '_id');
  const python = await world.take('p.csv', null, '--confirm');

  expect(same).toMatchObject({ equalCount: 6, insertedCount: 0, updatedCount: 0, problems: [] });
  expect(python).toMatchObject({ insertedCount: 1, problems: [] });
  expect(await world.rows('"Title", "Body", "Due"', `"Code" = 'c9'`)).toEqual([
    { Title: 'say "hi", ä', Body: 'a\nb', Due: null },
  ]);
});

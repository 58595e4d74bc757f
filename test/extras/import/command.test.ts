/** `rowsync import` as a user types it: what it says before it writes, and after. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configureOffline, runCli } from '../../support/session.ts';
import { startFixture } from '../../support/replica.ts';
import { NOTE, twoWaySettings } from '../../support/two-way.ts';

/** Note is edited here and matched by Code, Mirror is not. */
async function startWorld() {
  const mirror = { name: 'Mirror', columns: [{ name: 'Title', type: 'Text' }], rows: [] } as const;
  const { tableOptions } = twoWaySettings({ match: 'Code' });
  const fixture = await startFixture(
    { tables: [NOTE, mirror] },
    { settings: { tableOptions: (name) => (name === 'Mirror' ? { sort: null } : tableOptions(name)) } },
  );
  await fixture.pull();
  configureOffline(fixture.folder);
  return {
    folder: fixture.folder,
    /** Edited titles of the first two rows, and those of new ones. */
    titles: () =>
      fixture
        .rows('SELECT "Title" FROM "Note" WHERE _id < 3 ORDER BY _id < 0, _id')
        .flatMap((row) => Object.values(row as Readonly<Record<string, unknown>>)),
    import: (table: string, file: string, text: string, ...args: readonly string[]) => {
      if (text !== '') writeFileSync(join(fixture.folder, file), text);
      return runCli(['import', table, file, ...args], { folder: fixture.folder });
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

const FILE = 'Code,Title,Total,Extra\nc1,new,7,x\nc2,title 2,7,x\nc9,added,7,x\n';

test('shows what would be done, and writes nothing until --confirm', async () => {
  await using world = await startWorld();

  const planned = await world.import('Note', 'a.csv', FILE, '--ignore', 'Extra');
  const before = world.titles();
  const done = await world.import('Note', 'a.csv', FILE, '--ignore', 'Extra', '--confirm');

  expect([planned.exitCode, planned.stderr]).toEqual([0, '']);
  expect(planned.stdout).toMatch(
    /^columns: Code, Title\n {2}not written: Total \(.*\)\n {2}not written: Extra \(.*\)\nrows are matched by Code\n/,
  );
  expect(planned.stdout).toContain('Note: 1 update, 1 insert');
  expect(planned.stdout).toMatch(/1 row already as in the file\n2 rows: nothing was written; --confirm does it\n$/);
  expect(before).toEqual(['title 1', 'title 2']);
  expect(done.stdout).toMatch(/2 rows: edited here; rowsync plan shows the edits, rowsync push carries them\n$/);
  expect(world.titles()).toEqual(['new', 'title 2', 'added']);
});

test('rows that are not here may be left out, and there may be nothing to do', async () => {
  await using world = await startWorld();

  const { stdout } = await world.import(
    'Note',
    'a.csv',
    'Code,Title\nc2,title 2\nc9,added\n',
    '--update-only',
    '--confirm',
  );

  expect(stdout).toMatch(/1 row already as in the file\n1 row left out: not here\nNothing to do\n$/);
  expect(world.titles()).toEqual(['title 1', 'title 2']);
});

test('cells that cannot be read are listed by line and column, without acting on a terminal, and nothing is done', async () => {
  await using world = await startWorld();
  const lines = Array.from({ length: 201 }, (_, index) => `n${index},t,\u001b[31mmany`);

  const { exitCode, stdout } = await world.import(
    'Note',
    'a.csv',
    `Code,Title,Count\nc1,new,1\n${lines.join('\n')}\n`,
    '--confirm',
  );
  const asJson = await world.import('Note', 'a.csv', '', '--confirm', '--json');

  expect(exitCode).toBe(1);
  expect(stdout).toContain('201 problems, so nothing was done:\n  line 3, Count: ');
  expect(stdout).toMatch(/ {2}line 202, Count: .*\n {2}and 1 more \(--json lists them\)\n$/);
  expect(stdout).not.toContain('\u001b');
  const parsed = JSON.parse(asJson.stdout) as { written: boolean; problems: readonly unknown[] };
  expect([asJson.exitCode, parsed.written, parsed.problems.length]).toEqual([1, false, 201]);
  expect(world.titles()).toEqual(['title 1', 'title 2']);
});

test('for a program: what was matched, counted and written', async () => {
  await using world = await startWorld();

  const { stdout } = await world.import('Note', 'a.csv', FILE, '--ignore', 'Extra', '--json');

  expect(JSON.parse(stdout)).toMatchObject({
    table: 'Note',
    written: false,
    matchedBy: 'Code',
    columns: [
      { header: 'Code', column: 'Code', notWritten: null },
      { header: 'Title', column: 'Title', notWritten: null },
      { header: 'Total', notWritten: expect.any(String) as string },
      { header: 'Extra', column: null },
    ],
    insertedCount: 1,
    updatedCount: 1,
    equalCount: 1,
    leftOutCount: 0,
    problems: [],
    rows: [{ rowId: 1, kind: 'update' }, { kind: 'insert' }],
  });
});

test('a mirror and an unknown table are refused', async () => {
  await using world = await startWorld();
  const refusal = async (table: string): Promise<string> => (await world.import(table, 'a.csv', 'Title\nx\n')).stderr;

  expect(await refusal('Mirror')).toContain('Mirror cannot be edited here');
  expect(await refusal('Nothing')).toContain('The replica has no table called "Nothing"\n');
  const misspelt = 'The replica has no table called "Miror" (did you mean Mirror?)';
  expect(await refusal('Miror')).toContain(misspelt);
  expect((await runCli(['export', 'out', 'Miror'], { folder: world.folder })).stderr).toContain(misspelt);
});

test('a table and a file that are exchanged are named so; the help says by what rows are matched', async () => {
  await using world = await startWorld();
  writeFileSync(join(world.folder, 'a.csv'), 'Title\nnew\n');

  const exchanged = await world.import('a.csv', 'Note', '');
  const misspelt = await world.import('Note', 'b.csv', '');
  const help = await runCli(['import', '--help'], { folder: world.folder });

  expect(exchanged.exitCode).toBe(2);
  expect(exchanged.stderr).toContain('Name the table first, then the file');
  expect(misspelt.stderr).toContain('Check the name');
  expect(help.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'else by an autonumber column; in a file that has none of these',
  );
});

test.each([
  [['--plan', '--confirm'], 'cannot be used with'],
  [['--format', 'xls'], 'Allowed choices'],
])('%j is refused', async (args, message) => {
  await using world = await startWorld();

  const { exitCode, stderr } = await world.import('Note', 'a.csv', FILE, ...args);

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(world.titles()).toEqual(['title 1', 'title 2']);
});

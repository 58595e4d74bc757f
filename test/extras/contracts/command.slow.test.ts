import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace, runRowsync, startRowsync } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

test(
  'pull, status and contracts name the query that a rename broke, until it is mended',
  { timeout: 60_000 },
  async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using made = makeWorkspace(sandbox, `tables: { '*': {} }\ncontracts: { folder: queries }\n`);
    const folder = join(made.folder, 'queries');
    mkdirSync(folder);
    writeFileSync(join(folder, 'titles.sql'), 'SELECT Title FROM Note\n');
    writeFileSync(join(folder, 'empty.check.sql'), 'SELECT _id FROM Note WHERE Code IS NULL');
    const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });
    const before = [await run('pull'), await run('contracts')];
    sandbox.store.renameColumn('Note', 'Title', 'Heading');
    sandbox.store.update('Note', 1, { Code: null });

    const broken = [await run('pull'), await run('status'), await run('contracts')];
    const json = await run('contracts', '--json');
    writeFileSync(join(folder, 'titles.sql'), 'SELECT Heading FROM Note');
    sandbox.store.update('Note', 1, { Code: 'c1' });
    const mended = [await run('pull'), await run('status'), await run('contracts')];

    expect(before.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(before[1]?.stdout).toBe('ok  empty.check.sql\nok  titles.sql\n');
    for (const { stdout } of broken) {
      expect(stdout).toContain(
        'titles.sql does not compile: no such column: Title; Note.Heading: the origin renamed the column, which was called Title',
      );
      expect(stdout).toContain('SELECT "Heading" FROM Note');
      expect(stdout).toContain('The check empty.check.sql returned 1 row; the first have _id 1');
    }
    expect(broken[2]?.exitCode).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({
      contracts: [
        { name: 'empty.check.sql', kind: 'check', state: 'fails' },
        { name: 'titles.sql', kind: 'query', state: 'breaks', corrected: 'SELECT "Heading" FROM Note\n' },
      ],
      oldNames: [],
    });
    for (const { stdout } of mended) expect(stdout).not.toContain('titles.sql does');
    for (const { stdout } of mended) expect(stdout).not.toContain('The check');
    expect(mended[2]?.exitCode).toBe(0);
  },
);

test('a check that was not run yet is not said to be in order', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\ncontracts: { folder: queries }\n`);
  const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });
  mkdirSync(join(made.folder, 'queries'));
  await run('pull');
  writeFileSync(join(made.folder, 'queries', 'neg.check.sql'), 'SELECT _id FROM Note WHERE Count < 0');

  const before = await run('contracts');
  await run('pull');
  const after = await run('contracts');

  expect(before.stdout).toBe('-   neg.check.sql: not checked yet, the next pull does\n');
  expect(after.stdout).toBe('ok  neg.check.sql\n');
});

test('a corrected text is under the notice that it mends, and an old name under no query', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\ncontracts: { folder: queries, keepOldNames: 30d }\n`);
  const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });
  mkdirSync(join(made.folder, 'queries'));
  writeFileSync(join(made.folder, 'queries', 'long.check.sql'), 'SELECT _id FROM Note WHERE Title IS NOT NULL');
  await run('pull');
  sandbox.store.renameColumn('Note', 'Title', 'Heading');
  await run('pull');

  const { stdout } = await run('contracts');

  expect(stdout).toMatch(
    /^! {3}long\.check\.sql .*\n {4}With the names of today:\n {6}.*"Heading".*\n! {3}The check long\.check\.sql returned/,
  );
  expect(stdout).toMatch(/\nNote\.Title is kept as the old name of Heading until .*\n$/);
});

test('without queries, contracts says how to register one', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\n`);
  await runCli(['pull'], { folder: made.folder });

  const { stdout, exitCode } = await runCli(['contracts'], { folder: made.folder });

  expect(stdout).toContain('No query is registered');
  expect(exitCode).toBe(0);
});

test('a pull waits for its checks, in a process that has nothing else to do', { timeout: 60_000 }, async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\ncontracts: { folder: queries }\n`);
  mkdirSync(join(made.folder, 'queries'));
  writeFileSync(join(made.folder, 'queries', 'none.check.sql'), 'SELECT _id FROM Note');

  const { stdout, exitCode } = await runRowsync(['pull'], { folder: made.folder });

  expect(stdout).toContain('The check none.check.sql returned');
  expect(exitCode).toBe(0);
});

test('a program whose work cannot go on does not end as if it were done', { timeout: 60_000 }, async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\ncontracts: { folder: queries }\n`);
  mkdirSync(join(made.folder, 'queries'));
  writeFileSync(join(made.folder, 'queries', 'none.check.sql'), 'SELECT _id FROM Note');
  // Nobody stays for a child, so that nothing is left to wait for.
  const forgetful = `import child from 'node:child_process'; import { syncBuiltinESMExports } from 'node:module';
    const { spawn } = child;
    child.spawn = (...words) => { const made = spawn(...words); made.ref = made.channel.ref = () => {}; return made; };
    syncBuiltinESMExports();`;
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(forgetful)}`;

  const { stderr, exitCode } = await startRowsync(['pull'], { folder: made.folder, env: { NODE_OPTIONS } }).end;

  expect(stderr).toContain('error: rowsync ended in the middle of its work');
  expect(exitCode).toBe(1);
});

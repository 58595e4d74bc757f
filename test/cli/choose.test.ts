/**
 * Choosing columns on the command line: the findings of check, and how a column is removed that was in the replica.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const PERSON: TableSpec = {
  name: 'Person',
  columns: [
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Name', type: 'Text', options: ['Required'] },
    { name: 'E-Mail', type: 'EMail' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [1, 2].map((number) => ({
    Code: `c${number}`,
    Name: `name ${number}`,
    'E-Mail': `person${number}@example.net`,
    Photo: { name: 'photo.txt', mediaType: 'text/plain', bytes: Buffer.from(`photo ${number}`) },
  })),
};

interface Found {
  readonly name: string;
  readonly outcome: string;
  readonly message: string;
}

async function check(folder: string): Promise<readonly string[]> {
  const { stdout } = await runCli(['check', '--json'], { folder });
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Found[] };
  return checks.map(({ name, outcome, message }) => `${outcome} ${name}: ${message}`);
}

test('check says what is left out, masked, or comes in any case, and what is wrong', async () => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  const columns = 'columns: { exclude: [Id, name, Notes*] }';
  using workspace = makeWorkspace(
    sandbox,
    `tables: { Person: { push: true, match: Code, ${columns}, mask: { E-Mail: hash } } }\n`,
  );
  const { folder } = workspace;

  const found = await check(folder);
  writeFileSync(
    join(folder, 'rowsync.yaml'),
    readFileSync(join(folder, 'rowsync.yaml'), 'utf8').replace('E-Mail:', 'Email:'),
  );
  const slip = await check(folder);

  expect(found).toContain('ok columns: Person: left out: Name; masked: E-Mail (hash); come in any case: Id (the key)');
  expect(found).toContain('warn columns: Person: no column matches Notes*');
  expect(found).toContain('warn push: Person: the origin requires Name, which new rows cannot be given here');
  expect(slip).toContain('fail columns: Person: mask.Email: the table has no such column (did you mean E-Mail?)');
  expect(sandbox.requests.all.filter(({ path }) => decodeURIComponent(path).includes('column=Name'))).toEqual([]);
  // Who checks may be another user than who pulls.
  expect(existsSync(join(folder, 'replica.db.mask-key'))).toBe(false);
});

test('a column of files that is left out later waits, and goes with the files', async () => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  using workspace = makeWorkspace(sandbox, 'tables: { Person: {} }\n');
  const { folder } = workspace;
  const file = join(folder, 'rowsync.yaml');
  const contents = (): readonly string[] =>
    readdirSync(join(folder, 'replica.db.files'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .filter((text) => text.startsWith('photo'));
  await runCli(['sync'], { folder });
  const before = contents();
  writeFileSync(file, readFileSync(file, 'utf8').replace('Person: {}', 'Person: { columns: { exclude: [Photo] } }'));

  const held = await runCli(['sync'], { folder });
  const status = await runCli(['status'], { folder });
  const kept = contents();
  const done = await runCli(['pull', 'Person', '--confirm'], { folder });

  expect(before).toHaveLength(2);
  expect(held.exitCode).toBe(3);
  expect(status.stdout).toContain('that hold values here, or masks them in another way ("Photo"); nothing was read');
  expect(kept).toHaveLength(2);
  expect(done.exitCode).toBe(0);
  expect(contents()).toEqual([]);
  const { stdout } = await runCli(
    ['sql', '--json', 'SELECT (SELECT count(*) FROM sync_files) AS files, * FROM "Person" LIMIT 1'],
    { folder },
  );
  expect(stdout).toContain('"files":0');
  expect(stdout).not.toContain('Photo');
});

test('status says that columns are masked, and the key is made once', async () => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  using workspace = makeWorkspace(sandbox, 'tables: { Person: { mask: { E-Mail: hash, Name: last4 } } }\n');
  const { folder } = workspace;
  const key = (): string => readFileSync(join(folder, 'replica.db.mask-key'), 'utf8');
  const mails = async (): Promise<string> =>
    (await runCli(['sql', '--json', 'SELECT "E-Mail" FROM "Person"'], { folder })).stdout;

  await runCli(['pull'], { folder });
  const [firstKey, firstMails] = [key(), await mails()];
  sandbox.store.update('Person', 1, { Code: 'other' });
  const { exitCode } = await runCli(['pull'], { folder });

  expect((await runCli(['status'], { folder })).stdout).toContain('2 masked');
  expect([exitCode, key(), await mails()]).toEqual([0, firstKey, firstMails]);
});

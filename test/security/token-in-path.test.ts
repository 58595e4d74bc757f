/**
 * A token that stands in the path of every request stands nowhere else: not in what is printed, logged, measured or
 * stored.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

/** Everything in a folder but the file with the token. */
function textOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== 'token' && statSync(join(folder, name)).isFile())
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n');
}

test('a whole life with the token in the path, with redirects and errors that repeat the path', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true } }\n');
  const file = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/tokenFile: [^,}\n]+/, '$&, tokenIn: path'));
  const echo = `${sandbox.url}/secure/api/v2/${sandbox.database}/${sandbox.token}/describe.json`;
  const printed: string[] = [];
  const run = async (...words: readonly string[]): Promise<number> => {
    const { stdout, stderr, exitCode } = await runCli(words, { folder: workspace.folder });
    printed.push(stdout, stderr);
    return exitCode;
  };

  expect(await run('pull', '--verbose')).toBe(0);
  expect(sandbox.requests.count({ method: 'select', status: 200 })).toBeGreaterThan(0);
  sandbox.answerInstead(1, { status: 302, headers: { Location: echo }, body: '' });
  expect(await run('pull', '--verbose')).not.toBe(0);
  const body = JSON.stringify({ error: 400, code: 1, message: `bad request ${echo}`, source: echo });
  sandbox.answerInstead(1, { status: 400, headers: { 'Content-Type': 'application/json' }, body });
  expect(await run('pull', '--json', '--verbose')).not.toBe(0);
  sandbox.answerInstead(1, { status: 200, headers: { 'Content-Type': 'text/html' }, body: `<p>${echo}</p>` });
  await run('check', '--verbose');
  sandbox.answerInstead(1, 'reset');
  await run('pull', '--verbose');
  await run('status', '--json');

  expect(printed.join('')).not.toContain(sandbox.token);
  expect(textOf(workspace.folder)).not.toContain(sandbox.token);
});

test('a user and a password do not go into the path', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, '');
  const file = join(workspace.folder, 'rowsync.yaml');
  const login = 'user: a@example.org, passwordFile: token, tokenIn: path';
  writeFileSync(file, readFileSync(file, 'utf8').replace(/tokenFile: [^,}\n]+/, login));

  const { stderr, exitCode } = await runCli(['pull'], { folder: workspace.folder });

  expect(exitCode).not.toBe(0);
  expect(stderr).toContain('origin.tokenIn needs a token; a user and a password go into a header');
});

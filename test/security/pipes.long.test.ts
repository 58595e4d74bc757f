/**
 * A member of the group who puts a pipe in the place of a file beside the replica: opening it would wait for ever, also
 * for a command of root that no signal ends.
 */
import { expect, test, vi } from 'vitest';
import { runRowsync, startRowsync } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import type { RunResult } from '../support/session.ts';
import { isRoot, makeSharedFolder, MEMBER, runAs } from '../support/shared-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A command that waits for a pipe reacts to no other signal. */
const WAIT_MS_MAX = 60_000;
const PERSON = { name: 'Person', columns: [{ name: 'Mail', type: 'Text' }], rows: [{ Mail: 'a@b' }] } as const;

test.skipIf(!isRoot).each([
  ['', 'belongs to the user'],
  ['.lock', 'is not a file'],
  ['.sent', ''],
  ['.page-key', ''],
  ['.mask-key', ''],
])('a pipe at replica.db%s ends no command of root in a wait', async (name, said) => {
  await using sandbox = await startTestSandbox({ tables: [PERSON] });
  using place = makeSharedFolder(
    sandbox,
    'http: { listen: "127.0.0.1:9" }\ntables: { Person: { mask: { Mail: hash } } }\n',
  );
  await runRowsync(['pull', '--config', place.config], { folder: place.top });
  runAs(MEMBER, 'rm -f "$1"; mkfifo -m 666 "$1"', `${place.replica}${name}`);

  const ends: RunResult[] = [];
  const killed: string[] = [];
  for (const command of [['status'], ['check'], ['pull'], ['backup', `${place.top}/b.db`]]) {
    const child = startRowsync([...command, '--config', place.config], { folder: place.top });
    const late = setTimeout(() => child.process.kill('SIGKILL') && killed.push(String(command[0])), WAIT_MS_MAX);
    ends.push(await child.end);
    clearTimeout(late);
  }

  expect(killed).toEqual([]);
  expect(ends.map(({ stdout, stderr }) => stdout + stderr).join('\n')).toContain(said);
});

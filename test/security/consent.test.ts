/**
 * A member of the group, who cannot read the token, confirms what a guard holds.
 */
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { runRowsync } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import type { RunResult } from '../support/session.ts';
import { isRoot, makeSharedFolder, MEMBER, runAs } from '../support/shared-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PERSON = { name: 'Person', columns: [{ name: 'Mail', type: 'Text' }] } as const;

test.skipIf(!isRoot)('a member who cannot read the token may confirm while a daemon works, and only then', async () => {
  const rows = Array.from({ length: 5 }, (_, n) => ({ Mail: `m${n}` }));
  await using sandbox = await startTestSandbox({ tables: [{ ...PERSON, rows }] });
  using place = makeSharedFolder(sandbox, 'tables: { Person: { push: true } }\nsafety: { maxPushRows: 1 }\n');
  const run = (command: string): Promise<RunResult> =>
    runRowsync([command, '--config', place.config], { folder: place.top });
  await run('pull');
  const db = new Database(place.replica);
  db.exec(`UPDATE Person SET Mail = 'edited'`);
  db.close();
  const held = await run('push');
  const confirm = (): string =>
    runAs(
      MEMBER,
      '"$1" "$2" push --confirm --config "$3" 2>&1 || echo "exit $?"',
      process.execPath,
      MAIN,
      place.config,
    );

  const alone = confirm();
  const daemon = openReplica(place.replica, { clock: systemClock, shared: true });
  const beside = confirm();
  daemon.close();
  const pushed = await run('push');

  expect(held.exitCode).toBe(3);
  expect(alone).toContain('exit 2');
  expect(alone).toContain('config.secret');
  expect(beside).toBe(
    'Person: the next push of the process that is at work may continue, with 5 edited rows at most\n',
  );
  expect(pushed.exitCode).toBe(0);
});

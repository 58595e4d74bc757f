/**
 * A member of the group, who cannot read the token, confirms what a guard holds.
 */
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { runRowsync } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
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
  expect(beside).toContain(
    'your confirmation is kept for it; Person: the next push may continue, with 5 edited rows at most\n',
  );
  expect(beside).toContain('exit 75');
  expect(pushed.exitCode).toBe(0);
});

test.skipIf(!isRoot)('a member confirms deletes that a pull holds, and the daemon carries them out', async () => {
  const rows = Array.from({ length: 10 }, (_, n) => ({ Mail: `m${n}` }));
  await using sandbox = await startTestSandbox({ tables: [{ ...PERSON, rows }] });
  using place = makeSharedFolder(sandbox, 'schedule: { pull: "0 0 1 1 *" }\n');
  await using daemon = startRunningDaemon(place.top);
  await daemon.pulled();
  for (const { id } of sandbox.store.rows('Person').slice(3)) sandbox.store.delete('Person', id);
  await daemon.pulled();
  const before = countRows(place.replica);

  const said = runAs(
    MEMBER,
    '"$1" "$2" pull --confirm --config "$3" 2>&1 || true',
    process.execPath,
    MAIN,
    place.config,
  );
  await daemon.pulled();

  expect(before).toBe(10);
  expect(said).toContain(
    'your confirmation is kept for it; Person: the next pull may continue, with 7 missing rows at most\n',
  );
  expect(countRows(place.replica)).toBe(3);
});

function countRows(path: string): unknown {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare('SELECT count(*) FROM Person').pluck().get();
  } finally {
    db.close();
  }
}

/** A daemon as root starts it; `pulled` waits for its first pull, or makes it pull once more. */
function startRunningDaemon(folder: string): AsyncDisposable & { pulled(): Promise<void> } {
  const daemon = startDaemonProcess(folder);
  let next = daemon.logged('work.finished', 1, ({ work }) => work === 'pull');
  let isFirst = true;
  return {
    async pulled() {
      if (!isFirst) {
        next = daemon.logged('work.finished', 1, ({ work }) => work === 'pull');
        daemon.process.kill('SIGUSR1');
      }
      isFirst = false;
      await next;
    },
    async [Symbol.asyncDispose]() {
      daemon.process.kill('SIGTERM');
      await daemon.ended;
    },
  };
}

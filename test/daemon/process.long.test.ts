/**
 * The daemon as a process: its signals, and the lock that keeps a second one out. The sandbox runs in this process.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace, runRowsync, startRowsync, type Child } from '../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

// Every daemon is a process that compiles its sources, on machines that do other things as well.
vi.setConfig({ testTimeout: 60_000 });

const YEARLY = 'schedule: { pull: "0 0 1 1 *" }\n';

function notes(): Promise<TestSandbox> {
  const rows = Array.from({ length: 5 }, (_, index) => ({ Title: `note ${index}` }));
  const spec: TableSpec = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows };
  return startTestSandbox({ tables: [spec] });
}

/** Resolves when the log of a daemon has so many lines of an event; rejects when it ends without. */
async function logged(child: Child, event: string, count = 1): Promise<void> {
  let isOver = false;
  const over = child.end.then(() => (isOver = true));
  for (;;) {
    if (child.text.stdout.split(`"event":"${event}"`).length > count) return;
    if (isOver) throw new Error(`The daemon ended without ${event}: ${child.text.stdout}${child.text.stderr}`);
    await Promise.race([once(child.process.stdout ?? child.process, 'data'), over]);
  }
}

function withReplica<T>(folder: string, look: (db: Database.Database) => T): T {
  const db = new Database(join(folder, 'replica.db'), { readonly: true });
  try {
    return look(db);
  } finally {
    db.close();
  }
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it with 0 and a whole file', async (signal) => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, YEARLY);
  const daemon = startRowsync(['daemon'], workspace);
  await logged(daemon, 'work.finished');

  daemon.process.kill(signal);

  expect((await daemon.end).exitCode).toBe(0);
  expect(daemon.text.stdout).toContain('"event":"daemon.stopped"');
  expect(withReplica(workspace.folder, (db) => db.pragma('integrity_check', { simple: true }))).toBe('ok');
});

test('SIGUSR1 starts a cycle now, and opens no debugger', async () => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, YEARLY);
  const daemon = startRowsync(['daemon'], workspace);
  await logged(daemon, 'work.finished');
  sandbox.store.insert('Note', { Title: 'late' });

  daemon.process.kill('SIGUSR1');
  await logged(daemon, 'work.finished', 2);

  expect(withReplica(workspace.folder, (db) => db.prepare('SELECT count(*) FROM "Note"').pluck().get())).toBe(6);
  daemon.process.kill('SIGTERM');
  const { exitCode, stderr } = await daemon.end;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});

test('SIGHUP takes over a good configuration and refuses a bad one', async () => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, YEARLY);
  const file = join(workspace.folder, 'rowsync.yaml');
  const head = `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: token }\nreplica: { path: replica.db }\n`;
  const daemon = startRowsync(['daemon'], workspace);
  await logged(daemon, 'work.finished');

  writeFileSync(file, `${head}schedule: { pull: never }\n`);
  daemon.process.kill('SIGHUP');
  await logged(daemon, 'config.refused');
  writeFileSync(file, `${head}schedule: { pull: "0 0 2 1 *" }\n`);
  daemon.process.kill('SIGHUP');
  await logged(daemon, 'work.finished', 2);

  expect(daemon.text.stdout).toContain('"schedule":"0 0 2 1 *"');
  daemon.process.kill('SIGTERM');
  expect((await daemon.end).exitCode).toBe(0);
});

test('of ten started at once, one works and the others say that it does', async () => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, YEARLY);
  const daemons = Array.from({ length: 10 }, () => startRowsync(['daemon'], workspace));
  // Until its outputs are closed too, a process has not ended here: its exit code comes a little earlier.
  const running = new Set(daemons);
  const ends: (number | null)[] = [];
  while (running.size > 1) {
    const ended = [...running].map((daemon) => daemon.end.then(({ exitCode }) => ({ daemon, exitCode })));
    const { daemon, exitCode } = await Promise.race(ended);
    running.delete(daemon);
    ends.push(exitCode);
  }

  expect(ends).toEqual(Array.from({ length: 9 }, () => 75));
  const [winner] = running;
  expect(daemons.filter((daemon) => daemon !== winner && !daemon.text.stderr.includes('replica.inUse'))).toEqual([]);
  if (winner === undefined) throw new Error('all of them ended');
  await logged(winner, 'work.finished');

  winner.process.kill('SIGKILL');
  await winner.end;
  const next = startRowsync(['daemon'], workspace);
  await logged(next, 'work.finished');
  next.process.kill('SIGTERM');
  expect((await next.end).exitCode).toBe(0);
});

test('a configuration with problems ends it before anything is opened', async () => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, 'schedule: { pull: "61 * * * *", timeZone: Mars/Olympus }\n');

  const { exitCode, stderr } = await runRowsync(['daemon'], workspace);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('schedule.pull');
  expect(stderr).toContain('schedule.timeZone');
});

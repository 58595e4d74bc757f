/**
 * Other SQL clients in the daemon's way, as processes. One that holds the write lock for long, one that reads one state
 * of the file for long, and a stop in the middle of a push. The lock is held for 5 seconds; ROWSYNC_LOCK_SECONDS says
 * how long.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { takeSample } from '../soak/samples.ts';
import { makeWorkspace } from '../support/child.ts';
import { integrity, readOrigin, readReplica, withDatabase } from '../support/compare.ts';
import { askDaemon, runCycle, startDaemonProcess, WATCHED, type DaemonProcess } from '../support/daemon-process.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { openClient } from '../support/sql-clients.ts';

vi.setConfig({ testTimeout: 120_000 });

const LOCK_MS = Number(process.env['ROWSYNC_LOCK_SECONDS'] ?? '5') * 1000;
const LOOK_MS = 200;
const DELAY_P99_MS_MAX = 200;
const STOP_MS_MAX = 20_000;
/** How long the origin thinks about a change while the daemon is told to stop. */
const ANSWER_MS = 1_000;
const PROBE = fileURLToPath(new URL('../soak/probe.ts', import.meta.url));
const CONFIG = 'tables: { "*": { push: true } }\nschedule: { sync: "0 0 1 1 *" }\npush: { delay: 0 }\n';

function notes(): Promise<TestSandbox> {
  const rows = Array.from({ length: 40 }, (_, index) => ({ Title: `note ${index}` }));
  return startTestSandbox({ tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows }] });
}

/** A daemon that has finished its first cycle. */
async function startDaemon(folder: string): Promise<DaemonProcess> {
  const env = { ...WATCHED, NODE_OPTIONS: `--import=${PROBE}`, ROWSYNC_SOAK_PROBE: join(folder, 'probe.json') };
  const daemon = startDaemonProcess(folder, { env });
  await daemon.logged('work.finished', 1, ({ work }) => work === 'push');
  return daemon;
}

async function stop(daemon: DaemonProcess): Promise<void> {
  daemon.process.kill('SIGTERM');
  const end = await daemon.ended;
  if (end !== 0) throw new Error(`The daemon ended with ${end}:\n${daemon.lines.join('\n')}`);
}

test(
  'a lock that another client holds for long is waited for outside of the event loop, and what was missed is caught up with',
  async () => {
    await using sandbox = await notes();
    using socket = temporaryFolder();
    const socketPath = join(socket.path, 'http');
    using workspace = makeWorkspace(sandbox, `${CONFIG}http: { listen: "${socketPath}" }\n`);
    const { folder } = workspace;
    const path = join(folder, 'replica.db');
    const daemon = await startDaemon(folder);
    await using client = openClient('python', path);

    const statements = [`UPDATE "Note" SET "Title" = 'held' WHERE _id = 1`];
    const begun = Promise.withResolvers<void>();
    const held = client.run({ begin: 'BEGIN IMMEDIATE', statements, holdMs: LOCK_MS, end: 'COMMIT' }, begun.resolve);
    await Promise.race([begun.promise, held]);
    sandbox.store.update('Note', 2, { Title: 'theirs' });
    const caughtUp = runCycle(daemon, LOCK_MS);
    const answers = new Set<number>();
    const ended = Promise.race([held, caughtUp]).then(() => true);
    while (!(await Promise.race([ended, wait(LOOK_MS, false)]))) answers.add(await askDaemon(socketPath, '/livez'));
    expect(await held).toBe(null);
    await caughtUp;
    await runCycle(daemon);

    expect([...answers]).toEqual([200]);
    const sample = takeSample(daemon.process.pid ?? 0, { replica: path, probe: join(folder, 'probe.json') }, 0);
    expect(sample?.probe?.count).toBeGreaterThan(LOCK_MS / 100);
    expect(sample?.probe?.p99Ms).toBeLessThan(DELAY_P99_MS_MAX);
    expect(sandbox.store.rows('Note').map(({ values }) => values['Title'])).toContain('held');
    expect(readReplica(path)).toEqual(readOrigin(sandbox));
    await stop(daemon);
  },
  LOCK_MS + 120_000,
);

test('a reader that pins the log holds nobody up, and the log is used anew once it has gone', async () => {
  await using sandbox = await notes();
  using workspace = makeWorkspace(sandbox, CONFIG);
  const path = join(workspace.folder, 'replica.db');
  const daemon = await startDaemon(workspace.folder);
  await using reader = openClient('python', path);
  await using writer = openClient('shell', path);
  const logBytes = (): number =>
    takeSample(daemon.process.pid ?? 0, { replica: path, probe: '' }, 0)?.walBytes ?? Number.NaN;
  const grow = async (): Promise<void> => {
    const statements = [
      'CREATE TABLE IF NOT EXISTS filler (text TEXT)',
      `INSERT INTO filler VALUES (zeroblob(4000000))`,
    ];
    expect(await writer.run({ begin: 'BEGIN IMMEDIATE', statements, holdMs: 0, end: 'COMMIT' })).toBe(null);
  };

  const statements = ['SELECT count(*) FROM "Note"'];
  const begun = Promise.withResolvers<void>();
  const reading = reader.run({ begin: 'BEGIN', statements, holdMs: 4_000, end: 'COMMIT' }, begun.resolve);
  await Promise.race([begun.promise, reading]);
  do {
    await grow();
    await runCycle(daemon);
  } while ((await Promise.race([reading, wait(0, 'still')])) === 'still');
  const pinnedBytes = logBytes();
  // The first write behind it carries the log over, the next one begins it anew.
  for (const title of ['one', 'two', 'three']) {
    sandbox.store.update('Note', 1, { Title: title });
    await runCycle(daemon);
  }

  expect(pinnedBytes).toBeGreaterThan(4_000_000);
  const before = logBytes();
  sandbox.store.update('Note', 1, { Title: 'four' });
  await runCycle(daemon);
  expect(logBytes()).toBe(before);
  expect(readReplica(path)).toEqual(readOrigin(sandbox));
  await stop(daemon);
});

test.each(['update', 'create', 'delete'])(
  'SIGTERM during the %s of a push ends it in time, and the next one finishes what it left',
  async (method) => {
    await using sandbox = await notes();
    using workspace = makeWorkspace(sandbox, CONFIG);
    const path = join(workspace.folder, 'replica.db');
    const daemon = await startDaemon(workspace.folder);
    await using client = openClient('shell', path);
    const statements = [
      `UPDATE "Note" SET "Title" = 'edited ' || _id WHERE _id <= 20`,
      `INSERT INTO "Note" ("Title") VALUES ('new')`,
      `DELETE FROM "Note" WHERE _id = 30`,
    ];

    const sending = new Promise<void>((resolve) => sandbox.before(1, () => (resolve(), wait(ANSWER_MS)), { method }));
    expect(await client.run({ begin: 'BEGIN IMMEDIATE', statements, holdMs: 0, end: 'COMMIT' })).toBe(null);
    await sending;
    const stoppedMs = performance.now();
    await stop(daemon);

    expect(performance.now() - stoppedMs).toBeLessThan(STOP_MS_MAX);
    expect(integrity(path)).toBe('ok');
    const next = await startDaemon(workspace.folder);
    await runCycle(next);
    expect(readReplica(path)).toEqual(readOrigin(sandbox));
    const titles = sandbox.store.rows('Note').map(({ values }) => String(values['Title']));
    expect(titles.filter((title) => title.startsWith('edited'))).toHaveLength(20);
    expect(titles.filter((title) => title === 'new')).toHaveLength(1);
    expect(withDatabase(path, (db) => db.prepare('SELECT * FROM _rowsync_batches').all())).toEqual([]);
    await stop(next);
  },
);

/** What a daemon opens for a configuration, and what it keeps open when the configuration changes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { loadConfig, type Config } from '../../src/config/load.ts';
import { DamageWatch, openResources, type Resources } from '../../src/daemon/resources.ts';
import { openReplica } from '../../src/replica/database.ts';
import { isInUse } from '../../src/replica/lock.ts';
import { makeWorkspace } from '../support/child.ts';
import { testClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/replica.ts';

const ORIGIN = { url: 'http://127.0.0.1:9', database: '1', token: 'a-token' };
const DAY_MS = 24 * 60 * 60_000;

function workspace() {
  const made = makeWorkspace(ORIGIN);
  onTestFinished(() => made[Symbol.dispose]());
  const file = join(made.folder, 'rowsync.yaml');
  const clock = testClock();
  return {
    file,
    path: join(made.folder, 'replica.db'),
    folder: made.folder,
    /** The configuration as it is, with one text of it replaced. */
    config: (from = '', to = ''): Config => {
      writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
      return loadConfig(file).config;
    },
    open: (config: Config, before: Resources | null = null) =>
      openResources(config, { clock, log: silentLogger }, before),
  };
}

test('opening makes the replica and takes its lock; closing gives it back', async () => {
  const { path, config, open } = workspace();

  const resources = await open(config());
  expect(isInUse(path)).toBe(true);
  expect(resources.origin.url).toBe(ORIGIN.url);
  await resources.close();

  expect(isInUse(path)).toBe(false);
});

test('an unchanged replica stays open, with what is known of its damage, and the origin is a new one', async () => {
  const { config, open } = workspace();
  const first = await open(config());

  const second = await open(config('database: "1"', 'database: "2"'), first);

  expect(second.replica).toBe(first.replica);
  expect(second.damage).toBe(first.damage);
  expect([second.origin.database, second.config.origin.database]).toEqual(['2', '2']);
  await expect(first.origin.user()).rejects.toMatchObject({ code: 'origin.stopped' });
  await second.close();
});

test('a replica that is no longer named is closed once the new one is open', async () => {
  const { path, folder, config, open } = workspace();
  const first = await open(config());

  const second = await open(config('replica.db', 'other.db'), first);

  expect([isInUse(path), isInUse(join(folder, 'other.db'))]).toEqual([false, true]);
  expect(second.damage).not.toBe(first.damage);
  await second.close();
});

test('where the new replica cannot be opened, the old one stays as it was', async () => {
  const { path, folder, config, open } = workspace();
  const first = await open(config());
  writeFileSync(join(folder, 'other.db'), 'this is no database, however long it is');

  await expect(open(config('replica.db', 'other.db'), first)).rejects.toMatchObject({ kind: 'replica' });

  expect(isInUse(path)).toBe(true);
  await first.replica.write('Still writing', () => undefined);
  await expect(first.origin.user({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'origin.stopped' });
  await first.close();
});

test('a replica that another process works on is refused', async () => {
  const { path, config, open } = workspace();
  using other = openReplica(path, { clock: testClock() });

  await expect(open(config())).rejects.toMatchObject({ code: 'replica.inUse' });

  expect(other.path).toBe(path);
});

test('a replica is checked once a day, and at once after damage', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: testClock() }).close();
  const watch = new DamageWatch(path);
  await watch.look(0);
  const db = new Database(path);
  db.exec('DROP TABLE _rowsync_rows');
  db.close();

  await watch.look(DAY_MS - 1);
  await expect(watch.look(DAY_MS)).rejects.toMatchObject({ code: 'replica.damaged' });
  // It stays due.
  await expect(watch.look(DAY_MS)).rejects.toMatchObject({ code: 'replica.damaged' });

  expect(existsSync(path)).toBe(true);
});

test.each([
  ['replica.damaged', true],
  ['replica.full', false],
] as const)('after %s the next check is due at once: %s', async (code, isDue) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: testClock() }).close();
  const watch = new DamageWatch(path);
  await watch.look(0);
  const db = new Database(path);
  db.exec('DROP TABLE _rowsync_rows');
  db.close();

  watch.note(new RowsyncError('replica', code, { message: '', hint: '' }));

  const looked = await watch.look(1).then(
    () => false,
    () => true,
  );
  expect(looked).toBe(isDue);
});

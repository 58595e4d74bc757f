/**
 * A daemon that finds a replica of an earlier version: who is notified, and when.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping/schema.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeReleased, RELEASED_TABLES, RELEASED_VERSION } from '../support/released.ts';
import { startTestSandbox } from '../support/sandbox.ts';

const NOTHING_SAID = {
  ready: () => {},
  status: () => {},
  watch: () => Promise.resolve(),
  stopping: () => {},
};

test('the manager is asked for patience before the file is brought up to date, and the log says where it is as it was', async () => {
  await using sandbox = await startTestSandbox({ tables: RELEASED_TABLES });
  let [path, sentAtVersion] = ['', 0];
  let isAsked = false;
  const notifier = {
    ...NOTHING_SAID,
    starting: () => void (isAsked = true),
    flush: async () => {
      if (isAsked && sentAtVersion === 0) sentAtVersion = versionOf(path);
    },
  };
  await using daemon = startDaemon(sandbox, '', {
    notifier,
    prepare: (folder) => {
      path = join(folder, 'replica.db');
      makeReleased(path, { url: sandbox.url });
    },
  });

  await daemon.idle();

  expect(sentAtVersion).toBe(RELEASED_VERSION);
  expect(versionOf(path)).toBe(SCHEMA_VERSION);
  expect(daemon.events('replica.upgraded')).toMatchObject([{ path: `${path}.before-${SCHEMA_VERSION}` }]);
});

function versionOf(path: string): number {
  const db = new Database(path, { readonly: true });
  try {
    return Number(db.pragma('user_version', { simple: true }));
  } finally {
    db.close();
  }
}

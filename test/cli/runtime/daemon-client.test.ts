/** Who keeps a replica up to date, as a command knows it: from a running daemon, or from the lock alone. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { daemonClient, isAtWork } from '../../../src/cli/runtime/daemon-client.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { DaemonClient } from '../../../src/extra.ts';
import { PRIVATE_MODE, takeLock } from '../../../src/replica/lock.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { extraWith } from '../../support/invocation.ts';

const ORIGIN = { url: 'http://127.0.0.1:9', database: '1', token: 'a-token' };
const CAUSE = new RowsyncError('replica', 'replica.inUse', { message: 'in use', hint: '' });

test('the extra with the server carries the questions', async () => {
  const client = {} as DaemonClient;

  expect(await daemonClient({ extras: [extraWith({}), extraWith({ loadDaemonClient: async () => client })] })).toBe(
    client,
  );
});

test('without a server, a process that holds the lock keeps the replica, and can be asked for nothing', async () => {
  using workspace = makeWorkspace(ORIGIN);
  const path = join(workspace.folder, 'replica.db');
  const { config } = loadConfig(join(workspace.folder, 'rowsync.yaml'));
  openReplica(path, { clock: testClock() }).close();
  const client = await daemonClient({ extras: [] });
  const problem = { code: 'work.failed', severity: 'person' } as const;
  const hear = () => client.hear(config, { extras: [extraWith({ problems: [problem as never] })], nowMs: 0 });

  const before = await hear();
  const lock = takeLock(path, PRIVATE_MODE);
  const beside = await hear();
  lock.close();

  expect(before).toEqual({ keeper: 'nobody', complaints: [], added: [problem], lines: [], json: {} });
  expect(beside.keeper).toBe('service');
  await expect(client.decide(config, { kind: 'retry', ids: [] }, CAUSE)).rejects.toBe(CAUSE);
});

test('a replica that is not there, or cannot be one, is kept by nobody', () => {
  using workspace = makeWorkspace(ORIGIN);

  expect(isAtWork(join(workspace.folder, 'replica.db'))).toBe(false);
  expect(isAtWork(join(workspace.folder, 'token', 'replica.db'))).toBe(false);
});

/** The part of the demo with a daemon: the sandbox rings, and the row is here. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { EXTRAS } from '../../../src/extras.ts';
import { freePort, letItRing } from '../../../src/extras/demo/command.ts';
import { startSandbox } from '../../../src/extras/shared/sandbox.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { makeWorkspace } from '../../support/child.ts';
import { invocationIn } from '../../support/invocation.ts';
import { runCli, sessionIn } from '../../support/session.ts';

const ORDERS = {
  name: 'Order',
  columns: [{ name: 'Comment', type: 'Text' }],
  rows: Array.from({ length: 8 }, () => ({ Comment: 'before' })),
} as const;

/** A pulled shop, and a daemon to come at a free port. */
async function startShop() {
  const sandbox = await startSandbox({ clock: systemClock, tables: [ORDERS] });
  const workspace = makeWorkspace(
    sandbox,
    `schedule: { sync: false, follow: auto }\nhttp: { listen: "127.0.0.1:${await freePort()}", doorbell: true }\n`,
  );
  await runCli(['pull'], workspace);
  const configPath = join(workspace.folder, 'rowsync.yaml');
  const { invocation } = invocationIn(workspace.folder, { extras: EXTRAS, configPath });
  return {
    sandbox,
    folder: workspace.folder,
    let: () =>
      letItRing({ ...invocation, session: sessionIn(workspace.folder) }, sandbox, join(workspace.folder, 'replica.db')),
    [Symbol.asyncDispose]: async () => {
      workspace[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('a port is free, and another one the next time as long as it is taken', async () => {
  const port = await freePort();
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));

  const other = await freePort();
  await new Promise((resolve) => server.close(resolve));

  expect([port > 1023, other > 1023, other === port]).toEqual([true, true, false]);
});

test('a row that a colleague edits is here within seconds, and the daemon has ended', async () => {
  await using shop = await startShop();

  const line = await shop.let();
  const { stdout } = await runCli(['sql', 'SELECT "Comment" FROM "Order" WHERE _id = 7', '-f', 'csv'], shop);
  const pulled = await runCli(['pull'], shop);

  expect(line).toMatch(/^Order 7 was here \d+\.\d s after the edit\n$/);
  expect(stdout).toBe('Comment\nrings\n');
  // The replica is free again.
  expect([pulled.exitCode, pulled.stderr]).toEqual([0, '']);
});

test('a daemon that ends at once is said, and not waited for', async () => {
  await using shop = await startShop();
  using _other = openReplica(join(shop.folder, 'replica.db'), { clock: systemClock });
  const startedMs = performance.now();

  await expect(shop.let()).rejects.toMatchObject({ message: 'The daemon of the demo ended with the exit code 75' });
  expect(performance.now() - startedMs).toBeLessThan(15_000);
});

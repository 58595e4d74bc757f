/** Work beside a process that holds the replica: it is handed over, and a confirmation is left for it. */
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { confirmationText, orLeaveConfirmation } from '../../../src/cli/runtime/hand-over.ts';
import type { DaemonClient, WorkRequest } from '../../../src/extra.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { PRIVATE_MODE, takeLock } from '../../../src/replica/lock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { testClock } from '../../support/clock.ts';
import { extraWith, invocationIn } from '../../support/invocation.ts';

const errorOf = (kind: 'replica' | 'config' | 'originDown', code: 'replica.inUse' | 'config.secret' | 'origin.busy') =>
  new RowsyncError(kind, code, { message: code, hint: '' });
const IN_USE = errorOf('replica', 'replica.inUse');
const SECRET = errorOf('config', 'config.secret');
const REQUEST: WorkRequest = { works: ['pull', 'push'], tables: [], confirm: false, flags: [] };

let path: string;
let handedOver: { readonly cause: RowsyncError; readonly confirmations: unknown }[];
let run: ReturnType<typeof runIn>;

/** Runs work in a folder that fails with an error, or is done. */
function runIn(folder: string) {
  const client: Partial<DaemonClient> = {
    handOver: async (_invocation, cause, _request, confirmations) => {
      handedOver.push({ cause, confirmations });
      return 42;
    },
  };
  const extras = [extraWith({ loadDaemonClient: async () => client as DaemonClient })];
  const { invocation } = invocationIn(folder, { extras });
  return (error: RowsyncError | null, request?: Partial<WorkRequest>) =>
    orLeaveConfirmation(invocation, { ...REQUEST, ...request }, async () => {
      if (error !== null) throw error;
      return 0;
    });
}

beforeEach(() => {
  const workspace = makeWorkspace({ url: 'http://127.0.0.1:9', database: '1', token: 'a-token' });
  onTestFinished(() => workspace[Symbol.dispose]());
  path = join(workspace.folder, 'replica.db');
  openReplica(path, { clock: testClock() }).close();
  handedOver = [];
  run = runIn(workspace.folder);
});

test('work that can be done is done here', async () => {
  expect(await run(null)).toBe(0);
  expect(handedOver).toEqual([]);
});

test('work that fails for another reason fails here', async () => {
  const busy = errorOf('originDown', 'origin.busy');

  await expect(run(busy)).rejects.toBe(busy);
  expect(handedOver).toEqual([]);
});

test('work on a replica that another process holds is handed over, and its exit code is that of the work', async () => {
  expect(await run(IN_USE)).toBe(42);
  expect(handedOver).toEqual([{ cause: IN_USE, confirmations: [] }]);
});

test('a confirmation is left in the replica for the process that holds it, and the way is told', async () => {
  const rows = [1, 2, 3, 4].map((number) => ({ Title: `${number}` }));
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows }],
  });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  for (const id of [1, 2, 3]) sandbox.store.delete('Note', id);
  const held = await runCli(['pull'], workspace);
  const lock = takeLock(join(workspace.folder, 'replica.db'), PRIVATE_MODE);

  const beside = runIn(workspace.folder);
  await beside(IN_USE);
  const exitCode = await beside(IN_USE, { confirm: true, works: ['pull', 'verify'] });

  lock.close();
  const pulled = await runCli(['pull'], workspace);
  expect([held.exitCode, exitCode, pulled.exitCode]).toEqual([3, 42, 0]);
  expect(handedOver).toMatchObject([
    { cause: IN_USE, confirmations: [] },
    { cause: { code: 'replica.inUse' }, confirmations: [{ table: 'Note', kind: 'pull', rowCount: 3 }] },
  ]);
  expect(handedOver[1]?.cause.message).toContain('your confirmation is kept for it; Note: the next pull may continue');
});

test('who may not read the token can hand work over, and cannot work without', async () => {
  await expect(run(SECRET)).rejects.toBe(SECRET);
  const lock = takeLock(path, PRIVATE_MODE);

  expect(await run(SECRET)).toBe(42);

  lock.close();
  expect(handedOver).toEqual([{ cause: SECRET, confirmations: [] }]);
});

test.each([
  [{ table: null, kind: 'pull', rowCount: 0 }, 'the next pull may continue'],
  [{ table: 'Note', kind: 'pull', rowCount: 1 }, 'Note: the next pull may continue, with 1 missing row at most'],
  [
    { table: 'A\u0007', kind: 'push', rowCount: 1_200 },
    String.raw`A\u0007: the next push may continue, with 1,200 edited rows at most`,
  ],
] as const)('a confirmation says how far it goes: %j', (confirmation, expected) => {
  expect(confirmationText(confirmation)).toBe(expected);
});

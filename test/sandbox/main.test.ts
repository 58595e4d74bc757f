import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/main.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { call } from './client.ts';

const tables = [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] }];

/** Starts a sandbox that should refuse to start, and returns why. */
async function whyNot(options: Partial<SandboxOptions>): Promise<unknown> {
  let sandbox: Sandbox | undefined;
  try {
    sandbox = await startSandbox({ clock: systemClock, tables, ...options });
  } catch (thrown) {
    return thrown;
  }
  await sandbox.stop();
  return 'it started';
}

test('listens on the loopback interface, on a free port', async () => {
  await using first = await startTestSandbox({ tables });
  await using second = await startTestSandbox({ tables });

  expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(second.url).not.toBe(first.url);
  expect(first.database).toBe('21995');
});

test('makes up a token of 32 hexadecimal digits, another one each time', async () => {
  await using first = await startTestSandbox({ tables });
  await using second = await startTestSandbox({ tables });

  expect(first.token).toMatch(/^[0-9a-f]{32}$/);
  expect(second.token).not.toBe(first.token);
});

test('serves the database id that it was given', async () => {
  await using sandbox = await startTestSandbox({ tables, database: '12-34' });

  expect(JSON.parse((await call(sandbox, 'describe.json')).text)).toMatchObject({ id: '12-34' });
});

test.each([
  ['a port that is none', { port: 65_536 }, 'sandbox.option'],
  ['a negative port', { port: -1 }, 'sandbox.option'],
  ['a port that is not a whole number', { port: Number.NaN }, 'sandbox.option'],
  ['a negative latency', { latencyMs: -1 }, 'sandbox.option'],
  ['an activity beyond counting', { activityPerSecond: 1e9 }, 'sandbox.option'],
  ['a token of another length', { token: 'abc' }, 'sandbox.option'],
  ['a token with other digits', { token: 'g'.repeat(32) }, 'sandbox.option'],
  ['a database id that is a path', { database: '../1' }, 'sandbox.option'],
  ['an empty database id', { database: '' }, 'sandbox.option'],
  ['a data file that does not exist', { tables: undefined, dataPath: '/nowhere/x.sqlite' }, 'sandbox.data'],
  ['a store in a folder that does not exist', { storePath: '/nowhere/x.sqlite' }, 'sandbox.store'],
])('refuses %s', async (_what, options, code) => {
  const reason = await whyNot(options);

  expect(reason).toMatchObject({
    name: 'RowsyncError',
    code,
    exitCode: 2,
    hint: expect.stringMatching(/\.$/) as string,
  });
});

test('does not repeat a token that it refuses', async () => {
  expect(String(await whyNot({ token: 'not-quite-a-token' }))).not.toContain('not-quite-a-token');
});

test('refuses a port that is taken', async () => {
  await using sandbox = await startTestSandbox({ tables });

  const reason = await whyNot({ port: Number(new URL(sandbox.url).port) });

  expect(reason).toMatchObject({ code: 'sandbox.listen', message: expect.stringContaining('EADDRINUSE') as string });
});

test('removes its temporary store when it stops, and when it cannot start', async () => {
  using folder = temporaryFolder();
  await using other = await startTestSandbox({ tables });
  vi.stubEnv('TMPDIR', folder.path);

  const sandbox = await startTestSandbox({ tables });
  const present = readdirSync(folder.path).length;
  await sandbox.stop();
  await sandbox.stop();
  await whyNot({ port: Number(new URL(other.url).port) });
  await whyNot({ tables: undefined, dataPath: '/nowhere/x.sqlite' });

  vi.unstubAllEnvs();
  expect(present).toBe(1);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('stops although a client keeps a connection open', async () => {
  const sandbox = await startTestSandbox({ tables });
  const answer = await fetch(`${sandbox.url}/x`);
  await answer.text();

  await sandbox.stop();

  await expect(fetch(`${sandbox.url}/x`)).rejects.toThrow(/fetch failed/);
});

test('adds a given token to a store that has one', async () => {
  using folder = temporaryFolder();
  const storePath = join(folder.path, 'store.sqlite');
  const first = await startTestSandbox({ tables, storePath });
  await first.stop();
  const token = 'a'.repeat(32);

  await using second = await startTestSandbox({ storePath, token });

  expect(second.token).toBe(token);
  expect(await call(second, 'user.json')).toMatchObject({ status: 200 });
  expect(await call(second, 'user.json', { authorization: `Bearer ${first.token}` })).toMatchObject({ status: 200 });
});

test('leaves no half-filled store behind when the data cannot be read', async () => {
  using folder = temporaryFolder();
  const storePath = join(folder.path, 'store.sqlite');
  const dataPath = join(folder.path, 'data.sqlite');
  writeFileSync(dataPath, 'no database at all'.repeat(100));

  const reason = await whyNot({ storePath, tables: undefined, dataPath });

  expect(reason).toMatchObject({ code: 'sandbox.data', message: expect.stringContaining('not a database') as string });
  expect(readdirSync(folder.path)).toEqual(['data.sqlite']);
});

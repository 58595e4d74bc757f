import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/main.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

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

test('continues a store with its rows, token, users and numbers', async () => {
  using folder = temporaryFolder();
  const storePath = join(folder.path, 'store.sqlite');
  const first = await startTestSandbox({ tables, storePath });
  first.store.insert('Note', { Title: 'b' });
  first.store.delete('Note', 2);
  const { etag } = (await call(first, 'Note/select.json')).headers;
  await first.stop();

  await using second = await startTestSandbox({ storePath });

  expect(second.token).toBe(first.token);
  expect(second.user).toEqual(first.user);
  expect((await call(second, 'Note/select.json')).headers['etag']).toBe(etag);
  expect(second.store.insert('Note', {})).toBe(3);
  expect(second.store.rows('Note').map(({ values }) => values['Id'])).toEqual(['1', '3']);
});

test('refuses to continue a store under another database id, or from other data', async () => {
  using folder = temporaryFolder();
  const storePath = join(folder.path, 'store.sqlite');
  const dataPath = join(folder.path, 'data.sqlite');
  new Database(dataPath).exec('CREATE TABLE t (a)').close();
  await (await startTestSandbox({ tables, storePath })).stop();

  expect(await whyNot({ storePath, database: '7' })).toMatchObject({ code: 'sandbox.option' });
  expect(await whyNot({ storePath, tables: undefined, dataPath })).toMatchObject({ code: 'sandbox.option' });
});

test('refuses a store that is not a sandbox’s, and leaves it as it is', async () => {
  using folder = temporaryFolder();
  const other = join(folder.path, 'other.sqlite');
  const text = join(folder.path, 'text.txt');
  new Database(other).exec('CREATE TABLE mine (a)').close();
  writeFileSync(text, 'This is a text and no database, long enough to have a header.'.repeat(3));
  mkdirSync(join(folder.path, 'folder'));
  const before = readFileSync(other);

  expect(await whyNot({ storePath: other })).toMatchObject({ code: 'sandbox.store' });
  expect(await whyNot({ storePath: text })).toMatchObject({ code: 'sandbox.store' });
  expect(await whyNot({ storePath: join(folder.path, 'folder') })).toMatchObject({ code: 'sandbox.store' });
  expect(readFileSync(other).equals(before)).toBe(true);
  expect(readFileSync(text, 'utf8')).toMatch(/^This is a text/);
});

/** The secret in the addresses that the origin calls. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeSecret, renewSecret, secretPath } from '../../../src/extras/doorbell/secret.ts';
import { temporaryFolder } from '../../support/replica.ts';

test('it is made once, in a private file beside the replica, and stays', () => {
  using folder = temporaryFolder();
  const replica = { path: join(folder.path, 'replica.db'), shared: false };

  const secret = makeSecret(replica);

  const path = secretPath(replica.path);
  expect(secret).toMatch(/^[\w-]{20,}$/);
  expect([makeSecret(replica), readFileSync(path, 'utf8').trim()]).toEqual([secret, secret]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('another one takes its place, also where there was none', () => {
  using folder = temporaryFolder();
  const replica = { path: join(folder.path, 'replica.db'), shared: false };

  const [first, second] = [renewSecret(replica), renewSecret(replica)];

  expect(second).not.toBe(first);
  expect(makeSecret(replica)).toBe(second);
});

test('people who share the replica may read it', () => {
  using folder = temporaryFolder();
  const replica = { path: join(folder.path, 'replica.db'), shared: true };

  makeSecret(replica);

  expect(statSync(secretPath(replica.path)).mode & 0o777).toBe(0o660);
});

test('what cannot be read, made or removed is said', () => {
  using folder = temporaryFolder();
  const replica = { path: join(folder.path, 'replica.db'), shared: false };
  const inNone = { path: join(folder.path, 'missing', 'replica.db'), shared: false };
  mkdirSync(secretPath(replica.path));
  writeFileSync(join(secretPath(replica.path), 'x'), '');

  for (const refused of [() => makeSecret(replica), () => renewSecret(replica), () => makeSecret(inNone)])
    expect(refused).toThrow(
      expect.objectContaining({
        name: 'RowsyncError',
        message: expect.stringContaining('secret of the doorbell') as string,
      }) as Error,
    );
});

/**
 * The key of the page: made once, for those alone who may read the replica.
 */
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pageKeyPath, readPageKey } from '../../../src/extras/shared/daemon-client.ts';
import { makePageKey, openPageAuth } from '../../../src/extras/http/page-key.ts';
import { testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/replica.ts';

test.each([
  [false, 0o600],
  [true, 0o660],
])('has the mode of the replica (shared: %s)', (shared, mode) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');

  makePageKey(path, { shared });

  expect(statSync(pageKeyPath(path)).mode & 0o777).toBe(mode);
});

test('stays the same, also where others could read it, which ends', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  expect(readPageKey(path)).toBe(null);
  const key = makePageKey(path, { shared: false });
  chmodSync(pageKeyPath(path), 0o644);

  expect(makePageKey(path, { shared: false })).toBe(key);
  expect(readPageKey(path)).toBe(key);
  expect(statSync(pageKeyPath(path)).mode & 0o777).toBe(0o600);
});

test('is another one for each replica', () => {
  using folder = temporaryFolder();
  const keys = ['a.db', 'b.db'].map((name) => makePageKey(join(folder.path, name), { shared: false }));

  expect(keys[0]).not.toBe(keys[1]);
  expect(keys.map(({ length }) => length)).toEqual([43, 43]);
});

test('cannot be made in a folder that is not there', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'none', 'replica.db');

  expect(() => makePageKey(path, { shared: false })).toThrow(expect.objectContaining({ code: 'replica.path' }));
  expect(existsSync(path)).toBe(false);
});

test('gives tokens of forms that end with the process, and no other secret is the key', () => {
  using folder = temporaryFolder();
  const key = makePageKey(join(folder.path, 'replica.db'), { shared: false });
  const [before, after] = [openPageAuth(key, testClock()), openPageAuth(key, testClock())];

  expect(after.isFormToken(before.formToken())).toBe(false);
  expect([after.formToken(), after.formToken()].map((token) => after.isFormToken(token))).toEqual([true, true]);
  expect(after.formToken()).not.toBe(after.formToken());
  expect(after.isKey(readFileSync(pageKeyPath(join(folder.path, 'replica.db')), 'utf8').trim())).toBe(true);
  for (const guess of ['', key.slice(1), `${key}x`, before.signIn()]) expect(after.isKey(guess)).toBe(false);
});

describe('sessions', () => {
  const HOUR_MS = 3_600_000;

  test('are one for each sign-in, and end when it is signed out', () => {
    const auth = openPageAuth('key', testClock());
    const [mine, yours] = [auth.signIn(), auth.signIn()];

    auth.signOut(mine);

    expect([mine, yours, '', 'key'].map((text) => auth.isSession(text))).toEqual([false, true, false, false]);
  });

  test('end after twelve idle hours, and after thirty days of use', () => {
    const clock = testClock();
    const auth = openPageAuth('key', clock);
    const [used, idle] = [auth.signIn(), auth.signIn()];

    for (let hours = 0; hours < 13; hours += 1) {
      clock.advance(HOUR_MS);
      expect(auth.isSession(used)).toBe(true);
    }
    expect(auth.isSession(idle)).toBe(false);
    for (let hours = 13; hours < 30 * 24; hours += 1) {
      clock.advance(HOUR_MS);
      expect(auth.isSession(used)).toBe(true);
    }
    clock.advance(1);
    expect(auth.isSession(used)).toBe(false);
  });

  test('are bounded: the one that was idle for longest gives way', () => {
    const auth = openPageAuth('key', testClock());
    const [first, second] = [auth.signIn(), auth.signIn()];
    auth.isSession(first);

    for (let count = 0; count < 199; count += 1) auth.signIn();

    expect([first, second].map((session) => auth.isSession(session))).toEqual([true, false]);
  });
});

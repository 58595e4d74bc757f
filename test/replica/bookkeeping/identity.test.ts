/**
 * Whom the replica was pulled as: another caller proves nothing that the former one was told, and another database is
 * refused.
 */
import { expect, test } from 'vitest';
import {
  isIdentityStored,
  isOtherCaller,
  readIdentity,
  readNameStyle,
  storeIdentity,
  storeNameStyle,
} from '../../../src/replica/bookkeeping/identity.ts';
import { readTableDescriptor, storeDescriptor } from '../../../src/replica/bookkeeping/descriptors.ts';
import { notePage, readPages } from '../../../src/replica/bookkeeping/pages.ts';
import { readTable, storeFacts } from '../../../src/replica/bookkeeping/tables.ts';
import { openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const CALLER = {
  url: 'https://www.teamdesk.net',
  database: '21995',
  userId: 7,
  role: 'Sales',
  timeZone: 'UTC',
  admin: ['Setup', 'Users'],
  userEmail: 'a@example.com',
};
const { userEmail: _email, ...IDENTITY } = CALLER;

function store(bare: Bare, caller: typeof CALLER, changed = false): Promise<void> {
  return bare.write((tx) => storeIdentity(tx, caller, { changed }));
}

test('before the first pull there is no identity, and no caller is another one', async () => {
  await using bare = await openBare();

  expect([readIdentity(bare.replica), isOtherCaller(bare.replica, IDENTITY)]).toEqual([null, false]);
  expect([readNameStyle(bare.replica), isIdentityStored(bare.replica, CALLER)]).toEqual(['origin', false]);
});

test.each([
  ['some', ['Setup', 'Users']],
  ['none', []],
  ['unknown', null],
])('an identity comes back as it was stored, with permissions that are %s', async (_what, admin) => {
  await using bare = await openBare();

  await store(bare, { ...CALLER, admin } as typeof CALLER);

  expect(readIdentity(bare.replica)).toEqual({ ...IDENTITY, admin });
  expect(bare.rows('SELECT count(*) AS n FROM _rowsync_identity')).toEqual([{ n: 1 }]);
});

test.each([
  ['url', 'https://www.dbflex.net'],
  ['userId', 8],
  ['role', 'Reader'],
  ['userEmail', 'b@example.com'],
  ['timeZone', 'Europe/Paris'],
  ['admin', ['Setup']],
])('an identity with another %s is not the one that is stored', async (fact, value) => {
  await using bare = await openBare();
  await store(bare, CALLER);

  expect(isIdentityStored(bare.replica, CALLER)).toBe(true);
  expect(isIdentityStored(bare.replica, { ...CALLER, [fact]: value })).toBe(false);
});

test('another role is another caller; another database is refused, with both names', async () => {
  await using bare = await openBare();
  await store(bare, CALLER);
  const caller = (change: Partial<typeof IDENTITY>): boolean => isOtherCaller(bare.replica, { ...IDENTITY, ...change });

  expect([caller({}), caller({ role: 'Reader' }), caller({ userId: 8 })]).toEqual([false, true, true]);
  expect(() => caller({ database: '3' })).toThrow(
    expect.objectContaining({
      code: 'replica.otherDatabase',
      message: expect.stringMatching(/21995.* 3$/u) as unknown,
    }),
  );
});

/** A table that was read to its end, with all that proves it. */
async function startProven(): Promise<Bare> {
  const bare = await openBare();
  await store(bare, CALLER);
  await bare.write((tx) => {
    const page = { window: '', page: 0, lastStamp: null, tieCount: 0, url: '/', etag: '"p"', sweep: 1, at: AT };
    notePage(tx, 1, { ...page, content: { rows: [], unreadable: [], ids: [1] } });
    storeDescriptor(tx, 1, { etag: '"t"', value: { name: 'Note' } as never });
    storeFacts(tx, 1, { identity_checked: 1, pull_consent: 5 });
  });
  bare.execute('UPDATE _rowsync_tables SET sweep_open = 1, end_proven = 1');
  return bare;
}

function trusted({ replica }: Bare): unknown {
  const { identityChecked, endProven, sweepOpen, pullConfirmedCount } = readTable(replica, 1);
  const etag = readPages(replica, 1)[0]?.etag;
  return {
    etag,
    table: readTableDescriptor(replica, 1)?.etag,
    identityChecked,
    endProven,
    sweepOpen,
    pullConfirmedCount,
  };
}

test('after a change of the caller nothing that was stored is trusted, and no consent is left', async () => {
  await using bare = await startProven();

  await store(bare, { ...CALLER, role: 'Reader' }, true);

  expect(trusted(bare)).toEqual({
    etag: null,
    table: undefined,
    identityChecked: false,
    endProven: false,
    sweepOpen: false,
    pullConfirmedCount: null,
  });
  expect(readIdentity(bare.replica)?.role).toBe('Reader');
});

test('another e-mail changes nothing of what is trusted', async () => {
  await using bare = await startProven();
  const before = trusted(bare);

  await store(bare, { ...CALLER, userEmail: 'b@example.com' });

  expect(trusted(bare)).toEqual(before);
});

test('another style of names has every table described again, and outlives another caller', async () => {
  await using bare = await startProven();

  await bare.write((tx) => storeNameStyle(tx, 'snake'));
  await store(bare, { ...CALLER, role: 'Reader' }, true);

  expect(readNameStyle(bare.replica)).toBe('snake');
  expect(readTableDescriptor(bare.replica, 1)).toBeNull();
});

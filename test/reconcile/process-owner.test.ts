import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { decideOwner, type Owner, type PathPart } from '../../src/reconcile/process-owner.ts';

const ROWSYNC = 990;
const MEMBER = 1001;

function part(path: string, uid: number, mode: number, kind: PathPart['kind'] = 'folder', gid = uid): PathPart {
  return { path, kind, uid, gid, mode };
}

const TOP = part('/', 0, 0o755);
const SHARED = part('/srv', ROWSYNC, 0o2770);
const BECOME = { uid: ROWSYNC, gid: ROWSYNC };
const STAY = null;
const REFUSE = 'replica.path';

/** What is decided, or the code of the error. */
function outcomeOf(parts: readonly PathPart[]): Owner | string | null {
  try {
    return decideOwner(parts);
  } catch (thrown) {
    return thrown instanceof RowsyncError ? thrown.code : String(thrown);
  }
}

test.each<[string, readonly PathPart[], Owner | string | null]>([
  ['everything is root’s', [TOP, part('/data', 0, 0o755), part('/data/r.db', 0, 0o600, 'file')], STAY],
  [
    'everything is root’s, in an open folder',
    [TOP, part('/data', 0, 0o777), part('/data/r.db', 0, 0o600, 'file')],
    STAY,
  ],
  ['a folder of root without a replica', [TOP, part('/data', 0, 0o755)], STAY],
  ['a shared folder without a replica', [TOP, SHARED], BECOME],
  ['a shared folder with the replica of its owner', [TOP, SHARED, part('/srv/r.db', ROWSYNC, 0o660, 'file')], BECOME],
  ['a shared folder with a file of a member', [TOP, SHARED, part('/srv/r.db', MEMBER, 0o660, 'file')], REFUSE],
  ['a shared folder with a link of a member', [TOP, SHARED, part('/srv/r.db', MEMBER, 0o777, 'link')], REFUSE],
  ['a shared folder with a file of root', [TOP, SHARED, part('/srv/r.db', 0, 0o600, 'file')], REFUSE],
  [
    'a folder of a member within a shared one',
    [TOP, SHARED, part('/srv/sub', MEMBER, 0o755), part('/srv/sub/r.db', MEMBER, 0o600, 'file')],
    REFUSE,
  ],
  [
    'a link of root that leads to another folder of the same owner',
    [
      TOP,
      SHARED,
      part('/srv/r.db', 0, 0o777, 'link'),
      TOP,
      part('/big', ROWSYNC, 0o700),
      part('/big/r.db', ROWSYNC, 0o600, 'file'),
    ],
    BECOME,
  ],
  [
    'a link of root that leads to the file of another',
    [
      TOP,
      SHARED,
      part('/srv/r.db', 0, 0o777, 'link'),
      TOP,
      part('/big', MEMBER, 0o700),
      part('/big/r.db', MEMBER, 0o600, 'file'),
    ],
    REFUSE,
  ],
  [
    'a folder of root that a group may write, with a file of a member',
    [TOP, part('/srv', 0, 0o2770, 'folder', ROWSYNC), part('/srv/r.db', MEMBER, 0o660, 'file')],
    REFUSE,
  ],
  [
    'a folder of root that only the group of root may write',
    [TOP, part('/srv', 0, 0o770), part('/srv/r.db', ROWSYNC, 0o660, 'file')],
    BECOME,
  ],
  [
    'a folder of root that another group may only read',
    [TOP, part('/srv', 0, 0o751, 'folder', 50), part('/srv/r.db', ROWSYNC, 0o660, 'file')],
    BECOME,
  ],
  ['a folder in one that everybody may write', [TOP, part('/open', 0, 0o777), part('/open/x', MEMBER, 0o700)], REFUSE],
  ['a folder in one like /tmp', [TOP, part('/tmp', 0, 0o1777), part('/tmp/x', ROWSYNC, 0o700)], BECOME],
  ['the file of a user in a closed folder of root', [TOP, part('/srv/r.db', ROWSYNC, 0o600, 'file')], BECOME],
])('%s', (_what, parts, expected) => {
  expect(outcomeOf(parts)).toEqual(expected);
});

test('the group is that of the folder, which its members share', () => {
  const folder = part('/srv', ROWSYNC, 0o2770, 'folder', 50);

  expect(decideOwner([TOP, folder, part('/srv/r.db', ROWSYNC, 0o660, 'file', 7)])).toEqual({
    uid: ROWSYNC,
    gid: 50,
  });
});

test('of several folders, the last one has the group', () => {
  const outer = part('/srv', ROWSYNC, 0o2770, 'folder', 50);
  const inner = part('/srv/main', ROWSYNC, 0o2770, 'folder', 60);

  expect(decideOwner([TOP, outer, inner, part('/srv/main/r.db', ROWSYNC, 0o660, 'file', 7)])).toMatchObject({
    gid: 60,
  });
});

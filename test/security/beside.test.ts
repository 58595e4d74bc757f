/**
 * Whoever may write to the folder of a shared replica can put another file of rowsync's user, or a link to one, in the
 * place of those there. None of them is opened up to him for that, and nothing is written through a link.
 */
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { makePageKey } from '../../src/extras/http/page-key.ts';
import { openReplica } from '../../src/replica/database.ts';
import { temporaryFolder } from '../support/replica.ts';

/** As long as a key of the page. */
const SECRET = 'a-token-of-forty-three-characters-or-some-more';
const OTHER_USER = 65_534;

/** What opens a shared replica does; what was wrong with the folder, if anything. */
function open(path: string): readonly string[] {
  const steps = [
    () => openReplica(path, { clock: systemClock, shared: true }).close(),
    () => makePageKey(path, { shared: true }),
  ];
  return steps.flatMap((step) => {
    try {
      step();
      return [];
    } catch (thrown) {
      if (thrown instanceof RowsyncError) return [thrown.code];
      throw thrown;
    }
  });
}

/** Every file below a folder that holds the secret, with the rights of its group and of others. */
function placesOfSecret(folder: string): Readonly<Record<string, number>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  const holding = paths.filter((path) => readFileSync(path, 'latin1').includes(SECRET));
  return Object.fromEntries(holding.map((path) => [path, statSync(path).mode & 0o077]));
}

const PLACES = ['', '.lock', '.page-key', '.sent', '.sent.partial'];

test.each(PLACES.flatMap((place) => [[place, 'a link'] as const, [place, 'the file itself'] as const]))(
  'in the place of replica.db%s, %s that leads to a token gives nobody the token',
  (place, what) => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'replica.db');
    const token = join(folder.path, 'private', 'token');
    expect(open(path)).toEqual([]);
    mkdirSync(join(folder.path, 'private'));
    writeFileSync(token, SECRET, { mode: 0o600 });
    rmSync(path + place, { force: true });
    if (place === '.sent.partial') rmSync(`${path}.sent`); // so that it is written anew
    if (what === 'a link') symlinkSync(token, path + place);
    else renameSync(token, path + place);

    const codes = open(path);

    const places = placesOfSecret(folder.path);
    expect(Object.values(places).filter((mode) => mode !== 0)).toEqual([]);
    // Where a link leads, it stands as it was.
    expect(what === 'a link' ? Object.keys(places) : [token]).toEqual([token]);
    // What is only a note of ours is made again; the replica and its lock are for a person to look at.
    expect(codes).toHaveLength(place === '' || place === '.lock' ? 1 : 0);
  },
);

test.skipIf(process.geteuid?.() !== 0)('another replica is not opened up by a link that somebody else made', () => {
  using folder = temporaryFolder();
  const [mine, link] = [join(folder.path, 'private.db'), join(folder.path, 'replica.db')];
  openReplica(mine, { clock: systemClock }).close();
  symlinkSync(mine, link);
  lchownSync(link, OTHER_USER, OTHER_USER);

  open(link);

  expect(statSync(mine).mode & 0o777).toBe(0o600);
});

test('a key that the group could not read gives way to a new one once the replica is shared', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const before = makePageKey(path, { shared: false });

  const after = makePageKey(path, { shared: true });

  expect(after).not.toBe(before);
  expect(makePageKey(path, { shared: true })).toBe(after);
  expect(statSync(`${path}.page-key`).mode & 0o777).toBe(0o660);
});

test('a lock that leads to where nothing stands makes nothing there', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  symlinkSync(join(folder.path, 'elsewhere'), `${path}.lock`);

  expect(open(path)).toEqual(['replica.path']);
  expect(existsSync(join(folder.path, 'elsewhere'))).toBe(false);
});

/**
 * On whose behalf root works, in a folder that those who share the replica may write: never as root because of what they put there. Each
 * case is a process of its own, since whoever gives up root is not root again.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/replica.ts';

const OWNER = 65_533;
const STRANGER = 65_534;
const MODULE = new URL('../../src/cli/owner.ts', import.meta.url).href;

/** Who a process of root is after this call. */
function uidAfter(call: string): number {
  const source = `import { becomeOwnerOf, becomeOwnerWhoReads } from '${MODULE}';
    ${call};
    console.log(process.getuid() === process.geteuid() ? process.getuid() : 'both');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return Number(stdout);
}

/** A folder that everybody may write, of the owner of the replica, and files of root elsewhere. */
function startFolder(): { folder: string; path: string; roots: string; [Symbol.dispose](): void } {
  const temporary = temporaryFolder();
  const folder = join(temporary.path, 'shared');
  const roots = join(temporary.path, 'of root');
  chmodSync(temporary.path, 0o755);
  mkdirSync(folder);
  chownSync(folder, OWNER, OWNER);
  writeFileSync(roots, 'what root alone may read', { mode: 0o600 });
  return { folder, path: join(folder, 'replica.db'), roots, [Symbol.dispose]: () => temporary[Symbol.dispose]() };
}

describe.skipIf(process.geteuid?.() !== 0)('root', () => {
  test.each<[string, (path: string, roots: string) => void, number]>([
    ['is the owner of the folder where there is no replica', () => undefined, OWNER],
    [
      'is the owner of the replica',
      (path) => {
        writeFileSync(path, '');
        chownSync(path, STRANGER, STRANGER);
      },
      STRANGER,
    ],
    ['stays root where the replica is its own', (path) => writeFileSync(path, ''), 0],
    [
      'is whoever made a link to a file of its own',
      (path, roots) => {
        symlinkSync(roots, path);
        lchownSync(path, STRANGER, STRANGER);
      },
      STRANGER,
    ],
    [
      'follows a link that it has made itself',
      (path) => {
        writeFileSync(`${path}.real`, '');
        chownSync(`${path}.real`, STRANGER, STRANGER);
        symlinkSync(`${path}.real`, path);
      },
      STRANGER,
    ],
  ])('%s', (_what, prepare, uid) => {
    using place = startFolder();
    prepare(place.path, place.roots);

    expect(uidAfter(`becomeOwnerOf(${JSON.stringify(place.path)})`)).toBe(uid);
  });

  test.each([
    ['goes on as the owner where that may read the backup', 0o644, OWNER],
    ['goes on as itself where it alone may', 0o600, 0],
  ])('%s', (_what, mode, uid) => {
    using place = startFolder();
    chmodSync(place.roots, mode);

    expect(uidAfter(`becomeOwnerWhoReads(${JSON.stringify(place.path)}, ${JSON.stringify(place.roots)})`)).toBe(uid);
  });
});

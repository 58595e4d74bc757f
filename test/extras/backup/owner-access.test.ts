/**
 * What the user that root is going to become may do, asked while the process still is root. Each case is a process of
 * its own, since a mistake would leave this one another user's.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../support/replica.ts';

const OWNER = 65_533;
const MODULE = new URL('../../../src/extras/backup/owner-access.ts', import.meta.url).href;

/** The answers of a process of root, and what it is afterwards. */
function asRoot(question: 'mayRead' | 'mayMake', ...paths: readonly string[]): unknown {
  const source = `import { mayMake, mayRead } from '${MODULE}';
    process.setgroups([0, 7]);
    const answers = ${JSON.stringify(paths)}.map((path) => ${question}({ uid: ${OWNER}, gid: ${OWNER} }, path));
    console.log(JSON.stringify([...answers, process.geteuid(), process.getegid(), process.getgroups().toSorted()]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

/** A folder of the owner, and a file and a folder of root. */
function startFolder() {
  const temporary = temporaryFolder();
  const [owners, roots, file] = ['owners', 'roots', 'file'].map((name) => join(temporary.path, name)) as [
    string,
    string,
    string,
  ];
  chmodSync(temporary.path, 0o755);
  for (const folder of [owners, roots]) mkdirSync(folder);
  chownSync(owners, OWNER, OWNER);
  writeFileSync(file, 'what root alone may read', { mode: 0o600 });
  return { owners, roots, file, [Symbol.dispose]: () => temporary[Symbol.dispose]() };
}

const ROOT_AGAIN = [0, 0, [0, 7]];

describe.skipIf(process.geteuid?.() !== 0)('root knows that its user', () => {
  test('may read what all may read, and nothing that root alone may, or that is not there', () => {
    using place = startFolder();
    const closed = asRoot('mayRead', place.file, `${place.file}.missing`);
    chmodSync(place.file, 0o644);

    expect(closed).toEqual([false, false, ...ROOT_AGAIN]);
    expect(asRoot('mayRead', place.file)).toEqual([true, ...ROOT_AGAIN]);
  });

  test('may make a file in its own folder, none in one of root or in none, and leaves nothing there', () => {
    using place = startFolder();
    const targets = [place.owners, place.roots, `${place.roots}.missing`].map((folder) => join(folder, 'copy.db'));

    expect(asRoot('mayMake', ...targets)).toEqual([true, false, false, ...ROOT_AGAIN]);
    expect([readdirSync(place.owners), readdirSync(place.roots)]).toEqual([[], []]);
    expect(existsSync(targets[0] ?? '')).toBe(false);
  });
});

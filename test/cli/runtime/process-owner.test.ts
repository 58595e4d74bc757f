/**
 * On whose behalf root works, in a folder that those who share the replica may write: never as root because of what
 * they put there. Each case is a process of its own, since whoever gives up root is not root again.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../support/replica.ts';

const OWNER = 65_533;
const STRANGER = 65_534;
const MODULE = new URL('../../../src/cli/runtime/process-owner.ts', import.meta.url).href;

/** What a process of root says of this expression. */
function asRoot(expression: string, within: readonly string[] = []): string {
  const source = `import { lstatSync } from 'node:fs';
    import { become, ownerOf } from '${MODULE}';
    const workOn = (path) => {
      const owner = ownerOf(path);
      if (owner !== null) become(owner);
      return process.getuid() === process.geteuid() ? process.getuid() : 'both';
    };
    try { console.log(${expression}) } catch (thrown) { console.log(thrown.code) }`;
  const [program, ...words] = [...within, process.execPath, '--input-type=module', '-e', source];
  const { stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return stdout.trim();
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
  test.each<[string, (path: string, roots: string) => void, number | string]>([
    ['is the owner of the folder where there is no replica', () => undefined, OWNER],
    [
      'is the owner of the folder and the replica',
      (path) => {
        writeFileSync(path, '');
        chownSync(path, OWNER, OWNER);
      },
      OWNER,
    ],
    [
      'is not the owner of a file that another user put there',
      (path) => {
        writeFileSync(path, '');
        chownSync(path, STRANGER, STRANGER);
      },
      'replica.path',
    ],
    ['works on no file of its own in the folder of another', (path) => writeFileSync(path, ''), 'replica.path'],
    [
      'is not whoever made a link',
      (path, roots) => {
        symlinkSync(roots, path);
        lchownSync(path, STRANGER, STRANGER);
      },
      'replica.path',
    ],
    [
      'follows a link that it has made itself',
      (path) => {
        writeFileSync(`${path}.real`, '');
        chownSync(`${path}.real`, OWNER, OWNER);
        symlinkSync(`${path}.real`, path);
      },
      OWNER,
    ],
    [
      'stays root where everything is its own',
      (path, roots) => {
        chownSync(join(path, '..'), 0, 0);
        symlinkSync(roots, path);
      },
      0,
    ],
  ])('%s', (_what, prepare, uid) => {
    using place = startFolder();
    prepare(place.path, place.roots);

    expect(asRoot(`workOn(${JSON.stringify(place.path)})`)).toBe(String(uid));
  });

  test('says so where the system does not let it become the owner', () => {
    using place = startFolder();

    const said = asRoot(`workOn(${JSON.stringify(place.path)})`, ['setpriv', '--bounding-set=-setuid,-setgid']);

    expect(said).toBe('replica.path');
  });

  test.skipIf(spawnSync('unshare', ['-U', '-r', 'true']).status !== 0)(
    'stays root in a container that does not know who owns the folders above',
    () => {
      using place = startFolder();
      const container = ['setpriv', `--reuid=${OWNER}`, `--regid=${OWNER}`, '--clear-groups', 'unshare', '-U', '-r'];

      const said = asRoot(`\`\${lstatSync('/').uid} \${workOn(${JSON.stringify(place.path)})}\``, container);

      expect(said).toBe('65534 0');
    },
  );
});

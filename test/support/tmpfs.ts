/**
 * Small file systems in memory, for disks that fill up and folders that nobody may write. Mounting takes rights that
 * not every machine gives; `canMount` says whether this one does.
 */
import { spawnSync } from 'node:child_process';
import { temporaryFolder } from './replica.ts';

/** A mounted tmpfs; disposing it unmounts it. */
export interface Tmpfs {
  readonly path: string;
  /** Gives it another size, or takes the right to write away. */
  remount(options: string): void;
  [Symbol.dispose](): void;
}

/** Mounts a tmpfs of so many KiB. */
export function mountTmpfs(sizeKiB: number): Tmpfs {
  const folder = temporaryFolder();
  const run = (command: string, ...args: readonly string[]): void => {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')}: ${stderr}`);
  };
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${sizeKiB}k`, 'tmpfs', folder.path);
  } catch (thrown) {
    folder[Symbol.dispose]();
    throw thrown;
  }
  return {
    path: folder.path,
    remount: (options) => run('mount', '-o', `remount,${options}`, folder.path),
    [Symbol.dispose]: () => {
      run('umount', folder.path);
      folder[Symbol.dispose]();
    },
  };
}

/** Whether this process may mount a tmpfs. */
export const canMount = ((): boolean => {
  try {
    mountTmpfs(64)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
})();

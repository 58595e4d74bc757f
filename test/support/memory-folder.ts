/**
 * Temporary files of tests stand in memory, where a sync costs nothing: most tests make a replica, and wait for the
 * disk more than for anything else. No test asks whether a disk keeps what was synced.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
const BYTES_MIN = 2 ** 30;

/** Whether there is a folder in memory with enough room, from which programs may be run. */
function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const mount = mounts.findLast((line) => line.split(' ')[1] === MEMORY);
  return mount?.includes('noexec') === false && bavail * bsize > BYTES_MIN;
}

/** The folder of this run; undefined where temporary files stand where the system says. */
export const MEMORY_FOLDER = hasMemory() ? `${MEMORY}/rowsync-tests-${process.pid}` : undefined;

/** Called by vitest before the first test; what it returns, behind the last. */
export default function setup(): (() => void) | undefined {
  if (MEMORY_FOLDER === undefined) return undefined;
  const folder = MEMORY_FOLDER;
  mkdirSync(folder, { recursive: true });
  // Some tests run programs as another user.
  chmodSync(folder, 0o1777);
  return () => rmSync(folder, { recursive: true, force: true });
}

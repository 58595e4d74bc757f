/**
 * On whose behalf root works on a replica. Input: the path of the replica. Output: a process that is its owner, where root began it.
 *
 * An administrator runs a command with sudo while the service is stopped. What root made beside the replica (content of files,
 * counts, folders) would be closed to the service afterwards; so the process becomes the owner of the replica for good, once it
 * has read the configuration and the token. Nothing changes for anybody but root.
 */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Becomes the owner of a replica, or of its folder where there is none yet; does nothing for whoever is not root. */
export function becomeOwnerOf(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const found = statSync(path, { throwIfNoEntry: false }) ?? statSync(dirname(path), { throwIfNoEntry: false });
  if (found === undefined || found.uid === 0) return;
  process.setgroups?.([found.gid]);
  process.setgid?.(found.gid);
  process.setuid?.(found.uid);
}

/**
 * On whose behalf root works on a replica. Input: the path of the replica. Output: a process that is its owner, where root began it.
 *
 * An administrator runs a command with sudo while the service is stopped. What root made beside the replica (content of files,
 * counts, folders) would be closed to the service afterwards. Those who share the replica may write its folder, and root must not
 * follow what they put there. So the process becomes the owner of the replica permanently, once it has read the configuration and
 * the token. Nothing changes for anybody but root.
 */
import { closeSync, lstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Root becomes the owner of a replica, or of its folder if there is none yet; other users stay who they are. */
export function becomeOwnerOf(path: string): void {
  const owner = ownerOf(path);
  if (owner !== null) become(owner);
}

/** The same where the owner may read a file that root has named, as those are that the daemon makes; otherwise root continues as itself. */
export function becomeOwnerWhoReads(path: string, file: string): void {
  const owner = ownerOf(path);
  if (owner !== null && mayRead(owner, file)) become(owner);
}

/** Null if no change is needed. A link is followed if root made it; any other acts for the user who made it. */
function ownerOf(path: string): Owner | null {
  if (process.geteuid?.() !== 0) return null;
  const place = lstatSync(path, { throwIfNoEntry: false });
  const isOwnLink = place?.isSymbolicLink() === true && place.uid === 0;
  const found = isOwnLink ? statSync(path, { throwIfNoEntry: false }) : place;
  const owner = found ?? statSync(dirname(path), { throwIfNoEntry: false });
  return owner === undefined || owner.uid === 0 ? null : owner;
}

function become({ uid, gid }: Owner): void {
  process.setgroups?.([gid]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

function mayRead({ uid, gid }: Owner, file: string): boolean {
  const before = { groups: process.getgroups?.() ?? [], gid: process.getegid?.() ?? 0 };
  process.setgroups?.([gid]);
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    closeSync(openSync(file, 'r'));
    return true;
  } catch {
    return false; // closed to it, or missing, which is said later
  } finally {
    process.seteuid?.(0);
    process.setegid?.(before.gid);
    process.setgroups?.(before.groups);
  }
}

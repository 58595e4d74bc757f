/**
 * What the user that root becomes may do; asked while the process still is root.
 */
import { closeSync, openSync, rmdirSync, mkdtempSync } from 'node:fs';
import type { Owner } from '../../reconcile/process-owner.ts';

/** Whether a user may read a file that root has named. */
export function mayRead(owner: Owner, file: string): boolean {
  return attemptAs(owner, () => closeSync(openSync(file, 'r')));
}

/** Whether a user may make a file with a name that root has given. */
export function mayMake(owner: Owner, file: string): boolean {
  return attemptAs(owner, () => rmdirSync(mkdtempSync(`${file}.`)));
}

function attemptAs({ uid, gid }: Owner, attempt: () => void): boolean {
  const before = { groups: process.getgroups?.() ?? [], gid: process.getegid?.() ?? 0 };
  try {
    process.setgroups?.([gid]);
    process.setegid?.(gid);
    process.seteuid?.(uid);
    attempt();
    return true;
  } catch {
    return false; // closed to this user, or missing, which is said later
  } finally {
    process.seteuid?.(0);
    process.setegid?.(before.gid);
    if (process.getgroups?.().join() !== before.groups.join()) process.setgroups?.(before.groups);
  }
}

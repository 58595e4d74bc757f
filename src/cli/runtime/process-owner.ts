/**
 * On whose behalf root works on a replica. People who share it may write its folder, and root must neither follow nor
 * run what they put there. So a process of root becomes the owner of that folder permanently. Nothing changes for other
 * users, or where everything is root's own.
 */
import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { RowsyncError } from '../../base/errors.ts';
import { systemCode } from '../../config/secrets.ts';
import { decideOwner, type Owner, type PathPart } from '../../reconcile/process-owner.ts';

const LINKS_MAX = 40;

/** Whom root becomes for a replica; null if it stays root, or is not root. @throws RowsyncError `replica.path`. */
export function ownerOf(path: string): Owner | null {
  return process.geteuid?.() === 0 ? decideOwner(partsOf(resolve(path))) : null;
}

/** Gives up root for good. @throws RowsyncError `replica.path` in a container without the capability. */
export function become({ uid, gid }: Owner): void {
  try {
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (cause) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `The folder of the replica belongs to the user ${uid}, and the system does not let root become that user (${systemCode(cause)})`,
      hint: 'Run the command as that user, or give the process the capabilities CAP_SETUID and CAP_SETGID.',
      cause,
    });
  }
}

/** Every user that a container does not know, root of the machine among them, who owns what is above the replica. */
const UNKNOWN_USER = 65_534;

/** Whether this is a container in which some users of the machine have no number (user_namespaces(7)). */
function hasUnknownUsers(): boolean {
  try {
    return !/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8'));
  } catch {
    return false; // no Linux
  }
}

/** The parts of a path as far as they exist. Links of root are followed, as root made them; any other ends the path. */
function partsOf(path: string): readonly PathPart[] {
  const parts: PathPart[] = [];
  const isInContainer = hasUnknownUsers();
  const add = (place: string, found: Stats): void => void parts.push(partOf(place, found, isInContainer));
  let linkCount = 0;
  const { root } = parse(path);
  const namesIn = (absolute: string): string[] => absolute.split(sep).filter((name) => name !== '');
  let names = namesIn(path);
  let at = root;
  add(at, lstatSync(at));
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    at = join(at, name);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found === undefined) break;
    add(at, found);
    if (!found.isSymbolicLink()) continue;
    linkCount += 1;
    if (found.uid !== 0 || linkCount > LINKS_MAX) break;
    names = namesIn(join(resolve(dirname(at), readlinkSync(at)), ...names));
    at = root;
    add(at, lstatSync(at));
  }
  return parts;
}

function partOf(path: string, found: Stats, isInContainer: boolean): PathPart {
  const uid = isInContainer && found.uid === UNKNOWN_USER ? 0 : found.uid;
  const kind = found.isSymbolicLink() ? 'link' : found.isDirectory() ? 'folder' : 'file';
  return { path, kind, uid, gid: found.gid, mode: found.mode };
}

/**
 * Who root becomes before it works on a replica. It is decided from the folders that lead to the file. A file in a
 * shared folder can be replaced by everyone who may write there, the folder itself only by its owner. Pure.
 */
import { RowsyncError } from '../base/errors.ts';

/** What the file system says of one part of a path. */
export interface PathPart {
  readonly path: string;
  readonly kind: 'folder' | 'file' | 'link';
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** A user to become. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Decides by the parts from `/` down to the replica, or to the last one that exists. A link of root is followed by the
 * parts of its target; any other link is the last part. The first owner that is not root owns all that follows. Null if
 * root stays root.
 * @throws RowsyncError `replica.path` where it must not work at all.
 */
export function decideOwner(parts: readonly PathPart[]): Owner | null {
  const first = parts.findIndex(({ uid }) => uid !== 0);
  const owner = parts[first];
  if (owner === undefined) return null;
  const above = parts[first - 1];
  // What is in a sticky folder can be exchanged by its owner alone.
  if (above !== undefined && mayOthersWrite(above) && (above.mode & 0o1000) === 0) throw plantedError(owner, above);
  const foreign = parts.slice(first).find(({ uid, kind }) => uid !== owner.uid && (uid !== 0 || kind === 'file'));
  if (foreign !== undefined) throw foreignError(foreign, owner);
  const { gid } = parts.findLast(({ uid, kind }) => uid === owner.uid && kind === 'folder') ?? owner;
  return { uid: owner.uid, gid };
}

/** Whether others than root may put something into a folder of root. */
export function mayOthersWrite({ mode, gid }: Pick<PathPart, 'mode' | 'gid'>): boolean {
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== 0);
}

function plantedError({ path, uid }: PathPart, above: PathPart): RowsyncError {
  return new RowsyncError('replica', 'replica.path', {
    message: `${path} belongs to the user ${uid}, and everyone who may write ${above.path} can have put it there: root does not work on it`,
    hint: `Give ${above.path} to the user that rowsync runs as (chown), or run the command as that user.`,
  });
}

function foreignError({ path, uid }: PathPart, owner: PathPart): RowsyncError {
  return new RowsyncError('replica', 'replica.path', {
    message: `${path} belongs to the user ${uid}, but ${owner.path} to the user ${owner.uid}: somebody may have put it there, so root does not work on it`,
    hint: `Find out whose file it is. If it is the replica, give it back (chown ${owner.uid}:${owner.gid}), or run the command as the user that rowsync runs as.`,
  });
}

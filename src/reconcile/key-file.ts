/**
 * Whether the key in a file is to be believed. People who share the replica may write its folder, so they can put a file there whose content they
 * know. Pure.
 */

/** What the file system says of a file with a key. */
export interface KeyFileFacts {
  readonly uid: number;
  readonly mode: number;
  /** Who made the link at its path; null where there is none. */
  readonly linkUid: number | null;
  /** The mode of the folder. */
  readonly folderMode: number;
}

/** Why a key is refused: the end of a sentence that begins with the file; null if it is believed. `us` is the user of this process. */
export function keyFileProblem({ uid, mode, linkUid, folderMode }: KeyFileFacts, us: number): string | null {
  const isOurs = (owner: number): boolean => owner === us || owner === 0;
  if (linkUid !== null && !isOurs(linkUid)) return `is a link that the user ${linkUid} made`;
  if (!isOurs(uid)) return `belongs to the user ${uid}`;
  if ((mode & 0o022) !== 0) return `can be written by others (mode ${(mode & 0o777).toString(8)})`;
  // In such a folder, a link may lead to a file of root that everybody reads.
  const isExchangeable = (folderMode & 0o022) !== 0;
  if (isExchangeable && (mode & 0o044) !== 0) return 'can be read by others, and stands where others may write';
  return null;
}

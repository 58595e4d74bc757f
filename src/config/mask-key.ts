/**
 * The key for hashing values: a separate secret file, made when it is first needed. Whoever has the key can find a
 * hashed value by trying, so a key that another user may know is refused. No message contains the key (I16).
 */
import { lstatSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { RowsyncError } from '../base/errors.ts';
import { isSystemdCredential, processEnvironment, readNamedSecret, SecretSources, systemCode } from './secrets.ts';

const KEY_BYTES = 32;
/** Shorter ones could be guessed. */
const KEY_CHARS_MIN = 16;

/** The key in a file, or null where there is no such file or it cannot be used. */
export function findMaskKey(path: string): string | null {
  return maskKeyProblem(path) === null ? readKey(path).key : null;
}

/** Why the key in a file is not trusted, as a sentence; null if it is, or there is none. */
export function maskKeyProblem(path: string): string | null {
  try {
    const place = lstatSync(path, { throwIfNoEntry: false });
    const file = statSync(path, { throwIfNoEntry: false });
    if (place === undefined || file === undefined || isSystemdCredential(path, processEnvironment())) return null;
    const { uid, mode } = file;
    const linkUid = place.isSymbolicLink() ? place.uid : null;
    const folderMode = statSync(dirname(path)).mode;
    const why = keyFileProblem({ uid, mode, linkUid, folderMode }, process.geteuid?.() ?? uid);
    return why === null
      ? null
      : `The key of the masks in ${path} is not used: the file ${why}, so others may know the key`;
  } catch (thrown) {
    return `The key of the masks in ${path} is not used: it cannot be looked at (${systemCode(thrown)})`;
  }
}

/** The key in a file, which is made if it is missing. @throws RowsyncError `config.maskKey`, `config.secret`. */
export function maskKey(path: string): string {
  makeKey(path);
  const refused = maskKeyProblem(path);
  if (refused !== null) {
    throw new RowsyncError('config', 'config.maskKey', {
      message: `${refused}; no row was read`,
      hint: `Find out who put it there. Put the former key back, as a file of rowsync's user in a folder that others cannot write to (replica.maskKeyFile).`,
    });
  }
  const { key, complaint } = readKey(path);
  if (key !== null) return key;
  throw secretError(`replica.maskKeyFile ${complaint}`);
}

export function newMaskKey(): string {
  // Commands that make no key do not load it: it takes 7 MiB.
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  return `${randomBytes(KEY_BYTES).toString('base64url')}\n`;
}

/** The key in a file, or what is wrong with it. */
function readKey(path: string): { readonly key: string | null; readonly complaint: string } {
  const sources = new SecretSources('/', processEnvironment());
  const secret = readNamedSecret(['replica', 'maskKeyFile'], path, sources);
  const complaint = sources.problems[0]?.complaint ?? `has a key of fewer than ${KEY_CHARS_MIN} characters`;
  return { key: secret !== null && secret.length >= KEY_CHARS_MIN ? secret : null, complaint };
}

/** Leaves alone what is there, also a link that leads nowhere. */
function makeKey(path: string): void {
  try {
    writeFileSync(path, newMaskKey(), { flag: 'wx', mode: 0o600, flush: true });
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code !== 'EEXIST') throw secretError(`replica.maskKeyFile: ${path} cannot be made (${code})`);
  }
}

function secretError(message: string): RowsyncError {
  return new RowsyncError('config', 'config.secret', {
    message,
    hint: 'Keep the key in a file that only the user who runs rowsync can read; for a service, that is /etc/rowsync/NAME.mask-key.',
  });
}

export interface KeyFileFacts {
  readonly uid: number;
  readonly mode: number;
  /** Who made the link at its path; null where there is none. */
  readonly linkUid: number | null;
  readonly folderMode: number;
}

/** Why a key is refused: the end of a sentence about the file; null if it is not. `us` is the user of this process. */
export function keyFileProblem({ uid, mode, linkUid, folderMode }: KeyFileFacts, us: number): string | null {
  const isOurs = (owner: number): boolean => owner === us || owner === 0;
  if (linkUid !== null && !isOurs(linkUid)) return `is a link that the user ${linkUid} made`;
  if (!isOurs(uid)) return `belongs to the user ${uid}`;
  if ((mode & 0o022) !== 0) return `can be written by others (mode ${(mode & 0o777).toString(8)})`;
  // In such a folder, a link may lead to a world-readable file of root.
  const isExchangeable = (folderMode & 0o022) !== 0;
  if (isExchangeable && (mode & 0o044) !== 0) return 'can be read by others, in a folder where others may write';
  return null;
}

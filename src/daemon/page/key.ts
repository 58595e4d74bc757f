/**
 * Who may see values of rows on the page and decide. Whoever has the key, a file beside the replica with the replica's own mode.
 * So the right to read the one is the right to see the other. A browser shows the key once and gets a cookie for it.
 *
 * Every comparison of a secret takes the same time for every text. The key survives restarts; delete the file and restart to
 * make all browsers sign in anew. The token of the page's forms is made with each start.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { RowsyncError } from '../../base/errors.ts';
import { replicaError } from '../../replica/failures.ts';

/** Where the key of a replica stands. */
export function pageKeyPath(replicaPath: string): string {
  return `${replicaPath}.page-key`;
}

/** Shorter ones could be guessed; ours have 43 characters. */
const KEY_CHARS_MIN = 32;
const KEY_BYTES = 32;

/** The key of a replica, or null where there is none or it may not be read. */
export function readPageKey(replicaPath: string): string | null {
  try {
    return readFileSync(pageKeyPath(replicaPath), 'utf8').trim();
  } catch {
    return null;
  }
}

/** The key of a replica, made if it is missing. @throws RowsyncError `replica.path`, `replica.full`, … */
export function makePageKey(replicaPath: string, { shared }: { readonly shared: boolean }): string {
  const path = pageKeyPath(replicaPath);
  const mode = shared ? 0o660 : 0o600;
  try {
    const key = keepKey(path, mode) ?? makeKey(path, mode);
    if (key.length >= KEY_CHARS_MIN) return key;
  } catch (thrown) {
    throw replicaError(thrown, `Making the key of the status page ${path}`);
  }
  throw new RowsyncError('replica', 'replica.path', {
    message: `The key of the status page in ${path} has fewer than ${KEY_CHARS_MIN} characters`,
    hint: 'Delete the file; the daemon makes a new key when it starts.',
  });
}

/**
 * The key that is there, closed to all but its readers from now on; null where there is none. What is closed to some of them
 * goes, and is never opened up. Whoever may write to the folder can have put another file of this user there, or a link to one.
 */
function keepKey(path: string, mode: number): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile() || (mode & OTHERS_MODE & ~found.mode) !== 0) {
    rmSync(path);
    return null;
  }
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const present = fstatSync(file).mode & 0o777;
    if ((present & mode) !== present) fchmodSync(file, present & mode);
    return readFileSync(file, 'utf8').trim();
  } finally {
    closeSync(file);
  }
}

/** Bits of a mode that let others than the owner use a file. */
const OTHERS_MODE = 0o077;

function makeKey(path: string, mode: number): string {
  const key = randomBytes(KEY_BYTES).toString('base64url');
  const file = openSync(path, 'wx', mode);
  try {
    fchmodSync(file, mode); // the process may mask bits of new files
    writeSync(file, `${key}\n`);
  } finally {
    closeSync(file);
  }
  return key;
}

/** What tells those who may decide from others. */
export interface PageAuth {
  /** Whether a text is the key. */
  isKey(text: string): boolean;
  /** What a browser keeps in place of the key; whoever steals it does not have the key. */
  readonly session: string;
  isSession(text: string): boolean;
  /** Stands in every form; no other site can read it. */
  readonly formToken: string;
  isFormToken(text: string): boolean;
}

/** Who may decide, by a key. */
export function openPageAuth(key: string): PageAuth {
  const session = createHmac('sha256', key).update('session of the status page').digest('base64url');
  const formToken = randomBytes(KEY_BYTES).toString('base64url');
  return {
    isKey: (text) => isSame(text, key),
    session,
    isSession: (text) => isSame(text, session),
    formToken,
    isFormToken: (text) => isSame(text, formToken),
  };
}

/** Compares digests, which have one length whatever was sent. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

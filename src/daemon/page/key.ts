/**
 * Who may see values of rows on the page and decide: everyone with the key, a file beside the replica with the mode of the replica. So the right to
 * read the replica is the right to see the page. A browser shows the key once and gets a cookie.
 *
 * Every comparison of a secret takes the same time for every text. The key survives restarts; delete the file and restart to make all browsers sign
 * in again. Each start makes a new token for the page's forms; every page adds a number that counts once.
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

/** The file of a replica's key. */
export function pageKeyPath(replicaPath: string): string {
  return `${replicaPath}.page-key`;
}

/** Shorter ones could be guessed; ours have 43 characters. */
const KEY_CHARS_MIN = 32;
const KEY_BYTES = 32;
const PAGE_NUMBER_BYTES = 9;

/** The key of a replica; null if it is missing or may not be read. */
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
 * An existing key, which is then closed to others than its readers; null if there is none. A key that some readers may not read is replaced, and
 * never opened up: a person who may write to the folder can put another file of this user there, or a link to one.
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

/** Mode bits that let others than the owner use a file. */
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

/** Identifies people who may decide. */
export interface PageAuth {
  /** Whether a text is the key. */
  isKey(text: string): boolean;
  /** The cookie of a browser; a thief of it does not have the key. */
  readonly session: string;
  isSession(text: string): boolean;
  /** Part of every form of one page; no other site can read it. Another one with every call. */
  formToken(): string;
  isFormToken(text: string): boolean;
}

/** Who may decide, by a key. */
export function openPageAuth(key: string): PageAuth {
  const session = createHmac('sha256', key).update('session of the status page').digest('base64url');
  const token = randomBytes(KEY_BYTES).toString('base64url');
  return {
    isKey: (text) => isSame(text, key),
    session,
    isSession: (text) => isSame(text, session),
    formToken: () => `${token}.${randomBytes(PAGE_NUMBER_BYTES).toString('base64url')}`,
    isFormToken: (text) => isSame(text.split('.')[0] ?? '', token),
  };
}

/** Compares digests, which have one length for every input. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

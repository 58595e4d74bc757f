/**
 * Who may see values of rows on the page and decide: everyone with the key, a file beside the replica with the mode of
 * the replica. So the right to read the replica is the right to see the page. A browser shows the key once and gets a
 * cookie.
 *
 * Every comparison of a secret takes the same time for every text. Each sign-in has a session of its own, which the
 * daemon keeps in memory: signing out ends it, and so does a restart. Each start makes a new token for the page's
 * forms; every page adds a number that counts once.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
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
import type { Clock } from '../../base/clock.ts';
import { RowsyncError } from '../../base/errors.ts';
import { pageKeyPath } from '../shared/daemon-client.ts';
import { replicaError } from '../../replica/sqlite-errors.ts';

/** Shorter ones could be guessed; ours have 43 characters. */
const KEY_CHARS_MIN = 32;
const KEY_BYTES = 32;
const PAGE_NUMBER_BYTES = 9;

/** The key of a replica, made if it is missing. @throws RowsyncError `replica.path`, `replica.full`, … */
export function makePageKey(replicaPath: string, { shared }: { readonly shared: boolean }): string {
  return makeKeyFile(pageKeyPath(replicaPath), { shared, what: 'the key of the status page' });
}

/** The text of a file with a key, made if it is missing. @throws RowsyncError `replica.path`, `replica.full`, … */
export function makeKeyFile(
  path: string,
  { shared, what }: { readonly shared: boolean; readonly what: string },
): string {
  const mode = shared ? 0o660 : 0o600;
  try {
    const key = keepKey(path, mode) ?? makeKey(path, mode);
    if (key.length >= KEY_CHARS_MIN) return key;
  } catch (thrown) {
    throw replicaError(thrown, `Making ${what} ${path}`);
  }
  throw new RowsyncError('replica', 'replica.path', {
    message: `${what.replace('the', 'The')} in ${path} has fewer than ${KEY_CHARS_MIN} characters`,
    hint: 'Delete the file; the daemon makes a new one when it starts.',
  });
}

/**
 * An existing key, after restricting it to its readers; null if there is none. A key that some readers may not read is
 * replaced. Its permissions are never widened: a person who may write to the folder can put another file of this user
 * there, or a link to one.
 */
function keepKey(path: string, mode: number): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile() || (mode & OTHERS_MODE & ~found.mode) !== 0) {
    rmSync(path);
    return null;
  }
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
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

export interface PageAuth {
  isKey(text: string): boolean;
  /** Begins a session: its text is the cookie of one browser, and says nothing of the key. */
  signIn(): string;
  /** Whether a session is under way; asking keeps it from becoming idle. */
  isSession(text: string): boolean;
  signOut(session: string): void;
  /** Part of every form of one page; no other site can read it. Another one with every call. */
  formToken(): string;
  isFormToken(text: string): boolean;
}

/** A session ends after twelve hours without a request, and after thirty days in any case. */
const IDLE_MS_MAX = 12 * 3_600_000;
export const SESSION_MS_MAX = 30 * 24 * 3_600_000;
/** Browsers that are signed in at once; the one that was idle for longest gives way. */
const SESSIONS_MAX = 200;

export function openPageAuth(key: string, clock: Pick<Clock, 'monotonicMs'>): PageAuth {
  const token = randomBytes(KEY_BYTES).toString('base64url');
  const sessions = new Map<string, { readonly begunMs: number; readonly usedMs: number }>();
  // A look-up by digest leaks nothing about a session through its timing.
  const digestOf = (text: string): string => hash('sha256', text);
  const use = (digest: string, begunMs: number): void => {
    sessions.delete(digest); // the one that was idle for longest is the first
    sessions.set(digest, { begunMs, usedMs: clock.monotonicMs() });
    const [idle = digest] = sessions.keys();
    if (sessions.size > SESSIONS_MAX) sessions.delete(idle);
  };
  return {
    isKey: (text) => isSame(text, key),
    signIn: () => {
      const session = randomBytes(KEY_BYTES).toString('base64url');
      use(digestOf(session), clock.monotonicMs());
      return session;
    },
    isSession: (text) => {
      const digest = digestOf(text);
      const found = sessions.get(digest);
      if (found === undefined) return false;
      const nowMs = clock.monotonicMs();
      const isOver = nowMs - found.usedMs > IDLE_MS_MAX || nowMs - found.begunMs > SESSION_MS_MAX;
      if (isOver) sessions.delete(digest);
      else use(digest, found.begunMs);
      return !isOver;
    },
    signOut: (session) => void sessions.delete(digestOf(session)),
    formToken: () => `${token}.${randomBytes(PAGE_NUMBER_BYTES).toString('base64url')}`,
    isFormToken: (text) => isSame(text.split('.')[0] ?? '', token),
  };
}

/** Whether a secret was given, in constant time: compares digests, which have one length for every input. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

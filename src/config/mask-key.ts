/**
 * The key for hashing values: a separate secret file, made when it is first needed. With the key, values can be tried until one has a given hash.
 * Output: the key. Invariant: it gets into no message (I16).
 */
import { closeSync, existsSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { RowsyncError } from '../base/errors.ts';
import { processEnvironment, readNamedSecret, systemCode } from './secrets.ts';

const KEY_BYTES = 32;
/** Shorter ones could be guessed. */
const KEY_CHARS_MIN = 16;

/** The key in a file, or null where there is no such file or it cannot be used. */
export function findMaskKey(path: string): string | null {
  return existsSync(path) ? readKey(path).secret : null;
}

/** The key in a file, which is made if it is missing. @throws RowsyncError `config.secret`. */
export function maskKey(path: string): string {
  if (!existsSync(path)) makeKey(path);
  const { secret, problems } = readKey(path);
  if (secret !== null && secret.length >= KEY_CHARS_MIN) return secret;
  const why = problems[0]?.complaint ?? `finds a key of fewer than ${KEY_CHARS_MIN} characters`;
  throw secretError(`replica.maskKeyFile ${why}`);
}

function readKey(path: string): ReturnType<typeof readNamedSecret> {
  return readNamedSecret(['replica', 'maskKeyFile'], path, { folder: '/', environment: processEnvironment() });
}

function makeKey(path: string): void {
  // Commands that make no key do not load it: it takes 7 MiB.
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  try {
    const file = openSync(path, 'wx', 0o600);
    try {
      writeSync(file, `${randomBytes(KEY_BYTES).toString('base64url')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code !== 'EEXIST') throw secretError(`replica.maskKeyFile: ${path} cannot be made (${code})`);
  }
}

function secretError(message: string): RowsyncError {
  return new RowsyncError('config', 'config.secret', {
    message,
    hint: 'Keep the key in a file that only the user who runs rowsync can read; without one, rowsync makes it.',
  });
}

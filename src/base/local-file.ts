/**
 * Reading a file of this machine twice: once for its hash, and again while it is sent. Content is never in memory whole. What is not the same the
 * second time is not read to its end, so that the receiver cannot take it. A file with a secret of rowsync in it is not sent at all.
 */
import { createHash } from 'node:crypto';
import type { FileSystem, OpenFile } from './file-system.ts';

/** What is in a file. */
export interface FileContent {
  readonly bytes: number;
  readonly sha256: string;
}

/** Why what has the name of a file cannot be attached. */
export const NO_FILE = 'what is to be attached is not a file (a folder, a pipe or a device)';
/** Files of the system, as those in /proc, say of themselves that they are empty. */
export const EMPTY_FILE = 'the file to attach is empty';

/** What the file system said, without the path that its messages have. @throws what is no failure of the file system. */
export function fileProblem(thrown: unknown): string {
  const code =
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string'
      ? thrown.code
      : null;
  if (code === null) throw thrown; // a defect of ours
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no file of this name to attach';
  return `the file to attach cannot be read (${code})`;
}

/** Reads a file once. Returns its length and SHA-256, or why it is not to be sent. */
export async function hashFile(
  files: FileSystem,
  path: string,
  { bytesMax, secrets }: { readonly bytesMax: number; readonly secrets: readonly string[] },
): Promise<FileContent | 'tooLarge' | { readonly problem: string }> {
  try {
    const file = await files.open(path);
    try {
      if (!file.isFile) return { problem: NO_FILE };
      if (file.bytes > bytesMax) return 'tooLarge';
      const hash = createHash('sha256');
      const hasSecret = secretFinder(secrets, file.bytes);
      let bytes = 0;
      for await (const chunk of readOpen(file)) {
        if (hasSecret(chunk)) return { problem: SECRET };
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { bytes, sha256: hash.digest('hex') };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    return { problem: fileProblem(thrown) };
  }
}

/** Users who may edit the replica name files, and must not reach files that only the process may read. */
const SECRET = 'the file holds a token or password of rowsync itself, which is not sent';

/** Shorter secrets occur in many files by chance, and are looked for only in one that is hardly longer. */
const SECRET_BYTES_MIN = 8;
const SHORT_FILE_BYTES_MAX = 64;

/** Says of the pieces of a file, in their order, whether one of the secrets is in what came so far. */
function secretFinder(secrets: readonly string[], fileBytes: number): (chunk: Uint8Array) => boolean {
  const sought = secrets
    .map((secret) => Buffer.from(secret))
    .filter(({ length }) => length >= SECRET_BYTES_MIN || (length > 0 && fileBytes <= SHORT_FILE_BYTES_MAX));
  const overlap = Math.max(0, ...sought.map(({ length }) => length - 1));
  let end: Uint8Array = Buffer.alloc(0);
  return (chunk) => {
    const text = Buffer.concat([end, chunk]);
    end = text.subarray(Math.max(0, text.length - overlap));
    return sought.some((secret) => text.includes(secret));
  };
}

/** The bytes of a file that was hashed before. The last ones come only once they all are known to be the same. */
export async function* readAgain(
  files: FileSystem,
  path: string,
  { bytes, sha256 }: FileContent,
): AsyncGenerator<Uint8Array> {
  const file = await files.open(path);
  try {
    if (!file.isFile) throw new Error('What was to be sent is not a file any more');
    if (file.bytes !== bytes) throw new Error('What was to be sent has another length than it had');
    const hash = createHash('sha256');
    let held: Uint8Array | null = null;
    for await (const chunk of readOpen(file)) {
      hash.update(chunk);
      if (held !== null) yield held;
      held = chunk;
    }
    if (hash.digest('hex') !== sha256) throw new Error('What was to be sent has changed');
    if (held !== null) yield held;
  } finally {
    await file.close();
  }
}

/** Bytes read in one go; a file is in memory a piece at a time. */
const READ_BYTES = 256 * 1024;

/** The pieces of an open file, up to the size that it had when it was opened; each has memory of its own. */
async function* readOpen(file: OpenFile): AsyncGenerator<Uint8Array> {
  let at = 0;
  while (at < file.bytes) {
    const piece = await file.read(at, Math.min(READ_BYTES, file.bytes - at));
    if (piece.length === 0) return; // shorter than it was; whoever counts finds out
    at += piece.length;
    yield piece;
  }
}

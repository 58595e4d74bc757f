/**
 * The only door for the files that are attached to rows, those that come and those that are sent. So a simulation
 * injects a disk that forgets what was not synced, is full, or ends the process between two operations. Exports and
 * backups, which nothing depends on later, use Node directly; so does SQLite.
 *
 * What fails throws as Node does: an error with the system's code, such as ENOENT.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface NewFile {
  /** Appends bytes, all of them. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes what was written durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenFile {
  readonly isFile: boolean;
  /** Its length when it was opened. */
  readonly bytes: number;
  /** Up to `count` bytes from `at` on, in memory of their own; none at the end. */
  read(at: number, count: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The file system as the work on attached files sees it. */
export interface FileSystem {
  /** Makes a file at a free path, where not even a link exists. */
  create(path: string, mode: number): Promise<NewFile>;
  /** Opens what is there, without waiting for the other end of a pipe. */
  open(path: string): Promise<OpenFile>;
  /** Makes a folder and those above it; returns the first one that was not there, if any. */
  makeFolder(path: string, mode: number): Promise<string | undefined>;
  /** Moves a file to where there may be another. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a folder with its contents; a missing path is no error. */
  remove(path: string): Promise<void>;
  /** Makes the content of a file durable, or the names in a folder. */
  sync(path: string): Promise<void>;
  /** What is at a path, at once. */
  lookAt(path: string): { readonly isFile: boolean; readonly bytes: number };
  /** The path without links, at once. */
  realPath(path: string): string;
}

const PIECE_BYTES = 256 * 1024;

/** The pieces of an open file, up to the size that it had when it was opened; each has memory of its own. */
export async function* piecesOf(file: OpenFile): AsyncGenerator<Uint8Array> {
  let at = 0;
  while (at < file.bytes) {
    const piece = await file.read(at, Math.min(PIECE_BYTES, file.bytes - at));
    if (piece.length === 0) return; // shorter than it was; whoever counts finds out
    at += piece.length;
    yield piece;
  }
}

export const systemFiles: FileSystem = {
  create: async (path, mode) => {
    const handle = await open(path, 'wx', mode);
    return {
      write: (chunk) => handle.writeFile(chunk),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  open: async (path) => {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await handle.stat();
    return {
      isFile: facts.isFile(),
      bytes: facts.size,
      read: async (at, count) => {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, at);
        return buffer.subarray(0, bytesRead);
      },
      close: () => handle.close(),
    };
  },
  makeFolder: async (path, mode) => makeFolders(path, mode),
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { recursive: true, force: true }),
  sync: async (path) => {
    await using handle = await open(path, 'r');
    await handle.sync();
  },
  lookAt: (path) => {
    const facts = statSync(path);
    return { isFile: facts.isFile(), bytes: facts.size };
  },
  realPath: (path) => realpathSync(path),
};

/**
 * Makes a folder and those above it; returns the first one that was not there, if any. Node's own way (`recursive`)
 * never ends where a folder is and the system says of one in it that it is missing, as in /proc.
 */
export function makeFolders(path: string, mode?: number): string | undefined {
  if (isFolder(path)) return undefined;
  const above = dirname(path);
  const first = above === path ? undefined : makeFolders(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (thrown) {
    if (!isFolder(path)) throw thrown; // else another process was faster
  }
  return first ?? path;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The bytes of a file from a place on, at once; fewer at its end. */
export function readBytesAt(path: string, at: number, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, count, at));
  } finally {
    closeSync(file);
  }
}

/** Reads a short text where others may write; a pipe would make it wait. @throws as the file system does, or EINVAL. */
export function readShortText(path: string, bytesMax: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(file);
    if (facts.isFile() && facts.size <= bytesMax) return readFileSync(file, 'utf8');
    throw Object.assign(new Error(`${path} is not a short file`), { code: 'EINVAL' });
  } finally {
    closeSync(file);
  }
}

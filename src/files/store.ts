/**
 * The file store: content by its SHA-256, `<folder>/ab/abcd…`, equal content once. Neither names of the origin nor what
 * SQL clients write into the replica become paths here.
 *
 * Invariant (I15): a file gets its final name only after all of its bytes were written and synced; its folder is synced
 * before the caller is told. What a crash leaves behind lies in `incoming` and goes when the store is next opened, so
 * each replica needs a store of its own. Files may be read, not written, since exports may be links to them.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, constants, type Stats } from 'node:fs';
import { chmod, lstat, stat, copyFile, link } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { codeOf, RowsyncError } from '../base/errors.ts';
import { systemFiles, type FileSystem, type NewFile } from '../base/file-system.ts';
import type { StoredContent } from '../reconcile/files.ts';

/** A file whose bytes are all written and synced, but not under its final name yet. */
export interface CompleteFile extends StoredContent {
  readonly path: string;
}

/** Users who may read the replica may read content, and content is never changed. */
const PRIVATE = { file: 0o400, folder: 0o700 };
const SHARED = { file: 0o440, folder: 0o750 };

const INCOMING = 'incoming';
const HASH = /^[0-9a-f]{64}$/;
const NOWHERE = 'no-such-content';

export class IncomingFile {
  readonly path: string;
  readonly #files: FileSystem;
  readonly #file: NewFile;
  readonly #hash: Hash = createHash('sha256');
  #bytes = 0;
  #isOpen = true;

  constructor(path: string, files: FileSystem, file: NewFile) {
    this.path = path;
    this.#files = files;
    this.#file = file;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Appends bytes. @throws RowsyncError `replica.full` or `files.store`. */
  async write(chunk: Uint8Array): Promise<void> {
    await withFileErrors('Writing a file', () => this.#file.write(chunk));
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  /** Syncs and closes the file. @throws RowsyncError as `write`. */
  async complete(): Promise<CompleteFile> {
    await withFileErrors('Syncing a file', async () => {
      await this.#file.sync();
      await this.#close();
    });
    return { path: this.path, sha256: this.#hash.digest('hex'), bytes: this.#bytes };
  }

  /** Removes the file, which frees its space. */
  async discard(): Promise<void> {
    await this.#close();
    await this.#files.remove(this.path);
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#file.close();
  }
}

export class FileStore {
  readonly folder: string;
  readonly #modes: typeof PRIVATE;
  readonly #files: FileSystem;
  #incomingCount = 0;

  constructor(folder: string, isShared = false, files = systemFiles) {
    this.folder = folder;
    this.#modes = isShared ? SHARED : PRIVATE;
    this.#files = files;
  }

  /** Where content is, or would be. What is no hash, though a row has it, leads to a path that does not exist. */
  pathOf(sha256: string): string {
    return HASH.test(sha256) ? join(this.folder, sha256.slice(0, 2), sha256) : join(this.folder, NOWHERE);
  }

  /** Begins a file. @throws RowsyncError `replica.full` or `files.store`. */
  async begin(): Promise<IncomingFile> {
    this.#incomingCount += 1;
    const path = join(this.folder, INCOMING, String(this.#incomingCount));
    const file = await withFileErrors(`Making a file in ${this.folder}`, () =>
      this.#files.create(path, this.#modes.file),
    );
    return new IncomingFile(path, this.#files, file);
  }

  /** Takes content from one of the files, as a link or a copy with the same hash. @returns null if none is whole. */
  adopt(
    { sha256, bytes }: StoredContent,
    sources: readonly string[],
    { comparesLinks }: { readonly comparesLinks: boolean },
  ): Promise<{ readonly file: CompleteFile; readonly isLinked: boolean } | null> {
    this.#incomingCount += 1;
    const path = join(this.folder, INCOMING, String(this.#incomingCount));
    return withFileErrors(`Copying a file to ${this.folder}`, async () => {
      for (const mayCopy of [false, true]) {
        for (const source of sources) {
          const found = await lookAt(source);
          if (found?.size !== bytes) continue;
          const isLinked = isLinkable(found) && (await tryLink(source, path));
          if (!isLinked && !mayCopy) continue;
          if (!isLinked) await copyTo(source, path);
          if ((isLinked && !comparesLinks) || (await hashOfFile(path)) === sha256) {
            await this.#prepare(path);
            return { file: { path, sha256, bytes }, isLinked };
          }
          await this.#files.remove(path);
        }
      }
      return null;
    });
  }

  /** Gives a file that came from elsewhere its mode, and makes it durable. */
  async #prepare(path: string): Promise<void> {
    const { file } = this.#modes;
    if (((await stat(path)).mode & file) !== file) await chmod(path, file);
    await this.#files.sync(path);
  }

  /** Removes what is only needed while files come. */
  async close(): Promise<void> {
    await this.#files.remove(join(this.folder, INCOMING));
  }

  /** Gives complete files their final names, durably. They replace content that is there already. */
  keep(files: readonly CompleteFile[]): Promise<void> {
    return withFileErrors(`Keeping a file in ${this.folder}`, async () => {
      const folders = [...new Set(files.map(({ sha256 }) => dirname(this.pathOf(sha256))))];
      await Promise.all(folders.map((folder) => this.#files.makeFolder(folder, this.#modes.folder)));
      await Promise.all(files.map(({ path, sha256 }) => this.#files.rename(path, this.pathOf(sha256))));
      // The store's folder too: who made one of them, perhaps another call, may not have synced its name yet.
      await Promise.all([this.folder, ...folders].map((folder) => this.#files.sync(folder)));
    });
  }

  /** Whether this folder was opened as a store before, even if it is empty now. @throws RowsyncError `files.store`. */
  isMade(): boolean {
    return this.#exists(join(this.folder, INCOMING));
  }

  /** Whether anything is under the name of content, at once. @throws RowsyncError `files.store`. */
  hasName({ sha256 }: StoredContent): boolean {
    return this.#exists(this.pathOf(sha256));
  }

  #exists(path: string): boolean {
    try {
      return exists(this.#files, path);
    } catch (thrown) {
      throw fileError(thrown, `Looking at ${path}`);
    }
  }

  /** Whether content is here with its size, without a look into it. @throws RowsyncError `files.store`. */
  async holds({ sha256, bytes }: StoredContent): Promise<boolean> {
    const path = this.pathOf(sha256);
    const found = await withFileErrors(`Reading ${path}`, () => lookAt(path));
    return found?.size === bytes;
  }

  async remove(sha256: string): Promise<void> {
    const path = this.pathOf(sha256);
    await withFileErrors(`Removing ${path}`, () => this.#files.remove(path));
  }
}

/** Opens the store of a replica that this process has locked, making its folder. @throws RowsyncError `files.store`. */
export function openStore(folder: string, isShared = false, files = systemFiles): Promise<FileStore> {
  const mode = (isShared ? SHARED : PRIVATE).folder;
  return withFileErrors(`Opening the file store ${folder}`, async () => {
    const incoming = join(folder, INCOMING);
    // Made last: if it exists, the folders above it are durable.
    const isNew = !exists(files, incoming);
    await files.remove(incoming);
    await files.makeFolder(folder, mode);
    if (isNew) await syncAbove(files, folder);
    await files.makeFolder(incoming, mode);
    // Also the folders of a process that ended before it got here.
    await files.sync(folder);
    return new FileStore(folder, isShared, files);
  });
}

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function exists(files: FileSystem, path: string): boolean {
  try {
    files.lookAt(path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}

/** What a system answers where a folder cannot be synced by this user, or not at all. */
const UNSYNCABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP']);

/** Makes the names of the folders above one durable, up to the first that cannot be synced: those that we made can. */
async function syncAbove(files: FileSystem, folder: string): Promise<void> {
  const above = dirname(folder);
  if (above === folder) return;
  try {
    await files.sync(above);
  } catch (thrown) {
    if (UNSYNCABLE.has(codeOf(thrown))) return;
    throw thrown;
  }
  await syncAbove(files, above);
}

/** Whether a file may become content by a link: others could change theirs, or one that they may write, afterwards. */
function isLinkable({ uid, mode }: Stats): boolean {
  return uid === (process.geteuid?.() ?? uid) && (mode & 0o022) === 0;
}

/** A file; null if it does not exist. A link does not count. */
async function lookAt(path: string): Promise<Stats | null> {
  try {
    const found = await lstat(path);
    return found.isFile() ? found : null;
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}

/** What a system answers where two places cannot share a file. */
const UNLINKABLE: ReadonlySet<string> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EACCES',
]);

/** Links a file to a free path; false if the places cannot share it. Content never changes: a link is like a copy. */
export async function tryLink(source: string, path: string): Promise<boolean> {
  try {
    await link(source, path);
    return true;
  } catch (thrown) {
    if (UNLINKABLE.has(codeOf(thrown))) return false;
    throw thrown;
  }
}

export async function copyTo(source: string, path: string): Promise<void> {
  await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
}

/** Does something with files. @throws RowsyncError `files.store` or `replica.full`. */
async function withFileErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw fileError(thrown, what);
  }
}

/** Wraps what was thrown while doing `what`; a `RowsyncError` passes unchanged. */
export function fileError(thrown: unknown, what: string): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const code = codeOf(thrown);
  // Without a code it is a bug in rowsync, not a failure of the file system.
  if (code === '') throw thrown;
  const reason = thrown instanceof Error ? thrown.message : code;
  const message = `${what}: ${reason}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const hint = 'Free some space, then run the command again; what the replica holds is whole.';
    return new RowsyncError('replica', 'replica.full', { message, hint, cause: thrown });
  }
  const hint = 'Give this user read and write access to the folder, or change replica.files.';
  return new RowsyncError('replica', 'files.store', { message, hint, cause: thrown });
}

/**
 * Passes a backup as one stream, the replica and then its files. Root uses it where rowsync's user cannot reach the backup. Root reads or writes only
 * in its own folders; a child that has become rowsync's user does the rest.
 */
import { createReadStream, createWriteStream, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RowsyncError } from '../../base/errors.ts';
import { filesBeside } from '../../files/carry.ts';
import { FileStore, openStore } from '../../files/store.ts';
import { makePrivate, PARTIAL, removeFile, takeName } from '../../replica/copy-file.ts';

/** What comes before the bytes of a part, as a line of JSON. */
interface Head {
  /** A SHA-256 for a file. */
  readonly name: string;
  readonly bytes: number;
}

/** Names of parts that are no files. */
const REPLICA = 'replica';
const REPORT = 'report';
/** A head has a name and a number. */
const HEAD_BYTES_MAX = 200;
/** A report of a backup; it may name many lost files. */
const REPORT_BYTES_MAX = 64 * 1024 * 1024;

/** The stream of a backup that is there; `report` comes last, for the reader to print. */
export async function* streamOf(backup: string, report: unknown): AsyncGenerator<Uint8Array> {
  yield* part(REPLICA, backup);
  const folder = filesBeside(backup);
  if (existsSync(folder)) {
    const store = new FileStore(folder);
    for await (const { sha256 } of store.list()) yield* part(sha256, store.pathOf(sha256));
  }
  const text = Buffer.from(JSON.stringify(report));
  yield head({ name: REPORT, bytes: text.length });
  yield text;
}

async function* part(name: string, path: string): AsyncGenerator<Uint8Array> {
  const bytes = statSync(path).size;
  yield head({ name, bytes });
  // A file that grows meanwhile is cut, and one that shrinks makes the reader complain.
  if (bytes > 0) yield* createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Uint8Array>; // without an encoding
}

function head(of: Head): Uint8Array {
  return Buffer.from(`${JSON.stringify(of)}\n`);
}

/**
 * Writes a backup that comes as a stream under a name that is free, with its files beside it, and returns the report. @throws RowsyncError
 * `backup.damaged` for a stream that is not whole; then nothing is left.
 */
export async function receiveBackup(input: Readable, path: string): Promise<unknown> {
  const [partial, folder] = [path + PARTIAL, filesBeside(path)];
  const partialFolder = `${folder}${PARTIAL}`;
  const parts = new BackupParts(input);
  let store: FileStore | null = null;
  try {
    makePrivate(partial);
    rmSync(partialFolder, { recursive: true, force: true });
    let next = await parts.head();
    for (; next.name !== REPORT; next = await parts.head()) {
      if (next.name === REPLICA) await pipeline(parts.pieces(next.bytes), createWriteStream(partial));
      else await keepFile((store ??= await openStore(partialFolder)), next, parts);
    }
    const report = await parts.json(next.bytes);
    await store?.close();
    if (store !== null) renameSync(partialFolder, folder);
    takeName(partial, path);
    return report;
  } catch (thrown) {
    removeFile(partial);
    rmSync(partialFolder, { recursive: true, force: true });
    throw thrown;
  }
}

async function keepFile(store: FileStore, { name, bytes }: Head, parts: BackupParts): Promise<void> {
  const incoming = await store.begin();
  for await (const piece of parts.pieces(bytes)) await incoming.write(piece);
  const complete = await incoming.complete();
  // A file that the backup has damaged is left out, and reported as lost when it is missed.
  await (complete.sha256 === name ? store.keep([complete]) : incoming.discard());
}

/** The parts of a stream, in their order. */
class BackupParts {
  readonly #input: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);

  constructor(input: Readable) {
    this.#input = input[Symbol.asyncIterator]();
  }

  async head(): Promise<Head> {
    let line: Uint8Array = Buffer.alloc(0);
    for (;;) {
      const end = this.#rest.indexOf(0x0a);
      line = Buffer.concat([line, end === -1 ? this.#rest : this.#rest.subarray(0, end)]);
      this.#rest = end === -1 ? Buffer.alloc(0) : this.#rest.subarray(end + 1);
      if (line.length > HEAD_BYTES_MAX) throw damaged();
      if (end !== -1) return checkedHead(parsed(line));
      await this.#fill();
    }
  }

  async *pieces(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0) await this.#fill();
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async json(bytes: number): Promise<unknown> {
    if (bytes > REPORT_BYTES_MAX) throw damaged();
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces(bytes)) pieces.push(piece);
    return parsed(Buffer.concat(pieces));
  }

  async #fill(): Promise<void> {
    const next = await this.#input.next();
    if (next.done === true) throw damaged();
    this.#rest = next.value;
  }
}

function parsed(text: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString('utf8'));
  } catch {
    throw damaged();
  }
}

function checkedHead(value: unknown): Head {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('bytes' in value)) throw damaged();
  const { name, bytes } = value;
  if (typeof name !== 'string' || !Number.isSafeInteger(bytes) || Number(bytes) < 0) throw damaged();
  return { name, bytes: Number(bytes) };
}

function damaged(): RowsyncError {
  return new RowsyncError('replica', 'backup.damaged', {
    message: `A backup ended before all of it had come`,
    hint: 'Nothing was kept. The other process of the command says why.',
  });
}

/**
 * Backups in folders of root, where rowsync's user cannot go. A child becomes rowsync's user and does all that happens
 * beside the replica; root only reads or writes the backup. So people who share the replica replace nothing of root's.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, createReadStream, createWriteStream, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Writable, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { NODE_FLAGS } from '../../base/node-flags.ts';
import type { Config } from '../../config/load.ts';
import { backUpAll, restoreAll } from './backup.ts';
import { filesBeside, listContent, type CarryReport } from '../shared/stored-content.ts';
import { mayOthersWrite, type Owner } from '../../reconcile/process-owner.ts';
import { requireBackup, requireFree, type CopyReport } from './replica-copy.ts';
import { ownCommand } from '../shared/child-pool.ts';
import type { Invocation } from '../../extra.ts';
import { become, ownerOf } from '../../cli/runtime/process-owner.ts';
import { mayRead } from './owner-access.ts';
import type { Session } from '../../cli/terminal/session.ts';
import { FileStore, openStore } from '../../files/store.ts';
import { makePrivate, PARTIAL, removeFile, takeName } from '../../replica/copy-file.ts';

/** The name of a backup that is a stream: standard input or output. */
export const PIPE = '-';

/** Whether a user may read a backup and the folder of its files. */
export function mayReadBackup(owner: Owner, backup: string): boolean {
  const folder = filesBeside(backup);
  return mayRead(owner, backup) && (!existsSync(folder) || mayRead(owner, folder));
}

export async function sendBackup({ stdout }: Session, config: Config, withFiles: boolean): Promise<number> {
  await inFolderBeside(config, async (folder) => {
    const path = join(folder, 'replica.db');
    const report = await backUpAll(config, path, { withFiles });
    for await (const chunk of streamOf(path, report)) await writeOut(stdout.stream, chunk);
  });
  return EXIT.done;
}

/** Resolves when a piece is written: the process ends after the last one. */
function writeOut(output: Writable, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

export function restoreReceived({ stdin }: Session, config: Config, stamp: string): ReturnType<typeof restoreAll> {
  return inFolderBeside(config, async (folder) => {
    const path = join(folder, 'replica.db');
    await receiveBackup(stdin, path);
    return restoreAll(config, path, stamp);
  });
}

/** A folder that only this user may use, on the disk of the replica, so that files can be linked. */
async function inFolderBeside<T>({ replica }: Config, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(`${replica.path}.backup-`);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes a backup that a child makes, as the owner of its folder; returns the exit code of a child that fails. */
export async function backUpByChild(
  { session, isJson }: Invocation,
  config: Config,
  { target, withFiles }: { readonly target: string; readonly withFiles: boolean },
): Promise<CopyReport | number> {
  requireFree(target);
  if (withFiles) requireFree(filesBeside(target));
  const writer = ownerOf(dirname(target));
  if (writer === null) requireClosed(dirname(target));
  const child = start(session, config, [
    'backup',
    PIPE,
    ...(withFiles ? [] : ['--without-files']),
    ...(isJson ? ['--json'] : []),
  ]);
  const ended = once(child, 'close');
  if (writer !== null) become(writer);
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own program sends nothing else
    const report = (await receiveBackup(child.stdout, target)) as CopyReport;
    await ended;
    return { ...report, path: target, files: report.files === null ? null : writtenOut(report.files, target) };
  } catch (thrown) {
    child.stdout.destroy();
    return await codeOf(ended, thrown);
  }
}

/** What the child linked beside the replica was copied. */
function writtenOut(files: CarryReport, target: string): CarryReport {
  if (files.folder === null) return files;
  const copiedCount = files.linkedCount + files.copiedCount;
  return { ...files, folder: filesBeside(target), linkedCount: 0, copiedCount };
}

/** Root writes no backup where others could exchange it. @throws RowsyncError `replica.path`. */
function requireClosed(folder: string): void {
  const { mode, gid } = statSync(folder);
  if (!mayOthersWrite({ mode, gid })) return;
  throw new RowsyncError('replica', 'replica.path', {
    message: `${folder} belongs to root, and others may write to it: root makes no backup there`,
    hint: "Name a folder that root alone may write to, or one that rowsync's user may write to.",
  });
}

/** Hands a backup, read as its owner, to a child that restores it; returns the exit code of the child. */
export async function restoreByChild({ session, isJson }: Invocation, config: Config, backup: string): Promise<number> {
  requireBackup(backup);
  const reader = ownerOf(backup);
  const child = start(session, config, ['restore', PIPE, ...(isJson ? ['--json'] : [])]);
  child.stdout.setEncoding('utf8').on('data', (said: string) => void session.stdout.write(said));
  const ended = once(child, 'close');
  if (reader !== null) become(reader);
  try {
    await pipeline(streamOf(backup, null), child.stdin);
  } catch (thrown) {
    child.stdin.destroy();
    return codeOf(ended, thrown);
  }
  return codeOf(ended, null);
}

/** The exit code of a child that has said what went wrong. @throws what else there was. */
async function codeOf(ended: Promise<unknown[]>, thrown: unknown): Promise<number> {
  const [code] = await ended;
  const exitCode = typeof code === 'number' ? code : EXIT.failed;
  if (exitCode === EXIT.done && thrown !== null) throw thrown;
  return exitCode;
}

function start({ stderr, folder }: Session, { file }: Config, words: readonly string[]) {
  const [program = '', ...first] = ownCommand(NODE_FLAGS);
  const child = spawn(program, [...first, ...words, '--config', file], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stderr.setEncoding('utf8').on('data', (said: string) => void stderr.write(said));
  return child;
}

/** What comes before the bytes of a part; the name of a file is its SHA-256. */
interface Head {
  readonly name: string;
  readonly bytes: number;
}

/** A head is a name and a number, filled up to so many bytes. */
const HEAD_BYTES = 100;
const HEAD = /^([a-z0-9]+) (\d{1,16}) *$/;

/** Names of parts that are no files. */
const REPLICA = 'replica';
const REPORT = 'report';
/** A report of a backup; it may name many lost files. */
const REPORT_BYTES_MAX = 64 * 1024 * 1024;

/** The stream of a backup that is there; `report` comes last, for the reader to print. */
export async function* streamOf(backup: string, report: unknown): AsyncGenerator<Uint8Array> {
  yield* part(REPLICA, backup);
  const folder = filesBeside(backup);
  if (existsSync(folder)) {
    const store = new FileStore(folder);
    for await (const { sha256 } of listContent(store)) yield* part(sha256, store.pathOf(sha256));
  }
  const reported = Buffer.from(JSON.stringify(report));
  yield head({ name: REPORT, bytes: reported.length });
  yield reported;
}

async function* part(name: string, path: string): AsyncGenerator<Uint8Array> {
  const bytes = statSync(path).size;
  yield head({ name, bytes });
  // A file that grows meanwhile is cut, and one that shrinks makes the reader complain.
  if (bytes > 0) yield* createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Uint8Array>; // without an encoding
}

function head({ name, bytes }: Head): Uint8Array {
  return Buffer.from(`${name} ${bytes}`.padEnd(HEAD_BYTES));
}

/** Writes a streamed backup under a free name, or none; returns its report. @throws RowsyncError `backup.damaged`. */
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

class BackupParts {
  readonly #input: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);

  constructor(input: Readable) {
    this.#input = input[Symbol.asyncIterator]();
  }

  async head(): Promise<Head> {
    const [, name, bytes] = HEAD.exec(await text(this.pieces(HEAD_BYTES))) ?? [];
    if (name === undefined) throw damaged();
    return { name, bytes: Number(bytes) };
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
    const said = await text(this.pieces(bytes));
    try {
      return JSON.parse(said);
    } catch {
      throw damaged();
    }
  }

  async #fill(): Promise<void> {
    const next = await this.#input.next();
    if (next.done === true) throw damaged();
    this.#rest = next.value;
  }
}

function damaged(): RowsyncError {
  return new RowsyncError('replica', 'backup.damaged', {
    message: `A backup broke off before all of it had arrived`,
    hint: 'Nothing was kept. The other process of the command says why.',
  });
}

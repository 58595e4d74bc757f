/**
 * Backups in folders of root, where rowsync's user cannot go. A child becomes rowsync's user and does all that happens beside the replica, and root
 * only reads or writes the backup. So there is nothing of root's that people who share the replica could exchange.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { NODE_FLAGS } from '../../base/node-flags.ts';
import type { Config } from '../../config/load.ts';
import { backUpAll, restoreAll, type BackupReport } from './backup.ts';
import { receiveBackup, streamOf } from './backup-stream.ts';
import { filesBeside, type CarryReport } from '../../files/carry.ts';
import { mayOthersWrite, type Owner } from '../../reconcile/owner.ts';
import { requireFree } from './replica-copy.ts';
import { ownCommand } from '../../cli/runtime/installation.ts';
import type { Invocation } from '../../extra.ts';
import { become, mayRead, ownerOf } from '../../cli/runtime/owner.ts';
import type { Session } from '../../cli/terminal/session.ts';

/** The name of a backup that is a stream: standard input or output. */
export const PIPE = '-';

/** Whether a user may read a backup and the folder of its files. */
export function mayReadBackup(owner: Owner, backup: string): boolean {
  const folder = filesBeside(backup);
  return mayRead(owner, backup) && (!existsSync(folder) || mayRead(owner, folder));
}

/** Makes a backup beside the replica, and writes it to standard output. */
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

/** Restores a backup that comes on standard input. */
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

/** Writes a backup that a child makes, or returns the exit code of the child. Root becomes the owner of the folder that it goes to. */
export async function backUpByChild(
  { session, isJson }: Invocation,
  config: Config,
  { target, withFiles }: { readonly target: string; readonly withFiles: boolean },
): Promise<BackupReport | number> {
  requireFree(target);
  const writer = ownerOf(dirname(target));
  if (writer === null) requireClosed(dirname(target));
  const child = start(session, config, [
    'backup',
    PIPE,
    ...(withFiles ? [] : ['--without-files']),
    ...jsonOption(isJson),
  ]);
  const ended = once(child, 'close');
  if (writer !== null) become(writer);
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own program sends nothing else
    const report = (await receiveBackup(child.stdout, target)) as BackupReport;
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
    message: `${folder} belongs to root, and others may write it: root makes no backup there`,
    hint: "Name a folder that root alone may write, or one that rowsync's user may write.",
  });
}

/** Hands a backup to a child that restores it, and returns its exit code. Root becomes the owner of the backup before it reads. */
export async function restoreByChild({ session, isJson }: Invocation, config: Config, backup: string): Promise<number> {
  if (!existsSync(backup)) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `There is no file ${backup}`,
      hint: 'Name the file that rowsync backup made.',
    });
  }
  const reader = ownerOf(backup);
  const child = start(session, config, ['restore', PIPE, ...jsonOption(isJson)]);
  child.stdout.setEncoding('utf8').on('data', (text: string) => void session.stdout.write(text));
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

function jsonOption(isJson: boolean): readonly string[] {
  return isJson ? ['--json'] : [];
}

function start(
  { stderr, folder }: Session,
  { file }: Config,
  words: readonly string[],
): ChildProcess & {
  readonly stdin: NonNullable<ChildProcess['stdin']>;
  readonly stdout: NonNullable<ChildProcess['stdout']>;
} {
  const [program = '', ...first] = ownCommand(NODE_FLAGS);
  const child = spawn(program, [...first, ...words, '--config', file], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => void stderr.write(text));
  return child;
}

/**
 * The files that rows attach: the path in a cell, whether the file can be sent, its content, and whether it arrived.
 * Cells hold values such as `file:/path/to/photo.jpg`.
 *
 * Reasons never contain the name, since it is a value of a row (I16). A file is read once for its hash, which is in the
 * batch before it leaves (I11), and again while it is sent. One that changed is never sent to its end, so not accepted.
 *
 * A file with a lost answer is ours if the latest revision has its size and hash; if that cannot be checked, its row is
 * parked. No file that the origin has is sent twice (I4); one that it took goes to the file store without a download.
 */
import mime from 'mime';
import { basename, isAbsolute, join, normalize, sep } from 'node:path';
import { createHash } from 'node:crypto';
import { asRowsyncError, codeOf } from '../base/errors.ts';
import { piecesOf, systemFiles, type FileSystem } from '../base/file-system.ts';
import { BATCH_LIMITS, type PlannedRow, type SentCell } from '../reconcile/push-plan.ts';
import type { Unsendable } from '../reconcile/match-column.ts';
import { isHeaderText } from '../wire/header-parameters.ts';
import type { StreamedBytes } from '../wire/write-body.ts';
import { UPLOAD_PREFIX } from '../wire/column-types.ts';
import type { Row } from '../wire/schema.ts';
import { cellOf, type RowVersion } from '../reconcile/merge.ts';
import type { TablePush } from './context.ts';
import { brokenRevision } from '../origin/request-errors.ts';
import {
  acceptedRevision,
  downloadProblem,
  fileFromCell,
  isBeyondComparing,
  lostFileFate,
  uploadName,
  type SentFile,
} from '../reconcile/files.ts';
import type { BatchRow, RowNews } from '../reconcile/push-settle.ts';
import type { RowFinding } from '../reconcile/row-state.ts';
import type { Batch } from '../replica/bookkeeping/batches.ts';
import { readFileColumns, type FileColumn } from '../replica/bookkeeping/file-cells.ts';
import type { UploadedFile } from '../replica/bookkeeping/files.ts';
import type { AttachmentInfo } from '../wire/schema.ts';

type ReadFile = Omit<SentFile, 'before'>;

/** Why a value cannot be sent after all. */
interface UnsendableFile {
  readonly problem: string;
}

/** The files of a batch, by the values that name them. */
export type Uploads = ReadonlyMap<string, ReadFile | UnsendableFile>;

type Place = { readonly path: string; readonly bytes: number } | UnsendableFile;

/** Measures the file that a value names; a relative name is looked up in `uploadDir`. */
export function findFile(files: FileSystem, value: string, uploadDir: string | null): Place {
  const name = value.slice(UPLOAD_PREFIX.length);
  if (name === '' || name.includes('\0')) return { problem: 'no file can have this name' };
  const isRelative = !isAbsolute(name);
  if (isRelative && uploadDir === null) {
    return { problem: 'a relative name of a file takes files.uploadDir in the configuration, which is not set' };
  }
  if (isRelative && name.split(/[/\\]/).includes('..')) {
    return { problem: 'a relative name of a file must not have .. in it' };
  }
  const path = isRelative ? join(uploadDir ?? '', name) : normalize(name);
  if (!isHeaderText(basename(path))) return { problem: 'the name of the file has a line break or control character' };
  try {
    if (isRelative && !isWithin(files.realPath(path), files.realPath(uploadDir ?? ''))) {
      return { problem: 'a relative name of a file must not lead out of files.uploadDir' };
    }
    const { isFile, bytes } = files.lookAt(path);
    if (!isFile) return { problem: NO_FILE };
    return bytes === 0 ? { problem: EMPTY_FILE } : { path, bytes };
  } catch (thrown) {
    return { problem: fileProblem(thrown) };
  }
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Reads the files of rows about to be recorded, as many as one request takes; the others wait for the next plan. */
export async function readUploads(run: TablePush, rows: readonly PlannedRow[]): Promise<Uploads> {
  const { settings, files: { system = systemFiles } = {} } = run.context;
  const { requestBytesMax } = { ...BATCH_LIMITS, ...settings.batchLimits };
  const files = new Map<string, ReadFile | UnsendableFile>();
  let left = requestBytesMax;
  for (const { value } of rows.flatMap((row) => uploadsOf(run, row))) {
    if (!files.has(value) && left > 0) {
      const place = findFile(system, value, settings.uploadDir);
      const read = 'problem' in place ? place : await readFile(system, place.path, settings.secrets);
      if ('problem' in read || read.bytes <= left) files.set(value, read);
    }
    const file = files.get(value);
    // Each row sends a copy of its own.
    if (file !== undefined && 'bytes' in file) left -= file.bytes;
  }
  return files;
}

function uploadsOf(
  { table }: TablePush,
  { cells }: PlannedRow,
): readonly { readonly column: number; readonly value: string }[] {
  return cells.flatMap(({ column, value }) => {
    const type = table.columns[column]?.type ?? 'Text';
    return uploadName(type, value) === null ? [] : [{ column, value: String(value) }];
  });
}

/** Rows with the content of their files, and those with broken ones. Rows with unread files wait for the next plan. */
export function attachUploads(
  run: TablePush,
  rows: readonly PlannedRow[],
  { uploads, changes }: { readonly uploads: Uploads; readonly changes: readonly RowVersion[] },
): {
  readonly rows: readonly PlannedRow[];
  readonly broken: ReadonlyMap<number, Unsendable>;
} {
  const broken = new Map<number, Unsendable>();
  const complete = rows.flatMap((row): readonly PlannedRow[] => {
    const wanted = uploadsOf(run, row);
    if (wanted.length === 0) return [row];
    const base = changes.find(({ id }) => id === row.id)?.base ?? null;
    const named = new Map(wanted.map(({ column, value }) => [column, uploads.get(value)]));
    for (const [column, file] of named) {
      if (file === undefined || !('problem' in file)) continue;
      broken.set(row.id, { column, reason: file.problem });
      return [];
    }
    if (named.values().some((file) => file === undefined)) return [];
    const cells = row.cells.map((cell): SentCell => {
      const file = named.get(cell.column);
      if (file === undefined || 'problem' in file) return cell;
      const before = cellOf(base, cell.column);
      return { ...cell, file: { ...file, before: before === null ? null : String(before) } };
    });
    return [{ ...row, cells }];
  });
  return { rows: complete, broken };
}

const NO_FILE = 'what is to be attached is not a file (a folder, a pipe or a device)';
/** Files of the system, as those in /proc, say of themselves that they are empty. */
const EMPTY_FILE = 'the file to attach is empty';

/** What the file system said, without the path in its messages. @throws what is no failure of the file system. */
function fileProblem(thrown: unknown): string {
  const code = codeOf(thrown);
  if (code === '') throw thrown; // a bug in rowsync
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no file of this name to attach';
  return `the file to attach cannot be read (${code})`;
}

/** Reads a file once, for its length and SHA-256. */
async function readFile(
  files: FileSystem,
  path: string,
  secrets: readonly string[],
): Promise<ReadFile | UnsendableFile> {
  try {
    const file = await files.open(path);
    try {
      if (!file.isFile) return { problem: NO_FILE };
      const hash = createHash('sha256');
      const hasSecret = secretFinder(secrets, file.bytes);
      let bytes = 0;
      for await (const chunk of piecesOf(file)) {
        if (hasSecret(chunk)) return { problem: SECRET };
        hash.update(chunk);
        bytes += chunk.length;
      }
      const type = mime.getType(path) ?? 'application/octet-stream'; // by the extension, as it is sent
      return { path, name: basename(path), type, bytes, sha256: hash.digest('hex') };
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

/** The content of a file that was hashed before, as it is when it is sent. */
export function contentOf({ context }: TablePush, file: SentFile): StreamedBytes {
  return { length: file.bytes, read: () => readAgain(context.files?.system ?? systemFiles, file) };
}

/** The bytes of a file that was hashed before. The last ones come only once they all are known to be the same. */
async function* readAgain(files: FileSystem, { path, bytes, sha256 }: SentFile): AsyncGenerator<Uint8Array> {
  const file = await files.open(path);
  try {
    if (!file.isFile) throw new Error('What was to be sent is not a file any more');
    if (file.bytes !== bytes) throw new Error('What was to be sent has changed in length');
    const hash = createHash('sha256');
    let held: Uint8Array | null = null;
    for await (const chunk of piecesOf(file)) {
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

/** A cell that shows a file that we uploaded, by the origin's id of its row. */
export interface ShownFile {
  readonly rowId: number;
  readonly column: FileColumn;
  readonly value: string;
  readonly file: UploadedFile;
}

/** Adds the outcome of files to the answers about the rows of a batch. @throws RowsyncError of the origin. */
export async function lookAtFiles(
  run: TablePush,
  { rows }: Batch,
  { news, isAtOnce }: { readonly news: Map<number, RowNews>; readonly isAtOnce: boolean },
): Promise<readonly ShownFile[]> {
  const shown: ShownFile[] = [];
  for (const row of rows) {
    const before = news.get(row.id);
    if (before?.finding !== 'there' || before.remote === null || !row.cells.some(({ file }) => file !== undefined))
      continue;
    const arrived = new Set<number>();
    let finding: RowFinding = before.finding;
    for (const { column, file } of row.cells) {
      if (file === undefined) continue;
      const fileAtOrigin = { column, file, remote: before.remote };
      const fate = await fateOf(run, row, fileAtOrigin, isAtOnce);
      if (fate === 'unclear') finding = 'unclear';
      if (fate !== 'arrived') continue;
      arrived.add(column);
      shown.push(...(await keepFile(run, fileAtOrigin)));
    }
    news.set(row.id, { ...before, finding, arrived });
  }
  return shown;
}

interface FileAtOrigin {
  readonly column: SentCell['column'];
  readonly file: SentFile;
  readonly remote: Row;
}

async function fateOf(
  run: TablePush,
  { kind, answer }: BatchRow,
  fileAtOrigin: FileAtOrigin,
  isAtOnce: boolean,
): Promise<'arrived' | 'absent' | 'unclear'> {
  const { column, file, remote } = fileAtOrigin;
  const value = remote.values[column] ?? null;
  if (answer !== null) {
    const isNew = kind === 'insert';
    return isAtOnce && acceptedRevision(file, value, isNew) !== null ? 'arrived' : 'absent';
  }
  // A row that is new there had no file before.
  const fate = lostFileFate(kind === 'insert' ? { ...file, before: null } : file, value);
  return fate === 'compare' ? compareFile(run, fileAtOrigin) : fate;
}

/** Compares the latest revision of a cell with what was sent. */
async function compareFile(
  run: TablePush,
  { column: index, file, remote }: FileAtOrigin,
): Promise<'arrived' | 'unclear'> {
  const { origin, signal } = run.context;
  const column = fileColumn(run, index);
  if (column === undefined) return 'unclear';
  const place = { ...column.address, record: { id: remote.id } };
  try {
    const [latest] = (await origin.attachments({ ...place, revisions: 1 }, { signal })).value;
    if (latest?.size !== file.bytes) return 'unclear';
    return (await readDigest(run, place, latest)) === file.sha256 ? 'arrived' : 'unclear';
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (isBeyondComparing(error)) return 'unclear';
    throw error;
  }
}

/** Reads a revision. @returns the SHA-256 of its content. @throws RowsyncError `origin.truncated` for other content. */
async function readDigest(
  { context: { origin, signal } }: TablePush,
  place: FileColumn['address'] & { readonly record: { readonly id: number } },
  info: AttachmentInfo,
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const take = (chunk: Uint8Array): void => {
    bytes += chunk.length;
    hash.update(chunk);
  };
  const request = { ...place, version: { guid: info.guid } } as const;
  const { value: headers } = await origin.attachment(request, take, { signal });
  const problem = downloadProblem({ ...info, bytes: info.size }, { ...headers, bytes });
  if (problem !== null) throw brokenRevision(info, problem);
  return hash.digest('hex');
}

/** Stores the content of an uploaded file; returns the cell that shows it, or nothing if it is not kept. */
async function keepFile(run: TablePush, { remote, column: index, file }: FileAtOrigin): Promise<readonly ShownFile[]> {
  const { context, table } = run;
  const column = fileColumn(run, index);
  const value = remote.values[index];
  const shown = typeof value === 'string' ? fileFromCell(value) : null;
  if (column === undefined || typeof value !== 'string' || shown === null) return [];
  if ((await context.files?.keep?.(table.name, file)) !== true) return [];
  const { type, bytes, sha256 } = file;
  return [{ rowId: remote.id, column, value, file: { ...shown, type, bytes, sha256 } }];
}

function fileColumn({ context, table }: TablePush, index: number): FileColumn | undefined {
  const name = table.columns[index]?.localName;
  return readFileColumns(context.replica, table.id).find(({ columnName }) => columnName === name);
}

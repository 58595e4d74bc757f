/**
 * The files that rows attach: what the name in a cell leads to, whether it can be sent, its content. Input: values such as
 * `file:/path/to/photo.jpg`. Output: sizes for the plan, content and hash for the batch, or why a row is parked.
 *
 * Reasons never have the name, since it is a value of a row (I16). Content is never in memory whole: a file is read once for its hash,
 * which is in the batch before it leaves (I11), and again while it is sent. What is not the same by then is not sent to its end,
 * so that the origin cannot take it. A file in which a secret of ours stands is not sent at all.
 */
import { createHash } from 'node:crypto';
import { basename, extname, isAbsolute, join, normalize, sep } from 'node:path';
import { must } from '../base/assert.ts';
import { systemFiles, type FileSystem, type OpenFile } from '../base/file-system.ts';
import { moveRows } from '../capture/marks.ts';
import { storeRefusal } from '../capture/refusals.ts';
import {
  REQUEST_BYTES_MAX,
  tooLarge,
  type MeasureFile,
  type PlannedBatch,
  type PlannedRow,
} from '../reconcile/push-plan.ts';
import { uploadName } from '../reconcile/uploads.ts';
import { baseTarget } from '../replica/compare.ts';
import type { Tx } from '../replica/connection.ts';
import { readRowsById } from '../replica/rows.ts';
import { isHeaderText } from '../wire/mime.ts';
import type { StreamedBytes } from '../wire/multipart.ts';
import type { Row } from '../wire/schema.ts';
import { UPLOAD_PREFIX } from '../wire/values.ts';
import type { TablePush } from './context.ts';
import type { Contents } from './send.ts';
import { findHeldFiles, type MetFiles } from './settle-files.ts';

/** A file that was read. */
interface ReadFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Files that need no sending. */
export interface Held {
  /** Those that the row with an insert's match value shows already: the values that name them, by column, by the insert's id here. */
  readonly held: ReadonlyMap<number, ReadonlyMap<number, string>>;
}

/** The files of a batch, by the values that name them. */
export interface Uploads extends Held {
  readonly files: ReadonlyMap<string, ReadFile>;
  /** Why a value cannot be sent after all. */
  readonly problems: ReadonlyMap<string, string>;
  /** By SHA-256. */
  readonly contents: Contents;
}

/** Measures the files that values name; relative names are looked up in `uploadDir`. */
export function fileMeasurer(uploadDir: string | null, files = systemFiles): MeasureFile {
  return (value) => {
    const place = findFile(files, value, uploadDir);
    return 'problem' in place ? place : { bytes: place.bytes };
  };
}

type Place = { readonly path: string; readonly bytes: number } | { readonly problem: string };

/** The file that a value names, as far as it can be sent. */
function findFile(files: FileSystem, value: string, uploadDir: string | null): Place {
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
    return { problem: problemOf(thrown) };
  }
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

const NO_FILE = 'what is to be attached is no file (a folder, a pipe or a device)';
/** Files of the system, as those in /proc, say of themselves that they are empty. */
const EMPTY_FILE = 'the file to attach is empty';

/** What the file system said, without the path that its messages have. */
function problemOf(thrown: unknown): string {
  const code =
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string'
      ? thrown.code
      : null;
  if (code === null) throw thrown; // no failure of the file system, but a defect of ours
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no file of this name to attach';
  return `the file to attach cannot be read (${code})`;
}

/**
 * Reads the files of the rows of a batch, as many as one request takes; rows with the others are left for the next round. `takenBy` are
 * rows that have the match value of an insert, by the insert's id here. @throws RowsyncError of the origin, where these have files.
 */
export async function readUploads(
  run: TablePush,
  { rows }: PlannedBatch,
  takenBy: ReadonlyMap<number, Row>,
): Promise<Uploads> {
  const { settings, fileSystem = systemFiles } = run.context;
  const requestBytesMax = settings.batchLimits?.requestBytesMax ?? REQUEST_BYTES_MAX;
  const files = new Map<string, ReadFile>();
  const problems = new Map<string, string>();
  const contents = new Map<string, StreamedBytes>();
  let left = requestBytesMax;
  for (const value of rows.flatMap((row) => uploadsOf(run, row).map((cell) => cell.value))) {
    const known = files.get(value);
    if (known === undefined && !problems.has(value) && left > 0) {
      const place = findFile(fileSystem, value, settings.uploadDir);
      const bounds = { bytesMax: requestBytesMax, secrets: settings.secrets };
      const content = 'problem' in place ? place : await hashFile(fileSystem, place.path, bounds);
      if ('problem' in content) problems.set(value, content.problem);
      else if ('path' in place && content.bytes <= left) {
        const { path } = place;
        files.set(value, { path, name: basename(path), type: mediaTypeOf(path), ...content });
        contents.set(content.sha256, { length: content.bytes, read: () => readAgain(fileSystem, path, content) });
      }
    }
    // Each row sends a copy of its own.
    left -= files.get(value)?.bytes ?? 0;
  }
  const met = rows.flatMap((row): readonly MetFiles[] => {
    const remote = takenBy.get(row.id);
    const named = uploadsOf(run, row).flatMap((cell) => {
      const file = files.get(cell.value);
      return file === undefined ? [] : [{ ...cell, file }];
    });
    return remote === undefined ? [] : [{ id: row.id, remote, files: named }];
  });
  return { files, problems, contents, held: await findHeldFiles(run, met) };
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

/** What stands in a file. */
type Content = Pick<ReadFile, 'bytes' | 'sha256'>;

async function hashFile(
  files: FileSystem,
  path: string,
  { bytesMax, secrets }: { readonly bytesMax: number; readonly secrets: readonly string[] },
): Promise<Content | { readonly problem: string }> {
  try {
    const file = await files.open(path);
    try {
      if (!file.isFile) return { problem: NO_FILE };
      if (file.bytes > bytesMax) return { problem: tooLarge(bytesMax) };
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
    return { problem: problemOf(thrown) };
  }
}

/** Whoever may edit the replica names files, and must not get at what only the process may read. */
const SECRET = 'the file holds a token or password of rowsync itself, which is not sent';

/** Shorter secrets stand in many a file by chance, and are looked for only in one that is hardly longer. */
const SECRET_BYTES_MIN = 8;
const SHORT_FILE_BYTES_MAX = 64;

/** Says of the pieces of a file, in their order, whether one of the secrets stands in what came so far. */
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
async function* readAgain(files: FileSystem, path: string, { bytes, sha256 }: Content): AsyncGenerator<Uint8Array> {
  const file = await files.open(path);
  try {
    if (!file.isFile) throw new Error('What was to be sent is no file any more');
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

/**
 * Rows as they are recorded: each file with what is sent of it. Rows whose files cannot be read are parked; those whose files were
 * not read, because they were edited meanwhile or the request is full, are left for the next round.
 */
export function attachUploads(
  tx: Tx,
  run: TablePush,
  rows: readonly PlannedRow[],
  { uploads, at }: { readonly uploads: Uploads; readonly at: string },
): readonly PlannedRow[] {
  const { table, counts, context } = run;
  const withFiles = rows.filter((row) => uploadsOf(run, row).length > 0);
  if (withFiles.length === 0) return rows;
  const parked = new Set<number>();
  for (const row of withFiles) {
    const broken = uploadsOf(run, row).find(({ value }) => uploads.problems.has(value));
    if (broken === undefined) continue;
    const reason = must(uploads.problems.get(broken.value), 'a broken file has a reason');
    const refusal = { rowId: row.id, kind: row.kind, reason, column: broken.column, words: null, cells: [] } as const;
    storeRefusal(tx, table, { ...refusal, hope: 'never' }, context.clock.nowMs());
    parked.add(row.id);
  }
  moveRows(tx, table.id, [...parked], { event: 'refused', at });
  counts.refusedCount += parked.size;
  const ids = withFiles.map(({ id }) => id);
  const baseById = new Map(readRowsById(tx, baseTarget(table), ids).map((base) => [base.id, base]));
  return rows.flatMap((row): readonly PlannedRow[] => {
    const named = uploadsOf(run, row);
    if (named.length === 0) return [row];
    if (parked.has(row.id) || named.some(({ value }) => !uploads.files.has(value))) return [];
    const fileByColumn = new Map(
      named.map(({ column, value }) => {
        const before = baseById.get(row.id)?.values[column] ?? null;
        const file = must(uploads.files.get(value), 'a row without all its files was left out');
        return [column, { ...file, before: before === null ? null : String(before) }];
      }),
    );
    const cells = row.cells.map((cell) => {
      const file = fileByColumn.get(cell.column);
      return file === undefined ? cell : { ...cell, file };
    });
    return [{ ...row, cells }];
  });
}

/** What the origin is told a file is, by the end of its name. */
function mediaTypeOf(path: string): string {
  return TYPE_BY_END.get(extname(path).slice(1).toLowerCase()) ?? 'application/octet-stream';
}

/** Media types that are registered (IANA) or in common use. */
const TYPE_BY_END: ReadonlyMap<string, string> = new Map([
  ['avif', 'image/avif'],
  ['bmp', 'image/bmp'],
  ['csv', 'text/csv'],
  ['doc', 'application/msword'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['eml', 'message/rfc822'],
  ['gif', 'image/gif'],
  ['gz', 'application/gzip'],
  ['heic', 'image/heic'],
  ['htm', 'text/html'],
  ['html', 'text/html'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['json', 'application/json'],
  ['md', 'text/markdown'],
  ['mov', 'video/quicktime'],
  ['mp3', 'audio/mpeg'],
  ['mp4', 'video/mp4'],
  ['odt', 'application/vnd.oasis.opendocument.text'],
  ['ods', 'application/vnd.oasis.opendocument.spreadsheet'],
  ['pdf', 'application/pdf'],
  ['png', 'image/png'],
  ['ppt', 'application/vnd.ms-powerpoint'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['rtf', 'application/rtf'],
  ['svg', 'image/svg+xml'],
  ['tif', 'image/tiff'],
  ['tiff', 'image/tiff'],
  ['txt', 'text/plain'],
  ['wav', 'audio/wav'],
  ['webp', 'image/webp'],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['xml', 'application/xml'],
  ['zip', 'application/zip'],
]);

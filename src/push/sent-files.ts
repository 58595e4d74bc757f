/**
 * Finds out which files of a batch the origin shows as sent. Their content is put into the file store, so that it is not downloaded.
 *
 * A file with a lost answer is ours if the latest revision has its size and hash; if that cannot be checked, its row is parked. A file that the
 * origin has is never sent twice (I4). Requests: for each such file one list and one download.
 */
import { createHash } from 'node:crypto';
import { asRowsyncError } from '../base/errors.ts';
import type { Batch } from '../capture/batches.ts';
import { brokenRevision } from '../origin/failures.ts';
import { downloadProblem, fileFromCell } from '../reconcile/files.ts';
import type { SentCell } from '../reconcile/push-plan.ts';
import { acceptedRevision, isBeyondComparing, lostFileFate, type SentFile } from '../reconcile/uploads.ts';
import { readFileColumns, type FileColumn } from '../replica/bookkeeping/file-cells.ts';
import type { UploadedFile } from '../replica/bookkeeping/files.ts';
import type { AttachmentInfo } from '../wire/attachments.ts';
import type { BatchRow, RowNews } from '../reconcile/push-settle.ts';
import type { RowFinding } from '../reconcile/row-state.ts';
import type { Row } from '../wire/schema.ts';
import type { TablePush } from './context.ts';

/** A cell that shows a file of ours, by the origin's id of its row. */
export interface ShownFile {
  readonly rowId: number;
  readonly column: FileColumn;
  readonly value: string;
  readonly file: UploadedFile;
}

/** Adds the outcome of files to the answers about rows. @throws RowsyncError of the origin. */
export async function lookAtFiles(
  run: TablePush,
  { rows }: Batch,
  { news, isAtOnce }: { readonly news: ReadonlyMap<number, RowNews>; readonly isAtOnce: boolean },
): Promise<{ readonly news: ReadonlyMap<number, RowNews>; readonly shown: readonly ShownFile[] }> {
  const known = new Map(news);
  const own: OwnFile[] = [];
  for (const row of rows) {
    const before = news.get(row.id);
    if (before?.finding !== 'there' || before.remote === null) continue;
    const arrived = new Set<number>();
    let finding: RowFinding = before.finding;
    for (const { column, file } of row.cells) {
      if (file === undefined) continue;
      const fate = await fateOf(run, row, { column, file, remote: before.remote, isAtOnce });
      if (fate === 'unclear') finding = 'unclear';
      if (fate !== 'arrived') continue;
      arrived.add(column);
      own.push({ remote: before.remote, index: column, file });
    }
    known.set(row.id, { ...before, finding, arrived });
  }
  return { news: known, shown: await keepFiles(run, own) };
}

/** A sent file, and its row at the origin. */
interface FileAtOrigin {
  readonly column: SentCell['column'];
  readonly file: SentFile;
  readonly remote: Row;
  readonly isAtOnce: boolean;
}

async function fateOf(
  run: TablePush,
  { kind, answer }: BatchRow,
  looked: FileAtOrigin,
): Promise<'arrived' | 'absent' | 'unclear'> {
  const { column, file, remote, isAtOnce } = looked;
  const value = remote.values[column] ?? null;
  if (answer !== null) {
    const isNew = kind === 'insert';
    return isAtOnce && acceptedRevision(file, value, isNew) !== null ? 'arrived' : 'absent';
  }
  // A row that is new there had no file before.
  const fate = lostFileFate(kind === 'insert' ? { ...file, before: null } : file, value);
  return fate === 'compare' ? compareFile(run, looked) : fate;
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

/** Reads a revision. @returns the SHA-256 of its content. @throws RowsyncError `origin.truncated` if other content came. */
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
  const request = { ...place, version: { guid: info.guid, in: 'path' } } as const;
  const { value: headers } = await origin.attachment(request, take, { signal });
  const problem = downloadProblem({ ...info, bytes: info.size }, { ...headers, bytes });
  if (problem !== null) throw brokenRevision(info, problem);
  return hash.digest('hex');
}

/** A file of ours that a cell shows. */
interface OwnFile {
  readonly remote: Row;
  readonly index: number;
  readonly file: SentFile;
}

/** Puts the content of our files into the store; returns the cells that show one. */
async function keepFiles(run: TablePush, own: readonly OwnFile[]): Promise<readonly ShownFile[]> {
  const { context, table } = run;
  const kept = new Map<string, boolean>();
  for (const { file } of own) {
    if (kept.has(file.sha256)) continue;
    kept.set(file.sha256, (await context.files?.keep?.(table.name, file)) ?? false);
  }
  return own.flatMap(({ remote, index, file }): readonly ShownFile[] => {
    const column = fileColumn(run, index);
    const value = remote.values[index];
    const shown = typeof value === 'string' ? fileFromCell(value) : null;
    if (column === undefined || typeof value !== 'string' || shown === null) return [];
    if (kept.get(file.sha256) !== true) return [];
    const { type, bytes, sha256 } = file;
    return [{ rowId: remote.id, column, value, file: { ...shown, type, bytes, sha256 } }];
  });
}

function fileColumn({ context, table }: TablePush, index: number): FileColumn | undefined {
  const name = table.columns[index]?.localName;
  return readFileColumns(context.replica, table.id).find(({ columnName }) => columnName === name);
}

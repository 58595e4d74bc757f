/**
 * Asks the origin about the rows of a batch. Accepted rows are read back; rows with a lost answer are looked up by id or match value, once. Reads
 * only. Each row gets one finding of the state table (reconcile/row-state.ts), which settle.ts applies in one transaction.
 *
 * A file with a lost answer is ours if the latest revision has its size and hash; if that cannot be checked, its row is parked. A file that the
 * origin has is never sent twice (I4), and one that it took is put into the file store, so that it is not downloaded.
 */
import { createHash } from 'node:crypto';
import { isApplied, type BatchRow, type RowNews } from '../reconcile/push-settle.ts';
import { baseTarget } from '../replica/base-comparison.ts';
import { readRowsById } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { step, type TablePush } from './context.ts';
import { findById, findByMatch, wasUnknownRowDeleted, type FoundRows, type Holder } from './find-rows.ts';
import { isSameCaller } from './calling-user.ts';
import { requireShapeAsSent } from './renamed-columns.ts';
import { asRowsyncError } from '../base/errors.ts';
import { brokenRevision } from '../origin/request-errors.ts';
import {
  downloadProblem,
  fileFromCell,
  acceptedRevision,
  isBeyondComparing,
  lostFileFate,
  type SentFile,
} from '../reconcile/files.ts';
import type { SentCell } from '../reconcile/push-plan.ts';
import { readFileColumns, type FileColumn } from '../replica/bookkeeping/file-cells.ts';
import type { UploadedFile } from '../replica/bookkeeping/files.ts';
import type { AttachmentInfo } from '../wire/attachments.ts';
import type { RowFinding } from '../reconcile/row-state.ts';
import type { Batch } from '../replica/bookkeeping/batches.ts';

/** The origin's answers about the rows of a batch. */
export interface Findings {
  /** By the id here; a row without an entry cannot be looked up. */
  readonly news: ReadonlyMap<number, RowNews>;
  /** Cells that show a file of ours, whose content is in the file store. */
  readonly shown: readonly ShownFile[];
}

/** The answers without asking, as after another caller: none. */
export const NO_NEWS: Findings = { news: new Map(), shown: [] };

/** A row about which nothing is known. */
const UNCLEAR: RowNews = { finding: 'unclear', remote: null, arrived: new Set() };

/** The finding about a row. If a file of an update cannot be looked up, it may have arrived: it is not sent twice. */
export function newsOf({ news }: Findings, { id, kind, cells, answer }: BatchRow): RowNews {
  const known = news.get(id) ?? UNCLEAR;
  const isOpen = kind === 'update' && answer === null && cells.some(({ file }) => file !== undefined);
  return isOpen && known.finding === 'unclear' ? { ...known, finding: 'other' } : known;
}

/** Asks the origin about the rows of a batch; `isAtOnce`: right after its answer. @throws RowsyncError of the origin, `push.identity`, `push.shape`. */
export async function readBackBatch(
  run: TablePush,
  batch: Batch,
  { isAtOnce }: { readonly isAtOnce: boolean },
): Promise<Findings> {
  await step(run, 'readBack');
  const ids = batch.rows.flatMap((row) => originIdOf(row) ?? []);
  const values = batch.rows.flatMap((row) => lostMatchOf(run, batch, row) ?? []);
  const [found, holders] = await Promise.all([findById(run, ids), findByMatch(run, values, true)]);
  const news = new Map(
    batch.rows.map((row) => [row.id, newsOfRow(row, lostMatchOf(run, batch, row), { found, holders })]),
  );
  const isAnyAbsent = batch.rows.some(
    ({ id, answer }) => news.get(id)?.finding === 'absent' && answer?.as !== 'accepted' && answer?.as !== 'matched',
  );
  // A row that another caller does not see may exist.
  const isHidden = isAnyAbsent && !(await isSameCaller(run));
  if (isHidden) for (const [id, { finding }] of news) if (finding === 'absent') news.set(id, UNCLEAR);
  await suspectDeleted(run, batch, news);
  await requireShapeAsSent(run, batch, news);
  const shown = await lookAtFiles(run, batch, { news, isAtOnce });
  for (const row of batch.rows) news.set(row.id, judgeLostInsert(run, batch, row, news.get(row.id) ?? UNCLEAR));
  return { news, shown };
}

/** A lost insert that is not there may have been deleted since; then it must not be created again. The origin's list of deleted rows is a hint. */
async function suspectDeleted(run: TablePush, batch: Batch, news: Map<number, RowNews>): Promise<void> {
  const lost = batch.rows.filter(
    (row) => news.get(row.id)?.finding === 'absent' && lostMatchOf(run, batch, row) !== null,
  );
  if (lost.length === 0 || !(await wasUnknownRowDeleted(run, batch.sentAt))) return;
  const why = 'no row there has its match value, but a row that was never here was deleted there since';
  for (const { id } of lost) news.set(id, { ...UNCLEAR, why });
}

/** The id for looking up a row; null if it has none, or was deleted as requested. */
function originIdOf({ id, kind, answer }: BatchRow): number | null {
  if (kind === 'delete') return answer?.as === 'accepted' ? null : id;
  if (kind === 'update') return id;
  return answer?.id ?? null;
}

/** The match value by which an upsert without an answer is looked up; null for every other row. */
function lostMatchOf({ planned }: TablePush, { method }: Batch, row: BatchRow): Value {
  if (method !== 'upsert' || row.kind !== 'insert' || originIdOf(row) !== null) return null;
  return row.cells.find(({ column }) => column === planned.match)?.value ?? null;
}

function newsOfRow(
  row: BatchRow,
  matchValue: Value,
  { found, holders }: { readonly found: FoundRows; readonly holders: ReadonlyMap<Value, Holder> },
): RowNews {
  const id = originIdOf(row);
  if (id !== null) {
    const unreadable = found.unreadable.get(id);
    return { ...UNCLEAR, ...(unreadable === undefined ? presence(found.byId.get(id)) : { unreadable }) };
  }
  if (row.kind !== 'insert') return { ...UNCLEAR, ...presence(undefined) };
  const holder = matchValue === null ? 'unclear' : holders.get(matchValue);
  return holder === 'unclear' || holder === 'refused' ? UNCLEAR : { ...UNCLEAR, ...presence(holder) };
}

function presence(remote: Row | undefined): Pick<RowNews, 'finding' | 'remote'> {
  return remote === undefined ? { finding: 'absent', remote: null } : { finding: 'there', remote };
}

/** The row with the match value of a lost insert is its result if it holds all sent values, and is unknown here. */
function judgeLostInsert(run: TablePush, batch: Batch, row: BatchRow, news: RowNews): RowNews {
  const { finding, remote, arrived } = news;
  if (lostMatchOf(run, batch, row) === null || finding !== 'there' || remote === null) return news;
  const { context, table } = run;
  const isKnown = readRowsById(context.replica, baseTarget(table), [remote.id]).length > 0;
  const isOurs = !isKnown && isApplied(row.cells, remote, table.columns, arrived);
  return isOurs ? news : { ...news, finding: 'other' };
}

/** A cell that shows a file of ours, by the origin's id of its row. */
interface ShownFile {
  readonly rowId: number;
  readonly column: FileColumn;
  readonly value: string;
  readonly file: UploadedFile;
}

/** Adds the outcome of files to the answers about rows. @throws RowsyncError of the origin. */
async function lookAtFiles(
  run: TablePush,
  { rows }: Batch,
  { news, isAtOnce }: { readonly news: Map<number, RowNews>; readonly isAtOnce: boolean },
): Promise<readonly ShownFile[]> {
  const own: FileAtOrigin[] = [];
  for (const row of rows) {
    const before = news.get(row.id);
    if (before?.finding !== 'there' || before.remote === null || !row.cells.some(({ file }) => file !== undefined))
      continue;
    const arrived = new Set<number>();
    let finding: RowFinding = before.finding;
    for (const { column, file } of row.cells) {
      if (file === undefined) continue;
      const looked = { column, file, remote: before.remote };
      const fate = await fateOf(run, row, looked, isAtOnce);
      if (fate === 'unclear') finding = 'unclear';
      if (fate !== 'arrived') continue;
      arrived.add(column);
      own.push(looked);
    }
    news.set(row.id, { ...before, finding, arrived });
  }
  return keepFiles(run, own);
}

interface FileAtOrigin {
  readonly column: SentCell['column'];
  readonly file: SentFile;
  readonly remote: Row;
}

async function fateOf(
  run: TablePush,
  { kind, answer }: BatchRow,
  looked: FileAtOrigin,
  isAtOnce: boolean,
): Promise<'arrived' | 'absent' | 'unclear'> {
  const { column, file, remote } = looked;
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

/** Puts the content of our files into the store; returns the cells that show one. */
async function keepFiles(run: TablePush, own: readonly FileAtOrigin[]): Promise<readonly ShownFile[]> {
  const { context, table } = run;
  const kept = new Map<string, boolean>();
  for (const { file } of own) {
    if (kept.has(file.sha256)) continue;
    kept.set(file.sha256, (await context.files?.keep?.(table.name, file)) ?? false);
  }
  return own.flatMap(({ remote, column: index, file }): readonly ShownFile[] => {
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

/**
 * Checks attached files: reads each content and compares its hash, and asks the origin for each file by guid, without
 * its content. What is lost, damaged or not here yet is fetched; what the origin no longer has is marked. Nothing is
 * removed. Requests: one HEAD for each file, the list of a cell whose HEAD is refused, and the downloads that mend.
 */
import { stampFromMs } from '../../base/clock.ts';
import { asRowsyncError, RowsyncError } from '../../base/errors.ts';
import { runAll } from '../../base/concurrency.ts';
import { sumOf } from '../../base/sum.ts';
import { readFileColumns, type FileColumn } from '../../replica/bookkeeping/file-cells.ts';
import { readContents, storeContentLost, storeFileVanished } from '../../replica/bookkeeping/files.ts';
import {
  inspectContent,
  readFilesAwaited,
  readFilesHere,
  type FileHere,
  type AwaitedFile,
} from '../shared/stored-content.ts';
import { errorFromReading } from '../../replica/sqlite-errors.ts';
import type { FilesContext, FilesReport } from '../../files/context.ts';
import { openReplicaStore } from '../../files/open-store.ts';
import { OutageWatch } from '../../files/outage.ts';
import { pullFiles } from '../../files/download.ts';
import { FileStore } from '../../files/store.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import type { StoredContent } from '../../reconcile/files.ts';

/** Content read side by side; a disk gains little by more. */
const READS_MAX = 2;
/** Findings listed; all are counted. */
const LISTED_MAX = 100;

/** What a verification of files found. Counts are files unless the name says otherwise. */
export interface FilesVerifyReport {
  readonly contentCount: number;
  readonly contentBytes: number;
  /** Whose content was lost or damaged. */
  readonly damagedCount: number;
  /** That should have been here and were not, also before this run. */
  readonly missingCount: number;
  /** Damaged or missing files that could not be fetched. */
  readonly lost: readonly string[];
  readonly lostCount: number;
  /** That the origin answered for. */
  readonly askedCount: number;
  /** That the origin did not answer for, so that they are not checked; `error` says why. */
  readonly unaskedCount: number;
  /** Newly found to be gone at the origin. */
  readonly vanishedCount: number;
  /** Files whose size at the origin differs. */
  readonly different: readonly string[];
  readonly differentCount: number;
  /** That the origin did not let us ask for, such as earlier revisions without the right to see them. */
  readonly refusedCount: number;
  /** The downloads of what was damaged or missing; null without such files. */
  readonly mending: FilesReport | null;
  readonly requestCount: number;
  readonly durationMs: number;
  /** Why the work ended before its end. */
  readonly error: RowsyncError | null;
}

type VerifyCounts = {
  -readonly [
    Count in 'damagedCount' | 'askedCount' | 'unaskedCount' | 'vanishedCount' | 'differentCount' | 'refusedCount'
  ]: number;
} & { readonly different: string[] };

/** Verifies the files of the named tables (empty for all). @throws RowsyncError `usage.invalid` for an unknown name. */
export async function verifyFiles(
  context: FilesContext,
  options: { readonly tables: readonly string[] },
): Promise<FilesVerifyReport> {
  const { clock, origin, replica, settings } = context;
  const tables = chooseTables(replica, options.tables);
  const tableIds = options.tables.length === 0 ? null : tables.map(({ id }) => id);
  const startedMs = clock.monotonicMs();
  const before = origin.counters().requestCount;
  const tally: VerifyCounts = {
    damagedCount: 0,
    askedCount: 0,
    unaskedCount: 0,
    vanishedCount: 0,
    differentCount: 0,
    refusedCount: 0,
    different: [],
  };
  const contents = readContents(replica, tableIds);
  const missingCount = readFilesAwaited(replica, { tableIds }).length;
  const contentBytes = sumOf(contents, ({ bytes }) => bytes);
  let mending: FilesReport | null = null;
  let error: RowsyncError | null = null;
  const damaged = new Set<number>();
  try {
    context.onProgress?.({ kind: 'start', what: 'verify', fileCount: contents.length, bytes: contentBytes });
    // Without content there is no store yet.
    const { store, lostIds } =
      contents.length === 0 ? { store: new FileStore(settings.folder), lostIds: [] } : await openReplicaStore(context);
    for (const id of lostIds) damaged.add(id);
    tally.damagedCount += lostIds.length;
    await readAll(context, { store, contents, damaged, tally });
    // Other tables may share the content that was damaged.
    const mended = damaged.size > 0 ? [] : options.tables;
    if (damaged.size + missingCount > 0) mending = await pullFiles(context, { tables: mended, retryNow: true });
    error = mending?.error ?? (await askAll(context, tableIds, tally));
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
  }
  const lost = readFilesAwaited(replica, { tableIds, lostIds: [...damaged] }).map(placeText);
  return {
    ...tally,
    contentCount: contents.length,
    contentBytes,
    missingCount,
    lost: lost.slice(0, LISTED_MAX),
    lostCount: lost.length,
    mending,
    requestCount: origin.counters().requestCount - before,
    durationMs: clock.monotonicMs() - startedMs,
    error,
  };
}

/** Reads every content; files whose content is not whole are missing from then on. */
async function readAll(
  { replica, onProgress, signal }: FilesContext,
  work: {
    readonly store: FileStore;
    readonly contents: readonly StoredContent[];
    readonly damaged: Set<number>;
    readonly tally: VerifyCounts;
  },
): Promise<void> {
  await runAll(work.contents, READS_MAX, async (content) => {
    if (signal?.aborted === true) throw stopped();
    const state = await inspectContent(work.store, content);
    onProgress?.({ kind: 'bytes', bytes: content.bytes });
    onProgress?.({ kind: 'file' });
    if (state === 'whole') return;
    const ids = await replica.write('Noting damaged content', (tx) => storeContentLost(tx, content.sha256));
    for (const id of ids) work.damaged.add(id);
    work.tally.damagedCount += ids.length;
  });
}

function stopped(): RowsyncError {
  return new RowsyncError('originDown', 'origin.stopped', {
    message: 'Verifying files: abandoned because rowsync was asked to stop',
    hint: 'Run the command again; it begins anew.',
  });
}

/** Asks for every file that is here; returns a failure. @throws RowsyncError if none of the others can be asked for. */
async function askAll(
  context: FilesContext,
  tableIds: readonly number[] | null,
  tally: VerifyCounts,
): Promise<RowsyncError | null> {
  const { replica, settings } = context;
  const columns = new Map<string, FileColumn>();
  for (const { id } of chooseTables(replica, [])) {
    for (const column of readFileColumns(replica, id)) columns.set(`${id}.${column.columnId}`, column);
  }
  const files = readFilesHere(replica, tableIds).flatMap((file) => {
    const column = columns.get(`${file.tableId}.${file.columnId}`);
    return file.isVanished || column === undefined ? [] : [{ file, column }];
  });
  const watch = new OutageWatch();
  let failed: RowsyncError | null = null;
  try {
    await runAll(files, settings.concurrency, async ({ file, column }) => {
      const error = await askFor(context, { file, column, tally });
      failed ??= error;
      watch.note(error);
    });
  } finally {
    tally.unaskedCount = files.length - tally.askedCount;
  }
  return failed;
}

/** Compares a file with what the origin says of it; a failure that says nothing of the file is returned. */
async function askFor(
  context: FilesContext,
  { file, column, tally }: { readonly file: FileHere; readonly column: FileColumn; readonly tally: VerifyCounts },
): Promise<RowsyncError | null> {
  const { origin, replica, clock, signal } = context;
  const request = { ...column.address, record: { id: file.rowId }, version: { guid: file.guid } } as const;
  try {
    const { length } = (await origin.attachmentHeaders(request, { signal })).value;
    tally.askedCount += 1;
    if (length === null || length === file.bytes) return null;
    tally.differentCount += 1;
    if (tally.different.length < LISTED_MAX) tally.different.push(placeText(file));
    return null;
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (!isOfRequest(error)) return error;
    const fate = await explainRefusal(context, { file, column, error });
    if (fate instanceof RowsyncError) return fate;
    if (fate === 'refused') tally.refusedCount += 1;
    else {
      const at = stampFromMs(clock.nowMs());
      const isNew = await replica.write('Marking a file that is gone', (tx) => storeFileVanished(tx, file.id, at));
      tally.vanishedCount += isNew ? 1 : 0;
    }
    tally.askedCount += 1;
    return null;
  }
}

/** Whether the origin itself refused this request: a proxy, redirect, login or outage says nothing of the file. */
function isOfRequest({ kind, code }: RowsyncError): boolean {
  return kind === 'originRefused' && (code === 'origin.refused' || code === 'origin.forbidden');
}

/**
 * What a refused HEAD means. It has no body, so a wrong token looks like a file that may not be seen; the list of the
 * cell has one. A file is gone if it is not found although its cell can be listed, and the list does not show it.
 */
async function explainRefusal(
  { origin, signal }: FilesContext,
  { file, column, error }: { readonly file: FileHere; readonly column: FileColumn; readonly error: RowsyncError },
): Promise<'gone' | 'refused' | RowsyncError> {
  try {
    const answer = await origin.attachments({ ...column.address, record: { id: file.rowId } }, { signal });
    if (error.refusal?.status !== 404) return 'refused';
    return answer.kind === 'ok' && answer.value.every(({ guid }) => guid !== file.guid) ? 'gone' : error;
  } catch (thrown) {
    const listError = asRowsyncError(thrown);
    return isOfRequest(listError) ? 'refused' : listError;
  }
}

/** Where a file belongs, for people; its name is not said. A cell that could not be listed has no revision. */
function placeText({ tableName, columnName, rowId, revision }: AwaitedFile): string {
  return `${tableName}.${columnName} of row ${rowId}${revision === null ? '' : `, revision ${revision}`}`;
}

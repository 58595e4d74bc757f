/**
 * Brings files here: lists their revisions (list-revisions.ts), then fetches those that are wanted, several at a time.
 * A file that fails holds up no other. However the work ends, stored files are complete, and the next run continues
 * from there (I13). Order (I15): the bytes are synced, then come the final names, their folders, and the rows.
 */
import PQueue from 'p-queue';
import { stampFromMs } from '../base/clock.ts';
import { type RowsyncError, asRowsyncError } from '../base/errors.ts';
import { runAll, shareNext } from '../base/concurrency.ts';
import { columnMode, downloadProblem, judgeFile } from '../reconcile/files.ts';
import { readFileColumns, forgetLook, type FileColumn } from '../replica/bookkeeping/file-cells.ts';
import {
  countFilesNotHere,
  forgetRetryTimes,
  readFilesNotHere,
  readStoredBytes,
  readContentOfGuid,
  storeFileFacts,
  storeFileFailed,
  storeFileHere,
  storeFileSkipped,
  type FileFacts,
  type FileNotHere,
} from '../replica/bookkeeping/files.ts';
import { hasFilesFailed, recordFilesRun } from '../replica/bookkeeping/runs.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import type { FilesContext, FilesReport, FilesTally } from './context.ts';
import { openReplicaStore } from './open-store.ts';
import { listRevisions, type WantedColumn } from './list-revisions.ts';
import { OutageWatch } from './outage.ts';
import { Quota } from './quota.ts';
import type { FileStore, IncomingFile } from './store.ts';
import { chooseTables } from '../replica/bookkeeping/tables.ts';
import type { FileHeaders } from '../origin/answers.ts';
import { BACKOFFS, backoffMs } from '../base/retries.ts';
import { brokenRevision } from '../origin/request-errors.ts';
import type { AttachmentRequest } from '../origin/files.ts';
import type { Replica } from '../replica/database.ts';
import { blocksAbove } from '../replica/query.ts';

/** Files read from the bookkeeping at a time. */
const BLOCK_FILES = 500;
/** Files in hand for each request under way: while one comes, others are synced in one go (measured: 4 are slower). */
const IN_HAND_PER_REQUEST = 8;
/** Files that wait for a free connection, so that none is idle. */
const WAITING_MAX = 2;

export interface FilesPullOptions {
  /** Names as at the origin or in the replica, case does not count; empty for all tables. */
  readonly tables: readonly string[];
  /** Try at once what failed before, however often it did. */
  readonly retryNow: boolean;
}

/** Brings the files of tables here; one that fails stops no other. @throws `usage.invalid` for unknown table names. */
export async function pullFiles(context: FilesContext, options: FilesPullOptions): Promise<FilesReport> {
  const { clock, origin, replica } = context;
  const columns = chooseFileColumns(context, options.tables);
  const startedMs = clock.monotonicMs();
  const startedAt = stampFromMs(clock.nowMs());
  const before = origin.counters().requestCount;
  const tally = emptyTally();
  let error: RowsyncError | null = null;
  try {
    if (columns.length > 0) await bringFiles(context, columns, { tally, retryNow: options.retryNow });
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
    context.log.error('files.stopped', { code: error.code });
  }
  if (columns.length > 0) error = await record(context, { startedAt, error });
  return {
    ...tally,
    requestCount: origin.counters().requestCount - before,
    durationMs: clock.monotonicMs() - startedMs,
    error,
  };
}

/** Keeps how the work ended for the account, and returns it; a replica that cannot keep it is an error itself. */
async function record(
  { clock, replica }: FilesContext,
  { startedAt, error }: { readonly startedAt: string; readonly error: RowsyncError | null },
): Promise<RowsyncError | null> {
  const finishedAt = stampFromMs(clock.nowMs());
  if (error === null ? !hasFilesFailed(replica) : error.code === 'origin.stopped') return error;
  try {
    await replica.write('Recording work on files', (tx) => recordFilesRun(tx, { startedAt, finishedAt, error }));
    return error;
  } catch (thrown) {
    return error ?? errorFromReading(thrown, replica.path);
  }
}

function emptyTally(): FilesTally {
  return {
    downloadedCount: 0,
    downloadedBytes: 0,
    knownCount: 0,
    failedCount: 0,
    overBoundCount: 0,
    vanishedCount: 0,
    listedCount: 0,
  };
}

function chooseFileColumns({ replica, settings }: FilesContext, names: readonly string[]): readonly WantedColumn[] {
  return chooseTables(replica, names).flatMap(({ id, name, problemCode }) => {
    const rule = settings.rule(name);
    // Columns of a held table may be left out by now.
    if (problemCode === 'guard.schema') return [];
    if (rule === null || rule.mode === 'none') return [];
    return readFileColumns(replica, id).map((column) => {
      return { column, rule: { ...rule, mode: columnMode(rule.mode, column.options) } };
    });
  });
}

async function bringFiles(
  context: FilesContext,
  columns: readonly WantedColumn[],
  { tally, retryNow }: { tally: FilesTally; retryNow: boolean },
): Promise<void> {
  const { replica } = context;
  const { store } = await openReplicaStore(context);
  if (retryNow) await replica.write('Trying again at once', forgetRetryTimes);
  for (const column of columns) await listRevisions(context, column, tally);
  await fetchAll(context, columns, { store, tally });
}

async function fetchAll(
  context: FilesContext,
  columns: readonly WantedColumn[],
  { store, tally }: { store: FileStore; tally: FilesTally },
): Promise<void> {
  const { clock, replica, settings } = context;
  const now = stampFromMs(clock.nowMs());
  const due = columns.map(({ column }) => countFilesNotHere(replica, column, now));
  const fileCount = due.reduce((sum, count) => sum + count.fileCount, 0);
  const isKnown = due.every(({ unsizedCount }) => unsizedCount === 0);
  const bytes = isKnown ? due.reduce((sum, count) => sum + count.bytes, 0) : null;
  if (fileCount > 0) context.onProgress?.({ kind: 'start', what: 'download', fileCount, bytes });
  const run: FetchRun = {
    context,
    store,
    keep: fileKeeper(store, replica),
    quota: new Quota(settings.bytesMax, readStoredBytes(replica)),
    watch: new OutageWatch(),
    tally,
    receiving: new PQueue({ concurrency: settings.concurrency + WAITING_MAX }),
    underWay: new Map(),
  };
  const inHand = settings.concurrency * IN_HAND_PER_REQUEST;
  await runAll(filesToFetch(context, columns, now), inHand, (file) => fetchFile(run, file));
}

function* filesToFetch(
  { replica }: FilesContext,
  columns: readonly WantedColumn[],
  now: string,
): Generator<FileToFetch> {
  for (const { column, rule } of columns) {
    const notHere = blocksAbove(
      (after) => readFilesNotHere(replica, column, { after, count: BLOCK_FILES, now }),
      ({ id }) => id,
    );
    for (const block of notHere) for (const file of block) yield { file, column, rule };
  }
}

interface FetchRun {
  readonly context: FilesContext;
  readonly store: FileStore;
  /** @throws RowsyncError of the store or the replica. */
  readonly keep: (finished: FinishedFile) => Promise<void>;
  readonly quota: Quota;
  readonly watch: OutageWatch;
  readonly tally: FilesTally;
  /** Bounds how many files are received at once: fewer than are in hand, since others wait to be synced. */
  readonly receiving: PQueue;
  /** Downloads under way by guid. */
  readonly underWay: Map<string, Promise<void>>;
}

interface FileToFetch extends WantedColumn {
  readonly file: FileNotHere;
}

/** Thrown where a rule turns out to leave the file out, also into its download. */
class FileLeftOutError extends Error {
  readonly rule: string;

  constructor(rule: string) {
    super(rule);
    this.rule = rule;
  }
}

/** Brings one file here, or notes why not. @throws RowsyncError where the others could not be fetched either. */
async function fetchFile(run: FetchRun, wanted: FileToFetch): Promise<void> {
  const { guid } = wanted.file;
  // Rows may name the same file: later ones wait until the first attempt ended, whatever its result.
  for (let first = run.underWay.get(guid); first !== undefined; first = run.underWay.get(guid)) {
    await first.catch(() => undefined);
  }
  const work = fetchOnce(run, wanted);
  run.underWay.set(guid, work);
  try {
    await work;
  } finally {
    if (run.underWay.get(guid) === work) run.underWay.delete(guid);
    run.context.onProgress?.({ kind: 'file' });
  }
}

async function fetchOnce(run: FetchRun, { file, column, rule }: FileToFetch): Promise<void> {
  const { replica } = run.context;
  const known = readContentOfGuid(replica, file.guid);
  if (known !== null) {
    await replica.write('Storing a file that is here', (tx) => storeFileHere(tx, file.id, known));
    run.tally.knownCount += 1;
    return;
  }
  try {
    const completed = await lookAt(run, { file, column, rule });
    if (await download(run, { file: completed, column, rule })) run.watch.note(null);
  } catch (thrown) {
    if (thrown instanceof FileLeftOutError) return skip(run, file, thrown.rule);
    const error = asRowsyncError(thrown);
    if (error.code !== 'origin.stopped' && error.kind !== 'replica' && error.kind !== 'bug')
      await fail(run, { file, column, rule }, error);
    run.watch.note(error);
  }
}

/** Whether enough is known of a file to fetch it. @throws FileLeftOutError. */
function isFetchable({ quota }: FetchRun, { file, rule }: FileToFetch): boolean {
  const verdict = judgeFile(file, rule, quota.left());
  if (verdict.kind === 'skip') throw new FileLeftOutError(verdict.rule);
  return verdict.kind === 'fetch';
}

/** Completes what is known of the file where a rule asks for it. @throws FileLeftOutError, RowsyncError. */
async function lookAt(run: FetchRun, wanted: FileToFetch): Promise<FileNotHere> {
  const { file, column } = wanted;
  const { origin, replica, signal } = run.context;
  if (isFetchable(run, wanted)) return file;
  const { value: headers } = await origin.attachmentHeaders(requestFor(file, column), { signal });
  const facts = factsFrom(headers);
  await replica.write('Storing what a file is', (tx) => storeFileFacts(tx, file.id, facts));
  return { ...file, type: file.type ?? facts.type, bytes: file.bytes ?? facts.bytes };
}

function requestFor({ guid, rowId }: FileNotHere, { address }: FileColumn): AttachmentRequest {
  return { ...address, record: { id: rowId }, version: { guid } };
}

function factsFrom({ type, length, author, lastModifiedAt }: FileHeaders): FileFacts {
  return { type, bytes: length, author, createdAt: lastModifiedAt };
}

/** Brings a file here; false if it was not requested, since the work is over for all files. */
async function download(run: FetchRun, wanted: FileToFetch): Promise<boolean> {
  isFetchable(run, wanted); // once more: others may have taken the room. A size that is unknown shows as bytes come
  using _reserved = run.quota.reserve(wanted.file.bytes ?? 0);
  const finished = await run.receiving.add(() => (run.watch.isOver ? null : receive(run, wanted)));
  if (finished === null) return false;
  try {
    await run.keep(finished);
  } catch (thrown) {
    await finished.file.discard();
    throw thrown;
  }
  run.quota.use(finished.file.bytes);
  run.tally.downloadedCount += 1;
  run.tally.downloadedBytes += finished.file.bytes;
  return true;
}

/** Receives and checks the file, or removes what came of it. @throws FileLeftOutError, RowsyncError. */
async function receive(run: FetchRun, { file, column, rule }: FileToFetch): Promise<FinishedFile> {
  const { origin, onProgress, signal } = run.context;
  let incoming = await run.store.begin();
  const take = (chunk: Uint8Array): Promise<void> => {
    const bytes = incoming.bytes + chunk.length;
    if (rule.maxFileBytes !== null && bytes > rule.maxFileBytes)
      throw new FileLeftOutError(`${rule.name}.maxFileBytes`);
    if (bytes - (file.bytes ?? 0) > (run.quota.left() ?? Infinity)) throw new FileLeftOutError('files.maxBytes');
    onProgress?.({ kind: 'bytes', bytes: chunk.length });
    return incoming.write(chunk);
  };
  const restart = async (): Promise<void> => {
    await incoming.discard();
    incoming = await run.store.begin();
  };
  try {
    const request = { ...requestFor(file, column), restart };
    const { value: headers } = await origin.attachment(request, take, { signal });
    const problem = downloadProblem(file, { ...headers, bytes: incoming.bytes });
    if (problem !== null) throw brokenRevision(file, problem);
    return { id: file.id, file: incoming, facts: factsFrom(headers) };
  } catch (thrown) {
    await incoming.discard();
    throw thrown;
  }
}

async function skip({ context, tally }: FetchRun, file: FileNotHere, rule: string): Promise<void> {
  if (rule === 'files.maxBytes') tally.overBoundCount += 1;
  if (file.state === 'skipped' && file.reason === rule) return;
  await context.replica.write('Leaving a file out', (tx) => storeFileSkipped(tx, file.id, rule));
}

async function fail({ context, tally }: FetchRun, { file, column }: FileToFetch, error: RowsyncError): Promise<void> {
  const { clock, log, replica } = context;
  // A revision that no cell shows may have gone with a backup that the origin restored: the list says whether it has.
  const isListedAgain = error.refusal?.status === 404 && !file.isLatest;
  const failureCount = file.failureCount + 1;
  const retryAt = stampFromMs(clock.nowMs() + backoffMs(BACKOFFS.file, failureCount));
  tally.failedCount += 1;
  log.warn('file.failed', { code: error.code });
  await replica.write('Noting a file that failed', (tx) => {
    storeFileFailed(tx, file.id, { reason: error.message, failureCount, retryAt });
    if (isListedAgain) forgetLook(tx, column, file.rowId);
  });
}

/** A download that is whole. */
interface FinishedFile {
  /** Of its row. */
  readonly id: number;
  readonly file: IncomingFile;
  readonly facts: FileFacts;
}

/** Keeps files in batches: those that are whole meanwhile come next. Resolves once the file is durable and named. */
function fileKeeper(store: FileStore, replica: Replica): (finished: FinishedFile) => Promise<void> {
  const waiting: FinishedFile[] = [];
  const keepWaiting = shareNext(async () => {
    const batch = waiting.splice(0);
    const complete = await Promise.all(
      batch.map(async ({ file, ...known }) => ({ ...known, file: await file.complete() })),
    );
    await store.keep(complete.map(({ file }) => file));
    await replica.write('Storing files', (tx) => {
      for (const { id, file, facts } of complete) {
        storeFileFacts(tx, id, facts);
        storeFileHere(tx, id, file);
      }
    });
  });
  return (finished) => {
    waiting.push(finished);
    return keepWaiting();
  };
}

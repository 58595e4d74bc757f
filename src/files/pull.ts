/**
 * Bringing files here: find out which revisions there are (look.ts), then fetch those that are wanted and not here (fetch.ts), several at a time.
 * Runs after the rows of a pull, and alone. A file that fails holds up no other. However the work ends, stored files are whole, and the next run
 * continues from there (I13).
 */
import PQueue from 'p-queue';
import { stampFromMs } from '../base/clock.ts';
import type { RowsyncError } from '../base/errors.ts';
import { runPool } from '../base/pool.ts';
import { columnMode } from '../reconcile/files.ts';
import { isSchemaHeld } from '../replica/bookkeeping/problems.ts';
import { readFileColumns } from '../replica/bookkeeping/file-cells.ts';
import {
  countFilesNotHere,
  forgetRetryTimes,
  readFilesNotHere,
  readStoredBytes,
} from '../replica/bookkeeping/files.ts';
import { hasFilesFailed, recordFilesRun } from '../replica/bookkeeping/runs.ts';
import { errorFromReading } from '../replica/failures.ts';
import type { FilesContext, FilesReport, FilesTally } from './context.ts';
import { fetchFile, type FetchRun, type FileToFetch } from './fetch.ts';
import { openReplicaStore } from './replica-store.ts';
import { FileWriter } from './file-writer.ts';
import { lookAtColumn, type WantedColumn } from './look.ts';
import { OutageWatch } from './outage.ts';
import { Quota } from './quota.ts';
import type { FileStore } from './store.ts';
import { chooseTables } from './tables.ts';

/** Files read from the bookkeeping at a time. */
const BLOCK_FILES = 500;
/** Files in hand for each request under way: while one is received, the others are synced, many in one go (measured: four are slower). */
const IN_HAND_PER_REQUEST = 8;
/** Files that wait for a free connection, so that none is idle. */
const WAITING_MAX = 2;

/** Which files a run is about. */
export interface FilesPullOptions {
  /** Names as at the origin or in the replica, case does not count; empty for all tables. */
  readonly tables: readonly string[];
  /** Try at once what failed before, however often it did. */
  readonly retryNow: boolean;
}

/**
 * Brings the files of tables here. Rows are taken as they stand, so a pull should come first. Never throws for what happens to
 * one file. @throws RowsyncError `usage.invalid` for a table name that nothing matches.
 */
export async function pullFiles(context: FilesContext, options: FilesPullOptions): Promise<FilesReport> {
  const { clock, origin, replica } = context;
  const columns = chooseColumns(context, options.tables);
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

/** The attachment columns whose files are wanted, with the rule of each. */
function chooseColumns({ replica, settings }: FilesContext, names: readonly string[]): readonly WantedColumn[] {
  return chooseTables(replica, names).flatMap(({ id, name }) => {
    const rule = settings.rule(name);
    // Columns of a held table may be left out by now.
    if (isSchemaHeld(replica, id)) return [];
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
  for (const column of columns) await lookAtColumn(context, column, tally);
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
    fileWriter: new FileWriter(store, replica),
    quota: new Quota(settings.bytesMax, readStoredBytes(replica)),
    watch: new OutageWatch(),
    tally,
    receiving: new PQueue({ concurrency: settings.concurrency + WAITING_MAX }),
    underWay: new Map(),
  };
  const files = filesToFetch(context, columns, now);
  const next = (): FileToFetch | null => {
    const step = files.next();
    return step.done === true ? null : step.value;
  };
  await runPool(next, settings.concurrency * IN_HAND_PER_REQUEST, (file) => fetchFile(run, file));
}

/** The files that are not here, a block at a time. */
function* filesToFetch(
  { replica }: FilesContext,
  columns: readonly WantedColumn[],
  now: string,
): Generator<FileToFetch, undefined> {
  for (const { column, rule } of columns) {
    let after = 0;
    for (;;) {
      const block = readFilesNotHere(replica, column, { after, count: BLOCK_FILES, now });
      if (block.length === 0) break; // ends: every block lies above the last one
      after = block.at(-1)?.id ?? after;
      for (const file of block) yield { file, column, rule };
    }
  }
}

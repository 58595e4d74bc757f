/**
 * One table of a pull: describe, shape, sweep or follow, settle. Its error is in its report and in the bookkeeping.
 */
import { asRowsyncError, RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import { LARGE_PAGES, watermarkAfter } from '../reconcile/follow.ts';
import { discrepancyOf, type PullAccount } from '../reconcile/account/pull-account.ts';
import { isSameShape } from '../reconcile/renamed-columns.ts';
import { findTable, readTable, storeFacts, type TableRecord } from '../replica/bookkeeping/tables.ts';
import { storeProblem } from '../replica/bookkeeping/table-errors.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import { countPages, readLatestStamp, readPullAccount } from '../replica/bookkeeping/pages.ts';
import { baseName, hasBase } from '../replica/user-tables.ts';
import { countUnreadable } from '../replica/bookkeeping/unreadable-rows.ts';
import type { DatabaseDescriptor, TableSummary } from '../wire/schema.ts';
import type { Permission, PullContext, PullOptions, TablePull, TableReading, TableTurn } from './context.ts';
import { describeTable, movingError } from './table-description.ts';
import { followKnown, readNewestStamp, stampsOf } from './follow.ts';
import { applySchema, requireSettled } from './apply-schema.ts';
import type { RowsOutcome, SweepCounts, TablePullReport } from './report.ts';
import { settleSuspects } from './suspected-deletes.ts';
import { finishSweep, sweepPages } from './sweep.ts';
import { confirmedRows } from '../capture/writer/store-origin-rows.ts';
import { readOtherwise } from './windows.ts';

/** Descriptions of one table in one pull; if it still changes after three, the next pull continues. */
const SHAPE_ROUNDS_MAX = 3;

/** The outcome for a table that no sweep read to its end. */
const UNSWEPT: RowsOutcome = { held: null, isFollowed: false, account: null };

type TableOptionsOfPull = Pick<PullOptions, 'confirm' | 'discard' | 'follow'> & {
  /** Asks for the calling user and the database, once a pull. */
  readonly askDatabase: () => Promise<DatabaseDescriptor>;
};

export async function pullTable(
  context: PullContext,
  summary: TableSummary,
  options: TableOptionsOfPull & { readonly stop: RowsyncError | null; readonly waits: RowsyncError | null },
): Promise<TablePullReport> {
  const { clock, replica } = context;
  const startedMs = clock.monotonicMs();
  const counts: SweepCounts = {
    insertedCount: 0,
    updatedCount: 0,
    deletedCount: 0,
    filteredCount: 0,
    pagesReadCount: 0,
    pagesNotModifiedCount: 0,
  };
  let outcome = UNSWEPT;
  let error = options.stop;
  const nameBefore = findTable(replica, summary.id)?.localName ?? summary.recordName;
  context.onProgress?.({ kind: 'tableStart', table: nameBefore });
  try {
    if (error === null) {
      if (options.waits !== null) throw options.waits;
      outcome = await pullRows(context, summary, counts, options);
      requireSum(summary.recordName, outcome.account);
    }
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
    if (context.settings.tableOptions(summary.recordName)?.rows) error = withFilterHint(error);
    await noteProblem(context, [summary.id], error);
  }
  const known = findTable(replica, summary.id);
  const table = known?.localName ?? nameBefore;
  const isGuard = error?.kind === 'needsPerson';
  const report: TablePullReport = {
    table,
    rowCount: known?.rowCount ?? 0,
    ...counts,
    ...outcome,
    ...(isGuard ? { held: error } : {}),
    unreadableCount: countUnreadable(replica, summary.id),
    error: isGuard ? null : error,
    durationMs: clock.monotonicMs() - startedMs,
  };
  context.onProgress?.({ kind: 'tableEnd' });
  return report;
}

/** Brings the rows of a table here. @throws RowsyncError `origin.moving`, …. */
async function pullRows(
  context: PullContext,
  summary: TableSummary,
  counts: SweepCounts,
  options: TableOptionsOfPull,
): Promise<RowsOutcome> {
  requireSettled(context, summary.id);
  const tableOptions = context.settings.tableOptions(summary.recordName) ?? { sort: null };
  const known = findTable(context.replica, summary.id);
  const permission = permissionOf(known, options.confirm);
  const turn = { context, summary, tableOptions, known, permission, discard: options.discard, counts };
  return (await tryFollow(turn, options)) ?? (await sweepUntilStable(turn));
}

/** What a person allows, by `--confirm` now or by a consent in the replica. */
function permissionOf(known: TableRecord | null, isHere: boolean): Permission {
  if (isHere) return { rows: Infinity, schema: true, isHere };
  const given = known?.pullConfirmedCount ?? null;
  // A consent to deletes is no consent to drop columns.
  return { rows: given ?? 0, schema: given !== null && known?.problemCode === 'guard.schema', isHere };
}

/** Reads only what changed, if that is asked for; null if a sweep has to look. */
async function tryFollow(
  turn: TableTurn,
  { follow = false, askDatabase }: TableOptionsOfPull,
): Promise<RowsOutcome | null> {
  const { context, summary, known } = turn;
  if (follow === false || turn.permission.schema) return null;
  const why = await followKnown(turn);
  if (why === null) return { ...UNSWEPT, isFollowed: true };
  if (why === 'begin' && follow === 'known') return UNSWEPT;
  context.log.info('follow.swept', { table: known?.localName ?? summary.recordName, reason: why });
  await askDatabase();
  return null;
}

/** Shapes and sweeps a table until its description stays, else values may be of other columns. @throws RowsyncError. */
async function sweepUntilStable(turn: TableTurn): Promise<RowsOutcome> {
  const { context, summary, known, counts } = turn;
  // A table that is to become two-way is described without an ETag; so is one held because a right seemed lost.
  const inFull =
    known?.problemCode === 'guard.pending' || ((turn.tableOptions.editing ?? null) !== null && known?.push !== 'on');
  let described = await describeTable(context, summary, { inFull });
  for (let round = 1; round <= SHAPE_ROUNDS_MAX; round += 1) {
    const before = described;
    const prepare = async (): Promise<TablePull> => {
      const { tableOptions, permission, discard } = turn;
      const table = await applySchema(context, before, { ...tableOptions, permission, discard });
      return { context, table, counts };
    };
    const run = await prepare();
    const { table } = run;
    const wasWaiting = readTable(context.replica, summary.id).push === 'waiting';
    const readBefore = counts.pagesReadCount;
    let moving: unknown = null;
    let held: RowsyncError | null = null;
    try {
      held = await sweepTable(run, { prepare, confirmedCount: turn.permission.rows });
    } catch (thrown) {
      if (asRowsyncError(thrown).code !== 'origin.moving') throw thrown;
      moving = thrown;
    }
    // The columns of a table that waited were asked for before it became two-way.
    const isUnlooked = table.twoWay === null && !wasWaiting && counts.pagesReadCount > readBefore;
    if (isUnlooked || moving !== null) described = await describeTable(context, summary, { inFull: moving !== null });
    if (isSameShape(before, described)) {
      if (moving !== null) throw moving;
      await spendConfirmation(turn);
      if (table.problem !== null) throw table.problem;
      return { held, isFollowed: false, account: accountOf(context, summary.id, counts) };
    }
    context.log.info('table.reshaped', { table: table.target.localName, round });
  }
  throw movingError(summary.recordName);
}

/** A consent that a person gave beforehand is used up. */
async function spendConfirmation({ context, summary, known }: TableTurn): Promise<void> {
  if ((known?.pullConfirmedCount ?? null) === null) return;
  await context.replica.writeDurably('Using a confirmation', (tx) =>
    storeFacts(tx, summary.id, { pull_consent: null }),
  );
}

/** What became of the rows that the origin listed. */
function accountOf({ replica }: PullContext, tableId: number, { pagesReadCount }: SweepCounts): PullAccount {
  const { localName } = readTable(replica, tableId);
  const name = hasBase(replica, tableId) ? baseName(tableId) : localName;
  return readPullAccount(replica, { id: tableId, localName: name, columns: [] }, pagesReadCount === 0);
}

function requireSum(name: string, account: PullAccount | null): void {
  const discrepancy = account === null ? null : discrepancyOf(account);
  if (discrepancy === null) return;
  throw new RowsyncError('replica', 'pull.sum', {
    message: `${name}: ${discrepancy}`,
    hint: `rowsync resync ${shellWord(name)} && rowsync pull reads the table anew. If the sum is wrong again, report this.`,
  });
}

/** Brings rows up to date, and says why deletes wait. Finishes an open sweep, then reads again: pages may differ. */
async function sweepTable(
  prepared: TablePull,
  { prepare, confirmedCount }: { readonly prepare: () => Promise<TablePull>; readonly confirmedCount: number },
): Promise<RowsyncError | null> {
  for (let run = prepared; ; run = await prepare()) {
    const isResumed = readTable(run.context.replica, run.table.target.id).sweepOpen;
    try {
      const held = await sweepOnce(run, { confirmedCount, isResumed });
      if (!isResumed) return held;
    } catch (thrown) {
      if (!(await readOtherwise(run, thrown))) throw thrown; // ends: pages are halved, or windows given up
    }
  }
}

function isFollowedLater(reading: TableReading): boolean {
  const { follows = 'none' } = reading.context.settings;
  return stampsOf(reading.table) !== null && (follows === 'all' || (follows === 'large' && isLarge(reading)));
}

/** What the clock of the origin says; null if its answers do not tell. */
function originNowMs({ origin, clock }: PullContext): number | null {
  const { clockAheadMs } = origin.counters();
  return clockAheadMs === null ? null : clock.nowMs() - clockAheadMs;
}

/** The last stamp that a sweep brought, unless it may be of a change that came after the sweep had begun. */
function stampBefore({ context, table }: TableReading, begunMs: number | null): string | null {
  const stamps = stampsOf(table);
  if (stamps === null || begunMs === null) return null;
  return watermarkAfter(readLatestStamp(context.replica, confirmedRows(table), stamps.shape.localName), begunMs);
}

function isLarge({ context, table }: TableReading): boolean {
  return countPages(context.replica, table.target.id) >= LARGE_PAGES;
}

async function sweepOnce(
  run: TablePull,
  sweep: { readonly confirmedCount: number; readonly isResumed: boolean },
): Promise<RowsyncError | null> {
  const { context, table } = run;
  // For a resumed sweep, it is unknown when it began. A small table needs no request for its last stamp.
  const begunMs = sweep.isResumed ? null : originNowMs(context);
  const asks = !sweep.isResumed && (isLarge(run) || begunMs === null) && isFollowedLater(run);
  const newest = asks ? await readNewestStamp(run) : null;
  await sweepPages(run);
  const held = await settleSuspects(run, sweep);
  // The end of this sweep opens the table to edits, which would keep wrong values.
  if (readTable(context.replica, table.target.id).push === 'waiting') await table.requireShape();
  const watermark = newest ?? (isFollowedLater(run) ? stampBefore(run, begunMs) : null);
  await finishSweep(run, watermark);
  return held;
}

/** If the origin refused what a request with a filter asks for, and no right: a wrong filter fails in every run. */
function withFilterHint(error: RowsyncError): RowsyncError {
  const { kind, code, message, hint, cause, refusal } = error;
  if (code !== 'origin.refused' || refusal?.status !== 400) return error;
  const filterHint =
    'Its filter in the configuration (rows) may be wrong: rowsync check says whether the origin takes it.';
  return new RowsyncError(kind, code, { message, hint: `${filterHint} Otherwise: ${hint}`, cause, refusal });
}

/** Stores why tables could not be finished, so that status shows it; a full disk may prevent even that. */
export async function noteProblem(
  { replica, log }: PullContext,
  tableIds: readonly number[],
  error: RowsyncError,
): Promise<void> {
  // The process ends: no table failed.
  if (error.code === 'origin.stopped') return;
  for (const tableId of tableIds) log.error('table.failed', { tableId, code: error.code });
  try {
    await replica.write('Noting a problem', (tx) => {
      for (const tableId of tableIds) storeProblem(tx, tableId, 'problem', error);
    });
  } catch (thrown) {
    // The first error is the one that the operator must see; this one has the same cause.
    log.error('problem.notStored', { code: asRowsyncError(thrown).code });
  }
}

/**
 * One pull: the calling user, the list of tables, then each table: describe, shape, sweep, settle. A table that fails does not stop the others. An
 * origin that is down or refuses the credentials does, because every further answer would be the same. The pull is recorded as a run.
 */
import { must } from '../base/assert.ts';
import { asRowsyncError, RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { withFacts } from '../base/log.ts';
import { someOf } from '../base/text.ts';
import { readRequestTables } from '../capture/conflicts.ts';
import { refuseRequests } from '../capture/resolve.ts';
import { pruneHistories } from '../history/prune.ts';
import { LARGE_PAGES } from '../reconcile/follow.ts';
import { isMassRemoval } from '../reconcile/guards.ts';
import { identityOf, judgeIdentity } from '../reconcile/identity.ts';
import {
  findTable,
  isIdentityStored,
  readDatabaseDescriptor,
  readIdentity,
  readTable,
  readTables,
  storeDescriptor,
  storeGone,
  storeIdentity,
  storeProblem,
} from '../replica/ledger.ts';
import type { Tx } from '../replica/connection.ts';
import { isSchemaHeld, useUpConsent } from '../replica/consent.ts';
import { errorFromReading } from '../replica/failures.ts';
import { countPages, countUnreadable } from '../replica/pages.ts';
import { closeRun, openRun } from '../replica/run-book.ts';
import type { DatabaseDescriptor, TableSummary } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';
import { mayBeOfOneTable, Outage } from '../origin/outage.ts';
import { describeTable, isSameShape, requireSameShape } from './describe.ts';
import { estimateRowCount } from './estimate.ts';
import { followKnown, readNewestStamp } from './follow.ts';
import { once, runAll } from '../base/pool.ts';
import { placeTables, prepareTable, requireSettled } from './prepare.ts';
import type { PullReport, SweepCounts, TablePullReport } from './report.ts';
import { settleSuspects, type SuspectsOutcome } from './suspects.ts';
import { finishSweep, sweepPages, type SweepTally } from './sweep.ts';

/** Descriptions of one table in one pull; if it still changes after three, the next pull continues. */
const SHAPE_ROUNDS_MAX = 3;
/** The hint after a change of the calling user or its rights. */
const IDENTITY_NOTE = {
  message:
    'The calling user, its role, permissions or time zone, or the address of the origin changed; every table is read anew',
  hint: 'If that was not meant, give the user its rights again. Rows that are missing now are deleted only with --confirm.',
};
/** The hint for a table that the origin no longer shows. */
const GONE_HINT = 'If a right got lost, give it back; if the table is really gone, rowsync schema prune drops it here.';

/** The result for the rows of a table. */
type RowsOutcome = SuspectsOutcome & Pick<TablePullReport, 'isFollowed'>;

/** The input for pulling one table. */
type TableOptionsOfPull = Pick<PullOptions, 'confirm' | 'discard' | 'follow'> & {
  /** Asks for the calling user and the database, once a pull. */
  readonly askDatabase: () => Promise<DatabaseDescriptor>;
};

/** The options of one pull. */
export interface PullOptions {
  /** Names as at the origin or in the replica, ignoring case; empty for all that the configuration matches. */
  readonly tables: readonly string[];
  /** A person has looked: guards let this pull through. */
  readonly confirm: boolean;
  /**
   * Read only changes of tables that have the time of changes. Other tables are swept; with `known`, tables that cannot be followed yet are skipped.
   */
  readonly follow?: boolean | 'known' | undefined;
  /** Give up edits of tables that are no longer to be two-way; they are kept in `sync_conflicts`. */
  readonly discard?: boolean | undefined;
}

/**
 * Brings the replica up to date with the origin. Never throws for a failure of one table.
 * @throws RowsyncError `usage.invalid` for a table name that nothing matches, and replica errors.
 */
export async function pull(around: PullContext, options: PullOptions): Promise<PullReport> {
  const { clock, replica, origin } = around;
  const startedMs = clock.monotonicMs();
  const kind = isFollow(options) ? 'follow' : 'pull';
  const runId = await replica.write('Recording a run', (tx) => openRun(tx, kind, stampFromMs(clock.nowMs())));
  replica.noteWork({ cause: 'pull', runId });
  const context = { ...around, log: withFacts(around.log, { runId }) };
  const before = origin.counters();
  const tables: TablePullReport[] = [];
  let error: RowsyncError | null = null;
  let stop: RowsyncError | null = null;
  try {
    ({ error, stop } = await pullTables(context, options, tables));
    await pruneHistories(context);
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
  }
  const after = origin.counters();
  const report: PullReport = {
    runId,
    tables,
    requestCount: after.requestCount - before.requestCount,
    notModifiedCount: after.notModifiedCount - before.notModifiedCount,
    receivedBytes: after.receivedBytes - before.receivedBytes,
    durationMs: clock.monotonicMs() - startedMs,
    error,
    stop,
  };
  const isDecision = options.confirm || options.discard === true;
  const unrecorded = await recordRun(context, runId, { report, isDecision });
  return { ...report, error: report.error ?? unrecorded };
}

/** Whether only changes are asked for; who confirms has everything read. */
function isFollow({ follow = false, confirm }: PullOptions): boolean {
  return follow !== false && !confirm;
}

/**
 * Stores the result of a run, durably if a person is told that their decision was carried out. An error while storing it (a full disk) is returned,
 * so that the report is not lost.
 */
async function recordRun(
  { replica, clock }: PullContext,
  runId: number,
  { report, isDecision }: { readonly report: PullReport; readonly isDecision: boolean },
): Promise<RowsyncError | null> {
  const error = report.error ?? report.tables.find((table) => table.error !== null)?.error ?? null;
  const isHeld = report.tables.some(({ held }) => held !== null);
  const record = (tx: Tx): void =>
    closeRun(tx, runId, stampFromMs(clock.nowMs()), {
      outcome: error === null ? (isHeld ? 'held' : 'done') : error.code === 'origin.stopped' ? 'stopped' : 'failed',
      requestCount: report.requestCount,
      notModifiedCount: report.notModifiedCount,
      receivedBytes: report.receivedBytes,
      error,
      // Rows that left a filter were removed here too.
      tables: report.tables.map((table) => ({ ...table, deletedCount: table.deletedCount + table.filteredCount })),
    });
  try {
    await (isDecision ? replica.writeDurably('Recording a run', record) : replica.write('Recording a run', record));
    return null;
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}

/** Pulls every wanted table into `reports`; returns the error of a guard over the whole schema, if one holds, and what ended the pull early. */
async function pullTables(
  context: PullContext,
  options: PullOptions,
  reports: TablePullReport[],
): Promise<Pick<PullReport, 'error' | 'stop'>> {
  // Following asks for the calling user only if a sweep has to look, or nothing is known yet.
  const known = isFollow(options) ? knownDatabase(context) : null;
  let schemaHold: RowsyncError | null = null;
  const askDatabase = once(async () => {
    const asked = await readDatabase(context);
    schemaHold = await markGoneTables(context, asked, options.confirm);
    return asked;
  });
  const database = known ?? (await askDatabase());
  const wanted = chooseTables(context, database, options.tables);
  if (wanted.length === 0) requireMatch(context, database);
  await refuseStrayRequests(context);
  await placeTables(context, wanted);
  const expected = readTables(context.replica).filter(({ id }) => wanted.some((table) => table.id === id));
  // Tables that were never read whole come first: pulls that are cut off again and again must not starve the last ones.
  const loaded = new Set(expected.flatMap(({ id, sweptAt }) => (sweptAt === null ? [] : [id])));
  const inOrder = wanted.toSorted((a, b) => Number(loaded.has(a.id)) - Number(loaded.has(b.id)));
  const knownCount = expected.reduce((total, { id, rowCount }) => total + (loaded.has(id) ? rowCount : 0), 0);
  const unread = wanted.filter(({ id }) => !loaded.has(id));
  const estimatedCount = context.estimates === true ? await estimateRowCount(context, unread) : 0;
  context.onProgress?.({
    kind: 'start',
    tableCount: wanted.length,
    expectedRowCount: context.estimates === true || unread.length === 0 ? knownCount + estimatedCount : 0,
  });
  let stop: RowsyncError | null = null;
  let leftCount = inOrder.length;
  const outage = new Outage(context);
  await runAll(inOrder, context.settings.concurrency, async (table) => {
    leftCount -= 1;
    const report = await pullTable(context, table, {
      ...options,
      follow: known !== null && options.follow,
      stop,
      askDatabase,
    });
    if (report.error === null) outage.noteFinished();
    else if (stop === null && (await endsThePull(context, report.error, { outage, leftCount }))) stop ??= report.error;
    reports.push(report);
  });
  return { error: schemaHold, stop };
}

/** Whether no further table can succeed after this error of one. */
async function endsThePull(
  { origin, signal }: PullContext,
  error: RowsyncError,
  { outage, leftCount }: { readonly outage: Outage; readonly leftCount: number },
): Promise<boolean> {
  if (mayBeOfOneTable(error)) return leftCount > 0 && outage.isOfAll();
  if (error.kind !== 'auth') return concernsAllTables(error);
  try {
    // If the credentials are still accepted, they lack a right to this table alone.
    await origin.user({ signal });
    return false;
  } catch {
    return true;
  }
}

/** Whether an error of one table, not about rights, would occur for every other table too. */
export function concernsAllTables({ kind, code }: RowsyncError): boolean {
  // A damaged file is not written to any more.
  if (code === 'replica.damaged') return true;
  return code === 'origin.stopped' || code === 'replica.full' || (kind === 'originDown' && code !== 'origin.moving');
}

/** The database as the last pull saw it; null if unknown, or if it is another one. */
function knownDatabase({ origin, replica }: PullContext): DatabaseDescriptor | null {
  const identity = readIdentity(replica);
  if (identity === null || identity.url !== origin.url || identity.database !== origin.database) return null;
  return readDatabaseDescriptor(replica, origin.format)?.descriptor ?? null;
}

/** Asks for the calling user and the database, and decides whether the stored ETags can be trusted. */
async function readDatabase(context: PullContext): Promise<DatabaseDescriptor> {
  const { origin, replica, signal, clock } = context;
  const stored = readDatabaseDescriptor(replica, origin.format);
  const [{ value: caller }, first] = await Promise.all([
    origin.user({ signal }),
    origin.describeDatabase({ etag: stored?.etag, signal }),
  ]);
  const present = identityOf(origin, caller);
  const identity = readIdentity(replica);
  const verdict = judgeIdentity(identity, present);
  if (verdict === 'otherDatabase') {
    throw new RowsyncError('replica', 'replica.otherDatabase', {
      message: `${replica.path} holds database ${must(identity, 'it is of another one').database}, the configuration names ${origin.database}`,
      hint: 'Nothing was changed. Give each database a replica of its own (replica.path).',
    });
  }
  const changed = verdict === 'changed';
  if (changed) context.log.warn('identity.changed', { userId: caller.id, role: caller.role, ...IDENTITY_NOTE });
  // Answers to the former caller prove nothing for this one.
  const answer = changed && first.kind === 'notModified' ? await origin.describeDatabase({ signal }) : first;
  const database = answer.kind === 'ok' ? answer.value : must(stored, 'it had the ETag').descriptor;
  const who = { ...present, userEmail: caller.email };
  // Nothing to store in most pulls, nor without an ETag of the origin.
  const isNews = answer.kind === 'ok' && (answer.etag ?? stored) !== null;
  if (changed || isNews || !isIdentityStored(replica, who)) {
    await replica.write('Storing who is calling', (tx) => {
      storeIdentity(tx, who, { changed, at: stampFromMs(clock.nowMs()) });
      if (answer.kind === 'ok') storeDescriptor(tx, { of: 'database', format: origin.format }, answer);
    });
  }
  return database;
}

/** The tables to pull: those that the configuration matches, narrowed to the names on the command line. */
function chooseTables(
  { settings, replica }: PullContext,
  database: DatabaseDescriptor,
  names: readonly string[],
): readonly TableSummary[] {
  const configured = database.tables.filter(({ recordName }) => settings.tableOptions(recordName) !== null);
  if (names.length === 0) return configured;
  const localById = new Map(readTables(replica).map(({ id, localName }) => [id, localName]));
  const isNamed = ({ id, recordName }: TableSummary, name: string): boolean =>
    [recordName, localById.get(id)].some((known) => known?.toLowerCase() === name.toLowerCase());
  const unknown = names.filter((name) => !configured.some((table) => isNamed(table, name)));
  if (unknown.length > 0) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `No table is called ${unknown.map((name) => `"${name}"`).join(', ')}`,
      hint: `The configuration matches: ${configured.map(({ recordName }) => recordName).join(', ') || 'no table'}.`,
    });
  }
  return configured.filter((table) => names.some((name) => isNamed(table, name)));
}

/** Makes sure that the configuration matches a table at the origin, or one that was there. @throws RowsyncError `config.invalid`. */
function requireMatch({ settings: { isConfigured }, replica }: PullContext, { tables }: DatabaseDescriptor): void {
  if (isConfigured === undefined || tables.length === 0) return;
  const names = tables.map(({ recordName }) => recordName);
  if ([...names, ...readTables(replica).map(({ name }) => name)].some(isConfigured)) return;
  throw new RowsyncError('config', 'config.invalid', {
    message: `No table matches the patterns under tables; the database has ${someOf(names)}`,
    hint: 'Correct the patterns: names are case-sensitive, and singular as at the origin.',
  });
}

/** Marks tables that are no longer described; if most vanished at once, marks none and returns the guard. */
async function markGoneTables(
  { replica, log }: PullContext,
  database: DatabaseDescriptor,
  confirmed: boolean,
): Promise<RowsyncError | null> {
  const live = readTables(replica).filter(({ state }) => state !== 'gone');
  const described = new Set(database.tables.map(({ id }) => id));
  const vanished = live.filter(({ id }) => !described.has(id));
  if (!confirmed && isMassRemoval(live.length, vanished.length)) {
    return new RowsyncError('needsPerson', 'guard.schema', {
      message: `${vanished.length} of ${live.length} tables vanished at once; they were left as they are`,
      hint: 'Check the rights of the calling user; if the tables are really gone, run rowsync pull --confirm.',
    });
  }
  if (vanished.length > 0) {
    await replica.write('Marking tables that are gone', (tx) => {
      for (const { id } of vanished) storeGone(tx, id);
    });
    for (const { name } of vanished) log.warn('table.gone', { table: name, hint: GONE_HINT });
  }
  return null;
}

/** Answers decisions by SQL about tables that are no longer pulled. If edits of a table wait until it is back, its decisions wait too. */
async function refuseStrayRequests({ replica }: PullContext): Promise<void> {
  const prepared = new Set(
    readTables(replica).flatMap(({ id, state, push }) => (state === 'gone' && push === 'off' ? [] : [id])),
  );
  const strayIds = readRequestTables(replica).filter((id) => !prepared.has(id));
  if (strayIds.length === 0) return;
  await replica.write('Answering decisions about tables that are gone', (tx) => {
    for (const id of strayIds) refuseRequests(tx, id);
  });
}

/** Pulls one table; errors are in the report and in the ledger. */
async function pullTable(
  context: PullContext,
  summary: TableSummary,
  options: TableOptionsOfPull & { readonly stop: RowsyncError | null },
): Promise<TablePullReport> {
  const { clock, replica } = context;
  const startedMs = clock.monotonicMs();
  const counts: SweepCounts = {
    insertedCount: 0,
    updatedCount: 0,
    filteredCount: 0,
    pagesReadCount: 0,
    pagesNotModifiedCount: 0,
  };
  let outcome: RowsOutcome = { deletedCount: 0, held: null, isFollowed: false };
  let error = options.stop;
  const before = findTable(replica, summary.id);
  const nameBefore = before?.localName ?? summary.recordName;
  context.onProgress?.({ kind: 'tableStart', table: nameBefore, expectedRowCount: before?.rowCount ?? 0 });
  try {
    if (error === null) {
      outcome = await pullRows(context, summary, counts, options);
    }
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
    if (isAboutRequest(error) && context.settings.tableOptions(summary.recordName)?.rows) error = withFilterHint(error);
    await noteProblem(context, summary.id, error);
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
  context.onProgress?.({ kind: 'tableEnd', table, report });
  return report;
}

/**
 * Shapes a table as the origin describes it and reads its rows, until the description after them is the one before. Rows read in between may have
 * values under the names of other columns. Describes again only if rows came, and were stored without a check.
 * @throws RowsyncError of the origin and the replica, and `origin.moving` if its columns keep changing.
 */
async function pullRows(
  context: PullContext,
  summary: TableSummary,
  counts: SweepCounts,
  options: TableOptionsOfPull,
): Promise<RowsOutcome> {
  requireSettled(context, summary.id);
  const tableOptions = context.settings.tableOptions(summary.recordName) ?? { sort: null };
  // Rows that may be lost because a person agrees now, or agreed while another process worked.
  const known = findTable(context.replica, summary.id);
  const given = known?.pullConsent ?? null;
  const consent = options.confirm ? Infinity : given;
  // Read now, since the end of a sweep forgets the problem. A consent to deletes is no consent to drop columns.
  const confirmed = options.confirm || (given !== null && isSchemaHeld(context.replica, summary.id));
  let deletedCount = 0;
  if (options.follow !== undefined && options.follow !== false && !confirmed) {
    const followed = await followKnown(context, summary, { discard: options.discard, tableOptions, counts });
    deletedCount += followed.deletedCount;
    if (followed.why === null) return { deletedCount, held: null, isFollowed: true };
    if (followed.why === 'begin' && options.follow === 'known') return { deletedCount, held: null, isFollowed: false };
    context.log.info('follow.swept', { table: known?.localName ?? summary.recordName, reason: followed.why });
    await options.askDatabase();
  }
  // No "not modified" opens a table to edits.
  const inFull = (tableOptions.editing ?? null) !== null && known?.push !== 'on';
  let described = await describeTable(context, summary, { inFull });
  for (let round = 1; round <= SHAPE_ROUNDS_MAX; round += 1) {
    const before = described;
    const prepare = (): Promise<PreparedTable> =>
      prepareTable(context, before, { ...tableOptions, confirmed, discard: options.discard });
    const table = await prepare();
    const readBefore = counts.pagesReadCount;
    let moving: unknown = null;
    let outcome: SuspectsOutcome = { deletedCount: 0, held: null };
    try {
      outcome = await sweepTable(context, table, { prepare, counts, consent: consent ?? 0 });
    } catch (thrown) {
      if (asRowsyncError(thrown).code !== 'origin.moving') throw thrown;
      moving = thrown;
    }
    deletedCount += outcome.deletedCount;
    const isUnlooked = table.twoWay === null && counts.pagesReadCount > readBefore;
    if (isUnlooked || moving !== null) described = await describeTable(context, summary, { inFull: moving !== null });
    if (isSameShape(before, described)) {
      if (moving !== null) throw moving;
      if (given !== null) await useUp(context, summary.id);
      if (table.problem !== null) throw table.problem;
      return { ...outcome, deletedCount, isFollowed: false };
    }
    context.log.info('table.reshaped', { table: table.target.localName, round });
  }
  throw new RowsyncError('originDown', 'origin.moving', {
    message: `${summary.recordName}: its columns kept changing while its rows were read (${SHAPE_ROUNDS_MAX} rounds)`,
    hint: 'A colleague is changing the table at the origin; the next run reads it again.',
  });
}

async function useUp({ replica }: PullContext, tableId: number): Promise<void> {
  await replica.writeDurably('Using up a consent', (tx) => useUpConsent(tx, tableId, 'pull'));
}

/**
 * Brings the rows of a table up to date. A sweep that an earlier pull left unfinished is finished first. Its earlier pages may have changed since, so
 * a sweep from the start follows. It costs little: unchanged pages answer 304.
 */
async function sweepTable(
  context: PullContext,
  table: PreparedTable,
  options: {
    readonly prepare: () => Promise<PreparedTable>;
    readonly counts: SweepCounts;
    readonly consent: number;
  },
): Promise<SuspectsOutcome> {
  const { prepare, counts, consent } = options;
  const tally = { counts, reportedPages: new Set<string>() };
  const isResumed = readTable(context.replica, table.target.id).sweepOpen;
  const first = await sweepOnce(context, table, { tally, consent, isResumed });
  if (!isResumed) return first;
  // The end of the first sweep may have opened the table to edits: from then on, rows are merged with them.
  const second = await sweepOnce(context, await prepare(), { tally, consent, isResumed: false });
  return { deletedCount: first.deletedCount + second.deletedCount, held: second.held };
}

/** Whether the table is to be followed until the next sweep. */
function isFollowedLater({ replica, settings }: PullContext, { target }: PreparedTable): boolean {
  if (settings.follows !== 'large') return settings.follows === 'all';
  return countPages(replica, target.id) >= LARGE_PAGES;
}

async function sweepOnce(
  context: PullContext,
  table: PreparedTable,
  sweep: { readonly tally: SweepTally; readonly consent: number; readonly isResumed: boolean },
): Promise<SuspectsOutcome> {
  // For a resumed sweep, no stamp was requested before it began.
  const watermark = isFollowedLater(context, table) && !sweep.isResumed ? await readNewestStamp(context, table) : null;
  await sweepPages(context, table, sweep.tally);
  const suspects = await settleSuspects(context, table, { ...sweep, counts: sweep.tally.counts });
  // The end of this sweep opens the table to edits, which would keep wrong values.
  if (readTable(context.replica, table.target.id).push === 'waiting') await requireSameShape(table);
  await finishSweep(context, table, watermark);
  return suspects;
}

/** Whether the origin refused what a request asks for: a column or the filter, no right. */
function isAboutRequest({ code, refusal }: RowsyncError): boolean {
  return code === 'origin.refused' && refusal?.status === 400;
}

/** The refusal of a request with a filter: a wrong filter fails in every run. */
function withFilterHint({ kind, code, message, hint, cause, refusal }: RowsyncError): RowsyncError {
  const filterHint =
    'Its filter in the configuration (rows) may be wrong: rowsync check says whether the origin takes it.';
  return new RowsyncError(kind, code, { message, hint: `${filterHint} Otherwise: ${hint}`, cause, refusal });
}

/** A table that was pulled, ready to be read again; `name` is the replica's. @throws RowsyncError of the origin. */
export async function prepareForReading(context: PullContext, name: string): Promise<PreparedTable> {
  const table = must(
    readTables(context.replica).find(({ localName }) => localName === name),
    'a table that was just pulled is in the ledger',
  );
  const descriptor = await describeTable(context, { id: table.id, recordName: table.name, alias: table.alias });
  const options = context.settings.tableOptions(table.name) ?? { sort: null };
  return prepareTable(context, descriptor, { ...options, confirmed: false });
}

/** Stores why a table could not be finished, so that status shows it; a full disk may prevent even that. */
async function noteProblem({ replica, log }: PullContext, tableId: number, error: RowsyncError): Promise<void> {
  log.error('table.failed', { tableId, code: error.code });
  if (error.code === 'origin.stopped') return;
  try {
    await replica.write('Noting a problem', (tx) => storeProblem(tx, tableId, error));
  } catch (thrown) {
    // The first error is the one that the operator must see; this one has the same cause.
    log.error('problem.notStored', { tableId, code: asRowsyncError(thrown).code });
  }
}

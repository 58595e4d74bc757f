/**
 * The kinds of scheduled work, with outcomes in one form for all. A new kind of the core is an entry of WORK here, and
 * of WORK_KINDS in jobs.ts; extras bring their own. Work never throws for one table: the outcome has its error.
 */
import { must } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { sumOf } from '../base/sum.ts';
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import type { LogFacts } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { FilesContext, FilesReport, FilesSettings } from '../files/context.ts';
import { pullFiles } from '../files/download.ts';
import { sumOfAccounts, type PushAccount } from '../reconcile/account/push-account.ts';
import { mayFollow } from '../reconcile/follow.ts';
import type { PullContext } from '../pull/context.ts';
import { concernsAllTables } from '../origin/outage.ts';
import { pull } from '../pull/pull.ts';
import type { PullProgress, PullReport } from '../pull/report.ts';
import type { PushContext } from '../push/context.ts';
import { finishPushes, push } from '../push/push.ts';
import { readTables } from '../replica/bookkeeping/tables.ts';
import { syncContexts } from './sync-contexts.ts';
import { isCoreWork, type CoreWork, type WorkKind } from './jobs.ts';
import type { Resources, DamageWatch } from './resources.ts';

type ChangeCounts = Readonly<Record<'insertedCount' | 'updatedCount' | 'deletedCount', number>>;

export interface TableOutcome {
  /** Its name at the origin, and here. */
  readonly name: string;
  readonly localName: string;
  readonly error: RowsyncError | null;
  /** Why something of it waits for a person. */
  readonly held: RowsyncError | null;
  /** Rows that were changed here by a pull, at the origin by a push. */
  readonly counts: ChangeCounts;
  /** Whether only changes were read, and stamps of rows that came then. */
  readonly isFollowed: boolean;
  readonly stamps?: readonly string[] | undefined;
}

export interface WorkOutcome {
  /** An error that concerns all tables. */
  readonly error: RowsyncError | null;
  /** Whether the work ended with that error, because every table would fail in the same way. */
  readonly isOver: boolean;
  /** Why this work alone failed; other work continues, and this one is tried again on its next tick. */
  readonly own: RowsyncError | null;
  /** Whether the replica has that error as the problem of a table. */
  readonly isStored?: boolean;
  /** A guard over all tables that waits for a person; the work itself continued. */
  readonly held: RowsyncError | null;
  readonly tables: readonly TableOutcome[];
  /** Counts for the log. */
  readonly facts: LogFacts;
  /** What became of the edits, of a push. */
  readonly account?: PushAccount;
}

/** The input of work: both directions, narrowed to the tables whose turn it is. */
export interface WorkContext {
  readonly pull: PullContext;
  readonly push: PushContext;
  /** Files of tables that are due by their own schedule, and of tables whose files come with the rows. */
  readonly files: { readonly ofTurn: FilesContext; readonly withPull: FilesContext };
  /** Whether it is the turn of a table, by its name at the origin. */
  readonly takes: (table: string) => boolean;
  readonly config: Config;
  readonly damage: DamageWatch;
  /** Whether a follow sweeps tables that cannot be followed: somebody wants them now. */
  readonly isRefresh: boolean;
  readonly onAdvance: () => void;
}

interface WorkHooks extends Pick<WorkContext, 'onAdvance' | 'isRefresh' | 'takes'> {
  readonly clock: Clock;
  /** Asks the work to stop. */
  readonly signal: AbortSignal;
  readonly comesWithPull: (table: string) => boolean;
  /** Called with each table that is read. */
  readonly onTable: (table: string) => void;
  readonly onProgress: (event: PullProgress) => void;
}

/** The context of one kind of work, narrowed to the tables whose turn it is. */
export function contextFor(resources: Resources, hooks: WorkHooks): WorkContext {
  const { config, damage, origin, replica, log } = resources;
  const { clock, signal, takes, onAdvance, isRefresh, comesWithPull } = hooks;
  const { pull: pulling, push: pushing, files } = syncContexts(config, { origin, replica, log, clock, signal });
  const ofTurn: PullContext['settings']['tableOptions'] = (name) => {
    const options = pulling.settings.tableOptions(name);
    if (options === null || !takes(name)) return null;
    hooks.onTable(name);
    return options;
  };
  const onProgress = (event: PullProgress): void => {
    onAdvance();
    hooks.onProgress(event);
  };
  const filesOf = (isWanted: (table: string) => boolean): FilesContext => {
    const rule: FilesSettings['rule'] = (table) => (isWanted(table) ? files.settings.rule(table) : null);
    return { ...files, onAdvance, settings: { ...files.settings, rule } };
  };
  return {
    config,
    damage,
    isRefresh,
    onAdvance,
    takes,
    files: { ofTurn: filesOf(takes), withPull: filesOf(comesWithPull) },
    pull: { ...pulling, onProgress, settings: { ...pulling.settings, tableOptions: ofTurn, compares: !isRefresh } },
    push: { ...pushing, before: onAdvance },
  };
}

/** Runs one kind of work. @throws RowsyncError where the replica cannot be used. */
type Work = (context: WorkContext) => Promise<WorkOutcome>;

/** Work of an extra; what it omits is as in work without tables. If it throws, its next tick runs it again. */
export type ExtraWork = (
  context: Pick<WorkContext, 'config' | 'onAdvance' | 'pull' | 'push'> & { readonly nowMs: number },
) => Promise<Partial<WorkOutcome> & Pick<WorkOutcome, 'own' | 'facts'>>;

type WorkByKind = Readonly<Record<string, ExtraWork>>;

/** The work of all extras, and which kinds of it need no origin. */
export function workOfExtras(extras: readonly { readonly jobs?: WorkByKind; readonly localJobs?: WorkByKind }[]): {
  readonly byKind: WorkByKind;
  readonly localKinds: ReadonlySet<WorkKind>;
} {
  const local = extras.flatMap(({ localJobs }) => Object.entries(localJobs ?? {}));
  const others = extras.flatMap(({ jobs }) => Object.entries(jobs ?? {}));
  return { byKind: Object.fromEntries([...local, ...others]), localKinds: new Set(local.map(([kind]) => kind)) };
}

/** Runs one kind of work, on a file known to be undamaged. @throws RowsyncError where the replica cannot be used. */
export async function runWork(
  kind: WorkKind,
  context: WorkContext,
  ofExtras: Readonly<Record<string, ExtraWork>>,
): Promise<WorkOutcome> {
  context.pull.replica.requireInPlace();
  await context.damage.look(context.pull.clock.monotonicMs());
  return isCoreWork(kind) ? WORK[kind](context) : runExtra(ofExtras[kind], context);
}

const WORK: Readonly<Record<CoreWork, Work>> = {
  pull: (context) => runPull(context),
  follow: (context) => runPull(context, context.isRefresh ? true : 'known'),
  push: runPush,
  files: runFiles,
};

/** Whether a table whose turn it is can be followed, or is to be read whatever it is. */
export function isAnyFollowed({ pull: { replica, settings }, isRefresh }: WorkContext): boolean {
  return readTables(replica).some(
    (table) => (isRefresh || mayFollow(table)) && settings.tableOptions(table.name) !== null,
  );
}

async function runPull(work: WorkContext, follow: 'known' | boolean = false): Promise<WorkOutcome> {
  const { pull: context, push: pushing } = work;
  await finishPushes(pushing);
  const report = await pull(context, { tables: [], confirm: false, follow });
  const files = await pullFilesAfter(work.files.withPull, report);
  const ofFiles = files?.error ?? null;
  // A file store that cannot be written must not stop rows.
  const concernsAll = ofFiles !== null && concernsAllTables(ofFiles);
  const facts = {
    runId: report.runId,
    requestCount: report.requestCount + (files?.requestCount ?? 0),
    notModifiedCount: report.notModifiedCount,
    receivedBytes: report.receivedBytes,
    tableCount: report.tables.length,
    ...changesOf(report.tables),
    fileCount: files?.downloadedCount ?? 0,
    failedFileCount: files?.failedCount ?? 0,
  };
  const error = report.error ?? (concernsAll ? ofFiles : null);
  const isOver = isEnd(report.error) || report.stop !== null;
  return { ...outcomeOfTables(context, error, report.tables, facts), isOver, own: concernsAll ? null : ofFiles };
}

/** Fetches the files of the tables that a pull has just read; null for none. Other tables wait for the next cycle. */
export async function pullFilesAfter(context: FilesContext, rows: PullReport): Promise<FilesReport | null> {
  const tables = rows.tables.filter(({ error }) => error === null).map(({ table }) => table);
  if (isEnd(rows.error) || tables.length === 0 || context.signal?.aborted === true) return null;
  return pullFiles(context, { tables, retryNow: false });
}

async function runPush({ push: context, takes }: WorkContext): Promise<WorkOutcome> {
  const report = await push(context, { tables: [], confirm: false, takes });
  const isForbidden = (error: RowsyncError): boolean => error.code === 'push.forbidden';
  const failures = report.tables.flatMap(({ error }) => (error === null || isForbidden(error) ? [] : [error]));
  const isOfAll = (error: RowsyncError): boolean => error.kind === 'auth' || concernsAllTables(error);
  const failed = failures.find(isOfAll) ?? failures[0] ?? null;
  const ofTable = report.tables.find(({ error }) => error !== null && error === failed);
  // Waiting rows have their own timers, so a table that could not be pushed is pushed on its next tick. Only a missing
  // right needs a person, so it is tried at growing intervals.
  const tables = report.tables.map((table) => {
    const { error } = table;
    return { ...table, error: error !== null && isForbidden(error) ? error : null };
  });
  const concernsAll = failed !== null && isOfAll(failed);
  return {
    ...outcomeOfTables(context, report.error ?? (concernsAll ? failed : null), tables, {
      runId: report.runId,
      requestCount: report.requestCount,
      tableCount: tables.length,
      ...changesOf(report.tables),
      refusedCount: sumOf(report.tables, ({ refusedCount }) => refusedCount),
      waitingCount: sumOf(report.tables, ({ waitingCount }) => waitingCount),
    }),
    isOver: isEnd(report.error) || report.stop !== null,
    own: concernsAll ? null : failed,
    isStored: readTables(context.replica).some((of) => of.localName === ofTable?.table && of.pushCode === failed?.code),
    account: sumOfAccounts(report.tables.map((table) => table.account)),
  };
}

const OF_NO_TABLE = { error: null, isOver: false, own: null, held: null, tables: [] };

async function runFiles(work: WorkContext): Promise<WorkOutcome> {
  const { replica } = work.pull;
  const chosen = readTables(replica).filter(({ name, state }) => state !== 'gone' && work.takes(name));
  if (chosen.length === 0) return { ...OF_NO_TABLE, facts: { fileCount: 0 } };
  const names = chosen.map(({ localName }) => localName);
  const report = await pullFiles(work.files.ofTurn, { tables: names, retryNow: false });
  const { error } = report;
  const concernsAll = error !== null && (error.kind === 'auth' || concernsAllTables(error));
  return {
    ...OF_NO_TABLE,
    error: concernsAll ? error : null,
    own: concernsAll ? null : error,
    facts: {
      requestCount: report.requestCount,
      tableCount: chosen.length,
      fileCount: report.downloadedCount,
      failedFileCount: report.failedCount,
    },
  };
}

/** Whether an error ended the work; a hold by a guard does not count. */
export function isEnd(error: RowsyncError | null): boolean {
  return error !== null && error.kind !== 'needsPerson';
}

async function runExtra(work: ExtraWork | undefined, context: WorkContext): Promise<WorkOutcome> {
  try {
    const run = must(work, 'the extra that added the schedule does the work');
    return { ...OF_NO_TABLE, ...(await run({ ...context, nowMs: context.pull.clock.nowMs() })) };
  } catch (thrown) {
    return { ...OF_NO_TABLE, own: asRowsyncError(thrown), facts: {} };
  }
}

function changesOf(tables: readonly Partial<ChangeCounts>[]): ChangeCounts {
  const sum = (count: keyof ChangeCounts): number => sumOf(tables, (table) => table[count] ?? 0);
  return { insertedCount: sum('insertedCount'), updatedCount: sum('updatedCount'), deletedCount: sum('deletedCount') };
}

/** Combines the reports on single tables, by their local names, into one outcome. */
export function outcomeOfTables(
  { replica }: { readonly replica: PullContext['replica'] },
  error: RowsyncError | null,
  reports: readonly ({
    readonly table: string;
    readonly error: RowsyncError | null;
    readonly held: RowsyncError | null;
    readonly isFollowed?: boolean;
    readonly stamps?: readonly string[] | undefined;
  } & Partial<ChangeCounts>)[],
  facts: LogFacts,
): Omit<WorkOutcome, 'isOver'> {
  const nameByLocal = new Map(readTables(replica).map(({ localName, name }) => [localName, name]));
  const tables = reports.map(({ table, error: own, held, isFollowed = false, stamps, ...counted }) => ({
    name: nameByLocal.get(table) ?? table,
    localName: table,
    error: own,
    held,
    isFollowed,
    stamps,
    counts: changesOf([counted]),
  }));
  const isGuard = error?.kind === 'needsPerson';
  const ofAll = tables.find((table) => table.error !== null && concernsAllTables(table.error))?.error ?? null;
  return { own: null, error: isGuard ? ofAll : (error ?? ofAll), held: isGuard ? error : null, tables, facts };
}

/**
 * One pull: the calling user, the list of tables, then each table (pull-table.ts). A table that fails does not stop the
 * others; an origin that is down or refuses the credentials does. The pull is recorded as a run.
 */
import { isDeepStrictEqual } from 'node:util';
import { must } from '../base/assert.ts';
import { RowsyncError, usageError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { withFacts } from '../base/log.ts';
import { printable, someOf } from '../base/text.ts';
import { carryOutRequests } from '../capture/resolve-conflict.ts';
import { pruneHistories } from '../history/prune.ts';
import { guessText } from '../reconcile/option-bindings.ts';
import { isMassRemoval, identityOf } from '../reconcile/guards.ts';
import { ownName, type NameStyle } from '../reconcile/naming.ts';
import {
  isIdentityStored,
  isOtherCaller,
  readIdentity,
  storeIdentity,
  readNameStyle,
  storeNameStyle,
} from '../replica/bookkeeping/identity.ts';
import { readDatabaseDescriptor, storeDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { changedFilters, readTables, storeFacts, storeRowsWanted, tableNamed } from '../replica/bookkeeping/tables.ts';
import { readDescribed } from '../replica/bookkeeping/described-tables.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import { hasTable, schemaWatch } from '../replica/schema-objects.ts';
import { isAgreedPull, openRun, recordRun } from '../replica/bookkeeping/runs.ts';
import { readSchemaChanges } from '../replica/bookkeeping/schema-changes.ts';
import { storeProblem } from '../replica/bookkeeping/table-errors.ts';
import { etagFor, keptEtag } from '../wire/headers.ts';
import type { DatabaseDescriptor, TableSummary } from '../wire/schema.ts';
import type { PullContext, PullOptions } from './context.ts';
import { workOnTables } from '../origin/outage.ts';
import type { Counters } from '../origin/requests.ts';
import { once } from '../base/concurrency.ts';
import { bindOptions } from './option-bindings.ts';
import { placeTables, refreshChangesView } from './place-tables.ts';
import type { PullReport, TablePullReport } from './report.ts';
import { schemaChangeText } from './schema-changes.ts';
import { noteProblem, pullTable } from './pull-table.ts';
import { readRequestTables } from '../replica/bookkeeping/conflicts.ts';

const IDENTITY_NOTE = {
  message:
    'The calling user, its role, permissions or time zone, or the address of the origin changed; every table is read anew',
  hint: 'If that was not meant, give the user its rights again. Rows that are missing now are deleted only with --confirm.',
};
const GONE_HINT =
  'If a right got lost, give it back; if it is really gone, rowsync schema prune lists it, and drops it here with --confirm.';

/** Brings the replica up to date; a table that fails stops no other. An unknown table name is the report's `error`. */
export async function pull(around: PullContext, options: PullOptions): Promise<PullReport> {
  const { clock, replica, origin } = around;
  const startedMs = clock.monotonicMs();
  const kind = isFollow(options) ? 'follow' : 'pull';
  const runId = await replica.write('Recording a run', (tx) => openRun(tx, kind, stampFromMs(clock.nowMs())));
  const context = {
    ...around,
    replica: replica.because({ cause: 'pull', runId }),
    log: withFacts(around.log, { runId }),
  };
  const before = origin.counters();
  const tables: TablePullReport[] = [];
  const notes: string[] = [];
  let error: RowsyncError | null = null;
  let stop: RowsyncError | null = null;
  let removedEntryCount = 0;
  try {
    await noteFilters(context);
    ({ error, stop } = await pullTables(context, options, { tables, notes }));
    const { clockAheadMs, ...counters } = origin.counters();
    // Without an answer nothing is known of the clock, and nothing new came that needs space.
    if (answerCount(counters) > answerCount(before))
      removedEntryCount = await pruneHistories({ ...context, clockAheadMs });
    await schemaWatch(replica)?.pulled(new Set(tables.filter(isReadToEnd).map(({ table }) => table)));
  } catch (thrown) {
    error = errorFromReading(thrown, replica.path);
  }
  const after = origin.counters();
  const report: PullReport = {
    runId,
    tables,
    notes,
    schemaChanges: tellSchemaChanges(context, runId),
    requestCount: after.requestCount - before.requestCount,
    notModifiedCount: after.notModifiedCount - before.notModifiedCount,
    receivedBytes: after.receivedBytes - before.receivedBytes,
    durationMs: clock.monotonicMs() - startedMs,
    removedEntryCount,
    error,
    stop,
  };
  const isDecision = options.confirm || options.discard === true;
  // Rows that left a filter were removed here too.
  const done = tables.map((table) => ({ ...table, deletedCount: table.deletedCount + table.filteredCount }));
  const unrecorded = await recordRun(context, runId, { ...report, tables: done }, isDecision);
  return { ...report, error: report.error ?? unrecorded };
}

/** Whether a table is as the origin has it: read to its end, and not only followed. */
function isReadToEnd({ error, held, isFollowed }: TablePullReport): boolean {
  return error === null && held === null && !isFollowed;
}

/** Notes new filters: their tables have no known age until a sweep has applied the filter. */
export async function noteFilters({ replica, settings }: Pick<PullContext, 'replica' | 'settings'>): Promise<void> {
  const changed = changedFilters(replica, (name) => {
    const options = settings.tableOptions(name);
    return options === null ? undefined : (options.rows ?? null);
  });
  if (changed.length === 0) return;
  await replica.write('Noting filters', (tx) => {
    for (const { id, filter } of changed) storeRowsWanted(tx, id, filter);
  });
}

/** The schema changes that this run saw, which are logged here. Tables that are gone have an event of their own. */
function tellSchemaChanges({ replica, log }: PullContext, runId: number): readonly string[] {
  const changes = readSchemaChanges(replica, runId).filter(({ kind }) => !kind.endsWith('Remade'));
  const texts = changes.filter(({ kind }) => kind !== 'tableGone').map(schemaChangeText);
  if (texts.length > 0) log.info('schema.changed', { message: someOf(texts) });
  return changes.map(schemaChangeText);
}

function answerCount({ countByClass }: Pick<Counters, 'countByClass'>): number {
  const { none: _, ...answered } = countByClass;
  return Object.values(answered).reduce((sum, count) => sum + count, 0);
}

/** Whether only changes are asked for; who confirms has everything read. */
function isFollow({ follow = false, confirm }: PullOptions): boolean {
  return follow !== false && !confirm;
}

/** Pulls every wanted table into `reports`; returns a guard over the whole schema, and what ended the pull early. */
async function pullTables(
  context: PullContext,
  options: PullOptions,
  { tables: reports, notes }: { readonly tables: TablePullReport[]; readonly notes: string[] },
): Promise<Pick<PullReport, 'error' | 'stop'>> {
  // Following asks for the calling user only if a sweep has to look, or nothing is known yet.
  const known = isFollow(options) ? knownDatabase(context) : null;
  let schemaHold: RowsyncError | null = null;
  const askDatabase = once(async () => {
    const before = readTables(context.replica).length > 0 ? readNameStyle(context.replica) : null;
    const described = await readDatabase(context);
    const { names: style = 'origin' } = context.settings;
    if (before !== null && before !== style) notes.push(restyledText(style, described.tables));
    schemaHold = await markGoneTables(context, described, options.confirm);
    return described;
  });
  const database = known ?? (await askDatabase());
  const bound = await bindOptions(context, database, options);
  notes.push(...bound.notes);
  const wanted = chooseTables(context, database, options.tables);
  if (wanted.length === 0) requireMatch(context, database);
  await refuseStrayRequests(context);
  await placeTables(context, [...wanted, ...standingTables(context, database, wanted)]);
  const expected = readTables(context.replica).filter(({ id }) => wanted.some((table) => table.id === id));
  // Tables that were never read whole come first: pulls that are cut off again and again must not starve the last ones.
  const loaded = new Set(expected.flatMap(({ id, sweptAt }) => (sweptAt === null ? [] : [id])));
  const inOrder = wanted.toSorted((a, b) => Number(loaded.has(a.id)) - Number(loaded.has(b.id)));
  context.onProgress?.({
    kind: 'start',
    tableCount: wanted.length,
    // How many rows a table has is known once it was read.
    expectedRowCount: wanted.every(({ id }) => loaded.has(id))
      ? expected.reduce((sum, { rowCount }) => sum + rowCount, 0)
      : 0,
  });
  const unbegun: number[] = [];
  const { concurrency } = context.settings;
  const stop = await workOnTables(context, { tables: inOrder, concurrency }, async (table, stopped) => {
    if (stopped !== null) unbegun.push(table.id);
    const report = await pullTable(context, table, {
      ...options,
      follow: known !== null && options.follow,
      stop: stopped,
      waits: bound.waiting.get(table.id) ?? null,
      askDatabase,
    });
    reports.push(report);
    return report.error;
  });
  if (stop !== null) await noteProblem(context, unbegun, stop);
  await refreshChangesView(context);
  return { error: schemaHold, stop };
}

/** The database as the last pull saw it; null if unknown, or if it is another one. */
function knownDatabase({ origin, replica }: PullContext): DatabaseDescriptor | null {
  const identity = readIdentity(replica);
  if (identity === null || identity.url !== origin.url || identity.database !== origin.database) return null;
  return readDatabaseDescriptor(replica)?.descriptor ?? null;
}

/** What a person reads when `replica.names` says otherwise than before. */
function restyledText(style: NameStyle, tables: readonly TableSummary[]): string {
  const [example] = tables.flatMap(({ recordName: name, id }) => {
    const snake = ownName({ scope: 'table', style: 'snake' }, { name, id });
    const [from, to] = style === 'snake' ? [name, snake] : [snake, name];
    return from === to ? [] : [`: ${printable(from)} is ${printable(to)}`];
  });
  const kind = style === 'snake' ? 'snake names' : 'the names of the origin';
  return `Tables and columns here have ${kind} from now on (replica.names)${example ?? ''}`;
}

/** Asks for the calling user and the database, and decides whether the stored ETags can be trusted. */
async function readDatabase(context: PullContext): Promise<DatabaseDescriptor> {
  const { origin, replica, signal } = context;
  const stored = readDatabaseDescriptor(replica);
  const url = origin.describeUrl();
  const [{ value: caller }, first] = await Promise.all([
    origin.user({ signal }),
    origin.describeDatabase({ etag: etagFor(url, stored?.etag), signal }),
  ]);
  const present = identityOf(origin, caller);
  const changed = isOtherCaller(replica, present);
  if (changed) context.log.warn('identity.changed', { userId: caller.id, role: caller.role, ...IDENTITY_NOTE });
  // Answers to the former caller prove nothing for this one.
  const answer = changed && first.kind === 'notModified' ? await origin.describeDatabase({ signal }) : first;
  const database = answer.kind === 'ok' ? answer.value : must(stored, 'a 304 implies a stored ETag').descriptor;
  const who = { ...present, userEmail: caller.email };
  // Nothing to store in most pulls.
  const isNews = answer.kind === 'ok' && !(answer.etag === null && isDeepStrictEqual(answer.value, stored?.descriptor));
  const { names = 'origin' } = context.settings;
  const isRestyled = readNameStyle(replica) !== names;
  if (changed || isNews || isRestyled || !isIdentityStored(replica, who)) {
    await replica.write('Storing who is calling', (tx) => {
      storeIdentity(tx, who, { changed });
      if (isRestyled) storeNameStyle(tx, names);
      if (answer.kind !== 'ok') return;
      const { value, etag } = answer;
      storeDescriptor(tx, 'database', { etag: keptEtag(url, etag), value });
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
  const wantedIds = new Set(configured.map(({ id }) => id));
  const tables = database.tables
    .filter(({ id }) => wantedIds.has(id) || localById.has(id))
    .map(({ id, recordName: name }) => ({ id, name, localName: localById.get(id) ?? name }));
  const idByName = new Map(names.map((name) => [name, tableNamed(tables, name)?.id ?? 0]));
  const unknown = names.filter((name) => !wantedIds.has(idByName.get(name) ?? 0));
  if (unknown.length > 0) {
    const there = configured.map(({ recordName }) => recordName);
    throw usageError(
      `No table is called ${unknown.map((name) => `"${name}"${guessText(name, there)}`).join(', ')}`,
      `The configuration matches: ${there.join(', ') || 'no table'}.`,
    );
  }
  const meantIds = new Set(idByName.values());
  return configured.filter(({ id }) => meantIds.has(id));
}

/** The other tables here that the origin has: their names follow too, or one might keep a name that is taken now. */
function standingTables(
  { replica }: PullContext,
  { tables }: DatabaseDescriptor,
  wanted: readonly TableSummary[],
): readonly TableSummary[] {
  const wantedIds = new Set(wanted.map(({ id }) => id));
  const standing = readTables(replica).filter(
    ({ state, localName }) => state !== 'gone' && hasTable(replica, localName),
  );
  const standingIds = new Set(standing.map(({ id }) => id));
  return tables.filter(({ id }) => standingIds.has(id) && !wantedIds.has(id));
}

/** Requires that the configuration matches a table of the origin, now or formerly. @throws `config.invalid`. */
function requireMatch({ settings: { configured }, replica }: PullContext, { tables }: DatabaseDescriptor): void {
  if (configured === undefined || tables.length === 0) return;
  const names = tables.map(({ recordName }) => recordName);
  const isConfigured = (name: string): boolean => (configured.find(name)?.says ?? 'false') !== 'false';
  const bound = readDescribed(replica).map(({ name, boundName }) => boundName ?? name);
  if ([...bound, ...readTables(replica).map(({ name }) => name)].some(isConfigured)) return;
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
  const message = `${vanished.length} of ${live.length} tables vanished at once; they were left as they are`;
  if (!confirmed && isMassRemoval(live.length, vanished.length) && !isAgreedPull(replica, message)) {
    return new RowsyncError('needsPerson', 'guard.schema', {
      message,
      hint: 'Check the rights of the calling user; if the tables are really gone, run rowsync pull --confirm.',
    });
  }
  if (vanished.length > 0) {
    await replica.write('Marking tables that are gone', (tx) => {
      for (const { id } of vanished) {
        storeFacts(tx, id, { state: 'gone' });
        // Its earlier pull and push errors no longer matter.
        storeProblem(tx, id, 'problem', null);
        storeProblem(tx, id, 'push', null);
      }
    });
    for (const { name } of vanished) log.warn('table.gone', { table: name, hint: GONE_HINT });
  }
  return null;
}

/** Answers decisions by SQL about tables no longer pulled; where edits wait until a table is back, decisions do too. */
async function refuseStrayRequests({ clock, replica }: PullContext): Promise<void> {
  const prepared = new Set(
    readTables(replica).flatMap(({ id, state, push }) => (state === 'gone' && push === 'off' ? [] : [id])),
  );
  const strayIds = readRequestTables(replica).filter((id) => !prepared.has(id));
  if (strayIds.length === 0) return;
  await replica.write('Answering decisions about tables that are gone', (tx) => {
    for (const id of strayIds) carryOutRequests(tx, id, stampFromMs(clock.nowMs()));
  });
}

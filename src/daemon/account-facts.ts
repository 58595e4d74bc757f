/**
 * Reads the facts of the account (reconcile/account/account.ts) from the replica, the configuration, and what the
 * daemon says of itself. Every surface gets its problems from here.
 */
import { existsSync, statfsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { RowsyncError } from '../base/errors.ts';
import { bytesText } from '../base/text.ts';
import type { Config } from '../config/load.ts';
import { boundTo, columnChoice, filesSettings } from '../config/settings.ts';
import { mayFollow } from '../reconcile/follow.ts';
import { leftOutError } from '../reconcile/guards.ts';
import type { AccountFacts, FoundComplaint } from '../reconcile/account/facts.ts';
import type { AddedProblem } from '../reconcile/account/problems.ts';
import { accountOf, type Problem } from '../reconcile/account/account.ts';
import { misnamedIn } from '../reconcile/option-bindings.ts';
import { misnamedColumns } from '../reconcile/column-selection.ts';
import { readComplaints, readFirstUnreadable } from '../replica/stored-errors.ts';
import type { Connection } from '../replica/connection.ts';
import { readDescribed } from '../replica/bookkeeping/described-tables.ts';
import { readTableDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import { readFilesByTable } from '../replica/bookkeeping/files.ts';
import { readTables, type TableRecord } from '../replica/bookkeeping/tables.ts';
import { countUnseen, shownSince } from '../replica/bookkeeping/conflicts.ts';
import { readOldestPending } from '../replica/bookkeeping/row-states.ts';
import { readPutBack } from '../replica/older-copy.ts';
import { openReader, type ReplicaReader } from '../replica/reader.ts';
import { readRemade } from '../replica/bookkeeping/schema-changes.ts';
import { checkAfterDamage } from '../replica/integrity-check.ts';
import { jobsOf, lateness } from './jobs.ts';
import type { DaemonState } from './state.ts';

/** What is known of the daemon: whether one keeps the tables fresh, and what it and its extras report as wrong. */
export type DaemonFacts = Pick<AccountFacts, 'keeper' | 'complaints'> & { readonly added: readonly AddedProblem[] };

/** The facts that are neither in the replica nor in the configuration. */
export type FactsOutside = DaemonFacts & Pick<AccountFacts, 'nowMs'>;

/** What the configuration has about tables, by their names here. */
interface KeptTables extends Pick<AccountFacts, 'misnamed'> {
  readonly lateAfterMs: ReadonlyMap<string, number>;
  readonly editsLateAfterMs: ReadonlyMap<string, number>;
  /** Tables whose files are not wanted. */
  readonly withoutFiles: ReadonlySet<string>;
  /** Tables that are left out now, so that the error of their last attempt no longer matters. */
  readonly leftOut: ReadonlySet<string>;
}

/** The facts that are not in the replica. */
export type Surroundings = KeptTables & FactsOutside;

interface ProblemSource {
  readonly problems?: readonly AddedProblem[];
}

/** The problems that extras bring. */
export function problemsOf(extras: readonly ProblemSource[]): DaemonFacts['added'] {
  return extras.flatMap(({ problems = [] }) => problems);
}

export function daemonFactsOf(
  { failure, logFailure, complaints }: DaemonState,
  extras: readonly ProblemSource[],
): DaemonFacts {
  const all: FoundComplaint[] = [...complaints];
  if (failure !== null) {
    const { code, message, hint, since } = failure;
    all.unshift({ about: 'daemon', subject: null, code, message, hint, since });
  }
  if (logFailure !== null) {
    const message = `The log of the daemon cannot be written: ${logFailure}`;
    const hint = 'Free some space on the disk of the log. Lines since then are lost.';
    all.push({ about: 'log.failed', subject: null, code: 'log.failed', message, hint, since: null });
  }
  return { keeper: 'daemon', complaints: all, added: problemsOf(extras) };
}

/** The problems of an open replica. @throws RowsyncError of the replica. */
export function readAccount(reader: ReplicaReader, around: Surroundings): readonly Problem[] {
  return accountOf(readAccountFacts(reader, around), around.added);
}

/** Less free space than this, and a run is likely to stop in the middle. */
export const FREE_BYTES_MIN = 50 * 1024 ** 2;

/** The problems of a replica; that it is missing or damaged is one, too. A daemon's configuration is already bound. */
export function problemsAt(
  config: Config,
  around: FactsOutside,
  bind?: (from: Connection) => Config,
): readonly Problem[] {
  // A daemon reports a full disk itself, but a command could not record its run.
  const full = around.keeper === 'daemon' ? [] : fullDisk(config.replica.path);
  return problemsBesideDisk(config, { ...around, complaints: [...around.complaints, ...full] }, bind);
}

/** The same, for callers that examine the disk anyway. */
export function problemsBesideDisk(
  config: Config,
  around: FactsOutside,
  bind: (from: Connection) => Config = (from) => boundTo(from, config),
): readonly Problem[] {
  const { path } = config.replica;
  try {
    using reader = openReader(path);
    // A daemon checks its file itself, with pauses for its other work.
    if (around.keeper !== 'daemon') checkAfterDamage(path);
    if (reader.isOlder()) return accountOf({ ...nothingOf(around), replica: 'older' }, around.added);
    return readAccount(reader, { ...around, ...readKeptTables(reader, bind(reader), around.nowMs) });
  } catch (thrown) {
    return accountOf(factsWithout(errorFromReading(thrown, path), path, around), around.added);
  }
}

function fullDisk(path: string): readonly FoundComplaint[] {
  const folder = dirname(path);
  const free = existsSync(path) ? freeBytes(folder) : null;
  if (free === null || free >= FREE_BYTES_MIN) return [];
  const message = `Only ${bytesText(free)} are free in ${folder}, so runs may stop in the middle`;
  const hint = 'Free some space, then run rowsync pull; what the replica holds is whole.';
  return [{ about: 'replica', subject: null, code: 'replica.full', message, hint, since: null }];
}

/** Null if the system does not report it; opening the replica then shows what is wrong. */
function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** The facts where the replica cannot be read. */
function factsWithout(error: RowsyncError, path: string, around: FactsOutside): AccountFacts {
  const facts = nothingOf(around);
  const left = ['.sent', '-wal'].map((ending) => path + ending).find((file) => existsSync(file));
  if (!existsSync(path) && left === undefined && facts.complaints.length === 0) return { ...facts, replica: 'missing' };
  const { code, message, hint } = existsSync(path) || left === undefined ? error : goneError(path, left);
  const unusable: FoundComplaint = { about: 'replica', subject: null, code, message, hint, since: null };
  const isKnown = facts.complaints.some((complaint) => complaint.code === code);
  return { ...facts, replica: 'here', complaints: isKnown ? facts.complaints : [...facts.complaints, unusable] };
}

function goneError(path: string, left: string): RowsyncError {
  return new RowsyncError('config', 'replica.path', {
    message: `The replica ${path} is gone, and ${basename(left)} is still there`,
    hint: 'Put the file back, or restore a backup (rowsync restore). rowsync pull begins anew; edits that were not sent are lost then.',
  });
}

function nothingOf(around: FactsOutside): Omit<AccountFacts, 'replica'> {
  return { tables: [], misnamed: [], remade: [], putBack: null, lastRunAt: null, ...around };
}

function readAccountFacts(
  reader: ReplicaReader,
  { keeper, complaints, added, lateAfterMs, editsLateAfterMs, withoutFiles, leftOut, misnamed, nowMs }: Surroundings,
): AccountFacts {
  const firstUnreadable = readFirstUnreadable(reader);
  const pending = readOldestPending(reader);
  const files = readFilesByTable(reader);
  const lost = countUnseen(reader, shownSince(nowMs));
  const tables = reader.status().map((table) => ({
    ...table,
    lateAfterMs: lateAfterMs.get(table.table) ?? null,
    editsLateAfterMs: editsLateAfterMs.get(table.table) ?? null,
    oldestPendingAt: pending.get(table.table) ?? null,
    firstUnreadable: firstUnreadable.get(table.table) ?? null,
    lost: lost.get(table.table) ?? null,
    filesNotHere: withoutFiles.has(table.table) ? null : (files.get(table.table) ?? null),
  }));
  const areFilesWanted = tables.some(({ table }) => !withoutFiles.has(table));
  const kept = tables.filter(
    ({ table, state, pendingCount }) => leftOut.has(table) && state !== 'gone' && pendingCount > 0,
  );
  const keptEdits = kept.map(({ table, pendingCount }): FoundComplaint => {
    const { code, message, hint } = leftOutError(table, pendingCount, false);
    return { about: 'table', subject: table, code, message, hint, since: pending.get(table) ?? null };
  });
  const isMoot = ({ about, subject }: FoundComplaint): boolean =>
    about === 'files' ? !areFilesWanted : about === 'table' && leftOut.has(subject ?? '');
  const isKnownBetter = (complaint: FoundComplaint): boolean => keeper === 'daemon' && isOfRun(complaint);
  const remembered = readComplaints(reader, added).filter((it) => !isMoot(it) && !isKnownBetter(it));
  return {
    nowMs,
    replica: tables.length === 0 ? 'unpulled' : 'here',
    tables,
    complaints: [...complaints, ...keptEdits, ...remembered],
    misnamed,
    remade: readRemade(reader, shownSince(nowMs)),
    putBack: readPutBack(reader, shownSince(nowMs)),
    keeper,
    lastRunAt: reader.runs(1)[0]?.finishedAt ?? null,
  };
}

/** A daemon that answers knows better than the record of a run whether work continues. */
function isOfRun({ about, code }: FoundComplaint): boolean {
  return (about === 'pull' || about === 'push' || about === 'files') && !code.startsWith('guard.');
}

export function readKeptTables(from: Connection, bound: Config, nowMs: number): KeptTables {
  const twoTicks = lateness(jobsOf(bound), nowMs);
  const tables = readTables(from);
  const agesOf = (ageOf: (table: TableRecord) => number | null): ReadonlyMap<string, number> =>
    new Map(
      tables.flatMap((table) => {
        const ms = ageOf(table);
        return ms === null ? [] : [[table.localName, ms]];
      }),
    );
  const { rule } = filesSettings(bound);
  const named = (isSo: (name: string) => boolean): ReadonlySet<string> =>
    new Set(tables.filter(({ name }) => isSo(name)).map(({ localName }) => localName));
  return {
    lateAfterMs: agesOf((table) => twoTicks(table.name, 'pull', ...(mayFollow(table) ? (['follow'] as const) : []))),
    editsLateAfterMs: agesOf(({ name }) => twoTicks(name, 'push')),
    withoutFiles: named((name) => rule(name)?.mode === 'none'),
    leftOut: named((name) => bound.tables.find(name) === null),
    misnamed: [
      ...misnamedIn(bound.tables.byName, readDescribed(from)),
      ...tables.flatMap((table) => readMisnamedColumns(from, table, bound)),
    ],
  };
}

/** Names of columns of one table that the configuration leaves out and that no column has any more. */
function readMisnamedColumns(from: Connection, table: TableRecord, bound: Config): AccountFacts['misnamed'] {
  const rule = bound.tables.find(table.name);
  const choice = rule === null ? null : columnChoice(rule);
  if (rule === null || choice?.isOfOneTable !== true || choice.exclude.length === 0 || table.state === 'gone')
    return [];
  const described = readTableDescriptor(from, table.id)?.descriptor;
  if (described === undefined) return [];
  const found = misnamedColumns(described, { exclude: choice.exclude, leftOut: table.leftOut });
  return found.map(({ kind, words }) => ({ kind, sentence: `tables.${rule.pattern}.columns.exclude: ${words}` }));
}

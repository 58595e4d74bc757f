/**
 * Reads the facts of the account (reconcile/account.ts) from the replica, the configuration, and what the daemon says of itself. Every surface gets its
 * problems from here.
 */
import { existsSync } from 'node:fs';
import type { RowsyncError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import type { Config } from '../config/load.ts';
import { withBoundNames } from '../config/tables.ts';
import { mayFollow } from '../reconcile/follow.ts';
import type { AccountFacts, FoundComplaint } from '../reconcile/account-facts.ts';
import { accountOf, type Problem } from '../reconcile/account.ts';
import { misnamedIn } from '../reconcile/bindings.ts';
import { readComplaints, readFirstUnreadable } from '../replica/complaints.ts';
import type { Connection } from '../replica/connection.ts';
import { boundNameOf, readDescribed } from '../replica/bookkeeping/described.ts';
import { errorFromReading } from '../replica/failures.ts';
import { readTables } from '../replica/bookkeeping/tables.ts';
import { countUnseen, toldSince } from '../replica/bookkeeping/conflicts.ts';
import { openReader, type ReplicaReader } from '../replica/reader.ts';
import { readRemade } from '../replica/bookkeeping/schema-changes.ts';
import { jobsOf, lateness } from './jobs.ts';
import type { DaemonState } from './state.ts';
import { readFollowable } from '../replica/bookkeeping/following.ts';

/** What is known of the daemon: whether one keeps the tables, and what it says is wrong. */
export interface DaemonWord extends Pick<AccountFacts, 'keeper'> {
  readonly complaints: readonly FoundComplaint[];
}

/** What the configuration has about tables, by their names here. */
interface KeptTables extends Pick<AccountFacts, 'misnamed'> {
  /** After how long a table is late. */
  readonly lateAfterMs: ReadonlyMap<string, number>;
  /** Tables that are left out by now; what their last attempt failed of does not matter any more. */
  readonly leftOut: ReadonlySet<string>;
}

/** The facts that do not stand in the replica. */
export interface Surroundings extends KeptTables {
  readonly word: DaemonWord;
  readonly nowMs: number;
}

/** What a daemon says of itself. */
export function wordOf({ failure, blockedNotices, logFailure, complaints }: DaemonState): DaemonWord {
  const ofAll: DaemonWord['complaints'] = failure === null ? [] : [{ about: 'daemon', subject: null, ...failure }];
  const blocked = blockedNotices.map(({ way, reason, since, waitingCount }): FoundComplaint => ({
    about: 'notices',
    subject: way,
    code: 'notices.failed',
    message: `${reason}; ${plural(waitingCount, 'notice')} waiting`,
    hint: '',
    since,
  }));
  const log: readonly FoundComplaint[] =
    logFailure === null
      ? []
      : [{ about: 'log', subject: null, code: 'log.failed', message: logFailure, hint: '', since: null }];
  return { keeper: 'daemon', complaints: [...ofAll, ...complaints, ...blocked, ...log] };
}

/** The problems of an open replica. @throws RowsyncError of the replica. */
export function readProblems(reader: ReplicaReader, around: Surroundings): readonly Problem[] {
  return accountOf(readFacts(reader, around));
}

/** The problems of a replica that may be missing or damaged; that is a problem then. A daemon's configuration is bound already. */
export function problemsAt(
  config: Config,
  around: Omit<Surroundings, keyof KeptTables>,
  bind: (from: Connection) => Config = (from) => boundTo(from, config),
): readonly Problem[] {
  const { path } = config.replica;
  try {
    const reader = openReader(path);
    try {
      const nothing: KeptTables = { lateAfterMs: new Map(), leftOut: new Set(), misnamed: [] };
      const kept = reader.isOlder() ? nothing : readKept(reader, bind(reader), around.nowMs);
      return readProblems(reader, { ...around, ...kept });
    } finally {
      reader.close();
    }
  } catch (thrown) {
    return accountOf(factsWithout(errorFromReading(thrown, path), path, around));
  }
}

/** The facts where the replica cannot be read. */
function factsWithout(
  { code, message, hint }: RowsyncError,
  path: string,
  { word: { keeper, complaints }, nowMs }: Omit<Surroundings, keyof KeptTables>,
): AccountFacts {
  const facts = { nowMs, tables: [], misnamed: [], remade: [], keeper };
  if (!existsSync(path) && complaints.length === 0) return { ...facts, replica: 'missing', complaints };
  const unusable: FoundComplaint = { about: 'replica', subject: null, code, message, hint, since: null };
  return { ...facts, replica: 'here', complaints: [...complaints, unusable] };
}

function readFacts(reader: ReplicaReader, { word, lateAfterMs, leftOut, misnamed, nowMs }: Surroundings): AccountFacts {
  const { keeper, complaints } = word;
  const firstUnreadable = readFirstUnreadable(reader);
  const lost = reader.isOlder() ? null : countUnseen(reader, toldSince(nowMs));
  const tables = reader.status().map((table) => ({
    ...table,
    lateAfterMs: lateAfterMs.get(table.table) ?? null,
    firstUnreadable: firstUnreadable.get(table.table) ?? null,
    lost: lost?.get(table.table) ?? null,
  }));
  const isMoot = ({ about, subject }: FoundComplaint): boolean => about === 'table' && leftOut.has(subject ?? '');
  const isKnownBetter = (complaint: FoundComplaint): boolean => keeper === 'daemon' && isOfRun(complaint);
  const remembered = readComplaints(reader).filter((it) => !isMoot(it) && !isKnownBetter(it));
  return {
    nowMs,
    replica: reader.isOlder() ? 'older' : tables.length === 0 ? 'unpulled' : 'here',
    tables,
    complaints: [...complaints, ...remembered],
    misnamed,
    remade: reader.isOlder() ? [] : readRemade(reader, toldSince(nowMs)),
    keeper,
  };
}

/** A daemon that answers knows better than the record of a run whether work goes on. */
function isOfRun({ about, code }: FoundComplaint): boolean {
  return (about === 'pull' || about === 'push') && !code.startsWith('guard.');
}

/** The configuration as the tables of a replica are bound to it. */
export function boundTo(from: Connection, config: Config): Config {
  return withBoundNames(config, (name) => boundNameOf(from, name));
}

/** What the configuration has about the tables of a replica. */
export function readKept(from: Connection, bound: Config, nowMs: number): KeptTables {
  const twoTicks = lateness(jobsOf(bound), nowMs);
  const tables = readTables(from);
  const lateAfterMs = tables.flatMap((table) => {
    const ms = twoTicks(table.name, mayFollow(readFollowable(from, table)));
    return ms === null ? [] : [[table.localName, ms] as const];
  });
  const leftOut = tables.filter(({ name }) => bound.tables.find(name) === null).map(({ localName }) => localName);
  const misnamed = misnamedIn(bound.tables.byName, readDescribed(from));
  return { lateAfterMs: new Map(lateAfterMs), leftOut: new Set(leftOut), misnamed };
}

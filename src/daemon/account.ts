/**
 * Reads the facts of the account (reconcile/account.ts) from the replica, the configuration, and what the daemon says of itself. Every surface gets its
 * problems from here.
 */
import { existsSync } from 'node:fs';
import { asRowsyncError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import type { Config } from '../config/load.ts';
import { withBoundNames } from '../config/tables.ts';
import { mayFollow } from '../reconcile/follow.ts';
import type { AccountFacts, FoundComplaint } from '../reconcile/account-facts.ts';
import { accountOf, type Problem } from '../reconcile/account.ts';
import { misnamedIn } from '../reconcile/bindings.ts';
import { readComplaints, readFirstUnreadable } from '../replica/complaints.ts';
import type { Connection } from '../replica/connection.ts';
import { boundNameOf, readDescribed } from '../replica/described.ts';
import { errorFromReading } from '../replica/failures.ts';
import { readTables } from '../replica/ledger.ts';
import { openReader, type ReplicaReader } from '../replica/reader.ts';
import { jobsOf, lateness, type Jobs } from './jobs.ts';
import type { DaemonState } from './state.ts';

/** What is known of the daemon: whether one keeps the tables, and what it says is wrong. */
export interface DaemonWord extends Pick<AccountFacts, 'keeper'> {
  readonly complaints: readonly FoundComplaint[];
}

/** What the daemon says of itself. */
export function wordOf({ circuit, failure, blockedNotices, logFailure }: DaemonState): DaemonWord {
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
  const others = [...blocked, ...log];
  if (circuit.failureCount === 0 || failure === null) return { keeper: 'daemon', complaints: others };
  const { code, message, hint } = failure;
  const own: FoundComplaint = { about: 'daemon', subject: null, code, message, hint, since: null };
  return { keeper: 'daemon', complaints: [own, ...others] };
}

/** The problems of an open replica. @throws RowsyncError of the replica. */
export function readProblems(
  reader: ReplicaReader,
  config: Config,
  word: DaemonWord,
  nowMs: number,
): readonly Problem[] {
  return accountOf(readFacts(reader, config, word, nowMs));
}

/** The problems of a replica that may be missing or damaged; that is a problem then. */
export function problemsAt(config: Config, word: DaemonWord, nowMs: number): readonly Problem[] {
  try {
    const reader = openReader(config.replica.path);
    try {
      return readProblems(reader, config, word, nowMs);
    } finally {
      reader.close();
    }
  } catch (thrown) {
    return accountOf(factsWithout(thrown, config, word, nowMs));
  }
}

/** The facts where the replica cannot be read. */
function factsWithout(thrown: unknown, { replica: { path } }: Config, word: DaemonWord, nowMs: number): AccountFacts {
  const { code, message, hint } = asRowsyncError(thrown);
  const facts = { nowMs, tables: [], misnamed: [], keeper: word.keeper };
  if (!existsSync(path)) return { ...facts, replica: 'missing', complaints: word.complaints };
  const unusable: FoundComplaint = { about: 'replica', subject: null, code, message, hint, since: null };
  return { ...facts, replica: 'here', complaints: [unusable, ...word.complaints] };
}

function readFacts(
  reader: ReplicaReader,
  config: Config,
  { keeper, complaints }: DaemonWord,
  nowMs: number,
): AccountFacts {
  const isOlder = reader.isOlder();
  const bound = withBoundNames(config, (name) => boundNameOf(reader, name));
  const lateAfter = isOlder ? new Map<string, number>() : readLateAfterMs(reader, jobsOf(bound), nowMs);
  const firstUnreadable = readFirstUnreadable(reader);
  const tables = reader.status().map((table) => ({
    ...table,
    lateAfterMs: lateAfter.get(table.table) ?? null,
    firstUnreadable: firstUnreadable.get(table.table) ?? null,
  }));
  const isUnpulled = tables.length === 0 && reader.identity() === null;
  return {
    nowMs,
    replica: isOlder ? 'older' : isUnpulled ? 'unpulled' : 'here',
    tables,
    complaints: [...complaints, ...readRemembered(reader, config, keeper)],
    misnamed: misnamedIn(config.tables.byName, readDescribed(reader)),
    keeper,
  };
}

/** What the replica remembers; a daemon that answers knows better than the record of a run whether work goes on. */
function readRemembered(
  reader: ReplicaReader,
  { replica: { path } }: Config,
  keeper: DaemonWord['keeper'],
): readonly FoundComplaint[] {
  try {
    const isOfRun = ({ about, code }: FoundComplaint): boolean =>
      (about === 'pull' || about === 'push') && !code.startsWith('guard.');
    return readComplaints(reader).filter((complaint) => keeper !== 'daemon' || !isOfRun(complaint));
  } catch (thrown) {
    throw errorFromReading(thrown, path);
  }
}

/** After how long each table is late, by its name here. */
export function readLateAfterMs(from: Connection, jobs: Jobs, nowMs: number): ReadonlyMap<string, number> {
  const twoTicks = lateness(jobs, nowMs);
  return new Map(
    readTables(from).flatMap((table) => {
      const ms = twoTicks(table.name, mayFollow(table));
      return ms === null ? [] : [[table.localName, ms] as const];
    }),
  );
}

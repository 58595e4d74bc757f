/**
 * The facts that the account (account.ts) is made from; `daemon/account-facts.ts` reads them. Types only.
 */

/** Where an error was found, or the code of the problem that it is. */
export type FoundAbout =
  /** Opening the file. */
  | 'replica'
  /** A run that failed as a whole. */
  | 'pull'
  | 'push'
  /** The last work on attached files. */
  | 'files'
  /** What keeps all work of the daemon waiting. */
  | 'daemon'
  /** The last attempt at a table. */
  | 'table'
  | 'config.refused'
  | 'history.held'
  | 'log.failed'
  | 'work.failed'
  | keyof ExtraProblems;

/** The codes of problems that extras bring; each extra declares its own here. */
export interface ExtraProblems {}

export interface Complaint {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** An error that is still true. */
export interface FoundComplaint extends Complaint {
  readonly about: FoundAbout;
  /** The table, by its name here; null for everything. */
  readonly subject: string | null;
  /** A stamp; null where it is not known. */
  readonly since: string | null;
  /** The run that failed as a whole; only of those. */
  readonly run?: FailedRun;
}

export interface FailedRun {
  /** Its `id` in `sync_runs`. */
  readonly id: number;
  /** Whether the origin has answered a later run; what followed that one does not matter, so that a problem which is over stays so. */
  readonly isAnsweredSince: boolean;
}

/** Attached files of a table that the origin has and that are not here, though they are wanted. */
export interface FilesNotHere {
  /** Those that were tried several times. */
  readonly failedCount: number;
  /** The others. */
  readonly waitingCount: number;
  /** The one that failed most often, with its reason. */
  readonly worst: string | null;
}

/** What `sync_status` says of a table; stamps are UTC text. */
export interface StatusFacts {
  readonly table: string;
  /** loading (first sweep not finished) · steady · gone (no longer described) · held (waits for a person) · failed. */
  readonly state: string;
  /** Every row of the table was proven at this time or later. */
  readonly freshSince: string | null;
  /** When only changed rows were last asked for; null for never. */
  readonly followedAt: string | null;
  readonly unreadableCount: number;
  /** Rows of a page, since larger ones did not fit into an answer; null where those of the configuration do. */
  readonly pageRows: number | null;
  /** Rows that wait for a person or a timer and are no conflict: refused by the origin, in doubt, or stopped here. */
  readonly refusedCount: number;
  /** Those of `refusedCount` that the origin may have taken. */
  readonly inDoubtCount: number;
  /** Those of `refusedCount` that were stopped here, before they were sent. */
  readonly unsendableCount: number;
  /** Conflicts that wait for a person. */
  readonly conflictCount: number;
}

/** All that the account has of a table. */
export interface TableFacts extends StatusFacts {
  /** The first row that cannot be read, in words: id, column and reason, without the value; null for none. */
  readonly firstUnreadable: { readonly words: string; readonly since: string } | null;
  /** Edits of the last days that lost to the origin and were not marked as seen, with the time of the first; null for none. */
  readonly lost: { readonly count: number; readonly since: string } | null;
  /** Files that the origin has and that are not here; null for none. */
  readonly filesNotHere: FilesNotHere | null;
  /** When the oldest edit that is to be pushed was made; null for none. */
  readonly oldestPendingAt: string | null;
  /** The age after which rows, and edits, are late by their schedules; null for never. */
  readonly lateAfterMs: number | null;
  readonly editsLateAfterMs: number | null;
}

/**
 * A name in the configuration: renamed (what it says still applies to the table or column that had it) · excluding (it matches nothing, so what it keeps
 * out may come) · stray (it matches nothing).
 */
export interface Misnamed {
  readonly kind: 'renamed' | 'excluding' | 'stray';
  readonly sentence: string;
}

/** A two-way table, a column of one, or the guards of a mirror, which another program took away in this file, and which were made again. */
export interface RemadePart {
  readonly kind: 'tableRemade' | 'columnRemade' | 'guardsRemade';
  readonly table: string;
  /** Only of columnRemade. */
  readonly column: string | null;
  /** Edits of the table that had not been pushed; 0 for the others, of which that is not known. */
  readonly editCount: number;
  readonly since: string;
}

/** An older copy of the replica that took its place: when it was opened or restored, and until when it knew the origin. */
export interface PutBack {
  readonly since: string;
  readonly knownUntil: string | null;
  /** Whether it was restored, and no run has begun since. */
  readonly isUnopened: boolean;
}

/** Everything that the account is made from. */
export interface AccountFacts {
  readonly nowMs: number;
  /** missing (no file yet) · unpulled (no table is known yet) · older (written by an earlier version) · here. */
  readonly replica: 'missing' | 'unpulled' | 'older' | 'here';
  readonly tables: readonly TableFacts[];
  readonly complaints: readonly FoundComplaint[];
  /** Names in the configuration that are not those at the origin. */
  readonly misnamed: readonly Misnamed[];
  /** What was made again in the last days. */
  readonly remade: readonly RemadePart[];
  /** The newest of the last days; null for none. */
  readonly putBack: PutBack | null;
  /** Who keeps the tables up to date. 'daemon': one that answers. 'service': a process that holds the lock, or that systemd says is up. 'silent': one of them should be running. */
  readonly keeper: 'daemon' | 'service' | 'silent' | 'nobody';
  /** When the last run that is recorded ended; null for none. */
  readonly lastRunAt: string | null;
}

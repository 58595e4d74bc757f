/**
 * The facts behind the account (account.ts); `daemon/account-facts.ts` reads them. Types only.
 */

/** Where an error occurred, or the code of its problem. */
export type FoundAbout =
  /** Opening the file. */
  | 'replica'
  /** A run that failed as a whole. */
  | 'pull'
  | 'push'
  /** The last work on attached files. */
  | 'files'
  /** The reason why all work of the daemon waits. */
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

/** An error that still applies. */
export interface FoundComplaint extends Complaint {
  readonly about: FoundAbout;
  /** The table's local name; null for everything. */
  readonly subject: string | null;
  /** A stamp; null where it is not known. */
  readonly since: string | null;
  /** The run that failed as a whole; only of those. */
  readonly run?: FailedRun;
}

export interface FailedRun {
  /** Its `id` in `sync_runs`. */
  readonly id: number;
  /** Whether the origin has answered any later run, so that a problem which is over stays over. */
  readonly isAnsweredSince: boolean;
}

/** Wanted attached files of a table that the origin has and that are not here. */
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
  /** When only changed rows were last requested; null for never. */
  readonly followedAt: string | null;
  readonly unreadableCount: number;
  /** Rows per page, reduced because larger pages did not fit into an answer; null if the configured number fits. */
  readonly pageRows: number | null;
  /** Rows, without conflicts, that wait for a person or a timer: refused, in doubt, or stopped before being sent. */
  readonly refusedCount: number;
  /** Those of `refusedCount` that the origin may have accepted. */
  readonly inDoubtCount: number;
  /** Those of `refusedCount` that were stopped before they were sent. */
  readonly unsendableCount: number;
  /** Conflicts that wait for a person. */
  readonly conflictCount: number;
}

/** All facts about a table. */
export interface TableFacts extends StatusFacts {
  /** The first row that cannot be read, in words: id, column and reason, without the value; null for none. */
  readonly firstUnreadable: { readonly words: string; readonly since: string } | null;
  /** Edits of the last days that lost to the origin and are not marked as seen, with the time of the first. */
  readonly lost: { readonly count: number; readonly since: string } | null;
  /** Files that the origin has and that are not here; null for none. */
  readonly filesNotHere: FilesNotHere | null;
  /** When the oldest edit that is to be pushed was made; null for none. */
  readonly oldestPendingAt: string | null;
  /** The age at which rows, and edits, are late by their schedules; null for never. */
  readonly lateAfterMs: number | null;
  readonly editsLateAfterMs: number | null;
}

/**
 * A name in the configuration: renamed (its options still apply to the table or column that had it) · excluding (it
 * matches nothing, so what it should keep out may be read) · stray (it matches nothing).
 */
export interface Misnamed {
  readonly kind: 'renamed' | 'excluding' | 'stray';
  readonly sentence: string;
}

/** What another program dropped here and rowsync restored: a two-way table, a column of one, or a mirror's guards. */
export interface RemadePart {
  readonly kind: 'tableRemade' | 'columnRemade' | 'guardsRemade';
  readonly table: string;
  /** Only of columnRemade. */
  readonly column: string | null;
  /** Edits of the table that had not been pushed; 0 for columns and guards, for which the number is unknown. */
  readonly editCount: number;
  readonly since: string;
}

/** An older copy that replaced the replica: when it was opened or restored, and when it last knew the origin. */
export interface PutBack {
  readonly since: string;
  readonly knownUntil: string | null;
  /** Whether it was restored and no run has begun since. */
  readonly isUnopened: boolean;
}

/** All facts. */
export interface AccountFacts {
  readonly nowMs: number;
  /** missing (no file yet) · unpulled (no table is known yet) · older (written by an earlier version) · here. */
  readonly replica: 'missing' | 'unpulled' | 'older' | 'here';
  readonly tables: readonly TableFacts[];
  readonly complaints: readonly FoundComplaint[];
  /** Names in the configuration that do not exist at the origin. */
  readonly misnamed: readonly Misnamed[];
  /** What was restored in the last days. */
  readonly remade: readonly RemadePart[];
  /** The newest of the last days; null for none. */
  readonly putBack: PutBack | null;
  /**
   * Who keeps the tables up to date: a daemon that answers · service, a process that holds the lock, or that systemd
   * says is up · silent, where one of them should be running.
   */
  readonly keeper: 'daemon' | 'service' | 'silent' | 'nobody';
  /** When the last recorded run ended; null for none. */
  readonly lastRunAt: string | null;
}

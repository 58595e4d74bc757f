/**
 * What a daemon gets from outside: signals, the clock, the log, and how to reload its configuration. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { LogEvent } from '../base/log-events.ts';
import type { LogFacts, Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { Problem } from '../reconcile/account/account.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { AddedProblem } from '../reconcile/account/problems.ts';
import type { Surroundings } from './account-facts.ts';
import type { WorkKind } from './jobs.ts';
import type { Resources } from './resources.ts';
import type { PullProgress } from '../pull/report.ts';
import type { DaemonState, LastWork } from './state.ts';
import type { Notifier } from './process-health.ts';
import type { ExtraWork, TableOutcome } from './work-kinds.ts';

/** The signals that a running daemon gets; each listener is called for every signal. */
interface DaemonSignals {
  readonly stop: AbortSignal;
  onReload(listener: () => void): void;
  onCycle(listener: () => void): void;
}

export interface DaemonExtra {
  /** The problems that it can report. */
  readonly problems?: readonly AddedProblem[];
  /** How the daemon does scheduled work of a kind that the extra adds. */
  readonly jobs?: Readonly<Record<string, ExtraWork>>;
  /** The same for work that needs no origin: it runs while the origin is down, too. */
  readonly localJobs?: Readonly<Record<string, ExtraWork>>;
  readonly join?: (view: DaemonView) => Promise<DaemonPart>;
}

/** The result of one piece of work. */
export interface EndedWork extends LastWork {
  readonly work: WorkKind;
  readonly tables: readonly TableOutcome[];
  readonly words: string | null;
  readonly hint: string | null;
  /** Whether the replica records it. */
  readonly isRecorded: boolean;
}

export type WorkEvent =
  | { readonly kind: 'began'; readonly work: WorkKind; readonly atMs: number }
  | { readonly kind: 'advanced'; readonly event: PullProgress; readonly monotonicMs: number }
  /** A refresh: tables were read on request. */
  | ({ readonly kind: 'ended'; readonly isRefresh: boolean } & EndedWork);

/** What is open for a changed configuration, beside what is open already. */
export interface Prepared {
  /** Starts to use it, and closes what it replaces. */
  use(): Promise<void>;
  giveBack(): Promise<void>;
}

export interface DaemonPart {
  /**
   * Opens what a configuration wants, such as a server; null when the daemon ends. Ends its own work on the replica,
   * which may be closed next.
   * @throws RowsyncError `daemon.listen`, … with all left as it was.
   */
  prepare?(config: Config | null): Promise<Prepared>;
  /** Short work between two pieces of the daemon's own; returns whether it left edits to push. Never rejects. */
  betweenWork?(resources: Resources): Promise<boolean>;
  takeWork?(event: WorkEvent): void;
  /** Its lines in the daemon's status, and what is wrong; nothing if it is not configured. */
  word?(): { readonly lines?: readonly string[]; readonly complaints: readonly FoundComplaint[] };
  /** Takes the account after each work, and each event that is logged. */
  takeAccount?(problems: readonly Problem[]): void;
  takeEvent?(event: LogEvent, facts: LogFacts): void;
  /** Called when the daemon ends, which waits some seconds for it. */
  close?(): Promise<void>;
  /** Whether it currently reports changes of a table (its name at the origin), so that `follow: auto` can skip it. */
  bringsChanges?(table: string): boolean;
}

/** What parts may see and request; one for the life of a daemon. */
export interface DaemonView {
  /** What extras joined to it. */
  parts(): readonly DaemonPart[];
  /** Aborted when the daemon is to stop. */
  readonly stop: AbortSignal;
  /** The plain clock: waiting on it does not count as progress for the watchdog. */
  readonly clock: Clock;
  isAlive(): boolean;
  state(): DaemonState;
  resources(): Resources;
  /** What the account has from outside of the replica. */
  surroundings(): Surroundings;
  problems(): readonly Problem[];
  /** Ends the daemon's wait, so that it does the short work of its parts. */
  wake(): void;
  /** Null for all of it. */
  askForCycle(work: WorkKind | null): void;
  /** Reads tables now, by their names at the origin; resolves afterwards, or at once if none will be read soon. */
  refresh(tables: readonly string[]): Promise<readonly TableOutcome[]>;
}

export interface DaemonParts {
  readonly clock: Clock;
  readonly signals: DaemonSignals;
  /** Reads the configuration anew. @throws RowsyncError with every problem there is. */
  readonly load: () => Config;
  /** Null where nothing manages the process. */
  readonly notifier: Notifier | null;
  readonly extras: readonly DaemonExtra[];
  /** Called before a wait. */
  readonly atRest?: () => void;
  /** The log; made anew for every configuration, because it hides that configuration's secrets. */
  readonly logFor: (config: Config) => Logger;
  /** Why the log cannot be written; null if it can. */
  readonly logFailure?: () => string | null;
}

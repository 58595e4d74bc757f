/**
 * What a daemon is given from outside: signals, the clock, the log, and how to read its configuration anew. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { LogEvent } from '../base/log-events.ts';
import type { LogFacts, Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { Problem } from '../reconcile/account/account.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { Surroundings } from './account-facts.ts';
import type { DecisionQueue } from './decision-queue.ts';
import type { WorkKind } from './jobs.ts';
import type { ReplicaReader } from '../replica/reader.ts';
import type { Resources, StartBeside } from './resources.ts';
import type { DaemonState } from './state.ts';
import type { Notifier } from './systemd.ts';
import type { ExtraWork, TableOutcome } from './work-kinds.ts';
import type { WorkSnapshot } from './work-log.ts';

/** The signals that a running daemon gets; each listener is called for every signal. */
interface DaemonSignals {
  readonly stop: AbortSignal;
  onReload(listener: () => void): void;
  onCycle(listener: () => void): void;
}

/** A metric; its name has no prefix. Labels never are values or keys of rows. */
export interface Metric {
  readonly name: string;
  readonly kind: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
}

export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

export interface DaemonExtra {
  /** How the daemon does scheduled work of a kind that the extra adds. */
  readonly jobs?: Readonly<Record<string, ExtraWork>>;
  /** The same for work that needs no origin: it runs while the origin is down, too. */
  readonly localJobs?: Readonly<Record<string, ExtraWork>>;
  /** Begins work of its own beside the daemon. */
  readonly start?: StartBeside;
  /** A server of a running daemon: where a configuration wants it, null for nowhere, and how it begins. */
  readonly server?: {
    readonly listensAt: (config: Config) => ListenAddress | null;
    /** @throws RowsyncError `daemon.listen`, `replica.path`. */
    readonly open: (address: ListenAddress, view: DaemonView) => Promise<DaemonServer>;
  };
  readonly metrics?: (config: Config, source: { reader: ReplicaReader; nowMs: number }) => Promise<readonly Metric[]>;
  readonly join?: (view: DaemonView) => Promise<DaemonPart>;
}

export interface DaemonPart {
  /** Answers a program that knows a path of the extra, on the server at an address; null for every other path. */
  answer?(asked: PathRequest): PlainAnswer | null;
  /** What it says of itself in the daemon's status, and what is wrong; nothing where the configuration does not want it. */
  word?(): { readonly lines?: readonly string[]; readonly complaints: readonly FoundComplaint[] };
  metrics?(): readonly Metric[];
  /** Takes the account after each work, and each event that is logged. */
  takeAccount?(problems: readonly Problem[]): void;
  takeEvent?(event: LogEvent, facts: LogFacts): void;
  /** Called when the daemon ends, which waits some seconds for it. */
  close?(): Promise<void>;
  /** When rows of a table, by its name at the origin, last came because of it, in monotonic milliseconds; -Infinity for never. */
  broughtMs?(table: string): number;
}

/** A request to a server; its body and its headers do not count. */
export interface PathRequest {
  readonly address: ListenAddress;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
}

/** What servers may see and request; one for the life of a daemon. */
export interface DaemonView {
  readonly extras: readonly DaemonExtra[];
  /** Those that joined. */
  parts(): readonly DaemonPart[];
  /** Aborted when the daemon is to stop. */
  readonly stop: AbortSignal;
  /** Its waits are no sign of life of the daemon. */
  readonly clock: Clock;
  readonly decisionQueue: DecisionQueue;
  isAlive(): boolean;
  state(): DaemonState;
  resources(): Resources;
  work(): WorkSnapshot;
  /** What the account has from outside of the replica. */
  surroundings(): Surroundings;
  problems(): readonly Problem[];
  /** Calls when work begins, advances and ends; returns a function that stops the calls. */
  onWork(listener: () => void): () => void;
  /** Null for all of it. */
  askForCycle(work: WorkKind | null): void;
  /** Reads tables now, by their names at the origin; resolves when that has ended, or will not begin soon. Never rejects. */
  refresh(tables: readonly string[]): Promise<readonly TableOutcome[]>;
}

export interface DaemonServer {
  /** Its address, with the port that was chosen for port 0. */
  readonly address: string;
  /** False once its socket was removed from the file system. */
  isReachable(): boolean;
  close(): Promise<void>;
}

export interface DaemonParts {
  readonly clock: Clock;
  readonly signals: DaemonSignals;
  /** Reads the configuration anew. @throws RowsyncError with every problem there is. */
  readonly load: () => Config;
  readonly notifier: Notifier;
  readonly extras: readonly DaemonExtra[];
  /** Called before a wait. */
  readonly atRest?: () => void;
  /** The log; made anew for every configuration, because it hides that configuration's secrets. */
  readonly logFor: (config: Config) => Logger;
  /** Why the log cannot be written; null if it can. */
  readonly logFailure?: () => string | null;
}

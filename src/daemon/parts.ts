/**
 * What a daemon is given from outside: signals, the clock, the log, and how to read its configuration anew. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { Problem } from '../reconcile/account/account.ts';
import type { Surroundings } from './account.ts';
import type { DecisionQueue } from './decision-queue.ts';
import type { WorkKind } from './jobs.ts';
import type { LoopDelay } from './process-health.ts';
import type { ReplicaReader } from '../replica/reader.ts';
import type { Sides, StartBeside } from './sides.ts';
import type { DaemonState } from './state.ts';
import type { Notifier } from './systemd.ts';
import type { ExtraWork } from './work.ts';
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

/** What an extra brings to a running daemon. */
export interface DaemonExtra {
  /** How the daemon does scheduled work of a kind that the extra adds. */
  readonly jobs?: Readonly<Record<string, ExtraWork>>;
  /** Begins work of its own beside the daemon. */
  readonly start?: StartBeside;
  /** Serves a running daemon; null if the configuration wants no server. @throws RowsyncError `daemon.listen`, `replica.path`. */
  readonly openServer?: (config: Config, view: DaemonView) => Promise<DaemonServer | null>;
  readonly metrics?: (config: Config, source: { reader: ReplicaReader; nowMs: number }) => Promise<readonly Metric[]>;
}

/** What the server may see and request. */
export interface DaemonView {
  readonly extras: readonly DaemonExtra[];
  readonly clock: Clock;
  readonly decisionQueue: DecisionQueue;
  readonly loopDelay: LoopDelay;
  isAlive(): boolean;
  state(): DaemonState;
  sides(): Sides;
  work(): WorkSnapshot;
  /** What the account has from outside of the replica. */
  surroundings(): Surroundings;
  problems(): readonly Problem[];
  /** Calls when work begins, advances and ends; returns a function that stops the calls. */
  onWork(listener: () => void): () => void;
  /** Null for all of it. */
  askForCycle(work: WorkKind | null): void;
  /** Reads tables now, by their names at the origin; resolves when that has ended, or will not begin soon. Never rejects. */
  refresh(tables: readonly string[]): Promise<void>;
}

/** A running server. */
export interface DaemonServer {
  /** Its address, with the port that was chosen for port 0. */
  readonly address: string;
  /** False once its socket was removed from the file system. */
  isReachable(): boolean;
  close(): Promise<void>;
}

/** The surroundings of a daemon. */
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

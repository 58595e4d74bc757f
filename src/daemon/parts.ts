/**
 * What a daemon is given from outside: signals, the clock, the log, and how to read its configuration anew. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { Notifier } from './systemd.ts';

/** The signals that a running daemon gets; each listener is called for every signal. */
interface DaemonSignals {
  readonly stop: AbortSignal;
  onReload(listener: () => void): void;
  onCycle(listener: () => void): void;
}

/** The surroundings of a daemon. */
export interface DaemonParts {
  readonly clock: Clock;
  readonly signals: DaemonSignals;
  /** Reads the configuration anew. @throws RowsyncError with every problem there is. */
  readonly load: () => Config;
  readonly notifier: Notifier;
  /** Called before a wait. */
  readonly atRest?: () => void;
  /** The log; made anew for every configuration, because it hides that configuration's secrets. */
  readonly logFor: (config: Config) => Logger;
  /** Why the log cannot be written; null if it can. */
  readonly logFailure?: () => string | null;
}

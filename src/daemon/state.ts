/**
 * The state of the daemon in plain values, without values of rows and secrets (I16), for systemd's status line, the
 * HTTP endpoints and commands. Pure.
 */
import { stampFromMs } from '../base/clock.ts';
import { plural } from '../base/text.ts';
import type { Problem } from '../reconcile/account/account.ts';
import type { PushAccount } from '../reconcile/account/push-account.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { DaemonFailure } from './circuit-breaker.ts';
import type { WorkKind } from './jobs.ts';

export interface LastWork {
  readonly finishedAtMs: number;
  readonly outcome: string;
  readonly durationMs: number;
  /** A command that does the same work ends with this code. */
  readonly exitCode: number;
  /** How many of its kind have ended, however they did. */
  readonly endedCount: number;
  /** Of a push. */
  readonly account?: PushAccount | undefined;
}

export interface DaemonState {
  readonly startedAtMs: number;
  /** The current work; null while it waits. */
  readonly working: WorkKind | null;
  /** The failure that opened the circuit; null while it is closed. */
  readonly failure: DaemonFailure | null;
  /** The time until the circuit lets work through; 0 if it does. */
  readonly circuitWaitMs: number;
  readonly jobs: readonly { readonly id: string; readonly nextAtMs: number; readonly isDue: boolean }[];
  readonly lastByWork: ReadonlyMap<WorkKind, LastWork>;
  /** The same for work requested by a person. */
  readonly lastAskedByWork: ReadonlyMap<WorkKind, LastWork>;
  /** Pieces of work that ended, by kind and outcome, as `pull done`. */
  readonly workCounts: ReadonlyMap<string, number>;
  /** How each table is kept up to date, in words, by its name here. */
  readonly refreshByTable: ReadonlyMap<string, string>;
  /** What extras say of themselves, in lines. */
  readonly notes: readonly string[];
  /** Why the log cannot be written; null if it can. */
  readonly logFailure: string | null;
  /** What else the daemon knows to be wrong: a refused reload, jobs that failed. */
  readonly complaints: readonly FoundComplaint[];
  /** The account as of the end of the last work. */
  readonly problems: readonly Problem[];
}

/** One line: `ok; last pull done 2026-06-01T12:00:00Z`, or the worst problem and how many more there are. */
export function statusLine({ problems, lastByWork }: DaemonState): string {
  const [worst, ...others] = problems.filter(({ severity }) => severity !== 'notice');
  const last = [...lastByWork].map(
    ([work, { outcome, finishedAtMs }]) => `last ${work} ${outcome} ${stampFromMs(finishedAtMs)}`,
  );
  if (worst === undefined) return ['ok', ...last].join('; ');
  const where = worst.table === null ? '' : `${worst.table}: `;
  const more = others.length === 0 ? '' : ` (and ${plural(others.length, 'more problem')})`;
  return [`${where}${worst.sentence}${more}`, ...last].join('; ');
}

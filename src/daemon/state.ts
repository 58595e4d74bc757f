/**
 * The state of the daemon in plain values, for systemd's status line, the HTTP endpoints and the command line. Without row values and secrets (I16).
 * Pure.
 */
import { stampFromMs } from '../base/clock.ts';
import type { Circuit, TableTrouble } from './circuit.ts';
import type { WorkKind } from './jobs.ts';
import type { BlockedWay } from './notifications.ts';

/** The end of the last piece of work of a kind. */
export interface LastWork {
  readonly finishedAtMs: number;
  readonly outcome: string;
  readonly durationMs: number;
}

/** A snapshot of the daemon. */
export interface DaemonState {
  readonly startedAtMs: number;
  /** What is under way; null while it waits. */
  readonly working: WorkKind | null;
  readonly circuit: Circuit;
  /** The code and words of the failure that opened the circuit; null while it is closed. */
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null;
  /** The time until the circuit lets work through; 0 if it does. */
  readonly circuitWaitMs: number;
  readonly troubleByTable: ReadonlyMap<string, TableTrouble>;
  readonly heldTables: readonly string[];
  readonly jobs: readonly { readonly id: string; readonly nextAtMs: number; readonly isDue: boolean }[];
  readonly lastByWork: ReadonlyMap<WorkKind, LastWork>;
  /** Pieces of work that ended, by kind and outcome, as `pull done`. */
  readonly workCounts: ReadonlyMap<string, number>;
  /** Tables that verify found to differ from the origin, since the start. */
  readonly mismatchCount: number;
  /** How each table is kept up to date, in words, by its name here. */
  readonly wayByTable: ReadonlyMap<string, string>;
  /** Ways by which notices do not get through. */
  readonly blockedNotices: readonly BlockedWay[];
  /** Why the log cannot be written; null if it can. */
  readonly logFailure: string | null;
}

/** Why the daemon cannot do its work; null if it can, or waits for an origin that is down. */
export function unreadyReason({ circuit, failure }: DaemonState): string | null {
  const isOurs = circuit.cause === 'auth' || circuit.cause === 'replica';
  return circuit.failureCount > 0 && isOurs ? (failure?.message ?? circuit.cause) : null;
}

/** One line, such as `ok, last pull done 2026-06-01T12:00:00Z; 1 table fails; 2 tables wait for a person`. */
export function statusLine(state: DaemonState): string {
  const { circuit, failure, troubleByTable, heldTables, lastByWork } = state;
  const last = [...lastByWork].map(
    ([work, { outcome, finishedAtMs }]) => `last ${work} ${outcome} ${stampFromMs(finishedAtMs)}`,
  );
  const parts = [
    circuit.failureCount > 0 ? `${failingText(circuit.failureCount)}: ${failure?.message ?? ''}` : null,
    troubleByTable.size > 0 ? `${tablesText(troubleByTable.size)} failing` : null,
    heldTables.length > 0 ? `${tablesText(heldTables.length)} waiting for a person` : null,
    ...last,
  ].filter((part) => part !== null);
  const isWell = circuit.failureCount === 0 && troubleByTable.size === 0 && heldTables.length === 0;
  return [isWell ? 'ok' : null, ...parts].filter((part) => part !== null).join('; ');
}

function failingText(count: number): string {
  return count === 1 ? 'failing' : `failing ${count} times in a row`;
}

function tablesText(count: number): string {
  return count === 1 ? '1 table' : `${count} tables`;
}

/** The snapshot as JSON. */
export function stateJson(state: DaemonState): Readonly<Record<string, unknown>> {
  const { circuit, failure } = state;
  return {
    startedAt: stampFromMs(state.startedAtMs),
    status: statusLine(state),
    working: state.working,
    failure:
      circuit.failureCount === 0
        ? null
        : {
            // Named one by one: the message of an error is not among the properties that a spread copies.
            code: failure?.code ?? null,
            message: failure?.message ?? '',
            hint: failure?.hint ?? '',
            cause: circuit.cause,
            count: circuit.failureCount,
            retryInMs: Math.round(state.circuitWaitMs),
          },
    failingTables: [...state.troubleByTable.keys()],
    heldTables: state.heldTables,
    jobs: state.jobs.map(({ id, nextAtMs, isDue }) => ({ job: id, nextAt: stampFromMs(nextAtMs), isDue })),
    last: Object.fromEntries(
      [...state.lastByWork].map(([work, { finishedAtMs, outcome, durationMs }]) => [
        work,
        { finishedAt: stampFromMs(finishedAtMs), outcome, durationMs: Math.round(durationMs) },
      ]),
    ),
  };
}

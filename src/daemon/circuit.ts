/**
 * When to try again what failed. One circuit breaker stops all tables: the origin is down, it refuses the credentials, or the replica cannot be
 * written. A table that fails alone has its own backoff. Input: how a run ended, the time, chance. Output: new states. Pure; times are monotonic
 * milliseconds.
 *
 * Nothing is ever given up: the longest wait is bounded, and a success forgets all failures. Deletes need no rule here: a cycle that does not reach
 * the origin, or is refused by it, deletes nothing.
 */
import type { RowsyncError } from '../base/errors.ts';
import { BACKOFFS, spreadBackoffMs } from '../base/retries.ts';

/**
 * Why no cycle is run: the origin gives no usable answer · it does not accept the credentials or their rights · the
 * replica cannot be worked on · another reason that concerns everything.
 */
export type Cause = 'originDown' | 'auth' | 'replica' | 'other';

/** Successive failures that concern all tables; none if `failureCount` is 0. */
export interface Circuit {
  readonly failureCount: number;
  readonly cause: Cause | null;
  /** No cycle starts before; then the origin is asked one question first. */
  readonly retryAtMs: number;
}

/** The circuit while all is well. */
export const CLOSED: Circuit = { failureCount: 0, cause: null, retryAtMs: 0 };

/** Which circuit an error belongs to that ended a whole cycle. */
export function causeOf({ kind }: RowsyncError): Cause {
  return kind === 'originDown' || kind === 'auth' || kind === 'replica' ? kind : 'other';
}

/** The circuit after one more failure; a new cause begins to count anew. */
export function afterFailure(circuit: Circuit, cause: Cause, at: { nowMs: number; random: number }): Circuit {
  const failureCount = circuit.cause === cause ? circuit.failureCount + 1 : 1;
  return { failureCount, cause, retryAtMs: at.nowMs + spreadBackoffMs(BACKOFFS[cause], failureCount, at.random) };
}

/**
 * A circuit that lets work through at once, because the cause may be repaired. A failure is not forgotten before work has succeeded: a person who was
 * told of it is also told of the end.
 */
export function halfOpen(circuit: Circuit): Circuit {
  return circuit.failureCount === 0 ? CLOSED : { ...circuit, failureCount: 1, retryAtMs: 0 };
}

/** Failures in a row of one table. */
export interface TableTrouble {
  readonly failureCount: number;
  /** The table is left out until then. */
  readonly retryAtMs: number;
}

/** The trouble of a table after one more failure. */
export function afterTableFailure(
  trouble: TableTrouble | undefined,
  at: { nowMs: number; random: number },
): TableTrouble {
  const failureCount = (trouble?.failureCount ?? 0) + 1;
  return { failureCount, retryAtMs: at.nowMs + spreadBackoffMs(BACKOFFS.table, failureCount, at.random) };
}

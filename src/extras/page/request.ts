/**
 * What the daemon asks its page process. It crosses a channel between two processes, so it is plain values. The daemon
 * has already checked the user and the origin of the request.
 */
import type { Surroundings } from '../../daemon/account-facts.ts';
import type { DaemonState } from '../../daemon/state.ts';
import type { WorkSnapshot } from '../shared/work-log.ts';

/** The first word of a command line that starts this program as a page process. */
export const PAGE_PROCESS = 'page-process';

/** A decision that changed nothing: why, and the value that was typed for a conflict, null for none. */
export interface RefusedDecision {
  readonly words: string;
  readonly conflictId: number | null;
  readonly value: string | null;
}

/** A page to make, or an edit to make and to answer with a page. */
export interface PageRequest {
  readonly path: string;
  readonly query: string;
  /** The fields of a form that edits a row; null for a GET. */
  readonly form: readonly (readonly [string, string])[] | null;
  /** Part of every form of the page. */
  readonly formToken: string;
  /** The result of the last decision; null for none. */
  readonly said: string | null;
  readonly refused?: RefusedDecision;
  readonly nowMs: number;
  readonly replicaPath: string;
  /** The folder that files are kept in. */
  readonly filesFolder: string;
  /** The address of a row at the origin, with {tableId}, {table} and {id}; null if unknown. */
  readonly recordUrl: string | null;
  /** What the configuration says of references, by the names of tables: the plan for a deleted row needs it. */
  readonly references: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly state: DaemonState;
  readonly work: WorkSnapshot;
  /** What the account has from outside of the replica; only for the first page. */
  readonly around: Surroundings | null;
}

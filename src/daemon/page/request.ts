/**
 * Questions of the daemon to its page process, and the answers. Both cross a channel between two processes, so they are plain values. The daemon has
 * already checked the user and the origin of the request.
 */
import type { Surroundings } from '../account.ts';
import type { DaemonState } from '../state.ts';
import type { WorkSnapshot } from '../work-book.ts';

/** The first word of a command line that starts this program as a page process. */
export const PAGE_PROCESS = 'page-process';

/** A page to make, or an edit to make and to answer with a page. */
export interface PageRequest {
  readonly path: string;
  /** The query of the address. */
  readonly query: string;
  /** The fields of a form that edits a row; null for a GET. */
  readonly form: readonly (readonly [string, string])[] | null;
  /** Part of every form of the page. */
  readonly formToken: string;
  /** The result of the last decision; null for none. */
  readonly said: string | null;
  readonly nowMs: number;
  readonly replicaPath: string;
  /** The folder that files are kept in. */
  readonly filesFolder: string;
  /** The address of a row at the origin, with {tableId}, {table} and {id}; null if unknown. */
  readonly recordUrl: string | null;
  readonly state: DaemonState;
  readonly work: WorkSnapshot;
  /** What the account has from outside of the replica; only for the first page. */
  readonly around: Surroundings | null;
}

/** An answer; its `chunks` are made as they are read. */
export interface PageReply {
  readonly status: number;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks: Iterable<string | Uint8Array>;
}

/** The daemon begins a question, or takes the next chunk of its answer. */
export type ToProcess<Request> = { readonly kind: 'ask'; readonly request: Request } | { readonly kind: 'more' };

/** An answer, piece by piece; a process answers one question at a time. */
export type FromProcess =
  | {
      readonly kind: 'head';
      readonly status: number;
      readonly type: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'chunk'; readonly data: string | Uint8Array }
  | { readonly kind: 'end' };

/** A state as it crosses the channel, without what no page needs. */
export function plainState(state: DaemonState): DaemonState {
  return { ...state, troubleByTable: new Map() };
}

/**
 * Notices edits, so that they are pushed some seconds after the last one and not only on schedule. It compares the
 * replica's version for other clients, which our own writes do not move.
 *
 * This is for speed only. Edits that it does not see (around the triggers, or while the daemon was down) are pushed on
 * schedule, or when the daemon starts.
 */
import { BACKOFFS, spreadBackoffMs } from '../base/retries.ts';
import type { Replica } from '../replica/database.ts';
import { readEditedTables } from '../replica/bookkeeping/row-states.ts';

/** Between two looks at the version: a person does not notice a second, and a look costs microseconds. */
export const LOOK_MS = 1_000;

interface FailedPush {
  readonly nowMs: number;
  readonly random: number;
  /** It was no push of noticed edits. */
  readonly isOnSchedule: boolean;
}

export class EditWatch {
  readonly #replica: Replica;
  #version: number;
  /** When the last edit was noticed; null once all noticed edits are pushed. */
  #noticedAtMs: number | null = null;
  /** Pushes in a row that failed. */
  #failureCount = 0;

  constructor(replica: Replica) {
    this.#replica = replica;
    this.#version = replica.foreignVersion();
  }

  /** Origin names of the tables to push now, out of those that are pushed; empty while there are none, or edits still come. */
  tables(
    at: { readonly nowMs: number; readonly delayMs: number },
    isPushed: (name: string) => boolean,
  ): ReadonlySet<string> {
    const { nowMs, delayMs } = at;
    const version = this.#replica.foreignVersion();
    if (version !== this.#version) this.#noticedAtMs = nowMs;
    this.#version = version;
    if (this.#noticedAtMs === null || nowMs - this.#noticedAtMs < delayMs) return new Set();
    const edited = new Set(readEditedTables(this.#replica).filter(isPushed));
    if (edited.size === 0) this.serve();
    return edited;
  }

  /** We edited rows ourselves, for a person who decided something. */
  note(nowMs: number): void {
    this.#noticedAtMs = nowMs;
  }

  /** The noticed edits have been pushed, or must not be. */
  serve(): void {
    this.#noticedAtMs = null;
    this.#failureCount = 0;
  }

  /** A push failed. Its edits are noticed again after a wait that grows, since the schedule may be hours away; one on schedule delays no noticed edit. */
  noteFailure({ nowMs, random, isOnSchedule }: FailedPush): void {
    if (isOnSchedule && this.#noticedAtMs !== null) return;
    this.#failureCount += 1;
    this.#noticedAtMs = nowMs + spreadBackoffMs(BACKOFFS.table, this.#failureCount, random);
  }
}

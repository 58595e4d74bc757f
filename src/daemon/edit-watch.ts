/**
 * Notices edits, so that they are pushed some seconds after the last one and not only on schedule, and refused rows
 * that are due again. It polls `data_version`, which only writes of other clients change.
 *
 * This is for speed only. Edits that it misses (made around the triggers) are pushed once a process compares all rows
 * with their bases.
 */
import { BACKOFFS, spreadBackoffMs } from '../base/retries.ts';
import type { Replica } from '../replica/database.ts';
import { readNextRetryMs } from '../replica/bookkeeping/refusals.ts';
import { readTablesToPush } from '../replica/bookkeeping/row-states.ts';

/** Between two looks at the version: a person does not notice a second, and a look costs microseconds. */
export const LOOK_MS = 1_000;

interface EditLook {
  readonly nowMs: number;
  /** Wall time, which the times of refused rows follow. */
  readonly wallMs: number;
  readonly delayMs: number;
}

interface EndedPush {
  readonly nowMs: number;
  readonly random: number;
  readonly hasFailed: boolean;
  /** The noticed tables that it was about; empty for a push on schedule. */
  readonly tables: ReadonlySet<string>;
}

export class EditWatch {
  readonly #replica: Replica;
  /** Null before the first look, which counts as an edit: tables may wait since before. */
  #version: number | null = null;
  /** When the last edit was noticed; null once all noticed edits are pushed. */
  #noticedAtMs: number | null = null;
  /** Tables that were pushed since: what is left of them, such as what a guard holds, waits for the schedule. */
  readonly #pushed = new Set<string>();
  /** Wall time of the last notice by a look: refused rows that were due by then have been noticed. */
  #lookedAtMs = 0;
  /** When the next refused row is due; null where that is to be read. */
  #retryAtMs: number | null = null;
  /** Pushes in a row that failed. */
  #failureCount = 0;

  constructor(replica: Replica) {
    this.#replica = replica;
  }

  /** Origin names of the pushed tables to push now; empty while there are none, or edits still come. */
  tables({ nowMs, wallMs, delayMs }: EditLook, isPushed: (name: string) => boolean): ReadonlySet<string> {
    const version = this.#replica.foreignVersion();
    if (wallMs < this.#lookedAtMs) {
      // The clock was set back: rows refused since are due at times before the last look.
      this.#lookedAtMs = 0;
      this.#retryAtMs = null;
    }
    this.#retryAtMs ??= readNextRetryMs(this.#replica, this.#lookedAtMs);
    if (version !== this.#version || wallMs >= this.#retryAtMs) {
      // A push waits for further edits only after an edit.
      this.note(version !== this.#version ? nowMs : (this.#noticedAtMs ?? nowMs));
      this.#lookedAtMs = wallMs;
      this.#retryAtMs = null;
    }
    this.#version = version;
    if (this.#noticedAtMs === null || nowMs - this.#noticedAtMs < delayMs) return new Set();
    const waiting = readTablesToPush(this.#replica, wallMs).filter((name) => isPushed(name) && !this.#pushed.has(name));
    if (waiting.length === 0) {
      this.#noticedAtMs = null;
      this.#failureCount = 0;
    }
    return new Set(waiting);
  }

  /** An edit counts as made at this time; also one of ours, for a person who decided something. */
  note(nowMs: number): void {
    this.#noticedAtMs = nowMs;
    this.#pushed.clear();
  }

  /** After a failed push, notes its edits again after a growing wait. A scheduled push delays no noticed edit. */
  notePush({ nowMs, random, hasFailed, tables }: EndedPush): void {
    this.#retryAtMs = null;
    if (!hasFailed) {
      if (tables.size > 0) this.#failureCount = 0;
      for (const table of tables) this.#pushed.add(table);
    } else if (tables.size > 0 || this.#noticedAtMs === null) {
      this.#failureCount += 1;
      this.note(nowMs + spreadBackoffMs(BACKOFFS.table, this.#failureCount, random));
    }
  }
}

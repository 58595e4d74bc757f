/**
 * How long to wait between a failure and the next try, with the reason for each length. A failed request is sent again
 * within seconds, by exponential backoff with full jitter; all other failures wait by a `Backoff` that doubles. Nothing
 * is ever given up: a longest wait bounds each. Pure: chance and time come in as numbers.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A wait that doubles with each failure in a row, from the first to the longest. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** When work is tried again that failed as a whole. */
export const BACKOFFS = {
  /** A row that a busy origin refused: it has mostly recovered after a minute. */
  busyRow: { firstMs: MINUTE_MS, longestMs: DAY_MS },
  /** A row for which a right is missing: people grant rights, so it is tried once a day. */
  rightlessRow: { firstMs: HOUR_MS, longestMs: DAY_MS },
  /** An attached file that cannot be fetched. */
  file: { firstMs: MINUTE_MS, longestMs: DAY_MS },
  /** A table that fails alone: it must not cost a request every cycle for months, nor be forgotten for a day. */
  table: { firstMs: MINUTE_MS, longestMs: 6 * HOUR_MS },
  /** The origin gives no usable answer. A restart takes seconds; people notice a quarter of an hour without data. */
  originDown: { firstMs: MINUTE_MS / 2, longestMs: 15 * MINUTE_MS },
  /** A revoked token comes back by a person's hand; asking more often only fills the origin's log with refusals. */
  auth: { firstMs: 15 * MINUTE_MS, longestMs: 15 * MINUTE_MS },
  /** A full disk or a held lock: checking is free, and whoever fixes it wants to see it work. */
  replica: { firstMs: MINUTE_MS / 2, longestMs: 5 * MINUTE_MS },
  /** A PostgreSQL server that cannot be reached: a restart takes seconds, and a try costs a connection. */
  sink: { firstMs: 5_000, longestMs: 5 * MINUTE_MS },
  /** A notice that did not get through: a chat service recovers within minutes, and a person waits for the notice. */
  notice: { firstMs: MINUTE_MS / 2, longestMs: HOUR_MS },
  /** Any other failure that concerns all tables. */
  other: { firstMs: MINUTE_MS, longestMs: 15 * MINUTE_MS },
} as const satisfies Readonly<Record<string, Backoff>>;

/** Milliseconds to wait after so many failures in a row, at least 1. */
export function backoffMs({ firstMs, longestMs }: Backoff, failureCount: number): number {
  // Two to the power of 20 is longer than any wait; beyond, numbers would lose their meaning.
  return Math.min(longestMs, firstMs * 2 ** Math.min(failureCount - 1, 20));
}

/** Between three quarters and all of that wait, so that replicas of one origin spread; `random` in [0, 1). */
export function spreadBackoffMs(backoff: Backoff, failureCount: number, random: number): number {
  return Math.round(backoffMs(backoff, failureCount) * (0.75 + random / 4));
}

/** How often and how long a failed request, or a download of a file, is tried again. */
export const REQUEST_RETRIES = {
  /** Attempts, with the first. Waits of up to 0.5, 1, 2, 4 and 8 seconds outlast a restart of the origin. */
  attemptsMax: 6,
  /** The longest wait before the second attempt; doubles with each further one. */
  baseWaitMs: 500,
  /** The longest wait that we choose ourselves. */
  waitMsMax: 30_000,
  /** From the first attempt's start; no attempt starts after it. Shorter than the time between two scheduled cycles. */
  totalMs: 5 * MINUTE_MS,
};

export type RetryPolicy = Readonly<typeof REQUEST_RETRIES>;

/** The longest Retry-After that is obeyed; an origin that asks for more most likely has its clock or unit wrong. */
export const RETRY_AFTER_MS_MAX = HOUR_MS;

export interface FailedAttempt {
  /** Attempts so far, at least 1. */
  readonly attemptCount: number;
  /** Since the first attempt started. */
  readonly spentMs: number;
  /** What the origin asked for, if it did. */
  readonly retryAfterMs: number | null;
  /** A uniform random number in [0, 1). */
  readonly random: number;
}

/**
 * Milliseconds before a request is sent again. Null when it is time to give up: the attempts are used up, or the wait
 * would end after the time allowed. An origin that asks for a longer wait than that is not asked earlier instead. Each
 * wait is drawn between zero and a ceiling that doubles, on top of the origin's own Retry-After.
 */
export function waitBeforeNextMs(failed: FailedAttempt, policy: RetryPolicy): number | null {
  if (failed.attemptCount >= policy.attemptsMax) return null;
  const ceilingMs = Math.min(policy.waitMsMax, policy.baseWaitMs * 2 ** (failed.attemptCount - 1));
  const jitterMs = Math.round(failed.random * ceilingMs);
  const requestedMs = Math.min(Math.max(failed.retryAfterMs ?? 0, 0), RETRY_AFTER_MS_MAX);
  const waitMs = requestedMs + jitterMs;
  return failed.spentMs + waitMs > policy.totalMs ? null : waitMs;
}

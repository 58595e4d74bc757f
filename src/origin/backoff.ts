/**
 * How long to wait before a failed request is sent again, or that it is not. Exponential backoff with full jitter: each
 * wait is drawn between zero and a ceiling that doubles, so that clients which failed together do not return together.
 * The origin's own Retry-After is a floor. Pure: chance and time come in as numbers.
 */
import type { RetryPolicy } from './limits.ts';

/** The longest Retry-After taken at its word; an origin that asks for more most likely has its clock or unit wrong. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

/** What is known when an attempt has failed in a way that may pass. */
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
 * Milliseconds to wait before the next attempt; null when it is time to give up: the attempts are used up, or the wait
 * would end after the time allowed. An origin that asks for a longer wait than that is not asked earlier instead.
 */
export function waitBeforeNextMs(failed: FailedAttempt, policy: RetryPolicy): number | null {
  if (failed.attemptCount >= policy.attemptsMax) return null;
  const ceilingMs = Math.min(policy.waitMsMax, policy.baseWaitMs * 2 ** (failed.attemptCount - 1));
  const jitterMs = Math.round(failed.random * ceilingMs);
  const askedMs = Math.min(Math.max(failed.retryAfterMs ?? 0, 0), RETRY_AFTER_MS_MAX);
  const waitMs = askedMs + jitterMs;
  return failed.spentMs + waitMs > policy.totalMs ? null : waitMs;
}

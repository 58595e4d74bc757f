/**
 * Checks for programmer errors. Never used for anything that a file, a user or the network can cause: those are
 * `RowsyncError`s with a hint. Pure.
 */
import { RowsyncError } from './errors.ts';

/** Throws a `bug` error when an assumption of ours is broken. */
export function assert(condition: boolean, assumption: string): asserts condition {
  if (!condition) {
    throw new RowsyncError('bug', 'bug.assertion', {
      message: `Broken assumption: ${assumption}`,
      hint: 'This is a defect of rowsync; please report it.',
    });
  }
}

/** Returns a value that must exist; for lookups that cannot miss by construction. */
export function must<T>(value: T | undefined | null, assumption: string): T {
  assert(value !== undefined && value !== null, assumption);
  return value;
}

/** One of the words that we wrote ourselves; another program may have written others. */
export function oneOf<T extends string>(known: readonly T[], text: unknown): T {
  return must(
    known.find((word) => word === text),
    'the bookkeeping has our words only',
  );
}

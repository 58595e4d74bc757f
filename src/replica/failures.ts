/**
 * What SQLite and the file system throw, as errors that say what the operator does next. Pure.
 */
import { RowsyncError, type ErrorCode } from '../base/errors.ts';

interface Explanation {
  readonly code: ErrorCode;
  readonly hint: string;
}

/** First match wins; SQLite's extended codes start with the basic one. */
const EXPLANATIONS: readonly (readonly [RegExp, Explanation])[] = [
  [
    /^(SQLITE_FULL|ENOSPC)/,
    { code: 'replica.full', hint: 'Free some space; what was stored is whole, and the next run goes on from there.' },
  ],
  [
    /^(SQLITE_BUSY|SQLITE_LOCKED)/,
    { code: 'replica.busy', hint: 'End the open transaction of the other SQL client, then run the command again.' },
  ],
  [
    /^SQLITE_NOTADB/,
    { code: 'replica.foreign', hint: 'Nothing was changed. Point replica.path to a new file, or move this one away.' },
  ],
  [
    /^SQLITE_CORRUPT/,
    { code: 'replica.damaged', hint: 'Move the file away and pull again, or restore it from a backup.' },
  ],
  [
    /^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EISDIR)/,
    { code: 'replica.path', hint: 'Give this user write access to the file and its folder, or change replica.path.' },
  ],
];

/** Wraps what was thrown while doing `what`; a `RowsyncError` passes unchanged. */
export function replicaError(thrown: unknown, what: string): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const code = errorCode(thrown);
  // Without a code it is no failure of SQLite or the file system, but a defect of ours.
  if (code === '') throw thrown;
  const found = EXPLANATIONS.find(([pattern]) => pattern.test(code))?.[1];
  const { code: ours, hint } = found ?? {
    code: 'replica.failed' as const,
    hint: 'See the message; `rowsync check` looks at the file and its folder.',
  };
  const reason = thrown instanceof Error ? thrown.message : code;
  return new RowsyncError('replica', ours, { message: `${what}: ${reason} (${code})`, hint, cause: thrown });
}

function errorCode(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return '';
  return typeof thrown.code === 'string' ? thrown.code : '';
}

/**
 * What the file system throws, as errors that say what the operator does next. Pure.
 */
import { codeOf, RowsyncError } from '../base/errors.ts';

/** Wraps what was thrown while doing `what`; a `RowsyncError` passes unchanged. */
export function fileError(thrown: unknown, what: string): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const code = codeOf(thrown);
  // Without a code it is no failure of the file system, but a defect of ours.
  if (code === '') throw thrown;
  const reason = thrown instanceof Error ? thrown.message : code;
  const message = `${what}: ${reason}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const hint = 'Free some space, then run the command again; what the replica holds is whole.';
    return new RowsyncError('replica', 'replica.full', { message, hint, cause: thrown });
  }
  const hint = 'Give this user read and write access to the folder, or change replica.files.';
  return new RowsyncError('replica', 'files.store', { message, hint, cause: thrown });
}

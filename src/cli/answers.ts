/**
 * The content of an answer to a question that was asked without an ETag. Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Answer } from '../origin/answers.ts';

/** What was answered. @throws RowsyncError `origin.unexpected` for "not modified", which nobody asked for. */
export function valueOf<T>(answer: Answer<T>): T {
  if (answer.kind === 'ok') return answer.value;
  throw new RowsyncError('wireFormat', 'origin.unexpected', {
    message: 'The origin answered "not modified" to a request that asked for no such thing',
    hint: 'A proxy between rowsync and the origin is likely; it must not cache.',
  });
}

/**
 * Files that are attached by SQL. A cell that says `file:` and a name, what was sent of it, and which revision at the origin is
 * the one that was sent. Input: values of cells, kept bookkeeping. Output: verdicts. What the name leads to on the disk is
 * push/upload.ts.
 *
 * The origin numbers the revisions of a cell one by one, so that exactly one more than before, after a write of ours that it
 * took, is ours.
 * An origin that was put back from a backup gives a number a second time. So the name must be
 * ours too, and the row read back at once. A file whose answer was lost is told by size and hash. Pure.
 */
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import { shownFile, UPLOAD_PREFIX } from '../wire/column-types.ts';
import type { ColumnType, Value } from '../wire/schema.ts';
import { fileFromCell, type CellFile } from './files.ts';

/** A file as it was sent, kept with its batch; `path` is absolute, `before` what the origin showed in the cell. */
export interface SentFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly before: string | null;
}

/** The name behind `file:`; null where the value asks for no upload. */
export function uploadName(type: ColumnType, value: Value): string | null {
  const isUpload = type === 'Attachment' && typeof value === 'string' && value.startsWith(UPLOAD_PREFIX);
  return isUpload ? value.slice(UPLOAD_PREFIX.length) : null;
}

/**
 * A value of a row that is put back as it was, where the origin has `own` in that cell, null for a new row. A file that the
 * origin had once cannot be attached again by its value; uploads can.
 */
export function valuePutBack(type: ColumnType, value: Value, own: Value): Value {
  return type === 'Attachment' && uploadName(type, value) === null ? own : value;
}

/** The revision that a write made which the origin took, where the row was read back right after the answer; `isNew`: in a new row. */
export function acceptedRevision(sent: SentFile, remote: Value, isNew: boolean): CellFile | null {
  const file = typeof remote === 'string' ? fileFromCell(remote) : null;
  if (file?.name !== shownFile(sent.name)) return null;
  const before = isNew ? 0 : revisionBefore(sent);
  return before !== null && file.revision === before + 1 ? file : null;
}

/** The number of the revision that the cell showed before; 0 for none, null where its value does not say. */
function revisionBefore({ before }: SentFile): number | null {
  return before === null ? 0 : (fileFromCell(before)?.revision ?? null);
}

/**
 * What a cell says of a file whose answer was lost. `absent` where it is as before, `compare` where it shows a file that may be
 * ours, `unclear` where a colleague may have taken ours away.
 */
export function lostFileFate({ before }: SentFile, remote: Value): 'absent' | 'compare' | 'unclear' {
  if (remote === before) return 'absent';
  return typeof remote === 'string' && fileFromCell(remote) !== null ? 'compare' : 'unclear';
}

/** What says nothing of a file although it is a refusal: a redirect, and a handshake that failed. */
const SAY_NOTHING: ReadonlySet<ErrorCode> = new Set(['origin.redirect', 'origin.tls']);

/**
 * Whether a failure to compare a file is that of the one file, so that its row is parked. The origin refuses it, or always fails
 * to give it out. Otherwise the origin is asked again.
 */
export function isBeyondComparing({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind === 'originRefused') return !SAY_NOTHING.has(code);
  // The origin was there, and is not merely busy.
  const isFailing = code === 'origin.busy' && refusal !== null && refusal.status >= 500 && refusal.status !== 503;
  return kind === 'wireFormat' || code === 'origin.timeout' || isFailing;
}

/**
 * Files that are attached by SQL: a cell with `file:` and a name, the sent content, and the revision at the origin that is the sent one.
 * push/upload.ts finds the file on the disk.
 *
 * The origin numbers the revisions of a cell one by one. So the next number after an accepted write of ours is ours. An origin that was restored from
 * a backup reuses a number; so the name must be ours too, and the row read back at once. After a lost answer, size and hash identify the file. Pure.
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

/** The name after `file:`; null if the value requests no upload. */
export function uploadName(type: ColumnType, value: Value): string | null {
  const isUpload = type === 'Attachment' && typeof value === 'string' && value.startsWith(UPLOAD_PREFIX);
  return isUpload ? value.slice(UPLOAD_PREFIX.length) : null;
}

/**
 * A value of a row that is put back, where the origin has `own` in that cell, null for a new row. A file of the origin cannot be attached again by
 * its value; uploads can.
 */
export function valuePutBack(type: ColumnType, value: Value, own: Value): Value {
  return type === 'Attachment' && uploadName(type, value) === null ? own : value;
}

/** The revision that an accepted write made, if the row was read back right after the answer; `isNew`: in a new row. */
export function acceptedRevision(sent: SentFile, remote: Value, isNew: boolean): CellFile | null {
  const file = typeof remote === 'string' ? fileFromCell(remote) : null;
  if (file?.name !== shownFile(sent.name)) return null;
  const before = isNew ? 0 : revisionBefore(sent);
  return before !== null && file.revision === before + 1 ? file : null;
}

/** The number of the revision that the cell showed before; 0 for none, null if its value has no number. */
function revisionBefore({ before }: SentFile): number | null {
  return before === null ? 0 : (fileFromCell(before)?.revision ?? null);
}

/**
 * What a cell proves about a file whose answer was lost. `absent`: it is as before. `compare`: it shows a file that may be ours. `unclear`: a
 * colleague may have removed ours.
 */
export function lostFileFate({ before }: SentFile, remote: Value): 'absent' | 'compare' | 'unclear' {
  if (remote === before) return 'absent';
  return typeof remote === 'string' && fileFromCell(remote) !== null ? 'compare' : 'unclear';
}

/** Refusals that are not about a file: a redirect, and a failed handshake. */
const SAY_NOTHING: ReadonlySet<ErrorCode> = new Set(['origin.redirect', 'origin.tls']);

/**
 * Whether a failed comparison concerns only this file, so that its row is parked: the origin refuses it, or always fails to send it. Otherwise the
 * origin is asked again.
 */
export function isBeyondComparing({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind === 'originRefused') return !SAY_NOTHING.has(code);
  // The origin was there, and is not merely busy.
  const isFailing = code === 'origin.busy' && refusal !== null && refusal.status >= 500 && refusal.status !== 503;
  return kind === 'wireFormat' || code === 'origin.timeout' || isFailing;
}

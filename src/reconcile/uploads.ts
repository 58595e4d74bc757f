/**
 * Files that are attached by SQL: a cell that says `file:` and a name, what was sent of it, and which revision at the origin is
 * the one that was sent. Input: values of cells, kept bookkeeping. Output: verdicts. What the name leads to on the disk
 * is push/upload.ts.
 *
 * The origin numbers the revisions of a cell one by one, so that exactly one more than before, after a write of ours that
 * it took, is ours; unless the origin was put back from a backup since, and the number was given a second time. So the name must be ours
 * too, and the row read back at once. Everything else is told by content, or downloaded. Pure.
 */
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import type { AttachmentInfo } from '../wire/attachments.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { shownFile, UPLOAD_PREFIX } from '../wire/values.ts';
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

/** A row that the origin does not have, or not any more, under the id that it gets here. */
export function rowAsNew(local: Row, id: number, columns: readonly { readonly type: ColumnType }[]): Row {
  const values = local.values.map((value, index) => valuePutBack(columns[index]?.type ?? 'Text', value, null));
  return { id, allow: null, values };
}

/**
 * Whether a row that goes on as a new one loses an edit with that: a value in a file's cell that asks for no upload, and came in around the
 * triggers. Where the row was refused, that was the cell that was wrong.
 */
export function losesFile(
  { local, base, before }: { readonly local: Row | null; readonly base: Row | null; readonly before: Row | null },
  columns: readonly { readonly type: ColumnType }[],
): boolean {
  if (local === null || base !== null || before === null) return false;
  const { values } = rowAsNew(local, local.id, columns);
  return local.values.some((value, index) => value !== values[index] && value !== before.values[index]);
}

/**
 * The revision that a write made which the origin took, if no other can have come in between. `isNew`: in a new row;
 * `isAtOnce`: the row was read back right after the answer.
 */
export function acceptedRevision(
  sent: SentFile,
  remote: Value,
  { isNew, isAtOnce }: { readonly isNew: boolean; readonly isAtOnce: boolean },
): CellFile | null {
  const file = typeof remote === 'string' ? fileFromCell(remote) : null;
  if (!isAtOnce || file?.name !== shownFile(sent.name)) return null;
  const before = isNew ? 0 : revisionBefore(sent);
  return before !== null && file.revision === before + 1 ? file : null;
}

/**
 * Whether a cell shows for certain that what a write put there, which the origin took, was replaced or taken away since. That
 * another revision came in between reading the cell and writing it is taken for the same.
 */
export function isOvertaken(sent: SentFile, remote: Value, isNew: boolean): boolean {
  if (remote === null || remote === '') return true;
  const isKnown =
    typeof remote === 'string' && fileFromCell(remote) !== null && (isNew || revisionBefore(sent) !== null);
  return isKnown && acceptedRevision(sent, remote, { isNew, isAtOnce: true }) === null;
}

/** The columns of a new row in which the origin shows what was sent as their first file, by its name. */
export function filesAsSent(
  sent: readonly { readonly column: number; readonly file?: SentFile | undefined }[],
  remote: Row,
): ReadonlySet<number> {
  const isShown = (file: SentFile | undefined, column: number): boolean =>
    file !== undefined &&
    acceptedRevision(file, remote.values[column] ?? null, { isNew: true, isAtOnce: true }) !== null;
  return new Set(sent.flatMap(({ column, file }) => (isShown(file, column) ? [column] : [])));
}

/** Whether a cell shows a file of this name, as the origin writes it. */
export function showsName(remote: Value, name: string): boolean {
  return typeof remote === 'string' && fileFromCell(remote)?.name === shownFile(name);
}

/** The number of the revision that the cell showed before; 0 for none, null where its value does not say. */
function revisionBefore({ before }: SentFile): number | null {
  return before === null ? 0 : (fileFromCell(before)?.revision ?? null);
}

/** Revisions asked for at most to find one that was sent: who attaches more in the meantime is found by a person. */
const LOOKUP_REVISIONS_MAX = 20;

/**
 * How many revisions have to be compared by content to tell whether a file arrived whose answer got lost; 0 where the cell
 * shows that it did not. `showsHistory`: more than the latest one can be had.
 */
export function revisionsToCompare(sent: SentFile, remote: Value, showsHistory: boolean): number {
  // Whoever deletes a file leaves its revisions, where they are shown.
  if (typeof remote !== 'string' || remote === '') return showsHistory ? LOOKUP_REVISIONS_MAX : 0;
  if (fileFromCell(remote) !== null && remote === sent.before) return 0;
  // Not just as many as the cell is ahead: somebody may have added one since it was read.
  return showsHistory ? LOOKUP_REVISIONS_MAX : 1;
}

/**
 * Whether a file may have arrived that is none of the listed revisions: the list begins above the number that it would have, as where
 * the origin shows only the latest one; or it has none, in a row that was changed or made since the file was sent.
 */
export function mayBeHidden(
  sent: SentFile,
  listed: readonly { readonly revision: number }[],
  { isChanged, showsHistory }: { readonly isChanged: boolean; readonly showsHistory: boolean },
): boolean {
  if (listed.length === 0) return isChanged && !showsHistory;
  const before = revisionBefore(sent);
  return before !== null && Math.min(...listed.map(({ revision }) => revision)) > before + 1;
}

/**
 * Revisions that may be the one that was sent: as many bytes, and newer than what the cell showed before. Where that one is not listed any
 * more, the origin may have been put back from a backup before the file got there, and gives numbers a second time: then any that has the
 * name that was sent and is not among the `known` guids may be it.
 */
export function likelyRevisions<T extends Pick<AttachmentInfo, 'revision' | 'size' | 'name' | 'guid'>>(
  sent: SentFile,
  listed: readonly T[],
  known: ReadonlySet<string>,
): readonly T[] {
  const before = revisionBefore(sent) ?? 0;
  const guidBefore = fileFromCell(sent.before ?? '')?.guid.toLowerCase();
  const isListed = listed.some(({ guid }) => guid.toLowerCase() === guidBefore);
  const isNew = ({ revision, name, guid }: T): boolean =>
    revision > before || (!isListed && name === sent.name && !known.has(guid.toLowerCase()));
  return listed.filter((info) => info.size === sent.bytes && isNew(info));
}

/** What says nothing of a file although it is a refusal: a redirect, and a handshake that failed. */
const SAY_NOTHING: ReadonlySet<ErrorCode> = new Set(['origin.redirect', 'origin.tls']);

/**
 * Whether a failure to compare a file is to be lived with: the origin refuses it, and a cell that shows no file proves nothing, since
 * somebody may have taken away what arrived; or it was asked for long enough (`isOld`), and one file that it always fails to give
 * out must not keep everything else from being pushed for good. Otherwise it is asked again.
 */
export function isBeyondComparing(
  { kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>,
  isOld: boolean,
): boolean {
  if (kind === 'originRefused') return !SAY_NOTHING.has(code);
  // The origin was there, and is not merely busy: the failure may be that of the one file.
  const isFailing = code === 'origin.busy' && refusal !== null && refusal.status >= 500 && refusal.status !== 503;
  return isOld && (kind === 'wireFormat' || code === 'origin.timeout' || isFailing);
}

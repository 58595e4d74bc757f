/**
 * Decisions about attached files: which revisions to fetch, which a rule leaves out, which are gone, and whether a
 * download is the requested file. Also which revision at the origin is a file that was attached here by SQL. Pure.
 *
 * The origin shows an attachment as `name;revision;guid` (origin facts 2.1); a name may hold semicolons, so it is split
 * from the right. A guid names one revision permanently, so its content is fetched once. Nothing is ever deleted.
 *
 * The origin numbers the revisions of a cell one by one. So the next number after an accepted write of ours is ours. An
 * origin that was restored from a backup reuses a number; so the name must be ours too, and the row read back at once.
 * After a lost answer, size and hash identify the file.
 */
import { mediaType } from '../wire/headers.ts';
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import { shownFile, UPLOAD_PREFIX } from '../wire/column-types.ts';
import type { AttachmentInfo, ColumnType, Value } from '../wire/schema.ts';

/** Which revisions of a column are wanted. */
export type FileMode = 'none' | 'latest' | 'all';

/** The configuration for the files of one table. */
export interface FileRule {
  readonly mode: FileMode;
  /** Larger files are left out; null for no bound. */
  readonly maxFileBytes: number | null;
  /** Media types that are fetched, such as `image/*`; null for all. */
  readonly types: readonly string[] | null;
  /** Its place in the configuration, for people: `tables.Employee.files`. */
  readonly name: string;
}

/** A revision as the value of a cell names it. */
export interface CellFile {
  readonly name: string;
  readonly revision: number;
  readonly guid: string;
}

/** The known facts about a revision; null is unknown. */
export interface FoundFile extends CellFile {
  readonly type: string | null;
  readonly bytes: number | null;
  readonly author: string | null;
  readonly createdAt: string | null;
}

/** Revisions asked for in one list; the service keeps far fewer. */
export const REVISIONS_MAX = 1_000;

const CELL = /^(?<name>[^]*);(?<revision>\d{1,9});(?<guid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** The file that the value of a cell names; null for a value of another form. */
export function fileFromCell(value: string): CellFile | null {
  const { name, revision, guid } = CELL.exec(value)?.groups ?? {};
  return name === undefined || revision === undefined || guid === undefined
    ? null
    : { name, revision: Number(revision), guid };
}

/** The available revisions of a column: earlier ones only if it shows its history (specification 4.8). */
export function columnMode(mode: FileMode, options: readonly string[]): FileMode {
  const showsHistory = options.some((option) => /^allowseerevisionhistory$/i.test(option.replaceAll(/\s/g, '')));
  return mode === 'all' && !showsHistory ? 'latest' : mode;
}

/** How the revisions of a cell are found. */
export type CellPlan =
  /** The cell shows no file. */
  | { readonly kind: 'empty' }
  /** The value has all facts. */
  | { readonly kind: 'value'; readonly file: CellFile }
  /** The origin has to be asked for its list; `file` is null if the value has another form. */
  | { readonly kind: 'list'; readonly revisions: number; readonly file: CellFile | null };

/**
 * Plans how to find the revisions of a cell whose value changed; `knownRevision` is the highest one that is stored, 0
 * for none. A cell that had a file may still have a history, which the list tells.
 */
export function planCell(value: string | null, mode: Exclude<FileMode, 'none'>, knownRevision: number): CellPlan {
  if (value === null || value === '') {
    return mode === 'all' && knownRevision > 0
      ? { kind: 'list', revisions: Math.min(Math.max(2, knownRevision), REVISIONS_MAX), file: null }
      : { kind: 'empty' };
  }
  const file = fileFromCell(value);
  if (mode === 'all')
    return { kind: 'list', revisions: Math.max(1, Math.min(file?.revision ?? REVISIONS_MAX, REVISIONS_MAX)), file };
  return file === null ? { kind: 'list', revisions: 1, file } : { kind: 'value', file };
}

/** What is to be stored of a cell. */
export interface SettledCell {
  /** The revisions that the origin has, the latest first. */
  readonly present: readonly FoundFile[];
  /** Guids that were known and that the origin no longer has. */
  readonly vanished: readonly string[];
}

/**
 * Merges the known revisions of a cell with the new findings. Only a whole list, or a cell that no longer shows a file,
 * proves that a revision is gone. A newer latest revision proves nothing about earlier ones.
 */
export function settleCell(
  known: readonly { readonly guid: string; readonly revision: number }[],
  plan: CellPlan,
  listed: readonly AttachmentInfo[],
): SettledCell {
  if (plan.kind === 'empty') return { present: [], vanished: known.map(({ guid }) => guid) };
  const unlisted = plan.file === null ? [] : [{ ...plan.file, type: null, bytes: null, author: null, createdAt: null }];
  if (plan.kind === 'value') return { present: unlisted, vanished: [] };
  const isBehind = isListBehind(plan, listed);
  const found = listed.map(({ name, revision, type, size, guid, author, createdAt }): FoundFile => {
    return { name, revision, guid, type: type === '' ? null : type, bytes: size, author, createdAt };
  });
  // The file may be newer than the list, or left out of it: the value names it, so it can be fetched.
  const missing = unlisted.filter(({ guid }) => !found.some((file) => file.guid === guid));
  const present = [...missing, ...found].toSorted((a, b) => b.revision - a.revision);
  // A list of the requested length may continue below its last revision.
  const lowest = Math.min(...found.map(({ revision }) => revision));
  const isCut = found.length >= plan.revisions;
  const gone = known.filter(
    ({ guid, revision }) => !present.some((file) => file.guid === guid) && !(isCut && revision < lowest),
  );
  return { present, vanished: isBehind ? [] : gone.map(({ guid }) => guid) };
}

/** Whether a list ends below the revision that its cell shows: no later value would make us look again. */
export function isListBehind(plan: CellPlan, listed: readonly Pick<AttachmentInfo, 'revision'>[]): boolean {
  if (plan.kind !== 'list' || plan.file === null) return false;
  const shown = plan.file.revision;
  return listed.every(({ revision }) => revision < shown);
}

/** The facts about a file that the origin has and that is not here. */
export interface WantedFile extends Pick<FoundFile, 'type' | 'bytes'> {
  readonly isLatest: boolean;
}

/** Whether a file is fetched. */
export type FileVerdict =
  | { readonly kind: 'fetch' }
  /** Its size or type is not known, and a rule asks for it. */
  | { readonly kind: 'look' }
  | { readonly kind: 'skip'; readonly rule: string };

/** Judges a file that is not here; `room` are the bytes that may still be stored, null for no bound. */
export function judgeFile(file: WantedFile, rule: FileRule, room: number | null): FileVerdict {
  if (rule.mode !== 'all' && !file.isLatest) return { kind: 'skip', rule: `${rule.name}: ${rule.mode}` };
  const { maxFileBytes, types } = rule;
  if (types !== null && file.type !== null && !isOfTypes(file.type, types)) {
    return { kind: 'skip', rule: `${rule.name}.types` };
  }
  const { bytes } = file;
  if (bytes !== null && maxFileBytes !== null && bytes > maxFileBytes) {
    return { kind: 'skip', rule: `${rule.name}.maxFileBytes` };
  }
  if (room !== null && (bytes ?? 1) > room) return { kind: 'skip', rule: 'files.maxBytes' };
  const asksBytes = bytes === null && (maxFileBytes !== null || room !== null);
  return asksBytes || (types !== null && file.type === null) ? { kind: 'look' } : { kind: 'fetch' };
}

/** Whether a media type is one of the wanted ones: `image/png`, `image/*`. */
function isOfTypes(type: string, types: readonly string[]): boolean {
  const found = mediaType(type);
  return types.some((wanted) => {
    const lower = wanted.toLowerCase();
    return lower.endsWith('/*') ? found.startsWith(lower.slice(0, -1)) : found === lower;
  });
}

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)$/;
const HTML_NAME = /\.(?:x?html?|xht|shtml|mht(?:ml)?)$/i;

/** The problem of a complete download; null if it is the requested file. */
export function downloadProblem(
  wanted: Pick<FoundFile, 'name' | 'type' | 'bytes' | 'revision'>,
  came: {
    readonly type: string;
    readonly length: number | null;
    readonly revision: number | null;
    readonly bytes: number;
  },
): string | null {
  if (came.length !== null && came.length !== came.bytes) {
    return `${came.bytes} bytes came where ${came.length} were announced`;
  }
  if (wanted.bytes !== null && wanted.bytes !== came.bytes) {
    return `${came.bytes} bytes came where the list of revisions says ${wanted.bytes}`;
  }
  if (came.revision !== null && came.revision !== wanted.revision) {
    return `revision ${came.revision} came where ${wanted.revision} was asked for`;
  }
  const isPage = HTML_TYPE.test(mediaType(came.type));
  const isMeantToBe = wanted.type === null ? HTML_NAME.test(wanted.name) : HTML_TYPE.test(mediaType(wanted.type));
  return isPage && !isMeantToBe && !HTML_NAME.test(wanted.name) ? 'a page of HTML came in place of the file' : null;
}

/** The content of a file, by its hash. */
export interface StoredContent {
  readonly sha256: string;
  readonly bytes: number;
}

/** A file as it was sent, kept with its batch; `path` is absolute, `before` what the origin showed in the cell. */
export interface SentFile extends StoredContent {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly before: string | null;
}

/** The name after `file:`; null if the value requests no upload. */
export function uploadName(type: ColumnType, value: Value): string | null {
  const isUpload = type === 'Attachment' && typeof value === 'string' && value.startsWith(UPLOAD_PREFIX);
  return isUpload ? value.slice(UPLOAD_PREFIX.length) : null;
}

/** A value that is put back into a new row. A file of the origin cannot be attached by its value; uploads can. */
export function valuePutBack(type: ColumnType, value: Value): Value {
  return type === 'Attachment' && uploadName(type, value) === null ? null : value;
}

/** The revision that an accepted write made, if the row was read back right after the answer; `isNew`: in a new row. */
export function acceptedRevision(sent: SentFile, remote: Value, isNew: boolean): CellFile | null {
  const file = typeof remote === 'string' ? fileFromCell(remote) : null;
  if (file?.name !== shownFile(sent.name)) return null;
  const before = isNew || sent.before === null ? 0 : fileFromCell(sent.before)?.revision;
  return before !== undefined && file.revision === before + 1 ? file : null;
}

/** What a cell proves about a file whose answer was lost: as before · may be ours · a colleague may have removed it. */
export function lostFileFate({ before }: SentFile, remote: Value): 'absent' | 'compare' | 'unclear' {
  if (remote === before) return 'absent';
  return typeof remote === 'string' && fileFromCell(remote) !== null ? 'compare' : 'unclear';
}

/** Refusals that are not about a file: a redirect, and a failed handshake. */
const SAY_NOTHING: ReadonlySet<ErrorCode> = new Set(['origin.redirect', 'origin.tls']);

/** Whether a failed comparison concerns only this file, so that its row is parked; else the origin is asked again. */
export function isBeyondComparing({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind === 'originRefused') return !SAY_NOTHING.has(code);
  // The origin was there, and is not merely busy.
  const isFailing = code === 'origin.busy' && refusal !== null && refusal.status >= 500 && refusal.status !== 503;
  return kind === 'wireFormat' || code === 'origin.timeout' || isFailing;
}

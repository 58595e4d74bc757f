/**
 * What an answer to a write means, row by row and as a whole. HTTP 200 proves nothing about a row, so every status is
 * judged by the intended change. A 200 for an insert means that a colleague added the row before. Without an answer
 * about its rows (a firewall's page, a cut connection), they are looked up first, and what did not arrive is sent again
 * in smaller requests. A row that also fails alone is parked.
 *
 * Sources: specification 2.6, 4.6, 4.7 and 7; origin facts 4.1 and 4.2. Pure.
 */
import type { Refusal } from '../base/errors.ts';
import type { StatusDescriptor } from '../wire/writes.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';
import type { RowAnswer } from './row-state.ts';

/** The origin's refusal of a row. */
export interface OriginWords {
  readonly status: number;
  readonly code: number | null;
  readonly message: string;
  /** The column, if the origin names one. */
  readonly source: string | null;
}

/** An answer about a row. */
export interface RowReply {
  readonly as: Exclude<RowAnswer, 'lost'>;
  readonly id: number | null;
  /** The origin's words against the row; null for `refused` if its file changed while it was sent. */
  readonly refusal: OriginWords | null;
}

/** A request that ended without an answer about its rows. */
export interface Unanswered {
  readonly rowCount: number;
  /** What came instead of an answer. */
  readonly words: OriginWords;
}

/** What came back for a row that was to be sent. */
export interface RowEnd {
  /** Null while no answer is known. */
  readonly answer: RowReply | null;
  /** Its request ended without an answer about it; known until the process ends. */
  readonly unanswered?: Unanswered | undefined;
}

/** Whether nothing happened at the origin, so that it need not be asked. */
export function isUndone({ answer }: RowEnd): boolean {
  return answer?.as === 'refused' || answer?.as === 'unsent';
}

/** soon: the origin was busy · later: a missing right may be granted · never: the same row gives the same answer. */
export type RetryHope = 'soon' | 'later' | 'never';

/** Code of "record is not found or not accessible" (specification 4.7). */
const NOT_FOUND_CODE = 4000;

export function judgeAnswer(
  { kind, cells }: { readonly kind: ChangeKind; readonly cells: readonly SentCell[] },
  answer: StatusDescriptor,
): RowReply | null {
  const { status, id } = answer;
  // A failing origin may have accepted the file: it is looked up, and not sent twice.
  const mayHaveFile = status >= 500 && kind === 'update' && cells.some(({ file }) => file !== undefined);
  if (mayHaveFile) return null;
  const as = meaningOf(kind, answer);
  const isTaken = as === 'accepted' || as === 'matched';
  return { as, id: isTaken ? id : null, refusal: isTaken ? null : wordsOf(answer) };
}

function meaningOf(kind: ChangeKind, { status, errors }: StatusDescriptor): RowReply['as'] {
  if (status < 300 || status === 304) {
    // 304: a row with the same values was there, so no value was lost.
    return kind === 'insert' && status === 200 ? 'matched' : 'accepted';
  }
  // The specification has no such status for a row: it may have been created before the origin failed.
  if (status >= 500 && kind === 'insert') return 'failed';
  const isMissing = status === 404 || errors.some(({ code }) => code === NOT_FOUND_CODE);
  if (isMissing && kind !== 'insert') return 'missing';
  return 'refused';
}

function wordsOf({ status, errors }: StatusDescriptor): OriginWords {
  const [first] = errors;
  const message = errors.map((error) => error.message).join('; ');
  return {
    status,
    code: first?.code ?? null,
    message: message === '' ? `the origin answered ${status} without a message` : message,
    source: first?.source ?? null,
  };
}

/** When a refused row may be tried again, by its status. */
export function retryHope(status: number): RetryHope {
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'soon';
  return status === 401 || status === 403 ? 'later' : 'never';
}

/** Whether statuses belong to the rows sent: one for each, with the same id. Else an answer proves nothing. */
export function areStatusesInOrder(
  sent: readonly { readonly id: number; readonly kind: ChangeKind }[],
  statuses: readonly { readonly status: number; readonly id: number | null }[],
): boolean {
  if (sent.length !== statuses.length) return false;
  const seen = new Set<number>();
  return sent.every(({ id, kind }, index) => {
    const answer = statuses[index];
    if (answer === undefined) return false;
    const isDone = answer.status < 300 || answer.status === 304;
    // A successful write names its row, or the row cannot be read back; two rows never have one id.
    if (isDone && kind !== 'delete') {
      if (answer.id === null || seen.has(answer.id)) return false;
      seen.add(answer.id);
    }
    if (kind === 'insert') return true;
    // An update never creates a row.
    return answer.status !== 201 && (answer.id === null || answer.id === id);
  });
}

/** The ids that an answer gives to inserts. If one is known, something on the way repeated an old answer. */
export function madeIds(
  sent: readonly { readonly kind: ChangeKind }[],
  statuses: readonly { readonly status: number; readonly id: number | null }[],
): readonly number[] {
  return statuses.flatMap(({ status, id }, index) => {
    return sent[index]?.kind === 'insert' && status === 201 && id !== null ? [id] : [];
  });
}

/** What a refusal of a whole request asks for. */
export type BatchVerdict =
  /** Send it in two halves; a single row is the one at fault. */
  | 'split'
  /** The same if the origin answers another request; else `stop`. */
  | 'ask'
  /** No row of the table can be sent now. */
  | 'stop';

/**
 * Judges a 4xx for a whole batch of rows. Codes 1000 to 1999 are about the credentials (origin facts 4.2). A refusal
 * without words is not the origin's, unless it is about size: parking rows because of a proxy would park them all.
 */
export function judgeRefusal({ status, code, words }: Pick<Refusal, 'status' | 'code' | 'words'>): BatchVerdict {
  if (status === 401 || (status === 403 && code !== null && code >= 1000 && code <= 1999)) return 'stop';
  if (code === null && words === '' && !SIZE_STATUSES.has(status)) {
    return status >= 400 && status < 500 && !NOT_ABOUT_ROWS.has(status) ? 'ask' : 'stop';
  }
  return SPLIT_STATUSES.has(status) ? 'split' : 'stop';
}

/** Statuses for which a part of the rows may succeed: a wrong value, a right, a constraint, or the size. */
const SPLIT_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409, 413, 414, 422]);

/** Statuses about the route, the method or the moment, never about a row (RFC 9110, RFC 6585). */
const NOT_ABOUT_ROWS: ReadonlySet<number> = new Set([402, 404, 405, 407, 408, 410, 411, 421, 425, 426, 428, 429]);

/** Statuses that come without words: too large a body, too long a query string (origin facts 4.1). */
const SIZE_STATUSES: ReadonlySet<number> = new Set([413, 414]);

/** Whether a row that was refused alone is certainly at fault: its size is not a fault of the table. */
export function isRowAtFault({ status }: { readonly status: number }): boolean {
  return SIZE_STATUSES.has(status);
}

/**
 * Successive single rows refused, with no row accepted, after which the table counts as refused. A token that lost its
 * right to write would otherwise cost a request for each row, and park them all. Rows that are too large do not count.
 */
export const LONE_REFUSALS_MAX = 3;

/** Whether a row was refused because a right is missing. If all of several were, the table counts as refused. */
export function isRightLost(end: RowEnd | undefined): boolean {
  const { as, refusal } = end?.answer ?? {};
  return as === 'refused' && refusal?.status === 403 && refusal.code !== NOT_FOUND_CODE;
}

/** Requests of one table that may end so in one push. One row at fault among 500 costs ten of them. */
export const UNANSWERED_MAX = 48;

/** How many rows may leave together with a row of such a request next. */
export function rowsMaxAfter(rowCount: number): number {
  return Math.ceil(rowCount / 2);
}

/** When a parked row may be tried again: a server in trouble recovers soon, a firewall does not. */
export function unansweredHope(status: number): RetryHope {
  return status === NO_STATUS || status >= 500 ? 'soon' : 'later';
}

/** The status of a request without an answer. */
export const NO_STATUS = 0;

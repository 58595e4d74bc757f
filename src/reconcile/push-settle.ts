/**
 * What becomes of rows that were sent, once the origin was asked about them. They get a base with which the one merge
 * (merge.ts) settles exactly the cells that still hold what was sent (I12). An edit made while the row was in flight
 * stays a change. Rows have the table's columns in order. Pure.
 */
import { must } from '../base/assert.ts';
import type { Row, UnreadableRow, Value } from '../wire/schema.ts';
import {
  cellOf,
  conflictLine,
  isChanged,
  type ConflictPolicy,
  type KeptConflict,
  type MergeColumn,
  isSameValue,
  isTakenAs,
} from './merge.ts';
import {
  decideMoved,
  decideRemote,
  discardedLines,
  finalRows,
  type OpenQuestion,
  type RowRefusal,
  type RowFacts,
  type RowOutcome,
} from './row-outcome.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';
import { nextRowState, settlementOf, type RowFinding, type Settlement } from './row-state.ts';
import { retryHope, unansweredHope, type RowEnd } from './push-answer.ts';

export interface BatchRow extends RowEnd {
  /** The id that it has here. */
  readonly id: number;
  readonly kind: ChangeKind;
  /** As sent; the columns are indexes of the table's. */
  readonly cells: readonly SentCell[];
}

/** The origin's answer about one sent row. */
export interface RowNews {
  readonly finding: RowFinding;
  /** Null if the row is not returned. */
  readonly remote: Row | null;
  /** Columns of files that the origin shows as they were sent. */
  readonly arrived: ReadonlySet<number>;
  /** Why it is unclear, as a sentence without a full stop; left out if nothing more is known. */
  readonly why?: string | undefined;
  /** The row if it was returned and cannot be read; then it is unclear. */
  readonly unreadable?: UnreadableRow | undefined;
}

/** A row that was sent: base before, cells as sent. */
export interface SentRow {
  readonly base: Row | null;
  readonly sent: readonly SentCell[];
}

/** The row if the origin did exactly what was asked. `id` is the origin's. */
export function baseAsSent({ base, sent }: SentRow, id: number, columnCount: number): Row {
  const values = base === null ? Array<Value>(columnCount).fill(null) : base.values.slice();
  for (const { column, value } of sent) values[column] = value;
  return { id, allow: base?.allow ?? null, values };
}

/**
 * The base after an answer: the base before, with the sent cells that the origin accepted, or holds after a lost
 * answer. If it holds a cell in its own form, and the cell was edited here since, that form is the base. `arrived` are
 * the columns of files that the origin has; it shows files in another form than they were sent.
 */
export function baseAfterAnswer(
  before: SentRow,
  now: { readonly local: Row | null; readonly remote: Row },
  facts: {
    readonly columns: readonly MergeColumn[];
    readonly isAccepted: boolean;
    readonly arrived: ReadonlySet<number>;
  },
): Row {
  const { columns, isAccepted, arrived } = facts;
  const { local, remote } = now;
  // Values that the origin fills in are no edits of a new row that was deleted here meanwhile.
  const asMade = (): Value[] =>
    columns.map(({ automatic }, column) => (local === null && automatic === true ? cellOf(remote, column) : null));
  const values = before.base?.values.slice() ?? asMade();
  for (const { column, value, file } of before.sent) {
    const type = columns[column]?.type ?? 'Text';
    const there = cellOf(remote, column);
    const isHeld = file === undefined ? isTakenAs(type, value, there) : arrived.has(column);
    // A value that the origin had before, and that is also its form of the sent value, proves nothing.
    const isAsBefore = file === undefined && isSameValue(type, there, values[column] ?? null);
    if (!isAccepted && (!isHeld || isAsBefore)) continue;
    // REPLACE puts the origin's file back into the cell, which no client can request: that is no edit.
    const isPutBack = file !== undefined && values[column] !== null && local?.values[column] === values[column];
    if (isPutBack) continue;
    const isAsSent = local !== null && isSameValue(type, cellOf(local, column), value);
    values[column] = isHeld && !isAsSent ? there : value;
  }
  return { id: remote.id, allow: before.base?.allow ?? null, values };
}

/** Whether a row at the origin holds all cells of a request, as sent or in the origin's form; `arrived` as above. */
export function isApplied(
  sent: readonly SentCell[],
  remote: Row | null,
  columns: readonly MergeColumn[],
  arrived: ReadonlySet<number>,
): boolean {
  if (remote === null) return false;
  return sent.every(({ column, value, file }) => {
    if (file !== undefined) return arrived.has(column);
    return isTakenAs(columns[column]?.type ?? 'Text', value, cellOf(remote, column));
  });
}

/** What a new row overwrote in the known row that the origin merged it into: the values before are kept. */
function overwrittenCells(
  known: Row,
  sent: readonly SentCell[],
  columns: readonly MergeColumn[],
): readonly KeptConflict[] {
  return sent.flatMap(({ column, value, file }) => {
    const before = cellOf(known, column);
    if (file !== undefined || isSameValue(columns[column]?.type ?? 'Text', before, value)) return [];
    return [conflictLine('cell', 'local', { base: before, local: value, remote: before }, column)];
  });
}

/** Whether a row is still as it was sent. If it was edited since, it is no longer what the origin refused. */
export function isLeftAsSent(
  { base, local, sent }: SentRow & { readonly local: Row | null },
  kind: ChangeKind,
  columns: readonly MergeColumn[],
): boolean {
  if (local === null || kind === 'delete') return local === null && kind === 'delete';
  return !isChanged(baseAsSent({ base, sent }, local.id, columns.length), local, columns);
}

export interface SettledRow {
  readonly row: BatchRow;
  readonly news: RowNews;
  readonly settlement: Settlement;
}

/** What settling takes beside the rows. */
export interface SettleRules {
  readonly columns: readonly MergeColumn[];
  readonly policy: ConflictPolicy;
  /** Index of the match column; null without one. */
  readonly match: number | null;
  /** Rows whose requests ended without an answer in this push. */
  readonly limits: ReadonlyMap<number, number>;
}

/** The settlement of a row, by the state table. */
export function settledRow(row: BatchRow, news: RowNews): SettledRow {
  return { row, news, settlement: settlementOf(row.kind, row.answer?.as ?? 'lost', news.finding) };
}

/** The origin's id of a row that has one of ours; null if it is the same. */
export function otherIdOf({ row, news, settlement }: SettledRow): number | null {
  const isStored = settlement === 'merge' || settlement === 'asSent';
  const id = settlement === 'merge' ? news.remote?.id : row.answer?.id;
  return isStored && id !== undefined && id !== row.id ? id : null;
}

/** Whether the origin took what was sent. */
export function isTaken({ row, news, settlement }: SettledRow, columns: readonly MergeColumn[]): boolean {
  if (wasAccepted(row)) return true;
  if (settlement === 'gone') return row.kind === 'delete';
  return settlement === 'merge' && isApplied(row.cells, news.remote, columns, news.arrived);
}

/** The origin's row of an accepted edit: if it is here as sent, a merge would store just that. Null for other rows. */
export function takenAsSent({ row: { kind, cells, answer }, news }: SettledRow): Row | null {
  const isPlain = kind === 'update' && answer?.as === 'accepted' && cells.every(({ file }) => file === undefined);
  return isPlain ? news.remote : null;
}

function wasAccepted({ answer }: BatchRow): boolean {
  return answer?.as === 'accepted' || answer?.as === 'matched';
}

/** What becomes of a row that was sent, by its settlement. */
export function decideSettled(facts: RowFacts, settled: SettledRow, rules: SettleRules): RowOutcome {
  const outcome = afterFailure(facts, settled.row, decideRow(facts, settled, rules), rules);
  // No page vouches for a row that cannot be read. Should it become what its page showed before, the page's ETag would
  // hide that it can be read again.
  return settled.news.unreadable === undefined ? outcome : { ...outcome, isOffPage: true };
}

function decideRow(facts: RowFacts, settled: SettledRow, rules: SettleRules): RowOutcome {
  const { row, settlement } = settled;
  switch (settlement) {
    case 'again':
      return decideMoved(facts, 'notApplied');
    case 'refuse': {
      const isLeft = isLeftAsSent({ ...facts, sent: row.cells }, row.kind, rules.columns);
      return isLeft ? decideMoved(facts, 'refused', refusalOf(row)) : decideMoved(facts, 'notApplied');
    }
    case 'doubt':
      return decideMoved(facts, 'doubted', doubtOf(settled));
    default:
      return decideTaken(facts, settled, rules);
  }
}

/** Merges a row with the origin's, or as it was sent, or as gone. */
function decideTaken(facts: RowFacts, settled: SettledRow, { columns, policy, match }: SettleRules): RowOutcome {
  const { row, news } = settled;
  const { base, remote } = remoteAndBase(columns, settled, facts);
  const rules = { columns, policy, isSent: true, reason: 'not returned by the origin after a push' };
  const outcome = decideRemote({ ...facts, base }, remote, rules);
  // A row with the match value appeared right before the upsert, which overwrote it. Its values were never read, so
  // only this is said.
  const met = row.answer?.as === 'matched' ? row.cells.filter(({ column }) => column === match) : [];
  const lines = met.map(({ column, value }) =>
    conflictLine('cell', 'local', { base: null, local: value, remote: value }, column),
  );
  const hasArrived = row.unanswered === undefined || isApplied(row.cells, news.remote, columns, news.arrived);
  const conflicts = [...outcome.conflicts, ...lines];
  return { ...outcome, conflicts, refusal: hasArrived ? 'forget' : null, isOffPage: true };
}

/** The origin's version for the merge of a row. */
function remoteAndBase(
  columns: readonly MergeColumn[],
  { row, news, settlement }: SettledRow,
  { base, local }: Pick<RowFacts, 'base' | 'local'>,
): { readonly base: Row | null; readonly remote: Row | null } {
  const { id, kind, cells, answer } = row;
  // A row that was deleted as requested: if it is here, a user inserted it since, as a new one.
  if (settlement === 'gone') return { base: kind === 'delete' ? null : base, remote: null };
  const sent = { base, sent: cells };
  const remote = settlement === 'merge' ? news.remote : baseAsSent(sent, answer?.id ?? id, columns.length);
  const there = must(remote, 'a row is merged with what the origin says of it');
  const facts = { columns, isAccepted: wasAccepted(row), arrived: news.arrived };
  return { base: baseAfterAnswer(sent, { local, remote: there }, facts), remote: there };
}

/**
 * The origin merged a new row into a known one. Either a colleague gave that one its match value just before, or the
 * origin takes both values for one. What it overwrote is kept as conflicts; so is the new row, if it is not as sent.
 */
export function decideMergedInto(
  facts: { readonly row: RowFacts; readonly other: RowFacts },
  { row: { kind, cells }, news, settlement }: SettledRow,
  { columns, policy, match }: SettleRules,
): readonly RowOutcome[] {
  const known = must(facts.other.base, 'it is known');
  const rules = { columns, policy, reason: '' };
  const asSent = baseAsSent({ base: known, sent: cells }, known.id, columns.length);
  const there = settlement === 'merge' ? must(news.remote, 'it was read back') : asSent;
  const others = cells.filter(({ column }) => column !== match);
  const overwritten = overwrittenCells(known, others, columns);
  const isAnswered = ({ column }: OpenQuestion): boolean => overwritten.some((line) => line.column === column);
  const open = facts.other.questions.filter((question) => !isAnswered(question));
  const taken = decideRemote({ ...facts.other, questions: open }, there, { ...rules, isSent: false });
  const isKept = !isLeftAsSent({ ...facts.row, sent: cells }, kind, columns);
  const gone = decideRemote({ ...facts.row, base: null, local: null }, null, { ...rules, isSent: true });
  return [
    {
      ...taken,
      conflicts: [...overwritten, ...taken.conflicts],
      closed: [...taken.closed, ...facts.other.questions.filter(isAnswered).map(({ id }) => id)],
    },
    { ...gone, conflicts: isKept ? discardedLines({ base: null, local: facts.row.local }, []) : [], refusal: 'forget' },
  ];
}

/** A row that did not arrive leaves again. One that failed alone, not for the first time, is parked. */
function afterFailure(
  facts: RowFacts,
  { id, kind, cells, unanswered }: BatchRow,
  outcome: RowOutcome,
  { columns, limits }: SettleRules,
): RowOutcome {
  if (unanswered === undefined || outcome.state !== 'edited') return outcome;
  if (unanswered.rowCount > 1 || !limits.has(id)) return outcome;
  if (!isLeftAsSent({ ...finalRows(facts, outcome), sent: cells }, kind, columns)) return outcome;
  const { words } = unanswered;
  const reason = `sent alone, it got no answer about it: ${words.message}`;
  const refusal = { kind, reason, column: null, words, hope: unansweredHope(words.status), cells };
  return { ...outcome, state: nextRowState(outcome.state, 'refused'), refusal };
}

/** Why a row waits that was not accepted. */
function refusalOf({ kind, cells, answer }: BatchRow): RowRefusal {
  const words = answer?.refusal ?? null;
  const common = { kind, column: null, words, cells };
  if (words === null) return { ...common, reason: 'the file to attach changed while it was sent', hope: 'soon' };
  // The origin says that it has no such row, and returns it nevertheless.
  return { ...common, reason: words.message, hope: answer?.as === 'missing' ? 'later' : retryHope(words.status) };
}

/** Why a row waits that the origin may or may not have. */
function doubtOf({ row: { kind, cells, answer, unanswered }, news }: SettledRow): RowRefusal {
  const words = unanswered?.words ?? null;
  const said = answer?.as === 'failed' ? 'the origin failed' : 'no answer came';
  const came = words === null ? '' : ` (${words.message})`;
  const why =
    news.finding === 'other' && kind === 'insert'
      ? `row ${must(news.remote, 'another row was found').id} has its match value, but not all that was sent`
      : (news.why ?? 'nothing at the origin proves that it was taken, or was not');
  const reason = `${said} when it was sent${came}, and ${why}; look there, then retry or discard it`;
  return { kind, reason, column: null, words, hope: 'never', cells };
}

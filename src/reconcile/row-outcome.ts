/**
 * What becomes of a row of a two-way table, as plain data: its final values and state, and every line that is kept for
 * a person. capture/writer/apply-outcome.ts carries it out. Pure.
 */
import type { Row, Value } from '../wire/schema.ts';
import {
  cellOf,
  hasLostEdit,
  isAnswered,
  isChanged,
  conflictLine,
  mergeRow,
  type ConflictKind,
  type ConflictPolicy,
  type KeptConflict,
  type MergeColumn,
  type MergeDecision,
  isSameCell,
  type RowVersion,
} from './merge.ts';
import type { OriginWords, RetryHope } from './push-answer.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';
import { nextRowState, type RowEvent, type RowState } from './row-state.ts';

/** A question about a row that a person has not answered. */
export interface OpenQuestion {
  readonly id: number;
  readonly kind: ConflictKind;
  /** Index of the column; -1 if the table has it no more, null for the whole row. */
  readonly column: number | null;
}

/** What is known of one row, read in the transaction that changes it. */
export interface RowFacts extends RowVersion {
  readonly state: RowState;
  readonly questions: readonly OpenQuestion[];
}

/** Why a row waits. */
export interface RowRefusal {
  readonly kind: ChangeKind;
  /** A sentence of ours, or the origin's words. */
  readonly reason: string;
  /** Index of the column at fault; null for the whole row. */
  readonly column: number | null;
  /** Null if the row was refused before it was sent. */
  readonly words: OriginWords | null;
  readonly hope: RetryHope;
  /** As they were, or would have been, sent. */
  readonly cells: readonly SentCell[];
}

/** What becomes of one row. `base` and `local` are final values, not changes. */
export interface RowOutcome {
  /** Its id here before. */
  readonly id: number;
  /** Its id afterwards: the origin's, or a new one of ours; the same for most. No other row has it. */
  readonly newId: number;
  readonly base: Row | null | 'same';
  /** 'base': as the base is afterwards. */
  readonly local: Row | null | 'base' | 'same';
  readonly state: RowState;
  readonly conflicts: readonly KeptConflict[];
  /** Questions that need no answer any more, by their ids. */
  readonly closed: readonly number[];
  /** 'forget' once the origin took it; null leaves what is known. */
  readonly refusal: RowRefusal | 'forget' | null;
  /** Why its last values are kept in `sync_deleted`; null if they are not. */
  readonly evidence: string | null;
  /** No page vouches for it: it was created by a push, or changed outside of a sweep. */
  readonly isOffPage: boolean;
}

/** The row that one side of an outcome writes; null if it writes none. */
export function writtenRow(side: RowOutcome['base'] | RowOutcome['local']): Row | null {
  return typeof side === 'object' ? side : null;
}

/** Both sides of a row as an outcome leaves them. */
export function finalRows(
  facts: Pick<RowFacts, 'base' | 'local'>,
  outcome: Pick<RowOutcome, 'base' | 'local'>,
): Pick<RowFacts, 'base' | 'local'> {
  const base = outcome.base === 'same' ? facts.base : outcome.base;
  if (outcome.local === 'base') return { base, local: base };
  return { base, local: outcome.local === 'same' ? facts.local : outcome.local };
}

/** The row stays as it is. */
function unchanged({ id, state }: Pick<RowFacts, 'id' | 'state'>): RowOutcome {
  return {
    id,
    newId: id,
    base: 'same',
    local: 'same',
    state,
    conflicts: [],
    closed: [],
    refusal: null,
    evidence: null,
    isOffPage: false,
  };
}

/** The input of a merge beside the row. */
export interface MergeRules {
  readonly columns: readonly MergeColumn[];
  readonly policy: ConflictPolicy;
  /** Whether the row was sent, and its answer is known. */
  readonly isSent: boolean;
  /** Why a row that the origin does not have is gone. */
  readonly reason: string;
}

const EVENTS: Readonly<Record<'sent' | 'unsent', Readonly<Record<MergeDecision['state'], RowEvent>>>> = {
  sent: { settled: 'accepted', changed: 'acceptedEdited', parked: 'conflicted' },
  unsent: { settled: 'settled', changed: 'changed', parked: 'conflicted' },
};

/** The origin says what it has of a row; null for no such row. `facts.base` is what the merge compares with. */
export function decideRemote(known: RowFacts, remote: Row | null, rules: MergeRules): RowOutcome {
  const { columns, isSent } = rules;
  // What another program put under this id, around the triggers, is another row, and makes room.
  const isStray = known.base === null && remote !== null && remote.id === known.id;
  const facts = isStray ? { ...known, local: null } : known;
  const decision = mergeRow({ ...facts, remote }, columns, rules.policy);
  const merged = EVENTS[isSent ? 'sent' : 'unsent'][decision.state];
  const event = merged === 'changed' && hasLostEdit(facts, decision, columns) ? 'localEdit' : merged;
  const { local } = decision;
  const isLost = remote === null && local === null && (facts.local ?? (isSent ? null : facts.base)) !== null;
  const outcome: RowOutcome = {
    ...unchanged(facts),
    newId: remote?.id ?? facts.id,
    base: decision.base,
    local: decision.state === 'settled' && local !== null ? 'base' : local,
    state: nextRowState(facts.state, event),
    conflicts: decision.conflicts,
    evidence: isLost ? rules.reason : null,
  };
  return withQuestions(facts, outcome, columns);
}

/** Closes the questions that need no answer; a row that waits for none continues. */
function withQuestions(facts: RowFacts, outcome: RowOutcome, columns: readonly MergeColumn[]): RowOutcome {
  const { questions } = facts;
  const now = finalRows(facts, outcome);
  const isWaiting = outcome.state === 'conflicted' || outcome.state === 'inDoubt';
  const decided = outcome.conflicts.filter(({ state }) => state === 'decided');
  const isSettled = ({ kind, column }: OpenQuestion): boolean => {
    if (!isWaiting || decided.some((line) => line.column === column)) return true;
    return kind === 'cell' && column !== null && isAnswered(now, column, columns);
  };
  const conflicts = outcome.conflicts.map((line) => {
    const same = ({ kind, column }: OpenQuestion): boolean => kind === line.kind && column === line.column;
    return line.state === 'open' ? { ...line, renews: questions.find(same)?.id ?? null } : line;
  });
  const renewed = new Set(conflicts.map(({ renews }) => renews));
  const closed = questions.filter((question) => !renewed.has(question.id) && isSettled(question)).map(({ id }) => id);
  const isAsked = closed.length < questions.length || conflicts.some(({ state }) => state === 'open');
  const state = outcome.state === 'conflicted' && !isAsked ? nextRowState('conflicted', 'resolved') : outcome.state;
  return { ...outcome, conflicts, closed, state };
}

/**
 * A person gives the edits of a row up: they are kept, and the row is as its base. `columns` are the indexes of the
 * edited ones. `sent` is what was sent, the only record of a new row that was deleted in doubt. A row in flight keeps
 * its state.
 */
export function decideDiscarded(
  facts: RowFacts,
  { columns, sent }: { readonly columns: readonly number[]; readonly sent: string | null },
): RowOutcome {
  const { base, state, questions } = facts;
  return {
    ...unchanged(facts),
    local: base === null ? null : 'base',
    state: state === 'sending' ? state : nextRowState(state, 'discarded'),
    conflicts: discardedLines(facts, columns, sent),
    closed: questions.map(({ id }) => id),
  };
}

/** The lines that keep edits which are given up: one for each cell, or one for the row. */
export function discardedLines(
  { base, local }: Pick<RowFacts, 'base' | 'local'>,
  columns: readonly number[],
  sent: string | null = null,
): readonly KeptConflict[] {
  const lines =
    base === null
      ? [conflictLine('inserted', 'origin', { base, local: local ?? sent, remote: null })]
      : local === null
        ? [conflictLine('deletedHere', 'origin', { base, local, remote: base })]
        : lostLines({ base, local }, columns);
  return lines.map((line) => ({ ...line, state: 'discarded' }));
}

/** A person takes a value for a cell. An edit that the question did not show is kept like a discarded one. */
export function decideCell(
  facts: RowFacts & { readonly local: Row },
  { column, value, overwrites }: { readonly column: number; readonly value: Value; readonly overwrites: boolean },
): RowOutcome {
  const { local } = facts;
  return {
    ...unchanged(facts),
    local: { ...local, values: local.values.with(column, value) },
    conflicts: overwrites ? discardedLines(facts, [column]) : [],
  };
}

/** A person takes the version without the row. `edited` are the columns with an edit, null for a row without one. */
export function decideNoRow(facts: RowFacts, edited: readonly number[] | null): RowOutcome {
  const conflicts = facts.local === null || edited === null ? [] : discardedLines(facts, edited);
  return { ...unchanged(facts), local: null, conflicts };
}

/** A person takes the version of the origin. */
export function decideAsBase(facts: RowFacts): RowOutcome {
  return { ...unchanged(facts), local: 'base' };
}

/** A row that is nowhere any more continues as a new one under an id of ours. */
export function decideMadeAgain(facts: RowFacts, id: number, values: readonly Value[]): RowOutcome {
  return { ...unchanged(facts), newId: id, local: { id, allow: null, values } };
}

/** Something happened to a row that changes none of its values. */
export function decideMoved(facts: RowFacts, event: RowEvent, refusal: RowOutcome['refusal'] = null): RowOutcome {
  return { ...unchanged(facts), state: nextRowState(facts.state, event), refusal };
}

/** A row that another program put under an id of the origin, around the triggers, becomes a new row like any other. */
export function decideStray(facts: RowFacts, id: number): RowOutcome {
  const { local, state } = facts;
  return {
    ...unchanged(facts),
    newId: id,
    local: local === null ? null : { ...local, id, allow: null },
    state: nextRowState(state, 'localEdit'),
  };
}

/** Cells that are read-only or only spelled otherwise follow the base; an edit of a read-only one is kept. */
export function decidePutBack(facts: RowFacts, columns: readonly MergeColumn[]): RowOutcome {
  const { base, local } = facts;
  if (base === null || local === null) return unchanged(facts); // whole rows have no such cells
  const isSame = (column: number): boolean => isSameCell(columns, column, base, local);
  const values = columns.map(({ writable }, column) => cellOf(!writable || isSame(column) ? base : local, column));
  const row = { id: facts.id, allow: base.allow, values };
  const isLeft = isChanged(base, row, columns);
  const lost = columns.flatMap(({ writable }, column) => (writable || isSame(column) ? [] : [column]));
  return {
    ...unchanged(facts),
    local: isLeft ? row : 'base',
    state: isLeft ? facts.state : nextRowState(facts.state, 'settled'),
    conflicts: lostLines(facts, lost),
    closed: facts.questions.filter(({ column }) => column !== null && lost.includes(column)).map(({ id }) => id),
  };
}

/** Closes the questions about a row that need no answer any more; a row that waits for none continues. */
export function decideQuestions(facts: RowFacts, columns: readonly MergeColumn[]): RowOutcome {
  return withQuestions(facts, unchanged(facts), columns);
}

/** Columns (indexes) leave the table: their edits are kept. */
export function decideColumnsLost(
  facts: RowFacts,
  columns: readonly MergeColumn[],
  lost: readonly number[],
): RowOutcome {
  const { base, local } = facts;
  const edited = lost.filter((column) => !isSameCell(columns, column, base, local));
  return {
    ...unchanged(facts),
    conflicts: lostLines(facts, edited),
    closed: facts.questions.filter(({ column }) => column !== null && edited.includes(column)).map(({ id }) => id),
  };
}

/** Cells that lose to the origin's, as they are. */
function lostLines(
  { base, local }: Pick<RowFacts, 'base' | 'local'>,
  columns: readonly number[],
): readonly KeptConflict[] {
  return columns.map((column) => {
    const before = cellOf(base, column);
    return conflictLine('cell', 'origin', { base: before, local: cellOf(local, column), remote: before }, column);
  });
}

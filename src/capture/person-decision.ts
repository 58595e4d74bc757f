/**
 * Everything that a person can decide, as one kind of value with one way to carry it out. The command line carries
 * decisions out on the replica, or hands them to a running daemon, the only writer then. The daemon's page makes the
 * same values. The answer says in words what was done, or why nothing was.
 */
import { plainText } from '../base/result-formats.ts';
import { plural, someOf, truncate } from '../base/text.ts';
import { guessText } from '../reconcile/option-bindings.ts';
import type { Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import {
  conflictVersion,
  readConflictLine,
  readDiscardedSince,
  readLastConflictId,
  storeSeen,
  type ConflictLine,
  type Resolution,
} from '../replica/bookkeeping/conflicts.ts';
import { kindOfHold, storeConfirmations } from '../replica/confirmation.ts';
import { readTables, tableNamed } from '../replica/bookkeeping/tables.ts';
import { editVersion, readRowState, type EditedRow } from '../replica/bookkeeping/row-states.ts';
import { readWaiting, type WaitingRow } from '../replica/bookkeeping/refusals.ts';
import { agreeToPull } from '../replica/bookkeeping/runs.ts';
import { captureChanges, diffRows, type RowChange } from './find-edits.ts';
import { discardEdits, resolveConflict, WAITS } from './resolve-conflict.ts';
import { MIRROR_HINT, findTwoWayTable, readTwoWayTables } from './two-way-table.ts';
import { retryRows } from './writer/apply-outcome.ts';

export type PersonDecision =
  | ResolveDecision
  /** Puts a row of a table back to its base; with null, every edited row that is neither in conflict nor refused. */
  | { readonly kind: 'discard'; readonly table: string; readonly rowId: number | null; readonly seen?: SeenEdits }
  /** Lets rows be pushed again, by the numbers of their failures; without numbers, all refused rows, none in doubt. */
  | { readonly kind: 'retry'; readonly ids: readonly number[]; readonly seen?: SeenEdits }
  /** Says that they saw the edits that lost, up to a conflict. */
  | { readonly kind: 'seen'; readonly upToId: number }
  /** Lets a guard pass for a table, by its name here, or (null) a pull, if its `problem` still is what was shown. */
  | { readonly kind: 'confirm'; readonly table: string | null; readonly shown: string; readonly seen?: SeenEdits };

/** The edit of a row, or all edits of a table, as a person saw them; left out where they named the row itself. */
export interface SeenEdits {
  readonly table: string;
  /** Null for all rows. */
  readonly rowId: number | null;
  /** As `editVersion` gives it. */
  readonly version: string;
}

/** Takes a version in a conflict; `value` counts only with `take: 'value'`. */
interface ResolveDecision {
  readonly kind: 'resolve';
  readonly id: number;
  readonly take: Resolution;
  readonly value: string | null;
  /** Whether a person knows that it is decided already. */
  readonly isAgain?: boolean | undefined;
  /** The version that a person saw (`conflictVersion`); left out where they named the conflict by its number. */
  readonly seen?: string | undefined;
}

/** A cell or row as a decision left it, for `--json`. */
export interface Decided extends EditedRow {
  /** Null for a whole row. */
  readonly column: string | null;
  /** What was taken; left out where nothing was. */
  readonly value?: ConflictLine['local'];
  /** The conflict by which another version can be taken. */
  readonly conflict?: number;
  /** The state of the row as in `sync_changes`; null where nothing of it waits any more. */
  readonly state: string | null;
}

/** The result; its words are for the person, who may see the rows, and for no log. */
export type DecisionOutcome =
  | { readonly kind: 'done'; readonly words: string; readonly rowCount: number; readonly decided: readonly Decided[] }
  | { readonly kind: 'problem'; readonly words: string; readonly hint?: string };

/** Carries out a decision, durably: a discarded edit must not return after a power cut. @throws RowsyncError. */
export function carryOutDecision(
  replica: Replica,
  decision: PersonDecision,
  at: string,
  signal?: AbortSignal,
): Promise<DecisionOutcome> {
  return replica.writeDurably(
    'Carrying out a decision',
    (tx) => carryOut(tx.because(decision.kind === 'discard' ? 'discard' : 'decision'), decision, at),
    signal,
  );
}

function carryOut(tx: Tx, decision: PersonDecision, at: string): DecisionOutcome {
  const seen = decision.kind === 'resolve' || decision.kind === 'seen' ? undefined : decision.seen;
  if (seen !== undefined && editVersion(tx, seen) !== seen.version) {
    const what = seen.rowId === null ? `What is edited in ${seen.table}` : `${seen.table} row ${seen.rowId}`;
    return { kind: 'problem', words: `${what} changed since the page was made; look at it again` };
  }
  switch (decision.kind) {
    case 'resolve':
      return carryOutResolve(tx, decision, at);
    case 'discard':
      return carryOutDiscard(tx, decision, at);
    case 'retry':
      return carryOutRetry(tx, decision.ids, at);
    case 'seen': {
      const count = storeSeen(tx, decision.upToId);
      return done(`Noted that you saw ${plural(count, 'lost edit')}`, count);
    }
    case 'confirm':
      return carryOutConfirm(tx, decision);
    default:
      return decision satisfies never;
  }
}

/** A decided one needs `isAgain`: a mistyped number would put a discarded edit back, which the next push sends. */
function carryOutResolve(tx: Tx, decision: ResolveDecision, at: string): DecisionOutcome {
  const line = readConflictLine(tx, decision.id);
  if (line === null) return { kind: 'problem', words: `there is no conflict ${decision.id}` };
  const { isAgain = false, seen } = decision;
  const name = `conflict ${line.id}, ${subjectOf(line)},`;
  if (line.state !== 'open' && !isAgain)
    return {
      kind: 'problem',
      words: `${name} ${STATES[line.state] ?? 'is decided already'}${line.resolution === null ? '' : ` (${line.resolution})`}`,
      hint: 'Check the number: rowsync conflicts --all. To decide it anew, add --again.',
    };
  if (seen !== undefined && seen !== conflictVersion(line))
    return { kind: 'problem', words: `${name} changed since the page was made; look at it again` };
  const problem = resolveConflict(tx, decision.id, decision, at);
  if (problem !== null) return { kind: 'problem', words: problem };
  // A row that was made anew has another number now, and an open conflict took the row as it is.
  const taken = readConflictLine(tx, decision.id) ?? line;
  const { table, rowId, column, id: conflict } = taken;
  const value = decision.take === 'value' ? decision.value : taken[decision.take];
  const decided = { table, rowId, column, value, conflict, state: readRowState(tx, taken) };
  return done(`Resolved conflict ${line.id}: ${subjectOf(taken)}, ${takenText(taken, decision)}`, 1, [decided]);
}

const STATES: Readonly<Record<string, string>> = {
  decided: 'was decided without a person',
  settled: 'is settled: both sides agreed',
  resolved: 'was decided by a person',
  discarded: 'is an edit that was discarded',
};

function subjectOf({ table, rowId, column }: ConflictLine): string {
  return `${table} row ${rowId}${column === null ? '' : `, ${column}`}`;
}

const VALUE_CHARS_MAX = 60;

function takenText(line: ConflictLine, { take, value }: ResolveDecision): string {
  const whose = {
    local: 'the version here',
    remote: 'the version of the origin',
    base: 'the version before',
    value: '',
  };
  const taken = take === 'value' ? value : line[take];
  if (line.kind !== 'cell') return `${whose[take]}: ${taken === null ? 'the row is deleted' : 'the row'}`;
  const words = taken === null ? 'no value' : JSON.stringify(truncate(plainText(taken), VALUE_CHARS_MAX));
  return take === 'value' ? words : `${whose[take]}: ${words}`;
}

/** Bounds of the cells and rows that an answer names, and of their JSON; the count says how many there were. */
const DECIDED_MAX = 1_000;
const DECIDED_CHARS_MAX = 1_000_000;

function done(words: string, rowCount: number, decided: readonly Decided[] = []): DecisionOutcome {
  let length = 0;
  const isShort = (line: Decided): boolean => (length += JSON.stringify(line).length) <= DECIDED_CHARS_MAX;
  return { kind: 'done', words, rowCount, decided: decided.slice(0, DECIDED_MAX).filter(isShort) };
}

function carryOutDiscard(
  tx: Tx,
  { table: name, rowId }: PersonDecision & { readonly kind: 'discard' },
  at: string,
): DecisionOutcome {
  const named = tableNamed(readTables(tx), name);
  const table = named === undefined ? null : findTwoWayTable(tx, named.id);
  if (table === null) {
    if (named?.push === 'off')
      return { kind: 'problem', words: `no two-way table is called "${name}"`, hint: MIRROR_HINT };
    const names = readTwoWayTables(tx).map(({ localName }) => localName);
    return { kind: 'problem', words: `no two-way table is called "${name}"${guessText(name, names)}` };
  }
  captureChanges(tx, table, at);
  const lastId = readLastConflictId(tx);
  const kept = (): readonly Decided[] =>
    readDiscardedSince(tx, lastId, DECIDED_MAX).map((line) => ({
      table: line.table,
      rowId: line.rowId,
      column: line.column,
      value: line.base,
      conflict: line.id,
      state: readRowState(tx, line),
    }));
  const { discarded, waitingCount, undecidedCount } = discardEdits(tx, table, rowId, at);
  const newCount = discarded.filter(({ base }) => base === null).length;
  if (rowId !== null) {
    const what = newCount === 0 ? `Put row ${rowId} of ${name} back` : `Removed the new row ${rowId} of ${name}`;
    if (discarded.length > 0) return done(what + doubtText(discarded), 1, kept());
    const words = `row ${rowId} of ${table.localName} has no edit that the origin does not have`;
    return { kind: 'problem', words: waitingCount > 0 ? `row ${rowId} of ${table.localName} ${WAITS}` : words };
  }
  const rest = waitingCount === 0 ? '' : `; ${plural(waitingCount, 'row')} sent before wait for an answer`;
  const left = undecidedCount === 0 ? '' : `; left alone: ${plural(undecidedCount, 'row')} in conflict or refused`;
  const news = plural(newCount, 'new row');
  const put =
    newCount > 0 && newCount === discarded.length
      ? `Removed ${news} of ${name}`
      : `Put ${plural(discarded.length - newCount, 'row')} of ${name} back${newCount === 0 ? '' : `, and removed ${news}`}`;
  const words = put + doubtText(discarded) + rest + left;
  return done(words, discarded.length, kept());
}

/** Which of the discarded edits the origin may have; empty for none. */
function doubtText(discarded: readonly Pick<RowChange, 'id' | 'state'>[]): string {
  const ids = discarded.flatMap(({ id, state }) => (state === 'inDoubt' ? [String(id)] : []));
  if (ids.length === 0) return '';
  const rows = ids.length === 1 ? `row ${ids[0]} was` : `rows ${someOf(ids)} were`;
  return `; ${rows} in doubt, so the origin may have what you discarded: look there`;
}

function carryOutRetry(tx: Tx, ids: readonly number[], at: string): DecisionOutcome {
  const waiting = readWaiting(tx, ids).filter(({ state }) => ids.length > 0 || state === 'refused');
  const missing = ids.filter((id) => !waiting.some((row) => row.id === id));
  if (missing.length > 0) return { kind: 'problem', words: `no row waits under the number ${missing.join(', ')}` };
  const deleted = waiting.find((row) => isDeletedHere(tx, row));
  if (deleted !== undefined) {
    const words = `row ${deleted.rowId} was deleted here; check whether it exists at the origin, then discard it`;
    return { kind: 'problem', words };
  }
  retryRows(tx, waiting, at);
  const nameById = new Map(readTables(tx).map(({ id, localName }) => [id, localName]));
  const decided = waiting.slice(0, DECIDED_MAX).map(({ tableId, rowId }): Decided => {
    const row = { table: nameById.get(tableId) ?? '', rowId };
    return { ...row, column: null, state: readRowState(tx, row) };
  });
  return done(`${plural(waiting.length, 'row')} to be tried again by the next push`, waiting.length, decided);
}

/** Whether a row in doubt has nothing to send again, because it was deleted here since. */
function isDeletedHere(tx: Tx, { tableId, rowId, state }: WaitingRow): boolean {
  const table = state === 'inDoubt' ? findTwoWayTable(tx, tableId) : null;
  return table !== null && diffRows(tx, table, [rowId]).some(({ base, local }) => base === null && local === null);
}

function carryOutConfirm(tx: Tx, { table, shown }: PersonDecision & { readonly kind: 'confirm' }): DecisionOutcome {
  if (table === null)
    return agreeToPull(tx, shown)
      ? done('The next pull may continue', 0)
      : { kind: 'problem', words: 'what is held is not what was shown any more' };
  // Pull and push of one table may both be held; the person was shown one of them.
  const kind = kindOfHold(tx, { table, problem: shown });
  if (kind === null) return { kind: 'problem', words: `what is held of "${table}" is not what was shown any more` };
  const confirmations = storeConfirmations(
    tx,
    [kind],
    readTables(tx).filter(({ localName }) => localName === table),
  );
  if (confirmations.length === 0)
    return { kind: 'problem', words: `nothing of "${table}" can be let through here; what it waits for says how` };
  const rowCount = confirmations.reduce((sum, confirmation) => sum + confirmation.rowCount, 0);
  return done(`The next run may continue with ${plural(rowCount, 'held row')} of ${table}`, rowCount);
}

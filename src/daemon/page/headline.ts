/**
 * The summary for an administrator: one sentence, its severity, and what to do. Input: the daemon's state and the tables. Output: plain values for
 * the page. Pure.
 */
import { ageText, countText, durationText, plural } from '../../base/text.ts';
import { refusedByOrigin, type TableStatus } from '../../replica/reader.ts';
import type { DaemonState } from '../state.ts';

/** Severity: all well · work continues in part · a person is needed · nothing works. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad';

/** One thing to do. */
export interface Todo {
  /** Which table it is about; null for all. */
  readonly table: string | null;
  readonly what: string;
  readonly hint: string | null;
  /** The part of the page where it can be done. */
  readonly part: 'conflicts' | 'waiting' | null;
  /** A guard waits for a person to let it through. */
  readonly isHeld: boolean;
}

/** The top of the page. */
export interface Headline {
  readonly tone: Tone;
  readonly sentence: string;
  readonly note: string;
  readonly todos: readonly Todo[];
}

/** Sums up the state. */
export function headlineOf(state: DaemonState, tables: readonly TableStatus[], nowMs: number): Headline {
  const note = noteOf(state, nowMs);
  const todos = tables.flatMap(todosOf);
  const { failure, circuit, circuitWaitMs } = state;
  if (circuit.failureCount > 0 && failure !== null) {
    const next = circuitWaitMs > 0 ? `It is tried again in ${durationText(circuitWaitMs)}.` : 'It is tried again now.';
    const whole = { table: null, what: failure.message, hint: failure.hint, part: null, isHeld: false };
    return { tone: 'bad', sentence: 'Nothing is synchronised at the moment', note: next, todos: [whole, ...todos] };
  }
  const needing = new Set(todos.map(({ table }) => table)).size;
  if (needing > 0) {
    const sentence = needing === 1 ? '1 table needs attention' : `${countText(needing)} tables need attention`;
    return { tone: 'warn', sentence, note, todos };
  }
  const loading = tables.filter((table) => table.state === 'loading').length;
  if (tables.length === 0 || loading > 0) {
    const sentence =
      loading === 0
        ? 'The first pull has yet to come'
        : `${loading} of ${plural(tables.length, 'table')} still loading`;
    return { tone: 'busy', sentence, note, todos };
  }
  const oldest = tables.flatMap(({ freshSince }) => freshSince ?? []).toSorted()[0] ?? null;
  const pending = tables.reduce((sum, { pendingCount }) => sum + pendingCount, 0);
  const every = tables.length === 1 ? 'The table is' : `All ${countText(tables.length)} tables are`;
  const fresh = `Checked against the origin ${ageText(oldest, nowMs)}.`;
  return pending === 0
    ? { tone: 'ok', sentence: `${every} up to date`, note: `${fresh} ${note}`, todos }
    : { tone: 'busy', sentence: `${plural(pending, 'edited row')} to push`, note: `${fresh} ${note}`, todos };
}

/** What is under way, or comes next. */
function noteOf({ working, jobs }: DaemonState, nowMs: number): string {
  if (working !== null) return `A ${working} is under way.`;
  const [next] = jobs.toSorted((a, b) => a.nextAtMs - b.nextAtMs);
  if (next === undefined) return 'Nothing is scheduled.';
  const kind = next.id.split(' ')[0] ?? next.id;
  return `The next ${kind} is in ${durationText(Math.max(0, next.nextAtMs - nowMs))}.`;
}

/** Whether a table needs the attention of a person. */
export function isTroubled(table: TableStatus): boolean {
  return todosOf(table).length > 0;
}

function todosOf(table: TableStatus): readonly Todo[] {
  const { table: name, problem, hint, state, conflictCount, inDoubtCount, unsendableCount, unreadableCount } = table;
  const refusedCount = refusedByOrigin(table);
  const about = (count: number, what: string, part: Todo['part'], todoHint: string): readonly Todo[] =>
    count === 0 ? [] : [{ table: name, what, hint: todoHint, part, isHeld: false }];
  return [
    ...(problem === null ? [] : [{ table: name, what: problem, hint, part: null, isHeld: state === 'held' }]),
    ...about(conflictCount, `${plural(conflictCount, 'conflict')} to decide`, 'conflicts', 'Take one of the versions.'),
    ...about(refusedCount, `${plural(refusedCount, 'row')} refused`, 'waiting', 'Edit and send again, or discard.'),
    ...about(inDoubtCount, `${plural(inDoubtCount, 'row')} in doubt`, 'waiting', 'Look at the origin first.'),
    ...about(
      unsendableCount,
      `${plural(unsendableCount, 'row')} cannot be sent`,
      'waiting',
      'Edit and send again, or discard.',
    ),
    ...about(
      unreadableCount,
      `${plural(unreadableCount, 'row')} cannot be read, so that values are old or missing here`,
      'waiting',
      'The origin sends values that its own description rules out; each row has the reason.',
    ),
    ...about(
      state === 'gone' && problem === null ? 1 : 0,
      'is no longer at the origin; its rows are kept here',
      null,
      'rowsync schema prune drops it, or give the user its rights back.',
    ),
  ];
}

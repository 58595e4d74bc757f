import { expect, test } from 'vitest';
import { CHANGE_KINDS, type ChangeKind } from '../../src/reconcile/push-plan.ts';
import {
  nextRowState,
  ROW_ANSWERS,
  ROW_EVENTS,
  ROW_FINDINGS,
  ROW_STATES,
  settlementOf,
  type RowAnswer,
  type RowEvent,
  type RowState,
  type Settlement,
} from '../../src/reconcile/row-state.ts';

const C = 'clean';
const E = 'edited';
const S = 'sending';
const R = 'refused';
const K = 'conflicted';
const D = 'inDoubt';
const X = 'impossible';

test('a row has one of six states', () => {
  expect(ROW_STATES).toEqual([C, E, S, R, K, D]);
});

/**
 * The whole machine, written down a second time: one line per event, one column per state in the order of ROW_STATES.
 */
const EXPECTED: Readonly<Record<RowEvent, readonly (RowState | 'impossible')[]>> = {
  //              clean edited sending refused conflicted inDoubt
  localEdit: [E, E, S, E, K, D],
  settled: [C, C, X, C, C, D],
  changed: [E, E, X, R, K, D],
  conflicted: [K, K, K, K, K, D],
  sendStarted: [X, S, X, X, X, X],
  accepted: [X, X, C, X, X, X],
  acceptedEdited: [X, X, E, X, X, X],
  refused: [X, R, R, R, X, X],
  notApplied: [X, X, E, X, X, X],
  doubted: [X, X, D, X, X, X],
  retried: [C, E, S, E, K, E],
  resolved: [E, E, X, E, E, D],
  discarded: [C, C, X, C, C, C],
  restored: [X, D, X, D, X, X],
};

const CELLS = ROW_EVENTS.flatMap((event) =>
  ROW_STATES.map((state, index) => ({ event, state, next: EXPECTED[event][index] })),
);

test.each(CELLS.filter(({ next }) => next !== X))('$state + $event = $next', ({ event, state, next }) => {
  expect(nextRowState(state, event)).toBe(next);
});

test.each(CELLS.filter(({ next }) => next === X))('$state + $event is impossible', ({ event, state }) => {
  expect(() => nextRowState(state, event)).toThrow(`a row that is ${state} cannot be ${event}`);
});

/**
 * The other table, written down a second time: one line per answer, one column per finding in the order of
 * ROW_FINDINGS.
 */
const SETTLED: Readonly<Record<ChangeKind, Readonly<Record<RowAnswer, readonly (Settlement | 'impossible')[]>>>> = {
  insert: {
    //         there    other    absent    unclear
    accepted: ['merge', X, 'asSent', 'asSent'],
    matched: ['merge', X, 'asSent', 'asSent'],
    missing: [X, X, X, X],
    failed: ['merge', 'doubt', 'refuse', 'doubt'],
    refused: [X, X, X, 'refuse'],
    unsent: [X, X, X, 'again'],
    lost: ['merge', 'doubt', 'again', 'doubt'],
  },
  update: {
    accepted: ['merge', X, 'asSent', 'asSent'],
    matched: [X, X, X, X],
    missing: ['refuse', X, 'gone', 'again'],
    failed: [X, X, X, X],
    refused: [X, X, X, 'refuse'],
    unsent: [X, X, X, 'again'],
    lost: ['merge', 'doubt', 'gone', 'again'],
  },
  delete: {
    accepted: ['gone', X, 'gone', 'gone'],
    matched: [X, X, X, X],
    missing: ['refuse', X, 'gone', 'again'],
    failed: [X, X, X, X],
    refused: [X, X, X, 'refuse'],
    unsent: [X, X, X, 'again'],
    lost: ['again', X, 'gone', 'again'],
  },
};

const SETTLEMENTS = CHANGE_KINDS.flatMap((kind) =>
  ROW_ANSWERS.flatMap((answer) =>
    ROW_FINDINGS.map((finding, index) => ({ kind, answer, finding, settlement: SETTLED[kind][answer][index] })),
  ),
);

test('each kind of change has a settlement for every answer and finding', () => {
  expect(SETTLEMENTS).toHaveLength(3 * 7 * 4);
  expect(SETTLEMENTS.map(({ settlement }) => settlement)).not.toContain(undefined);
});

test.each(SETTLEMENTS.filter(({ settlement }) => settlement !== X))(
  '$kind: $answer, found $finding: $settlement',
  ({ kind, answer, finding, settlement }) => {
    expect(settlementOf(kind, answer, finding)).toBe(settlement);
  },
);

test.each(SETTLEMENTS.filter(({ settlement }) => settlement === X))(
  '$kind: $answer, found $finding is impossible',
  ({ kind, answer, finding }) => {
    expect(() => settlementOf(kind, answer, finding)).toThrow(`${kind}: ${answer} cannot be found ${finding}`);
  },
);

import { expect, test } from 'vitest';

import {
  isInFlight,
  nextRowState,
  ROW_EVENTS,
  ROW_STATES,
  type RowEvent,
  type RowState,
} from '../../src/reconcile/row-state.ts';

const C = 'clean';
const E = 'edited';
const S = 'sending';
const U = 'unknown';
const R = 'refused';
const K = 'conflicted';
const D = 'inDoubt';
const X = 'impossible';

/** The whole machine, written down a second time: one line per event, one column per state in the order of ROW_STATES. */
const EXPECTED: Readonly<Record<RowEvent, readonly (RowState | 'impossible')[]>> = {
  //              clean edited sending unknown refused conflicted inDoubt
  localEdit: [E, E, S, U, E, K, D],
  settled: [C, C, X, X, C, C, D],
  changed: [E, E, X, X, R, K, D],
  conflicted: [K, K, K, K, K, K, D],
  sendStarted: [X, S, X, X, X, X, X],
  accepted: [X, X, C, C, X, X, X],
  acceptedEdited: [X, X, E, E, X, X, X],
  refused: [X, R, R, X, R, X, X],
  replyLost: [X, X, U, U, X, X, X],
  restarted: [C, E, U, U, R, K, D],
  notApplied: [X, X, E, E, X, X, X],
  doubted: [X, X, X, D, X, X, X],
  retried: [C, E, S, U, E, K, E],
  resolved: [E, E, X, X, E, E, D],
  discarded: [C, C, X, X, C, C, C],
  restored: [X, D, X, X, D, X, X],
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

test('only rows that were sent are in flight', () => {
  expect(ROW_STATES.filter(isInFlight)).toEqual(['sending', 'unknown']);
});

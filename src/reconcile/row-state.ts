/**
 * The states of a row of a two-way table between an edit and its acceptance by the origin, as one complete table. The states
 * are those of the column `state` of `_rowsync_rows`; a clean row has no mark there. What changed is never kept in a state: that is
 * found by comparing the row with its base.
 *
 *   clean        local = base                    refused      the origin said no; waits for an edit or a retry
 *   edited       may be pushed                   conflicted   waits for a person's decision
 *   sending      an answer is awaited            inDoubt      a create that may have happened, or not; waits for a person
 *   unknown      no answer came: the origin must be asked before anything is sent again
 *
 * 'impossible' cells assert: whoever raises such an event has lost track of the row. Pure.
 */
import { assert } from '../base/assert.ts';

/** Every state, clean included. */
export const ROW_STATES = ['clean', 'edited', 'sending', 'unknown', 'refused', 'conflicted', 'inDoubt'] as const;

/** One state of a row. */
export type RowState = (typeof ROW_STATES)[number];

/**
 *   localEdit    a user changed the row                    settled      a merge left local = base
 *   changed      a merge left something to push            conflicted   a merge left a conflict for a person
 *   sendStarted  its values were recorded and are sent     accepted     ... and local still is what was sent
 *   acceptedEdited  ... but was edited since               refused      the origin, or a check before it, said no
 *   replyLost    no answer, or one that proves nothing     restarted    the process began anew
 *   notApplied   looked up: the origin never got it        doubted      looked up: neither found nor excluded
 *   retried      a person or a timer wants another try     resolved     no question is left about the row, which may have changed
 *   discarded    a person put the row back to its base        restored   the file is an older copy, and the create may have happened
 */
export const ROW_EVENTS = [
  'localEdit',
  'settled',
  'changed',
  'conflicted',
  'sendStarted',
  'accepted',
  'acceptedEdited',
  'refused',
  'replyLost',
  'restarted',
  'notApplied',
  'doubted',
  'retried',
  'resolved',
  'discarded',
  'restored',
] as const;

/** Something that happens to a row. */
export type RowEvent = (typeof ROW_EVENTS)[number];

type Next = Readonly<Record<RowEvent, RowState | 'impossible'>>;

/** In no state that waits for an answer, these mean nothing. */
const NOT_SENT = {
  accepted: 'impossible',
  acceptedEdited: 'impossible',
  replyLost: 'impossible',
  notApplied: 'impossible',
  doubted: 'impossible',
} as const;

/** Only creates that may be sent come into doubt when the file turns out to be an older copy. */
const NOT_A_CREATE = { restored: 'impossible' } as const;

/** In a state that waits for an answer, a pull leaves the row alone, and so must a person. */
const SENT = {
  restored: 'impossible', // it is looked up anyway
  settled: 'impossible',
  changed: 'impossible',
  resolved: 'impossible',
  discarded: 'impossible',
  sendStarted: 'impossible',
  restarted: 'unknown',
  accepted: 'clean',
  acceptedEdited: 'edited',
  conflicted: 'conflicted',
} as const;

const TRANSITIONS: Readonly<Record<RowState, Next>> = {
  clean: {
    ...NOT_SENT,
    ...NOT_A_CREATE,
    localEdit: 'edited',
    settled: 'clean',
    changed: 'edited',
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    refused: 'impossible',
    restarted: 'clean',
    retried: 'clean',
    resolved: 'edited',
    discarded: 'clean',
  },
  edited: {
    ...NOT_SENT,
    restored: 'inDoubt',
    localEdit: 'edited',
    settled: 'clean',
    changed: 'edited',
    conflicted: 'conflicted',
    sendStarted: 'sending',
    refused: 'refused',
    restarted: 'edited',
    retried: 'edited',
    resolved: 'edited',
    discarded: 'clean',
  },
  sending: {
    ...SENT,
    localEdit: 'sending', // what was sent is recorded, so acceptance settles only cells that still hold it
    refused: 'refused',
    replyLost: 'unknown',
    notApplied: 'edited', // it never left, or was refused with its whole batch for no fault of its own
    doubted: 'impossible',
    retried: 'sending',
  },
  unknown: {
    ...SENT,
    localEdit: 'unknown',
    refused: 'impossible',
    replyLost: 'unknown',
    notApplied: 'edited',
    doubted: 'inDoubt',
    retried: 'unknown',
  },
  refused: {
    ...NOT_SENT,
    restored: 'inDoubt', // it may have been mended and taken since
    localEdit: 'edited',
    settled: 'clean',
    changed: 'refused', // a colleague's edit of other cells does not make the refused value right
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    refused: 'refused',
    restarted: 'refused',
    retried: 'edited',
    resolved: 'edited',
    discarded: 'clean',
  },
  conflicted: {
    ...NOT_SENT,
    ...NOT_A_CREATE,
    localEdit: 'conflicted',
    settled: 'clean',
    changed: 'conflicted',
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    refused: 'impossible',
    restarted: 'conflicted',
    retried: 'conflicted',
    resolved: 'edited',
    discarded: 'clean',
  },
  inDoubt: {
    ...NOT_SENT,
    ...NOT_A_CREATE,
    localEdit: 'inDoubt',
    settled: 'inDoubt', // deleted here, but it may stand at the origin
    changed: 'inDoubt',
    conflicted: 'inDoubt', // its question waits as well; it is asked once the doubt is gone
    sendStarted: 'impossible',
    refused: 'impossible',
    restarted: 'inDoubt',
    retried: 'edited',
    resolved: 'inDoubt', // what became of the create is another question than which version is right
    discarded: 'clean',
  },
};

/** The state after an event. @throws RowsyncError `bug.assertion` where the event cannot happen in that state. */
export function nextRowState(state: RowState, event: RowEvent): RowState {
  const next = TRANSITIONS[state][event];
  assert(next !== 'impossible', `a row that is ${state} cannot be ${event}`);
  return next;
}

/** Whether an answer for the row is awaited, so that nobody but push may touch what is recorded of it. */
export function isInFlight(state: RowState): boolean {
  return state === 'sending' || state === 'unknown';
}

/**
 * The one state table of a row on its way from an edit to its acceptance by the origin. Two tables, both complete: the
 * compiler refuses a missing cell, and the tests go through all of them.
 *
 *    TRANSITIONS   state of a row's mark (`_rowsync_rows.state`) × event → next state
 *    SETTLEMENTS   kind of change × what the origin answered × what it has afterwards → what becomes of the row
 *
 * A clean row has no mark. States do not say what changed: comparing the row with its base does.
 *    clean     local = base                          refused      the origin said no; waits for an edit or a retry
 *    edited    may be pushed                         conflicted   waits for a person's decision
 *    sending   recorded, sent, and not settled yet   inDoubt      it may have happened or not; waits for a person
 *
 * 'impossible' cells assert: the code that raises such an event has lost track of the row. Pure.
 */
import { assert } from '../base/assert.ts';
import type { ChangeKind } from './push-plan.ts';

export const ROW_STATES = ['clean', 'edited', 'sending', 'refused', 'conflicted', 'inDoubt'] as const;

export type RowState = (typeof ROW_STATES)[number];

/**
 * Every event.
 *
 *    localEdit    a user changed the row                    settled      a merge left local = base
 *    changed      a merge left something to push            conflicted   a merge left a question for a person
 *    sendStarted  its values were recorded and are sent     accepted     the origin took it, and local is what was sent
 *    acceptedEdited  ... but was edited since               refused      the origin, or a check before it, said no
 *    notApplied   the origin never got it                   doubted      it may have happened or not
 *    retried      a person or a timer wants another try     resolved     no question is left about the row
 *    discarded    a person put the row back to its base     restored     in an older copy: the create may have happened
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

/** Answers come only to rows that were sent. */
const NOT_SENT = {
  accepted: 'impossible',
  acceptedEdited: 'impossible',
  notApplied: 'impossible',
  doubted: 'impossible',
} as const;

const TRANSITIONS: Readonly<Record<RowState, Next>> = {
  clean: {
    ...NOT_SENT,
    restored: 'impossible',
    localEdit: 'edited',
    settled: 'clean',
    changed: 'edited',
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    refused: 'impossible',
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
    retried: 'edited',
    resolved: 'edited',
    discarded: 'clean',
  },
  // A pull and a person leave a row alone until its answer is known.
  sending: {
    restored: 'impossible', // it is looked up anyway
    localEdit: 'sending', // what was sent is recorded, so acceptance settles only cells that still hold it
    settled: 'impossible',
    changed: 'impossible',
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    accepted: 'clean',
    acceptedEdited: 'edited',
    refused: 'refused',
    doubted: 'inDoubt',
    notApplied: 'edited',
    retried: 'sending',
    resolved: 'impossible',
    discarded: 'impossible',
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
    retried: 'edited',
    resolved: 'edited',
    discarded: 'clean',
  },
  conflicted: {
    ...NOT_SENT,
    restored: 'impossible',
    localEdit: 'conflicted',
    settled: 'clean',
    changed: 'conflicted',
    conflicted: 'conflicted',
    sendStarted: 'impossible',
    refused: 'impossible',
    retried: 'conflicted',
    resolved: 'edited',
    discarded: 'clean',
  },
  inDoubt: {
    ...NOT_SENT,
    restored: 'impossible',
    localEdit: 'inDoubt',
    settled: 'inDoubt', // deleted here, but it may be at the origin
    changed: 'inDoubt',
    conflicted: 'inDoubt', // its question waits as well; it is asked once the doubt is gone
    sendStarted: 'impossible',
    refused: 'impossible',
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

/**
 * Every end of a row that was about to be sent.
 *
 *    accepted   done as meant                           failed    the origin failed, perhaps after it made the new row
 *    matched    an insert changed a row that was there  missing   "no such row", which has to be looked up
 *    refused    nothing was done                        unsent    it never left: something stopped its batch before
 *    lost       no answer, or one that proves nothing
 */
export const ROW_ANSWERS = ['accepted', 'matched', 'missing', 'failed', 'refused', 'unsent', 'lost'] as const;

/** The origin's answer about a row. */
export type RowAnswer = (typeof ROW_ANSWERS)[number];

/**
 * Every finding.
 *
 *    there    the row; for an insert without an answer: the row with its match value, which holds all that was sent
 *    other    for an insert without an answer: the row with its match value is not as sent, or was known before;
 *             for an update without one: whether its file arrived cannot be told
 *    absent   there is no such row
 *    unclear  unreadable, without match value, or for another caller; or nothing happened, and it is not asked
 */
export const ROW_FINDINGS = ['there', 'other', 'absent', 'unclear'] as const;

/** The origin's state of a row when it is asked afterwards. */
export type RowFinding = (typeof ROW_FINDINGS)[number];

/**
 * What becomes of a row.
 *
 *    merge    merged with what the origin says; its base is the one before with what the origin accepted or holds
 *    asSent   taken, and stored as it was sent; the next pull brings what the origin made of it
 *    gone     the origin has no such row: it leaves; an edit of it is kept as a conflict, and never sent as a new row
 *    again    nothing happened there: it is planned again
 *    refuse   parked with the origin's words
 *    doubt    parked: a person has to look whether it happened
 */
export type Settlement = 'merge' | 'asSent' | 'gone' | 'again' | 'refuse' | 'doubt';

type Settlements = Readonly<Record<RowFinding, Settlement | 'impossible'>>;

const TAKEN = { there: 'merge', other: 'impossible', absent: 'asSent', unclear: 'asSent' } as const;
const NEVER = { there: 'impossible', other: 'impossible', absent: 'impossible', unclear: 'impossible' } as const;
const UNDONE = {
  refused: { ...NEVER, unclear: 'refuse' },
  unsent: { ...NEVER, unclear: 'again' },
} as const;
const MISSING = { there: 'refuse', other: 'impossible', absent: 'gone', unclear: 'again' } as const;

const SETTLEMENTS: Readonly<Record<ChangeKind, Readonly<Record<RowAnswer, Settlements>>>> = {
  insert: {
    accepted: TAKEN,
    matched: TAKEN,
    missing: NEVER,
    failed: { there: 'merge', other: 'doubt', absent: 'refuse', unclear: 'doubt' },
    ...UNDONE,
    lost: { there: 'merge', other: 'doubt', absent: 'again', unclear: 'doubt' },
  },
  update: {
    accepted: TAKEN,
    matched: NEVER,
    missing: MISSING,
    failed: NEVER,
    ...UNDONE,
    lost: { there: 'merge', other: 'doubt', absent: 'gone', unclear: 'again' },
  },
  delete: {
    accepted: { there: 'gone', other: 'impossible', absent: 'gone', unclear: 'gone' },
    matched: NEVER,
    missing: MISSING,
    failed: NEVER,
    ...UNDONE,
    lost: { there: 'again', other: 'impossible', absent: 'gone', unclear: 'again' },
  },
};

/** The settlement of a row that was sent. @throws RowsyncError `bug.assertion` for impossible cells. */
export function settlementOf(kind: ChangeKind, answer: RowAnswer, finding: RowFinding): Settlement {
  const settlement = SETTLEMENTS[kind][answer][finding];
  assert(settlement !== 'impossible', `${kind}: ${answer} cannot be found ${finding}`);
  return settlement;
}

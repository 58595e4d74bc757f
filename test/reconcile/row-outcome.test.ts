/** What becomes of a row: every act, in every state of the row. */
import { describe, expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import {
  decideAsBase,
  decideQuestions,
  decideCell,
  decideColumnsLost,
  decideDiscarded,
  decideMadeAgain,
  decideMoved,
  decideNoRow,
  decidePutBack,
  decideRemote,
  decideStray,
  finalRows,
  writtenRow,
  type OpenQuestion,
  type RowFacts,
  type RowOutcome,
} from '../../src/reconcile/row-outcome.ts';
import { ROW_EVENTS, ROW_STATES, nextRowState, type RowState } from '../../src/reconcile/row-state.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Numeric', writable: true },
  { type: 'Text', writable: false },
];

function row(text: Value, number: Value = 1, computed: Value = 'c', id = 7): Row {
  return { id, allow: 'Edit', values: [text, number, computed] };
}

const B = row('base');
const L = row('local');
const R = row('remote');

function facts(known: Partial<RowFacts> = {}): RowFacts {
  return { id: 7, base: B, local: L, state: 'edited', questions: [], ...known };
}

const QUESTION: OpenQuestion = { id: 12, kind: 'cell', column: 0 };
const RULES = { columns: COLUMNS, policy: 'ask', isSent: false, reason: 'gone' } as const;
const SAME = { newId: 7, closed: [], conflicts: [], refusal: null, evidence: null, isOffPage: false };

/** The state that something gives, or why it cannot be. */
function stateOrError(state: () => RowState): string {
  try {
    return state();
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

describe('the origin says what it has', () => {
  type Case = readonly [string, Pick<RowFacts, 'base' | 'local'>, Row | null, Partial<RowOutcome>, string, string];
  // What, versions, remote, what becomes of the values, the event without an answer, and with one.
  const CASES: readonly Case[] = [
    ['nothing new', { base: B, local: B }, B, { base: B, local: 'base' }, 'settled', 'accepted'],
    ['an edit of ours', { base: B, local: L }, B, { base: B, local: L }, 'changed', 'acceptedEdited'],
    ['an edit of theirs', { base: B, local: B }, R, { base: R, local: 'base' }, 'settled', 'accepted'],
    ['one edit on both sides', { base: B, local: R }, R, { base: R, local: 'base' }, 'settled', 'accepted'],
    ['two edits', { base: B, local: L }, R, { base: R, local: L }, 'conflicted', 'conflicted'],
    ['a row deleted here', { base: B, local: null }, B, { base: B, local: null }, 'changed', 'acceptedEdited'],
    ['a row of theirs', { base: null, local: null }, R, { base: R, local: 'base' }, 'settled', 'accepted'],
    [
      'no row, unedited',
      { base: B, local: B },
      null,
      { base: null, local: null, evidence: 'gone' },
      'settled',
      'accepted',
    ],
    [
      'no row, edited',
      { base: B, local: L },
      null,
      { base: null, local: null, evidence: 'gone' },
      'settled',
      'accepted',
    ],
    ['no row, new here', { base: null, local: L }, null, { base: null, local: L }, 'changed', 'acceptedEdited'],
  ];

  test.each(CASES)('%s', (_what, versions, remote, values) => {
    const outcome = decideRemote(facts(versions), remote, RULES);

    const { conflicts: _conflicts, state: _state, ...rest } = outcome;
    const { conflicts: _none, ...same } = SAME;
    expect(rest).toEqual({ id: 7, ...same, ...values });
  });

  test.each(
    CASES.flatMap(([what, versions, remote, , unsent, sent]) =>
      ROW_STATES.flatMap((state) => [
        { what, versions, remote, state, isSent: false, event: unsent },
        { what, versions, remote, state, isSent: true, event: sent },
      ]),
    ),
  )('$what: $state, sent: $isSent', ({ versions, remote, state, isSent, event }) => {
    const known = ROW_EVENTS.find((one) => one === event) ?? 'settled';
    // A question keeps a row waiting; one without a question left continues.
    const questions = state === 'conflicted' ? [{ id: 1, kind: 'deletedHere', column: null } as const] : [];

    expect(
      stateOrError(() => decideRemote(facts({ ...versions, state, questions }), remote, { ...RULES, isSent }).state),
    ).toBe(stateOrError(() => nextRowState(state, known)));
  });

  test.each([null, B])('a delete that was sent and is done leaves no evidence: %#', (base) => {
    const sent = facts({ base, local: null, state: 'sending' });

    expect(decideRemote(sent, null, { ...RULES, isSent: true })).toMatchObject({ evidence: null, state: 'clean' });
  });

  test('a row that both sides deleted leaves what it was last', () => {
    expect(decideRemote(facts({ local: null }), null, RULES)).toMatchObject({ evidence: 'gone' });
    expect(decideRemote(facts({ base: null, local: null, state: 'clean' }), null, RULES).evidence).toBeNull();
  });

  test('a new row continues under the id of the origin', () => {
    const created = facts({ id: -2, base: null, local: row('local', 1, null, -2), state: 'sending' });

    const outcome = decideRemote(created, row('local'), { ...RULES, isSent: true });

    expect(outcome).toMatchObject({ id: -2, newId: 7, base: row('local'), local: 'base', state: 'clean' });
  });

  test('a new row that was edited while it was created keeps the edit', () => {
    const created = facts({
      id: -2,
      base: row('sent', 1, null, -2),
      local: row('later', 1, null, -2),
      state: 'sending',
    });

    const outcome = decideRemote(created, row('sent'), { ...RULES, isSent: true });

    expect(outcome).toMatchObject({ newId: 7, local: row('later'), state: 'edited' });
    expect(decideRemote({ ...created, base: null }, row('sent'), { ...RULES, isSent: true })).toMatchObject({
      local: row('later'),
      conflicts: [{ kind: 'cell', column: 0, local: 'later', remote: 'sent', state: 'open' }],
    });
  });

  test('a lost edit lets a refused row go on', () => {
    const refused = facts({ local: row('local', 2), state: 'refused' });

    expect(decideRemote(refused, R, { ...RULES, policy: 'origin' })).toMatchObject({ state: 'edited' });
    expect(decideRemote(refused, row('base', 1, 'new'), RULES)).toMatchObject({ state: 'refused' });
  });
});

describe('a question about a cell', () => {
  const asked = facts({ state: 'conflicted', questions: [QUESTION] });

  test.each([
    ['is renewed while both sides differ', asked, R, 'ask', [], [12], 'conflicted'],
    ['is closed once both sides agree', { ...asked, local: R }, R, 'ask', [12], [], 'clean'],
    ['is closed by a policy', asked, R, 'local', [12], [null], 'edited'],
    ['is closed with its column', { ...asked, questions: [{ ...QUESTION, column: -1 }] }, B, 'ask', [12], [], 'edited'],
    ['waits behind a doubt', { ...asked, state: 'inDoubt' }, R, 'ask', [], [12], 'inDoubt'],
    ['is closed with its row', asked, null, 'ask', [12], [null], 'clean'],
  ] as const)('%s', (_what, known, remote, policy, closed, renews, state) => {
    const outcome = decideRemote(known, remote, { ...RULES, policy });

    expect({ closed: outcome.closed, renews: outcome.conflicts.map((line) => line.renews) }).toEqual({
      closed,
      renews,
    });
    expect(outcome.state).toBe(state);
  });

  test('a new one is asked beside it', () => {
    const outcome = decideRemote({ ...asked, local: row('local', 2) }, row('remote', 3), RULES);

    expect(outcome.conflicts.map(({ column, renews }) => [column, renews])).toEqual([
      [0, 12],
      [1, null],
    ]);
  });
});

test('a question about a cell stays open while the origin wins another cell', () => {
  const known = facts({ local: row('local', 1, 'mine'), state: 'conflicted', questions: [QUESTION] });

  const outcome = decideRemote(known, row('base', 1, 'theirs'), RULES);

  expect(outcome.conflicts).toMatchObject([{ column: 2, winner: 'origin', state: 'decided' }]);
  expect(outcome).toMatchObject({ closed: [], state: 'conflicted' });
});

test('a question of another kind about the row is neither renewed nor closed', () => {
  const questions = [{ id: 12, kind: 'inserted', column: null }] as const;

  const outcome = decideRemote(facts({ local: null, state: 'conflicted', questions }), R, RULES);

  expect(outcome.conflicts).toMatchObject([{ kind: 'deletedHere', state: 'open', renews: null }]);
  expect(outcome).toMatchObject({ closed: [], state: 'conflicted' });
});

describe('edits that are given up', () => {
  test.each([
    ['a cell', { base: B, local: L }, 'base', [['cell', 'base', 'local', 'base']]],
    ['a delete', { base: B, local: null }, 'base', [['deletedHere', B, null, B]]],
    ['a new row', { base: null, local: L }, null, [['inserted', null, L, null]]],
    ['a new row that is gone', { base: null, local: null }, null, [['inserted', null, 'sent', null]]],
  ] as const)('%s', (_what, versions, local, lines) => {
    const outcome = decideDiscarded(facts({ ...versions, questions: [QUESTION] }), { columns: [0], sent: 'sent' });

    expect(outcome).toMatchObject({ base: 'same', local, state: 'clean', closed: [12] });
    expect(outcome.conflicts.map((line) => [line.kind, line.base, line.local, line.remote])).toEqual(lines);
    expect(outcome.conflicts.every(({ state }) => state === 'discarded')).toBe(true);
  });

  test.each(ROW_STATES)('of a row that is %s', (state) => {
    const outcome = decideDiscarded(facts({ state }), { columns: [0], sent: null });

    expect(outcome.state).toBe(state === 'sending' ? state : 'clean');
  });
});

test('a person takes a version', () => {
  const known = facts();

  expect(decideCell({ ...known, local: L }, { column: 0, value: 'x', overwrites: false })).toEqual({
    ...SAME,
    id: 7,
    base: 'same',
    local: row('x'),
    state: 'edited',
  });
  expect(decideCell({ ...known, local: L }, { column: 0, value: 'x', overwrites: true }).conflicts).toMatchObject([
    { column: 0, local: 'local', state: 'discarded' },
  ]);
  expect(decideAsBase(known)).toMatchObject({ base: 'same', local: 'base', conflicts: [] });
  expect(decideNoRow(known, [0])).toMatchObject({ base: 'same', local: null, conflicts: [{ state: 'discarded' }] });
  expect(decideNoRow(known, null)).toMatchObject({ local: null, conflicts: [] });
  expect(decideNoRow(facts({ local: null }), [0])).toMatchObject({ local: null, conflicts: [] });
  expect(decideNoRow(facts({ base: null, local: L }), [])).toMatchObject({ conflicts: [{ kind: 'inserted' }] });
  expect(decideMadeAgain(facts({ base: null, local: null, state: 'clean' }), -3, ['x', 1, null])).toMatchObject({
    newId: -3,
    base: 'same',
    local: { id: -3, allow: null, values: ['x', 1, null] },
  });
});

test.each(ROW_STATES.flatMap((state) => ROW_EVENTS.map((event) => ({ state, event }))))(
  'only the state moves: $state + $event',
  ({ state, event }) => {
    expect(stateOrError(() => decideMoved(facts({ state }), event).state)).toBe(
      stateOrError(() => nextRowState(state, event)),
    );
  },
);

test('a row that stood under an id of the origin gets one of ours, without the rights of that one', () => {
  const stray = facts({ base: null, state: 'clean' });

  expect(decideStray(stray, -4)).toMatchObject({
    newId: -4,
    base: 'same',
    local: { id: -4, allow: null, values: L.values },
    state: 'edited',
  });
});

test('a row that stands under an id which the origin gave to another one is not merged with that', () => {
  const outcome = decideRemote(facts({ base: null }), R, RULES);

  expect(outcome).toMatchObject({ newId: 7, base: R, local: 'base', state: 'clean', conflicts: [] });
});

test.each([
  ['an edit that both sides agree on', { base: L }, 'conflicted', { closed: [12], state: 'edited' }],
  ['a question that nobody answered', {}, 'conflicted', { closed: [], state: 'conflicted' }],
  ['a question about a row that is in doubt', {}, 'inDoubt', { closed: [], state: 'inDoubt' }],
  ['a row that does not wait', {}, 'edited', { closed: [12], state: 'edited' }],
  ['a row without a question', { questions: [] }, 'conflicted', { closed: [], state: 'edited' }],
  [
    'a column that is gone',
    { questions: [{ ...QUESTION, column: -1 }] },
    'conflicted',
    { closed: [12], state: 'edited' },
  ],
  ['a row that one side has no more', { local: null }, 'conflicted', { closed: [], state: 'conflicted' }],
] as const)('what is still asked: %s', (_what, known, state, then) => {
  expect(decideQuestions(facts({ questions: [QUESTION], ...known, state }), COLUMNS)).toMatchObject(then);
});

test.each([
  ['a read-only cell', row('base', 1, 'mine'), 'base', 'clean', [['c', 'mine']]],
  ['a read-only cell beside an edit', row('local', 1, 'mine'), row('local'), 'edited', [['c', 'mine']]],
  ['a value in another spelling', row('base', '1.0'), 'base', 'clean', []],
  ['a value in another spelling beside an edit', row('local', '1.0'), row('local'), 'edited', []],
])('%s is put back', (_what, local, then, state, lines) => {
  const outcome = decidePutBack(facts({ local }), COLUMNS);

  expect(outcome).toMatchObject({ base: 'same', local: then, state });
  expect(outcome.conflicts.map((line) => [line.base, line.local])).toEqual(lines);
});

test.each<[Pick<RowOutcome, 'base' | 'local'>, Pick<RowFacts, 'base' | 'local'>]>([
  [
    { base: 'same', local: 'same' },
    { base: B, local: L },
  ],
  [
    { base: 'same', local: 'base' },
    { base: B, local: B },
  ],
  [
    { base: R, local: 'base' },
    { base: R, local: R },
  ],
  [
    { base: R, local: 'same' },
    { base: R, local: L },
  ],
  [
    { base: null, local: null },
    { base: null, local: null },
  ],
  [
    { base: 'same', local: R },
    { base: B, local: R },
  ],
])('an outcome leaves both sides of a row (%#)', (outcome, final) => {
  expect(finalRows(facts(), outcome)).toEqual(final);
});

test('an outcome writes a row, but none that stays, is copied or leaves', () => {
  expect([R, 'same', 'base', null].map((side) => writtenRow(side as RowOutcome['local']))).toEqual([
    R,
    null,
    null,
    null,
  ]);
});

test('of a row that is deleted here, no cell is put back', () => {
  expect(decidePutBack(facts({ local: null }), COLUMNS)).toMatchObject({
    local: 'same',
    conflicts: [],
    state: 'edited',
  });
});

test('edits of columns that leave the table are kept, and questions about them closed', () => {
  const outcome = decideColumnsLost(facts({ local: row('local', 2), questions: [QUESTION] }), COLUMNS, [0, 2]);

  expect(outcome).toMatchObject({ base: 'same', local: 'same', state: 'edited', closed: [12] });
  expect(outcome.conflicts).toMatchObject([{ column: 0, local: 'local', state: 'decided' }]);
});

test('a question about a cell that is put back is closed, and no other', () => {
  const questions = [QUESTION, { id: 13, kind: 'cell', column: 2 } as const];

  expect(decidePutBack(facts({ local: row('local', 1, 'mine'), questions }), COLUMNS).closed).toEqual([13]);
});

test('a column that leaves the table takes no question of another one with it, and keeps no mere spelling', () => {
  const questions = [QUESTION, { id: 13, kind: 'cell', column: 1 } as const];

  const outcome = decideColumnsLost(facts({ local: row('local', '1.0'), questions }), COLUMNS, [0, 1]);

  expect(outcome.conflicts.map(({ column }) => column)).toEqual([0]);
  expect(outcome.closed).toEqual([12]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  hasLostEdit,
  isAnswered,
  isChanged,
  mergeRow,
  type KeptConflict,
  type ConflictPolicy,
  type MergeColumn,
  type MergeDecision,
  isSameValue,
  isTakenAs,
  differingRows,
} from '../../src/reconcile/merge.ts';
import type { ColumnType, Row, Value } from '../../src/wire/schema.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Numeric', writable: true },
  { type: 'Text', writable: false },
];

/** A row with the given text and number; the third column is computed by the origin. */
function row(text: Value, number: Value = 1, computed: Value = 'c', id = 7): Row {
  return { id, allow: 'Edit', values: [text, number, computed] };
}

const B = row('base');

const L = row('local');

const R = row('remote');

type Winner = KeptConflict['winner'];

/** A line of two cells, or of two rows. */
function line(
  kind: KeptConflict['kind'],
  winner: Winner,
  sides: readonly (Row | Value)[],
  column: number | null = null,
) {
  const [base = null, local = null, remote = null] = sides;
  const state = winner === 'nobody' ? ('open' as const) : ('decided' as const);
  return { kind, winner, base, local, remote, column, state, renews: null };
}

function cell(winner: Winner): KeptConflict {
  return line('cell', winner, ['base', 'local', 'remote'], 0);
}

const AWAY: MergeDecision = { local: null, base: null, conflicts: [], state: 'settled' };

type Case = readonly [string, ConflictPolicy, Row | null, Row | null, Row | null, MergeDecision];

const UNDISPUTED: readonly (readonly [string, Row | null, Row | null, Row | null, MergeDecision])[] = [
  ['nothing changed', B, B, B, { local: B, base: B, conflicts: [], state: 'settled' }],
  ['edited here', B, L, B, { local: L, base: B, conflicts: [], state: 'changed' }],
  ['edited there', B, B, R, { local: R, base: R, conflicts: [], state: 'settled' }],
  ['edited alike on both sides', B, R, R, { local: R, base: R, conflicts: [], state: 'settled' }],
  [
    'edited in different cells',
    row('base', 1),
    row('base', 2),
    row('remote', 1),
    { local: row('remote', 2), base: row('remote', 1), conflicts: [], state: 'changed' },
  ],
  ['deleted here', B, null, B, { local: null, base: B, conflicts: [], state: 'changed' }],
  ['deleted there', B, B, null, AWAY],
  ['deleted on both sides', B, null, null, AWAY],
  ['inserted there', null, null, R, { local: R, base: R, conflicts: [], state: 'settled' }],
  [
    'inserted here',
    null,
    row('local', 1, null, -2),
    null,
    { local: row('local', 1, null, -2), base: null, conflicts: [], state: 'changed' },
  ],
  ['inserted and deleted here', null, null, null, AWAY],
  [
    'inserted here and found at the origin as it is, with what the origin computed',
    null,
    row('local', null, null, -2),
    row('local', 5, 'c', 9),
    { local: row('local', 5, 'c', 9), base: row('local', 5, 'c', 9), conflicts: [], state: 'settled' },
  ],
  ['set to nothing here', B, row(null), B, { local: row(null), base: B, conflicts: [], state: 'changed' }],
  [
    'deleted here while the origin computed another value',
    B,
    null,
    row('base', 1, 'd'),
    { local: null, base: row('base', 1, 'd'), conflicts: [], state: 'changed' },
  ],
  [
    'edited here while the origin computed another value',
    B,
    L,
    row('base', 1, 'd'),
    { local: row('local', 1, 'd'), base: row('base', 1, 'd'), conflicts: [], state: 'changed' },
  ],
  [
    'an equal number in another spelling',
    row('base', 1),
    row('base', '1.0'),
    row('base', 1),
    { local: row('base', 1), base: row('base', 1), conflicts: [], state: 'settled' },
  ],
];

const DISPUTED: readonly Case[] = [
  ['edited on both sides', 'origin', B, L, R, { local: R, base: R, conflicts: [cell('origin')], state: 'settled' }],
  ['edited on both sides', 'local', B, L, R, { local: L, base: R, conflicts: [cell('local')], state: 'changed' }],
  ['edited on both sides', 'ask', B, L, R, { local: L, base: R, conflicts: [cell('nobody')], state: 'parked' }],
  [
    'deleted here, edited there',
    'origin',
    B,
    null,
    R,
    {
      local: R,
      base: R,
      conflicts: [line('deletedHere', 'origin', [B, null, R])],
      state: 'settled',
    },
  ],
  [
    'deleted here, edited there',
    'local',
    B,
    null,
    R,
    {
      local: null,
      base: R,
      conflicts: [line('deletedHere', 'local', [B, null, R])],
      state: 'changed',
    },
  ],
  [
    'deleted here, edited there',
    'ask',
    B,
    null,
    R,
    {
      local: null,
      base: R,
      conflicts: [line('deletedHere', 'nobody', [B, null, R])],
      state: 'parked',
    },
  ],
  [
    'edited here, deleted there',
    'origin',
    B,
    L,
    null,
    { ...AWAY, conflicts: [line('deletedThere', 'origin', [B, L, null])] },
  ],
  [
    'edited here, deleted there',
    'local',
    B,
    L,
    null,
    { ...AWAY, conflicts: [line('deletedThere', 'origin', [B, L, null])] },
  ],
  [
    'edited here, deleted there',
    'ask',
    B,
    L,
    null,
    { ...AWAY, conflicts: [line('deletedThere', 'origin', [B, L, null])] },
  ],
  [
    'inserted here with a value that the origin has otherwise',
    'ask',
    null,
    row('local', 1, null, -2),
    row('remote', 1, 'c', 9),
    {
      local: row('local', 1, 'c', 9),
      base: row('remote', 1, 'c', 9),
      conflicts: [line('cell', 'nobody', [null, 'local', 'remote'], 0)],
      state: 'parked',
    },
  ],
  [
    'a computed column edited around the triggers',
    'local',
    B,
    row('base', 1, 'mine'),
    B,
    {
      local: B,
      base: B,
      conflicts: [line('cell', 'origin', ['c', 'mine', 'c'], 2)],
      state: 'settled',
    },
  ],
];

const POLICIES: readonly ConflictPolicy[] = ['origin', 'local', 'ask'];

test.each(
  UNDISPUTED.flatMap(([name, base, local, remote, expected]) =>
    POLICIES.map((policy): Case => [name, policy, base, local, remote, expected]),
  ),
)('%s, policy %s: no conflict', (_name, policy, base, local, remote, expected) => {
  expect(mergeRow({ base, local, remote }, COLUMNS, policy)).toEqual(expected);
});

test.each(DISPUTED)(
  '%s, policy %s: a conflict that keeps both values',
  (_name, policy, base, local, remote, expected) => {
    expect(mergeRow({ base, local, remote }, COLUMNS, policy)).toEqual(expected);
  },
);

test.each<[ColumnType, Value, Value, boolean]>([
  ['Numeric', 1, '1.0', true],
  ['Numeric', 1, 1n, true],
  ['Numeric', 1e20, 100_000_000_000_000_000_000n, true],
  ['Numeric', 9_007_199_254_740_993n, 9_007_199_254_740_992, false],
  ['Numeric', '0.10', 0.1, true],
  ['Numeric', '0.1000000000000000055', 0.1, false],
  ['Numeric', 0, null, false],
  ['Duration', 60, '60', true],
  ['Text', '1', '1.0', false],
  ['Text', '', null, false],
  ['Text', null, null, true],
  ['Checkbox', false, null, false],
])('%s: %s and %s are the same: %s', (type, one, other, expected) => {
  expect(isSameValue(type, one, other)).toBe(expected);
  expect(isSameValue(type, other, one)).toBe(expected);
});

const policyArbitrary = fc.constantFrom(...POLICIES);

/** Few values, so that sides often agree. */
const rowArbitrary = fc
  .tuple(fc.constantFrom('a', 'b', 'c', null), fc.constantFrom(1, 2, '1.0', null), fc.constantFrom('x', 'y'))
  .map(([text, number, computed]) => row(text, number, computed));

const versionsArbitrary = fc.record({
  base: fc.option(rowArbitrary),
  local: fc.option(rowArbitrary),
  remote: fc.option(rowArbitrary),
});

test('merging the same answer again changes nothing and finds no conflict', () => {
  fc.assert(
    fc.property(versionsArbitrary, policyArbitrary, (versions, policy) => {
      const first = mergeRow(versions, COLUMNS, policy);

      const second = mergeRow({ ...first, remote: versions.remote }, COLUMNS, policy);

      expect([second.local, second.base, second.conflicts]).toEqual([first.local, first.base, []]);
    }),
    fuzzRuns(2_000),
  );
});

test('no value is invented: every cell stood in the same column of the local row or the answer', () => {
  fc.assert(
    fc.property(versionsArbitrary, policyArbitrary, (versions, policy) => {
      const { local, base } = mergeRow(versions, COLUMNS, policy);

      const invented = COLUMNS.filter((_, column) => {
        const known = [versions.local, versions.remote].flatMap((source) => (source ? [source.values[column]] : []));
        return local !== null && !known.includes(local.values[column]);
      });
      expect(invented).toEqual([]);
      expect(base).toEqual(versions.remote);
    }),
    fuzzRuns(2_000),
  );
});

test('no edit is lost: it stands here still, is what the origin says, or is kept in a conflict', () => {
  fc.assert(
    fc.property(versionsArbitrary, policyArbitrary, (versions, policy) => {
      const { local, conflicts } = mergeRow(versions, COLUMNS, policy);

      const isDelete = versions.local === null && versions.base !== null;
      const isDeleteKept = local === null || conflicts.some(({ kind }) => kind === 'deletedHere');
      expect(!isDelete || isDeleteKept).toBe(true);
      const lost = COLUMNS.filter(({ type, writable }, column) => {
        if (versions.local === null) return false;
        const edited = versions.local.values[column] ?? null;
        const isEdit = !isSameValue(type, edited, versions.base?.values[column] ?? null);
        const isKept = conflicts.some((conflict) =>
          conflict.kind === 'cell' ? conflict.column === column && conflict.local === edited : conflict.local !== null,
        );
        const stands = local !== null && isSameValue(type, local.values[column] ?? null, edited);
        const isOfNobody = versions.remote === null && !writable; // the evidence of the delete keeps it
        return isEdit && !stands && !isKept && !isOfNobody;
      });
      expect(lost).toEqual([]);
    }),
    fuzzRuns(2_000),
  );
});

test('an answer equal to the local row settles it', () => {
  fc.assert(
    fc.property(fc.option(rowArbitrary), fc.option(rowArbitrary), policyArbitrary, (base, local, policy) => {
      const decision = mergeRow({ base, local, remote: local }, COLUMNS, policy);

      expect(decision).toEqual({ local, base: local, conflicts: [], state: 'settled' });
    }),
    fuzzRuns(2_000),
  );
});

/** What a push does once a merge has left changes: the origin takes the writable cells, and its answer becomes base. */
function pushed({ local, base, state }: MergeDecision): { local: Row | null; base: Row | null; remote: Row | null } {
  const remote = state === 'changed' ? local : base;
  return { local: state === 'changed' ? remote : local, base: remote, remote };
}

test('at rest it does not matter whether a pull came before the push', () => {
  fc.assert(
    fc.property(versionsArbitrary, fc.constantFrom('origin', 'local'), (versions, policy) => {
      const pulledFirst = mergeRow(versions, COLUMNS, policy);
      const afterPull = pushed(mergeRow({ ...pulledFirst, remote: versions.remote }, COLUMNS, policy));

      const pushedFirst = pushed(mergeRow(versions, COLUMNS, policy)); // a push merges a fresh answer itself
      const afterPush = mergeRow(pushedFirst, COLUMNS, policy);

      expect(afterPull).toEqual(pushedFirst);
      expect([afterPush.local, afterPush.base]).toEqual([pushedFirst.remote, pushedFirst.remote]);
    }),
    fuzzRuns(2_000),
  );
});

test.each<[string, ConflictPolicy, Row, Row, boolean]>([
  ['another cell was changed there', 'origin', row('local', 1), row('base', 2), false],
  ['the origin won the only edit', 'origin', row('local', 1), row('remote', 1), true],
  ['the origin won one of two edits', 'origin', row('local', 2), row('remote', 1), true],
  ['both sides wrote the same into one of two cells', 'origin', row('local', 2), row('local', 1), true],
  ['the edit won', 'local', row('local', 1), row('remote', 1), false],
  ['a person is asked', 'ask', row('local', 1), row('remote', 1), false],
  ['what nobody may write follows the origin', 'origin', row('local', 1, 'mine'), row('base', 1, 'theirs'), false],
])('an edit is gone after a merge or not: %s', (_what, policy, local, remote, expected) => {
  const versions = { base: B, local, remote };

  expect(hasLostEdit(versions, mergeRow(versions, COLUMNS, policy), COLUMNS)).toBe(expected);
});

test('an edit of a row that is gone is judged by the merge alone', () => {
  const versions = { base: B, local: L, remote: null };

  expect(hasLostEdit(versions, mergeRow(versions, COLUMNS, 'local'), COLUMNS)).toBe(false);
});

test.each<[string, Row | null, Row | null, number, boolean]>([
  ['both sides agree', B, B, 0, true],
  ['a number in another spelling', row('base', 1), row('base', '1.0'), 1, true],
  ['the edit stands', B, L, 0, false],
  ['the cell was emptied here', B, row(null), 0, false],
  ['nobody may write it', B, row('base', 1, 'mine'), 2, true],
  ['the column is gone', B, L, 3, true],
  ['the row was deleted here', B, null, 0, false],
  ['the row is gone there', null, L, 0, false],
  ['the row, whose cell was empty, was deleted here', row(null), null, 0, false],
  ['the row, whose cell is empty here, is gone there', null, row(null), 0, false],
])('a question about a cell needs no answer any more, or does: %s', (_what, base, local, index, expected) => {
  expect(isAnswered({ base, local }, index, COLUMNS)).toBe(expected);
});

test.each<[string, Row | null, Row | null, boolean]>([
  ['a new row', null, L, true],
  ['a new row without a value', null, row(null, null), true],
  ['a delete', B, null, true],
  ['a row that is on neither side', null, null, false],
  ['an edited cell', B, L, true],
  ['a cell that follows the origin', B, row('base', 1, 'mine'), false],
])('an edit waits to be pushed, or none: %s', (_what, base, local, expected) => {
  expect(isChanged(base, local, COLUMNS)).toBe(expected);
});

test('a delete here asks before it takes what a colleague wrote where the caller may not write', () => {
  const locked = COLUMNS.map((column, index) => ({ ...column, locked: index === 2 }));
  const remote = row('base', 1, 'theirs');

  expect(mergeRow({ base: B, local: null, remote }, locked, 'ask')).toEqual({
    local: null,
    base: remote,
    conflicts: [line('deletedHere', 'nobody', [B, null, remote])],
    state: 'parked',
  });
  expect(mergeRow({ base: B, local: null, remote }, COLUMNS, 'ask')).toMatchObject({ conflicts: [], state: 'changed' });
});

const shown = (id: number, value: string | null): Row => ({ id, allow: 'Edit', values: ['kept', value] });

test.each([
  ['no row', [], [shown(1, 'a')], false],
  ['rows as they were', [shown(2, 'b'), shown(1, 'a')], [shown(1, 'a'), shown(2, 'b')], false],
  ['a row that was unknown', [shown(1, 'a'), shown(2, 'b')], [shown(1, 'a')], true],
  ['a cell that changed', [shown(1, 'x')], [shown(1, 'a')], true],
  ['a cell that was emptied', [shown(1, null)], [shown(1, 'a')], true],
  ['another right', [{ ...shown(1, 'a'), allow: null }], [shown(1, 'a')], true],
] as const)('what came is news or not: %s', (_what, rows, base, expected) => {
  expect(differingRows(rows, new Map(base.map((one) => [one.id, one]))).length > 0).toBe(expected);
});

test.each([
  ['User', 'a@b.example', 'Ann <A@b.example>', true],
  ['User', 'Bob <a@b.example>', 'Ann <a@b.example>', true],
  ['User', 'a@b.example', 'Ann <a@b.example.org>', false],
  ['User', 'a@b.example', null, false],
  ['Numeric', 0.333333333333333, 0.333333, true],
  ['Numeric', 0.6666666, 0.666667, true],
  ['Numeric', -0.0000004, 0, true],
  ['Numeric', -1.0000005, '-1.000001', true],
  ['Numeric', 1.0000005, -1, false],
  ['Numeric', '123456789012345678901234.5678901', '123456789012345678901234.56789', true],
  ['Numeric', 0.3333334, 0.333335, false],
  ['Numeric', 0.333, 0.333001, false],
  ['Timestamp', '2026-07-01T10:00:00.5Z', '2026-07-01T10:00:00Z', true],
  ['Timestamp', '2026-07-01T10:00:00.5Z', '2026-07-01T10:00:01Z', false],
  ['Timestamp', '2026-07-01T10:00:00Z', '2026-07-01T10:00:00.5Z', false],
  ['Timestamp', null, '2026-07-01T10:00:00Z', false],
  ['Checkbox', null, false, true],
  ['Checkbox', null, true, false],
  ['Checkbox', false, null, false],
  ['Text', '', null, true],
  ['Text', 'a', null, false],
  ['Text', 'a', 'A', false],
] as const)('what the origin may make of a value of the type %s: %s, %s', (type, sent, there, expected) => {
  expect(isTakenAs(type, sent, there)).toBe(expected);
});

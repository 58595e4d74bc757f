import { describe, expect, test } from 'vitest';
import { mergeRow, type MergeColumn, type MergeDecision } from '../../src/reconcile/merge.ts';
import type { RowFacts, RowOutcome } from '../../src/reconcile/outcome.ts';
import {
  baseAfterAnswer,
  baseAsSent,
  decideMergedInto,
  decideSettled,
  isApplied,
  isLeftAsSent,
  settledRow,
  type BatchRow,
  type RowNews,
  type SentRow,
  type SettleRules,
} from '../../src/reconcile/push-settle.ts';
import {
  ROW_ANSWERS,
  ROW_FINDINGS,
  settlementOf,
  type RowAnswer,
  type RowFinding,
} from '../../src/reconcile/row-state.ts';
import type { ChangeKind } from '../../src/reconcile/push-plan.ts';
import type { Row, Value } from '../../src/wire/schema.ts';
import type { SentFile } from '../../src/reconcile/files.ts';

const COLUMNS: readonly MergeColumn[] = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
  { type: 'Text', writable: false, automatic: true },
];

function row(id: number, ...values: readonly Value[]): Row {
  return { id, allow: null, values };
}

const BEFORE = row(7, 'a', 'x', 'f');
/** The first cell was sent as `b`. */
const SENT: SentRow = { base: BEFORE, sent: [{ column: 0, value: 'b' }] };
const NEW: SentRow = { base: null, sent: [{ column: 0, value: 'b' }] };

test('the base as sent has the cells that were sent, and the others as they were', () => {
  expect(baseAsSent(SENT, 7, 3)).toEqual(row(7, 'b', 'x', 'f'));
  expect(baseAsSent(NEW, 9, 3)).toEqual(row(9, 'b', null, null));
});

/** What the one merge makes of a row, under the policy that the origin wins. */
function settle(before: SentRow, now: { local: Row | null; remote: Row }, isAccepted: boolean): MergeDecision {
  const base = baseAfterAnswer(before, now, { columns: COLUMNS, isAccepted, arrived: new Set() });
  return mergeRow({ base, ...now }, COLUMNS, 'origin');
}

function textOf({ local, state, conflicts }: MergeDecision): string {
  const values = local === null ? 'no row' : local.values.join();
  return `${state} ${values} ${conflicts.map((conflict) => conflict.kind).join()}`.trim();
}

describe('a row that was accepted and read back', () => {
  test.each<[string, SentRow, Row | null, Row, string]>([
    ['is settled', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), 'settled b,x,g'],
    ['takes what the origin made of the value', SENT, row(7, 'b', 'x', 'f'), row(7, 'B', 'x', 'g'), 'settled B,x,g'],
    ['keeps a cell that was edited again', SENT, row(7, 'c', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed c,x,g'],
    ['keeps an edit back to the old value', SENT, row(7, 'a', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed a,x,g'],
    ['keeps an edit of another cell', SENT, row(7, 'b', 'y', 'f'), row(7, 'b', 'x', 'g'), 'changed b,y,g'],
    ['takes what a workflow did to another cell', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'z', 'g'), 'settled b,z,g'],
    ['takes the defaults of a new row', NEW, row(-1, 'b', null, null), row(9, 'b', 'd', 'g'), 'settled b,d,g'],
    [
      'is a conflict in a cell that both sides changed',
      SENT,
      row(7, 'b', 'y', 'f'),
      row(7, 'b', 'z', 'g'),
      'settled b,z,g cell',
    ],
    [
      'is a conflict in a sent cell that both sides changed since',
      SENT,
      row(7, 'c', 'x', 'f'),
      row(7, 'd', 'x', 'g'),
      'settled d,x,g cell',
    ],
    ['is still to be deleted where it was deleted since', SENT, null, row(7, 'b', 'x', 'f'), 'changed no row'],
    ['is still to be deleted where it is new', NEW, null, row(9, 'b', null, 'g'), 'changed no row'],
    [
      'is a conflict where it was deleted, and others changed it',
      SENT,
      null,
      row(7, 'b', 'z', 'f'),
      'settled b,z,f deletedHere',
    ],
  ])('%s', (_what, before, local, remote, expected) => {
    expect(textOf(settle(before, { local, remote }, true))).toBe(expected);
  });
});

describe('a row that was looked up after its answer got lost', () => {
  test.each<[string, SentRow, Row | null, Row, string]>([
    ['was applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'b', 'x', 'g'), 'settled b,x,g'],
    ['was not applied', SENT, row(7, 'b', 'x', 'f'), row(7, 'a', 'x', 'f'), 'changed b,x,f'],
    ['was applied and edited here since', SENT, row(7, 'c', 'x', 'f'), row(7, 'b', 'x', 'g'), 'changed c,x,g'],
    ['was not applied and edited here since', SENT, row(7, 'c', 'x', 'f'), row(7, 'a', 'x', 'f'), 'changed c,x,f'],
    ['was created', NEW, row(-1, 'b', null, null), row(9, 'b', 'd', 'g'), 'settled b,d,g'],
    ['is to be deleted where it was deleted here since', NEW, null, row(9, 'b', null, 'g'), 'changed no row'],
    [
      'is a conflict where a colleague wrote another value',
      SENT,
      row(7, 'b', 'x', 'f'),
      row(7, 'c', 'x', 'g'),
      'settled c,x,g cell',
    ],
    [
      'is a conflict where it was emptied here since, and a colleague wrote',
      SENT,
      row(7, null, 'x', 'f'),
      row(7, 'c', 'x', 'g'),
      'settled c,x,g cell',
    ],
    [
      'is settled where both sides emptied it since',
      SENT,
      row(7, null, 'x', 'f'),
      row(7, null, 'x', 'g'),
      'settled ,x,g',
    ],
  ])('%s', (_what, before, local, remote, expected) => {
    expect(textOf(settle(before, { local, remote }, false))).toBe(expected);
  });
});

describe('the base of a cell with a file', () => {
  const columns: readonly MergeColumn[] = [{ type: 'Attachment', writable: true }];
  const [OLD, OURS, THEIRS] = ['old.txt;1;g1', 'a.txt;2;g2', 'b.txt;2;g3'];
  const file: SentFile = { path: '/a.txt', name: 'a.txt', type: 'text/plain', bytes: 1, sha256: '00', before: OLD };
  const before: SentRow = { base: row(7, OLD), sent: [{ column: 0, value: 'file:a.txt', file }] };

  test.each<[string, Value, Value, boolean, boolean, Value]>([
    [
      'is the request where the row stands as sent, so that the answer settles it',
      'file:a.txt',
      OURS,
      true,
      true,
      'file:a.txt',
    ],
    ['is what the origin shows where another file is asked for', 'file:b.txt', OURS, true, true, OURS],
    ['is the former one where that was put back', OLD, OURS, true, true, OLD],
    ['is the former one where the file did not arrive', 'file:a.txt', OLD, false, false, OLD],
    ['is the request where the origin took it, and shows another one', 'file:a.txt', THEIRS, false, true, 'file:a.txt'],
  ])('%s', (_what, local, remote, hasArrived, isAccepted, expected) => {
    const arrived = new Set(hasArrived ? [0] : []);
    const now = { local: row(7, local), remote: row(7, remote) };
    expect(baseAfterAnswer(before, now, { columns, isAccepted, arrived }).values).toEqual([expected]);
  });
});

test.each<[string, Value, Value, boolean]>([
  ['as it was sent', 'b', 'b', true],
  ['otherwise', 'b', 'c', false],
  ['nothing of it', 'b', null, false],
  ['nothing where nothing was sent', null, null, true],
])('whether a row holds what was sent: %s', (_what, value, there, expected) => {
  expect(isApplied([{ column: 0, value }], row(7, there, 'x', 'f'), COLUMNS, new Set())).toBe(expected);
});

test.each([
  ['as it was sent', 'update', row(7, 'b', 'x', 'f'), true],
  ['edited since', 'update', row(7, 'c', 'x', 'f'), false],
  ['deleted since', 'update', null, false],
  ['deleted, as was asked', 'delete', null, true],
  ['put back, though its delete was asked', 'delete', row(7, 'b', 'x', 'f'), false],
] as const)('whether a row is left as it was sent: %s', (_what, kind, local, expected) => {
  expect(isLeftAsSent({ ...SENT, local }, kind, COLUMNS)).toBe(expected);
});

describe('a row that was sent', () => {
  const RULES: SettleRules = { columns: COLUMNS, policy: 'origin', match: 1, limits: new Map() };
  type Case = readonly [ChangeKind, RowAnswer, RowFinding, asSent: string, editedSince: string];
  // Settlement, state, id; base and local afterwards; lines for people, a refusal, why no page vouches for it.
  const CASES: readonly Case[] = [
    [
      'insert',
      'accepted',
      'there',
      'merge: clean 9 base b,,g local base forget new',
      'merge: edited 9 base b,,g local c,,g forget new',
    ],
    [
      'insert',
      'accepted',
      'absent',
      'asSent: clean 9 base b,, local base forget new',
      'asSent: edited 9 base b,, local c,, forget new',
    ],
    [
      'insert',
      'accepted',
      'unclear',
      'asSent: clean 9 base b,, local base forget new',
      'asSent: edited 9 base b,, local c,, forget new',
    ],
    [
      'insert',
      'matched',
      'there',
      'merge: clean 9 base b,,g local base forget new',
      'merge: edited 9 base b,,g local c,,g forget new',
    ],
    [
      'insert',
      'matched',
      'absent',
      'asSent: clean 9 base b,, local base forget new',
      'asSent: edited 9 base b,, local c,, forget new',
    ],
    [
      'insert',
      'matched',
      'unclear',
      'asSent: clean 9 base b,, local base forget new',
      'asSent: edited 9 base b,, local c,, forget new',
    ],
    [
      'insert',
      'failed',
      'there',
      'merge: clean 9 base b,,g local base forget new',
      'merge: edited 9 base b,,g local c,,g forget new',
    ],
    [
      'insert',
      'failed',
      'other',
      'doubt: inDoubt -2 base same local same waits',
      'doubt: inDoubt -2 base same local same waits',
    ],
    [
      'insert',
      'failed',
      'absent',
      'refuse: refused -2 base same local same waits',
      'refuse: edited -2 base same local same',
    ],
    [
      'insert',
      'failed',
      'unclear',
      'doubt: inDoubt -2 base same local same waits',
      'doubt: inDoubt -2 base same local same waits',
    ],
    [
      'insert',
      'lost',
      'there',
      'merge: clean 9 base b,,g local base forget new',
      'merge: edited 9 base b,,g local c,,g forget new',
    ],
    [
      'insert',
      'lost',
      'other',
      'doubt: inDoubt -2 base same local same waits',
      'doubt: inDoubt -2 base same local same waits',
    ],
    ['insert', 'lost', 'absent', 'again: edited -2 base same local same', 'again: edited -2 base same local same'],
    [
      'insert',
      'lost',
      'unclear',
      'doubt: inDoubt -2 base same local same waits',
      'doubt: inDoubt -2 base same local same waits',
    ],
    [
      'update',
      'accepted',
      'there',
      'merge: clean 7 base b,x,g local base forget changed',
      'merge: edited 7 base b,x,g local c,x,g forget changed',
    ],
    [
      'update',
      'accepted',
      'absent',
      'asSent: clean 7 base b,x,f local base forget changed',
      'asSent: edited 7 base b,x,f local c,x,f forget changed',
    ],
    [
      'update',
      'accepted',
      'unclear',
      'asSent: clean 7 base b,x,f local base forget changed',
      'asSent: edited 7 base b,x,f local c,x,f forget changed',
    ],
    [
      'update',
      'missing',
      'there',
      'refuse: refused 7 base same local same waits',
      'refuse: edited 7 base same local same',
    ],
    [
      'update',
      'missing',
      'absent',
      'gone: clean 7 base none local none deletedThere forget changed evidence',
      'gone: clean 7 base none local none deletedThere forget changed evidence',
    ],
    ['update', 'missing', 'unclear', 'again: edited 7 base same local same', 'again: edited 7 base same local same'],
    [
      'update',
      'lost',
      'there',
      'merge: clean 7 base b,x,g local base forget changed',
      'merge: edited 7 base b,x,g local c,x,g forget changed',
    ],
    [
      'update',
      'lost',
      'other',
      'doubt: inDoubt 7 base same local same waits',
      'doubt: inDoubt 7 base same local same waits',
    ],
    [
      'update',
      'lost',
      'absent',
      'gone: clean 7 base none local none deletedThere forget changed evidence',
      'gone: clean 7 base none local none deletedThere forget changed evidence',
    ],
    ['update', 'lost', 'unclear', 'again: edited 7 base same local same', 'again: edited 7 base same local same'],
    [
      'delete',
      'accepted',
      'there',
      'gone: clean 7 base none local none forget changed',
      'gone: edited 7 base none local a,x,f forget changed',
    ],
    [
      'delete',
      'accepted',
      'absent',
      'gone: clean 7 base none local none forget changed',
      'gone: edited 7 base none local a,x,f forget changed',
    ],
    [
      'delete',
      'accepted',
      'unclear',
      'gone: clean 7 base none local none forget changed',
      'gone: edited 7 base none local a,x,f forget changed',
    ],
    [
      'delete',
      'missing',
      'there',
      'refuse: refused 7 base same local same waits',
      'refuse: edited 7 base same local same',
    ],
    [
      'delete',
      'missing',
      'absent',
      'gone: clean 7 base none local none forget changed',
      'gone: edited 7 base none local a,x,f forget changed',
    ],
    ['delete', 'missing', 'unclear', 'again: edited 7 base same local same', 'again: edited 7 base same local same'],
    ['delete', 'lost', 'there', 'again: edited 7 base same local same', 'again: edited 7 base same local same'],
    [
      'delete',
      'lost',
      'absent',
      'gone: clean 7 base none local none forget changed',
      'gone: edited 7 base none local a,x,f forget changed',
    ],
    ['delete', 'lost', 'unclear', 'again: edited 7 base same local same', 'again: edited 7 base same local same'],
  ];
  const KINDS = ['insert', 'update', 'delete'] as const;

  function there(kind: ChangeKind): Row {
    return { insert: row(9, 'b', null, 'g'), update: row(7, 'b', 'x', 'g'), delete: BEFORE }[kind];
  }

  function factsOf(kind: ChangeKind, isEdited: boolean): RowFacts {
    const value = isEdited ? 'c' : 'b';
    const local = {
      insert: row(-2, value, null, null),
      update: row(7, value, 'x', 'f'),
      delete: isEdited ? BEFORE : null,
    }[kind];
    const isNew = kind === 'insert';
    return { id: isNew ? -2 : 7, base: isNew ? null : BEFORE, local, state: 'sending', questions: [] };
  }

  function batchRow(kind: ChangeKind, answer: RowAnswer, more: Partial<BatchRow> = {}): BatchRow {
    const id = kind === 'insert' && answer !== 'failed' ? 9 : null;
    const known = answer === 'lost' ? null : { as: answer, id, refusal: null };
    return { id: factsOf(kind, false).id, kind, cells: kind === 'delete' ? [] : SENT.sent, answer: known, ...more };
  }

  function newsOf(kind: ChangeKind, finding: RowFinding): RowNews {
    const isFound = finding === 'there' || finding === 'other';
    return { finding, remote: isFound ? there(kind) : null, arrived: new Set() };
  }

  function outcomeText(settlement: string, outcome: RowOutcome): string {
    const version = (one: RowOutcome['local']): string =>
      one === null ? 'none' : typeof one === 'string' ? one : one.values.join();
    const { refusal, suspect, evidence } = outcome;
    const more = [
      outcome.conflicts.map(({ kind }) => kind).join(),
      refusal === null || refusal === 'forget' ? (refusal ?? '') : 'waits',
      suspect ?? '',
      evidence === null ? '' : 'evidence',
    ].filter((word) => word !== '');
    const now = `${outcome.state} ${outcome.newId} base ${version(outcome.base)} local ${version(outcome.local)}`;
    return [`${settlement}: ${now}`, ...more].join(' ');
  }

  test.each(CASES)('%s, %s, found %s: %s', (kind, answer, finding, asSent, editedSince) => {
    const texts = [false, true].map((isEdited) => {
      const settled = settledRow(batchRow(kind, answer), newsOf(kind, finding));
      return outcomeText(settled.settlement, decideSettled(factsOf(kind, isEdited), settled, RULES).outcome);
    });

    expect(texts).toEqual([asSent, editedSince]);
  });

  test('is judged in every case that can be', () => {
    const possible = KINDS.flatMap((kind) =>
      ROW_ANSWERS.flatMap((answer) => ROW_FINDINGS.map((finding) => [kind, answer, finding] as const)),
    ).filter(([kind, answer, finding]) => {
      try {
        return settlementOf(kind, answer, finding) !== null;
      } catch {
        return false;
      }
    });

    expect(CASES.map(([kind, answer, finding]) => [kind, answer, finding])).toEqual(possible);
  });

  test.each([
    ['with others, leaves in a smaller request', 4, null, 'edited', { rowsMax: 2, failureCount: 1 }],
    ['alone once, leaves alone again', 1, null, 'edited', { rowsMax: 1, failureCount: 1 }],
    ['alone twice, is parked', 1, { rowsMax: 1, failureCount: 1 }, 'refused', null],
  ] as const)('without an answer, %s', (_what, rowCount, before, state, limit) => {
    const words = { status: 0, code: null, message: 'cut', source: null };
    const lost = batchRow('insert', 'lost', { unanswered: { rowCount, words } });
    const limits = new Map(before === null ? [] : [[-2, before]]);

    const decided = decideSettled(factsOf('insert', false), settledRow(lost, newsOf('insert', 'absent')), {
      ...RULES,
      limits,
    });

    expect(decided).toMatchObject({ outcome: { state }, limit });
  });

  test.each(['accepted', 'missing', 'lost'] as const)(
    'and cannot be read after %s: no page vouches for it',
    (answer) => {
      const unreadable = { id: 7, column: 'Done', reason: 'no Checkbox' };
      const settled = settledRow(batchRow('update', answer), { ...newsOf('update', 'unclear'), unreadable });

      const { outcome } = decideSettled(factsOf('update', false), settled, RULES);

      expect(outcome.suspect).toBe('changed');
    },
  );

  test('and was merged into a known one is gone, and what it overwrote is kept', () => {
    const other: RowFacts = {
      id: 9,
      base: row(9, 'a', 'y', 'f'),
      local: row(9, 'a', 'y', 'f'),
      state: 'clean',
      questions: [],
    };
    const settled = settledRow(batchRow('insert', 'matched'), newsOf('insert', 'there'));

    const [known, mine] = decideMergedInto({ row: factsOf('insert', true), other }, settled, RULES);

    expect(known).toMatchObject({
      id: 9,
      base: there('insert'),
      local: 'base',
      conflicts: [{ kind: 'cell', base: 'a' }],
    });
    expect(mine).toMatchObject({
      id: -2,
      local: null,
      state: 'clean',
      refusal: 'forget',
      conflicts: [{ kind: 'inserted' }],
    });
  });
});

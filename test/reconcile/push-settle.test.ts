import { describe, expect, test } from 'vitest';
import type { MergeColumn } from '../../src/reconcile/merge.ts';
import type { RowFacts, RowOutcome } from '../../src/reconcile/row-outcome.ts';
import {
  decideMergedInto,
  decideSettled,
  isTaken,
  otherIdOf,
  settledRow,
  takenAsSent,
  type BatchRow,
  type RowNews,
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
  return { id, allow: null, values: Object.freeze(values) };
}

const BEFORE = row(7, 'a', 'x', 'f');
const FILE: SentFile = { path: '/a', name: 'a', type: 'text/plain', bytes: 1, sha256: '00', before: null };
/** The first cell of a row is sent as `b`. */
const SENT = [{ column: 0, value: 'b' }];

describe('a row that was sent', () => {
  const RULES: SettleRules = { columns: COLUMNS, policy: 'origin', match: 1, limits: new Map() };
  type Case = readonly [ChangeKind, RowAnswer, RowFinding, asSent: string, editedSince: string];
  // Settlement, state, id; base and local afterwards; lines for people, a refusal, why no page vouches for it: as it
  // was sent | edited since.
  const CASES = `
    insert accepted there merge: clean 9 base b,,g local base forget offPage | edited 9 base b,,g local c,,g forget offPage
    insert accepted absent asSent: clean 9 base b,, local base forget offPage | edited 9 base b,, local c,, forget offPage
    insert accepted unclear asSent: clean 9 base b,, local base forget offPage | edited 9 base b,, local c,, forget offPage
    insert matched there merge: clean 9 base b,,g local base forget offPage | edited 9 base b,,g local c,,g forget offPage
    insert matched absent asSent: clean 9 base b,, local base forget offPage | edited 9 base b,, local c,, forget offPage
    insert matched unclear asSent: clean 9 base b,, local base forget offPage | edited 9 base b,, local c,, forget offPage
    insert failed there merge: clean 9 base b,,g local base forget offPage | edited 9 base b,,g local c,,g forget offPage
    insert failed other doubt: inDoubt -2 base same local same waits | the same
    insert failed absent refuse: refused -2 base same local same waits | edited -2 base same local same
    insert failed unclear doubt: inDoubt -2 base same local same waits | the same
    insert refused unclear refuse: refused -2 base same local same waits | edited -2 base same local same
    insert unsent unclear again: edited -2 base same local same | the same
    insert lost there merge: clean 9 base b,,g local base forget offPage | edited 9 base b,,g local c,,g forget offPage
    insert lost other doubt: inDoubt -2 base same local same waits | the same
    insert lost absent again: edited -2 base same local same | the same
    insert lost unclear doubt: inDoubt -2 base same local same waits | the same
    update accepted there merge: clean 7 base b,x,g local base forget offPage | edited 7 base b,x,g local c,x,g forget offPage
    update accepted absent asSent: clean 7 base b,x,f local base forget offPage | edited 7 base b,x,f local c,x,f forget offPage
    update accepted unclear asSent: clean 7 base b,x,f local base forget offPage | edited 7 base b,x,f local c,x,f forget offPage
    update missing there refuse: refused 7 base same local same waits | edited 7 base same local same
    update missing absent gone: clean 7 base none local none deletedThere forget offPage evidence | the same
    update missing unclear again: edited 7 base same local same | the same
    update refused unclear refuse: refused 7 base same local same waits | edited 7 base same local same
    update unsent unclear again: edited 7 base same local same | the same
    update lost there merge: clean 7 base b,x,g local base forget offPage | edited 7 base b,x,g local c,x,g forget offPage
    update lost other doubt: inDoubt 7 base same local same waits | the same
    update lost absent gone: clean 7 base none local none deletedThere forget offPage evidence | the same
    update lost unclear again: edited 7 base same local same | the same
    delete accepted there gone: clean 7 base none local none forget offPage | edited 7 base none local a,x,f forget offPage
    delete accepted absent gone: clean 7 base none local none forget offPage | edited 7 base none local a,x,f forget offPage
    delete accepted unclear gone: clean 7 base none local none forget offPage | edited 7 base none local a,x,f forget offPage
    delete missing there refuse: refused 7 base same local same waits | edited 7 base same local same
    delete missing absent gone: clean 7 base none local none forget offPage | edited 7 base none local a,x,f forget offPage
    delete missing unclear again: edited 7 base same local same | the same
    delete refused unclear refuse: refused 7 base same local same waits | edited 7 base same local same
    delete unsent unclear again: edited 7 base same local same | the same
    delete lost there again: edited 7 base same local same | the same
    delete lost absent gone: clean 7 base none local none forget offPage | edited 7 base none local a,x,f forget offPage
    delete lost unclear again: edited 7 base same local same | the same
  `
    .trim()
    .split('\n')
    .map((line) => {
      const [, kind, answer, finding, settlement, asSent, now = ''] =
        /^ *(\w+) (\w+) (\w+) (\w+: )(.+) \| (.+)$/.exec(line) ?? [];
      const editedSince = now === 'the same' ? asSent : now;
      return [kind, answer, finding, `${settlement}${asSent}`, `${settlement}${editedSince}`] as unknown as Case;
    });
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
    return { id: factsOf(kind, false).id, kind, cells: kind === 'delete' ? [] : SENT, answer: known, ...more };
  }

  function newsOf(kind: ChangeKind, finding: RowFinding): RowNews {
    const isFound = finding === 'there' || finding === 'other';
    return { finding, remote: isFound ? there(kind) : null, arrived: new Set() };
  }

  test.each<[string, boolean, ChangeKind, RowAnswer, RowFinding, Partial<BatchRow>]>([
    ['an edit that was accepted and read back', true, 'update', 'accepted', 'there', {}],
    ['a new row', false, 'insert', 'accepted', 'there', {}],
    ['an edit that was not read back', false, 'update', 'accepted', 'unclear', {}],
    ['an edit whose answer got lost', false, 'update', 'lost', 'there', {}],
    ['a file', false, 'update', 'accepted', 'there', { cells: [...SENT, { column: 1, value: 'b', file: FILE }] }],
  ])('%s needs no merge if it is here as it was sent: %s', (_what, expected, kind, answer, finding, more) => {
    const settled = settledRow(batchRow(kind, answer, more), newsOf(kind, finding));

    expect(takenAsSent(settled)).toEqual(expected ? there(kind) : null);
  });

  function outcomeText(settlement: string, outcome: RowOutcome): string {
    const version = (one: RowOutcome['local']): string =>
      one === null ? 'none' : typeof one === 'string' ? one : one.values.join();
    const { refusal, isOffPage, evidence } = outcome;
    const more = [
      outcome.conflicts.map(({ kind }) => kind).join(),
      refusal === null || refusal === 'forget' ? (refusal ?? '') : 'waits',
      isOffPage ? 'offPage' : '',
      evidence === null ? '' : 'evidence',
    ].filter((word) => word !== '');
    const now = `${outcome.state} ${outcome.newId} base ${version(outcome.base)} local ${version(outcome.local)}`;
    return [`${settlement}: ${now}`, ...more].join(' ');
  }

  test.each(CASES)('%s, %s, found %s: %s', (kind, answer, finding, asSent, editedSince) => {
    const texts = [false, true].map((isEdited) => {
      const settled = settledRow(batchRow(kind, answer), newsOf(kind, finding));
      return outcomeText(settled.settlement, decideSettled(factsOf(kind, isEdited), settled, RULES));
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
    ['with others, leaves again', 4, null, 'edited'],
    ['with others again, leaves again', 4, 4, 'edited'],
    ['with another after it failed alone, leaves again', 2, 1, 'edited'],
    ['alone once, leaves again', 1, null, 'edited'],
    ['alone after it failed with others, is parked', 1, 1, 'refused'],
    ['alone twice, leaves again as it is now', 1, 1, 'edited'],
  ] as const)('without an answer, %s', (what, rowCount, before, state) => {
    const words = { status: 0, code: null, message: 'cut', source: null };
    const lost = batchRow('insert', 'lost', { unanswered: { rowCount, words } });
    const limits = new Map<number, number>(before === null ? [] : [[-2, before]]);

    const facts = factsOf('insert', what.endsWith('as it is now'));
    const decided = decideSettled(facts, settledRow(lost, newsOf('insert', 'absent')), {
      ...RULES,
      limits,
    });

    expect(decided.state).toBe(state);
  });

  test('that failed alone twice, and arrived all the same, is settled', () => {
    const words = { status: 0, code: null, message: 'cut', source: null };
    const lost = batchRow('update', 'lost', { unanswered: { rowCount: 1, words } });

    const settled = settledRow(lost, newsOf('update', 'there'));
    const decided = decideSettled(factsOf('update', false), settled, { ...RULES, limits: new Map([[7, 1]]) });

    expect(decided.state).toBe('clean');
  });

  test.each(['accepted', 'missing', 'lost'] as const)(
    'and cannot be read after %s: no page vouches for it',
    (answer) => {
      const unreadable = { id: 7, column: 'Done', reason: 'no Checkbox' };
      const settled = settledRow(batchRow('update', answer), { ...newsOf('update', 'unclear'), unreadable });

      const outcome = decideSettled(factsOf('update', false), settled, RULES);

      expect(outcome.isOffPage).toBe(true);
    },
  );

  test('takes the form that the origin gave to an accepted value', () => {
    const news = { ...newsOf('update', 'there'), remote: row(7, 'B', 'x', 'f') };
    const decided = decideSettled(factsOf('update', false), settledRow(batchRow('update', 'accepted'), news), RULES);

    expect(decided).toMatchObject({ state: 'clean', base: { values: ['B', 'x', 'f'] }, conflicts: [] });
  });

  const WORDS = { status: 503, code: null, message: 'busy', source: null };

  test.each<[ChangeKind, RowAnswer, RowFinding, Partial<RowNews>, taken: boolean, otherId: number | null]>([
    ['insert', 'accepted', 'there', {}, true, 9],
    ['insert', 'accepted', 'absent', {}, true, 9],
    ['insert', 'matched', 'unclear', {}, true, 9],
    ['insert', 'failed', 'absent', {}, false, null],
    ['insert', 'failed', 'there', {}, true, 9],
    ['insert', 'lost', 'there', {}, true, 9],
    ['insert', 'lost', 'unclear', {}, false, null],
    ['insert', 'lost', 'other', {}, false, null],
    ['update', 'accepted', 'there', {}, true, null],
    ['update', 'lost', 'there', {}, true, null],
    ['update', 'lost', 'there', { remote: BEFORE }, false, null],
    ['update', 'lost', 'absent', {}, false, null],
    ['update', 'missing', 'there', {}, false, null],
    ['delete', 'lost', 'absent', {}, true, null],
    ['delete', 'missing', 'absent', {}, true, null],
    ['delete', 'lost', 'there', {}, false, null],
  ])('%s, %s, found %s %j: taken %s, under the id %s', (kind, answer, finding, more, taken, otherId) => {
    const settled = settledRow(batchRow(kind, answer), { ...newsOf(kind, finding), ...more });

    expect(isTaken(settled, COLUMNS)).toBe(taken);
    expect(otherIdOf(settled)).toBe(otherId);
  });

  test('has no other id where it was not stored, whatever the answer names', () => {
    const answer = { as: 'failed', id: 9, refusal: null } as const;

    expect(otherIdOf(settledRow({ ...batchRow('insert', 'failed'), answer }, newsOf('insert', 'absent')))).toBeNull();
  });

  test.each<[ChangeKind, RowAnswer, RowFinding, Partial<BatchRow>, Partial<RowNews>, object]>([
    [
      'update',
      'missing',
      'there',
      { answer: { as: 'missing', id: null, refusal: WORDS } },
      {},
      { reason: 'busy', words: WORDS, hope: 'later' },
    ],
    [
      'update',
      'refused',
      'unclear',
      { answer: { as: 'refused', id: null, refusal: { ...WORDS, status: 400 } } },
      {},
      { reason: 'busy', words: { ...WORDS, status: 400 }, hope: 'never' },
    ],
    [
      'update',
      'refused',
      'unclear',
      {},
      {},
      { reason: 'the file to attach changed while it was sent', words: null, hope: 'soon' },
    ],
    [
      'insert',
      'failed',
      'absent',
      { answer: { as: 'failed', id: null, refusal: WORDS } },
      {},
      { reason: 'busy', words: WORDS, hope: 'soon' },
    ],
    [
      'insert',
      'failed',
      'unclear',
      {},
      {},
      {
        reason:
          'the origin failed when it was sent, and nothing at the origin proves that it was taken, or was not; look there, then retry or discard it',
        words: null,
        hope: 'never',
      },
    ],
    [
      'insert',
      'lost',
      'unclear',
      { unanswered: { rowCount: 2, words: WORDS } },
      { why: 'so' },
      { reason: 'no answer came when it was sent (busy), and so; look there, then retry or discard it', words: WORDS },
    ],
    [
      'insert',
      'lost',
      'other',
      {},
      { why: 'so' },
      {
        reason:
          'no answer came when it was sent, and row 9 has its match value, but not all that was sent; look there, then retry or discard it',
      },
    ],
    [
      'update',
      'lost',
      'other',
      {},
      { why: 'so' },
      { reason: 'no answer came when it was sent, and so; look there, then retry or discard it' },
    ],
  ])('says why it waits: %s, %s, %s', (kind, answer, finding, sent, news, refusal) => {
    const settled = settledRow(batchRow(kind, answer, sent), { ...newsOf(kind, finding), ...news });

    expect(decideSettled(factsOf(kind, false), settled, RULES).refusal).toMatchObject(refusal);
  });

  test.each([
    ['forgets why it waited once it is as sent', there('update'), 'forget'],
    ['keeps why it waited while it is not', BEFORE, null],
  ] as const)('got no answer, and %s', (_what, remote, refusal) => {
    const lost = batchRow('update', 'lost', { unanswered: { rowCount: 2, words: WORDS } });
    const settled = settledRow(lost, { ...newsOf('update', 'there'), remote });

    const outcome = decideSettled(factsOf('update', false), settled, RULES);
    expect(outcome.refusal).toBe(refusal);
    expect(outcome.state).toBe(remote === BEFORE ? 'edited' : 'clean');
  });

  test.each([
    ['says that it overwrote a row with its match value', 'matched', [{ column: 1, base: null, winner: 'local' }]],
    ['says nothing of that where the row is new', 'accepted', []],
  ] as const)('%s', (_what, answer, conflicts) => {
    const cells = [...SENT, { column: 1, value: 'm' }];
    const settled = settledRow(batchRow('insert', answer, { cells }), newsOf('insert', 'absent'));

    expect(decideSettled(factsOf('insert', false), settled, RULES).conflicts).toMatchObject(conflicts);
  });

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
  describe('and was merged into a known one', () => {
    const columns: readonly MergeColumn[] = [
      ...COLUMNS.slice(0, 2),
      { type: 'Numeric', writable: true },
      { type: 'Attachment', writable: true },
    ];
    const cellsOf = (text: string, number: string): BatchRow['cells'] => [
      { column: 0, value: text },
      { column: 1, value: 'm' },
      { column: 2, value: number },
      { column: 3, value: 'file:a', file: FILE },
    ];
    const base = row(9, 'a', 'M', 1, null);
    const asked = { id: 1, kind: 'cell', column: 0 } as const;
    const asAsked = { id: 2, kind: 'cell', column: 2 } as const;

    function merged(
      mine: Row,
      finding: RowFinding,
      remote: Row | null,
      { known = row(9, 'a', 'M', 2, null), cells = cellsOf('b', '1.0'), policy = RULES.policy } = {},
    ): readonly RowOutcome[] {
      const other = { id: 9, base, local: known, state: 'conflicted', questions: [asked, asAsked] } as const;
      const news = { ...newsOf('insert', finding), remote };
      return decideMergedInto(
        { row: { ...factsOf('insert', false), local: mine }, other },
        settledRow(batchRow('insert', 'matched', { cells }), news),
        { ...RULES, columns, policy },
      );
    }

    test('keeps what was overwritten, but for the match value, files and other spellings, and closes the question about it', () => {
      const [known] = merged(row(-2, 'b', 'm', 1, 'file:a'), 'there', row(9, 'b', 'm', 1, 'a;1;g'));

      expect(known?.conflicts).toMatchObject([{ kind: 'cell', column: 0, base: 'a', winner: 'local' }]);
      expect(known).toMatchObject({
        base: { values: ['b', 'm', 1, 'a;1;g'] },
        closed: [asked.id],
        state: 'conflicted',
      });
    });

    test.each([
      ['of that cell is closed, and asked anew', cellsOf('b', '1.0'), [asked.id]],
      ['of every such cell is closed', cellsOf('b', '5'), [asked.id, asAsked.id]],
      ['stays where nothing was overwritten', cellsOf('a', '1.0'), []],
    ])('and a question %s', (_what, cells, closed) => {
      const [known] = merged(row(-2, 'b', 'm', 1, 'file:a'), 'absent', null, {
        known: row(9, 'c', 'M', 3, null),
        cells,
        policy: 'ask',
      });

      expect(known?.closed).toEqual(closed);
    });

    test('is as sent where it was not read back', () => {
      const [known] = merged(row(-2, 'b', 'm', 1, 'file:a'), 'absent', null);

      expect(known?.base).toEqual(row(9, 'b', 'm', '1.0', 'file:a'));
    });

    test.each([
      ['is removed', row(-2, 'b', 'm', 1, 'file:a'), []],
      ['is kept where it was edited since', row(-2, 'c', 'm', 1, 'file:a'), [{ kind: 'inserted' }]],
    ])('%s', (_what, local, conflicts) => {
      const [, mine] = merged(local, 'absent', null);

      expect(mine?.conflicts).toMatchObject(conflicts);
      expect(mine?.conflicts).toHaveLength(conflicts.length);
    });
  });
});

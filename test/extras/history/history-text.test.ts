/**
 * Entries of the history in words: what, who, why, and when as exactly as it is known; safe on a terminal.
 */
import { describe, expect, test } from 'vitest';
import type { HistoryEntry } from '../../../src/extras/history/entries.ts';
import {
  cellLines,
  cellsText,
  headText,
  isTaken,
  kindText,
  listJson,
  whenText,
} from '../../../src/extras/history/history-text.ts';

const ENTRY: HistoryEntry = {
  id: 7,
  table: 'Note',
  rowId: 3,
  wasRowId: null,
  kind: 'update',
  at: '2026-11-25T08:10:00Z',
  notBefore: '2026-11-25T08:00:00Z',
  notAfter: '2026-11-25T08:10:00Z',
  originAt: null,
  originBy: null,
  stamped: null,
  cause: 'pull',
  runId: 2,
  before: '{"Title":"a"}',
  after: '{"Title":"b"}',
  note: null,
};

describe('the first line', () => {
  test.each<[Partial<HistoryEntry>, string]>([
    [{ originBy: 'Ann <a@x.org>' }, 'changed by Ann <a@x.org>, found at the origin (run 2)'],
    [{ cause: 'edit', originBy: 'Ann', runId: null }, 'changed, edited here'],
    [
      { kind: 'insert', cause: 'push', wasRowId: -4 },
      'new (row -4 until the origin gave it this id), by a push (run 2)',
    ],
    [
      { kind: 'insert', cause: 'push', wasRowId: -4, originBy: 'Ann <a@x.org>' },
      'new (row -4 until the origin gave it this id), by Ann <a@x.org>, by a push (run 2)',
    ],
    [
      { kind: 'insert', cause: 'edit', runId: null, wasRowId: 9, rowId: -5 },
      'new (in place of the deleted row 9), edited here',
    ],
    [{ kind: 'update', cause: 'push', isAnswer: 1 }, 'the edit taken by the origin (run 2)'],
    [{ kind: 'insert', cause: 'push', isAnswer: 1 }, 'new, by a push (run 2)'],
    [{ kind: 'delete', cause: 'push', rowId: -4 }, 'goes on under the id that the origin gave it'],
    [{ kind: 'delete', cause: 'edit', rowId: -4, runId: null }, 'deleted, edited here'],
    [{ kind: 'delete', cause: 'filter' }, 'deleted, by the filter of the table (rows) (run 2)'],
    [{ originBy: '\u001b[31mred' }, 'changed by \\u001b[31mred, found at the origin (run 2)'],
    [{ kind: '\u0007', cause: '\u0007' }, '\\u0007, \\u0007 (run 2)'],
  ])('%j', (entry, text) => {
    expect(headText({ ...ENTRY, ...entry })).toBe(text);
  });
});

describe('the time', () => {
  const span = 'between 2026-11-25T08:00:00Z and 2026-11-25T08:10:00Z';
  test.each<[Partial<HistoryEntry>, string]>([
    [{}, `${span}, at least one change`],
    [{ stamped: 1 }, `${span}, at least one change (the origin's stamp)`],
    [{ stamped: 0 }, `${span}, at least one change; not stamped by the origin`],
    [{ notBefore: null }, 'not after 2026-11-25T08:10:00Z, at least one change'],
    [{ notBefore: null, notAfter: null }, 'not after 2026-11-25T08:10:00Z, at least one change'],
    [{ cause: 'edit' }, span],
    [{ cause: 'push', isAnswer: 1 }, span],
    [{ notBefore: ENTRY.at }, `at ${ENTRY.at}`],
  ])('%j', (entry, text) => {
    expect(whenText({ ...ENTRY, ...entry })).toBe(text);
  });
});

test('only an update that the origin answered to says that an edit was taken', () => {
  expect([isTaken({ ...ENTRY, isAnswer: 1 }), isTaken({ ...ENTRY, isAnswer: 0 }), isTaken(ENTRY)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(isTaken({ ...ENTRY, kind: 'insert', isAnswer: 1 })).toBe(false);
});

test.each([
  ['insert', 'Title: "b"'],
  ['delete', 'Title: "a"'],
  ['update', 'Title: "a" → "b"'],
])('cells of an entry %s', (kind, text) => {
  expect(cellsText({ ...ENTRY, kind })).toBe(text);
});

test('a value is cut where it is long, and safe on a terminal; an empty cell is NULL', () => {
  const cells = [{ column: 'A\u001b', before: 'null', after: `"${'x'.repeat(500)}"` }];

  const [line = ''] = cellLines('update', cells, '  ');

  expect(line).toMatch(/^ {2}A\\u001b: NULL → "x+…$/u);
  expect(line.length).toBeLessThan(230);
});

test('every kind has its words, also one of a later version', () => {
  expect(['insert', 'pruned', 'restored', 'forgotten'].map(kindText)).toEqual([
    'new',
    'older history pruned',
    'older copy restored',
    'values removed on request',
  ]);
  expect(kindText('later')).toBe('later');
});

test.each([
  ['none', [], '{"a":1,"rows":[]}'],
  ['one', [['{"x":1}']], '{"a":1,"rows":[\n{"x":1}]}'],
  ['two, one of them in pieces', [['{"x":', '1}'], ['{}']], '{"a":1,"rows":[\n{"x":1},\n{}]}'],
] as const)('a list of %s is JSON with an item a line', (_what, items, text) => {
  const whole = [...listJson({ a: 1 }, 'rows', items)].join('');

  expect(whole).toBe(text);
  expect(JSON.parse(whole)).toMatchObject({ a: 1 });
});

/**
 * The edit that takes a change back: never over what changed since, and never with a value that cannot be written.
 */
import { describe, expect, test } from 'vitest';
import type { ExactEntry } from '../../../src/extras/history/exact-entries.ts';
import {
  authorsOf,
  inverseOf,
  netChanges,
  type InverseFacts,
  type NetChange,
  type WritableColumn,
} from '../../../src/extras/history/undo-plan.ts';
import type { CellChange, Exact, Version } from '../../../src/replica/history-cells.ts';

const cell = (index: number, before: Exact, after: Exact): CellChange => ({ index, before, after });

function entry(
  rowId: number,
  kind: ExactEntry['kind'],
  cells: readonly CellChange[],
  extra: Partial<ExactEntry> = {},
): ExactEntry {
  return { rowId, kind, wasId: null, by: null, cells, ...extra };
}

describe('the net change of a row', () => {
  test('is from what was first to what is last; what came and went, or came back, is none', () => {
    const changes = netChanges(
      [
        entry(1, 'update', [cell(0, 'a', 'b'), cell(1, 1n, 2n)]),
        entry(1, 'update', [cell(0, 'b', 'c'), cell(1, 2n, 1n)]),
        entry(2, 'insert', [cell(0, null, 'x')]),
        entry(2, 'delete', [cell(0, 'x', null)]),
        entry(4, 'update', [cell(0, 1n, 1)]),
      ],
      new Map(),
    );

    expect(changes.map(({ rowId, kind, cells }) => ({ rowId, kind, cells }))).toEqual([
      { rowId: 1, kind: 'update', cells: [cell(0, 'a', 'c')] },
      { rowId: 4, kind: 'update', cells: [cell(0, 1n, 1)] },
    ]);
  });

  test('of a new row goes on under the id that the origin gave it', () => {
    const changes = netChanges(
      [
        entry(-1, 'insert', [cell(0, null, 'mine')]),
        entry(-1, 'delete', [cell(0, 'mine', null)]),
        entry(9, 'insert', [cell(0, null, 'mine'), cell(1, null, 5n)], { wasId: -1 }),
      ],
      new Map([[-1, 9]]),
    );

    expect(changes).toMatchObject([{ rowId: 9, kind: 'insert', cells: [cell(0, null, 'mine'), cell(1, null, 5n)] }]);
  });

  test('of a row that was there before holds nothing of its new id', () => {
    const renumbered = entry(9, 'insert', [cell(0, null, 'x')], { wasId: -1 });
    const idNow = new Map([[-1, 9]]);

    expect(netChanges([entry(-1, 'delete', []), renumbered], idNow)).toEqual([]);
    expect(netChanges([entry(-1, 'update', [cell(0, 'w', 'x')]), renumbered], idNow)).toMatchObject([
      { rowId: 9, kind: 'update', cells: [cell(0, 'w', 'x')] },
    ]);
  });

  test('names the last author of each cell that was changed at the origin', () => {
    const [found] = netChanges(
      [
        entry(1, 'update', [cell(0, 'a', 'b'), cell(1, 1n, 2n)], { by: 'Ann' }),
        entry(1, 'update', [cell(0, 'b', 'c')], { by: 'Bob' }),
        entry(1, 'update', [cell(2, 'x', 'y')]),
      ],
      new Map(),
    );

    expect([...(found?.authors ?? [])]).toEqual([
      [0, 'Bob'],
      [1, 'Ann'],
    ]);
  });
});

const COLUMNS: readonly WritableColumn[] = [
  { index: 0, name: 'Title', isFile: false, given: 'never' },
  { index: 1, name: 'Photo', isFile: true, given: 'never' },
  { index: 2, name: 'No', isFile: false, given: 'always' },
  { index: 3, name: 'Owner', isFile: false, given: 'if empty' },
];

function change(kind: NetChange['kind'], cells: readonly CellChange[]): NetChange {
  return { rowId: 1, kind, cells, authors: new Map() };
}

function facts(today: Version, extra: Partial<InverseFacts> = {}): InverseFacts {
  return { columns: COLUMNS, today, isForgotten: false, same: null, valueNow: (_column, value) => value, ...extra };
}

const none = { edit: null, refusals: [] };
const refused = (why: string, column: string | null = null) => ({ edit: null, refusals: [{ rowId: 1, column, why }] });

describe('an update is taken back', () => {
  const changed = change('update', [cell(0, 'was', 'is')]);

  test.each([
    ['where the cell is as the change left it', changed, ['is', null, null, null], 'was', []],
    ['nowhere where it is back already', changed, ['was', null, null, null], null, []],
    ['not over what changed since', changed, ['other', null, null, null], null, ['Title changed since']],
    ['not in a row that is gone', changed, null, null, ['null the row was deleted since']],
    ['not in a cell that only the origin writes', change('update', [cell(7, 'a', 'b')]), null, null, []],
    [
      'not with a file',
      change('update', [cell(1, 'f', null)]),
      [null, null, null, null],
      null,
      ['Photo a file has to be attached again'],
    ],
    [
      'not with what is no text',
      change('update', [cell(0, { raw: 'ff' }, 'is')]),
      ['is', null, null, null],
      null,
      ['Title the value was no text'],
    ],
  ] as const)('%s', (_what, given, today, edited, refusals) => {
    const found = inverseOf(given, facts(today));

    expect(found.edit?.cells.map((it) => it.edited) ?? null).toEqual(edited === null ? null : [edited]);
    expect(found.refusals.map(({ column, why }) => `${column} ${why}`)).toEqual(refusals);
  });

  test('cell by cell: one that cannot be taken back keeps no other', () => {
    const found = inverseOf(
      change('update', [cell(0, 'was', 'is'), cell(3, 'me', 'you')]),
      facts(['is', null, null, 'they']),
    );

    expect(found).toEqual({
      edit: { rowId: 1, kind: 'update', cells: [{ column: 'Title', today: 'is', edited: 'was' }] },
      refusals: [{ rowId: 1, column: 'Owner', why: 'changed since' }],
    });
  });
});

describe('a new row is deleted', () => {
  const made = change('insert', [cell(0, null, 'mine'), cell(3, null, null)]);

  test('where nobody changed it; what the origin gave it is no change', () => {
    expect(inverseOf(made, facts(['mine', null, null, 'the caller']))).toEqual({
      edit: {
        rowId: 1,
        kind: 'delete',
        cells: [
          { column: 'Title', today: 'mine', edited: null },
          { column: 'Owner', today: 'the caller', edited: null },
        ],
      },
      refusals: [],
    });
  });

  test.each([
    ['not where a cell changed since', made, ['other', null, null, null], refused('changed since', 'Title')],
    ['not where a value was added since', made, ['mine', 'photo', null, null], refused('changed since', 'Photo')],
    [
      'not where a given value was changed since',
      change('insert', [cell(0, null, 'mine'), cell(3, null, 'me')]),
      ['mine', null, null, 'you'],
      refused('changed since', 'Owner'),
    ],
    ['nowhere where it is gone already', made, null, none],
  ] as const)('%s', (_what, given, today, expected) => {
    expect(inverseOf(given, facts(today))).toEqual(expected);
  });
});

describe('a deleted row is made again', () => {
  const gone = change('delete', [cell(0, 'was', null), cell(1, 'f', null), cell(2, 7n, null), cell(3, 'me', null)]);

  test('with its values, but those that the origin gives and files', () => {
    expect(inverseOf(gone, facts(null))).toEqual({
      edit: {
        rowId: 1,
        kind: 'insert',
        cells: [
          { column: 'Title', today: null, edited: 'was' },
          { column: 'Owner', today: null, edited: 'me' },
        ],
      },
      refusals: [{ rowId: 1, column: 'Photo', why: 'a file has to be attached again' }],
    });
  });

  test.each([
    ['not where it exists again', ['x', null, null, null], {}, refused('the row exists again')],
    ['not where values were forgotten', null, { isForgotten: true }, refused('some of its values were forgotten')],
    ['nowhere where another row is the same', null, { same: { rowId: 8, values: ['was', 'f', 7n, 'you'] } }, none],
    [
      'not where another row took its place with another value',
      null,
      { same: { rowId: 8, values: ['is', 'f', 7n, 'you'] } },
      refused('another value in row 8, which took its place', 'Title'),
    ],
  ] as const)('%s', (_what, today, extra, expected) => {
    expect(inverseOf(gone, facts(today, extra))).toEqual(expected);
  });
});

test('the authors of an edit are those of the cells that it takes back, and of a new row all', () => {
  const authors = new Map([
    [0, 'Ann'],
    [3, 'Bob'],
    [9, 'Cleo'],
  ]);
  const edit = { rowId: 1, kind: 'update', cells: [{ column: 'Title', today: 'b', edited: 'a' }] } as const;

  expect(authorsOf({ ...change('update', []), authors }, edit, COLUMNS)).toEqual(['Ann']);
  expect(authorsOf({ ...change('insert', []), authors }, { ...edit, kind: 'delete', cells: [] }, COLUMNS)).toEqual([
    'Ann',
    'Bob',
  ]);
});

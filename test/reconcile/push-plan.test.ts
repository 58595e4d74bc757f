import fc from 'fast-check';
import { editedColumns, type RowVersion } from '../../src/reconcile/merge.ts';
import { describe, expect, test } from 'vitest';
import {
  ADDS_FORBIDDEN,
  BATCH_LIMITS,
  planPush,
  type BatchLimits,
  type ComparedRow,
  type MeasureFile,
  type PlannedBatch,
  type PushColumn,
  type PushPlan,
  type PushTable,
} from '../../src/reconcile/push-plan.ts';
import { TYPE_RULES, type Given } from '../../src/wire/column-types.ts';
import type { ColumnType, Row, Value } from '../../src/wire/schema.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const TITLE: PushColumn = { name: 'Title', type: 'Text', writable: true, width: null };
const COLUMNS: readonly PushColumn[] = [
  { name: 'Code', type: 'Text', writable: true, width: null },
  TITLE,
  { name: 'Count', type: 'Numeric', writable: true, width: null },
  { name: 'Total', type: 'Numeric', writable: false, width: null },
];
const MATCHED: PushTable = { columns: COLUMNS, match: 0, addRefusal: null };
const UNMATCHED: PushTable = { ...MATCHED, match: null };

/** `file:<bytes>` has so many bytes. */
function measureFile(value: string): ReturnType<MeasureFile> {
  const bytes = Number(value.slice('file:'.length));
  return Number.isInteger(bytes) ? { bytes } : { problem: 'no such file' };
}

function row(id: number, ...values: readonly Value[]): Row {
  return { id, allow: null, values: COLUMNS.map((_, index) => values[index] ?? null) };
}

function inserted(id: number, ...values: readonly Value[]): RowVersion {
  return { id, base: null, local: row(id, ...values) };
}

function updated(id: number, before: readonly Value[], after: readonly Value[]): RowVersion {
  return { id, base: row(id, ...before), local: row(id, ...after) };
}

function deleted(id: number, ...values: readonly Value[]): RowVersion {
  return { id, base: row(id, ...values), local: null };
}

/** Rows with the columns in which they were edited. */
function edited(rows: readonly RowVersion[], { columns }: PushTable): readonly ComparedRow[] {
  return rows.map((version) => {
    const { base, local } = version;
    const kind = base === null ? 'insert' : local === null ? 'delete' : 'update';
    return { ...version, kind, columns: local === null ? [] : editedColumns(base, local, columns), problems: [] };
  });
}

function plan(rows: readonly RowVersion[], table: PushTable = MATCHED, smaller: Partial<BatchLimits> = {}): PushPlan {
  let made = 0;
  const limits = { ...BATCH_LIMITS, ...smaller };
  return planPush(edited(rows, table), table, { limits, makeMatch: () => `made-${(made += 1)}`, measureFile });
}

/** Batches in a short form: `upsert 7[0=a,1=b] …`. */
function said(batches: readonly PlannedBatch[]): readonly string[] {
  return batches.map(({ method, rows }) => {
    const texts = rows.map(
      ({ id, cells }) => `${id}[${cells.map((cell) => `${cell.column}=${cell.value}`).join(',')}]`,
    );
    return `${method} ${texts.join(' ')}`;
  });
}

describe('a plan', () => {
  test.each<[string, PushTable, readonly RowVersion[], readonly string[]]>([
    ['of nothing is empty', MATCHED, [], []],
    ['leaves out a row that is as the origin knows it', MATCHED, [updated(1, ['a', 'x'], ['a', 'x'])], []],
    [
      'leaves out a change of a column that nobody may write',
      MATCHED,
      [updated(1, ['a', 'x', 1, 5], ['a', 'x', 1, 6])],
      [],
    ],
    [
      'sends changed cells, by id also where a match column is configured',
      MATCHED,
      [updated(1, ['a', 'x', 1], ['a', 'y', 1])],
      ['update 1[1=y]'],
    ],
    ['sends a null as null', MATCHED, [updated(1, ['a', 'x', 1], ['a', null, 1])], ['update 1[1=null]']],
    ['takes another spelling of a number for the same', MATCHED, [updated(1, ['a', 'x', 1.5], ['a', 'x', '1.50'])], []],
    [
      'sends inserts by their match value',
      MATCHED,
      [updated(1, ['a', 'x'], ['a', 'y']), inserted(-1, 'n', 'new')],
      ['update 1[1=y]', 'upsert -1[0=n,1=new]'],
    ],
    ['gives an insert without a match value one', MATCHED, [inserted(-1, null, 'new')], ['upsert -1[0=made-1,1=new]']],
    [
      'gives an insert with an empty match value one',
      MATCHED,
      [inserted(-1, '', 'new')],
      ['upsert -1[0=made-1,1=new]'],
    ],
    ['keeps the order of the rows', MATCHED, [inserted(-1, 'a'), inserted(-2, 'b')], ['upsert -1[0=a] -2[0=b]']],
    ['updates by id a row whose match value moved', MATCHED, [updated(1, ['a', 'x'], ['b', 'x'])], ['update 1[0=b]']],
    [
      'updates by id a row that loses its match value',
      MATCHED,
      [updated(1, ['a', 'x'], [null, 'x'])],
      ['update 1[0=null]'],
    ],
    [
      'updates by id a row that never had a match value',
      MATCHED,
      [updated(1, [null, 'x'], [null, 'y'])],
      ['update 1[1=y]'],
    ],
    [
      'updates by id, and creates, where no match column is configured',
      UNMATCHED,
      [updated(1, ['a', 'x'], ['b', 'y']), inserted(-1, 'n')],
      ['update 1[0=b,1=y]', 'create -1[0=n]'],
    ],
    ['creates a row without any value', UNMATCHED, [inserted(-1)], ['create -1[]']],
    ['makes up a match value for a row without any value', MATCHED, [inserted(-1)], ['upsert -1[0=made-1]']],
    ['deletes by id', MATCHED, [deleted(2, 'a'), deleted(3, 'b')], ['delete 2[] 3[]']],
  ])('%s', (_what, table, rows, expected) => {
    const { batches, unsendable } = plan(rows, table);

    expect(said(batches)).toEqual(expected);
    expect(unsendable.size).toBe(0);
  });

  test('stores a made match value with its row', () => {
    const { batches } = plan([inserted(-1, null, 'new'), inserted(-2, 'own', 'new')]);

    expect(batches.flatMap(({ rows }) => rows.map(({ madeMatch }) => madeMatch))).toEqual(['made-1', null]);
  });

  test('makes up a match value only where one that is unlikely to come twice has room', () => {
    const wide = [100, 36, 20, 16, 15, 1, 0].map((width) => {
      const columns = COLUMNS.map((column, index) => (index === 0 ? { ...column, width } : column));
      const options = {
        limits: BATCH_LIMITS,
        makeMatch: (charsMax: number): string => `at most ${charsMax}`,
        measureFile,
      };
      const { batches, unsendable } = planPush(
        edited([inserted(-1, null, 'new')], MATCHED),
        { ...MATCHED, columns },
        options,
      );
      return [...said(batches), ...unsendable.values().map(({ reason }) => reason)];
    });

    expect(wide.flat()).toEqual([
      ...[100, 36, 20, 16].map((width) => `upsert -1[0=at most ${width},1=new]`),
      ...[15, 1].map(() => '"Code" is too narrow for a value made up here: fill it'),
      'upsert -1[0=at most Infinity,1=new]',
    ]);
  });

  test('makes up no match value for a column that the origin numbers itself', () => {
    const columns = COLUMNS.map((column, index) => (index === 0 ? { ...column, type: 'Autonumber' as const } : column));

    expect(said(plan([inserted(-1, null, 'new')], { ...MATCHED, columns }).batches)).toEqual(['create -1[1=new]']);
  });

  test.each<[string, PushTable, readonly RowVersion[], readonly number[]]>([
    ['an insert where the user may add no rows', { ...MATCHED, addRefusal: ADDS_FORBIDDEN }, [inserted(-1, 'a')], [-1]],
    ['a text in a column of numbers', MATCHED, [updated(1, ['a', 'x', 1], ['a', 'x', 'many'])], [1]],
    ['an insert of which no value may be sent', UNMATCHED, [inserted(-1, null, null, null, 7)], [-1]],
    [
      'an insert of which only a value made up here could be sent',
      MATCHED,
      [inserted(-1, null, null, null, 7), inserted(-2, 'a', null, null, 7)],
      [-1],
    ],
  ])('refuses %s, and nothing else', (_what, table, rows, expected) => {
    const { batches, unsendable } = plan(rows, table);

    expect([...unsendable.keys()]).toEqual(expected);
    const sent = batches.flatMap((batch) => batch.rows.map(({ id }) => id));
    expect(sent.toSorted((a, b) => a - b)).toEqual(
      rows
        .map(({ id }) => id)
        .filter((id) => !expected.includes(id))
        .toSorted((a, b) => a - b),
    );
    expect(unsendable.values().some(({ reason }) => reason.includes('many'))).toBe(false);
  });

  test('sends one of two inserts with the same match value, whatever its case, and leaves the other for the next plan', () => {
    const { batches, unsendable, left } = plan([inserted(-1, 'a'), inserted(-2, 'A'), inserted(-3, 'b')]);

    expect(said(batches)).toEqual(['upsert -1[0=a] -3[0=b]']);
    expect(unsendable.size).toBe(0);
    expect(left).toEqual([-2]);
  });

  test('cuts batches by rows', () => {
    const rows = Array.from({ length: 1001 }, (_, index) => inserted(-1 - index, `c${index}`));

    expect(plan(rows).batches.map((batch) => batch.rows.length)).toEqual([500, 500, 1]);
  });

  test('cuts batches by bytes, and sends alone a row that is too large for any', () => {
    const rows = [10, 10, 10_000, 10, 10].map((length, index) => inserted(-1 - index, `c${index}`, 'x'.repeat(length)));

    expect(plan(rows, MATCHED, { rowsMax: 500, bytesMax: 400 }).batches.map((batch) => batch.rows.length)).toEqual([
      2, 1, 2,
    ]);
  });

  test('cuts at the very byte: 32 for a row, 8 for a cell, 3 for each character of its name and text, 24 for a number', () => {
    // 32 + (4 · 3 + 8) + 3 and 32 + (4 · 3 + 8) + 3 + (5 · 3 + 8) + 24
    const rows = [inserted(-1, 'a'), inserted(-2, 'b', null, 7)];

    expect([157, 156].map((bytesMax) => plan(rows, MATCHED, { rowsMax: 9, bytesMax }).batches.length)).toEqual([1, 2]);
  });

  test('leaves a new row whose match value is on its way, and sends the others', () => {
    const options = {
      limits: BATCH_LIMITS,
      makeMatch: () => 'made',
      measureFile,
      isLeaving: (key: string) => key === 'a',
    };
    const { batches, left } = planPush(edited([inserted(-1, 'A'), inserted(-2, 'b')], MATCHED), MATCHED, options);

    expect(said(batches)).toEqual(['upsert -2[0=b]']);
    expect(left).toEqual([-1]);
  });

  test('takes the value of the match column for the match value, wherever that column is', () => {
    const { batches, left } = plan([inserted(-1, 'x', 'a'), inserted(-2, 'x', 'b')], { ...MATCHED, match: 1 });

    expect(said(batches)).toEqual(['upsert -1[0=x,1=a] -2[0=x,1=b]']);
    expect(left).toEqual([]);
  });

  test('creates a row whose match value is too long to look it up', () => {
    expect(plan([inserted(-1, 'x'.repeat(9_000))]).batches.map(({ method }) => method)).toEqual(['create']);
  });

  test.each<[string, number, readonly number[], readonly (readonly number[])[]]>([
    ['a row leaves alone', 9, [9, 9, 1, 9], [[1, 2], [3], [4]]],
    [
      'a row leaves with few others',
      9,
      [2, 9, 9, 9],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      'a row joins few others',
      9,
      [9, 2, 9, 9],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      'the limit of the batch is smaller',
      2,
      [9, 9, 9, 9],
      [
        [1, 2],
        [3, 4],
      ],
    ],
  ])('cuts batches where %s', (_what, rowsMax, limits, expected) => {
    const rows = limits.map((_, index) => updated(index + 1, ['a'], ['b']));
    const { batches } = planPush(edited(rows, MATCHED), MATCHED, {
      limits: { ...BATCH_LIMITS, rowsMax },
      makeMatch: () => 'made',
      measureFile,
      rowsMaxOf: (id) => limits[id - 1] ?? 0,
    });

    expect(batches.map((batch) => batch.rows.map(({ id }) => id))).toEqual(expected);
  });

  describe('with files', () => {
    const columns = COLUMNS.with(1, { name: 'Photo', type: 'Attachment', writable: true, width: null });
    const table = { columns, match: null, addRefusal: null };
    const limits = { rowsMax: 500, bytesMax: 4000, requestBytesMax: 10_000 };

    test('cuts batches by rows and files together', () => {
      const rows = [3000, 2000, 6000, 1000].map((bytes, index) =>
        updated(index + 1, ['a', null], ['a', `file:${bytes}`]),
      );

      expect(plan(rows, table, limits).batches.map((batch) => batch.rows.map(({ id }) => id))).toEqual([
        [1, 2],
        [3],
        [4],
      ]);
    });

    test('cuts at the very byte: 2048 for a file beside its own', () => {
      // 32 + (4 · 3 + 8) + 3 + (5 · 3 + 8) + (7 · 3) and 2048 + 10 for its file.
      const withFile = (id: number): RowVersion => updated(id, ['a', null], ['b', 'file:10']);
      const bytes = 32 + 20 + 3 + 23 + 21 + 2_048 + 10;
      const batchesOf = (requestBytesMax: number, rowCount: number): PushPlan =>
        plan([1, 2, 3].slice(0, rowCount).map(withFile), table, { rowsMax: 9, bytesMax: 9_999, requestBytesMax });

      expect([bytes * 3, bytes * 3 - 1].map((max) => batchesOf(max, 3).batches.length)).toEqual([1, 2]);
      expect([bytes, bytes - 1].map((max) => batchesOf(max, 1).unsendable.size)).toEqual([0, 1]);
    });

    test('sends a row without a file alone, however large it is', () => {
      const rows = [updated(1, ['a', null], ['b'.repeat(5_000), null]), updated(2, ['a', null], ['b', null])];

      const { batches, unsendable } = plan(rows, table, { rowsMax: 9, bytesMax: 9_999, requestBytesMax: 200 });

      expect(batches.map((batch) => batch.rows.map(({ id }) => id))).toEqual([[1], [2]]);
      expect(unsendable.size).toBe(0);
    });

    test('leaves out a row whose file cannot be found, or with which it is too large, and says why', () => {
      const rows = ['lost', '9000', '10'].map((name, index) => updated(index + 1, ['a', null], ['b', `file:${name}`]));

      const { batches, unsendable } = plan(rows, table, limits);

      expect(batches.flatMap((batch) => batch.rows.map(({ id }) => id))).toEqual([3]);
      expect([...unsendable]).toMatchObject([
        [1, { column: 1, reason: 'no such file' }],
        [2, { column: 1, reason: expect.stringContaining('10000 bytes') as string }],
      ]);
    });
  });

  test('sends every changed row once, in batches within their bounds, but for inserts with a match value that another one has', () => {
    const value = fc.constantFrom<Value>(null, 'a', 'b', 'c', '');
    const versions = fc.option(fc.tuple(value, value));
    const change = fc.tuple(versions, versions).filter(([base, local]) => base !== null || local !== null);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), fc.boolean(), (changes, isMatched) => {
        const rows = changes.map(([base, local], index): RowVersion => {
          const id = base === null ? -1 - index : 1 + index;
          return { id, base: base && row(id, ...base), local: local && row(id, ...local) };
        });
        const { batches, unsendable } = plan(rows, isMatched ? MATCHED : UNMATCHED, { rowsMax: 3, bytesMax: 10_000 });
        const told = [...batches.flatMap((batch) => batch.rows.map(({ id }) => id)), ...unsendable.keys()];
        const taken = new Set<Value>();
        const isSecond = ({ base, local }: RowVersion): boolean => {
          const match = base === null ? (local?.values[0] ?? '') : '';
          if (!isMatched || match === '') return false;
          return taken.has(match) || (taken.add(match), false);
        };
        const isChanged = ({ base, local }: RowVersion): boolean =>
          base === null || local === null || base.values.some((before, index) => before !== local.values[index]);
        const wanted = rows.filter((changed) => isChanged(changed) && !isSecond(changed));
        expect(told.toSorted((a, b) => a - b)).toEqual(wanted.map(({ id }) => id).toSorted((a, b) => a - b));
        expect(batches.every((batch) => batch.rows.length > 0 && batch.rows.length <= 3)).toBe(true);
        const matches = batches
          .flatMap((batch) => (batch.method === 'upsert' ? batch.rows : []))
          .map(({ cells }) => cells.find(({ column }) => column === 0)?.value);
        expect(new Set(matches).size).toBe(matches.length);
        expect(matches).not.toContain(undefined);
      }),
      fuzzRuns(300),
    );
  });
});

test.each<[ColumnType, Given, boolean]>([
  ['Text', 'a', true],
  ['Text', '\uD800', false],
  ['Numeric', 1.5, true],
  ['Numeric', Number.POSITIVE_INFINITY, false],
  ['Numeric', 12345678901234567890n, true],
  ['Numeric', '0.12345678901234567890', true],
  ['Numeric', 'x', false],
  ['Duration', 60, true],
  ['Checkbox', true, true],
  ['Checkbox', 'yes', false],
  ['Date', '2026-02-28', true],
  ['Date', '2026-02-30', false],
  ['Time', '23:59:59', true],
  ['Time', '24:00:00', false],
  ['Timestamp', '2026-01-01T00:00:00Z', true],
  ['Timestamp', '2026-01-01T00:00:00.5Z', true],
  ['Timestamp', '2026-01-01T00:00:00', false],
  ['Timestamp', '2026-01-01 00:00', false],
  ['Attachment', 'a.png;1;b0a2c9a0-0000-4000-8000-000000000001', false],
  ['Attachment', 'file:', false],
  ['Attachment', 'file:/photo.jpg', true],
])('a value of type %s can be sent or not: %s', (type, value, isSendable) => {
  expect(TYPE_RULES[type].sendProblem(value) === null).toBe(isSendable);
});

/** What days add up to, which of them differ, and in which windows they lie. */
import { describe, expect, test } from 'vitest';
import {
  compareDays,
  dayFinder,
  DayTally,
  NO_DAY,
  planMeasures,
  readMeasures,
  uselessMeasures,
  windowsOfDays,
  type DayMeasures,
  type Days,
  type Measure,
} from '../../src/reconcile/fingerprint.ts';
import { FIRST_WINDOW, NO_STAMP_WINDOW } from '../../src/reconcile/windows.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';

const MEASURES: readonly Measure[] = [
  { id: 'count', of: 'count', column: 'Id', shape: { name: 'Id//COUNT', type: 'Numeric' } },
  { id: 'modified', of: 'modified', column: 'Date Modified', shape: { name: 'Date Modified//MAX', type: 'Timestamp' } },
  { id: 'sum of Price', of: 'sum', column: 'Price', shape: { name: 'Price//SUM', type: 'Numeric' } },
];
const STAMP = '2026-01-02T03:04:05Z';

function columnOf(name: string, type: string, kind = 'Updatable'): ColumnDescriptor {
  const options = { dataOptions: [], displayOptions: [], width: null, readOnly: null };
  return { id: 1, name, alias: '', type, kind, ...options, other: {} };
}

const days = (entries: Readonly<Record<string, DayMeasures>>): Days => new Map(Object.entries(entries));

describe('planMeasures', () => {
  const key = columnOf('Id', 'Autonumber', 'Key');
  const created = columnOf('Date Created', 'Timestamp', 'DateCreated');
  const modified = columnOf('Date Modified', 'Timestamp', 'DateModified');

  test('counts rows, takes their latest change, and sums what is a number, formulas included', () => {
    const columns = [key, created, modified, columnOf('Price', 'Numeric', 'Formula'), columnOf('Took', 'Duration')];

    const plan = planMeasures({ key: 'Id', columns: [...columns, columnOf('Name', 'Text')] });

    expect(plan?.created).toBe('Date Created');
    expect(plan?.measures.map(({ shape }) => `${shape.name} ${shape.type}`)).toEqual([
      'Id//COUNT Numeric',
      'Date Modified//MAX Timestamp',
      'Price//SUM Numeric',
      'Took//SUM Duration',
    ]);
  });

  test.each([
    ['a hidden creation time', [key, modified], null],
    ['a hidden key', [created, modified], null],
    ['a hidden time of modification', [key, created], ['count']],
    ['a name with two slashes', [key, created, columnOf('a//b', 'Numeric')], ['count']],
    [
      'a masked value',
      [key, created, { ...columnOf('Year', 'Numeric'), mask: { kind: 'year', from: 'Date', pattern: 'Year' } }],
      ['count'],
    ],
    [
      'a time and a number',
      [key, created, modified, columnOf('Price', 'Numeric')],
      ['count', 'modified', 'sum of Price'],
    ],
  ] as const)('%s', (_what, columns, ids) => {
    expect(planMeasures({ key: 'Id', columns })?.measures.map(({ id }) => id) ?? null).toEqual(ids);
  });
});

test('a key with two slashes in its name has no count', () => {
  const columns = [columnOf('a//b', 'Text', 'Key'), columnOf('Date Created', 'Timestamp', 'DateCreated')];

  expect(planMeasures({ key: 'a//b', columns })).toBeNull();
});

test('the first 24 numbers are summed, whose names fit into one address', () => {
  const numbers = Array.from({ length: 30 }, (_, index) => columnOf(`n${index}`, 'Numeric'));
  const columns = [columnOf('Id', 'Autonumber', 'Key'), columnOf('Date Created', 'Timestamp', 'DateCreated')];

  const plan = planMeasures({ key: 'Id', columns: [...columns, ...numbers] });

  expect(plan?.measures.map(({ column }) => column)).toEqual(['Id', ...numbers.slice(0, 24).map(({ name }) => name)]);
});

test.each([
  [0, 5e-7, []],
  [0, 6e-7, ['sum of Price']],
  [1e9, 1e9 + 1, []],
  [1e9, 1e9 + 2, ['sum of Price']],
  [-1e9, -1e9 - 1, []],
  [Number.NaN, 1, []],
])('the sums %d and %d differ by %j', (one, other, measures) => {
  const [there, here] = [one, other].map((sum) => days({ '2026-01-02': [3, STAMP, sum] }));

  const differences = compareDays(MEASURES, { there: there ?? new Map(), here: here ?? new Map() });

  expect(differences.flatMap((difference) => difference.measures)).toEqual(measures);
});

test('rows add up day by day to what the origin says of them', () => {
  const tally = new DayTally(MEASURES, 'Europe/Berlin');
  tally.add('2026-01-01T22:59:59Z', [1, '2026-01-02T03:04:05.9Z', 0.1]);
  tally.add('2026-01-01T22:00:00.5Z', [2, STAMP, '0.2']);
  tally.add('2026-01-01T23:00:00Z', [3, null, null]);
  tally.add(null, [4, STAMP, 7]);

  const there = [
    ['2026-01-01', readMeasures(MEASURES, [2, '2026-01-02T03:04:05.9Z', '0.3'])],
    ['2026-01-02', readMeasures(MEASURES, [1, null, null])],
    [NO_DAY, readMeasures(MEASURES, [1, STAMP, 7n])],
  ] as const;

  expect(compareDays(MEASURES, { there: new Map(there), here: tally.days })).toEqual([]);
  expect([...tally.days.keys()]).toEqual(['2026-01-01', '2026-01-02', NO_DAY]);
});

const SAME: DayMeasures = [3, STAMP, 1_000];
const COMPARED: readonly (readonly [string, DayMeasures | null, DayMeasures | null, readonly string[]])[] = [
  ['equal days', SAME, SAME, []],
  ['a row less', [2, STAMP, 1_000], SAME, ['count']],
  ['a later change', [3, '2026-01-02T03:04:06Z', 1_000], SAME, ['modified']],
  ['a formula that changed', [3, STAMP, 1_000.01], SAME, ['sum of Price']],
  ['sums of doubles', [3, STAMP, 0.1 + 0.2], [3, STAMP, 0.3], []],
  ['large sums of doubles', [3, STAMP, 1e15 + 1_000], [3, STAMP, 1e15], []],
  ['the last decimal', [3, STAMP, 0.000_001], [3, STAMP, 0], ['sum of Price']],
  ['a sum that is no number', [3, STAMP, Number.NaN], SAME, []],
  ['a day that is only here', null, SAME, ['count', 'modified', 'sum of Price']],
  ['a day that is only there, of rows without values', [1, null, 0], null, ['count']],
];

test.each(COMPARED)('compares %s', (_what, there, here, measures) => {
  const of = (day: DayMeasures | null): Days => days(day === null ? {} : { '2026-01-02': day });

  const found = compareDays(MEASURES, { there: of(there), here: of(here) });

  expect(found.flatMap((difference) => difference.measures)).toEqual(measures);
});

test('days come in order, without those that differ by ignored measures only', () => {
  const there = days({ '2026-01-03': [1, STAMP, 5], '2026-01-01': [1, STAMP, 5], '2026-01-02': [2, STAMP, 5] });
  const here = days({ '2026-01-03': [2, STAMP, 5], '2026-01-01': [2, STAMP, 6], '2026-01-02': [2, STAMP, 7] });

  expect(compareDays(MEASURES, { there, here }, ['sum of Price'])).toEqual([
    { day: '2026-01-01', measures: ['count'] },
    { day: '2026-01-03', measures: ['count'] },
  ]);
});

test.each([
  ['nothing changed here and the sum still differs', [3, STAMP, 7], [3, STAMP, 5], [3, STAMP, 5], ['sum of Price']],
  ['it is equal now', [3, STAMP, 7], [3, STAMP, 5], [3, STAMP, 7], []],
  ['the answer is older than what is here now', [3, STAMP, 7], [3, STAMP, 5], [4, STAMP, 9], []],
] as const)('a measure says nothing where %s', (_what, there, before, here, expected) => {
  const of = (day: DayMeasures): Days => days({ '2026-01-02': day });

  expect(uselessMeasures(MEASURES, { there: of(there), before: of(before), here: of(here) })).toEqual(expected);
});

describe('windowsOfDays', () => {
  const first = '2026-01-02T10:00:00Z';
  const second = '2026-01-04T00:00:00Z';
  const windows = [FIRST_WINDOW, first, second, NO_STAMP_WINDOW];

  test.each([
    ['a day within the first window', ['2026-01-01'], 'UTC', [FIRST_WINDOW]],
    ['a day in which a window begins', ['2026-01-02'], 'UTC', [FIRST_WINDOW, first]],
    ['a day that ends where a window begins', ['2026-01-03'], 'UTC', [first]],
    ['a day that begins with a window', ['2026-01-04'], 'UTC', [second]],
    ['the same day, which begins earlier in the east', ['2026-01-04'], 'Asia/Tokyo', [first, second]],
    ['the day before, which ends later in the west', ['2026-01-03'], 'America/New_York', [first, second]],
    ['rows without a stamp', [NO_DAY, '2026-01-09'], 'UTC', [second, NO_STAMP_WINDOW]],
    ['no day', [], 'UTC', []],
  ] as const)('%s', (_what, changed, zone, expected) => {
    expect(windowsOfDays(changed, windows, zone)).toEqual(expected);
  });
});

test.each([
  ['UTC', '2026-03-01T00:00:00.5Z', '2026-03-01'],
  ['Europe/Berlin', '2026-03-28T22:59:59Z', '2026-03-28'],
  ['Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29'],
  // Summer time began: this day has 23 hours.
  ['Europe/Berlin', '2026-03-29T21:59:59Z', '2026-03-29'],
  ['Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-30'],
  ['Pacific/Kiritimati', '2026-03-01T10:00:00Z', '2026-03-02'],
  ['Pacific/Pago_Pago', '2026-03-01T10:59:59Z', '2026-02-28'],
  ['Asia/Kathmandu', '2026-03-01T18:14:59Z', '2026-03-01'],
  ['Asia/Kathmandu', '2026-03-01T18:15:00Z', '2026-03-02'],
  // Midnight was skipped, and the day began at one o'clock.
  ['America/Sao_Paulo', '2018-11-04T02:59:59Z', '2018-11-03'],
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z', '2018-11-04'],
])('in %s, %s is on %s', (zone, stamp, day) => {
  expect(dayFinder(zone)(stamp)).toBe(day);
});

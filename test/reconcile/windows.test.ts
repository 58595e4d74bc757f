import { expect, test } from 'vitest';
import {
  createdColumn,
  cutWindow,
  endOfWindow,
  FIRST_WINDOW,
  judgeStamps,
  NO_STAMP_WINDOW,
  planJoins,
  smallerPage,
  whyOneWindow,
  windowFilter,
  type CutFacts,
  type PageStamps,
  judgePages,
  pageSkip,
  planRepair,
  REPAIR_ROUNDS_MAX,
  type PageEdges,
  type PagesVerdict,
  type RepairFacts,
  type RepairStep,
} from '../../src/reconcile/windows.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';

/** Seconds of one minute, as stamps. */
const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;

test.each<[string, Partial<ColumnDescriptor>, boolean]>([
  ['named so, in any case', {}, true],
  ['named otherwise', { name: 'Created' }, false],
  ['of another type', { type: 'Date' }, false],
  ['that can be written', { readOnly: false, kind: 'Updatable' }, false],
])('the creation time is a column %s', (_what, changes, expected) => {
  const column: ColumnDescriptor = {
    id: 1,
    name: 'date CREATED',
    alias: 'c',
    type: 'Timestamp',
    kind: 'DateCreated',
    readOnly: true,
    width: null,
    dataOptions: [],
    displayOptions: [],
    other: {},
    ...changes,
  };

  expect(createdColumn([column]) === column).toBe(expected);
});

test.each([
  [1000, 500],
  [5, 2],
  [3, 2],
  [2, null],
  [1, null],
])('after a page of %i rows that was too large, one of %s is tried', (rows, expected) => {
  expect(smallerPage(rows)).toBe(expected);
});

test('a window is asked for from its beginning on, the first one without a filter', () => {
  expect(windowFilter(FIRST_WINDOW, 'Date Created')).toBeUndefined();
  expect(windowFilter(at(5), 'Date Created')).toBe('[Date Created] >= #2026-01-01 00:00:05#');
  expect(windowFilter(NO_STAMP_WINDOW, 'Odd]')).toBe('IsNull([Odd\\]])');
});

test('a window ends where the next one begins, and the last one nowhere', () => {
  const windows = [FIRST_WINDOW, at(1), at(5), NO_STAMP_WINDOW];

  expect(windows.map((window) => endOfWindow(windows, window))).toEqual([at(1), at(5), null, null]);
});

test.each([
  ['a hidden creation time', null, ['Id'], 'hidden'],
  ['another order', 'Date Created', ['Title', 'Id'], 'sort'],
  ['the order of creation', 'Date Created', ['Date Created', 'Id'], null],
] as const)('says whether windows are possible: %s', (_name, name, sort, expected) => {
  expect(whyOneWindow(name === null ? null : { name }, sort)).toBe(expected);
});

const STAMPS: readonly (readonly [string, string, readonly (string | null | undefined)[], PageStamps])[] = [
  ['an empty page', at(1), [], { lastStamp: null, tieCount: 0, lie: null }],
  ['seconds in order', at(1), [at(1), at(2)], { lastStamp: at(2), tieCount: 1, lie: null }],
  ['ties at the end', at(1), [at(1), at(2), at(2)], { lastStamp: at(2), tieCount: 2, lie: null }],
  ['one second alone', at(1), [at(1), at(1)], { lastStamp: at(1), tieCount: 2, lie: null }],
  ['a fraction of a second', at(1), ['2026-01-01T00:00:01.5Z'], { lastStamp: at(1), tieCount: 1, lie: null }],
  ['an unreadable last row', at(1), [at(1), at(2), undefined], { lastStamp: at(2), tieCount: 2, lie: null }],
  ['a row of before', at(3), [at(2), at(3)], { lastStamp: at(3), tieCount: 1, lie: 'filter' }],
  ['a row without a stamp', at(3), [null, at(3)], { lastStamp: at(3), tieCount: 1, lie: 'filter' }],
  [
    'rows without a stamp in the first window',
    FIRST_WINDOW,
    [null, at(3)],
    { lastStamp: at(3), tieCount: 1, lie: null },
  ],
  ['the first window with those behind', FIRST_WINDOW, [at(3), null], { lastStamp: null, tieCount: 2, lie: null }],
  ['rows out of order', FIRST_WINDOW, [at(3), at(2)], { lastStamp: at(2), tieCount: 1, lie: 'order' }],
  [
    'rows out of order around one without a stamp',
    FIRST_WINDOW,
    [at(3), null, at(2)],
    { lastStamp: at(2), tieCount: 1, lie: 'order' },
  ],
  ['rows without a stamp among their own', NO_STAMP_WINDOW, [null], { lastStamp: null, tieCount: 1, lie: null }],
  ['a stamp among rows that have none', NO_STAMP_WINDOW, [at(1)], { lastStamp: at(1), tieCount: 1, lie: 'filter' }],
];

test.each(STAMPS)('reads the creation times of a page: %s', (_name, window, stamps, expected) => {
  expect(judgeStamps(window, stamps)).toEqual(expected);
});

/** The last page of a full last window of four pages of eight rows. */
const GROWN: CutFacts = {
  window: at(1),
  end: null,
  page: 3,
  rowCount: 8,
  isFull: true,
  lastStamp: at(30),
  tieCount: 1,
  lastKnown: -1,
  isShifted: false,
  windowPages: 4,
};

const CUTS: readonly (readonly [string, Partial<CutFacts>, string | null])[] = [
  ['the last window grows beyond its pages', {}, at(30)],
  ['the page is not full: the table ends', { rowCount: 7, isFull: false }, null],
  ['the window has pages left', { page: 2 }, null],
  ['known pages lie behind', { lastKnown: 4 }, null],
  ['many known pages lie behind', { lastKnown: 8 }, null],
  ['no known page lies behind', { lastKnown: 3 }, at(30)],
  ['known pages lie behind, and they moved', { lastKnown: 8, isShifted: true }, at(30)],
  ['few known pages moved', { lastKnown: 7, isShifted: true }, null],
  ['a page inside of a window moved early', { page: 2, lastKnown: 8, isShifted: true }, null],
  ['another window follows, and this one has its pages', { end: at(40) }, null],
  ['another window follows, and this one is twice as large', { end: at(40), page: 7 }, at(30)],
  ['the page reaches the next window', { end: at(30), page: 7 }, null],
  ['few rows at the end share their second', { tieCount: 2 }, at(30)],
  ['many rows at the end share their second', { tieCount: 3 }, null],
  ['many share it, and the window is not twice as large', { tieCount: 3, page: 6 }, null],
  ['many share it, and the window is twice as large', { tieCount: 3, page: 7 }, at(30)],
  ['the page is of one second', { tieCount: 8, page: 9 }, null],
  ['all that came has the second with which the window begins', { lastStamp: at(1) }, null],
  ['the last row has no stamp', { lastStamp: null }, null],
  ['rows without a stamp', { window: NO_STAMP_WINDOW }, null],
];

test.each(CUTS)('cuts a window, or not, where %s', (_name, facts, expected) => {
  expect(cutWindow({ ...GROWN, ...facts })).toBe(expected);
});

test.each([
  ['none where all are large', [9, 9, 9], []],
  ['two neighbours of half a window together', [9, 4, 4], [at(2)]],
  ['as many as fit', [2, 2, 4, 1], [at(1), at(2)]],
  ['never the first one', [1, 9], []],
] as const)('joins %s', (_name, counts, expected) => {
  const windows = counts.map((pageCount, index) => ({ window: index === 0 ? FIRST_WINDOW : at(index), pageCount }));

  expect(planJoins([...windows, { window: NO_STAMP_WINDOW, pageCount: 1 }], 16)).toEqual(expected);
});

/** Pages from lists of ids. */
function pages(...lists: readonly (readonly number[])[]): readonly PageEdges[] {
  return lists.map((ids, page) => ({
    page,
    rowCount: ids.length,
    firstId: ids[0] ?? null,
    lastId: ids.at(-1) ?? null,
    isEnd: ids.length < 3,
  }));
}

const CASES: readonly (readonly [string, readonly PageEdges[], PagesVerdict])[] = [
  ['nothing read yet', pages(), { kind: 'more', from: 0 }],
  ['an empty table', pages([]), { kind: 'complete' }],
  ['one short page', pages([1, 2]), { kind: 'complete' }],
  ['one full page, nothing behind it read', pages([1, 2, 3]), { kind: 'more', from: 1 }],
  ['a full page and the shared row alone', pages([1, 2, 3], [3]), { kind: 'complete' }],
  ['neighbours that share their row', pages([1, 2, 3], [3, 4]), { kind: 'complete' }],
  ['an empty page behind the end', pages([1, 2, 3], [3], []), { kind: 'complete' }],
  ['the end alone, without the pages before it', pages([1, 2, 3], [3, 4]).slice(1), { kind: 'more', from: 0 }],
  [
    'a page missing in between',
    [0, 2].flatMap((page) => pages([1, 2, 3], [3, 4, 5], [3])[page] ?? []),
    { kind: 'more', from: 1 },
  ],
  ['a row deleted before page 1 was read', pages([1, 2, 3], [4, 5]), { kind: 'shifted', from: 0 }],
  ['a row inserted before page 1 was read', pages([1, 2, 3], [2, 3]), { kind: 'shifted', from: 0 }],
  ['a tear further on', pages([1, 2, 3], [3, 4, 5], [6]), { kind: 'shifted', from: 1 }],
  ['an empty page where a shared row was due', pages([1, 2, 3], []), { kind: 'shifted', from: 0 }],
  ['rows behind a page that is not full', pages([1, 2], [2, 3]), { kind: 'shifted', from: 0 }],
  ['one row behind a page that is not full', pages([1, 2], [2]), { kind: 'shifted', from: 0 }],
  ['rows behind an empty first page', pages([], [2, 3]), { kind: 'shifted', from: 0 }],
];

test.each(CASES)('judges %s', (_name, given, expected) => {
  expect(judgePages(given)).toEqual(expected);
});

test('lets every page start at the last row of the one before', () => {
  expect([0, 1, 2].map((page) => pageSkip(page, 500))).toEqual([0, 499, 998]);
});

const COMPLETE: RepairFacts = { verdict: { kind: 'complete' }, isShort: false, round: 1 };

const SHIFTED: RepairFacts = { ...COMPLETE, verdict: { kind: 'shifted', from: 2 } };

const MORE: RepairFacts = { ...COMPLETE, verdict: { kind: 'more', from: 3 } };

const SHORT: RepairFacts = { ...COMPLETE, isShort: true };

const LAST = REPAIR_ROUNDS_MAX;

test.each<[string, RepairFacts, RepairStep]>([
  ['a whole map is done', COMPLETE, { kind: 'done' }],
  ['a whole map is done, however late', { ...COMPLETE, round: LAST + 1 }, { kind: 'done' }],
  ['shifted pages are read from the shift on', SHIFTED, { kind: 'read', from: 2, inFull: false }],
  ['an end that is not reached is looked for from there', MORE, { kind: 'read', from: 3, inFull: false }],
  ['a second tear has all pages asked again', { ...SHIFTED, round: 2 }, { kind: 'read', from: 0, inFull: false }],
  ['a missing end does not', { ...MORE, round: 2 }, { kind: 'read', from: 3, inFull: false }],
  ['rows behind a short page are read from that page on', SHORT, { kind: 'read', from: 0, inFull: false }],
  ['also in a later round', { ...SHORT, round: LAST - 1 }, { kind: 'read', from: 0, inFull: false }],
  ['a page that stays short is read in full', { ...SHORT, round: LAST }, { kind: 'read', from: 0, inFull: true }],
  ['a page that stays short in full is given up', { ...SHORT, round: LAST + 1 }, { kind: 'giveUp' }],
  ['before the last round, ETags are sent', { ...SHIFTED, round: LAST - 1 }, { kind: 'read', from: 0, inFull: false }],
  [
    'the last time, shifted pages are read in full',
    { ...SHIFTED, round: LAST },
    { kind: 'read', from: 0, inFull: true },
  ],
  ['rows that keep moving are left to the next sweep', { ...SHIFTED, round: LAST + 1 }, { kind: 'giveUp' }],
])('%s', (_what, facts, step) => {
  expect(planRepair(facts)).toEqual(step);
});

import { expect, test } from 'vitest';
import {
  judgePages,
  pageSkip,
  planRepair,
  REPAIR_ROUNDS_MAX,
  type PageEdges,
  type PagesVerdict,
  type RepairFacts,
  type RepairStep,
} from '../../src/reconcile/windows.ts';

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

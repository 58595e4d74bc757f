import { describe, expect, test } from 'vitest';
import {
  firstCursor,
  isCompareDue,
  firstUnread,
  judgeChangedPage,
  laterStamp,
  mayFollow,
  movesUnstamped,
  readAtOrigin,
  readBehindOf,
  stampColumn,
  watermarkAfter,
  type ChangedPage,
  type SecondsRead,
  type Followable,
  type FollowCursor,
  type FollowStep,
} from '../../src/reconcile/follow.ts';
import type { ColumnDescriptor } from '../../src/wire/schema.ts';

const STEADY: Followable = {
  state: 'steady',
  push: 'off',
  sweepOpen: false,
  endProven: true,
  identityChecked: true,
  heldCode: null,
  pushCode: null,
  isDistrusted: false,
  watermark: '2026-01-01T00:00:00Z',
};

test.each<[string, Partial<Followable>, boolean]>([
  ['after a whole sweep', {}, true],
  ['two-way', { push: 'on' }, true],
  ['without a watermark', { watermark: null }, false],
  ['while it is loaded', { state: 'loading' }, false],
  ['about to be two-way', { push: 'waiting' }, false],
  ['in the middle of a sweep', { sweepOpen: true }, false],
  ['when all its pages are suspect', { endProven: false }, false],
  ['under another caller', { identityChecked: false }, false],
  ['while deletes are held', { heldCode: 'guard.deletes' }, false],
  ['when a push found other columns', { pushCode: 'push.shape' }, false],
  ['when another client may have changed it', { isDistrusted: true }, false],
])('a table %s can be followed, or not: %j is %s', (_what, changes, expected) => {
  expect(mayFollow({ ...STEADY, ...changes })).toBe(expected);
});

test.each<[string, string, boolean]>([
  ['DateModified', 'Timestamp', true],
  ['DateCreated', 'Timestamp', false],
  ['DateModified', 'Date', false],
])('a column of the kind %s and the type %s is the time of the last change: %s', (kind, type, expected) => {
  const column = { kind, type } as ColumnDescriptor;

  expect(stampColumn([column])).toBe(expected ? column : null);
});

test('a round begins an overlap before the watermark', () => {
  expect(firstCursor('2026-01-01T00:00:00Z')).toMatchObject({ after: '2025-12-31T23:58:00Z', skip: 0 });
});

test.each([
  ['nobody ever did', null, true],
  ['that was ten minutes ago', '2026-01-01T00:50:00Z', true],
  ['that was shortly before', '2026-01-01T00:50:01Z', false],
  ['that was in this second', '2026-01-01T01:00:00Z', false],
  ['the clock was set back since', '2026-01-01T01:00:01Z', true],
])('days are compared where %s: %s', (_what, comparedAt, isDue) => {
  expect(isCompareDue(comparedAt, Date.parse('2026-01-01T01:00:00Z'))).toBe(isDue);
});

describe('after a page', () => {
  const at = (second: number): string => `2026-01-01T00:00:0${second}Z`;
  const cursor = (changes: Partial<FollowCursor> = {}): FollowCursor => ({
    after: at(1),
    skip: 0,
    firstId: null,
    tieRounds: 0,
    ...changes,
  });
  const page = (top: number, ...rows: readonly (readonly [number, string | null])[]): ChangedPage => ({
    ids: rows.map(([id]) => id),
    stampById: new Map(rows.flatMap(([id, stamp]) => (stamp === null ? [] : [[id, stamp] as const]))),
    top,
  });

  test.each<[string, FollowCursor, ChangedPage, FollowStep]>([
    ['that is not full, all is read', cursor(), page(3, [1, at(1)], [2, at(2)]), { kind: 'done' }],
    ['without a row, all is read', cursor(), page(3), { kind: 'done' }],
    [
      'that is full, the next begins with the last row',
      cursor(),
      page(2, [1, at(1)], [2, at(3)]),
      { kind: 'next', cursor: cursor({ after: at(3), firstId: 2 }) },
    ],
    [
      'that is full, rows of the last second are not read again, but for the last one',
      cursor(),
      page(4, [1, at(1)], [2, at(3)], [3, null], [4, at(3)]),
      { kind: 'next', cursor: cursor({ after: at(3), skip: 2, firstId: 4 }) },
    ],
    [
      'of one second, the next begins with the last row',
      cursor(),
      page(2, [1, at(1)], [2, at(1)]),
      { kind: 'next', cursor: cursor({ skip: 1, firstId: 2 }) },
    ],
    [
      'of one second that goes on, the next begins with the last row',
      cursor({ skip: 3, firstId: 1 }),
      page(2, [1, at(1)], [2, at(1)]),
      { kind: 'next', cursor: cursor({ skip: 4, firstId: 2 }) },
    ],
    [
      'that begins with another row, the second is read again',
      cursor({ skip: 4, firstId: 9 }),
      page(2, [10, at(1)], [11, at(1)]),
      { kind: 'next', cursor: cursor({ tieRounds: 1 }) },
    ],
    [
      'that begins with another row for the third time, a sweep looks',
      cursor({ skip: 4, firstId: 9, tieRounds: 2 }),
      page(2, [10, at(1)], [11, at(1)]),
      { kind: 'sweep', why: 'moving' },
    ],
    ['with a row from before, a sweep looks', cursor(), page(3, [1, at(0)]), { kind: 'sweep', why: 'stamps' }],
    [
      'whose last row cannot be read, a sweep looks',
      cursor(),
      page(2, [1, at(2)], [2, null]),
      { kind: 'sweep', why: 'unreadable' },
    ],
    [
      'with fractions, whole seconds count',
      cursor(),
      page(1, [1, '2026-01-01T00:00:01.5Z']),
      { kind: 'next', cursor: cursor({ skip: 0, firstId: 1 }) },
    ],
  ])('%s', (_what, before, changed, step) => {
    expect(judgeChangedPage(before, changed)).toEqual(step);
  });
});

test.each<[string, string | null, string]>([
  ['of rows that were changed before it', '2026-01-01T11:00:00Z', '2026-01-01T11:00:00Z'],
  ['of rows that were changed meanwhile', '2026-01-01T12:00:30Z', '2026-01-01T11:59:50Z'],
  ['without rows', null, '1970-01-01T00:00:00Z'],
])('after a sweep at noon %s, the watermark misses no later change', (_what, latest, expected) => {
  expect(watermarkAfter(latest, Date.UTC(2026, 0, 1, 12))).toBe(expected);
});

test('a watermark never goes back', () => {
  expect(laterStamp('2026-01-01T00:00:05Z', ['2026-01-01T00:00:06.5Z', '2026-01-01T00:00:04Z'])).toBe(
    '2026-01-01T00:00:06Z',
  );
  expect(laterStamp('2026-01-01T00:00:05Z', [])).toBe('2026-01-01T00:00:05Z');
});

test.each<[string, readonly (string | null)[], string | null]>([
  ['no row', [], ''],
  ['less than a page', ['2026-01-01T00:00:05Z'], ''],
  ['a page', ['2026-01-01T00:00:05Z', '2026-01-01T00:00:00.9Z'], '2026-01-01T00:00:00Z'],
  ['a page whose last row cannot be read', ['2026-01-01T00:00:05Z', null], null],
])('of what was changed last, %s has all that is later', (_what, stamps, expected) => {
  const stampById = new Map(stamps.flatMap((stamp, id) => (stamp === null ? [] : [[id, stamp] as const])));
  const page: ChangedPage = { ids: stamps.map((_stamp, id) => id), stampById, top: 2 };

  expect(readBehindOf(page)).toBe(expected);
});

test.each<[string, number | null, number | null, number | null]>([
  ['before', 1_000, 5_000, 995_000],
  ['just now', 2_000, 5_000, 1_995_000],
  ['at a time that nobody noted', null, 5_000, null],
  ['while the origin told no time', 1_000, null, null],
  ['before this clock was set back', 3_000, 5_000, null],
])('rows that were read %s', (_what, readAt, clockAheadMs, expected) => {
  expect(readAtOrigin(readAt, { nowMs: 2_000_000, clockAheadMs })).toBe(expected);
});

describe('rows that were changed in a second', () => {
  const [one, two, three] = [0, 1, 2].map((count) => `2026-01-01T00:00:0${count}Z`) as [string, string, string];
  const seconds = (...counts: readonly [string, number][]): ReadonlyMap<string, number> => new Map(counts);
  const long = Date.parse('2026-01-01T00:01:00Z');
  const both = (counts: ReadonlyMap<string, number>): Pick<SecondsRead, 'there' | 'here'> => ({
    there: counts,
    here: counts,
  });

  test.each<[string, Partial<SecondsRead>, string | null]>([
    ['are known, long after it', both(seconds([one, 5], [two, 3])), null],
    ['are none', both(seconds()), null],
    ['are new', { there: seconds([one, 1]) }, one],
    ['are there no more', { here: seconds([one, 1]) }, one],
    ['are more', { there: seconds([one, 5], [two, 4]), here: seconds([one, 5], [two, 3]) }, two],
    ['moved to a later one', { there: seconds([one, 4], [three, 1]), here: seconds([one, 5]) }, one],
    [
      'moved there, and others on from there',
      { there: seconds([one, 4], [two, 3], [three, 1]), here: seconds([one, 5], [two, 3]) },
      one,
    ],
    ['are read again if it was hardly over', { ...both(seconds([one, 5])), readAtMs: Date.parse(one) + 9_000 }, one],
    ['are read again if it was just over', { ...both(seconds([one, 5])), readAtMs: Date.parse(one) + 10_000 }, one],
    ['are known if it was over', { ...both(seconds([one, 5])), readAtMs: Date.parse(one) + 11_000 }, null],
    ['are read again if nobody knows when they were read', { ...both(seconds([one, 5])), readAtMs: null }, one],
    ['were read now', { ...both(seconds([two, 5])), readAtMs: Date.parse(one), readBehind: one }, null],
    ['were read now in part', { ...both(seconds([one, 5])), readAtMs: Date.parse(one), readBehind: one }, one],
    ['differ though they were read now', { there: seconds([two, 2]), here: seconds([two, 1]), readBehind: '' }, two],
  ])('%s', (_what, read, expected) => {
    expect(firstUnread({ ...both(seconds()), readAtMs: long, readBehind: null, ...read })).toBe(expected);
  });
});

test.each([
  ['Updatable', false, false],
  ['Lookup', true, true],
  ['DateModified', true, false],
  ['LastModifiedBy', true, false],
  ['DateCreated', true, false],
  ['CreatedBy', true, false],
  ['RecordOwner', true, false],
  ['Key', true, false],
  [null, true, true],
  [null, false, false],
])('values of a column of kind %s, read-only %s, move without a stamp: %s', (kind, readOnly, moves) => {
  expect(movesUnstamped({ kind, readOnly })).toBe(moves);
});

/** What may be removed because of its age. */
import { expect, test } from 'vitest';
import { removalOf, type Bounds, type ConfirmedClock, type Kept } from '../../src/reconcile/history-bounds.ts';

const DAY = 86_400;
const NOW = 1_000 * DAY;
const BOUNDS: Bounds = { keepDays: 100, bytesMax: 1_000 };
const AHEAD = 'the clock of this machine is 500 days ahead of that of the origin';

const OLD = { oldestAt: NOW - 200 * DAY };
const GOES = { before: NOW - 100 * DAY, agedBytesMax: 50, excessBytes: 0, held: null };

test.each<[string, Partial<Kept>, Partial<ConfirmedClock>, ReturnType<typeof removalOf>]>([
  ['nothing is old or large', {}, {}, null],
  ['what is at the end of its slack waits', { oldestAt: NOW - 102 * DAY }, {}, null],
  ['a little beyond the bound waits', { oldestAt: NOW - 101 * DAY }, {}, null],
  [
    'old entries go, a tenth at most',
    { oldestAt: NOW - 200 * DAY },
    {},
    { before: NOW - 100 * DAY, agedBytesMax: 50, excessBytes: 0, held: null },
  ],
  [
    'a clock ahead holds them',
    { oldestAt: NOW - 200 * DAY },
    { ahead: 500 * DAY },
    { before: 0, agedBytesMax: 0, excessBytes: 0, held: AHEAD },
  ],
  [
    'a clock behind holds them',
    { oldestAt: NOW - 200 * DAY },
    { ahead: -2 * DAY },
    {
      before: 0,
      agedBytesMax: 0,
      excessBytes: 0,
      held: 'the clock of this machine is 2 days behind that of the origin',
    },
  ],
  [
    'an answer without a date holds them',
    { oldestAt: NOW - 200 * DAY },
    { ahead: null },
    {
      before: 0,
      agedBytesMax: 0,
      excessBytes: 0,
      held: "no answer of the origin had a date that confirms this machine's clock",
    },
  ],
  ['a wrong clock holds nothing that is not old by it', {}, { ahead: null }, null],
  ['a clock that is ahead by a day is trusted', OLD, { ahead: DAY }, GOES],
  ['a clock that is behind by a day is trusted', OLD, { ahead: -DAY }, GOES],
  ['what just fits stays', { bytes: 1_000 }, {}, null],
  ['hours do not matter', { oldestAt: NOW - 101 * DAY }, { ahead: 3_600 }, null],
  [
    'size needs no clock',
    { bytes: 1_200 },
    { ahead: null },
    { before: 0, agedBytesMax: 120, excessBytes: 220, held: null },
  ],
  [
    'size goes by itself where age is held',
    { bytes: 1_200, oldestAt: NOW - 200 * DAY },
    { ahead: 500 * DAY },
    { before: 0, agedBytesMax: 0, excessBytes: 220, held: AHEAD },
  ],
])('%s', (_what, kept, clock, expected) => {
  expect(removalOf({ bytes: 500, oldestAt: NOW - DAY, ...kept }, BOUNDS, { now: NOW, ahead: 0, ...clock })).toEqual(
    expected,
  );
});

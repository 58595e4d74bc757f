/**
 * Schedules: which instants cron expressions name in zones whose clocks change, and which texts are refused.
 */
import { describe, expect, test, vi } from 'vitest';
import { cronComplaint, scheduleOf } from '../../src/config/cron-times.ts';
import { offsetMsAt } from '../../src/wire/time-zones.ts';

// Thousands of questions to Intl, which is slow on a busy machine.
vi.setConfig({ testTimeout: 30_000 });

const DAY_MS = 86_400_000;
const ZONES = [
  'America/New_York',
  'Europe/London',
  'Australia/Lord_Howe', // half an hour
  'Pacific/Apia', // skipped 30 December 2011
  'America/Sao_Paulo', // changed at midnight, until 2019
  'Asia/Beirut', // changes at midnight
  'UTC',
];

/** Every instant at which the expression is due in a span of time. */
function instants(expression: string, zone: string, span: { fromMs: number; toMs: number }): readonly number[] {
  const schedule = scheduleOf(expression, zone);
  const found: number[] = [];
  for (let at = schedule.nextMs(span.fromMs); at <= span.toMs; at = schedule.nextMs(at)) {
    expect(at).toBeGreaterThan(found.at(-1) ?? span.fromMs);
    found.push(at);
  }
  return found;
}

function localDay(ms: number, zone: string): number {
  return Math.floor((ms + offsetMsAt(ms, zone)) / DAY_MS);
}

function due(expression: string, zone: string, from: string, count: number): readonly string[] {
  const schedule = scheduleOf(expression, zone);
  let at = Date.parse(from);
  return Array.from({ length: count }, () => {
    at = schedule.nextMs(at);
    return new Date(at).toISOString().slice(0, 16);
  });
}

/** Days at whose end the clocks of a zone show something else than at their beginning, in 16 years. */
function daysOfChange(zone: string): readonly number[] {
  const days = Array.from({ length: 16 * 365 }, (_, index) => Date.UTC(2011, 0, 1) + index * DAY_MS);
  return days.filter((ms) => offsetMsAt(ms, zone) !== offsetMsAt(ms + DAY_MS, zone));
}

test.each([
  ['0 */2 * * *', ['2026-03-29T02:00', '2026-03-29T04:00']], // 04:00 and 06:00 there
  ['30 * * * *', ['2026-03-29T00:30', '2026-03-29T01:30']],
])('the hour that the clocks skip is left out of %s, whose hours begin with a star', (expression, times) => {
  expect(due(expression, 'Europe/Paris', '2026-03-28T23:59:00Z', 2)).toEqual(times);
});

describe.each(ZONES)('in %s, around every change of the clocks', (zone) => {
  const spans = [...daysOfChange(zone), Date.UTC(2026, 6, 1)].map((ms) => ({
    fromMs: ms - 2 * DAY_MS,
    toMs: ms + 3 * DAY_MS,
  }));

  test.each(['0 0 * * *', '45 1 * * *', '0 2 * * *', '30 2 * * *'])(
    'a job at %s runs exactly once on every local day',
    (expression) => {
      const wrong = spans.filter((span) => {
        const days = instants(expression, zone, span).map((ms) => localDay(ms, zone));
        const steps = days.slice(1).map((day, index) => day - (days[index] ?? 0));
        // Apia had no 30 December 2011.
        const skipped = zone === 'Pacific/Apia' && new Date(span.fromMs).toISOString().startsWith('2011-12');
        const allowed = skipped ? [0, 1, 2] : [1];
        return days.length < 4 || steps.some((step) => !allowed.includes(step));
      });

      expect(spans.length).toBeGreaterThan(0);
      expect(wrong).toEqual([]);
    },
  );

  test.each([
    ['*/5 * * * *', 5],
    ['0 * * * *', 60],
  ])('a job at %s runs every %i minutes', (expression, minutes) => {
    const pauses = spans.slice(-3).flatMap(({ fromMs, toMs }) => {
      const span = { fromMs: fromMs + DAY_MS, toMs: toMs - DAY_MS };
      const found = instants(expression, zone, span);
      return found.slice(1).map((ms, index) => (ms - (found[index] ?? 0)) / 60_000);
    });

    // Where clocks change by half an hour, full hours are once half an hour further apart, and once half an hour
    // closer.
    const allowed = zone === 'Australia/Lord_Howe' && minutes === 60 ? [30, 60, 90] : [minutes];
    expect([...new Set(pauses)].filter((pause) => !allowed.includes(pause))).toEqual([]);
  });
});

test.each([
  [
    'the skipped hour is made up for as soon as it is over',
    '30 2 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'many runs in the skipped hour are made up for by one',
    '*/10 2 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T00:00'],
  ],
  [
    'a job at the very end of the skipped hour runs then',
    '0 3 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T01:00'],
  ],
  ['the repeated hour counts once', '30 2 * * *', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
  ['... also for one who asks between the two', '30 2 * * *', '2026-10-25T00:45Z', ['2026-10-26T01:30']],
  ['... and in the second one', '30 2 * * *', '2026-10-25T01:10Z', ['2026-10-26T01:30']],
  ['a job behind the repeated hour is not early', '0 3 * * *', '2026-10-24T12:00Z', ['2026-10-25T02:00']],
  [
    'a job at any hour runs in both',
    '0 * * * *',
    '2026-10-24T23:30Z',
    ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
  ],
  ['a year ahead', '0 12 1 1 *', '2026-03-01T00:00Z', ['2027-01-01T11:00', '2028-01-01T11:00']],
  ['a leap day ahead', '0 12 29 2 *', '2026-03-01T00:00Z', ['2028-02-29T11:00', '2032-02-29T11:00']],
  ['a day of the week', '15 4 * * sun', '2026-03-28T12:00Z', ['2026-03-29T02:15', '2026-04-05T02:15']],
])('%s (%s in Paris)', (_fact, expression, from, expected) => {
  expect(due(expression, 'Europe/Paris', from, expected.length)).toEqual(expected);
});

test.each(['1970-01-01T00:00Z', '2066-03-01T12:00Z'])(
  'a schedule goes on from %s, whatever the machine thinks',
  (from) => {
    const day = from.slice(0, 10);
    expect(due('*/5 * * * *', 'UTC', from, 1)).toEqual([`${day}T${from.slice(11, 14)}05`]);
  },
);

test.each([
  ['* * * *', 'five fields'],
  ['* * * * * *', 'five fields'],
  ['', 'five fields'],
  ['61 * * * *', 'out of range'],
  ['0 0 30 2 *', 'never comes'],
  ['a b c d e', 'unknown alias'],
  ['*/0 * * * *', 'step of zero'],
  ['*/99 * * * *', 'a step of 99 in the field minute'],
  ['0 6,*/25 * * *', 'a step of 25 in the field hour'],
])('%j is no cron expression', (text, complaint) => {
  expect(cronComplaint(text)).toContain(complaint);
});

test('every field may have lists, ranges, steps and names', () => {
  expect(cronComplaint('*/15,7 0-6/2 1,15 jan-mar mon')).toBeNull();
  expect(cronComplaint('*/60 */24 */31 */12 */7')).toBeNull();
});

/** How long a client waits that was told to, in every form that a Retry-After header was seen in, sensible or not. */
import { describe, expect, test } from 'vitest';

import type { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { REQUEST_RETRIES } from '../../src/base/retries.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer } from '../support/fault-server.ts';
import { CALLS, TOKEN, type CallName } from '../support/network.ts';

const WHOLE = json([{ '@row.id': 1, Title: 'a', status: 200, id: 1 }]);
/** The clock of these tests says 2026-01-01T00:00:00Z; its chance is 0, so that waits have no jitter. */
const NOW = Date.UTC(2026, 0, 1);

/**
 * The header, and seconds of wait before the second request; null where there is none, because the time of a call is
 * over.
 */
const FORMS: readonly (readonly [string, string | readonly string[] | null, number | null])[] = [
  ['seconds', '7', 7],
  ['four hundred digits', '9'.repeat(400), null],
  ['zero', '0', 0],
  ['zeros in front', '0007', 7],
  ['spaces around', '  7  ', 7],
  ['the time of a call, just', '299', 299],
  ['more than the time of a call', '301', null],
  ['an hour', '3600', null],
  ['a year', '31536000', null],
  ['nine digits', '999999999', null],
  ['more digits than a number holds', '99999999999999999999', null],
  ['below zero', '-5', 0],
  ['a plus', '+5', 0],
  ['a part of a second', '1.5', 2],
  ['a part of a second with a comma', '1,5', 5],
  ['an exponent', '1e2', 0],
  ['hexadecimal', '0x10', 0],
  ['a unit', '5s', 0],
  ['words', 'soon', 0],
  ['infinity', 'Infinity', 0],
  ['nothing', '', 0],
  ['no header', null, 0],
  ['two headers', ['5', '9'], 9],
  ['two headers, one of them none', ['soon', '5'], 5],
  ['a list', '5, 9', 9],
  ['a date', 'Thu, 01 Jan 2026 00:01:00 GMT', 60],
  ['a date in the form of RFC 850', 'Thursday, 01-Jan-26 00:01:00 GMT', 60],
  ['a date in the form of C', 'Thu Jan  1 00:01:00 2026', 60],
  ['a date that is now', 'Thu, 01 Jan 2026 00:00:00 GMT', 0],
  ['a date that has passed', 'Wed, 01 Jan 2025 00:00:00 GMT', 0],
  ['the first of all dates', 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['a date in a thousand years', 'Thu, 01 Jan 3026 00:00:00 GMT', null],
  ['a date with the wrong day of the week', 'Mon, 01 Jan 2026 00:01:00 GMT', 60],
  ['a date that does not exist', 'Thu, 99 Foo 2026 00:01:00 GMT', 0],
  ['a date in the form of ISO 8601', '2026-01-01T00:01:00Z', 0],
  ['the seconds since 1970', String(NOW / 1000 + 60), null],
];

/** Asks once; gives the seconds that were waited and how many requests came. */
async function ask(
  call: CallName,
  status: number,
  retryAfter: string | readonly string[] | null,
): Promise<{ waits: readonly number[]; requestCount: number }> {
  await using server = await startFaultServer((nth) =>
    nth === 1 ? http(status, { 'Retry-After': retryAfter }) : WHOLE,
  );
  const clock = testClock({ startMs: NOW, random: () => 0 });
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const origin = openOrigin({ url: server.url, database: '1', credentials }, { clock, log: silentLogger });
  try {
    await CALLS[call].ask(origin);
  } catch {
    // The request that was not repeated; the counts say so.
  } finally {
    await origin.close();
  }
  return { waits: clock.waits.map((ms) => ms / 1000), requestCount: server.requests.length };
}

describe.each([
  ['select', 429],
  ['select', 503],
  ['upsert', 429],
] as const)('%s that is answered %i', (call, status) => {
  test.each(FORMS)('with %s', async (_title, header, seconds) => {
    const asked = await ask(call, status, header);

    expect(asked).toEqual(seconds === null ? { waits: [], requestCount: 1 } : { waits: [seconds], requestCount: 2 });
  });
});

test('a change that is answered 503 by whoever stands in front is not sent again, however long it is asked to wait', async () => {
  expect(await ask('upsert', 503, '5')).toEqual({ waits: [], requestCount: 1 });
});

test.each([200, 301, 401, 404])('a header beside %i asks nobody to wait', async (status) => {
  await using server = await startFaultServer(() => http(status, { 'Retry-After': '5' }, ''));
  const clock = testClock({ random: () => 0 });
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const limits = { retry: { attemptsMax: 1, baseWaitMs: 1, waitMsMax: 1, totalMs: 1 } };
  const origin = openOrigin({ url: server.url, database: '1', credentials, limits }, { clock, log: silentLogger });

  await Promise.allSettled([CALLS.select.ask(origin)]);
  await origin.close();

  expect(clock.waits).toEqual([]);
});

test.each([
  ['ten minutes', 'select', 429, '600', 600],
  ['an hour', 'select', 429, '3600', 3_600],
  ['ten minutes before a change that is not sent again', 'upsert', 503, '600', 600],
] as const)('who is asked to wait %s sends nothing else before that', async (_title, first, code, header, seconds) => {
  await using server = await startFaultServer((nth) => (nth === 1 ? http(code, { 'Retry-After': header }) : WHOLE));
  const clock = testClock({ random: () => 0 });
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const origin = openOrigin({ url: server.url, database: '1', credentials }, { clock, log: silentLogger });
  const outcomeOf = async (call: CallName): Promise<readonly [string, number]> => {
    const [settled] = await Promise.allSettled([CALLS[call].ask(origin)]);
    const outcome = settled.status === 'fulfilled' ? 'fulfilled' : (settled.reason as RowsyncError).code;
    return [outcome, server.requests.length];
  };

  const outcomes = [await outcomeOf(first)];
  outcomes.push(await outcomeOf('select'), await outcomeOf('upsert'));
  clock.advance(seconds * 1000 - REQUEST_RETRIES.totalMs - 1);
  outcomes.push(await outcomeOf('select'));
  clock.advance(1);
  outcomes.push(await outcomeOf('select'));
  await origin.close();

  expect(outcomes).toEqual([
    [first === 'select' ? 'origin.busy' : 'origin.unknownOutcome', 1],
    ['origin.busy', 1],
    ['origin.busy', 1],
    ['origin.busy', 1],
    ['fulfilled', 2], // the rest is short enough to be waited for
  ]);
  expect(clock.waits).toEqual([REQUEST_RETRIES.totalMs]);
});

test('a wait that nobody can mean holds up that request alone', async () => {
  await using server = await startFaultServer((nth) => (nth === 1 ? http(429, { 'Retry-After': '3601' }) : WHOLE));
  const clock = testClock({ random: () => 0 });
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const origin = openOrigin({ url: server.url, database: '1', credentials }, { clock, log: silentLogger });

  const [refused] = await Promise.allSettled([CALLS.select.ask(origin)]);
  const [answered] = await Promise.allSettled([CALLS.select.ask(origin)]);
  await origin.close();

  expect([refused.status, answered.status, clock.waits]).toEqual(['rejected', 'fulfilled', []]);
});

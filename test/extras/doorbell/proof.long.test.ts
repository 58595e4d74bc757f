/**
 * The whole proof of the doorbell: 1,000 changes at 20 a second, half of the rings lost, and 10,000 forged ones at a real daemon.
 */
import { expect, test } from 'vitest';
import { startDaemon } from '../../support/daemon.ts';
import { ask, portOf } from '../../support/http.ts';
import { playRinging } from '../../support/ringing.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const LONG_MS = 300_000;

test('1,000 changes by colleagues, half of the rings lost', { timeout: LONG_MS }, async () => {
  const { rungMs, lostCount, requestCount, readCount, seconds, writeCount, isSame } = await playRinging(1_000);

  const sorted = rungMs.map((ms) => ms ?? Infinity).toSorted((a, b) => a - b);
  expect(sorted[Math.ceil(sorted.length * 0.99) - 1]).toBeLessThanOrEqual(2_000);
  expect([lostCount, isSame, writeCount]).toEqual([0, true, 0]);
  expect(readCount).toBeLessThanOrEqual(3 * seconds);
  expect(requestCount).toBeLessThanOrEqual(5 * readCount + 11 * Math.ceil(seconds / 60));
});

test('10,000 forged rings cause no request, and the daemon answers on', { timeout: LONG_MS }, async () => {
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] }],
  });
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0", doorbell: true }\n');
  await daemon.idle();
  daemon.clock.advance(1_000);
  sandbox.requests.clear();
  const port = portOf(daemon);

  for (let sent = 0; sent < 10_000; sent += 20) {
    const forged = Array.from({ length: 20 }, (_, index) => ask({ port }, `/ring/forged-${sent + index}/Note`));
    expect(new Set((await Promise.all(forged)).map(({ status }) => status))).toEqual(new Set([404]));
  }
  daemon.clock.advance(5_000);
  await daemon.idle();

  expect(sandbox.requests.all).toEqual([]);
  expect((await ask({ port }, '/metrics')).body).toContain('rowsync_doorbell_rings_total{outcome="secret"} 10000\n');
});

/** The status of a daemon in one line, as systemd shows it. */
import { expect, test } from 'vitest';
import { statusLine, type LastWork } from '../../src/daemon/state.ts';
import { RESTING_STATE } from '../support/daemon-state.ts';
import { problem } from '../support/status.ts';

const work = (outcome: string): LastWork => ({
  finishedAtMs: Date.UTC(2026, 5, 1, 12),
  outcome,
  durationMs: 1,
  exitCode: 0,
  endedCount: 1,
});

test('a daemon that has done nothing yet is ok', () => {
  expect(statusLine(RESTING_STATE)).toBe('ok');
});

test('the line says how each kind of work last ended', () => {
  const lastByWork = new Map([
    ['pull', work('done')],
    ['push', work('failed')],
  ]);

  expect(statusLine({ ...RESTING_STATE, lastByWork })).toBe(
    'ok; last pull done 2026-06-01T12:00:00Z; last push failed 2026-06-01T12:00:00Z',
  );
});

test.each([
  ['its table', [problem('table.held', { table: 'Note', sentence: 'held' })], 'Note: held'],
  ['no table', [problem('work.failed', { sentence: 'failed' })], 'failed'],
  [
    'how many more there are',
    [1, 2, 3].map((n) => problem('work.failed', { sentence: `failed ${n}` })),
    'failed 1 (and 2 more problems)',
  ],
] as const)('the line names the worst problem with %s', (_what, problems, expected) => {
  expect(statusLine({ ...RESTING_STATE, problems })).toBe(expected);
});

test('a notice is no problem of the line', () => {
  const notice = problem('table.held', { severity: 'notice', sentence: 'to know' });

  expect(statusLine({ ...RESTING_STATE, problems: [notice] })).toBe('ok');
  expect(statusLine({ ...RESTING_STATE, problems: [problem('table.held', { sentence: 'held' }), notice] })).toBe(
    'held',
  );
});

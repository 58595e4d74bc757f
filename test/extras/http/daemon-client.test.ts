/**
 * What `rowsync status` shows of a running daemon.
 */
import { expect, test } from 'vitest';
import type { ListenAddress } from '../../../src/extras/shared/linked-extra.ts';
import { daemonLines, pageAddress } from '../../../src/extras/http/daemon-client.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test('shows what a running daemon says of itself, and what to do', () => {
  const jobs = [
    { job: 'verify', nextAt: new Date(NOW + 9e6).toISOString() },
    { job: 'pull', nextAt: new Date(NOW + 120_000).toISOString() },
  ];
  const daemon = { status: 'ok', working: null, failure: null, jobs };
  const failing = { ...daemon, working: 'pull', failure: { message: 'no', hint: 'Ask \u001b[2J.' } };

  expect(daemonLines({ ...daemon, notes: ['rings     3'] }, NOW)).toEqual([
    'daemon    ok; next pull in 2 min',
    'rings     3',
  ]);
  expect(daemonLines(failing, NOW)).toEqual(['daemon    ok; pull under way', '          what to do: Ask \\u001b[2J.']);
  const waiting = { ...daemon, failure: { message: 'no', hint: 'Ask.', retryInMs: 54_000 } };
  expect(daemonLines(waiting, NOW)[0]).toBe('daemon    ok; tries again in 54 s');
  expect(daemonLines({ ...daemon, jobs: [] }, NOW)).toEqual(['daemon    ok; nothing is scheduled']);
});

test('names the address of the page where a browser can open it', () => {
  const page = (listen: ListenAddress | null) => pageAddress({ listen });

  expect(page({ kind: 'tcp', host: '127.0.0.1', port: 8787 })).toBe('http://127.0.0.1:8787/');
  expect(page({ kind: 'tcp', host: '::1', port: 8787 })).toBe('http://[::1]:8787/');
  expect(page({ kind: 'socket', path: '/run/rowsync.sock' })).toBe(null);
  expect(page(null)).toBe(null);
});

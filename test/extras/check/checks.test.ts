import { expect, test } from 'vitest';
import { checkTls, judgeSpace } from '../../../src/extras/check/checks.ts';

const DAY_MS = 86_400_000;

test.each([
  ['clear text on this machine', { tls: null, address: '127.0.0.1' }, 'ok'],
  ['clear text on this machine by IPv6', { tls: null, address: '::1' }, 'ok'],
  ['clear text to another machine', { tls: null, address: '10.0.0.7' }, 'warn'],
  ['a certificate for a year', { tls: { version: 'TLSv1.3', validToMs: 365 * DAY_MS }, address: '10.0.0.7' }, 'ok'],
  ['a certificate that ends tomorrow', { tls: { version: 'TLSv1.3', validToMs: DAY_MS }, address: '10.0.0.7' }, 'warn'],
])('judges %s', (_name, probe, expected) => {
  expect(checkTls({ ...probe, nowMs: 0 }).outcome).toBe(expected);
});

const MIB = 1024 ** 2;

test.each([
  ['a small volume with a small replica', 400, 7, 'ok'],
  ['a new replica, of which nothing is known', 60, 0, 'ok'],
  ['less room than the replica has', 900, 1_000, 'warn'],
  ['too little room for any run', 49, 0, 'fail'],
])('judges the free space: %s', (_name, free, size, expected) => {
  expect(judgeSpace(free * MIB, size * MIB).outcome).toBe(expected);
});

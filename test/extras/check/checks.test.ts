import { expect, test } from 'vitest';
import { checkTls } from '../../../src/extras/check/checks.ts';

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

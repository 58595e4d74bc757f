/** Moments as people write them. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { momentOf } from '../../../src/extras/history/time-argument.ts';

const NOW = Date.parse('2026-11-25T10:30:15.700Z');
const read = (text: string): string =>
  new Date(momentOf(text, { name: '--since', nowMs: NOW }) * 1000).toISOString().slice(0, 19);

test.each([
  ['2026-11-01T08:00:00Z', '2026-11-01T08:00:00'],
  ['2026-11-01 08:00+02:00', '2026-11-01T06:00:00'],
  ['2026-11-01 08:00:30.9 Z', '2026-11-01T08:00:30'],
  ['now', '2026-11-25T10:30:15'],
  ['90m', '2026-11-25T09:00:15'],
  ['2h', '2026-11-25T08:30:15'],
  ['3d ago', '2026-11-22T10:30:15'],
  ['1w', '2026-11-18T10:30:15'],
])('%s is %s', (text, stamp) => {
  expect(read(text)).toBe(stamp);
});

describe('where TZ is not the name of a zone, which Node takes for UTC', () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each(['CET-1CEST,M3.5.0,M10.5.0/3', '<+0330>-3:30', 'CET-1CEST', 'Nowhere/Bad'])('%s', (zone) => {
    vi.stubEnv('TZ', zone);

    for (const text of ['today', 'yesterday', '2026-11-01', '2026-11-01 08:00'])
      expect(() => read(text)).toThrow(`"${zone}"`);
    expect(read('2026-11-01T08:00:00Z')).toBe('2026-11-01T08:00:00');
    expect(read('2h')).toBe('2026-11-25T08:30:15');
  });

  test.each(['', ':Europe/Paris', 'EST5EDT', 'UTC'])('but for "%s"', (zone) => {
    vi.stubEnv('TZ', zone);

    expect(() => read('today')).not.toThrow();
  });
});

test('a time without a zone is one of this machine, and a day is its beginning', () => {
  const local = (...parts: [number, number, number, number?]): string => new Date(...parts).toISOString().slice(0, 19);

  expect(read('2026-11-01 08:00')).toBe(local(2026, 10, 1, 8));
  expect(read('2026-11-01')).toBe(local(2026, 10, 1));
  const today = new Date(NOW);
  expect(read('today')).toBe(local(today.getFullYear(), today.getMonth(), today.getDate()));
  expect(read('yesterday')).toBe(local(today.getFullYear(), today.getMonth(), today.getDate() - 1));
});

test.each(['', 'soon', '2026-13-01', '2026-02-30', '2026-11-01 25:00', '5 minutes', '-2h'])('refuses "%s"', (text) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ code: 'usage.invalid' }));
});

import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { fastClock } from './fast-clock.ts';

const original = { ...systemClock };

afterEach(() => void Object.assign(systemClock, original));

test('it may take the place of the system clock, as the probe does', () => {
  Object.assign(systemClock, fastClock({ beginMs: 0, speed: 24 }));

  expect(systemClock.nowMs()).toBeGreaterThan(original.nowMs() * 23);
  expect(systemClock.random()).toBeLessThan(1);
});

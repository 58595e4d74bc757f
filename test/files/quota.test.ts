/** The bytes that may still be stored, shared by downloads side by side. */
import { expect, test } from 'vitest';
import { Quota } from '../../src/files/quota.ts';

test('what is stored and what is reserved is not left; a reservation ends with its download', () => {
  const quota = new Quota(100, 40);
  const first = quota.reserve(30);
  {
    using _second = quota.reserve(20);
    expect(quota.left()).toBe(10);
  }
  expect(quota.left()).toBe(30);

  quota.use(25);
  first[Symbol.dispose]();

  expect(quota.left()).toBe(35);
});

test('never less than nothing is left, and without a bound there is no number', () => {
  const full = new Quota(100, 140);
  const unbounded = new Quota(null, 140);
  unbounded.use(10);

  expect([full.left(), unbounded.left()]).toEqual([0, null]);
});

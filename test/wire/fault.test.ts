import { expect, test } from 'vitest';
import { WireFault } from '../../src/wire/fault.ts';

test('a fault is a wrong request of no part in particular, unless it says more', () => {
  expect(new WireFault('The body ends early')).toEqual({ status: 400, message: 'The body ends early', source: null });
  expect(new WireFault('It is too large', { status: 413 })).toMatchObject({ status: 413, source: null });
  expect(new WireFault('No such column', { source: 'Nope' })).toMatchObject({ status: 400, source: 'Nope' });
});

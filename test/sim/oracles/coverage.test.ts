/**
 * What counts as having happened in a simulation.
 */
import { expect, test } from 'vitest';
import { tooSeldom } from './coverage.ts';

test('an action that was refused each time did not happen', () => {
  const refused = tooSeldom(new Map([['user ownColumn refused', 50]]), 3_000);
  const done = tooSeldom(new Map([['user ownColumn', 1]]), 3_000);

  expect(refused).toContain('user ownColumn (0 of 1)');
  expect(done.filter((what) => what.startsWith('user ownColumn'))).toEqual([]);
});

test.each([
  ['what happens all the time', 'request select', 'request select'],
  ['a fault, by the kinds of requests that it strikes', 'fault html200 on read', 'fault html200'],
])('%s must happen the oftener the more seeds are run', (_what, key, name) => {
  const coverage = new Map([[key, 20]]);

  expect(tooSeldom(coverage, 3_000).filter((what) => what.startsWith(`${name} `))).toEqual([]);
  expect(tooSeldom(coverage, 6_000)).toContain(`${name} (20 of 40)`);
});

test('what happens now and then must happen once', () => {
  const happened = new Map([['error guard.pending', 1]]);

  expect(tooSeldom(new Map(), 6_000)).toContain('error guard.pending (0 of 1)');
  expect(tooSeldom(happened, 6_000).filter((what) => what.startsWith('error guard.pending'))).toEqual([]);
});

/**
 * Administrators give a name back only once the engine was told that it had gone: else no client can tell what it read
 * meanwhile.
 */
import { expect, test } from 'vitest';
import { Admin } from './admin.ts';
import { Tokens } from '../world/books.ts';
import { makeOrigin } from './colleague.ts';
import { Names } from '../world/names.ts';
import { CALM } from '../stories/scenario.ts';
import { START_MS } from '../world/setup.ts';
import { Draw } from '../world/tape.ts';

function makeAdmin(): Admin {
  const origin = makeOrigin(CALM, { tokens: new Tokens(), nowMs: () => START_MS, draw: () => 0 });
  const nothing = (): void => undefined;
  return new Admin({ origin, names: new Names(origin), count: nothing, onRestore: nothing });
}

/** A draw by which an administrator swaps the names of two columns. */
function findSwap(): number {
  for (let value = 1; ; value += 1) if (makeAdmin().act(new Draw(value)).includes('swaps the names')) return value;
}

test.each([
  ['was told of it', 200, 'admin: swaps the names B and A'],
  ['was told that nothing changed', 304, 'admin: leaves all names as they are'],
  ['was refused an answer', 403, 'admin: leaves all names as they are'],
])('two names that were swapped are swapped back or not where the engine %s', (_what, status, said) => {
  const admin = makeAdmin();
  const swap = findSwap();
  admin.act(new Draw(swap));

  admin.noteDescribed('Thing', status);

  expect(admin.act(new Draw(swap))).toBe(said);
});

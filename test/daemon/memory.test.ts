/**
 * Memory at rest: what was used and is not any more goes back to the system.
 */
import { expect, test } from 'vitest';
import { memoryKeeper } from '../../src/daemon/memory.ts';

const MIB = 1024 * 1024;

/** Fills the heap with what nobody keeps. */
function litter(): void {
  const kept: unknown[] = [];
  for (let index = 0; index < 400_000; index += 1) kept.push({ index, text: `row ${index}` });
}

test('a heap that work has filled is given back before a wait', () => {
  const rest = memoryKeeper();
  rest();
  litter();
  const filled = process.memoryUsage().heapTotal;

  rest();

  expect(process.memoryUsage().heapTotal).toBeLessThan(filled - 8 * MIB);
});

/**
 * Memory at rest: what was used and is not any more goes back to the system.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { memoryKeeper } from '../../src/daemon/memory.ts';
import { SQLITE_BYTES_MAX } from '../../src/daemon/page/answer.ts';
import { HEAP_MIB_MAX, PROCESSES_MAX } from '../../src/daemon/page/host.ts';

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

test('all page processes at their bounds and the daemon at work fit into the unit', () => {
  const unit = readFileSync('systemd/rowsync@.service', 'utf8');
  const unitMiB = 1024 * Number(/^MemoryMax=(\d+)G$/m.exec(unit)?.[1]);
  const nodeMiB = 50;
  // As docs/performance.md has it: the peak of a first pull.
  const daemonMiB = 165;
  const processCount = PROCESSES_MAX.pages + PROCESSES_MAX.streams;

  expect(daemonMiB + processCount * (nodeMiB + HEAP_MIB_MAX + SQLITE_BYTES_MAX / MIB)).toBeLessThan(0.8 * unitMiB);
  expect(unit).toMatch(/^OOMPolicy=continue$/m);
});

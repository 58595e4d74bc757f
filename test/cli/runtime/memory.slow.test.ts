import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/**
 * Sizes of the space for young objects in MiB: kept small, then grown, then after many more survivors. V8 lets the
 * space be larger for a moment, so each look comes after a collection.
 */
const PROGRAM = `
import { getHeapSpaceStatistics } from 'node:v8';
import { keepMemorySmall, prepareForRows } from ${JSON.stringify(new URL('../../../src/cli/runtime/memory.ts', import.meta.url).href)};
const kept = [];
const size = () => {
  for (let made = 0; made < 300_000; made += 1) kept.push({ made });
  globalThis.gc({ type: 'minor' });
  const space = getHeapSpaceStatistics().find((each) => each.space_name === 'new_space');
  return Math.round((space.space_used_size + space.space_available_size) / 1024 / 1024);
};
keepMemorySmall();
const small = size();
prepareForRows();
console.log(JSON.stringify([small, size(), size()]));
`;

test('young objects have one megabyte, and eight in a process that pulls, however many survive', () => {
  for (let run = 0; run < 5; run += 1) {
    const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', PROGRAM], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([1, 8, 8]);
  }
});

/** Whether V8 optimises a function that is hot: while the program is loaded, and once the work begins. */
const HOT = `
import { setFlagsFromString } from 'node:v8';
import { keepMemorySmall, optimiseCode } from ${JSON.stringify(new URL('../../../src/cli/runtime/memory.ts', import.meta.url).href)};
setFlagsFromString('--allow-natives-syntax');
keepMemorySmall();
const isOptimised = new Function('of', 'return (%GetOptimizationStatus(of) & 8) !== 0');
const heat = () => {
  const hot = new Function('n', 'let sum = 0; for (let at = 0; at < n; at += 1) sum += at % 7; return sum');
  for (let round = 0; round < 2_000; round += 1) hot(10_000);
  return isOptimised(hot);
};
const before = heat();
optimiseCode();
console.log(JSON.stringify([before, heat()]));
`;

test('code is not optimised before the work begins', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-concurrent-recompilation', '--input-type=module', '--eval', HOT],
    {
      encoding: 'utf8',
    },
  );
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([false, true]);
});

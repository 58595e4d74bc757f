/** The flags of Node, as a process that gets them has them. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { childFlags, NODE_FLAGS } from '../../src/base/node-flags.ts';

const SCRIPT = `
  const MiB = require('node:v8').getHeapStatistics().heap_size_limit / 1024 ** 2;
  const report = JSON.stringify(process.report.getReport());
  process.stdout.write(JSON.stringify({ MiB, hasProto: '__proto__' in {}, tells: report.includes(process.env.SECRET_WORD) }));`;

test.each([
  ['a process with many rows', NODE_FLAGS, 512],
  ['a child process', childFlags(64), 64],
])('%s has a bounded heap, no __proto__, and tells nothing of its environment', (_what, flags, heapMiB) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, '-e', SCRIPT], {
    encoding: 'utf8',
    env: { SECRET_WORD: 'canary-4711' },
  });

  expect([stderr, status]).toEqual(['', 0]);
  const { MiB, ...found } = JSON.parse(stdout) as { MiB: number };
  expect(found).toEqual({ hasProto: false, tells: false });
  expect(MiB).toBeGreaterThanOrEqual(heapMiB);
  expect(MiB).toBeLessThan(heapMiB + 200);
});

test('only a child process keeps the signal from Node altogether, since a daemon begins work on it', () => {
  expect(childFlags(64)).toContain('--disable-sigusr1');
  expect(NODE_FLAGS).not.toContain('--disable-sigusr1');
});

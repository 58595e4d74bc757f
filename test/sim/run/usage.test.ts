/**
 * The help of the simulation's scripts.
 */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test.each(['test/sim/run/main.ts', 'test/sim/mutants/main.ts'])('%s says with --help how it is used', (script) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--help'], { encoding: 'utf8' });

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('  npm run ');
  expect(stdout).toContain('--seeds');
});

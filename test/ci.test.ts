/** The counting of .ci/run: what its last line says, and when it fails. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const STEPS = fileURLToPath(new URL('../.ci/steps.mjs', import.meta.url));
const PASSED = "echo ' Tests  350 passed | 2 skipped (352)' # test";

test.each([
  ['checks and tests are added up', ['true', PASSED, 'true'], '352 passed, 0 failed', 0],
  ['quick and long tests are added up', [PASSED, "echo ' Tests  400 passed (400)' # test"], '750 passed, 0 failed', 0],
  ['the first failure is the last step', ['true', 'false', PASSED], '1 passed, 1 failed', 1],
  [
    'failed tests are counted',
    ["echo ' Tests  3 failed | 350 passed (353)'; exit 1 # test"],
    '350 passed, 3 failed',
    1,
  ],
  ['a failure outside of any test counts as one', [`${PASSED}\nfalse`], '350 passed, 1 failed', 1],
  ['no test at all is a failure', ['true', 'true # test'], '1 passed, 1 failed', 1],
])('%s', (_what, commands, lastLine, code) => {
  const { stdout, status } = spawnSync(process.execPath, [STEPS, ...commands], { encoding: 'utf8' });

  expect(stdout.trimEnd().split('\n').at(-1)).toBe(lastLine);
  expect(status).toBe(code);
});

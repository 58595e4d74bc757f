/** How vitest runs the tests. */
import { defineConfig } from 'vitest/config';
import { MEMORY_FOLDER } from './test/support/memory-folder.ts';

/** Files with a process of their own: they take long, measure their process, or change what Node sends or all objects share. */
const ALONE = [
  'test/**/*.long.test.ts',
  'test/daemon/memory.test.ts',
  'test/origin/{answers,client,faults,library}.test.ts',
  'test/security/prototypes.test.ts',
];
const TOGETHER = ['test/**/*.test.ts', ...ALONE.map((files) => `!${files}`)];

export default defineConfig({
  test: {
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    unstubEnvs: true,
    projects: [
      { extends: true, test: { name: 'alone', include: ALONE } },
      {
        extends: true,
        test: {
          name: 'together',
          include: TOGETHER,
          // A process runs one file after another: what they import is loaded once.
          isolate: false,
          globalSetup: ['test/support/memory-folder.ts'],
          env: MEMORY_FOLDER === undefined ? {} : { TMPDIR: MEMORY_FOLDER },
        },
      },
    ],
  },
});

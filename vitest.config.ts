/** How vitest runs the tests. */
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { MEMORY_FOLDER } from './test/support/memory-folder.ts';

/**
 * Files with a process of their own: they take long, measure their process, or change what Node sends or all objects
 * share.
 */
const ALONE = [
  'test/**/*.long.test.ts',
  'test/daemon/{memory,process-health}.test.ts',
  'test/extras/library/library.test.ts',
  'test/origin/{answers,client,transport}.test.ts',
  'test/security/prototypes.test.ts',
];
/** They hold machines and containers, which have no room in memory, or play a disk of their own. */
const ON_DISK = ['test/{packaging,power,service}/**/*.long.test.ts'];
const TOGETHER = ['test/**/*.test.ts', ...ALONE.map((files) => `!${files}`)];

/**
 * Long files that take more than two minutes on a slow machine. They begin first: what begins last has the machine to
 * itself.
 */
const LONGEST = [
  'packaging/program',
  'service/packages',
  'sim/stories/exhaustive',
  'extras/postgres/chaos',
  'power/power',
  'scenario/daemon-kill',
  'extras/putback/kill',
  'service/faults',
].map((name) => `/test/${name}.long.test.ts`);

/** Most tests make a replica: on a disk they wait for it more than for anything else. */
const IN_MEMORY = {
  globalSetup: ['test/support/memory-folder.ts'],
  env: MEMORY_FOLDER === undefined ? {} : { TMPDIR: MEMORY_FOLDER },
};

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLongest = ({ moduleId }: TestSpecification): boolean => LONGEST.some((end) => moduleId.endsWith(end));
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's method, which sorts a copy
    const others = await super.sort(files.filter((file) => !isLongest(file)));
    return [...LONGEST.flatMap((end) => files.filter(({ moduleId }) => moduleId.endsWith(end))), ...others];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    unstubEnvs: true,
    projects: [
      { extends: true, test: { name: 'on disk', include: ON_DISK } },
      {
        extends: true,
        test: { name: 'alone', include: [...ALONE, ...ON_DISK.map((files) => `!${files}`)], ...IN_MEMORY },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: TOGETHER,
          // A process runs one file after another: what they import is loaded once.
          isolate: false,
          // It leaves much behind and keeps little, so that a heap which begins small is marked and moved all the time.
          execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=32', '--initial-old-space-size=256'],
          ...IN_MEMORY,
        },
      },
    ],
  },
});

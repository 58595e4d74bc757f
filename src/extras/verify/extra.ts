/**
 * Verify: compares every cell and every attached file with the origin, by command and on schedule.
 */
import type { Extra } from '../../extra.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'rows.different': true;
  }
}

export const VERIFY: Extra = {
  name: 'verify',
  problems: [
    {
      code: 'rows.different',
      severity: 'person',
      why: 'The daemon compared every cell, and a table differs from the origin although nothing changed meanwhile.',
      before: 'work.failed',
    },
  ],
  commands: [
    { group: 'Look', names: ['verify'], load: async () => (await import('./command.ts')).addVerifyCommand },
    { names: ['files'], load: async () => (await import('./files-command.ts')).addFilesVerifyCommand },
  ],
  loadOptions: async () => {
    const doc = 'When the daemon compares every cell with the origin, which costs a request for every page.';
    return { jobs: { verify: { doc, ofTables: true } } };
  },
  join: async () => (await import('./differences.ts')).watchDifferences(),
  jobs: { verify: async (context) => (await import('./job.ts')).verifyOnSchedule(context) },
};

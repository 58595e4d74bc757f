/**
 * Answers that are young enough for a question, or none; and moments at which all tables are proven to have held what is here.
 */
import type { Extra } from '../../extra.ts';

export const FRESH: Extra = {
  name: 'fresh',
  commands: [
    { names: ['sql', 'export', 'pull', 'backup'], load: async () => (await import('./options.ts')).addFreshOptions },
  ],
  loadOptions: () =>
    Promise.resolve({
      jobs: { moment: { doc: 'When the daemon pulls, and proves that all tables are as they were at one moment.' } },
    }),
  jobs: { moment: async (context) => (await import('./moment.ts')).proveOnSchedule(context) },
  status: async ({ replica: { path } }) => (await import('./moment-status.ts')).momentStatus(path),
  hold: async (...args) => (await import('./snapshot.ts')).hold(...args),
  proveMoment: async (...pulled) => (await import('./moment.ts')).proveMoment(...pulled),
};

/**
 * Answers that are young enough for a question, or none; and moments at which all tables are proven to have held what
 * is here.
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
  status: async ({ replica: { path } }) => {
    const { openReader } = await import('../../replica/reader.ts');
    const { readLastMoment } = await import('../shared/fresh-tables.ts');
    using reader = openReader(path);
    const lastMoment = reader.isOlder() ? null : readLastMoment(reader);
    if (lastMoment === null) return { lines: [], json: { lastMoment } };
    const { at, holds } = lastMoment;
    return {
      lines: [`moment    ${at}, ${holds ? 'unchanged since' : 'rows have changed since'}`],
      json: { lastMoment },
    };
  },
  hold: async (...args) => (await import('./snapshot.ts')).hold(...args),
  proveMoment: async (...pulled) => (await import('./moment.ts')).proveMoment(...pulled),
};

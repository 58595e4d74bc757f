/**
 * Answers that are young enough for a question, or none.
 */
import type { Extra } from '../../extra.ts';

export const FRESH: Extra = {
  name: 'fresh',
  commands: [{ names: ['sql', 'export'], load: async () => (await import('./options.ts')).addFreshOptions }],
  freshen: async (...asked) => (await import('./freshen.ts')).freshen(...asked),
};

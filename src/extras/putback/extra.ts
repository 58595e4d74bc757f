/**
 * Rows that were lost, put back at the origin with the rows that hang on them. Everything goes through an ordinary push of a small replica of its own,
 * beside the replica, which holds only these rows.
 */
import type { Extra } from '../../extra.ts';

export const PUTBACK: Extra = {
  name: 'putback',
  commands: [
    { group: 'Look back', names: ['putback'], load: async () => (await import('./command.ts')).addPutbackCommand },
  ],
};

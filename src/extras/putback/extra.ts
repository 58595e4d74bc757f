/**
 * Rows that were lost, put back at the origin with the rows that hang on them. Everything goes through an ordinary push of a small replica of its own,
 * beside the replica, which holds only these rows.
 */
import { existsSync } from 'node:fs';
import type { Extra } from '../../extra.ts';

export const PUTBACK: Extra = {
  name: 'putback',
  commands: [
    { group: 'Look back', names: ['putback'], load: async () => (await import('./command.ts')).addPutbackCommand },
  ],
  forget: async ({ replica }, row) => {
    const path = `${replica.path}.putback`;
    const has = existsSync(path) && (await import('./records.ts')).hasRecordOf(path, row);
    return { removed: [], left: has ? [`still has it: ${path}`] : [], json: { putback: has } };
  },
};

/**
 * `rowsync schema`: what the origin changed about its tables and columns, and dropping what it no longer has.
 */
import type { Extra } from '../../extra.ts';

export const SCHEMA: Extra = {
  name: 'schema',
  commands: [
    { group: 'Operate', names: ['schema'], load: async () => (await import('./command.ts')).addSchemaCommand },
  ],
};

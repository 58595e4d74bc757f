/**
 * `rowsync check`, the diagnosis of everything that a pull needs.
 */
import type { Extra } from '../../extra.ts';

export const CHECK: Extra = {
  name: 'check',
  commands: [{ group: 'Begin', names: ['check'], load: async () => (await import('./command.ts')).addCheckCommand }],
};

/**
 * `rowsync demo`. It also shows what other extras do, so it is removed together with them.
 */
import type { Extra } from '../../extra.ts';

export const DEMO: Extra = {
  name: 'demo',
  commands: [{ group: 'Begin', names: ['demo'], load: async () => (await import('./command.ts')).addDemoCommand }],
};

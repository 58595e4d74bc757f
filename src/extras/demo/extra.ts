/**
 * The whole story in one command: it shows what other extras do too, so that it goes with them.
 */
import type { Extra } from '../../extra.ts';

export const DEMO: Extra = {
  name: 'demo',
  commands: [{ group: 'Begin', names: ['demo'], load: async () => (await import('./command.ts')).addDemoCommand }],
};

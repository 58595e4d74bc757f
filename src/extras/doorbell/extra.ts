/**
 * The doorbell: the origin calls an address when a table changes, and the daemon reads that table at once.
 */
import type { Extra } from '../../extra.ts';

export const DOORBELL: Extra = {
  name: 'doorbell',
  commands: [
    { group: 'Connect', names: ['doorbell'], load: async () => (await import('./command.ts')).addDoorbellCommands },
  ],
  join: async (view) => (await import('./ring-requests.ts')).takeRings(view),
};

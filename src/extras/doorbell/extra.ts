/**
 * The doorbell: the origin calls an address when a table changes, and the daemon reads that table at once.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Extra } from '../../extra.ts';
import { httpOf } from '../shared/http-settings.ts';

export const DOORBELL: Extra = {
  name: 'doorbell',
  commands: [
    { group: 'Connect', names: ['doorbell'], load: async () => (await import('./command.ts')).addDoorbellCommands },
  ],
  server: {
    listensAt: (config) => {
      const { listen, doorbell } = httpOf(config);
      return isDeepStrictEqual(listen, doorbell) ? null : doorbell;
    },
    open: async (address, view) => (await import('./ring-requests.ts')).openOwnServer(address, view),
  },
  join: async (view) => (await import('./ring-requests.ts')).takeRings(view),
};

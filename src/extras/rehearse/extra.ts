/**
 * Pushing what waits to a sandbox that is made from the replica.
 */
import type { Extra } from '../../extra.ts';

export const REHEARSE: Extra = {
  name: 'rehearse',
  commands: [
    { group: 'Edit', names: ['rehearse'], load: async () => (await import('./command.ts')).addRehearseCommand },
  ],
};

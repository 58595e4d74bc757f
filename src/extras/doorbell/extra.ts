/**
 * The doorbell: the origin calls an address when a table changes, and the daemon reads that table at once.
 */
import type { Extra } from '../../extra.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'doorbell.deaf': true;
  }
}

export const DOORBELL: Extra = {
  name: 'doorbell',
  problems: [
    {
      code: 'doorbell.deaf',
      severity: 'person',
      why: 'The secret of the doorbell cannot be read or made, so no call of the origin counts. Tables are as fresh as their schedule.',
      before: 'history.held',
    },
  ],
  commands: [
    { group: 'Connect', names: ['doorbell'], load: async () => (await import('./command.ts')).addDoorbellCommands },
  ],
  join: async (view) => (await import('./ring-requests.ts')).takeRings(view),
};

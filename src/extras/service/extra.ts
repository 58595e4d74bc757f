/**
 * The systemd service: installs it, finds out its state, and tells systemd the state of the daemon.
 */
import type { LinkedExtra } from '../shared/linked-extra.ts';

export const SERVICE: LinkedExtra = {
  name: 'service',
  commands: [
    { group: 'Begin', names: ['service'], load: async () => (await import('./command.ts')).addServiceCommand },
  ],
  openNotifier: async (environment, log) => (await import('./notifier.ts')).openNotifier(environment, log),
  showStatuses: async (...args) => (await import('./statuses.ts')).showStatuses(...args),
  findService: async ({ file }) => {
    const [{ instanceOf }, { examineUnits }] = await Promise.all([
      import('./service-plan.ts'),
      import('./service-units.ts'),
    ]);
    const name = instanceOf(file);
    return name === null ? null : examineUnits(name);
  },
};

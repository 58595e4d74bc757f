/**
 * Contracts: registered queries, which are compiled whenever the schema changes; checks among them; and old names that stay readable for a while.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { errorFacts } from '../../base/log.ts';
import type { Extra } from '../../extra.ts';
import { workBeside } from '../shared/work-beside.ts';

/** The first word of a command line that starts this program to run checks. */
export const CHECK_PROCESS = 'check-process';

export const CONTRACTS: Extra = {
  name: 'contracts',
  commands: [
    { group: 'Look', names: ['contracts'], load: async () => (await import('./command.ts')).addContractsCommand },
  ],
  loadOptions: async () => (await import('./options.ts')).CONTRACT_OPTIONS,
  processes: { [CHECK_PROCESS]: async () => (await import('./check-process.ts')).serveChecks },
  loadPrepare: async () => {
    const [{ watchContracts }, { systemClock }] = await Promise.all([
      import('./watch.ts'),
      import('../../base/clock.ts'),
    ]);
    return async (replica, config) => {
      await watchContracts(replica, config.extras.contracts, systemClock);
    };
  },
  join: async (view) => {
    const { watchContracts } = await import('./watch.ts');
    return workBeside(view, async ({ config, replica, log }) => {
      try {
        return { stop: await watchContracts(replica, config.extras.contracts, view.clock) };
      } catch (thrown) {
        log.error('contracts.failed', errorFacts(asRowsyncError(thrown)));
        return { stop: () => undefined };
      }
    });
  },
};

/**
 * Contracts: registered queries, which are compiled whenever the schema changes; checks among them; and old names that
 * stay readable for a while.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { literal, sql } from '../../base/sql.ts';
import type { Extra } from '../../extra.ts';
import { workBeside } from '../shared/work-beside.ts';

/** The first word of a command line that starts this program to run checks. */
export const CHECK_PROCESS = 'check-process';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'contract.breaks': true;
    readonly 'contract.fails': true;
    readonly 'contract.changed': true;
    readonly 'contract.oldName': true;
  }
}

/** Complaints with this code, as complaints.ts keeps them. */
function storedAs(code: string) {
  const select = sql`SELECT code, message, hint, since FROM _rowsync_contracts WHERE code = ${literal(code)} ORDER BY name`;
  return { table: '_rowsync_contracts', select };
}

export const CONTRACTS: Extra = {
  name: 'contracts',
  problems: [
    {
      code: 'contract.breaks',
      severity: 'person',
      why: 'A query that you registered (`contracts`) does not compile any more, or reads a column that the origin no longer shows.',
      before: 'work.failed',
      stored: storedAs('contract.breaks'),
    },
    {
      code: 'contract.fails',
      severity: 'person',
      why: 'A check that you registered, a query that must return no row, returned rows after the last complete pull of its tables, or could not be run.',
      before: 'work.failed',
      stored: storedAs('contract.fails'),
    },
    {
      code: 'contract.changed',
      severity: 'notice',
      why: 'In the last seven days a column that a registered query reads was replaced by another one, or the columns of its answer got other names.',
      before: 'work.failed',
      stored: storedAs('contract.changed'),
    },
    {
      code: 'contract.oldName',
      severity: 'notice',
      why: 'A registered query reads a table or column under an old name that `contracts.keepOldNames` keeps for a while, or an old name ends within seven days.',
      before: 'work.failed',
      stored: storedAs('contract.oldName'),
    },
  ],
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
    const [{ watchContracts }, { errorFacts }] = await Promise.all([
      import('./watch.ts'),
      import('../../base/log.ts'), // pino, which no command needs to know what extras there are
    ]);
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

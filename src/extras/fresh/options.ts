/**
 * `--fresh` of the commands that answer from the replica.
 */
import type { Command } from 'commander';
import { AGE_FORMS } from '../../reconcile/fresh.ts';

const HELP = `
  rowsync sql --fresh 10m 'SELECT count(*) FROM "Order"'    # or no answer, and exit code 75

--fresh takes ${AGE_FORMS}. Tables that the query reads and that are older are read first, by the daemon if one runs. The time of the oldest
one is printed on stderr, and with --json the answer is {"asOf", "tables", "rows"}. Your own edits are in the answer at once.`;

/** Adds the option to the commands that are there. */
export function addFreshOptions(program: Command): void {
  for (const command of program.commands) {
    if (command.name() !== 'sql' && command.name() !== 'export') continue;
    command.option('--fresh <age>', 'no table older than that, or nothing; older ones are read first');
    if (command.name() === 'sql') command.addHelpText('after', HELP);
  }
}

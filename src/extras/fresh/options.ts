/**
 * `--fresh` and `--moment` of the commands that read from the origin, or answer from the replica.
 */
import { Option, type Command } from 'commander';
import { AGE_FORMS } from '../shared/freshness.ts';

const HELP = `
  rowsync sql --fresh 10m 'SELECT count(*) FROM "Order"'    # or no answer, and exit code 75
  rowsync sql --moment 'SELECT * FROM "Order"'              # after rowsync pull --moment, until the next change

--fresh takes ${AGE_FORMS}. Tables that the query reads and that are older are read first, by the daemon if one runs. The time of the oldest
one is printed on stderr, and with --json the answer is {"asOf", "tables", "rows"}. Your own edits are in the answer at once.
--moment shows what the origin confirmed, without edits that wait; with --json the answer is {"moment", "notCovered", "rows"}.`;

const FRESH_DOC = 'no table older than that, or nothing; older ones are read first';
const MOMENT_DOC = 'only while all tables are as they were at one moment, or nothing';

export function addFreshOptions(program: Command): void {
  const find = (name: string): Command | undefined => program.commands.find((command) => command.name() === name);
  for (const name of ['sql', 'export'])
    find(name)?.option('--fresh <age>', FRESH_DOC).addOption(new Option('--moment', MOMENT_DOC).conflicts('fresh'));
  find('sql')?.addHelpText('after', HELP);
  find('backup')?.option('--moment', MOMENT_DOC);
  find('pull')?.option(
    '--moment',
    'ask every table again until nothing moved: then all are as they were at one moment',
  );
}

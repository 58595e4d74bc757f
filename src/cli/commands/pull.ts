/**
 * `rowsync pull` and `rowsync sync`: bring the replica up to date. `sync` is what to schedule: whatever a cycle consists of
 * in this version, which is a pull.
 */
import type { Command } from 'commander';
import type { PullReport } from '../../pull/report.ts';
import { pull, type PullOptions } from '../../pull/pull.ts';
import {
  exitCodeOf,
  loadNamedConfig,
  printJson,
  withPullContext,
  type Invocation,
  type Runner,
} from '../invocation.ts';
import { failuresOf, pullJson, pullText } from '../report.ts';

const examples = (name: string): string => `
Examples:
  rowsync ${name}                      every table that the configuration names
  rowsync ${name} Customer "Order"     these tables only
  rowsync ${name} Customer --confirm   ... and let deletes through that a guard held

Tables are named as the origin names them. A table that fails does not hold up the others; the exit code is then 1, or 75
if all that failed may work later. 3 means that a guard held something: look at rowsync status, then --confirm.`;

/** Adds both commands. */
export function addPullCommands(program: Command, runner: Runner): void {
  define(program.command('pull'), runner).description('read what changed at the origin into the replica');
  define(program.command('sync'), runner).description(
    'run one whole cycle, to be called by a scheduler (in this version: pull)',
  );
}

function define(command: Command, runner: Runner): Command {
  return command
    .argument('[table...]', 'tables of the origin (default: all that the configuration names)')
    .option('--confirm', 'apply deletes and schema changes that a guard would hold')
    .option('--discard', 'give up edits of tables that are no longer to be pushed; sync_conflicts keeps them')
    .addHelpText('after', examples(command.name()))
    .action((tables: string[], options: { confirm?: boolean; discard?: boolean }) =>
      runner(command, (invocation) =>
        pullAndPrint(invocation, { tables, confirm: options.confirm === true, discard: options.discard === true }),
      ),
    );
}

async function pullAndPrint(invocation: Invocation, options: PullOptions): Promise<number> {
  const report = await runPull(invocation, options);
  const { stdout } = invocation.session;
  await (invocation.isJson ? printJson(invocation, pullJson(report)) : stdout.write(pullText(report, stdout.width())));
  return exitCodeOf(failuresOf(report));
}

/** One pull of the configured database, with progress on stderr. */
export async function runPull(invocation: Invocation, options: PullOptions): Promise<PullReport> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  return withPullContext(invocation, config, (context) => pull(context, options));
}

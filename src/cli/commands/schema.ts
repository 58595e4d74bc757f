/**
 * `rowsync schema prune`: drops what the origin no longer describes. Drift itself never drops anything (I17); this is the
 * person who decides that the last values are not needed any more.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { prune } from '../../capture/mode.ts';
import type { Config } from '../../config/load.ts';
import { openReader } from '../../replica/reader.ts';
import { loadNamedConfig, openExistingReplica, printJson, type Invocation, type Runner } from '../invocation.ts';
import { printable } from '../../base/text.ts';

const EXAMPLES = `
A table or column that vanishes at the origin keeps its last values here. Without --confirm, this only lists what would be
dropped, and the exit code is 3 if there is something.

Examples:
  rowsync schema prune
  rowsync schema prune --confirm`;

/** Adds the command. */
export function addSchemaCommand(program: Command, runner: Runner): void {
  program
    .command('schema')
    .description('look after tables and columns that the origin no longer has')
    .command('prune')
    .description('drop tables and columns that the origin no longer has, with their last values')
    .option('--confirm', 'drop them')
    .addHelpText('after', EXAMPLES)
    .action((options: { confirm?: boolean }, command: Command) =>
      runner(command, async (invocation) => {
        const config = await loadNamedConfig(invocation, { needsCredentials: false });
        return options.confirm === true ? drop(invocation, config) : list(invocation, config);
      }),
    );
}

async function list(invocation: Invocation, config: Config): Promise<number> {
  const reader = openReader(config.replica.path);
  try {
    const prunable = reader.prunable();
    const text =
      prunable.length === 0
        ? 'Nothing to drop: the origin has every table and column of the replica\n'
        : `The origin no longer has:\n${lines(prunable)}To drop them here too: rowsync schema prune --confirm\n`;
    await (invocation.isJson ? printJson(invocation, { prunable }) : invocation.session.stdout.write(text));
    return prunable.length === 0 ? EXIT.done : EXIT.needsPerson;
  } finally {
    reader.close();
  }
}

async function drop(invocation: Invocation, config: Config): Promise<number> {
  const { stdout } = invocation.session;
  const replica = await openExistingReplica(invocation, config);
  try {
    const dropped = await replica.write('Dropping what the origin no longer has', (tx) =>
      prune(tx, stampFromMs(invocation.session.clock.nowMs())),
    );
    const text = dropped.length === 0 ? 'Nothing to drop\n' : `Dropped:\n${lines(dropped)}`;
    await (invocation.isJson ? printJson(invocation, { dropped }) : stdout.write(text));
    return EXIT.done;
  } finally {
    replica.close();
  }
}

function lines(names: readonly string[]): string {
  return names.map((name) => `  ${printable(name)}\n`).join('');
}

/**
 * `rowsync pull` and `rowsync sync`: read what changed at the origin; and one whole cycle, which also carries edits there. Both
 * first finish what an interrupted push left behind.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import type { PullReport } from '../../pull/report.ts';
import { pull, type PullOptions } from '../../pull/pull.ts';
import { finishPushes, push, pushedAmong } from '../../push/push.ts';
import type { PushReport } from '../../push/report.ts';
import { exitCodeOf, loadNamedConfig, printJson, withSides, type Invocation, type Runner } from '../invocation.ts';
import { pushExitCode, pushFailures, pushJson, pushText } from '../push-report.ts';
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
  define(program.command('pull'), (command, options) =>
    runner(command, (invocation) => pullAndPrint(invocation, options)),
  ).description('read what changed at the origin into the replica');
  define(program.command('sync'), (command, options) =>
    runner(command, (invocation) => syncAndPrint(invocation, options)),
  )
    .option('--strict', 'exit with 3 while a refused row waits')
    .description('run one whole cycle, to be called by a scheduler: pull, then push');
}

/** What a user may say of one run. */
type RunOptions = PullOptions & { readonly isStrict: boolean };

function define(command: Command, action: (command: Command, options: RunOptions) => Promise<void>): Command {
  return command
    .argument('[table...]', 'tables of the origin (default: all that the configuration names)')
    .option('--confirm', 'let through deletes, schema changes and mass edits that a guard would hold')
    .option('--discard', 'give up edits of tables that are no longer to be pushed; sync_conflicts keeps them')
    .addHelpText('after', examples(command.name()))
    .action((tables: string[], options: { confirm?: boolean; discard?: boolean; strict?: boolean }) =>
      action(command, {
        tables,
        confirm: options.confirm === true,
        discard: options.discard === true,
        isStrict: options.strict === true,
      }),
    );
}

async function pullAndPrint(invocation: Invocation, options: PullOptions): Promise<number> {
  const report = await runPull(invocation, options);
  const { stdout } = invocation.session;
  await (invocation.isJson ? printJson(invocation, pullJson(report)) : stdout.write(pullText(report, stdout.width())));
  return exitCodeOf(failuresOf(report));
}

async function syncAndPrint(invocation: Invocation, options: RunOptions): Promise<number> {
  const { pulled, pushed } = await runSync(invocation, options);
  const { stdout } = invocation.session;
  const failures = [...failuresOf(pulled), ...(pushed === null ? [] : pushFailures(pushed))];
  const code = exitCodeOf(failures);
  const exitCode = code === EXIT.done && pushed !== null ? pushExitCode(pushed, options.isStrict) : code;
  if (invocation.isJson) {
    const pushPart = pushed === null ? null : pushJson(pushed, options.isStrict);
    await printJson(invocation, { ...pullJson(pulled), exitCode, push: pushPart });
  } else {
    const width = stdout.width();
    await stdout.write(pullText(pulled, width) + (pushed === null ? '' : `\n${pushText(pushed, width)}`));
  }
  return exitCode;
}

/** One pull of the configured database, with progress on stderr. */
export async function runPull(invocation: Invocation, options: PullOptions): Promise<PullReport> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  return withSides(invocation, config, async (sides) => {
    await finishPushes(sides.push);
    return pull(sides.pull, options);
  });
}

/** One cycle; `pushed` is null where no table is pushed, or the pull ended as a whole. */
async function runSync(
  invocation: Invocation,
  options: PullOptions,
): Promise<{ readonly pulled: PullReport; readonly pushed: PushReport | null }> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  return withSides(invocation, config, async (sides) => {
    await finishPushes(sides.push);
    const pulled = await pull(sides.pull, options);
    const chosen = pushedAmong(sides.push, options.tables);
    if (chosen.length === 0 || (pulled.error !== null && pulled.error.kind !== 'needsPerson')) {
      return { pulled, pushed: null };
    }
    return { pulled, pushed: await push(sides.push, { tables: chosen, confirm: options.confirm }) };
  });
}

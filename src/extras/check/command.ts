/**
 * `rowsync check`: looks at everything that a pull needs and says ok, warn or fail, with what to do.
 */
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import type { CheckResult } from '../../cli/runtime/check-result.ts';
import type { Origin } from '../../origin/client.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import { loadNamedConfig, printJson, withOrigin } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { plural, printable } from '../../base/text.ts';

const EXAMPLES = `
Checks the connection to the origin, the credentials and their rights, the database, its tables and columns, clocks and time zone, whether
rows come in a stable order and ETags can be trusted (a sample of the stored pages is read again), the folder, the disk and the
file of the replica, SQLite, and the service. Changes nothing. The exit code is 1 if anything fails.

Examples:
  rowsync check
  rowsync check --json | jq '.checks[] | select(.outcome != "ok")'`;

/** Adds the command. */
export function addCheckCommand(program: Command, runner: Runner): void {
  program
    .command('check')
    .description('diagnose everything that a pull needs')
    .addHelpText('after', EXAMPLES)
    .action((_options: unknown, command: Command) => runner(command, checkAndPrint));
}

/** Checks the configuration of an invocation, prints what was found, and returns the exit code. */
export async function checkAndPrint(invocation: Invocation): Promise<number> {
  const { session, isJson } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  const [{ checkDamage, checkOrigin, checkReplica }, { checkDaemon }] = await Promise.all([
    import('./checks.ts'),
    import('./daemon.ts'),
  ]);
  const results: CheckResult[] = [];
  const add = async (result: CheckResult): Promise<void> => {
    results.push(result);
    if (!isJson) await session.stdout.write(resultText(result, session.stdout.isTerminal));
  };
  await add({ name: 'config', outcome: 'ok', message: config.file, hint: '' });
  for (const result of [...checkReplica(config), ...(await checkDamage(config))]) await add(result);
  for (const result of await checkDaemon(config, invocation.extras, session.clock.nowMs())) await add(result);
  const checkAll = async ({ origin }: { readonly origin: Origin }): Promise<void> => {
    for await (const result of checkOrigin(origin, config, session)) await add(result);
  };
  await withOrigin(invocation, config, checkAll, { retry: NO_RETRY });
  const count = (outcome: CheckResult['outcome']): number => results.filter((it) => it.outcome === outcome).length;
  const exitCode = count('fail') === 0 ? EXIT.done : EXIT.failed;
  const verdict = `${plural(count('ok'), 'check')} ok, ${plural(count('warn'), 'warning')}, ${count('fail')} failed\n`;
  await (isJson ? printJson(invocation, { exitCode, checks: results }) : session.stdout.write(verdict));
  return exitCode;
}

/** Someone waits for the diagnosis, and a fault that comes and goes is worth seeing. */
const NO_RETRY = { ...ORIGIN_LIMITS.retry, attemptsMax: 1 };

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function resultText({ name, outcome, message, hint }: CheckResult, isColoured: boolean): string {
  const word = outcome.padEnd(4);
  // styleText leaves the colour out where the terminal or NO_COLOR says so.
  const shown = isColoured ? styleText(COLOURS[outcome], word) : word;
  const advice = hint === '' ? '' : `                  what to do: ${printable(hint)}\n`;
  return `${shown}  ${name.padEnd(11)} ${printable(message)}\n${advice}`;
}

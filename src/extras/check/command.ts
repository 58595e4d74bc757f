/**
 * `rowsync check`: looks at everything that a pull needs and says ok, note, warn or fail, with what to do.
 */
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { type Output, writeProse } from '../../cli/terminal/session.ts';
import { ok, warn, type CheckResult, type LinkedExtra } from '../shared/linked-extra.ts';
import { hearDaemon, type DaemonAnswer } from '../shared/daemon-client.ts';
import type { Config } from '../../config/load.ts';
import { problemsBesideDisk } from '../../daemon/account-facts.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import type { Origin } from '../../origin/client.ts';
import { ORIGIN_LIMITS } from '../../origin/limits.ts';
import { loadNamedConfig, loadSections, printJson, printResult, withOrigin } from '../../cli/runtime/invocation.ts';
import type { Extra, Invocation, Runner } from '../../extra.ts';
import { bytesText, hanging, plural, printable } from '../../base/text.ts';

const EXAMPLES = `
Checks the connection to the origin, the credentials and their rights, the database, its tables and columns, clocks and time zone, whether
rows come in a stable order and ETags can be trusted (a sample of the stored pages is read again), the folder, the disk and the
file of the replica, SQLite, and the service. Changes nothing. The exit code is 1 if anything fails.

--bundle writes a file to send when you ask for help, and checks nothing: versions, the configuration without its texts, the shape of the tables, problems,
the last 100 runs in figures. It has names of tables and columns, and no value, secret, address or path. Read it before you send it.

Examples:
  rowsync check
  rowsync check --json | jq '.checks[] | select(.outcome != "ok")'
  rowsync check --bundle support.json`;

export function addCheckCommand(program: Command, runner: Runner): void {
  program
    .command('check')
    .description('diagnose everything that a pull needs')
    .option('--bundle <file>', 'write a report for support into a new file, instead of checking')
    .addHelpText('after', EXAMPLES)
    .action(
      runner((invocation, { bundle }: { readonly bundle?: string }) =>
        bundle === undefined ? checkAndPrint(invocation) : bundleAndPrint(invocation, bundle),
      ),
    );
}

export async function checkAndPrint(invocation: Invocation): Promise<number> {
  const { session, isJson } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  const { checkDamage, checkOrigin, checkReplica } = await import('./checks.ts');
  const results: CheckResult[] = [];
  const add = async (result: CheckResult): Promise<void> => {
    results.push(result);
    if (!isJson) await session.stdout.write(resultText(result, session.stdout));
  };
  await add({ name: 'config', outcome: 'ok', message: config.file, hint: '' });
  const ofExtras = await Promise.all(invocation.extras.flatMap(({ check }: LinkedExtra) => check?.(config) ?? []));
  const ofMachine = [...checkReplica(config), ...ofExtras.flat()];
  for (const result of [...ofMachine, ...(await checkDamage(config))]) await add(result);
  for (const result of await checkDaemon(config, invocation.extras, session.clock.nowMs())) await add(result);
  const checkAll = async ({ origin }: { readonly origin: Origin }): Promise<void> => {
    for await (const result of checkOrigin(origin, config, session)) await add(result);
  };
  await withOrigin(invocation, config, checkAll, { retry: NO_RETRY });
  const count = (outcome: CheckResult['outcome']): number => results.filter((it) => it.outcome === outcome).length;
  const exitCode = count('fail') === 0 ? EXIT.done : EXIT.failed;
  const notes = count('note') === 0 ? '' : `, ${plural(count('note'), 'note')}`;
  const verdict = `${plural(count('ok'), 'check')} ok${notes}, ${plural(count('warn'), 'warning')}, ${count('fail')} failed\n`;
  await (isJson ? printJson(invocation, { exitCode, checks: results }) : writeProse(session.stdout, verdict));
  return exitCode;
}

/** Checks the daemon: its systemd unit, what it reports where it listens, and each problem. */
async function checkDaemon(config: Config, extras: readonly Extra[], nowMs: number): Promise<readonly CheckResult[]> {
  const services = await Promise.all(extras.flatMap(({ findService }: LinkedExtra) => findService?.(config) ?? []));
  const { answer, facts } = await hearDaemon(config, extras);
  const problems = problemsBesideDisk(config, { ...facts, nowMs });
  return [
    ...services.flatMap((found) => found?.findings ?? []),
    ...(answer === null ? [] : [daemonResult(answer)]),
    ...problems.map(accountResult),
  ];
}

function daemonResult({ status, failure }: DaemonAnswer): CheckResult {
  return failure === null ? ok('daemon', status) : warn('daemon', status, failure.hint);
}

const OUTCOMES = { damaged: 'fail', person: 'warn', late: 'warn', notice: 'note' } as const;

export function accountResult({ code, severity, table, sentence, hint }: Problem): CheckResult {
  // A check may come before the first pull.
  const outcome = code === 'replica.unpulled' ? 'note' : OUTCOMES[severity];
  return {
    name: 'problems',
    outcome,
    message: `${outcome === 'note' ? '' : `${code}: `}${table === null ? '' : `${table}: `}${sentence}`,
    hint: outcome === 'note' ? '' : hint,
  };
}

async function bundleAndPrint(invocation: Invocation, file: string): Promise<number> {
  const { session, extras } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { supportBundle, writeBundle } = await import('./bundle.ts');
  const sections = await loadSections(invocation);
  const bundle = await supportBundle(config, { extras, sections, nowMs: session.clock.nowMs() });
  const path = resolve(session.folder, file);
  const bytes = writeBundle(path, bundle);
  const parts = Object.entries(bundle).map(([name, part]: [string, unknown]) =>
    Array.isArray(part) ? `${name} (${part.length})` : name,
  );
  const made = `${path}: ${bytesText(bytes)} of ${parts.join(', ')}`;
  const note = 'Read it before you send it: it names your tables and columns.';
  await printResult(invocation, { exitCode: EXIT.done, path, bytes }, [made, note]);
  return EXIT.done;
}

/** A person waits, and a fault that comes and goes is worth seeing, as is an origin that asks to wait. */
const NO_RETRY = { ...ORIGIN_LIMITS.retry, attemptsMax: 1, totalMs: 0 };

const WORD_WIDTH = 4;
const COLOURS = { ok: 'green', note: 'cyan', warn: 'yellow', fail: 'red' } as const;

/** A result on lines that begin below each other; the colour has no width. */
export function resultText({ name, outcome, message, hint }: CheckResult, stdout: Output): string {
  const word = outcome.padEnd(WORD_WIDTH);
  // styleText leaves the colour out where the terminal or NO_COLOR says so.
  const shown = stdout.isTerminal ? styleText(COLOURS[outcome], word) : word;
  const lines = (label: string, text: string): string =>
    hanging(`${' '.repeat(WORD_WIDTH)}  ${label.padEnd(11)} `, printable(text), stdout.width());
  return `${shown}${lines(name, message).slice(WORD_WIDTH)}${hint === '' ? '' : lines('', `what to do: ${hint}`)}`;
}

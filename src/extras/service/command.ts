/**
 * `rowsync service install|uninstall|status`: sets rowsync up as a systemd service, or prints what that would do.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { asRowsyncError, EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { makeFolders } from '../../base/file-system.ts';
import { NODE_FLAGS } from '../../base/node-flags.ts';
import { newMaskKey } from '../../config/mask-key.ts';
import { loadConfig } from '../../config/load.ts';
import { origin as originOptions } from '../../config/origin-options.ts';
import { SERVICE_NAME } from '../../config/paths.ts';
import { systemCode } from '../../config/secrets.ts';
import { problemsAt } from '../../daemon/account-facts.ts';
import { accountText } from '../../cli/runtime/account-text.ts';
import { hearDaemon } from '../shared/daemon-client.ts';
import { readShipped } from '../../cli/runtime/installation.ts';
import { ownCommand } from '../shared/child-pool.ts';
import { loadSections, printResult } from '../../cli/runtime/invocation.ts';
import type { Extra, Flags, Invocation, Runner } from '../../extra.ts';
import {
  firstConfig,
  PACKAGED,
  planInstall,
  planUninstall,
  servicePaths,
  UNIT_FILES,
  unitOf,
  type ServiceStep,
} from './service-plan.ts';
import { examineUnits } from './service-units.ts';
import { printable, printableLines } from '../../base/text.ts';

const EXAMPLES = `
NAME says which replica (default: main): the service rowsync@NAME reads /etc/rowsync/NAME.yaml and /etc/rowsync/NAME.token, keeps its
files in /var/lib/rowsync/NAME, and runs as the user rowsync. A configuration that is there is left as it is. Running it
again is harmless: it brings the units up to date and starts the service anew, as after an upgrade. uninstall leaves configuration,
token and replica alone.

Examples:
  sudo rowsync service install --url https://www.teamdesk.net --database 21995 \\
    --token-file token
  sudo rowsync service install sales --dry-run
  sudo rowsync service install --timer
  rowsync service status
  sudo rowsync service uninstall`;

/** A token has 32 characters; see secrets.ts. */
const TOKEN_BYTES_MAX = 16 * 1024;

/** What the units hide from the service: ProtectHome= and PrivateTmp=. */
const HIDDEN_FOLDERS = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

type ServiceOptions = Flags<'url' | 'database' | 'tokenFile' | 'root', 'timer' | 'dryRun'>;

export function addServiceCommand(program: Command, runner: Runner): void {
  const service = program
    .command('service')
    .description('set rowsync up as a systemd service')
    .addHelpText('after', EXAMPLES);
  const define = (name: string, description: string): Command =>
    service.command(name).argument('[name]', '', 'main').description(description);
  const writing = (command: Command): Command =>
    command
      .option('--dry-run', 'print what would be done, and change nothing')
      .option('--root <folder>', 'set up the system in this folder, without starting anything');
  writing(define('install', 'write user, folders, configuration and units; enable and start the service'))
    .option('--url <url>', 'the origin, for a configuration that is not there yet')
    .option('--database <number>', 'the database, for the same')
    .option('--token-file <file>', 'a file with the API token, to be stored for root alone')
    .option('--timer', 'run a cycle every five minutes by a timer of systemd, in place of the daemon')
    .action(
      runner(async (invocation, name: string, options: ServiceOptions) => {
        await carryOut(invocation, installSteps(name, options), options);
        // A dry run shows the steps first.
        if (options.dryRun === true) requireMachine(name, options);
        else if (options.root === undefined) await invocation.session.stdout.write(nextText(servicePaths(name).config));
        return EXIT.done;
      }),
    );
  writing(define('uninstall', 'stop, disable and remove the service')).action(
    runner(async (invocation, name: string, options: ServiceOptions) => {
      await carryOut(invocation, uninstallSteps(name, options), options);
      await invocation.session.stdout.write(keptText(name, options.root ?? '/'));
      return EXIT.done;
    }),
  );
  define('status', 'show what systemd says of the service').action(
    runner((invocation, name: string) => showStatus(invocation, checkedName(name))),
  );
}

function nextText(config: string): string {
  return `next:\n  rowsync check --config ${config}\n  rowsync status --config ${config}\n  rowsync service status\n`;
}

/** @throws RowsyncError `service.failed` where the machine cannot run the service: steps would fail half-way. */
function requireMachine(name: string, { root }: ServiceOptions): void {
  if (root !== undefined) return;
  if (examineUnits(name) === null)
    throw failed(
      'systemctl does not answer: this machine does not run systemd',
      '--root FOLDER sets up the system in a folder.',
    );
  const hidden = ownCommand(NODE_FLAGS).find((path) => HIDDEN_FOLDERS.some((folder) => path.startsWith(folder)));
  if (hidden === undefined) return;
  throw failed(
    `Services cannot see ${hidden}`,
    'Install Node and rowsync below /usr/local or /opt, not in a home folder.',
  );
}

function installSteps(name: string, options: ServiceOptions): readonly ServiceStep[] {
  const paths = servicePaths(checkedName(name));
  const root = options.root ?? '/';
  const { url, database } = options;
  const hasConfig = existsSync(join(root, paths.config));
  if (!hasConfig && (url === undefined || database === undefined)) {
    throw usageError(
      `There is no ${paths.config} yet`,
      'Write it, or give --url and --database for one to begin with.',
    );
  }
  if (!existsSync(join(root, paths.token)) && options.tokenFile === undefined) {
    throw usageError(`There is no ${paths.token} yet`, 'Give --token-file FILE with the API token.');
  }
  const origin = { url: url ?? '', database: database ?? '' };
  if (!hasConfig && !originOptions.safeParse({ ...origin, tokenFile: 'x' }).success) {
    throw usageError(
      '--url or --database is not what an origin has',
      'Such as --url https://www.teamdesk.net --database 21995.',
    );
  }
  if (options.dryRun !== true) requireMachine(name, options);
  return planInstall({
    name,
    by: options.timer === true ? 'timer' : 'daemon',
    program: ownCommand(NODE_FLAGS),
    units: isPackaged(root) ? null : readUnits(),
    config: hasConfig ? null : firstConfig(name, origin),
    token: options.tokenFile === undefined ? null : readToken(options.tokenFile),
    maskKey: newMaskKey(),
  });
}

function uninstallSteps(name: string, { root = '/' }: ServiceOptions): readonly ServiceStep[] {
  const own = [unitOf(name, 'daemon'), unitOf(name, 'timer')];
  const others = ['multi-user.target.wants', 'timers.target.wants']
    .map((folder) => join(root, '/etc/systemd/system', folder))
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []))
    .filter((file) => /^rowsync(?:-sync)?@/.test(file) && !own.includes(file));
  return isPackaged(root)
    ? planUninstall(checkedName(name), false, PACKAGED.units)
    : planUninstall(checkedName(name), others.length === 0);
}

/** Whether this is the program of the Debian package, which brings units of its own. */
function isPackaged(root: string): boolean {
  const [program] = ownCommand([]);
  return program === PACKAGED.program && existsSync(join(root, PACKAGED.units, UNIT_FILES[0]));
}

function keptText(name: string, root: string): string {
  const { config, token, maskKey, state } = servicePaths(name);
  const kept = [config, token, maskKey, state].filter((path) => existsSync(join(root, path)));
  if (kept.length === 0) return '';
  const lines = kept.map((path) => `kept: ${path}\n`).join('');
  return `${lines}kept: the user and the group rowsync\nTo remove the replica and its edits as well: rm -r ${kept.join(' ')}\n`;
}

function checkedName(name: string): string {
  if (SERVICE_NAME.test(name)) return name;
  throw usageError(`"${name}" cannot name a service`, 'Use lower-case letters, digits, - and _.');
}

function readUnits(): ReadonlyMap<string, string> {
  return new Map(UNIT_FILES.map((file) => [file, readShipped(`systemd/${file}`)]));
}

function readToken(file: string): string {
  try {
    if (statSync(file).size <= TOKEN_BYTES_MAX) return readFileSync(file, 'utf8');
  } catch (cause) {
    throw failed(`Reading ${file} failed: ${systemCode(cause)}`, 'Check the path given with --token-file.');
  }
  throw usageError(
    'The file given with --token-file is too large for a token',
    'Name the file that holds the token alone.',
  );
}

function failed(message: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'service.failed', { message, hint });
}

async function carryOut(
  { session: { stdout } }: Invocation,
  steps: readonly ServiceStep[],
  { dryRun = false, root }: ServiceOptions,
): Promise<void> {
  for (const step of steps) {
    if (step.kind === 'run' && step.isLive && root !== undefined) continue;
    const isDone = isNeedless(step, root ?? '/');
    if (!isDone && !dryRun) take(step, root);
    await stdout.write(`${isDone ? 'unchanged' : dryRun ? 'would' : 'done'}: ${printable(stepText(step))}\n`);
  }
}

function stepText(step: ServiceStep): string {
  if (step.kind === 'run') return step.command.join(' ');
  if (step.kind === 'remove') return `remove ${step.path}`;
  const verb = step.kind === 'protect' ? 'protect' : 'write';
  return `${verb} ${step.path} (mode ${step.mode.toString(8)})`;
}

function isNeedless(step: ServiceStep, root: string): boolean {
  if (step.kind === 'run') return step.needs !== null && !existsSync(join(root, step.needs));
  const path = join(root, step.path);
  if (!existsSync(path)) return step.kind === 'remove';
  if (step.kind === 'remove') return false;
  const hasMode = (statSync(path).mode & 0o777) === step.mode;
  if (step.kind === 'protect') return hasMode;
  return step.once || (hasMode && hasText(path, step.text));
}

function hasText(path: string, text: string): boolean {
  try {
    return readFileSync(path, 'utf8') === text;
  } catch {
    return false; // not readable for this user, who may only want to see the steps
  }
}

function take(step: ServiceStep, root: string | undefined): void {
  if (step.kind === 'run') return runCommand(step.command, root);
  const path = join(root ?? '/', step.path);
  try {
    if (step.kind === 'remove') return rmSync(path);
    if (step.kind === 'protect') return chmodSync(path, step.mode);
    makeFolders(dirname(path));
    // The mode comes first: a token must not be open for a moment.
    writeFileSync(path, '', { mode: step.mode, flag: 'a' });
    chmodSync(path, step.mode);
    writeFileSync(path, step.text);
  } catch (cause) {
    throw failed(`Writing ${path} failed: ${systemCode(cause)}`, 'Run it as root (sudo).');
  }
}

function runCommand([program, ...given]: readonly [string, ...string[]], root: string | undefined): void {
  const { status, error, stderr } = spawnSync(program, root === undefined ? given : [`--root=${root}`, ...given], {
    encoding: 'utf8',
  });
  if (status === 0) return;
  const reason = error === undefined ? stderr.trim() : systemCode(error);
  throw failed(
    `${[program, ...given].join(' ')} failed: ${reason}`,
    'Run it as root (sudo), on a machine with systemd.',
  );
}

async function showStatus(invocation: Invocation, name: string): Promise<number> {
  const report = examineUnits(name);
  if (report === null) throw failed('systemctl does not answer', 'This machine does not run systemd.');
  const { extras, session } = invocation;
  const exitCode = report.isUp ? EXIT.done : EXIT.failed;
  const findings = report.findings.map(
    ({ message, hint }) => `${printable(message)}\n${hint === '' ? '' : `  what to do: ${printable(hint)}\n`}`,
  );
  const account = await accountOfService(name, { extras, nowMs: session.clock.nowMs() });
  // In systemd's own words, with the end of the log if the user may read it.
  const asking = ['status', '--no-pager', '--lines=5', ...report.units];
  const { stdout: said } = spawnSync('systemctl', asking, { encoding: 'utf8' });
  const text = `${findings.join('')}${account}${said === '' ? '' : `\n${printableLines(said)}`}`;
  await printResult(invocation, { exitCode, ...report }, text);
  return exitCode;
}

/** The account of the replica of a service; if its configuration cannot be loaded, that the next start would fail. */
export async function accountOfService(
  name: string,
  { extras, nowMs }: { readonly extras: readonly Extra[]; readonly nowMs: number },
  file = servicePaths(name).config,
): Promise<string> {
  try {
    const { config } = loadConfig(file, { needsCredentials: false, sections: await loadSections({ extras }) });
    const { facts } = await hearDaemon(config, extras);
    return accountText(problemsAt(config, { ...facts, nowMs }));
  } catch (thrown) {
    const { message, hint } = asRowsyncError(thrown);
    return `\n${printableLines(message)}\n  the next start would fail, unless only this user may not read it\n  what to do: ${printable(hint)}\n`;
  }
}

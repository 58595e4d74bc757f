/**
 * `rowsync service install|uninstall|status`: sets rowsync up as a systemd service, or prints what that would do.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { optionsSchema } from '../../config/options.ts';
import { systemCode } from '../../config/secrets.ts';
import type { Invocation, Runner } from '../invocation.ts';
import { firstConfig, planInstall, planUninstall, servicePaths, type ServiceStep } from '../service-plan.ts';
import { printable } from '../../base/text.ts';

const EXAMPLES = `
NAME says which replica (default: main): the service rowsync@NAME reads /etc/rowsync/NAME.yaml and /etc/rowsync/NAME.token, keeps its
files in /var/lib/rowsync/NAME, and runs as the user rowsync. What is there already is left as it is; running it again is
harmless. uninstall leaves configuration, token and replica alone.

Examples:
  sudo rowsync service install --url https://www.teamdesk.net --database 21995 --token-file token
  sudo rowsync service install sales --dry-run
  rowsync service status
  sudo rowsync service uninstall`;

/** The flags that Node runs the service with: what the unit's bounds expect, and no environment in a crash report. */
const NODE_FLAGS = ['--disable-proto=delete', '--max-old-space-size=512', '--report-exclude-env'];

/** A token has 32 characters; see secrets.ts. */
const TOKEN_BYTES_MAX = 16 * 1024;

interface ServiceOptions {
  readonly url?: string;
  readonly database?: string;
  readonly tokenFile?: string;
  readonly dryRun?: boolean;
  readonly root?: string;
}

/** Adds the command. */
export function addServiceCommand(program: Command, runner: Runner): void {
  const service = program
    .command('service')
    .description('set rowsync up as a systemd service')
    .addHelpText('after', EXAMPLES);
  const define = (name: string, description: string): Command =>
    service.command(`${name} [name]`).description(description);
  const writing = (command: Command): Command =>
    command
      .option('--dry-run', 'print what would be done, and change nothing')
      .option('--root <folder>', 'set up the system in this folder, without starting anything');
  writing(define('install', 'write user, folders, configuration and units; enable and start the service'))
    .option('--url <url>', 'the origin, for a configuration that is not there yet')
    .option('--database <number>', 'the database, for the same')
    .option('--token-file <file>', 'a file with the API token, to be stored for root alone')
    .action((name: string | undefined, options: ServiceOptions, command: Command) =>
      runner(command, (invocation) => carryOut(invocation, installSteps(name ?? 'main', options), options)),
    );
  writing(define('uninstall', 'stop, disable and remove the service')).action(
    (name: string | undefined, options: ServiceOptions, command: Command) =>
      runner(command, (invocation) => carryOut(invocation, uninstallSteps(name ?? 'main', options), options)),
  );
  define('status', 'show what systemd says of the service').action(
    (name: string | undefined, _options: unknown, command: Command) =>
      runner(command, (invocation) => showStatus(invocation, checkedName(name ?? 'main'))),
  );
}

function installSteps(name: string, options: ServiceOptions): readonly ServiceStep[] {
  const paths = servicePaths(checkedName(name));
  const root = options.root ?? '/';
  const { url, database } = options;
  const hasConfig = existsSync(join(root, paths.config));
  if (!hasConfig && (url === undefined || database === undefined)) {
    throw usage(`There is no ${paths.config} yet`, 'Write it, or give --url and --database for one to begin with.');
  }
  if (!existsSync(join(root, paths.token)) && options.tokenFile === undefined) {
    throw usage(`There is no ${paths.token} yet`, 'Give --token-file FILE with the API token.');
  }
  const origin = { url: url ?? '', database: database ?? '' };
  if (!hasConfig && !optionsSchema.shape.origin.safeParse({ ...origin, tokenFile: 'x' }).success) {
    throw usage(
      '--url or --database is not what an origin has',
      'Such as --url https://www.teamdesk.net --database 21995.',
    );
  }
  return planInstall({
    name,
    program: [process.execPath, ...NODE_FLAGS, fileURLToPath(new URL(`../main${extension()}`, import.meta.url))],
    units: readUnits(),
    config: hasConfig ? null : firstConfig(name, origin),
    token: options.tokenFile === undefined ? null : readToken(options.tokenFile),
  });
}

/** The program is TypeScript in a checkout and JavaScript in a package. */
function extension(): string {
  return import.meta.url.endsWith('.ts') ? '.ts' : '.js';
}

function uninstallSteps(name: string, { root = '/' }: ServiceOptions): readonly ServiceStep[] {
  const wants = join(root, '/etc/systemd/system/multi-user.target.wants');
  const others = existsSync(wants)
    ? readdirSync(wants).filter((file) => file.startsWith('rowsync@') && file !== `rowsync@${name}.service`)
    : [];
  return planUninstall(checkedName(name), others.length === 0);
}

/** systemd gives some characters a meaning of their own, and the name is part of paths. */
function checkedName(name: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,30}$/.test(name)) return name;
  throw usage(`"${name}" cannot name a service`, 'Use lower-case letters, digits, - and _.');
}

function usage(message: string, hint: string): RowsyncError {
  return new RowsyncError('usage', 'usage.invalid', { message, hint });
}

/** The same relative path from src and from dist. */
function readUnits(): ReadonlyMap<string, string> {
  const folder = fileURLToPath(new URL('../../../systemd/', import.meta.url));
  return new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

function readToken(file: string): string {
  try {
    if (statSync(file).size <= TOKEN_BYTES_MAX) return readFileSync(file, 'utf8');
  } catch (cause) {
    throw failed(`Reading ${file} failed: ${systemCode(cause)}`, 'Check the path given with --token-file.');
  }
  throw usage('The file given with --token-file is too large for a token', 'Name the file that holds the token alone.');
}

function failed(message: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'service.failed', { message, hint });
}

async function carryOut(
  { session: { stdout } }: Invocation,
  steps: readonly ServiceStep[],
  { dryRun = false, root }: ServiceOptions,
): Promise<number> {
  for (const step of steps) {
    if (step.kind === 'run' && step.isLive && root !== undefined) continue;
    const isDone = isNeedless(step, root ?? '/');
    await stdout.write(`${isDone ? 'unchanged' : dryRun ? 'would' : 'done'}: ${printable(stepText(step))}\n`);
    if (!isDone && !dryRun) take(step, root);
  }
  return EXIT.done;
}

function stepText(step: ServiceStep): string {
  if (step.kind === 'run') return step.command.join(' ');
  return step.kind === 'remove' ? `remove ${step.path}` : `write ${step.path} (mode ${step.mode.toString(8)})`;
}

function isNeedless(step: ServiceStep, root: string): boolean {
  if (step.kind === 'run') return false;
  const path = join(root, step.path);
  if (!existsSync(path)) return step.kind === 'remove';
  if (step.kind === 'remove') return false;
  if (step.once) return true;
  return readFileSync(path, 'utf8') === step.text && (statSync(path).mode & 0o777) === step.mode;
}

function take(step: ServiceStep, root: string | undefined): void {
  if (step.kind === 'run') return runCommand(step.command, root);
  const path = join(root ?? '/', step.path);
  try {
    if (step.kind === 'remove') return rmSync(path);
    mkdirSync(dirname(path), { recursive: true });
    // The mode comes first: a token must not stand open for a moment.
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

async function showStatus({ session: { stdout } }: Invocation, name: string): Promise<number> {
  const unit = `rowsync@${name}.service`;
  const { stdout: text, error } = spawnSync('systemctl', ['status', '--no-pager', '--lines=5', unit], {
    encoding: 'utf8',
  });
  if (error !== undefined) throw failed('There is no systemctl', 'This machine does not run systemd.');
  await stdout.write(text === '' ? `${unit} is not installed\n` : text);
  return spawnSync('systemctl', ['is-active', '--quiet', unit]).status === 0 ? EXIT.done : EXIT.failed;
}

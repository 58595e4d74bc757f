/**
 * The command line: its commands, options and help, and how an error becomes words and an exit code.
 *
 * Input: arguments and a session. Output: an exit code (EXIT in base/errors.ts); text on the session's outputs. Never ends
 * the process itself. Results go to stdout, everything else to stderr, so that an output can be piped.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { asRowsyncError, EXIT, RowsyncError } from '../base/errors.ts';
import { CONFIG_PATHS } from '../config/load.ts';
import { addBackupCommands } from './commands/backup.ts';
import { addCheckCommand } from './commands/check.ts';
import { addConflictCommands } from './commands/conflicts.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDaemonCommand } from './commands/daemon.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addFailureCommands } from './commands/failures.ts';
import { addFilesCommands } from './commands/files.ts';
import { addInitCommand } from './commands/init.ts';
import { addManCommand } from './commands/man.ts';
import { addPullCommands } from './commands/pull.ts';
import { addPushCommands } from './commands/push.ts';
import { addRebuildCommand } from './commands/rebuild.ts';
import { addResyncCommand } from './commands/resync.ts';
import { addSandboxCommand } from './commands/sandbox.ts';
import { addSchemaCommand } from './commands/schema.ts';
import { addServiceCommand } from './commands/service.ts';
import { addSqlCommand } from './commands/sql.ts';
import { addStatusCommand } from './commands/status.ts';
import { addVerifyCommand } from './commands/verify.ts';
import { journalLines } from '../base/log-form.ts';
import { errorJson, messageText, type GlobalOptions, type Runner } from './invocation.ts';
import type { Session } from './session.ts';
import { printable, printableJson, printableLines } from '../base/text.ts';

const EXIT_CODES_HELP = `
Exit codes:
  0   done
  1   failed
  2   the command line or the configuration is wrong
  3   a guard or a conflict waits for a person: look, then run again with --confirm, or resolve
  75  the origin or the replica cannot be used now: try again later
  78  the replica cannot be used before a person has seen to it: it is damaged, or a newer rowsync wrote it`;

/** Runs one command to its end and returns the exit code. */
export async function run(args: readonly string[], session: Session): Promise<number> {
  const outcome: { exitCode: number } = { exitCode: EXIT.done };
  const usage: string[] = [];
  const program = buildProgram(session, {
    onUsage: (text) => usage.push(text),
    runner: async (command, work) => {
      const globals = command.optsWithGlobals<GlobalOptions>();
      outcome.exitCode = await work({
        session,
        configPath: globals.config,
        isJson: globals.json === true,
        isVerbose: globals.verbose === true,
      });
    },
  });
  try {
    await program.parseAsync(args.map(withoutDashes), { from: 'user' });
    return outcome.exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return EXIT.done; // --help and --version
    const error = thrown instanceof CommanderError ? usageError(thrown) : asRowsyncError(thrown);
    const isJson = args.includes('--json');
    const isHelp = thrown instanceof CommanderError && thrown.code === 'commander.help' && !isJson;
    if (isHelp) await session.stderr.write(usage.join(''));
    else await printError(error, session, { isJson, isVerbose: args.includes('--verbose') });
    return error.exitCode;
  }
}

/** SQL may begin with a comment, which is no option: a blank before it changes nothing. */
function withoutDashes(argument: string): string {
  return /^--\s/.test(argument) ? ` ${argument}` : argument;
}

function buildProgram(
  session: Session,
  hooks: { readonly onUsage: (text: string) => void; readonly runner: Runner },
): Command {
  const program = new Command('rowsync');
  program
    .description('Keeps a local SQLite replica of a hosted table database (TeamDesk, dbFLEX).')
    .version(version(), '--version', 'print the version')
    .option('-c, --config <file>', `configuration (default: the first of ${CONFIG_PATHS.map(shownPath).join(', ')})`)
    .option('--json', 'print results and errors as JSON')
    .option('--verbose', 'log every request to stderr, as JSON lines')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void session.stdout.write(text),
      writeErr: (text) => hooks.onUsage(text),
      getOutHelpWidth: () => session.stdout.width() ?? 80,
      getErrHelpWidth: () => session.stderr.width() ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .addHelpText('after', EXIT_CODES_HELP);
  addDemoCommand(program, hooks.runner);
  addInitCommand(program, hooks.runner);
  addCheckCommand(program, hooks.runner);
  addPullCommands(program, hooks.runner);
  addDaemonCommand(program, hooks.runner);
  addPushCommands(program, hooks.runner);
  addStatusCommand(program, hooks.runner);
  addSqlCommand(program, hooks.runner);
  addConflictCommands(program, hooks.runner);
  addFailureCommands(program, hooks.runner);
  addVerifyCommand(program, hooks.runner);
  addFilesCommands(program, hooks.runner);
  addRebuildCommand(program, hooks.runner);
  addResyncCommand(program, hooks.runner);
  addSchemaCommand(program, hooks.runner);
  addBackupCommands(program, hooks.runner);
  addServiceCommand(program, hooks.runner);
  addSandboxCommand(program, hooks.runner);
  addCompletionCommand(program, hooks.runner);
  addManCommand(program, hooks.runner);
  return program;
}

function shownPath(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

/** The version of the package that this file belongs to; the same relative path from src and from dist. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown';
}

function usageError(error: CommanderError): RowsyncError {
  // Commander reports "no command" by the whole help and an empty message.
  const isHelp = error.code === 'commander.help';
  return new RowsyncError('usage', 'usage.invalid', {
    message: isHelp ? 'No command was given' : error.message.replace(/^error: /, '').replaceAll('\n', ' '),
    hint: '`rowsync --help` lists the commands, `rowsync COMMAND --help` the options of one.',
  });
}

async function printError(
  error: RowsyncError,
  { stderr }: Session,
  { isJson, isVerbose }: { readonly isJson: boolean; readonly isVerbose: boolean },
): Promise<void> {
  if (isJson) {
    await stderr.write(`${printableJson(JSON.stringify({ error: errorJson(error) }))}\n`);
    return;
  }
  const text = `error: ${messageText(error)}\n  what to do: ${printable(error.hint)}\n  code: ${error.code}\n`;
  await stderr.write(stderr.isJournal ? journalLines('error', text) : text);
  // A defect of ours is the one case in which a stack helps whoever reads the report.
  if (isVerbose && error.kind === 'bug') await stderr.write(printableLines(`${stackOf(error)}\n`));
}

function stackOf(error: RowsyncError): string {
  return (error.cause instanceof Error ? error.cause.stack : error.stack) ?? '';
}

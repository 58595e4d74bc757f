/**
 * The command line: its commands, options and help, and how an error becomes words and an exit code (EXIT in
 * base/errors.ts). It never ends the process itself. Results go to stdout, everything else to stderr, so that an
 * output can be piped.
 */
import { Command, CommanderError, Help, Option } from 'commander';
import { asRowsyncError, EXIT, RowsyncError, usageError } from '../base/errors.ts';
import { CONFIG_PATHS, serviceConfig } from '../config/paths.ts';
import { withPriorities } from '../base/log-format.ts';
import { versionOf } from './runtime/installation.ts';
import { type Extra, type Runner, COMMAND_GROUPS, type CommandModule } from '../extra.ts';
import { nearestName } from '../reconcile/option-bindings.ts';
import type { GlobalOptions } from './runtime/invocation.ts';
import { optimiseCode } from './runtime/memory.ts';
import { writeProse, type Session } from './terminal/session.ts';
import { hanging, printable, printableJson, printableLines, shellWord, wrapProse } from '../base/text.ts';

const EXIT_CODES_HELP = `
Exit codes:
  0   done
  1   failed
  2   the command line or the configuration is wrong
  3   a guard or a conflict waits for a person: look, then run again with --confirm, or resolve
  75  the origin or the replica cannot be used now: try again later
  78  the replica cannot be used before a person has seen to it: it is damaged, or a newer rowsync wrote it

Documents, examples, alarms and a dashboard: docs/ and config/ of the package, on Debian in /usr/share/doc/rowsync`;

export async function run(args: readonly string[], session: Session, extras: readonly Extra[]): Promise<number> {
  const exitCode = await runCommand(args, session, extras);
  const { failure } = session.stdout;
  if (failure === null) return exitCode;
  const error = new RowsyncError('replica', 'output.failed', {
    message: `The output is not complete; writing it failed: ${failure.message}`,
    hint: 'Do not use what was written. Free some space, or write to another place; then run the command again.',
  });
  await printError(error, session, modesOf(args));
  return exitCode === EXIT.done ? error.exitCode : exitCode;
}

/** How to print an error, also where the command line cannot be read. */
function modesOf(args: readonly string[]): { readonly isJson: boolean; readonly isVerbose: boolean } {
  return { isJson: args.includes('--json'), isVerbose: args.includes('--verbose') };
}

async function runCommand(args: readonly string[], session: Session, extras: readonly Extra[]): Promise<number> {
  const outcome: { exitCode: number } = { exitCode: EXIT.done };
  const help: string[] = [];
  const usage: string[] = [];
  const given = args.map(withoutDashes);
  const program = buildProgram(session, { help, usage });
  const runner: Runner = (work) =>
    async function act(...taken) {
      optimiseCode();
      const { service, config, json = false, verbose = false } = this.optsWithGlobals<GlobalOptions>();
      const configPath = service === undefined ? config : serviceConfig(service);
      outcome.exitCode = await work({ session, extras, configPath, isJson: json, isVerbose: verbose }, ...taken);
    };
  try {
    for (const { group, load } of commandsFor(given, extras)) {
      if (group !== undefined) program.commandsGroup(`${group}:`);
      (await load())(program, runner);
    }
    // For help on an unknown command, commander prints the whole help; the command itself is refused by name.
    const [word = '', topic = '-'] = given;
    const isNoTopic = word === 'help' && topic !== 'help' && !topic.startsWith('-') && !hasCommand(program, topic);
    await program.parseAsync(isNoTopic ? [topic] : given, { from: 'user' });
    return outcome.exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) {
      await session.stdout.write(wrapHelp(help.join(''), session.stdout.width())); // --help and --version
      return EXIT.done;
    }
    const named = namedCommand(program, given);
    const error = withGuess(
      thrown instanceof CommanderError
        ? commanderError(thrown, named, { args: given, usage: usageOf(named, help) })
        : asRowsyncError(thrown),
      named,
      given,
    );
    const modes = modesOf(args);
    const isHelp = thrown instanceof CommanderError && thrown.code === 'commander.help' && !modes.isJson;
    if (isHelp) await session.stderr.write(wrapHelp(usage.join(''), session.stderr.width()));
    else await printError(error, session, modes);
    return error.exitCode;
  }
}

const NOTE_INDENT = ' '.repeat(6);

/** Help that fits the terminal; commander wraps options only. The note on a wide example goes below it. */
function wrapHelp(text: string, width: number | null): string {
  if (width === null) return text;
  const paragraphs = text.replaceAll(/^\S.*(?:\n\S.*)+$/gm, (lines) => lines.replaceAll('\n', ' '));
  return paragraphs
    .replaceAll(/^\S.*$/gm, (line) => wrapProse(line, width))
    .replaceAll(/^( +\S.*? {2,})(\S.*)$/gm, (line, example: string, note: string) => {
      if (line.length <= width) return line;
      const isWide = example.length > width / 2;
      return `${isWide ? `${example.trimEnd()}\n` : ''}${hanging(isWide ? NOTE_INDENT : example, note, width).trimEnd()}`;
    });
}

/** SQL may begin with a comment, which is no option: a blank before it changes nothing. */
function withoutDashes(argument: string): string {
  return /^--(?:\s|.*\n)/.test(argument) ? ` ${argument}` : argument;
}

function buildProgram(
  session: Session,
  { help, usage }: { readonly help: string[]; readonly usage: string[] },
): Command {
  const program = new Command('rowsync');
  program
    .description('Keeps a local SQLite replica of a hosted table database (TeamDesk, dbFLEX).')
    .version(versionOf(), '--version', 'print the version')
    .option('-c, --config <file>', `configuration (default: ${CONFIG_PATHS.map(shownPath).join(', else ')})`)
    .addOption(new Option('--service <name>', 'the configuration of a service on this machine').conflicts('config'))
    .option('--json', 'print results and errors as JSON')
    .option('--verbose', 'log every request to stderr, as JSON lines')
    .helpOption('-h, --help', 'print help')
    .commandsGroup('Develop:')
    .helpCommand('help [command]', 'print help for a command')
    .configureHelp({
      showGlobalOptions: true,
      // The list of all commands has their names; the help of each says what follows.
      visibleCommands: (command) =>
        new Help().visibleCommands(command).filter((one) => command === program || one.name() !== 'help'),
      subcommandTerm: (command) => (command.parent === program ? command.name() : new Help().subcommandTerm(command)),
    })
    .configureOutput({
      writeOut: (text) => void help.push(text),
      writeErr: (text) => void usage.push(text),
      getOutHelpWidth: () => session.stdout.width() ?? 80,
      getErrHelpWidth: () => session.stderr.width() ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .addHelpText('after', EXIT_CODES_HELP);
  return program;
}

function shownPath(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

/** The command that a command line names, or the deepest of which it names a part. */
function namedCommand(program: Command, args: readonly string[]): Command {
  return args.reduce((at, arg) => at.commands.find((command) => command.name() === arg) ?? at, program);
}

function hasCommand({ commands }: Command, name: string): boolean {
  return commands.some((command) => command.name() === name);
}

/** Adds the subcommand that a person may have meant, where its misspelt name was taken for an argument. */
function withGuess(error: RowsyncError, command: Command, args: readonly string[]): RowsyncError {
  const given = args[args.indexOf(command.name()) + 1] ?? '-';
  const guess = given.startsWith('-')
    ? null
    : nearestName(
        given,
        command.commands.map((one) => one.name()),
      );
  const isKnown = error.kind !== 'usage' || command.parent === null || error.message.includes('Did you mean');
  if (guess === null || isKnown) return error;
  const { code, message, hint, cause } = error;
  const meant = `rowsync ${command.name()} ${guess}`;
  return new RowsyncError('usage', code, { message, hint: `Did you mean ${meant}? Otherwise: ${hint}`, cause });
}

/** How a command is used, with its first example; null for the program itself. */
function usageOf(command: Command, help: readonly string[]): string | null {
  if (command.parent === null) return null;
  command.outputHelp();
  const text = help.join('');
  const examples = text.slice(text.indexOf('\nExamples:\n')).matchAll(/^\s+(rowsync \S.*)$/gm);
  const example = examples
    .map(([, line = '']) => line.replace(/\s{2,}.*$/, ''))
    .find((line) => line.split(' ').includes(command.name()));
  const over = command.parent.parent === null ? '' : `${command.parent.parent.name()} `;
  const usage = `${over}${command.parent.name()} ${command.name()} ${command.usage()}`;
  return `${usage}${example === undefined ? '' : `, such as: ${example}`}`;
}

function commanderError(
  error: CommanderError,
  command: Command,
  { args, usage }: { readonly args: readonly string[]; readonly usage: string | null },
): RowsyncError {
  // Commander reports "no command" by the whole help and an empty message.
  const isHelp = error.code === 'commander.help';
  const [, number = null] = /^error: unknown option '(-\d+)'/.exec(error.message) ?? [];
  const [, option = ''] = /^error: unknown option '--([^'=]+)/.exec(error.message) ?? [];
  const isArgument = command.registeredArguments.some((argument) => argument.name() === option);
  const hint =
    usage === null
      ? '`rowsync --help` lists the commands, `rowsync COMMAND --help` the options of one.'
      : number !== null
        ? `Write -- before a negative number: ${withNumberLast(args, number)}`
        : isArgument
          ? `Leave out --${option}, and give the ${option} alone: ${usage}`
          : `Write ${usage}`;
  return usageError(
    isHelp ? 'No command was given' : error.message.replace(/^error: /, '').replaceAll('\n', ' '),
    hint,
  );
}

/** The command line with `--` and the number at its end, where an `_id` stands. */
function withNumberLast(args: readonly string[], number: string): string {
  const words = ['rowsync', ...args.filter((arg) => arg !== number), '--', number];
  return words.map((word) => (/^[\w./-]+$/.test(word) ? word : shellWord(word))).join(' ');
}

async function printError(
  error: RowsyncError,
  { stderr }: Session,
  { isJson, isVerbose }: { readonly isJson: boolean; readonly isVerbose: boolean },
): Promise<void> {
  if (isJson) {
    await stderr.write(`${printableJson(JSON.stringify({ error }))}\n`);
    return;
  }
  // With any names in it, a message is one line; only problems of the configuration or command line are a list.
  const shown = error.kind === 'config' || error.kind === 'usage' ? printableLines : printable;
  const text = `error: ${shown(error.message)}\n  what to do: ${printable(error.hint)}\n  code: ${error.code}\n`;
  await writeProse(stderr, stderr.isSystemdStream ? withPriorities('error', text) : text);
  // Only for a defect of ours, a stack helps the reader of a report.
  if (isVerbose && error.kind === 'bug') await stderr.write(printableLines(`${stackOf(error)}\n`));
}

function stackOf(error: RowsyncError): string {
  return (error.cause instanceof Error ? error.cause.stack : error.stack) ?? '';
}

const COMMANDS: readonly CommandModule[] = [
  {
    group: 'Every day',
    names: ['pull', 'sync'],
    load: async () => (await import('./commands/pull.ts')).addPullCommands,
  },
  { group: 'Every day', names: ['daemon'], load: async () => (await import('./commands/daemon.ts')).addDaemonCommand },
  { group: 'Edit', names: ['plan', 'push'], load: async () => (await import('./commands/push.ts')).addPushCommands },
  { group: 'Every day', names: ['status'], load: async () => (await import('./commands/status.ts')).addStatusCommand },
  { group: 'Every day', names: ['sql'], load: async () => (await import('./commands/sql.ts')).addSqlCommand },
  {
    group: 'Edit',
    names: ['conflicts', 'resolve', 'discard'],
    load: async () => (await import('./commands/conflicts.ts')).addConflictCommands,
  },
  {
    group: 'Edit',
    names: ['failures', 'retry'],
    load: async () => (await import('./commands/failures.ts')).addFailureCommands,
  },
  { group: 'Operate', names: ['resync'], load: async () => (await import('./commands/resync.ts')).addResyncCommand },
];

/** Options before a command that take the next argument as their value. */
const WITH_VALUE = new Set(['-c', '--config', '--service']);

/** The modules that a command line needs; all where it names no command, since the answer may list every one. */
export function commandsFor(args: readonly string[], extras: readonly Extra[]): readonly CommandModule[] {
  if (args[0] === '--version') return [];
  const name = commandName(args);
  const all = [...COMMANDS, ...extras.flatMap(({ commands = [] }) => commands)];
  const found = all.filter(({ names }) => names.includes(name));
  if (found.length > 0 && !found.some(({ seesAll }) => seesAll === true)) return found;
  const placeOf = ({ group }: CommandModule): number =>
    group === undefined ? Infinity : COMMAND_GROUPS.indexOf(group);
  return all.toSorted((one, other) => placeOf(one) - placeOf(other) || 0);
}

/** The first argument that is no option, and not `help`, which comes before the name of another command. */
function commandName(args: readonly string[]): string {
  const named = args.findIndex((arg, index) => {
    return !arg.startsWith('-') && arg !== 'help' && !WITH_VALUE.has(args[index - 1] ?? '');
  });
  return args[named] ?? '';
}

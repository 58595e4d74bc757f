/**
 * The list of commands and how each is loaded. A command loads its own module and none of its neighbours', so that
 * every command starts as fast as what it needs.
 */
import type { Command } from 'commander';
import type { Runner } from './runtime/invocation.ts';

/** One module of commands. */
export interface CommandModule {
  /** What it adds to the program. */
  readonly names: readonly string[];
  /** Loads the module; the function that it gives adds the commands. */
  readonly load: () => Promise<(program: Command, runner: Runner) => void>;
  /** True for commands that speak of all commands, which are then loaded with it. */
  readonly seesAll?: true;
}

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandModule[] = [
  { names: ['demo'], load: async () => (await import('./commands/demo.ts')).addDemoCommand },
  { names: ['init'], load: async () => (await import('./commands/init.ts')).addInitCommand },
  { names: ['check'], load: async () => (await import('./commands/check.ts')).addCheckCommand },
  { names: ['pull', 'sync'], load: async () => (await import('./commands/pull.ts')).addPullCommands },
  { names: ['daemon'], load: async () => (await import('./commands/daemon.ts')).addDaemonCommand },
  { names: ['plan', 'push'], load: async () => (await import('./commands/push.ts')).addPushCommands },
  { names: ['status'], load: async () => (await import('./commands/status.ts')).addStatusCommand },
  { names: ['sql'], load: async () => (await import('./commands/sql.ts')).addSqlCommand },
  {
    names: ['conflicts', 'resolve', 'discard'],
    load: async () => (await import('./commands/conflicts.ts')).addConflictCommands,
  },
  { names: ['failures', 'retry'], load: async () => (await import('./commands/failures.ts')).addFailureCommands },
  { names: ['verify'], load: async () => (await import('./commands/verify.ts')).addVerifyCommand },
  { names: ['history'], load: async () => (await import('../extras/commands/history.ts')).addHistoryCommand },
  { names: ['log'], load: async () => (await import('./commands/log.ts')).addLogCommand },
  { names: ['diff'], load: async () => (await import('../extras/commands/diff.ts')).addDiffCommand },
  { names: ['undo'], load: async () => (await import('../extras/commands/undo.ts')).addUndoCommand },
  { names: ['mcp'], load: async () => (await import('../extras/commands/mcp.ts')).addMcpCommand },
  { names: ['proposals'], load: async () => (await import('../extras/commands/proposals.ts')).addProposalCommands },
  { names: ['changes'], load: async () => (await import('../extras/commands/changes.ts')).addChangesCommand },
  { names: ['files'], load: async () => (await import('./commands/files.ts')).addFilesCommands },
  { names: ['sink'], load: async () => (await import('../extras/commands/sink.ts')).addSinkCommands },
  { names: ['export'], load: async () => (await import('../extras/commands/export.ts')).addExportCommand },
  { names: ['rebuild'], load: async () => (await import('../extras/commands/rebuild.ts')).addRebuildCommand },
  { names: ['resync'], load: async () => (await import('./commands/resync.ts')).addResyncCommand },
  { names: ['schema'], load: async () => (await import('./commands/schema.ts')).addSchemaCommand },
  { names: ['backup', 'restore'], load: async () => (await import('../extras/commands/backup.ts')).addBackupCommands },
  { names: ['service'], load: async () => (await import('./commands/service.ts')).addServiceCommand },
  { names: ['sandbox'], load: async () => (await import('./commands/sandbox.ts')).addSandboxCommand },
  {
    names: ['completion'],
    load: async () => (await import('./commands/completion.ts')).addCompletionCommand,
    seesAll: true,
  },
  { names: ['man'], load: async () => (await import('./commands/man.ts')).addManCommand, seesAll: true },
];

/** Options before a command that take the next argument as their value. */
const WITH_VALUE = new Set(['-c', '--config']);

/** The modules that a command line needs. All of them where it names no command, since the answer may list every one. */
export function commandsFor(args: readonly string[]): readonly CommandModule[] {
  if (args[0] === '--version') return [];
  const name = commandName(args);
  const found = COMMANDS.find(({ names }) => names.includes(name));
  return found === undefined || found.seesAll === true ? COMMANDS : [found];
}

/** The first argument that is no option, and not `help`, which stands before the name of another command. */
function commandName(args: readonly string[]): string {
  const named = args.findIndex((arg, index) => {
    return !arg.startsWith('-') && arg !== 'help' && !WITH_VALUE.has(args[index - 1] ?? '');
  });
  return args[named] ?? '';
}

/**
 * The commands of the core, and how each is loaded. A command loads its own module and none of its neighbours', so that
 * every command starts as fast as what it needs.
 */
import type { CommandModule, Extra } from '../extra.ts';

/** The commands of the core, in the order of the help. */
const COMMANDS: readonly CommandModule[] = [
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
  { names: ['files'], load: async () => (await import('./commands/files.ts')).addFilesCommands },
  { names: ['resync'], load: async () => (await import('./commands/resync.ts')).addResyncCommand },
  { names: ['schema'], load: async () => (await import('./commands/schema.ts')).addSchemaCommand },
];

/** Options before a command that take the next argument as their value. */
const WITH_VALUE = new Set(['-c', '--config']);

/** The modules that a command line needs. All of them where it names no command, since the answer may list every one. */
export function commandsFor(args: readonly string[], extras: readonly Extra[]): readonly CommandModule[] {
  if (args[0] === '--version') return [];
  const name = commandName(args);
  const all = [...COMMANDS, ...extras.flatMap(({ commands = [] }) => commands)];
  const found = all.filter(({ names }) => names.includes(name));
  return found.length === 0 || found.some(({ seesAll }) => seesAll === true) ? all : found;
}

/** The first argument that is no option, and not `help`, which comes before the name of another command. */
function commandName(args: readonly string[]): string {
  const named = args.findIndex((arg, index) => {
    return !arg.startsWith('-') && arg !== 'help' && !WITH_VALUE.has(args[index - 1] ?? '');
  });
  return args[named] ?? '';
}

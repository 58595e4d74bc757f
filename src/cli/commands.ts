/**
 * The commands of the core, and how each is loaded. A command loads its own module and none of its neighbours', so that
 * every command starts as fast as what it needs.
 */
import { COMMAND_GROUPS, type CommandModule, type Extra } from '../extra.ts';

/** The commands of the core, in the order of their groups in the help. */
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
    group: 'Look',
    names: ['failures', 'retry'],
    load: async () => (await import('./commands/failures.ts')).addFailureCommands,
  },
  { group: 'Look', names: ['verify'], load: async () => (await import('./commands/verify.ts')).addVerifyCommand },
  { group: 'Look', names: ['files'], load: async () => (await import('./commands/files.ts')).addFilesCommands },
  { group: 'Operate', names: ['resync'], load: async () => (await import('./commands/resync.ts')).addResyncCommand },
  { group: 'Operate', names: ['schema'], load: async () => (await import('./commands/schema.ts')).addSchemaCommand },
];

/** Options before a command that take the next argument as their value. */
const WITH_VALUE = new Set(['-c', '--config']);

/** The modules that a command line needs. All of them where it names no command, since the answer may list every one. */
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

/**
 * `rowsync man`: prints the manual page.
 */
import { EventEmitter } from 'node:events';
import type { Command } from 'commander';
import { assert } from '../../base/assert.ts';
import { EXIT } from '../../base/errors.ts';
import { LOG_EVENTS } from '../../base/log-events.ts';
import { loadSections } from '../../cli/runtime/invocation.ts';
import type { Runner } from '../../extra.ts';
import { manOptions, manPage, type ManCommand } from './man-page.ts';

const EXAMPLES = `
Examples:
  rowsync man | man -l -
  rowsync man > /usr/local/share/man/man1/rowsync.1`;

/** Adds the command; it knows every command that the program has when it runs. */
export function addManCommand(program: Command, runner: Runner): void {
  program
    .command('man')
    .description('print the manual page')
    .addHelpText('after', EXAMPLES)
    .action((_options: unknown, command: Command) =>
      runner(command, async (invocation) => {
        const { optionsJsonSchema } = await import('../../config/options.ts');
        const parts = {
          version: program.version() ?? '',
          program: manCommand(program, ''),
          options: manOptions(optionsJsonSchema(await loadSections(invocation))),
          events: LOG_EVENTS,
        };
        await invocation.session.stdout.write(manPage(parts));
        return EXIT.done;
      }),
    );
}

function manCommand(command: Command, path: string): ManCommand {
  return {
    path,
    usage: command.usage(),
    description: command.description(),
    options: command.options.map(({ flags, description }) => ({ flags, description })),
    after: afterHelp(command),
    commands: command.commands.map((child) => manCommand(child, `${path} ${child.name()}`.trim())),
  };
}

/** What a command prints below its help; Commander keeps it as listeners of an event. */
function afterHelp(command: Command): string {
  let text = '';
  const emitter: object = command;
  assert(emitter instanceof EventEmitter, 'commands of Commander are event emitters');
  emitter.emit('afterHelp', { error: false, command, write: (part: string) => void (text += part) });
  return text;
}

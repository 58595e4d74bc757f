/**
 * `rowsync completion`: prints a script with which a shell completes commands and options.
 */
import { Argument, type Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { completionScript, SHELLS, type CommandNode, type Shell } from './completion-script.ts';
import type { Runner } from '../../extra.ts';

const EXAMPLES = `
Examples:
  source <(rowsync completion bash)       # in ~/.bashrc
  source <(rowsync completion zsh)        # in ~/.zshrc
  rowsync completion fish | source        # in ~/.config/fish/config.fish`;

/** Adds the command; it knows every command that the program has when it runs. */
export function addCompletionCommand(program: Command, runner: Runner): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell the script is for').choices(SHELLS))
    .description('print a script that completes commands in a shell')
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell, _options: unknown, command: Command) =>
      runner(command, async ({ session }) => {
        await session.stdout.write(completionScript(shell, nodeOf(program)));
        return EXIT.done;
      }),
    );
}

function nodeOf(command: Command): CommandNode {
  return {
    name: command.name(),
    description: command.description(),
    options: command.options.flatMap(({ long, description }) => (long ? [{ flag: long, description }] : [])),
    commands: command.commands.map(nodeOf),
  };
}

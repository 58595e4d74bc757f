/**
 * `rowsync completion`: prints a script with which bash, zsh or fish completes the commands and options of rowsync.
 */
import { Argument, type Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import type { Runner } from '../../extra.ts';

const EXAMPLES = `
Examples:
  source <(rowsync completion bash)       # in ~/.bashrc
  source <(rowsync completion zsh)        # in ~/.zshrc
  rowsync completion fish | source        # in ~/.config/fish/config.fish`;

export function addCompletionCommand(program: Command, runner: Runner): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell the script is for').choices(SHELLS))
    .description('print a script that completes commands in a shell')
    .addHelpText('after', EXAMPLES)
    .action(
      runner(async ({ session }, shell: Shell) => {
        await session.stdout.write(SCRIPTS[shell](program));
        return EXIT.done;
      }),
    );
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, (root: Command) => string>> = { bash, zsh, fish };

/** The options of a command, with their dashes, such as `--json`. */
function flagsOf({ options }: Command): readonly { readonly flag: string; readonly description: string }[] {
  return options.flatMap(({ long, description }) => (long ? [{ flag: long, description }] : []));
}

/** What may follow each path of commands: `''`, `pull`, `schema prune`, …. */
function commandsByPath(node: Command, path = ''): readonly { readonly path: string; readonly node: Command }[] {
  return [{ path, node }, ...node.commands.flatMap((child) => commandsByPath(child, `${path} ${child.name()}`.trim()))];
}

function words(node: Command, root: Command): readonly string[] {
  const flags = [node, root].flatMap(flagsOf).map(({ flag }) => flag);
  return [...new Set([...node.commands.map((child) => child.name()), ...flags])];
}

/** The path is the words before the cursor that are no options, as long as they name commands. */
function bash(root: Command): string {
  const commands = commandsByPath(root);
  const cases = commands.map(({ path, node }) => `    '${path}') words='${words(node, root).join(' ')}' ;;`);
  const paths = commands.map(({ path }) => `'${path}'`);
  return `# bash completion for rowsync: source <(rowsync completion bash)
_rowsync() {
  local word path='' next words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$word" in -*) continue ;; esac
    next="\${path:+$path }$word"
    case "$next" in ${paths.filter((path) => path !== "''").join('|')}) path=$next ;; *) break ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rowsync rowsync
`;
}

function zsh(root: Command): string {
  return `#compdef rowsync
# zsh completion for rowsync: source <(rowsync completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bash(root)}`;
}

function fish(root: Command): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const options = (node: Command, when: string): readonly string[] =>
    flagsOf(node).map(
      ({ flag, description }) => `complete -c rowsync${when} -l ${flag.replace(/^--/, '')} -d ${quote(description)}`,
    );
  const commands = (node: Command, when: string): readonly string[] =>
    node.commands.map((child) => `complete -c rowsync${when} -f -a ${child.name()} -d ${quote(child.description())}`);
  const inner = root.commands.flatMap((node) => {
    const when = ` -n ${quote(`__fish_seen_subcommand_from ${node.name()}`)}`;
    return [...options(node, when), ...commands(node, when)];
  });
  const lines = [...options(root, ''), ...commands(root, ' -n __fish_use_subcommand'), ...inner];
  return `# fish completion for rowsync: rowsync completion fish | source\n${lines.join('\n')}\n`;
}

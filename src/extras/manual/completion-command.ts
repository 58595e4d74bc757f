/**
 * `rowsync completion`: prints a script with which bash, zsh or fish completes the commands and options that the program has.
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
        await session.stdout.write(SCRIPTS[shell](nodeOf(program)));
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

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

interface CommandNode {
  readonly name: string;
  readonly description: string;
  /** With their dashes, such as `--json`. */
  readonly options: readonly { readonly flag: string; readonly description: string }[];
  readonly commands: readonly CommandNode[];
}

const SCRIPTS: Readonly<Record<Shell, (root: CommandNode) => string>> = { bash, zsh, fish };

/** What may follow each path of commands: `''`, `pull`, `schema prune`, …. */
function wordsByPath(root: CommandNode): readonly { readonly path: string; readonly node: CommandNode }[] {
  const below = (node: CommandNode, path: string): readonly { path: string; node: CommandNode }[] => [
    { path, node },
    ...node.commands.flatMap((child) => below(child, path === '' ? child.name : `${path} ${child.name}`)),
  ];
  return below(root, '');
}

function words(node: CommandNode, root: CommandNode): readonly string[] {
  const globals = node === root ? [] : root.options.map(({ flag }) => flag);
  return [...new Set([...node.commands.map(({ name }) => name), ...node.options.map(({ flag }) => flag), ...globals])];
}

/** The path is the words before the cursor that are no options, as long as they name commands. */
function bash(root: CommandNode): string {
  const cases = wordsByPath(root).map(({ path, node }) => `    '${path}') words='${words(node, root).join(' ')}' ;;`);
  const paths = wordsByPath(root).map(({ path }) => `'${path}'`);
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

function zsh(root: CommandNode): string {
  return `#compdef rowsync
# zsh completion for rowsync: source <(rowsync completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bash(root)}`;
}

function fish(root: CommandNode): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const top = root.commands.map(
    ({ name, description }) => `complete -c rowsync -n __fish_use_subcommand -f -a ${name} -d ${quote(description)}`,
  );
  const options = root.options.map(
    ({ flag, description }) => `complete -c rowsync -l ${flag.replace(/^--/, '')} -d ${quote(description)}`,
  );
  const inner = root.commands.flatMap((node) => [
    ...node.options.map(
      ({ flag, description }) =>
        `complete -c rowsync -n ${quote(`__fish_seen_subcommand_from ${node.name}`)} -l ${flag.replace(/^--/, '')} -d ${quote(description)}`,
    ),
    ...node.commands.map(
      ({ name, description }) =>
        `complete -c rowsync -n ${quote(`__fish_seen_subcommand_from ${node.name}`)} -f -a ${name} -d ${quote(description)}`,
    ),
  ]);
  return `# fish completion for rowsync: rowsync completion fish | source\n${[...options, ...top, ...inner].join('\n')}\n`;
}

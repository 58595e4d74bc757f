/**
 * `rowsync init`: writes a first configuration and ends with `check`; first-config.ts does it.
 */
import type { Command } from 'commander';
import type { InitOptions } from './init-questions.ts';
import type { Runner } from '../../extra.ts';

const EXAMPLES = `
At a terminal it asks for what no option says. The token is not shown while you type or paste it. It goes into the file "token" beside
the configuration, or into the one that --token-file names, which only you may read. A token that is already there is used.
The configuration is written to the file that --config names (default: rowsync.yaml), which must not exist yet.

Examples:
  rowsync init
  rowsync init --url https://www.teamdesk.net/secure/db/21995/overview.aspx --token-file token \\
    --table '*' --push 'Customer=External Id'`;

/** Adds the command. */
export function addInitCommand(program: Command, runner: Runner): void {
  program
    .command('init')
    .description('write a first configuration, and check it')
    .option('--url <address>', 'the address of the database, as the browser shows it')
    .option('--database <number>', 'its number, where the address does not have it')
    .option('--token-file <file>', 'a file that holds an API token')
    .option('--proxy <address>', 'a proxy that every request goes through; environment for that of HTTPS_PROXY')
    .option('--proxy-user <name>', 'the user name that the proxy wants')
    .option('--proxy-password-file <file>', 'a file that holds the password for the proxy')
    .option('--ca-file <file>', 'certificates of authorities to trust beside the usual ones')
    .option('--replica <file>', 'the SQLite file to keep (default: replica.db)')
    .option('--table <pattern...>', 'tables to copy (default: all)')
    .option('--push <table...>', 'tables whose edits are pushed, as TABLE or TABLE=MATCH COLUMN')
    .addHelpText('after', EXAMPLES)
    .action((options: InitOptions, command: Command) =>
      runner(command, async (invocation) => {
        const { writeFirstConfig } = await import('./first-config.ts');
        return writeFirstConfig(invocation, options);
      }),
    );
}

/**
 * `rowsync sandbox`: serves the Records API locally until it is stopped.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import type { Invocation, Runner } from '../invocation.ts';
import { startSandbox, type Sandbox } from '../sandbox.ts';
import { printable } from '../text.ts';

const EXAMPLES = `
Examples:
  rowsync sandbox                           sample data on a free port
  rowsync sandbox --data northwind.sqlite   the tables of a SQLite file; it is read, never written
  rowsync sandbox --port 8080 --activity 5  with colleagues who change five rows a second
  rowsync sandbox --json                    one line when it is ready: {"url": ..., "database": ..., "token": ...}`;

interface SandboxCommandOptions {
  readonly data?: string;
  readonly store?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly token?: string;
  readonly latency?: number;
  readonly activity?: number;
  readonly seed?: number;
  readonly login?: 'tokens and users' | 'tokens' | 'disabled';
  readonly extensions: boolean;
}

/** Adds the command. */
export function addSandboxCommand(program: Command, runner: Runner): void {
  program
    .command('sandbox')
    .description('serve a database of your own that speaks the Records API, to try and to test against')
    .option('--data <file>', 'SQLite file to serve (default: sample data)')
    .option('--store <path>', 'keep what is changed in this file (default: a temporary one)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on (default: any free one)', wholeNumber({ from: 0, to: 65_535 }))
    .option('--database <id>', 'number of the database (default: 21995)')
    .option('--token <hex>', 'API token to accept, 32 hexadecimal digits (default: made up)')
    .option('--latency <ms>', 'milliseconds added to every request', wholeNumber({ from: 0, to: 60_000 }))
    .option('--activity <count>', 'changes a second by simulated colleagues', wholeNumber({ from: 0, to: 1_000 }))
    .option(
      '--seed <number>',
      'what the sample data and the colleagues come from',
      wholeNumber({ from: 0, to: 2 ** 31 }),
    )
    .addOption(
      new Option('--login <mode>', 'who may sign in (default: tokens and users)').choices([
        'tokens and users',
        'tokens',
        'disabled',
      ]),
    )
    .option('--no-extensions', 'answer updated, deleted and select on a view, which no specification names, with 405')
    .addHelpText('after', EXAMPLES)
    .action((options: SandboxCommandOptions, command: Command) =>
      runner(command, (invocation) => serve(invocation, options)),
    );
}

async function serve(invocation: Invocation, options: SandboxCommandOptions): Promise<number> {
  const { session } = invocation;
  const signal = session.stopSignal();
  const inFolder = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(session.folder, path);
  const sandbox = await startSandbox({
    clock: session.clock,
    host: options.host,
    port: options.port,
    dataPath: inFolder(options.data),
    storePath: inFolder(options.store),
    database: options.database,
    token: options.token,
    latencyMs: options.latency,
    activityPerSecond: options.activity,
    seed: options.seed,
    login: options.login,
    extensions: options.extensions,
  });
  try {
    const { url, database, token, session: cookie, users } = sandbox;
    await session.stdout.write(
      invocation.isJson
        ? `${JSON.stringify({ url, database, token, session: cookie, users })}\n`
        : readyText(sandbox, options),
    );
    if (!signal.aborted) await once(signal, 'abort');
    return EXIT.done;
  } finally {
    await sandbox.stop();
  }
}

function readyText(
  { url, database, token, user, users, session, store }: Sandbox,
  options: SandboxCommandOptions,
): string {
  // One user of each role is enough to try its rights.
  const others = users.filter(
    ({ role }, index) => index > 0 && users.findIndex((other) => other.role === role) === index,
  );
  const width = Math.max(...others.map(({ role }) => role.length));
  const lines = others.map((other) => `  ${other.role.padEnd(width)}  ${other.token}  ${other.email}`);
  return `The sandbox serves ${printable(options.data ?? 'its sample data')}; Ctrl-C ends it.

  url       ${url}
  database  ${database}
  token     ${token}
  user      ${user.email}, password ${user.password}
  session   ${session} (a cookie, for addresses with a minus sign)
  store     ${printable(store.path)}

Tokens of users with fewer rights:
${lines.join('\n')}

Try it:
  curl -H 'Authorization: Bearer ${token}' ${url}/secure/api/v2/${database}/describe.json
`;
}

function wholeNumber(range: { readonly from: number; readonly to: number }): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= range.from && number <= range.to) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${range.from} to ${range.to}.`);
  };
}

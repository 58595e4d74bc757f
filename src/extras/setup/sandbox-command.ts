/**
 * `rowsync sandbox`: serves the Records API locally until it is stopped.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { parseYaml } from '../../config/yaml.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';
import { limitsText, startSandbox, type RunningSandbox, type TlsFiles } from '../shared/sandbox.ts';
import { printable } from '../../base/text.ts';
import { isCheckout, ROWSYNC } from '../../cli/runtime/installation.ts';

const EXAMPLES = `
Examples:
  rowsync sandbox                           sample data on a free port
  rowsync sandbox --data northwind.sqlite   the tables of a SQLite file; it is read, never written
  rowsync sandbox --replica replica.db      your own database, as the replica knows it
  rowsync sandbox --port 8080 --activity 5  with colleagues who change five rows a second
  rowsync sandbox --faults faults.yaml      which answers badly now and then, as the file says
  rowsync sandbox --json                    one line when it is ready: {"url": ..., "database": ..., "token": ...}`;

type SandboxCommandOptions = Flags<
  'data' | 'replica' | 'store' | 'host' | 'database' | 'token' | 'faults',
  'escapeColons' | 'textWidthsOnly' | 'lenient',
  'mask' | 'ring' | 'tls'
> & { readonly [Name in 'rows' | 'port' | 'latency' | 'activity' | 'seed' | 'control']?: number } & {
  readonly login?: 'tokens and users' | 'tokens' | 'disabled';
  readonly extensions: boolean;
};

export function addSandboxCommand(program: Command, runner: Runner): void {
  program
    .command('sandbox')
    .description('serve a database of your own that speaks the Records API')
    .option('--data <file>', 'SQLite file to serve (default: sample data)')
    .option('--replica <file>', 'serve the database that this file is a replica of; it is read, never written')
    .option('--mask <columns...>', 'with --replica, make up the values of these: Table.Column, * for any text')
    .option(
      '--rows <count>',
      'with --replica, at most this many rows of each table, and the rows that they refer to',
      integerTo(1_000_000_000),
    )
    .option('--store <path>', 'keep what is changed in this file (default: a temporary one)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on (default: any free one)', integerTo(65_535))
    .option('--database <id>', 'number of the database (default: 21995)')
    .option('--token <hex>', 'API token to accept, 32 hexadecimal digits (default: made up)')
    .option('--latency <ms>', 'milliseconds added to every request', integerTo(60_000))
    .option('--activity <count>', 'changes a second by simulated colleagues', integerTo(1_000))
    .option('--seed <number>', 'what the sample data and the colleagues come from', integerTo(2 ** 31))
    .addOption(
      new Option('--login <mode>', 'who may sign in (default: tokens and users)').choices([
        'tokens and users',
        'tokens',
        'disabled',
      ]),
    )
    .option('--faults <file>', 'answer badly as this file says, JSON or YAML (docs/sandbox.md lists the faults)')
    .option(
      '--control <port>',
      'also listen on 127.0.0.1 for changes of the faults, and to show requests',
      integerTo(65_535),
    )
    .option(
      '--ring <addresses...>',
      'call these when rows change: an address for all tables, with {table} in it, or Table=address for one',
    )
    .option('--tls <files...>', 'speak https with a certificate and its key: two PEM files')
    .option('--no-extensions', 'answer updated, deleted and select on a view, which no specification names, with 405')
    .option('--escape-colons', 'write a colon in the name of a column as _x003a_ in XML, as some servers do')
    .option('--text-widths-only', 'describe a width of columns with bounded text alone, as some servers do')
    .option('--lenient', 'also take dates as Unix seconds, and with slashes; it is not known whether the service does')
    .addHelpText('after', EXAMPLES)
    .action(runner(serve));
}

async function serve(invocation: Invocation, options: SandboxCommandOptions): Promise<number> {
  const { session } = invocation;
  const signal = session.stopSignal();
  const inFolder = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(session.folder, path);
  await using sandbox = await startSandbox({
    clock: session.clock,
    host: options.host,
    port: options.port,
    dataPath: inFolder(options.data),
    replica: replicaChoice(options, inFolder),
    storePath: inFolder(options.store),
    database: options.database,
    token: options.token,
    latencyMs: options.latency,
    activityPerSecond: options.activity,
    seed: options.seed,
    login: options.login,
    faults: options.faults === undefined ? undefined : readFaults(resolve(session.folder, options.faults)),
    controlPort: options.control,
    rings: options.ring?.map(ringFrom),
    tls: options.tls === undefined ? undefined : tlsFiles(options.tls.map((path) => resolve(session.folder, path))),
    extensions: options.extensions,
    escapesColons: options.escapeColons,
    widthsOfTextOnly: options.textWidthsOnly,
    lenientDates: options.lenient,
  });
  const { url, database, token, session: cookie, users, controlUrl, unknown, rules } = sandbox;
  const control = controlUrl === null ? {} : { control: controlUrl };
  await session.stdout.write(
    invocation.isJson
      ? `${JSON.stringify({ url, database, token, session: cookie, users, ...control, ...(options.replica === undefined ? {} : { unknown, rules }) })}\n`
      : readyText(sandbox, options),
  );
  if (!signal.aborted && session.stdout.failure === null) await once(signal, 'abort');
  return EXIT.done;
}

function replicaChoice(
  { replica, mask, rows }: SandboxCommandOptions,
  inFolder: (path: string | undefined) => string | undefined,
): { path: string; masks: readonly string[]; rows: number | undefined } | undefined {
  const path = inFolder(replica);
  if (path !== undefined) {
    openReader(path).close(); // says so where it is no replica, or one of another version
    return { path, masks: mask ?? [], rows };
  }
  if (mask === undefined && rows === undefined) return undefined;
  throw usageError(
    '--mask and --rows are for a replica',
    'Name it: rowsync sandbox --replica replica.db',
    'sandbox.option',
  );
}

/** The sandbox checks what is in the file, since a test may give it the same without one. */
function readFaults(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RowsyncError('usage', 'sandbox.option', {
      message: `The sandbox cannot read the faults in ${path}`,
      hint: 'Check the path given with --faults, and that you may read the file.',
      cause,
    });
  }
  return parseYaml(path, text).values;
}

function ringFrom(text: string): { readonly table: string | null; readonly url: string } {
  const [, table = null, url = ''] = /^(?:(.+?)=)?(https?:\/\/\S+)$/.exec(text) ?? [];
  if (URL.canParse(url)) return { table, url };
  throw usageError(
    `--ring ${text} is no address`,
    "Give an address such as http://127.0.0.1:8787/ring/SECRET/{table}, or 'Order=http://…' for one table.",
    'sandbox.option',
  );
}

function tlsFiles([certPath, keyPath, ...others]: readonly string[]): TlsFiles {
  if (certPath !== undefined && keyPath !== undefined && others.length === 0) return { certPath, keyPath };
  throw usageError(
    '--tls takes two files',
    'Name the certificate first and then its key: --tls cert.pem key.pem',
    'sandbox.option',
  );
}

function readyText(sandbox: RunningSandbox, options: SandboxCommandOptions): string {
  const { url, controlUrl, database, token, user, users, session, store } = sandbox;
  // One user of each role is enough to try its rights.
  const others = users.filter(
    ({ role }, index) => index > 0 && users.findIndex((other) => other.role === role) === index,
  );
  const width = Math.max(0, ...others.map(({ role }) => role.length));
  const lines = others.map((other) => `  ${other.role.padEnd(width)}  ${other.token}  ${other.email}`);
  const control = controlUrl === null ? '' : `\n  control   ${controlUrl}`;
  return `The sandbox serves ${printable(options.data ?? options.replica ?? 'its sample data')}; Ctrl-C ends it.

  url       ${url}${control}
  database  ${database}
  token     ${token}
  user      ${user.email}, password ${user.password}
  session   ${session} (a cookie, for addresses with a minus sign)
  store     ${printable(store.path)}
${lines.length === 0 ? '' : `\nTokens of users with fewer rights:\n${lines.join('\n')}\n`}${options.replica === undefined ? '' : limitsText(sandbox)}
Try it in another terminal, in an empty folder${isCheckout ? ' inside the checkout' : ''}:
  (umask 077 && echo ${token} > token)
  ${ROWSYNC} init --url ${url} --database ${database} --token-file token
  ${ROWSYNC} pull
  ${ROWSYNC} sql 'SELECT * FROM sync_status'
`;
}

function integerTo(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${max}.`);
  };
}

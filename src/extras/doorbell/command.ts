/**
 * `rowsync doorbell`: what to enter at the origin so that it calls the daemon, a ring to try it, and another secret.
 */
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import type { ListenAddress } from '../shared/linked-extra.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import { openReader } from '../../replica/reader.ts';
import { makeSecret, renewSecret, secretPath } from './secret.ts';
import { httpOf } from '../shared/http-settings.ts';

const EXAMPLES = `
Examples:
  rowsync doorbell                              what to enter at the origin, for every table
  rowsync doorbell show Order --at https://bell.example.com
  rowsync doorbell test Order                   ring once, and say whether the daemon heard it
  rowsync doorbell renew                        another secret; enter the new addresses at the origin`;

type DoorbellOptions = Flags<'at'>;

export function addDoorbellCommands(program: Command, runner: Runner): void {
  const doorbell = program
    .command('doorbell')
    .description('let the origin call the daemon when a table changes')
    .addHelpText('after', EXAMPLES);
  const add = (
    command: Command,
    work: (invocation: Invocation, tables: readonly string[], options: DoorbellOptions) => Promise<number>,
  ): Command =>
    command
      .option('--at <address>', 'the address at which the origin reaches the doorbell')
      .action(runner((invocation) => work(invocation, command.args, command.opts<DoorbellOptions>())));
  add(
    doorbell
      .command('show', { isDefault: true })
      .argument('[table...]', 'tables (default: all)')
      .description('print what to enter at the origin'),
    (invocation, tables, { at }) => show(invocation, tables, { at, make: makeSecret }),
  );
  add(
    doorbell
      .command('test')
      .argument('[table]', 'the table that rings (default: the first)')
      .description('ring once, and say what happened; exit code 0 only if it arrived'),
    ring,
  );
  add(
    doorbell.command('renew').description('make another secret, and print what to enter at the origin'),
    (invocation, tables, { at }) => show(invocation, tables, { at, make: renewSecret }),
  );
}

async function show(
  invocation: Invocation,
  names: readonly string[],
  { at, make }: { readonly at: string | undefined; readonly make: typeof makeSecret },
): Promise<number> {
  const { config, address } = await loadDoorbell(invocation, at);
  const tables = requireTables(config, names);
  const secret = make(config.replica);
  const rings = tables.map((table) => ({ table, url: ringUrl(at ?? baseOf(address), secret, table) }));
  const file = secretPath(config.replica.path);
  await printResult(
    invocation,
    { method: 'POST', secretFile: file, rings },
    showText(rings, file, at === undefined ? address : null),
  );
  return EXIT.done;
}

function showText(
  rings: readonly { readonly table: string; readonly url: string }[],
  file: string,
  address: ListenAddress | null,
): string {
  const list = rings.map(({ table, url }) => `${printable(table)}\n  ${printable(url)}\n`).join('');
  return `At the origin, give each table a record-change trigger for records that are added, changed or deleted, with
the action Call URL: method POST (GET will do), no body, no headers, and the address of the table:

${list}
The secret in these addresses is in ${printable(file)}. Whoever has it can make the daemon read a table
earlier, at most once a second, and nothing else. rowsync doorbell renew makes another one.
${address === null ? '' : reachText(address)}
rowsync doorbell test rings once from here; with --at, through the same address as the origin.
`;
}

function reachText(address: ListenAddress): string {
  const place = address.kind === 'socket' ? `unix:${address.path}:` : baseOf(address);
  const target = address.kind === 'socket' ? address.path : `${address.host}:${address.port}`;
  return `
The origin has to reach the address from outside. Either forward /ring/ alone by a reverse proxy that has a
certificate, as in nginx:
  location /ring/ { proxy_pass ${printable(place)}; }
or, behind a firewall, open a tunnel from here to a machine of yours that has such a proxy:
  ssh -N -R 127.0.0.1:8788:${printable(target)} you@bell.example.com
Then print the addresses again with --at https://bell.example.com
`;
}

async function ring(invocation: Invocation, names: readonly string[], { at }: DoorbellOptions): Promise<number> {
  const { config, address } = await loadDoorbell(invocation, at);
  const [table = ''] = requireTables(config, names);
  const isSocket = at === undefined && address.kind === 'socket';
  const url = ringUrl(at ?? baseOf(address), makeSecret(config.replica), table);
  const { arrived, found } = await callOnce(url, isSocket ? { socketPath: address.path } : {});
  const where = at ?? (isSocket ? address.path : baseOf(address));
  await printResult(
    invocation,
    { arrived, table, at: where, found },
    printable(
      arrived
        ? `The ring of ${table} arrived; the daemon reads it now`
        : `The ring of ${table} did not arrive: ${found}`,
    ) + '\n',
  );
  return arrived ? EXIT.done : EXIT.failed;
}

const CALL_MS_MAX = 10_000;

/** Only the answer of a daemon that knows the secret and the table counts. */
function callOnce(
  url: string,
  options: RequestOptions,
): Promise<{ readonly arrived: boolean; readonly found: string }> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const lost = (found: string): void => resolve({ arrived: false, found });
    const calling = request(url, { ...options, method: 'POST', timeout: CALL_MS_MAX, agent: false }, (answer) => {
      answer.setEncoding('utf8');
      answer.once('data', (text: string) => {
        if (answer.statusCode === 200 && text === 'rung\n') resolve({ arrived: true, found: 'rung' });
        calling.destroy();
      });
      answer.once('close', () =>
        lost(
          answer.statusCode === 404
            ? 'the answer is 404, as for a wrong secret, a table that is not kept here, or too many rings'
            : `the answer is ${answer.statusCode ?? 0}, which no doorbell gives; something else listens there`,
        ),
      );
    });
    calling.once('timeout', () => calling.destroy(new Error(`no answer within ${CALL_MS_MAX / 1_000} seconds`)));
    calling.on('error', ({ message }) => lost(`${message}; is the daemon running, with this configuration?`));
    calling.end();
  });
}

/** @throws RowsyncError `usage.invalid` for a configuration without a doorbell, and for an unusable address. */
async function loadDoorbell(
  invocation: Invocation,
  at: string | undefined,
): Promise<{ readonly config: Config; readonly address: ListenAddress }> {
  if (at !== undefined && !(/^https?:\/\//i.test(at) && URL.canParse(at)))
    throw usageError('--at needs an address that begins with https:// or http://', 'Such as https://bell.example.com');
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const address = httpOf(config).doorbell;
  if (address !== null) return { config, address };
  throw usageError(
    'The configuration has no doorbell',
    'Set http.doorbell to true beside http.listen, or to { listen: ADDRESS }, and reload the daemon.',
  );
}

/** The names of tables at the origin, one at least. @throws RowsyncError `usage.invalid`. */
function requireTables(config: Config, names: readonly string[]): readonly string[] {
  using reader = openReader(config.replica.path);
  const kept = chooseTables(reader, names).filter(
    ({ name, state }) => state !== 'gone' && config.tables.find(name) !== null,
  );
  if (kept.length > 0) return kept.map(({ name }) => name);
  throw usageError('There is no table that could ring', 'Run rowsync pull first.');
}

function baseOf(address: ListenAddress): string {
  if (address.kind === 'socket') return 'http://localhost';
  return `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}

function ringUrl(base: string, secret: string, table: string): string {
  return `${base.replace(/\/+$/, '')}/ring/${secret}/${encodeURIComponent(table)}`;
}

/**
 * `rowsync sink`: looks after the PostgreSQL servers that the replica is streamed to. The daemon sends automatically;
 * `send` is for use without a daemon. A command that changes the replica's memory of a sink needs the replica for
 * itself; otherwise it leaves a note for the daemon.
 */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import { countText, plural, printable, shellWord } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { openReader } from '../../replica/reader.ts';
import { askForLoad, readPlace, readSinkStatus } from '../shared/sinks.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import { chosenSources } from './table-selection.ts';
import type { SinkSettings } from './context.ts';
import { checkSink, dropSink, grantStatements, verifySink, type TableComparison } from './maintenance.ts';
import { SinkWriter, type RequestedLoad } from './sink.ts';
import { loadNamedConfig, openExistingReplica, printResult } from '../../cli/runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { boxTable } from '../../cli/terminal/table.ts';
import { sinkLines } from '../shared/sink-text.ts';

const EXAMPLES = `
Examples:
  rowsync sink check                 can it be reached, and may the user do what is needed?
  rowsync sink send                  send what changed, once; the daemon does so by itself
  rowsync sink load Customer         compare a table as a whole, and mend it
  rowsync sink verify                compare every cell; nothing is changed
  rowsync sink grants analysts | psql warehouse`;

type SinkOptions = Flags<'sink', 'confirm'>;

type SinkCommandInput = { readonly config: Config; readonly settings: SinkSettings };

export function addSinkCommands(program: Command, runner: Runner): void {
  const sink = program
    .command('sink')
    .description('manage the PostgreSQL servers that get the replica')
    .addHelpText('after', EXAMPLES);
  const add = (
    name: string,
    description: string,
    work: (
      invocation: Invocation,
      input: SinkCommandInput,
      names: readonly string[],
      options: SinkOptions,
    ) => Promise<number>,
  ): Command => {
    const command = sink.command(name).description(description);
    return command.option('--sink <name>', 'which one, where there are several').action(
      runner(async (invocation) => {
        const config = await loadNamedConfig(invocation, { needsCredentials: false, needsExtraSecrets: true });
        const options = command.opts<SinkOptions>();
        return work(invocation, { config, settings: chosen(config, options.sink) }, command.args, options);
      }),
    );
  };
  sink
    .command('status', { isDefault: true })
    .description('show the progress and the problems of each sink (the default)')
    .action(runner(status));
  add('check', 'connect, and check whether the user has the rights that are needed', check);
  add('send', 'send what changed since the last time, once', (invocation, input) => send(invocation, input, null));
  add(
    'load',
    'load tables again as a whole, in place; without names all, and takes over what another replica left there',
    load,
  ).argument('[table...]', 'names of tables, as they are here');
  add('verify', 'compare every cell with the replica; rows that are being sent are left out', verify).argument(
    '[table...]',
    'names of tables, as they are here',
  );
  add('drop', 'drop tables there, or all that rowsync made', drop)
    .argument('[table...]', 'names of tables, as they are there')
    .option('--confirm', 'drop them');
  add('grants', 'print the statements that let a role read, and nothing else', grants).argument(
    '<role>',
    'the role that reads',
  );
}

function chosen({ extras: { sinks = [] }, file }: Config, name: string | undefined): SinkSettings {
  const found = name === undefined && sinks.length === 1 ? sinks[0] : sinks.find((sink) => sink.name === name);
  if (found !== undefined) return found;
  const names = sinks.map((sink) => sink.name).join(', ');
  throw usageError(
    sinks.length === 0
      ? `${file} has no sinks`
      : name === undefined
        ? `There are several sinks: ${names}`
        : `There is no sink ${name}: ${names}`,
    sinks.length === 0 ? 'docs/postgres.md shows how to set one up.' : 'Name one with --sink.',
  );
}

async function status(invocation: Invocation): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using reader = openReader(config.replica.path);
  const sinks = readSinkStatus(reader);
  const text = sinks.length === 0 ? 'The replica is streamed to no sink\n' : `${sinks.flatMap(sinkLines).join('\n')}\n`;
  await printResult(invocation, { sinks }, text);
  return sinks.some(({ problem, tables }) => problem !== null || tables.some((table) => table.state === 'held'))
    ? EXIT.needsPerson
    : EXIT.done;
}

async function check(invocation: Invocation, { config, settings }: SinkCommandInput): Promise<number> {
  const found = await checkSink(settings);
  if (existsSync(config.replica.path)) {
    using reader = openReader(config.replica.path);
    chosenSources(reader, settings);
  }
  const lines = [
    `PostgreSQL ${found.version} at ${settings.address.host}, ${found.isEncrypted ? `encrypted (sslmode=${settings.address.sslMode})` : 'not encrypted'}`,
    ...(found.missing.length === 0 ? ['the user has every right that is needed'] : found.missing),
  ];
  await printResult(invocation, found, lines);
  return found.missing.length === 0 ? EXIT.done : EXIT.failed;
}

async function send(
  invocation: Invocation,
  { config, settings }: SinkCommandInput,
  requested: RequestedLoad,
): Promise<number> {
  const { session, isVerbose } = invocation;
  using replica = await openExistingReplica(invocation, config);
  const log = createLogger({
    level: isVerbose ? 'debug' : 'silent',
    destination: { write: (line) => void session.stderr.write(line) },
    secrets: [settings.address.password ?? []].flat(),
  });
  await using writer = new SinkWriter({ replica, clock: session.clock, log, settings, signal: session.stopSignal() });
  const report = await writer.work(requested);
  const held = report.tables.filter(({ state }) => state === 'held');
  const live = report.tables.filter(({ state }) => state === 'live').length;
  const loaded = report.loadedRows === 0 ? '' : `, ${plural(report.loadedRows, 'row')} loaded`;
  const changed = report.sentRows === 0 ? '' : `, ${plural(report.sentRows, 'changed row')} sent`;
  const lines = [
    `${settings.name} is up to date: ${plural(live, 'table')}${loaded}${changed}`,
    ...report.left.map(
      (name) => `${name} is no longer sent, and stays there as it was: rowsync sink drop ${shellWord(name)}`,
    ),
    ...held.flatMap(({ tableName, problem }) => [
      `${tableName}: ${problem?.message ?? ''}`,
      `  what to do: ${problem?.hint ?? ''}`,
    ]),
  ];
  await printResult(invocation, report, lines);
  return held.length === 0 ? EXIT.done : EXIT.needsPerson;
}

async function load(invocation: Invocation, input: SinkCommandInput, names: readonly string[]): Promise<number> {
  const tables = sentTables(input, names);
  try {
    return await send(invocation, input, tables);
  } catch (thrown) {
    if (!(thrown instanceof RowsyncError) || thrown.code !== 'replica.inUse') throw thrown;
    requireKnown(input);
    askForLoad(input.config.replica.path, input.settings.name, tables);
    const text = 'A daemon works on the replica: it loads within a minute, see rowsync sink status\n';
    await printResult(invocation, { requested: tables }, text);
    return EXIT.done;
  }
}

/** The daemon works by the configuration that it has read. @throws RowsyncError `usage.invalid` for a newer sink. */
function requireKnown({ config, settings: { name } }: SinkCommandInput): void {
  using reader = openReader(config.replica.path);
  if (readPlace(reader, name) !== null) return;
  const hint = 'Have the daemon read the configuration: systemctl reload, or SIGHUP to it.';
  throw usageError(`The daemon at work does not know the sink ${name} yet`, hint);
}

/** Names here of tables, given by name here or at the origin. @throws RowsyncError `usage.invalid` for one not sent. */
function sentTables({ config, settings }: SinkCommandInput, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  using reader = openReader(config.replica.path);
  const sent = chosenSources(reader, settings).map(({ table }) => table);
  return names.map((wanted) => {
    const found = sent.find(({ localName }) => localName === wanted) ?? sent.find(({ name }) => name === wanted);
    if (found !== undefined) return found.localName;
    const known = sent.map(({ localName }) => localName);
    throw usageError(
      `${settings.name} gets no table ${wanted}${guessText(wanted, known)}`,
      'The option tables of the sink says which are sent.',
    );
  });
}

async function verify(
  invocation: Invocation,
  { config, settings }: SinkCommandInput,
  names: readonly string[],
): Promise<number> {
  const tables = sentTables({ config, settings }, names);
  const compared = await verifySink(settings, config.replica.path, tables);
  const { stdout } = invocation.session;
  await printResult(invocation, { tables: compared }, comparisonText(compared, stdout.width()));
  return compared.every(({ differingCount, skipped }) => differingCount === 0 && skipped === null)
    ? EXIT.done
    : EXIT.needsPerson;
}

function comparisonText(compared: readonly TableComparison[], width: number | null): string {
  const titles = ['table', 'rows', 'differ', 'which'].map((title) => ({ title }));
  const cells = compared.map(({ table, rowCount, differing, differingCount, skipped }) => [
    table,
    countText(rowCount),
    skipped === null ? countText(differingCount) : '?',
    skipped ?? differing.join(', '),
  ]);
  const areEqual = compared.every(({ differingCount, skipped }) => differingCount === 0 && skipped === null);
  return `${boxTable(titles, cells, width)}${areEqual ? 'Every cell matches the replica\n' : 'rowsync sink load TABLE mends a table\n'}`;
}

async function drop(
  invocation: Invocation,
  { settings }: SinkCommandInput,
  names: readonly string[],
  { confirm }: SinkOptions,
): Promise<number> {
  if (confirm !== true) {
    throw new RowsyncError('needsPerson', 'guard.deletes', {
      message: `Nothing was dropped: ${names.length === 0 ? `all that rowsync made in the schema ${settings.schema}` : names.join(', ')} would go, with its rows`,
      hint: 'Run it again with --confirm. Take the sink, or the tables, out of the configuration first, or they come back.',
    });
  }
  const dropped = await dropSink(settings, names);
  const text = dropped.length === 0 ? 'Nothing to drop\n' : `Dropped: ${dropped.map(printable).join(', ')}\n`;
  await printResult(invocation, { dropped }, text);
  return EXIT.done;
}

async function grants(
  invocation: Invocation,
  { settings }: SinkCommandInput,
  [role = '']: readonly string[],
): Promise<number> {
  await invocation.session.stdout.write(`${grantStatements(settings, role).join('\n')}\n`);
  return EXIT.done;
}

/**
 * `rowsync schema` lists tables and columns that the origin removed or changed and that the replica still keeps.
 * `rowsync schema prune` drops them with their last values. A schema change alone never drops anything (I17).
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { prune } from './prune.ts';
import type { Config } from '../../config/load.ts';
import { openReader } from '../../replica/reader.ts';
import { readDrift, readPrunable, type DriftLine } from '../shared/drift.ts';
import { loadNamedConfig, openExistingReplica, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { printable } from '../../base/text.ts';
import { boxTable } from '../../cli/terminal/table.ts';

const EXAMPLES = `
A table or column that vanishes at the origin keeps its last values here. Without --confirm, this only lists what would be
dropped, and the exit code is 3 if there is something.

Examples:
  rowsync schema prune
  rowsync schema prune --confirm`;

const SHOW_EXAMPLES = `
Works on the replica alone: it shows what the last pulls found. Renames and new columns are followed; the pull that follows them says so.

Examples:
  rowsync schema
  rowsync schema --json | jq '.drift[] | select(.kind == "stopped")'`;

export function addSchemaCommand(program: Command, runner: Runner): void {
  const schema = program.command('schema').description('manage tables and columns that the origin changed');
  schema
    .command('show', { isDefault: true })
    .description('list what the origin changed about its tables and columns (the default)')
    .addHelpText('after', SHOW_EXAMPLES)
    .action(runner(show));
  schema
    .command('prune')
    .description('drop tables and columns that the origin no longer has, with their last values')
    .option('--confirm', 'drop them')
    .addHelpText('after', EXAMPLES)
    .action(runner(listOrDrop));
}

async function show(invocation: Invocation): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using reader = openReader(config.replica.path);
  const drift = readDrift(reader);
  const { stdout } = invocation.session;
  await printResult(invocation, { drift }, driftText(drift, stdout.width()));
  return EXIT.done;
}

const WORDS: Readonly<Record<DriftLine['kind'], string>> = {
  gone: 'the origin no longer shows the table; its rows stay',
  removed: 'the origin no longer shows the column; its last values stay',
  aside: 'the type changed; the values from before stay',
  stopped: 'not applied; see below',
};

function driftText(drift: readonly DriftLine[], width: number | null): string {
  if (drift.length === 0) return 'The replica has the shape that the origin described last\n';
  const titles = ['table', 'column', 'what', 'since'].map((title) => ({ title }));
  const cells = drift.map(({ table, column, kind, since }) => [
    printable(table),
    printable(column ?? ''),
    WORDS[kind],
    since ?? '',
  ]);
  const stops = drift.flatMap(({ kind, problem, hint }) =>
    kind === 'stopped' ? [`${printable(problem ?? '')}\n  what to do: ${printable(hint ?? '')}\n`] : [],
  );
  const isPrunable = drift.some(({ kind }) => kind !== 'stopped');
  const ending = isPrunable
    ? 'rowsync schema prune lists what the origin no longer has, and drops it with --confirm\n'
    : '';
  return `${boxTable(titles, cells, width)}${stops.join('')}${ending}`;
}

async function listOrDrop(
  invocation: Invocation,
  { confirm = false }: { readonly confirm?: boolean },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  if (confirm) return drop(invocation, config);
  using reader = openReader(config.replica.path);
  const prunable = readPrunable(reader);
  const text =
    prunable.length === 0
      ? 'Nothing to drop: the origin has every table and column of the replica\n'
      : `The origin no longer has:\n${lines(prunable)}To drop them here too: rowsync schema prune --confirm\n`;
  await printResult(invocation, { prunable }, text);
  return prunable.length === 0 ? EXIT.done : EXIT.needsPerson;
}

async function drop(invocation: Invocation, config: Config): Promise<number> {
  using replica = await openExistingReplica(invocation, config);
  const dropped = await replica.writeDurably('Dropping what the origin no longer has', (tx) =>
    prune(tx, stampFromMs(invocation.session.clock.nowMs())),
  );
  const text = dropped.length === 0 ? 'Nothing to drop\n' : `Dropped:\n${lines(dropped)}`;
  await printResult(invocation, { dropped }, text);
  return EXIT.done;
}

function lines(names: readonly string[]): string {
  return names.map((name) => `  ${printable(name)}\n`).join('');
}

/**
 * `rowsync diff`: lists what differs between two times, from the history.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, usageError } from '../../base/errors.ts';
import { plural, printable, printableJson } from '../../base/text.ts';
import { differencesOf, type RowDifference } from './difference.ts';
import { readTableEntries } from './entries.ts';
import { checkKnown, chooseKnownTables, lastSeqAt, readKnownTables, type KnownTable } from './known-since.ts';
import type { Connection } from '../../replica/connection.ts';
import { openReader } from '../../replica/reader.ts';
import { cellLines, kindText, listJson } from './history-text.ts';
import { writeAll } from '../../cli/terminal/session.ts';
import { loadNamedConfig } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { momentOf, MOMENT_FORMS } from './time-argument.ts';

const EXAMPLES = `
What changed and was changed back is left out. Edits that were made here with SQL are known from the next pull or push on.
Times: ${MOMENT_FORMS}.

Examples:
  rowsync diff --from yesterday
  rowsync diff --from '2026-11-01 08:00' --to 2026-11-02 Order
  rowsync diff --from 2h --json | jq '.rows[] | select(.kind == "delete")'`;

interface DiffOptions {
  readonly from: string;
  readonly to: string;
}

/** A row that differs, and the name of its table. */
type TableDifference = readonly [table: string, row: RowDifference];

export function addDiffCommand(program: Command, runner: Runner): void {
  program
    .command('diff')
    .argument('[table]', 'table with `history` (default: all of them)')
    .description('list the rows that differ between two moments')
    .requiredOption('--from <time>', 'the first moment')
    .option('--to <time>', 'the second moment', 'now')
    .addHelpText('after', EXAMPLES)
    .action(runner(showDiff));
}

async function showDiff(invocation: Invocation, name: string | undefined, options: DiffOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { stdout, clock } = invocation.session;
  const nowMs = clock.nowMs();
  const from = momentOf(options.from, { name: '--from', nowMs });
  const to = momentOf(options.to, { name: '--to', nowMs });
  if (from > to) {
    throw usageError(
      `--from ${stampFromMs(from * 1000)} is later than --to ${stampFromMs(to * 1000)}`,
      'Give the earlier time with --from.',
    );
  }
  using reader = openReader(config.replica.path);
  const tables = chooseKnownTables(readKnownTables(reader), name);
  for (const table of tables) for (const moment of [from, to]) checkKnown(reader, table, { moment, nowMs });
  const rows = differencesIn(reader, tables, { after: lastSeqAt(reader, from), upTo: lastSeqAt(reader, to) });
  const times = { from: stampFromMs(from * 1000), to: stampFromMs(to * 1000) };
  await writeAll(stdout, invocation.isJson ? diffJson(rows, times) : diffText(rows, plural(tables.length, 'table')));
  return EXIT.done;
}

function* differencesIn(
  from: Connection,
  tables: readonly KnownTable[],
  span: { readonly after: number; readonly upTo: number },
): Generator<TableDifference> {
  for (const { table } of tables) {
    for (const row of differencesOf(readTableEntries(from, table, span))) yield [table, row];
  }
}

function* diffJson(rows: Generator<TableDifference>, times: object): Generator<string> {
  const items = rows.map(([table, { rowId, kind, cells }]) => {
    const texts = cells.map(
      (cell) => `{"column":${JSON.stringify(cell.column)},"before":${cell.before},"after":${cell.after}}`,
    );
    const head = JSON.stringify({ table, rowId, kind }).slice(0, -1);
    return [printableJson(`${head},"cells":[${texts.join(',')}]}`)];
  });
  yield* listJson(times, 'rows', items);
  yield '\n';
}

function* diffText(rows: Generator<TableDifference>, where: string): Generator<string> {
  let count = 0;
  for (const [table, { rowId, kind, cells }] of rows) {
    count += 1;
    yield `${[`${printable(table)} ${rowId}: ${kindText(kind)}`, ...cellLines(kind, cells, '  ')].join('\n')}\n`;
  }
  yield count === 0 ? `No differences in ${where}\n` : `${plural(count, 'row')} of ${where} differ\n`;
}

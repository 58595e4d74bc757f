/**
 * `rowsync history`: shows the changes of one row.
 */
import type { Command } from 'commander';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { plural, printable, printableJson } from '../../base/text.ts';
import { cellsOf } from './difference.ts';
import { entryJson, readRowEntries, type HistoryEntry } from './entries.ts';
import { findKnownTable, readKnownTables, type KnownTable } from './known.ts';
import { openReader } from '../../replica/reader.ts';
import { cellLines, headText, whenText } from './history-text.ts';
import { addForgetCommand } from './forget-command.ts';
import { loadNamedConfig } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';

const EXAMPLES = `
The oldest change comes first. A change happened between two times: the row was last known to be as before at the first one, and
the change was there at the second. "by" is who changed the row last before the second time.

Examples:
  rowsync history Order 42
  rowsync history Customer -- -3
  rowsync history Order 42 --json | jq '.entries[-1].before'`;

/** Adds the command. */
export function addHistoryCommand(program: Command, runner: Runner): void {
  const history = program
    .command('history')
    .argument('<table>', 'table with `history`')
    .argument('<id>', 'the _id of the row')
    .description('show the history of a row: what changed, when, by whom')
    .addHelpText('after', EXAMPLES)
    .action((table: string, id: string, _options: unknown, command: Command) =>
      runner(command, (invocation) => showLife(invocation, table, id)),
    );
  addForgetCommand(history, runner);
}

async function showLife(invocation: Invocation, name: string, id: string): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const rowId = /^-?\d+$/.test(id) ? Number(id) : Number.NaN;
  if (!Number.isSafeInteger(rowId)) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `"${id}" is not the _id of a row, a whole number`,
      hint: 'rowsync sql shows it: SELECT _id, * FROM the table. Write -- before a negative one.',
    });
  }
  const reader = openReader(config.replica.path);
  try {
    const known = findKnownTable(readKnownTables(reader), name);
    const entries = readRowEntries(reader, known.table, rowId);
    const { stdout } = invocation.session;
    for (const chunk of invocation.isJson ? lifeJson(known, rowId, entries) : lifeText(known, rowId, entries)) {
      if (stdout.isClosed) break;
      await stdout.write(chunk);
    }
    return EXIT.done;
  } finally {
    reader.close();
  }
}

function* lifeJson({ table, since }: KnownTable, rowId: number, entries: readonly HistoryEntry[]): Generator<string> {
  yield printableJson(`${JSON.stringify({ table, rowId, since }).slice(0, -1)},"entries":[`);
  for (const [index, entry] of entries.entries())
    yield `${index === 0 ? '\n' : ',\n'}${printableJson(entryJson(entry))}`;
  yield ']}\n';
}

function* lifeText({ table, since }: KnownTable, rowId: number, entries: readonly HistoryEntry[]): Generator<string> {
  const kept = since === null ? 'its table has no history any more' : `its history is kept since ${since}`;
  yield `${printable(table)} ${rowId}: ${plural(entries.length, 'change')}; ${kept}\n`;
  for (const entry of entries) {
    const lines = [headText(entry), `  ${whenText(entry)}`, ...cellLines(entry.kind, cellsOf(entry), '    ')];
    yield `\n${entry.at}  ${lines.join('\n')}\n`;
  }
}

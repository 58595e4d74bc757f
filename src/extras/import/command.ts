/**
 * `rowsync import`: the rows of a file as edits of a table, shown first.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import { linesText, plural, printable } from '../../base/text.ts';
import { MIRROR_HINT, findTwoWayTable } from '../../capture/two-way-table.ts';
import { planCellsJson, planText } from '../../cli/report/push-report.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { readIdentity } from '../../replica/bookkeeping/identity.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import { openReader } from '../../replica/reader.ts';
import { workAsClient, type ClientConnection } from '../shared/sql-client.ts';
import { formsOf } from './cell-value.ts';
import { importRows, type ImportReport } from './import.ts';
import { FILE_FORMATS, readRows, type FileFormat } from './read-file.ts';

const EXAMPLES = `
Without --confirm nothing is written. The rows become edits as of any SQL client: rowsync plan shows them, rowsync push carries them under
all its guards, and until then rowsync discard takes them back. If one cell cannot be read, nothing is done at all; all such cells are listed.

--match tells which rows are here already: they are updated where the file says otherwise, the others are new. Without it, rows are matched by
_id if the file has it, else by the match column of the configuration, else by an autonumber column; in a file that has none of these, each
row is a new one. An empty cell empties the one here; a column that the file does not have is left alone. docs/import.md has more.

Examples:
  rowsync import Customer new.csv                             what would be done
  rowsync import Customer new.csv --confirm
  rowsync import Customer prices.csv --match Code --update-only --locale de-DE
  rowsync import Order orders.tsv --dates DD/MM/YYYY --ignore Remarks`;

/** Problems that are listed for people; --json has all. */
const PROBLEMS_SHOWN_MAX = 200;

type ImportOptions = Flags<'match' | 'locale' | 'dates', 'updateOnly' | 'confirm', 'ignore'> & {
  readonly format?: FileFormat;
};

export function addImportCommand(program: Command, runner: Runner): void {
  program
    .command('import')
    .argument('<table>', 'a two-way table')
    .argument('<file>', 'CSV, TSV, JSON Lines or Parquet, with the names of columns')
    .description('make the rows of a file edits of a table, shown first')
    .option('--match <column>', 'the column that tells which rows are here already, or _id')
    .option('--ignore <column...>', 'columns of the file that are left out')
    .option('--update-only', 'leave out rows that are not here')
    .option('--locale <locale>', 'how numbers and dates are written, such as de-DE')
    .option('--dates <form>', 'how dates are written, such as DD/MM/YYYY')
    .addOption(new Option('--format <format>', 'what the file is (default: by its ending)').choices(FILE_FORMATS))
    .addOption(new Option('--plan', 'show what would be done (the default)').conflicts('confirm'))
    .option('--confirm', 'do it')
    .addHelpText('after', EXAMPLES)
    .action(runner(importAndPrint));
}

async function importAndPrint(
  invocation: Invocation,
  name: string,
  file: string,
  options: ImportOptions,
): Promise<number> {
  const { session } = invocation;
  // Read before root becomes the owner of the replica, who may not be allowed to.
  const rows = await readRows(
    basename(file),
    readBytes(resolve(session.folder, file), resolve(session.folder, name)),
    options.format,
  );
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { path } = config.replica;
  openReader(path).close();
  const wantsEdits = options.confirm === true;
  const work = (from: ClientConnection): ImportReport => {
    const [known] = chooseTables(from, [name]);
    const table = known === undefined ? null : findTwoWayTable(from, known.id);
    if (table === null) throw usageError(`${name} cannot be edited here`, MIRROR_HINT);
    const zone = readIdentity(from)?.timeZone ?? null;
    const forms = formsOf({ locale: options.locale, dates: options.dates, zone });
    const { match = null, ignore = [], updateOnly: updatesOnly = false } = options;
    return importRows(from, table, { file: rows, forms, match, ignore, updatesOnly });
  };
  const report = workAsClient(path, work, { isKept: ({ problems }) => wantsEdits && problems.length === 0 });
  const isDone = wantsEdits && report.problems.length === 0;
  await printResult(invocation, reportJson(report, isDone), reportText(report, isDone));
  return report.problems.length > 0 ? EXIT.failed : EXIT.done;
}

function readBytes(path: string, other: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.split(',')[0] : '';
    throw usageError(
      `${path} cannot be read: ${reason ?? ''}`,
      existsSync(other)
        ? `Name the table first, then the file: ${other} is a file.`
        : 'Check the name, and that you may read it.',
    );
  }
}

function reportJson(report: ImportReport, isDone: boolean): object {
  const { table, matchedBy, matched, rows, equalCount, leftOutCount, problems } = report;
  return {
    table,
    written: isDone,
    matchedBy,
    columns: matched.map(({ header, column, reason }) => ({
      header,
      column: column?.localName ?? null,
      notWritten: reason,
    })),
    insertedCount: rows.filter(({ kind }) => kind === 'insert').length,
    updatedCount: rows.filter(({ kind }) => kind === 'update').length,
    equalCount,
    leftOutCount,
    problems,
    rows: rows.map(({ rowId, kind, cells }) => ({ rowId, kind, cells: planCellsJson(cells) })),
  };
}

function reportText(report: ImportReport, isDone: boolean): string {
  const { table, matchedBy, matched, rows, equalCount, leftOutCount, problems } = report;
  const lines = [
    `columns: ${matched.flatMap(({ header, reason }) => (reason === null ? [header] : [])).join(', ') || 'none'}`,
    ...matched.flatMap(({ header, reason }) => (reason === null ? [] : [`  not written: ${header} (${reason})`])),
    matchedBy === null ? 'each row of the file is a new one' : `rows are matched by ${matchedBy}`,
  ];
  const text = linesText(lines);
  if (problems.length > 0) return text + problemsText(problems);
  const counts = [
    [equalCount, 'already as in the file'],
    [leftOutCount, 'left out: not here'],
  ] as const;
  const rest = counts.flatMap(([count, words]) => (count === 0 ? [] : [`${plural(count, 'row')} ${words}\n`])).join('');
  if (rows.length === 0) return `${text}${rest}Nothing to do\n`;
  const end = isDone
    ? 'edited here; rowsync plan shows the edits, rowsync push carries them'
    : 'nothing was written; --confirm does it';
  const preview = planText([{ table, rows, writeCallCount: 0, readCallCount: 0, held: null }], null);
  return `${text}${preview}${rest}${plural(rows.length, 'row')}: ${end}\n`;
}

function problemsText(problems: ImportReport['problems']): string {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX).map(({ line, column, problem }) => {
    const place = [line === null ? [] : `line ${line}`, column === null ? [] : printable(column)].flat().join(', ');
    return `  ${place}: ${printable(problem)}\n`;
  });
  const hidden = problems.length - shown.length;
  const more = hidden === 0 ? '' : `  and ${hidden} more (--json lists them)\n`;
  return `${plural(problems.length, 'problem')}, so nothing was done:\n${shown.join('')}${more}`;
}

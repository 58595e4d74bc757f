/**
 * `rowsync sql`: one read-only query on the replica, also while a pull is running.
 */
import { Option, type Command } from 'commander';
import { answerAsCsv, answerAsJson, type ResultTable } from '../../base/answer.ts';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { queryPast } from '../../extras/history/past.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { loadNamedConfig, type Invocation, type Runner } from '../runtime/invocation.ts';
import { momentOf, MOMENT_FORMS } from '../terminal/time-argument.ts';
import { answerAsTable, OUTPUT_FORMATS, type OutputFormat } from '../terminal/table.ts';
import { readAll } from '../terminal/session.ts';

/** Characters of a query; SQLite itself takes no longer ones (SQLITE_MAX_SQL_LENGTH). */
const QUERY_CHARS_MAX = 1_000_000;

const EXAMPLES = `
Examples:
  rowsync sql 'SELECT count(*) FROM "Order Details"'
  rowsync sql --format csv 'SELECT * FROM Customer' > customers.csv
  rowsync sql --json 'SELECT * FROM sync_status'
  rowsync sql < report.sql
  rowsync sql --at '2026-11-01 08:00' 'SELECT * FROM "Order"'    # with history for the table

A table shows at most 1,000 rows; JSON and CSV are complete. In CSV, NULL is nothing and an empty text is "";
in an answer of one column both are "", since many readers skip a blank line.
Any other SQLite client can read the replica as well, at any time.

--at takes ${MOMENT_FORMS}.
Tables have the columns that they have now. Edits since the last pull or push are shown as they are now. So are the views of rowsync,
such as sync_status, and main."Order" is the table as it is now.`;

interface SqlOptions {
  readonly format?: OutputFormat;
  readonly escapeFormulas?: boolean;
  readonly at?: string;
}

/** Adds the command. */
export function addSqlCommand(program: Command, runner: Runner): void {
  program
    .command('sql')
    .argument('[query]', 'the query (default: read it from stdin)')
    .description('ask the replica a question in SQL; reads only')
    .addOption(new Option('-f, --format <form>', 'form of the answer').choices(OUTPUT_FORMATS))
    .option('--at <time>', 'tables as they were here at that moment; only tables with history')
    .option('--escape-formulas', 'CSV for a spreadsheet: keep text from running as a formula')
    .addHelpText('after', EXAMPLES)
    .action((query: string | undefined, options: SqlOptions, command: Command) =>
      runner(command, (invocation) => runQuery(invocation, query, options)),
    );
}

async function runQuery(invocation: Invocation, query: string | undefined, options: SqlOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const text = query ?? (await queryFromInput(invocation));
  const reader = openReader(config.replica.path);
  try {
    const { stdout } = invocation.session;
    for (const chunk of formatted(invocation, answerAt(invocation, reader, { text, at: options.at }), options)) {
      await stdout.write(chunk);
      if (stdout.isClosed) break;
    }
    return EXIT.done;
  } finally {
    reader.close();
  }
}

/** The answer of today, or of a moment. @throws RowsyncError `history.unknown`, and as a query. */
function answerAt(
  { session }: Invocation,
  reader: ReplicaReader,
  { text, at }: { readonly text: string; readonly at: string | undefined },
): ResultTable {
  if (at === undefined) return reader.query(text);
  const nowMs = session.clock.nowMs();
  return queryPast(reader, text, { moment: momentOf(at, { name: '--at', nowMs }), nowMs });
}

function formatted(invocation: Invocation, answer: ResultTable, options: SqlOptions): Iterable<string> {
  const { stdout } = invocation.session;
  const format = options.format ?? (invocation.isJson ? 'json' : 'table');
  if (format === 'json') return answerAsJson(answer);
  if (format === 'table') return answerAsTable(answer, stdout.width());
  return answerAsCsv(answer, {
    escapeFormulas: options.escapeFormulas === true,
    forTerminal: stdout.isTerminal,
  });
}

async function queryFromInput({ session }: Invocation): Promise<string> {
  const text = session.stdin.isTTY === true ? '' : await readAll(session.stdin, QUERY_CHARS_MAX);
  if (text !== null && text.trim() !== '') return text;
  throw new RowsyncError('usage', 'usage.invalid', {
    message: text === null ? `The query on stdin is longer than ${QUERY_CHARS_MAX} characters` : 'No query was given',
    hint: 'Give it as one argument, in quotes, or on stdin: rowsync sql < report.sql',
  });
}

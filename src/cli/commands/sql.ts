/**
 * `rowsync sql`: one read-only query on the replica, also while a pull is running.
 */
import { Option, type Command } from 'commander';
import {
  answerAsCsv,
  answerAsJson,
  answerAsJsonLines,
  answerAsMarkdown,
  answerAsTsv,
  type CsvOptions,
  type ResultTable,
} from '../../base/result-formats.ts';
import { EXIT, usageError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { loadNamedConfig } from '../runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { answerAsTable, OUTPUT_FORMATS, type OutputFormat } from '../terminal/table.ts';
import { writePaged } from '../terminal/pager.ts';
import { readAll, writeAll } from '../terminal/session.ts';

/** Characters of a query; SQLite itself takes no longer ones (SQLITE_MAX_SQL_LENGTH). */
const QUERY_CHARS_MAX = 1_000_000;

const EXAMPLES = `
Examples:
  rowsync sql 'SELECT count(*) FROM "Order Details"'
  rowsync sql --format csv 'SELECT * FROM Customer' > customers.csv
  rowsync sql --json 'SELECT * FROM sync_status'
  rowsync sql < report.sql
  rowsync sql 'SELECT "Status", "Shipping Fee" FROM "Order"' | sort | head

On a terminal the answer is a table of at most 1,000 rows, in a pager where it is longer than the screen. In a pipe it is complete, with tabs between the fields (tsv): NULL is nothing there, and
a tab or line break in a value is written as \\t or \\n. JSON, JSON Lines (jsonl) and CSV are complete and exact. In CSV, NULL is nothing and an empty text is "";
in an answer of one column both are "", since many readers skip a blank line.
Any other SQLite client can read the replica as well, at any time.`;

/** `at`, `fresh` and `moment` are options of extras. */
type SqlOptions = Flags<'at' | 'fresh', 'escapeFormulas' | 'moment'> & { readonly format?: OutputFormat };

export function addSqlCommand(program: Command, runner: Runner): void {
  program
    .command('sql')
    .argument('[query]', 'the query (default: read it from stdin)')
    .description('ask the replica a question in SQL; reads only')
    .addOption(
      new Option('-f, --format <form>', 'form of the answer (default: table, in a pipe tsv)').choices(OUTPUT_FORMATS),
    )
    .option('--escape-formulas', 'CSV for a spreadsheet: keep text from running as a formula')
    .addHelpText('after', EXAMPLES)
    .action(runner(runQuery));
}

async function runQuery(invocation: Invocation, query: string | undefined, options: SqlOptions): Promise<number> {
  const config = await loadNamedConfig(invocation, {
    needsCredentials: options.fresh === undefined ? false : 'asRoot',
  });
  const text = query ?? (await queryFromInput(invocation));
  using reader = openReader(config.replica.path);
  const held = await hold(invocation, config, { reader, text, options });
  const { session, extras } = invocation;
  const [queryAt] = extras.flatMap((extra) => extra.queryAt ?? []);
  const answer = await (options.at === undefined || queryAt === undefined
    ? reader.query(text)
    : queryAt(reader, text, options.at, session.clock.nowMs()));
  const format = options.format ?? (invocation.isJson ? 'json' : session.stdout.isTerminal ? 'table' : 'tsv');
  const csv = { escapeFormulas: options.escapeFormulas === true, forTerminal: session.stdout.isTerminal };
  if (format === 'table') await writePaged(session, [...answerAsTable(answer, session.stdout.width())].join(''));
  else if (format === 'json' && held !== null) await writeAll(session.stdout, heldJson(held, answer));
  else await writeAll(session.stdout, ANSWERS[format](answer, csv));
  await noteUnread(invocation, reader, text);
  return EXIT.done;
}

/** What the answer says of its age; null where the options bind it to none. @throws RowsyncError `fresh.stale`, …. */
async function hold(
  invocation: Invocation,
  config: Config,
  { reader, text, options }: { readonly reader: ReplicaReader; readonly text: string; readonly options: SqlOptions },
): Promise<object | null> {
  const [holdReader] = invocation.extras.flatMap((extra) => extra.hold ?? []);
  const { at, fresh, moment } = options;
  if (at !== undefined && (fresh !== undefined || moment === true)) {
    throw usageError('--at excludes --fresh and --moment, which are about now', 'Give one of them.');
  }
  return (await holdReader?.(invocation, config, { reader, reads: () => reader.tablesOf(text), options })) ?? null;
}

/** Says which of the tables that a query reads have only some of their rows, since their first pull has not ended. */
async function noteUnread({ session }: Invocation, reader: ReplicaReader, text: string): Promise<void> {
  const loading = reader.loadingTables();
  const unread = loading.length === 0 ? [] : reader.tablesOf(text).filter((table) => loading.includes(table));
  if (unread.length > 0) await session.stderr.write(`not read to the end yet: ${unread.map(printable).join(', ')}\n`);
}

type WriteAnswer = (answer: ResultTable, csv: CsvOptions) => Iterable<string>;

const ANSWERS: Readonly<Record<Exclude<OutputFormat, 'table'>, WriteAnswer>> = {
  json: answerAsJson,
  jsonl: answerAsJsonLines,
  tsv: answerAsTsv,
  markdown: answerAsMarkdown,
  csv: answerAsCsv,
};

function* heldJson(held: object, answer: ResultTable): Iterable<string> {
  yield `${JSON.stringify(held).slice(0, -1)},"rows":`;
  yield* answerAsJson(answer);
  yield '}\n';
}

async function queryFromInput({ session }: Invocation): Promise<string> {
  const text = session.stdin.isTTY === true ? '' : await readAll(session.stdin, QUERY_CHARS_MAX);
  if (text !== null && text.trim() !== '') return text;
  throw usageError(
    text === null ? `The query on stdin is longer than ${QUERY_CHARS_MAX} characters` : 'No query was given',
    'Give it as one argument, in quotes, or on stdin: rowsync sql < report.sql',
  );
}

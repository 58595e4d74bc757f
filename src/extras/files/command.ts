/**
 * `rowsync files`: lists, fetches, verifies, exports and prunes attached files. `list` and `export`
 * only read; the others lock the replica.
 */
import { Option, type Command } from 'commander';
import { answerAsJson, answerAsTsv, plainText, type ResultTable } from '../../base/result-formats.ts';
import { EXIT, exitCodeOf, RowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { bytesText, plural } from '../../base/text.ts';
import type { FilesReport } from '../../files/context.ts';
import { pullFiles } from '../../files/download.ts';
import { requireStore } from '../../files/open-store.ts';
import { FileStore, openStore } from '../../files/store.ts';
import { readContents } from '../../replica/bookkeeping/files.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import type { Connection } from '../../replica/connection.ts';
import { openReader, type QueryAnswer } from '../../replica/reader.ts';
import { failuresOf, filesText } from '../../cli/report/pull-report.ts';
import { loadNamedConfig, openExistingReplica, printResult, withResources } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { writeAll } from '../../cli/terminal/session.ts';
import { listTable, TABLE_ROWS_MAX } from '../../cli/terminal/table.ts';
import { listContent } from '../shared/stored-content.ts';

const EXAMPLES = `
Content is in the file store (replica.files); sync_files says for each revision where.

Examples:
  rowsync files                            every revision that is known
  rowsync files list Employee --state failed
  rowsync files pull                       fetch what is missing; what failed before is tried at once
  rowsync files verify                     read every content, ask the origin for every file, mend what is damaged
  rowsync files prune --dry-run`;

const REVISIONS = sql`SELECT "table", row_id, "column", revision, name, type, bytes, state, reason, vanished, sha256, guid, author, created, path
    FROM sync_files WHERE (@tables IS NULL OR "table" IN (SELECT value FROM json_each(@tables))) AND (@state IS NULL OR state = @state)
    ORDER BY "table", row_id, "column", revision`;

const STATES = ['here', 'missing', 'failed', 'skipped'] as const;

export function addFilesCommands(program: Command, runner: Runner): void {
  const files = program
    .command('files')
    .description('list, fetch, verify and prune attached files')
    .addHelpText('after', EXAMPLES);
  files
    .command('list [table...]', { isDefault: true })
    .description('list the revisions of attached files, with their state')
    .addOption(new Option('--state <state>', 'only those in this state').choices(STATES))
    .action(runner(list));
  files
    .command('pull [table...]')
    .description('fetch the files that the rows here name; rowsync pull does so too')
    .action(runner(pullAndPrint));
  files
    .command('prune')
    .description('remove content that no row of sync_files refers to')
    .option('--dry-run', 'only say how much that is')
    .action(runner(pruneAndPrint));
}

async function list(
  invocation: Invocation,
  tables: readonly string[],
  { state = null }: { readonly state?: string | null },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using reader = openReader(config.replica.path);
  const names = chooseTables(reader, tables).map(({ localName }) => localName);
  const found = reader.query(REVISIONS, { tables: tables.length === 0 ? null : JSON.stringify(names), state });
  const answer = invocation.isJson ? found : withNames(found, rowNamer(reader));
  const { stdout } = invocation.session;
  await writeAll(stdout, invocation.isJson ? answerAsJson(answer) : answerAsList(answer, stdout.width()));
  return EXIT.done;
}

/** The answer with the name of each row behind its table and id. */
function withNames({ columns, rows }: QueryAnswer, nameOf: (table: string, rowId: number) => string): ResultTable {
  const [table = '', rowId = '', ...others] = columns;
  return {
    columns: [table, rowId, 'row_name', ...others],
    rows: (function* () {
      for (const [ofTable, id, ...rest] of rows) yield [ofTable, id, nameOf(String(ofTable), Number(id)), ...rest];
    })(),
  };
}

/** An answer as a list; in a pipe it is made as it is read. */
export function* answerAsList(answer: ResultTable, width: number | null): Generator<string> {
  if (width === null) {
    yield* answerAsTsv(answer);
    return;
  }
  const rows = [...Iterator.from(answer.rows).take(TABLE_ROWS_MAX)];
  const cells = rows.map((row) => row.map((value) => (value === null ? '' : plainText(value))));
  yield listTable(answer.columns, cells, width);
  if (rows.length === TABLE_ROWS_MAX) yield `The first ${plural(rows.length, 'row')} (--json gives all)\n`;
}

async function pullAndPrint(invocation: Invocation, tables: readonly string[]): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  openReader(config.replica.path).close();
  const report = await withResources(invocation, config, ({ files }) => pullFiles(files, { tables, retryNow: true }));
  const failures = [...failuresOf(report), ...filesFailedError(report)];
  const exitCode = exitCodeOf(failures);
  const text = filesText(report);
  await printResult(
    invocation,
    { exitCode, files: report },
    text === '' ? 'Nothing to fetch: every file that is wanted is here\n' : text,
  );
  return exitCode;
}

/** An error for files that failed by themselves, where fetching them is all that was asked for. */
function filesFailedError({ failedCount }: FilesReport): readonly RowsyncError[] {
  if (failedCount === 0) return [];
  return [
    new RowsyncError('originRefused', 'files.failed', {
      message: `${plural(failedCount, 'file')} could not be fetched`,
      hint: "SELECT * FROM sync_files WHERE state = 'failed' says which, and why.",
    }),
  ];
}

async function pruneAndPrint(
  invocation: Invocation,
  { dryRun = false }: { readonly dryRun?: boolean },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using replica = await openExistingReplica(invocation, config);
  const report = await pruneFiles(replica, { folder: config.replica.files, dryRun });
  await printResult(invocation, { exitCode: EXIT.done, dryRun, ...report }, pruneText(report, dryRun));
  return EXIT.done;
}

/** Content that no row of `sync_files` names. */
interface PruneReport {
  readonly contentCount: number;
  readonly bytes: number;
}

/** Removes what nothing refers to in a locked replica's store, or counts it. @throws RowsyncError `files.store`. */
export async function pruneFiles(
  from: Connection,
  { folder, dryRun }: { readonly folder: string; readonly dryRun: boolean },
): Promise<PruneReport> {
  requireStore(from, folder);
  const store = dryRun ? new FileStore(folder) : await openStore(folder);
  const known = new Set(readContents(from, null).map(({ sha256 }) => sha256));
  let contentCount = 0;
  let bytes = 0;
  for await (const content of listContent(store)) {
    if (known.has(content.sha256)) continue;
    contentCount += 1;
    bytes += content.bytes;
    if (!dryRun) await store.remove(content.sha256);
  }
  return { contentCount, bytes };
}

export function pruneText({ contentCount, bytes }: PruneReport, isDryRun: boolean): string {
  if (contentCount === 0) return 'Nothing to remove: every content belongs to a row of sync_files\n';
  const what = `${plural(contentCount, 'content')} (${bytesText(bytes)}) that no row of sync_files refers to`;
  return isDryRun ? `Would remove ${what}\n` : `Removed ${what}\n`;
}

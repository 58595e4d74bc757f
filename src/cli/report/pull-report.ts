/**
 * What a pull or a verify did, in words, as JSON and as an exit code. Pure.
 */
import type { RowsyncError } from '../../base/errors.ts';
import type { FilesReport } from '../../files/context.ts';
import type { PullReport, TablePullReport } from '../../pull/report.ts';
import { sumOf } from '../../base/sum.ts';
import { sumOfAccounts } from '../../reconcile/account/pull-account.ts';
import { boxTable, type TableColumn } from '../terminal/table.ts';
import { bytesText, countText, durationText, plural, printable, someOf, withoutName } from '../../base/text.ts';

/** What went wrong in a pull or a push: the whole, tables, what a guard holds. Of work on files, what ended it. */
export function failuresOf(
  report: (Pick<PullReport, 'error'> & { readonly tables?: readonly FailedTable[] }) | null,
): readonly RowsyncError[] {
  const { error = null, tables = [] } = report ?? {};
  return [error, ...tables.flatMap((table) => [table.error, table.held])].filter((failure) => failure !== null);
}

type FailedTable = Pick<TablePullReport, 'table' | 'error' | 'held'>;

/** The counts of a table, in the order of the columns. */
const PULL_COUNTS: readonly (readonly [title: string, count: (table: TablePullReport) => number])[] = [
  ['rows', ({ rowCount }) => rowCount],
  ['new', ({ insertedCount }) => insertedCount],
  ['changed', ({ updatedCount }) => updatedCount],
  ['deleted', ({ deletedCount }) => deletedCount],
  ['pages read', ({ pagesReadCount }) => pagesReadCount],
  ['unchanged', ({ pagesNotModifiedCount }) => pagesNotModifiedCount],
];

/** A pull for people: the tables in which something happened, the sums, then what went wrong and what to do. */
export function pullText(report: PullReport, width: number | null): string {
  const changed = report.tables.filter((table) => changeCount(table) > 0);
  if (report.tables.length === 0 && report.error !== null) return reportProblemsText(report).trimStart();
  const columns = [{ title: 'table' }, ...PULL_COUNTS.map(([title]): TableColumn => ({ title, align: 'right' }))];
  const rows = changed.map((table) => [table.table, ...PULL_COUNTS.map(([, count]) => countText(count(table)))]);
  const box = changed.length === 0 ? '' : boxTable(columns, rows, width);
  const quietCount = report.tables.filter((table) => table.error === null && changeCount(table) === 0).length;
  const quiet = quietCount === 0 ? '' : `${plural(quietCount, 'table')} without changes\n`;
  const removed =
    report.removedEntryCount === 0
      ? ''
      : `History: ${countText(report.removedEntryCount)} of its entries removed, being beyond keep or maxBytes\n`;
  const changes = report.schemaChanges.map((change) => `Changed: ${change}\n`);
  const notes = [...changes, ...report.notes.map((note) => `${note}\n`)].join('');
  return `${box}${filteredText(report)}${removed}${quiet}${sumsText(report)}\n${notes}${reportProblemsText(report)}`;
}

function filteredText({ tables }: PullReport): string {
  const left = tables.filter(({ filteredCount }) => filteredCount > 0);
  return left
    .map(({ table, filteredCount }) => `${printable(table)}: ${plural(filteredCount, 'row')} left its filter (rows)\n`)
    .join('');
}

function changeCount(table: TablePullReport): number {
  return table.insertedCount + table.updatedCount + table.deletedCount + table.filteredCount;
}

function sumsText(report: PullReport): string {
  const sum = (count: 'insertedCount' | 'updatedCount' | 'deletedCount'): string =>
    countText(sumOf(report.tables, (table) => table[count]));
  const rowCount = sumOf(report.tables, (table) => table.rowCount);
  const rows = `${plural(report.tables.length, 'table')}, ${plural(rowCount, 'row')}`;
  const changes = `${sum('insertedCount')} new, ${sum('updatedCount')} changed, ${sum('deletedCount')} deleted`;
  const wire = `${plural(report.requestCount, 'request')}, ${countText(report.notModifiedCount)} answered "not modified", ${bytesText(report.receivedBytes)} received in ${durationText(report.durationMs)}`;
  return `${rows}: ${changes}\n${listedText(report)}${wire}`;
}

/** What became of the rows that the origin listed, of tables that were read to their end; empty for none. */
function listedText({ tables }: PullReport): string {
  const accounts = tables.flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) return '';
  const { listed, here, unreadable, missing, kept, strange } = sumOfAccounts(accounts);
  const parts = [
    [here, 'here'],
    [unreadable, 'not to be read'],
    [missing, 'missing'],
  ] as const;
  const others = [
    [kept, 'kept for a guard, or until its edit is settled'],
    [strange, 'without a reason'],
  ] as const;
  const text = (some: typeof parts | typeof others): string =>
    some.flatMap(([count, what]) => (count === 0 ? [] : [`${countText(count)} ${what}`])).join(', ');
  const more = kept + strange === 0 ? '' : `; not listed: ${text(others)}`;
  return `${plural(listed, 'row')} listed by the origin${listed === 0 ? '' : `: ${text(parts)}`}${more}\n`;
}

/** What went wrong with each table and with the whole, and what to do about it. */
export function reportProblemsText({
  tables,
  error,
}: Pick<PullReport, 'error'> & { readonly tables: readonly FailedTable[] }): string {
  const named = (what: 'failed' | 'held', errorOf: (table: (typeof tables)[number]) => RowsyncError | null) =>
    tables.flatMap((table): readonly TableProblem[] => {
      const found = errorOf(table);
      if (found === null) return [];
      // The next pull brings the columns, and the push goes on.
      return [{ what: found.code === 'push.shape' ? 'stopped' : what, table: table.table, error: found }];
    });
  const ofRun = error === null ? [] : [{ what: 'failed', error }];
  return problemsText([...named('failed', (table) => table.error), ...named('held', (table) => table.held), ...ofRun]);
}

/** One way in which something failed, and the table in which it did. */
export interface TableProblem {
  readonly what: string;
  readonly table?: string | undefined;
  readonly error: RowsyncError;
}

/** Problems with what to do about each; what several tables have in common, the hint included, is said once. */
export function problemsText(problems: readonly TableProblem[]): string {
  // What was under way when rowsync was asked to stop is of no interest.
  const subject = ({ table, error }: TableProblem): string =>
    error.code === 'origin.stopped' ? error.code : withoutName(printable(error.message), table ?? '');
  const groups = Map.groupBy(problems, (problem) => `${problem.what}: ${subject(problem)}\n${problem.error.hint}`);
  return [...groups.values()]
    .map(([first, ...others]) => {
      if (first === undefined) return ''; // groups are never empty
      const tables = [first, ...others].flatMap(({ table }) => table ?? []);
      const where = tables.length === 0 ? '' : `${printable(someOf(tables))}: `;
      const { hint, code } = first.error;
      const said =
        code === 'origin.stopped'
          ? 'not finished, because rowsync was asked to stop'
          : `${first.what}: ${subject(first)}`;
      return `\n${where}${said}\n  what to do: ${printable(hint)}\n  code: ${code}\n`;
    })
    .join('');
}

/** Downloads for people; empty if nothing happened. */
export function filesText(report: FilesReport | null): string {
  if (report === null) return '';
  const done = [
    { count: report.downloadedCount, text: `downloaded (${bytesText(report.downloadedBytes)})` },
    { count: report.knownCount, text: 'known already' },
    { count: report.vanishedCount, text: 'gone at the origin and kept here' },
  ];
  const facts = done.filter(({ count }) => count > 0).map(({ count, text }) => `${countText(count)} ${text}`);
  const line = facts.length === 0 ? '' : `files: ${facts.join(', ')} in ${durationText(report.durationMs)}\n`;
  const left = (count: number, why: string, advice: string): string =>
    count === 0 ? '' : `\n${plural(count, 'file')} ${why}\n  what to do: ${advice}\n`;
  const query = "SELECT * FROM sync_files WHERE state = 'failed' says which, and why";
  const failed = left(report.failedCount, 'could not be fetched; later pulls try again', query);
  const advice = 'raise it, or leave files out by type or size under tables';
  const over = left(report.overBoundCount, 'not downloaded: files.maxBytes is reached', advice);
  return line + failed + over + problemsText(failuresOf(report).map((error) => ({ what: 'files', error })));
}

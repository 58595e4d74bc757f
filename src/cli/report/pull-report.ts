/**
 * What a pull or a verify did, in words, as JSON and as an exit code. Pure.
 */
import type { RowsyncError } from '../../base/errors.ts';
import type { PullReport, TablePullReport } from '../../pull/report.ts';
import { sumOf } from '../../reconcile/account/pull-account.ts';
import { errorJson, messageText } from './error-text.ts';
import { exitCodeOf } from '../runtime/invocation.ts';
import { boxTable, type TableColumn } from '../terminal/table.ts';
import { bytesText, countText, durationText, plural, printable } from '../../base/text.ts';

/** Everything that went wrong in a pull: of the whole, of tables, and what a guard holds. */
export function failuresOf(report: PullReport): readonly RowsyncError[] {
  const all = [report.error, ...report.tables.flatMap((table) => [table.error, table.held])];
  return all.filter((failure) => failure !== null);
}

/** A pull for a program to read. */
export function pullJson(report: PullReport): Readonly<Record<string, unknown>> {
  const orNull = (error: RowsyncError | null): unknown => (error === null ? null : errorJson(error));
  return {
    exitCode: exitCodeOf(failuresOf(report)),
    requestCount: report.requestCount,
    notModifiedCount: report.notModifiedCount,
    receivedBytes: report.receivedBytes,
    durationMs: Math.round(report.durationMs),
    removedEntryCount: report.removedEntryCount,
    error: orNull(report.error),
    notes: report.notes,
    schemaChanges: report.schemaChanges,
    tables: report.tables.map((table) => ({
      ...table,
      durationMs: Math.round(table.durationMs),
      held: orNull(table.held),
      error: orNull(table.error),
    })),
  };
}

/** Tables named where one problem concerns many. */
const TABLES_NAMED_MAX = 8;

const PULL_COLUMNS: readonly TableColumn[] = [
  { title: 'table' },
  { title: 'rows', align: 'right' },
  { title: 'new', align: 'right' },
  { title: 'changed', align: 'right' },
  { title: 'deleted', align: 'right' },
  { title: 'pages read', align: 'right' },
  { title: 'unchanged', align: 'right' },
];

/** A pull for people: the tables in which something happened, the sums, then what went wrong and what to do. */
export function pullText(report: PullReport, width: number | null): string {
  const changed = report.tables.filter((table) => changeCount(table) > 0);
  if (report.tables.length === 0 && report.error !== null) return pullProblemsText(report).trimStart();
  const box = changed.length === 0 ? '' : boxTable(PULL_COLUMNS, changed.map(pullCells), width);
  const quietCount = report.tables.filter((table) => table.error === null && changeCount(table) === 0).length;
  const quiet = quietCount === 0 ? '' : `${plural(quietCount, 'table')} without changes\n`;
  const removed =
    report.removedEntryCount === 0
      ? ''
      : `History: ${countText(report.removedEntryCount)} of its entries removed, being beyond keep or maxBytes\n`;
  const changes = report.schemaChanges.map((change) => `Changed at the origin: ${change}\n`);
  const notes = [...changes, ...report.notes.map((note) => `${note}\n`)].join('');
  return `${box}${filteredText(report)}${removed}${quiet}${sumsText(report)}\n${notes}${pullProblemsText(report)}`;
}

function pullCells(table: TablePullReport): readonly string[] {
  return [
    printable(table.table),
    ...[
      table.rowCount,
      table.insertedCount,
      table.updatedCount,
      table.deletedCount,
      table.pagesReadCount,
      table.pagesNotModifiedCount,
    ].map(countText),
  ];
}

/** Rows that left the filters of their tables. */
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
  const sum = (pick: (table: TablePullReport) => number): number =>
    report.tables.reduce((total, table) => total + pick(table), 0);
  const rows = `${plural(report.tables.length, 'table')}, ${plural(
    sum((table) => table.rowCount),
    'row',
  )}`;
  const changes = `${countText(sum((table) => table.insertedCount))} new, ${countText(sum((table) => table.updatedCount))} changed, ${countText(sum((table) => table.deletedCount))} deleted`;
  const wire = `${plural(report.requestCount, 'request')}, ${countText(report.notModifiedCount)} answered "not modified", ${bytesText(report.receivedBytes)} received in ${durationText(report.durationMs)}`;
  return `${rows}: ${changes}\n${listedText(report)}${wire}`;
}

/** What became of the rows that the origin listed, of tables that were read to their end; empty for none. */
function listedText({ tables }: PullReport): string {
  const accounts = tables.flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) return '';
  const { listed, here, unreadable, missing, kept, strange } = sumOf(accounts);
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

function pullProblemsText(report: PullReport): string {
  const failed = report.tables.flatMap(({ table, error }) =>
    error === null ? [] : [{ what: 'failed', table, error }],
  );
  const held = report.tables.flatMap(({ table, held: error }) =>
    error === null ? [] : [{ what: 'held', table, error }],
  );
  const whole = report.error === null ? [] : [{ what: 'failed', error: report.error }];
  return problemsText([...failed, ...held, ...whole]);
}

/** One way in which something failed, and the table in which it did. */
export interface TableProblem {
  readonly what: string;
  readonly table?: string | undefined;
  readonly error: RowsyncError;
}

/** Problems with what to do about each; what several tables have in common is said once. */
export function problemsText(problems: readonly TableProblem[]): string {
  // What was under way when rowsync was asked to stop is of no interest.
  const subject = ({ code, message }: RowsyncError): string => (code === 'origin.stopped' ? code : message);
  const groups = Map.groupBy(problems, ({ what, error }) => `${what}: ${subject(error)}`);
  return [...groups.values()]
    .map(([first, ...others]) => {
      if (first === undefined) return ''; // groups are never empty
      const tables = [first, ...others].flatMap(({ table }) => table ?? []);
      const names = tables.length > TABLES_NAMED_MAX ? [...tables.slice(0, TABLES_NAMED_MAX), '...'] : tables;
      const where = names.length === 0 ? '' : `${names.map(printable).join(', ')}: `;
      const { hint, code } = first.error;
      const said =
        code === 'origin.stopped'
          ? 'not finished, because rowsync was asked to stop'
          : `${first.what}: ${messageText(first.error)}`;
      return `\n${where}${said}\n  what to do: ${printable(hint)}\n  code: ${code}\n`;
    })
    .join('');
}

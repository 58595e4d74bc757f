/**
 * `rowsync verify` and the work of `schedule.verify`: pulls, then compares every cell with the origin without trusting
 * any ETag. Like every pull, it first finishes what an interrupted push left behind.
 */
import type { Command } from 'commander';
import { exitCodeOf, type RowsyncError } from '../../base/errors.ts';
import type { Config } from '../../config/load.ts';
import { isEnd, outcomeOfTables, type ExtraWork } from '../../daemon/work-kinds.ts';
import {
  differenceOf,
  verify,
  verifyFailures,
  type Mismatch,
  type TableVerifyReport,
  type VerifyReport,
} from './verify.ts';
import { finishPushes } from '../../push/push.ts';
import { writeWithAccount, loadNamedConfig, withResources } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { orLeaveConfirmation } from '../../cli/runtime/hand-over.ts';
import { boxTable, type TableColumn } from '../../cli/terminal/table.ts';
import { problemsText } from '../../cli/report/pull-report.ts';
import { sumOf } from '../../base/sum.ts';
import { countText, durationText, plural, printable, someOf } from '../../base/text.ts';

/** Rows named per table in the text; the JSON form has more. */
const ROWS_NAMED_MAX = 10;

const EXAMPLES = `
It pulls first, so rows that were older here are brought up to date, and counted as pulled. Then it compares. It costs one request
for every page of the tables. Rows that people change while it runs are looked at again; what still
differs although the origin says that nothing changed is a mismatch, and the exit code is 1, also for rows that cannot be read. A
mismatch is not repaired; rowsync status names the table until it is. The pull before puts rows back of a mirror whose guards another program
removed, and they count as different. Rows whose delete waits for a person do not, and the exit code is 3 then.

Examples:
  rowsync verify
  rowsync verify Customer --json`;

export function addVerifyCommand(program: Command, runner: Runner): void {
  program
    .command('verify')
    .argument('[table...]', 'tables of the origin (default: all that the configuration names)')
    .description('pull, then compare every cell with the origin, without ETags')
    .addHelpText('after', EXAMPLES)
    .action(runner(verifyAlone));
}

function verifyAlone(invocation: Invocation, tables: readonly string[]): Promise<number> {
  const request = { confirm: false, works: ['verify'], tables, flags: [] } as const;
  return orLeaveConfirmation(invocation, request, () => verifyAndPrint(invocation, tables));
}

async function verifyAndPrint(invocation: Invocation, tables: readonly string[]): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  const report = await runVerify(invocation, config, tables);
  const exitCode = exitCodeOf(verifyFailures(report));
  const { stdout } = invocation.session;
  await writeWithAccount(invocation, config, {
    text: () => verifyText(report, stdout.width()),
    json: () => ({ exitCode, ...report }),
  });
  return exitCode;
}

export async function runVerify(
  invocation: Invocation,
  config: Config,
  tables: readonly string[],
): Promise<VerifyReport> {
  return withResources(invocation, config, async (contexts) => {
    await finishPushes(contexts.push);
    const report = await verify(contexts.pull, { tables });
    if (report.error?.kind === 'usage') throw report.error;
    return report;
  });
}

/** On schedule. A table that differs waits for a person, since waiting does not help; the next pull includes it. */
export const verifyOnSchedule: ExtraWork = async ({ pull: context, push }) => {
  await finishPushes(push);
  const { error, requestCount, tables: reports } = await verify(context, { tables: [] });
  const tables = reports.map((table) => ({ ...table, held: differenceOf(table) ?? table.held }));
  const rowCount = sumOf(reports, (table) => table.comparedCount);
  const facts = { requestCount, tableCount: tables.length, rowCount };
  return { ...outcomeOfTables(context, error, tables, facts), isOver: isEnd(error) };
};

const COLUMNS: readonly TableColumn[] = [
  { title: 'table' },
  { title: 'rows compared', align: 'right' },
  { title: 'changed meanwhile', align: 'right' },
  { title: 'different', align: 'right' },
];

export function verifyText(report: VerifyReport, width: number | null): string {
  const compared = report.tables.filter(({ error }) => error === null);
  const rows = compared.map((table) => [
    printable(table.table),
    countText(table.comparedCount),
    countText(table.changedMeanwhileCount),
    countText(table.mismatchCount + table.putBackCount),
  ]);
  const comparedCount = sumOf(compared, (table) => table.comparedCount);
  const failures = verifyFailures(report);
  const isDifferent = report.tables.some(({ mismatchCount }) => mismatchCount > 0);
  const wasDifferent = report.tables.some(({ putBackCount }) => putBackCount > 0);
  const wrong = isDifferent
    ? 'not every cell matches the origin'
    : wasDifferent
      ? 'not every cell matched the origin before this pull'
      : 'not everything could be compared';
  const verdict = failures.length === 0 ? 'every cell matches the origin' : wrong;
  const mismatches = compared.filter((table) => rowCountOf(table) > 0).map(mismatchText);
  const editedCount = sumOf(compared, (table) => table.editedCount);
  const edited =
    editedCount === 0
      ? ''
      : `not compared: edits of ${plural(editedCount, 'row')} that the origin does not have (rowsync plan)\n`;
  const named = failures.map((error) => ({ what: wordFor(error), error }));
  return (
    (rows.length === 0 ? '' : boxTable(COLUMNS, rows, width)) +
    `${plural(compared.length, 'table')}, ${plural(comparedCount, 'row')}: ${verdict}\n${pulledText(report)}${edited}` +
    `${plural(report.requestCount, 'request')} in ${durationText(report.durationMs)}\n` +
    mismatches.join('') +
    problemsText(named)
  );
}

/** What the pull changed here before the comparison; empty for nothing. */
function pulledText({ tables }: VerifyReport): string {
  const parts = [
    ['inserted', 'new'],
    ['updated', 'changed'],
    ['deleted', 'deleted'],
    ['filtered', 'left the filter'],
  ] as const;
  const counts = parts.map(([key, word]) => [sumOf(tables, ({ pulled }) => pulled[key]), word] as const);
  const text = counts.flatMap(([count, word]) => (count === 0 ? [] : [`${countText(count)} ${word}`])).join(', ');
  if (text === '') return '';
  const names = tables.filter(({ pulled }) => Object.values(pulled).some((count) => count > 0));
  return `pulled before the comparison: ${text} (${someOf(names.map(({ table }) => printable(table)))})\n`;
}

function wordFor({ code, kind }: RowsyncError): string {
  if (code === 'verify.mismatch' || code === 'verify.notModified') return 'different';
  if (code === 'verify.unreadable') return 'unreadable';
  return kind === 'needsPerson' ? 'held' : 'failed';
}

function mismatchText(table: TableVerifyReport): string {
  const rows = [...table.mismatches, ...table.unreadable];
  const shown = rows.slice(0, ROWS_NAMED_MAX).map((mismatch) => `  ${printable(rowText(mismatch))}\n`);
  const rest = rowCountOf(table) - shown.length;
  return `\n${printable(table.table)}:\n${shown.join('')}${rest > 0 ? `  and ${plural(rest, 'more row')}\n` : ''}`;
}

function rowCountOf({ mismatchCount, unreadableCount }: TableVerifyReport): number {
  return mismatchCount + unreadableCount;
}

function rowText({ rowId, problem, columns, reason }: Mismatch): string {
  const where = columns.length === 0 ? '' : ` in ${columns.join(', ')}`;
  return `_id ${rowId}: ${problem}${where}${reason === undefined ? '' : `: ${reason}`}`;
}

/**
 * What a push did, and what one would do, in words, as JSON and as an exit code. Pure.
 */
import { EXIT, exitCodeOf } from '../../base/errors.ts';
import { sumOf } from '../../base/sum.ts';
import {
  countText,
  displayWidth,
  durationText,
  hanging,
  plural,
  printable,
  someOf,
  truncate,
  withoutName,
} from '../../base/text.ts';
import type { PreviewCell, PreviewRow, TablePreview } from '../../push/plan-preview.ts';
import type { PushReport, TablePushReport } from '../../push/report.ts';
import { EDIT_FATES, sumOfAccounts, type EditFate, type PushAccount } from '../../reconcile/account/push-account.ts';
import { CHANGE_KINDS } from '../../reconcile/push-plan.ts';
import type { ConflictLine } from '../../replica/bookkeeping/conflicts.ts';
import type { Value } from '../../wire/schema.ts';
import { boxTable, type TableColumn } from '../terminal/table.ts';
import { failuresOf, reportProblemsText } from './pull-report.ts';

/** By what failed, then by what waits for a person; rows that were refused earlier count only for a strict caller. */
export function pushExitCode(report: PushReport, isStrict: boolean): number {
  const code = exitCodeOf(failuresOf(report));
  if (code !== EXIT.done) return code;
  const waits = report.tables.some(
    ({ openConflictCount, parkedCount }) => openConflictCount > 0 || (isStrict && parkedCount > 0),
  );
  if (waits) return EXIT.needsPerson;
  return exitCodeOfAccount(sumOfAccounts(report.tables.map(({ account }) => account)));
}

/** The exit code of what became of the edits of one push. */
export function exitCodeOfAccount({ refused, inDoubt, unsendable, passing }: PushAccount): number {
  const failedCount = refused + inDoubt + unsendable;
  if (failedCount === 0) return EXIT.done;
  return failedCount === passing ? EXIT.tryLater : EXIT.failed;
}

export function pushJson(report: PushReport, isStrict: boolean): object {
  return { exitCode: pushExitCode(report, isStrict), ...report };
}

/** Counts of a table in this push, and what waits after it, in the order of the columns; rare ones if there are any. */
const PUSH_COUNTS: readonly { title: string; count: (table: TablePushReport) => number; isRare?: true }[] = [
  { title: 'inserted', count: ({ insertedCount }) => insertedCount },
  { title: 'updated', count: ({ updatedCount }) => updatedCount },
  { title: 'deleted', count: ({ deletedCount }) => deletedCount },
  { title: 'refused', count: ({ account }) => account.refused },
  { title: 'in doubt', count: ({ account }) => account.inDoubt, isRare: true },
  { title: 'unsendable', count: ({ account }) => account.unsendable, isRare: true },
  { title: 'in conflict', count: ({ account }) => account.asked },
  { title: 'lost', count: ({ account }) => account.lost, isRare: true },
  { title: 'waiting', count: ({ waitingCount }) => waitingCount },
  { title: 'still parked', count: parkedBefore, isRare: true },
];

/** A push for people: the tables in which something happened or waits, the sums, then what is wrong and what to do. */
export function pushText(report: PushReport, width: number | null): string {
  const busy = report.tables.filter((table) => PUSH_COUNTS.some(({ count }) => count(table) > 0));
  const counts = PUSH_COUNTS.filter(({ isRare, count }) => isRare !== true || busy.some((table) => count(table) > 0));
  const rows = busy.map((table) => [table.table, ...counts.map(({ count }) => countText(count(table)))]);
  const columns = [{ title: 'table' }, ...counts.map(({ title }): TableColumn => ({ title, align: 'right' }))];
  const box = busy.length === 0 ? '' : boxTable(columns, rows, width);
  const sum = sumOf(report.tables, ({ insertedCount, updatedCount, deletedCount }) => {
    return insertedCount + updatedCount + deletedCount;
  });
  const pushed =
    report.tables.length === 0
      ? 'no table is pushed (push: true in the configuration)'
      : `${plural(sum, 'row')} pushed with ${plural(report.requestCount, 'request')} in ${durationText(report.durationMs)}`;
  const fates = fatesText(sumOfAccounts(report.tables.map(({ account }) => account)));
  return `${box}${pushed}\n${fates}${reportProblemsText(report)}`;
}

const FATE_TEXTS: Readonly<Record<EditFate, string>> = {
  arrived: 'arrived',
  won: 'arrived, and replaced a change at the origin',
  lost: 'lost to a change at the origin, in whole or in part',
  asked: 'in conflict',
  refused: 'refused',
  inDoubt: 'in doubt',
  unsendable: 'cannot be sent',
  unsent: 'not sent',
};

/** What became of the edits that the push began with; nothing where all of them simply arrived. */
export function fatesText(account: PushAccount): string {
  if (account.began === account.arrived) return '';
  const parts = EDIT_FATES.flatMap((fate) => {
    return account[fate] === 0 ? [] : [`${countText(account[fate])} ${FATE_TEXTS[fate]}`];
  });
  const because = account.unsentReason === null ? '' : ` (${printable(account.unsentReason)})`;
  return `${plural(account.began, 'edit')}: ${parts.join(', ')}${because}\n`;
}

/** Rows that earlier pushes parked and that wait for a person since then. */
function parkedBefore({ parkedCount, account: { refused, inDoubt, unsendable } }: TablePushReport): number {
  return Math.max(0, parkedCount - refused - inDoubt - unsendable);
}

/** Rows of one table that a short plan lists. Of more, it shows the first, and how many change which column. */
const ROWS_SHOWN_MAX = 40;
const ROWS_OF_MANY = 5;
/** Characters of a value that are shown. */
const VALUE_CHARS_MAX = 40;

/** A plan for a program to read. Numbers beyond 53 bits are texts. */
export function planJson(previews: readonly TablePreview[]): unknown {
  return {
    tables: previews.map((preview) => ({
      ...preview,
      rows: preview.rows.map((row) => ({ ...row, cells: planCellsJson(row.cells) })),
    })),
    callCount: sumOf(previews, ({ writeCallCount, readCallCount }) => writeCallCount + readCallCount),
  };
}

export function planCellsJson(cells: readonly PreviewCell[]): unknown {
  const plain = (value: Value): unknown => (typeof value === 'bigint' ? value.toString() : value);
  return cells.map(({ column, base, local }) => ({ column, base: plain(base), local: plain(local) }));
}

/** A plan in short: what would be sent, the first rows, what waits. Values are cut; edit-review.ts shows all. */
export function planText(previews: readonly TablePreview[], width: number | null): string {
  if (previews.length === 0) return 'Nothing to push\n';
  return previews.map((preview) => tableText(preview, width)).join('\n');
}

/** The first lines about a table: what would be sent, with how many requests, and why it is held. */
export function tableHead(
  { table, rows, writeCallCount, readCallCount, held }: TablePreview,
  width: number | null,
): string {
  const sent = rows.filter(({ fate }) => fate === 'sent');
  const counts = CHANGE_KINDS.flatMap((kind) => {
    const count = sent.filter((row) => row.kind === kind).length;
    return count === 0 ? [] : [plural(count, kind)];
  });
  const waiting = rows.length - sent.length;
  const head = [
    counts.length === 0 ? 'nothing to send' : counts.join(', '),
    ...(waiting === 0 ? [] : [`${countText(waiting)} not sent`]),
    ...(writeCallCount === 0
      ? []
      : [`${plural(writeCallCount, 'write call')}, about ${plural(readCallCount, 'read call')}`]),
  ];
  const waits = held === null ? '' : hanging('  a push is held: ', withoutName(printable(held), table), width);
  return `${printable(table)}: ${head.join('; ')}\n${waits}`;
}

function tableText(preview: TablePreview, width: number | null): string {
  const { rows } = preview;
  const isLong = rows.length > ROWS_SHOWN_MAX;
  const shown = rows.slice(0, isLong ? ROWS_OF_MANY : ROWS_SHOWN_MAX).map((row) => `  ${rowText(row)}\n`);
  const more = isLong ? `  and ${plural(rows.length - shown.length, 'more row')} (--json lists them)\n` : '';
  return `${tableHead(preview, width)}${isLong ? columnsText(rows) : ''}${shown.join('')}${more}`;
}

/** In how many rows each column changes, the most frequent first. */
function columnsText(rows: readonly PreviewRow[]): string {
  const counts = new Map<string, number>();
  const changed = rows.filter(({ kind }) => kind === 'update').flatMap(({ cells }) => cells);
  for (const { column } of changed) counts.set(column, (counts.get(column) ?? 0) + 1);
  const most = [...counts].toSorted(([, one], [, other]) => other - one);
  const texts = most.map(([column, count]) => `${printable(column)} in ${plural(count, 'row')}`);
  return texts.length === 0 ? '' : `  changed: ${someOf(texts)}\n`;
}

/** What becomes of a row, where the word of the plan is not one of plain English. */
const FATE_WORDS: Readonly<Record<string, string>> = { inDoubt: 'in doubt', unsendable: 'cannot be sent' };

/** What would become of a row, its id, and its name. */
export function rowHead({ rowId, name = '', kind, fate }: PreviewRow): string {
  const what = fate === 'sent' ? kind : `${FATE_WORDS[fate] ?? fate} (${kind})`;
  return `${what}${rowId === 0 ? '' : ` ${rowId}`}${name === '' ? '' : ` (${truncate(printable(name), VALUE_CHARS_MAX)})`}`;
}

/** What changes in a row goes to a line of its own where it does not fit beside the row. */
const LINE_WIDTH_MAX = 80;

function rowText(row: PreviewRow): string {
  const { kind, reason, cells } = row;
  const changes = cells.map((cell) => cellText(kind, cell)).join(', ');
  const head = rowHead(row);
  const gap = changes === '' ? '' : displayWidth(`  ${head}  ${changes}`) > LINE_WIDTH_MAX ? '\n      ' : '  ';
  return `${head}${gap}${changes}${reason === null ? '' : `: ${printable(reason)}`}`;
}

function cellText(kind: PreviewRow['kind'], { column, base, local }: PreviewCell): string {
  const [was, now] = [base, local].map((value) => truncate(valueText(value), VALUE_CHARS_MAX));
  const change = kind === 'insert' ? now : `${was} -> ${now}`;
  return `${printable(column)}: ${change}`;
}

/** A value whole, with its quotes where it is a text. */
export function valueText(value: Value): string {
  if (value === null) return 'NULL';
  return printable(typeof value === 'string' ? JSON.stringify(value) : String(value));
}

/** Edits that a run names for people; --json has all. */
const NAMED_MAX = 20;

/** The edits that lost in one run, each with the command that takes it back; empty for none. */
export function lostText(lost: readonly ConflictLine[]): string {
  if (lost.length === 0) return '';
  const named = lost.slice(0, NAMED_MAX).map(({ id, table, rowId, column, kind }) => {
    return `  ${printable(`${table} row ${rowId}, ${column ?? ROW_CONFLICT_TEXTS[kind] ?? 'the row'}`)}: rowsync resolve ${id} --take local --again\n`;
  });
  const hidden = lost.length - named.length;
  const more = hidden === 0 ? '' : `  and ${hidden} more: rowsync conflicts\n`;
  return `\n${plural(lost.length, 'edit')} lost to a change at the origin; what takes it back:\n${named.join('')}${more}`;
}

export const ROW_CONFLICT_TEXTS: Readonly<Record<string, string>> = {
  deletedHere: 'deleted here',
  deletedThere: 'deleted at the origin',
  inserted: 'new here',
};

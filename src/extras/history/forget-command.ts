/**
 * `rowsync history forget`: removes what is kept of a row, or of one column of it, and says where copies still have it.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { plural, printable } from '../../base/text.ts';
import type { ForgottenCopies, Invocation, Runner } from '../../extra.ts';
import { removeUnnamed } from '../../files/prune.ts';
import {
  findForgettable,
  findForgettableColumn,
  findOpenConflict,
  forgetRow,
  formerIds,
  type ForgetReport,
  type ForgettableRow,
} from './forget.ts';
import type { Replica } from '../../replica/database.ts';
import { loadNamedConfig, openExistingReplica, printJson } from '../../cli/runtime/invocation.ts';

const EXAMPLES = `
Removes the values from the history, sync_deleted, decided conflicts and applied proposals, and the files of the row if it is deleted. An entry
"forgotten" stays, with the _id. The row itself is not touched: delete it at the origin, or here, first. Stop the daemon before.

Examples:
  rowsync history forget Customer 42
  rowsync history forget Customer 42 --column Email`;

/** Adds the command below `history`. */
export function addForgetCommand(history: Command, runner: Runner): void {
  history
    .command('forget')
    .argument('<table>', 'name of the table')
    .argument('<id>', '_id of the row')
    .option('--column <name>', 'only the values of this column')
    .description('remove what is kept of a row, such as a person, and say which backups still have it')
    .addHelpText('after', EXAMPLES)
    .action((table: string, id: string, options: { column?: string }, command: Command) =>
      runner(command, (invocation) => forget(invocation, { table, id, column: options.column ?? null })),
    );
}

interface Wish {
  readonly table: string;
  readonly id: string;
  readonly column: string | null;
}

async function forget(invocation: Invocation, wish: Wish): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { extras } = invocation;
  const { clock } = invocation.session;
  const replica = await openExistingReplica(invocation, config);
  try {
    const row = findRow(replica, wish);
    const ids = [row.rowId, ...formerIds(replica, row)];
    // What is removed now is overwritten, and the log is emptied; what was deleted earlier may stay in unused parts of the file.
    replica.prepare(sql`PRAGMA secure_delete = ON`).get();
    const at = stampFromMs(clock.nowMs());
    const report = await replica.writeDurably('Forgetting a row', (tx) => forgetRow(tx, row, at));
    replica.prepare(sql`PRAGMA wal_checkpoint(TRUNCATE)`).get();
    // After a crash before this, `rowsync files prune` finds them.
    const removedCount = await removeUnnamed(replica, config.replica.files, report.contents);
    const { table, tableId, column } = row;
    const sought = { table, tableId, ids, column: column?.name ?? null };
    const elsewhere = await Promise.all(extras.flatMap((extra) => extra.forget?.(config, sought, clock.nowMs()) ?? []));
    await (invocation.isJson
      ? printJson(invocation, reportJson(row, { report, removedCount, elsewhere }))
      : invocation.session.stdout.write(reportText(row, { report, removedCount, elsewhere })));
    return EXIT.done;
  } finally {
    replica.close();
  }
}

/** @throws RowsyncError `usage.invalid`, `history.unknown`. */
function findRow(replica: Replica, { table: name, id, column: columnName }: Wish): ForgettableRow {
  const rowId = /^-?\d+$/.test(id) ? Number(id) : Number.NaN;
  if (!Number.isSafeInteger(rowId))
    throw refusal('usage.invalid', `"${id}" is not the _id of a row`, 'Write a whole number.');
  const table = findForgettable(replica, name);
  if (table === null) {
    throw refusal(
      'history.unknown',
      `Nothing is kept of a table "${name}"`,
      'rowsync status lists tables by their names here.',
    );
  }
  const column = columnName === null ? null : findForgettableColumn(replica, table.id, columnName);
  if (columnName !== null && column === null) {
    const hint = 'SELECT * FROM sync_columns lists them, sync_history_cells those that were pruned.';
    throw refusal('history.unknown', `${table.table} has no column "${columnName}"`, hint);
  }
  const row = { tableId: table.id, table: table.table, rowId, column };
  const conflict = findOpenConflict(replica, row);
  if (conflict === null) return row;
  const hint = `Decide it first: rowsync resolve ${conflict} --take local|remote|base.`;
  throw refusal('usage.invalid', `Row ${rowId} of ${table.table} is in a conflict that waits for a person`, hint);
}

function refusal(code: 'usage.invalid' | 'history.unknown', message: string, hint: string): RowsyncError {
  return new RowsyncError('usage', code, { message, hint });
}

interface ForgetOutcome {
  readonly report: ForgetReport;
  readonly removedCount: number;
  readonly elsewhere: readonly ForgottenCopies[];
}

function reportJson({ table, rowId, column }: ForgettableRow, { report, removedCount, elsewhere }: ForgetOutcome) {
  const { contents: _contents, ...counts } = report;
  const own = { table, rowId, column: column?.name ?? null, ...counts, contentCount: removedCount };
  return { ...own, ...Object.fromEntries(elsewhere.flatMap(({ json }) => Object.entries(json))) };
}

function reportText(
  { table, rowId, column }: ForgettableRow,
  { report, removedCount, elsewhere }: ForgetOutcome,
): string {
  const { entryCount, deletedCount, conflictCount, fileCount } = report;
  const counts = [
    ...(entryCount === 0 ? [] : [`${plural(entryCount, 'change')} of the journal`]),
    ...(deletedCount === 0 ? [] : [`${plural(deletedCount, 'line')} of sync_deleted`]),
    ...(conflictCount === 0 ? [] : [plural(conflictCount, 'conflict')]),
    ...(fileCount === 0 ? [] : [`${plural(fileCount, 'file')} (${plural(removedCount, 'content')} removed)`]),
    ...elsewhere.flatMap(({ removed }) => removed),
  ];
  const what = `${table} ${rowId}${column === null ? '' : `, ${column.name}`}`;
  const lines = [
    counts.length === 0 ? `${what}: nothing was kept` : `${what}: forgotten in ${counts.join(', ')}`,
    ...(counts.length === 0
      ? []
      : ['free pages of the file may still contain it; VACUUM in any SQLite client rewrites the file']),
    ...elsewhere.flatMap(({ left }) => left),
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

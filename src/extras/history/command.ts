/**
 * `rowsync history` shows the changes of one row; `rowsync history forget` removes what is kept of a row
 * or a cell, and says where copies still have it.
 */
import type { Command } from 'commander';
import { EXIT, usageError } from '../../base/errors.ts';
import { plural, printable, printableJson, wrapProse } from '../../base/text.ts';
import { cellsOf } from './difference.ts';
import { entryJson, readRowEntries, type HistoryEntry } from './entries.ts';
import { findKnownTable, readKnownTables, unknown, type KnownTable } from './known-since.ts';
import { openReader } from '../../replica/reader.ts';
import { writeAll } from '../../cli/terminal/session.ts';
import { cellLines, headText, listJson, whenText } from './history-text.ts';
import { loadNamedConfig, numberArgument, openExistingReplica, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import type { ForgottenCopies, LinkedExtra } from '../shared/linked-extra.ts';
import { stampFromMs } from '../../base/clock.ts';
import { sql, ident, type Sql } from '../../base/sql.ts';
import { removeUnnamed } from '../../files/open-store.ts';
import type { Replica } from '../../replica/database.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import { endHistory, findHistory, markHistory } from '../../replica/bookkeeping/history.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { must } from '../../base/assert.ts';
import { queryAny, queryFirst, queryNumber, queryNumbers, queryText, queryTexts } from '../../replica/query.ts';

const EXAMPLES = `
The oldest change comes first. A change happened between two times: the row was last known to be as before at the first one, and
the change was there at the second. "by" is who changed the row last before the second time.

Examples:
  rowsync history Order 42
  rowsync history Customer -- -3
  rowsync history Order 42 --json | jq '.entries[-1].before'`;

export function addHistoryCommand(program: Command, runner: Runner): void {
  const history = program
    .command('history')
    .argument('<table>', 'table with `history`')
    .argument('<id>', 'the _id of the row')
    .description('show the history of a row: what changed, when, by whom')
    .addHelpText('after', EXAMPLES)
    .action(runner(showLife));
  addForgetCommand(history, runner);
  addRestartCommand(history, runner);
}

async function showLife(invocation: Invocation, name: string, id: string): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const hint = 'rowsync sql shows it: SELECT _id, * FROM the table. Write -- before a negative one.';
  const rowId = numberArgument(id, '_id of a row', hint);
  using reader = openReader(config.replica.path);
  const known = findKnownTable(readKnownTables(reader), name);
  const entries = readRowEntries(reader, known.table, rowId);
  if (entries.length === 0 && !hasRow(reader, known.table, rowId)) {
    throw usageError(`${known.table} has no row ${rowId}, and no history of one`, 'Look for its _id with rowsync sql.');
  }
  const { stdout } = invocation.session;
  const text = lifeText(known, rowId, entries).map((piece) => wrapProse(piece, stdout.width()));
  const head = { table: known.table, rowId, since: known.since };
  const items = entries.map((entry) => [printableJson(entryJson(entry))]);
  await writeAll(stdout, invocation.isJson ? [...listJson(head, 'entries', items), '\n'] : text);
  return EXIT.done;
}

function* lifeText({ table, since }: KnownTable, rowId: number, entries: readonly HistoryEntry[]): Generator<string> {
  const kept = since === null ? 'its table has no history any more' : `its history is kept since ${since}`;
  const answerCount = entries.filter(({ isAnswer }) => isAnswer === 1).length;
  const answers = answerCount === 0 ? '' : `; with ${plural(answerCount, 'answer')} of the origin to edits`;
  yield `${printable(table)} ${rowId}: ${plural(entries.length - answerCount, 'change')}; ${kept}${answers}\n`;
  for (const entry of entries) {
    const lines = [headText(entry), `  ${whenText(entry)}`, ...cellLines(entry.kind, cellsOf(entry), '    ')];
    yield `\n${entry.at}  ${lines.join('\n')}\n`;
  }
}

const FORGET_EXAMPLES = `
Removes the values from the history, sync_deleted, decided conflicts and applied proposals, and the files of the row if it is deleted. An entry
"forgotten" stays, with the _id. The row itself is not touched: delete it at the origin, or here, first. Also stop the daemon before.

Examples:
  rowsync history forget Customer 42
  rowsync history forget Customer 42 --column Email`;

const RESTART_EXAMPLES = `
For a history that contradicts itself (verify.history), for example because another program wrote to the file. Its entries stay, with one
that says where it ended, and it begins anew with the next pull. Questions about the time before get no answer. Stop the daemon first.

Examples:
  rowsync history restart Customer && rowsync pull Customer`;

function addRestartCommand(history: Command, runner: Runner): void {
  history
    .command('restart')
    .argument('<table>', 'name of the table')
    .description('begin the history of a table anew, and keep the entries before')
    .addHelpText('after', RESTART_EXAMPLES)
    .action(runner(restart));
}

async function restart(invocation: Invocation, name: string): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  using replica = await openExistingReplica(invocation, config);
  const [chosen] = chooseTables(replica, [name]);
  const { id, localName: table } = must(chosen, 'a name chooses a table');
  if (findHistory(replica, id) === null)
    throw unknown(`No history is kept of ${table}`, 'Set `history: true` for it, and pull.');
  const at = stampFromMs(invocation.session.clock.nowMs());
  await replica.writeDurably('Beginning a history anew', (tx) => {
    endHistory(tx, id, { at, why: 'rowsync history restart', isAgain: true });
  });
  await printResult(invocation, { table, at }, `${printable(table)}: its history begins anew with the next pull\n`);
  return EXIT.done;
}

function addForgetCommand(history: Command, runner: Runner): void {
  history
    .command('forget')
    .argument('<table>', 'name of the table')
    .argument('<id>', '_id of the row')
    .option('--column <name>', 'only the values of this column')
    .description('remove what is kept of a row, such as a person, and say which backups still have it')
    .addHelpText('after', FORGET_EXAMPLES)
    .action(runner(forget));
}

async function forget(
  invocation: Invocation,
  name: string,
  id: string,
  options: { readonly column?: string },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { extras } = invocation;
  const { clock } = invocation.session;
  using replica = await openExistingReplica(invocation, config);
  const row = findRow(replica, { name, id, column: options.column ?? null });
  const ids = [row.rowId, ...formerIds(replica, row)];
  // What is removed now is overwritten, and the log is emptied; what was deleted earlier may stay in free pages.
  replica.prepare(sql`PRAGMA secure_delete = ON`).get();
  const at = stampFromMs(clock.nowMs());
  const report = await replica.writeDurably('Forgetting a row', (tx) => forgetRow(tx, row, at));
  replica.prepare(sql`PRAGMA wal_checkpoint(TRUNCATE)`).get();
  // After a crash before this, `rowsync files prune` finds them.
  const removedCount = await removeUnnamed(replica, config.replica.files, report.contents);
  const { table, tableId, column } = row;
  const sought = { table, tableId, ids, column: column?.name ?? null };
  const elsewhere = await Promise.all(
    extras.flatMap((extra: LinkedExtra) => extra.forget?.(config, sought, clock.nowMs()) ?? []),
  );
  const outcome = { report, removedCount, elsewhere };
  await printResult(invocation, reportJson(row, outcome), reportLines(row, outcome));
  return EXIT.done;
}

/** @throws RowsyncError `usage.invalid`, `history.unknown`. */
function findRow(
  replica: Replica,
  { name, id, column: columnName }: { readonly name: string; readonly id: string; readonly column: string | null },
): ForgettableRow {
  const rowId = numberArgument(id, '_id of a row');
  const table = findForgettable(replica, name);
  if (table === null)
    throw unknown(`Nothing is kept of a table "${name}"`, 'rowsync status lists tables by their names here.');
  const column = columnName === null ? null : findForgettableColumn(replica, table.id, columnName);
  if (columnName !== null && column === null) {
    const hint = 'SELECT * FROM sync_columns lists them, sync_history_cells those that were pruned.';
    throw unknown(`${table.table} has no column "${columnName}"`, hint);
  }
  const row = { tableId: table.id, table: table.table, rowId, column };
  const conflict = findOpenConflict(replica, row);
  if (conflict === null) return row;
  const hint = `Decide it first: rowsync resolve ${conflict} --take local|remote|base.`;
  throw usageError(`Row ${rowId} of ${table.table} is in a conflict that waits for a person`, hint);
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

function reportLines(
  { table, rowId, column }: ForgettableRow,
  { report, removedCount, elsewhere }: ForgetOutcome,
): readonly string[] {
  const { entryCount, deletedCount, conflictCount, fileCount } = report;
  const counts = [
    ...(entryCount === 0 ? [] : [`${plural(entryCount, 'change')} of the history`]),
    ...(deletedCount === 0 ? [] : [`${plural(deletedCount, 'line')} of sync_deleted`]),
    ...(conflictCount === 0 ? [] : [plural(conflictCount, 'conflict')]),
    ...(fileCount === 0 ? [] : [`${plural(fileCount, 'file')} (${plural(removedCount, 'content')} removed)`]),
    ...elsewhere.flatMap(({ removed }) => removed),
  ];
  const what = `${table} ${rowId}${column === null ? '' : `, ${column.name}`}`;
  return [
    counts.length === 0 ? `${what}: nothing was kept` : `${what}: forgotten in ${counts.join(', ')}`,
    ...(counts.length === 0
      ? []
      : ['free pages of the file may still contain it; VACUUM in any SQLite client rewrites the file']),
    ...elsewhere.flatMap(({ left }) => left),
  ];
}

interface ForgettableRow {
  readonly tableId: number;
  /** The name that it has here, or had. */
  readonly table: string;
  readonly rowId: number;
  /** Null for the whole row. */
  readonly column: ForgettableColumn | null;
}

/** A column by its number and its name here; `originId` is null for one that was pruned. */
interface ForgettableColumn {
  readonly seq: number;
  readonly name: string;
  readonly originId: number | null;
}

interface ForgetReport {
  /** Entries of the history that lost values. */
  readonly entryCount: number;
  readonly deletedCount: number;
  readonly conflictCount: number;
  readonly fileCount: number;
  /** Contents of removed files, which other files may share. */
  readonly contents: readonly string[];
}

/** A table by its name, which may be pruned, or known only from deleted rows; null if there is none. */
function findForgettable(from: Connection, name: string): { readonly id: number; readonly table: string } | null {
  const names = sql`SELECT id, local_name AS name, 1 AS isHere FROM _rowsync_tables
      UNION SELECT table_id, name, 0 FROM _rowsync_history_names WHERE column_seq = 0
      UNION SELECT table_id, table_name, 0 FROM _rowsync_deleted WHERE table_id NOT IN (SELECT id FROM _rowsync_tables)`;
  const text = sql`SELECT id, name AS "table" FROM (${names}) WHERE name = ? COLLATE NOCASE
      ORDER BY isHere DESC, name = ? DESC LIMIT 1`;
  return queryFirst(from, text, [name, name]) as { readonly id: number; readonly table: string } | null; // as selected
}

/** A column by its name here, also a pruned one; null if there is none. */
function findForgettableColumn(from: Connection, tableId: number, name: string): ForgettableColumn | null {
  const names = sql`SELECT seq, local_name AS name, id FROM _rowsync_columns WHERE table_id = ?
      UNION ALL SELECT column_seq, name, NULL FROM _rowsync_history_names WHERE table_id = ? AND column_seq > 0`;
  const text = sql`SELECT seq, name, id AS originId FROM (${names}) WHERE name = ? COLLATE NOCASE ORDER BY name = ? DESC LIMIT 1`;
  return queryFirst(from, text, [tableId, tableId, name, name]) as ForgettableColumn | null; // as selected
}

/** An open conflict of the row, whose versions are still needed; null for none. */
function findOpenConflict(from: Connection, { tableId, rowId }: ForgettableRow): number | null {
  const text = sql`SELECT id FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ? AND state = 'open' LIMIT 1`;
  return queryNumbers(from, text, [tableId, rowId])[0] ?? null;
}

/** Removes the kept values of a row and adds an entry about it; does nothing if none are kept. */
function forgetRow(tx: Tx, row: ForgettableRow, at: string): ForgetReport {
  // Entries that this transaction has yet to write are of the row as well.
  tx.history.flush();
  const ids = [row.rowId, ...formerIds(tx, row)];
  const entryCount = ids.reduce((sum, id) => sum + forgetEntries(tx, row, id), 0);
  const deletedCount = ids.reduce((sum, id) => sum + forgetDeleted(tx, row, id), 0);
  const conflictCount = ids.reduce((sum, id) => sum + forgetConflicts(tx, row, id), 0);
  const files = isHere(tx, row) ? { count: 0, contents: [] } : forgetFiles(tx, row);
  const report = { entryCount, deletedCount, conflictCount, fileCount: files.count, contents: files.contents };
  if (entryCount + deletedCount + conflictCount + files.count === 0) return report;
  const note = { column: row.column?.name ?? null, columnSeq: row.column?.seq ?? null, entries: entryCount };
  markHistory(tx, row.tableId, { kind: 'forgotten', at, note, rowId: row.rowId });
  return report;
}

/** Ids that a row had before the origin gave it this one. */
function formerIds(from: Connection, { tableId, rowId }: ForgettableRow): readonly number[] {
  const text = sql`SELECT was_id FROM _rowsync_history WHERE row_id = ? AND table_id = ? AND was_id IS NOT NULL`;
  return queryNumbers(from, text, [rowId, tableId]);
}

function forgetEntries(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const isOwn = sql`row_id = @rowId AND table_id = @tableId AND kind IN ('insert', 'update', 'delete')`;
  const isOther = sql`c.value ->> 0 <> @seq`;
  const [has, rest, by] =
    column === null
      ? [sql`json_array_length(cells) > 0 OR origin_by IS NOT NULL`, sql`'[]'`, sql`NULL`]
      : [
          sql`EXISTS (SELECT 1 FROM json_each(cells) c WHERE NOT ${isOther})`,
          sql`(SELECT json_group_array(json(c.value)) FROM json_each(cells) c WHERE ${isOther})`,
          sql`origin_by`,
        ];
  const values = { tableId, rowId, seq: column?.seq ?? 0 };
  const size = sql`SELECT coalesce(sum(length(cells)), 0) FROM _rowsync_history WHERE ${isOwn}`;
  const before = queryNumber(tx, size, [values]);
  const text = sql`UPDATE _rowsync_history SET cells = ${rest}, origin_by = ${by} WHERE ${isOwn} AND (${has})`;
  const { changes } = tx.prepare(text).run(values);
  const freed = before - queryNumber(tx, size, [values]);
  const take = sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - ?) WHERE table_id = ?`;
  tx.prepare(take).run(freed, tableId);
  return changes;
}

function forgetDeleted(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const isOwn = sql`table_id = @tableId AND row_id = @rowId`;
  const values = { tableId, rowId };
  if (column === null) {
    const all = sql`UPDATE _rowsync_deleted SET row_values = '{}' WHERE ${isOwn} AND row_values <> '{}'`;
    return tx.prepare(all).run(values).changes;
  }
  // An earlier version pruned a column without renaming it here. A later column of that name is another one.
  const isLater = sql`EXISTS (SELECT 1 FROM _rowsync_columns
      WHERE table_id = @tableId AND local_name = @plain COLLATE NOCASE AND seq <> @seq)`;
  const place = sql`SELECT v.fullkey FROM json_each(row_values) v
      WHERE v.key COLLATE NOCASE IN (@name, iif(${isLater}, @name, @plain))`;
  const text = sql`UPDATE _rowsync_deleted SET row_values = json_remove(row_values, (${place} LIMIT 1))
      WHERE ${isOwn} AND EXISTS (${place})`;
  const plain = column.name.replace(/ \(pruned\)$/, '');
  return tx.prepare(text).run({ ...values, name: column.name, plain, seq: column.seq }).changes;
}

/** Decided conflicts, and refusals of rows that no longer wait. */
function forgetConflicts(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const ofColumn = column === null ? sql`1` : sql`(kind <> 'cell' OR column_seq = ${column.seq})`;
  const conflicts = sql`DELETE FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ? AND state <> 'open' AND ${ofColumn}`;
  const refusals = sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?
      AND NOT EXISTS (SELECT 1 FROM _rowsync_rows r WHERE r.table_id = _rowsync_refusals.table_id AND r.row_id = _rowsync_refusals.row_id)`;
  tx.prepare(refusals).run(tableId, rowId);
  return tx.prepare(conflicts).run(tableId, rowId).changes;
}

/** Whether the row is in its table: then its files are those of the origin. */
function isHere(from: Connection, { tableId, rowId }: ForgettableRow): boolean {
  const name = queryText(from, sql`SELECT local_name FROM _rowsync_tables WHERE id = ?`, [tableId]);
  return name !== null && hasRow(from, name, rowId);
}

function hasRow(from: Connection, table: string, rowId: number): boolean {
  return hasTable(from, table) && queryAny(from, sql`SELECT 1 FROM ${ident(table)} WHERE _id = ?`, [rowId]);
}

function forgetFiles(
  tx: Tx,
  { tableId, rowId, column }: ForgettableRow,
): { readonly count: number; readonly contents: readonly string[] } {
  if (column !== null && column.originId === null) return { count: 0, contents: [] };
  const isOwn: Sql = sql`table_id = ? AND row_id = ? AND ${column === null ? sql`1` : sql`column_id = ${column.originId ?? 0}`}`;
  const hashes = sql`SELECT DISTINCT sha256 FROM _rowsync_files WHERE ${isOwn} AND sha256 IS NOT NULL`;
  const contents = queryTexts(tx, hashes, [tableId, rowId]);
  tx.prepare(sql`DELETE FROM _rowsync_file_cells WHERE ${isOwn}`).run(tableId, rowId);
  const { changes } = tx.prepare(sql`DELETE FROM _rowsync_files WHERE ${isOwn}`).run(tableId, rowId);
  return { count: changes, contents };
}

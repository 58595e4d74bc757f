/**
 * `rowsync rebuild`: moves a damaged replica aside, so that the next pull makes a new one. Edits that are not at the
 * origin go into a SQL script first, whose statements change a cell only if it still has its old value. Rows that may
 * have reached the origin become comments. History and decided conflicts stay in the old file.
 */
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { asRowsyncError, EXIT, RowsyncError } from '../../base/errors.ts';
import { stampFromMs } from '../../base/clock.ts';
import { plural, printable, printableJson } from '../../base/text.ts';
import { readTwoWayTables, findTwoWayTable, type TwoWayTable } from '../../capture/two-way-table.ts';
import { forgetFile, isUnopenedCopy } from '../../replica/older-copy.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { baseName } from '../../replica/user-tables.ts';
import { problemsOf } from '../../replica/integrity-check.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { moveAside, freeName } from './replica-copy.ts';
import { PARTIAL, takeName, withFile } from '../../replica/copy-file.ts';
import { takeLock } from '../../replica/lock.ts';
import { replicaError } from '../../replica/sqlite-errors.ts';
import type { RowState } from '../../reconcile/row-state.ts';
import { allDiffering } from '../../replica/base-comparison.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { blocks, queryNumbers, queryTexts, readRawText } from '../../replica/query.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { storedFromValue } from '../../replica/rows.ts';
import { readTable } from '../../replica/bookkeeping/tables.ts';
import { allOf, ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import type { Row, Value } from '../../wire/schema.ts';
import { diffRows, type RowChange } from '../../capture/find-edits.ts';

const HELP = `
For a replica that is damaged (exit code 78). Nothing is changed unless every edit can be read: then they go into
REPLICA.edits-DATE.sql, the file is moved aside, and the next pull makes a new one. Stop the daemon first.

Example, without a service:
  rowsync rebuild && rowsync pull
  less replica.db.edits-20260601T120000Z.sql                    read it before you run it
  sqlite3 replica.db < replica.db.edits-20260601T120000Z.sql
  rowsync plan`;

interface RebuildCounts {
  editCount: number;
  problemCount: number;
  readonly unread: string[];
}

export function addRebuildCommand(program: Command, runner: Runner): void {
  program
    .command('rebuild')
    .description('save the edits made here, and make room for a new replica')
    .option('--give-up-edits', 'continue although some edits cannot be read; the others are written down')
    .addHelpText('after', HELP)
    .action(runner(rebuild));
}

async function rebuild(
  invocation: Invocation,
  { giveUpEdits = false }: { readonly giveUpEdits?: boolean },
): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const stamp = stampFromMs(session.clock.nowMs()).replaceAll(/[-:]/g, '');
  const tally: RebuildCounts = { editCount: 0, problemCount: 0, unread: [] };
  const { path } = config.replica;
  const aside = moveAsideWithScript(path, stamp, (file, write) => {
    writeEdits(file, tally, write);
    if (tally.unread.length > 0 && !giveUpEdits) throw unreadError(path, tally.unread);
  });
  const { editCount, problemCount, unread } = tally;
  const report = { path, ...aside, editCount, problemCount, unread };
  const lines = [
    `the old replica is now ${aside.asidePath}; its sync_history, sync_deleted and decided conflicts are only there`,
    aside.scriptPath === null
      ? 'it had no unpushed edits'
      : `${plural(editCount, 'edit')} and ${plural(problemCount, 'problem')} are in ${aside.scriptPath}`,
    ...unread.map((what) => `could not be read: ${what}`),
    `run rowsync pull: it makes a new replica${aside.scriptPath === null ? '' : '; then look through the script and run it with the sqlite3 shell'}`,
  ];
  await printResult(invocation, report, lines);
  return EXIT.done;
}

function unreadError(path: string, unread: readonly string[]): RowsyncError {
  return new RowsyncError('replica', 'replica.damaged', {
    message: `${path}: not every edit can be read (${unread.join('; ')}); nothing was changed`,
    hint: 'Restore a backup (rowsync restore), or run rowsync rebuild --give-up-edits, which writes down what can be read.',
  });
}

/** Writes all that the origin does not have; what cannot be read is said in the tally and in the script. */
function writeEdits(path: string, tally: RebuildCounts, write: (line: string) => void): void {
  const attempt = (what: string, work: () => void): void => {
    try {
      work();
    } catch (thrown) {
      const { message } = asRowsyncError(thrown);
      tally.unread.push(what);
      write(`-- could not be read: ${printable(what)}: ${printable(message)}`);
    }
  };
  attempt('the file', () => {
    using reader = openReader(path);
    const lost = standInForBookkeeping(reader);
    for (const name of lost) write(`-- ${name} is missing: new rows may have reached the origin already`);
    const isCopy = lost.length > 0 || isUnopenedCopy(reader, path);
    for (const { id, localName } of readTwoWayTables(reader)) {
      attempt(`the edits of ${localName}`, () => {
        const names = [localName, baseName(id), '_rowsync_rows', '_rowsync_columns'];
        const damage = damagedAmong(path, names);
        if (damage.length > 0) {
          tally.unread.push(`${localName}: damaged parts: ${damage.join(', ')}`);
          write(`-- ${printable(localName)} is damaged: rows may be missing that were not deleted; check each line`);
        }
        for (const line of scriptOfTable(reader, id, { isDamaged: damage.length > 0, isCopy })) {
          if (!line.startsWith('SELECT')) tally.editCount += 1;
          write(line);
        }
      });
    }
    writeProblems(reader, { tally, write, attempt });
  });
}

/** Those of the tables with lost rows; a damaged index hides none. @throws if nothing can be read. */
function damagedAmong(path: string, names: readonly string[]): readonly string[] {
  return withFile(path, { readonly: true, fileMustExist: true }, (db) => {
    const standing = new Set(queryTexts(db, sql`SELECT name FROM sqlite_schema WHERE type = 'table'`));
    return names.filter((name) => {
      const problems = standing.has(name) ? problemsOf(db, name, path) : [];
      const indexes = db
        .prepare<[string], { name: string; root: number }>(
          sql`SELECT name, rootpage AS root FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE`,
        )
        .all(name)
        .filter(({ root }) => problems.some((problem) => problem.startsWith(`Tree ${root} `)));
      // An index that is whole and has other entries than the table has rows tells of rows that are lost.
      const isOfIndex = (problem: string): boolean =>
        indexes.some((index) => problem.startsWith(`Tree ${index.root} `) || problem.endsWith(` index ${index.name}`));
      return !problems.every(isOfIndex);
    });
  });
}

/** Rows and conflicts that wait, as JSON in comments. Decided conflicts stay in the former replica. */
function writeProblems(
  reader: ReplicaReader,
  given: { tally: RebuildCounts; write: (line: string) => void; attempt: (what: string, work: () => void) => void },
): void {
  const { tally, write, attempt } = given;
  const writeAll = (what: string, lines: readonly unknown[]): void => {
    for (const line of lines) {
      tally.problemCount += 1;
      write(`-- ${what} ${printableJson(JSON.stringify(line))}`);
    }
  };
  attempt('the failures', () => writeAll('failure', reader.failures()));
  attempt('the conflicts', () => writeAll('conflict', reader.conflicts({ all: false })));
}

/** Where things are after the old replica was moved aside. */
interface Aside {
  readonly asidePath: string;
  /** Null where there was nothing to write. */
  readonly scriptPath: string | null;
}

/** Moves a replica aside after `writeScript`, or nothing. @throws RowsyncError `replica.inUse`, `replica.path`. */
export function moveAsideWithScript(
  target: string,
  stamp: string,
  writeScript: (path: string, write: (line: string) => void) => void,
): Aside {
  const path = resolve(target);
  if (!existsSync(path)) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `There is no replica at ${path}`,
      hint: 'Make it with `rowsync pull`.',
    });
  }
  const lock = takeLock(path, 0o600);
  const scriptPath = freeName((number) => `${path}.edits-${stamp}${number}.sql`);
  const partial = scriptPath + PARTIAL;
  try {
    rmSync(partial, { force: true });
    const file = openSync(partial, 'wx', 0o600);
    let lineCount = 0;
    try {
      writeScript(path, (line) => {
        lineCount += 1;
        writeSync(file, `${line}\n`);
      });
    } finally {
      closeSync(file);
    }
    if (lineCount === 0) rmSync(partial);
    else takeName(partial, scriptPath);
    const asidePath = moveAside(path, stamp) ?? path;
    forgetFile(path);
    return { asidePath, scriptPath: lineCount === 0 ? null : scriptPath };
  } catch (thrown) {
    rmSync(partial, { force: true });
    throw replicaError(thrown, `Making room for a new replica at ${path}`);
  } finally {
    lock.close();
  }
}

/** The edits of one table, a line each. `isCopy`: put back, and not opened for writing since. @throws SqliteError */
export function* scriptOfTable(
  from: Connection,
  tableId: number,
  { isDamaged = false, isCopy = false }: { readonly isDamaged?: boolean; readonly isCopy?: boolean } = {},
): Generator<string> {
  const table = findTwoWayTable(from, tableId);
  if (table === null) return;
  if (isDamaged) yield* commentsOnMarked(from, table);
  else yield* statementsOfAll(from, table, isCopy);
}

/**
 * Replaces dropped tables of marks and batches by empty ones, for this connection alone; returns which were missing.
 * Edits are found without them, but not which new rows are on their way or in doubt.
 */
function standInForBookkeeping(from: Connection): readonly string[] {
  const lost = STAND_INS.filter(({ name }) => !hasTable(from, name));
  for (const { table } of lost) from.prepare(table).run();
  return lost.map(({ name }) => name);
}

const STAND_INS = [
  { name: '_rowsync_rows', table: sql`CREATE TEMP TABLE _rowsync_rows (table_id, row_id, state, since)` },
  { name: '_rowsync_batches', table: sql`CREATE TEMP TABLE _rowsync_batches (id, table_id, method, sent_at, rows)` },
];

function* statementsOfAll(from: Connection, table: TwoWayTable, isCopy: boolean): Generator<string> {
  // Before the first capture of a copy, its creates are not in doubt yet (older-copy.ts).
  const isDoubtDue = isCopy || readTable(from, table.id).olderCopy === 'creates';
  // A row may equal its base again, while the sent values are at the origin.
  const marked = queryNumbers(from, MARKED, [table.id]);
  // In order, SQLite walks the tables themselves: otherwise an index, which may be what is damaged.
  const differing = queryNumbers(from, sql`${allDiffering(table)} ORDER BY id`, []);
  const ids = [...new Set([...differing, ...marked])].toSorted((a, b) => a - b);
  for (const block of blocks(ids)) {
    for (const change of diffRows(from, table, block)) {
      const lines = statementsOf(from, table, change);
      const isDoubtful =
        mayBeThere(change.state) || (change.kind === 'insert' && isDoubtDue && !hasMatchValue(table, change.local));
      // The base of a cell in conflict is what the origin has now, so that the statement would overwrite it.
      yield* isDoubtful || change.state === 'conflicted' ? asComments(lines) : lines;
    }
  }
}

const MARKED = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? ORDER BY row_id`;

function* commentsOnMarked(from: Connection, table: TwoWayTable): Generator<string> {
  for (const rowId of queryNumbers(from, MARKED, [table.id])) yield* commentsOn(from, table, rowId);
}

function commentsOn(from: Connection, table: TwoWayTable, rowId: number): readonly string[] {
  try {
    return diffRows(from, table, [rowId]).flatMap((change) => asComments(statementsOf(from, table, change)));
  } catch (thrown) {
    if (replicaError(thrown, 'Reading').code !== 'replica.damaged') throw thrown;
    return [asComment(`row ${rowId} of ${table.localName} was edited, and cannot be read`)];
  }
}

/** Whether the origin can be asked for a row, and accepts no second one. */
function hasMatchValue({ columns, matchColumn }: TwoWayTable, row: Row | null): boolean {
  const value = row?.values[columns.findIndex(({ name }) => name === matchColumn)] ?? null;
  return value !== null && value !== '';
}

function mayBeThere(state: RowState): boolean {
  return state === 'inDoubt' || state === 'sending';
}

/** What a person may do, without the queries that tell whether it was done. */
function asComments(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !line.startsWith('SELECT')).map(asComment);
}

function asComment(line: string): string {
  return `-- ${line.replaceAll('\n', '\n-- ')}`;
}

function statementsOf(from: Connection, table: TwoWayTable, change: RowChange): readonly string[] {
  const { kind, state, id: rowId, base, local, columns } = change;
  const here = ident(table.localName);
  // Cells as they are here, also if their bytes are not valid UTF-8.
  const hexByColumn = readRawTexts(from, table, local);
  const cell = (index: number): Sql => {
    const hex = hexByColumn.get(index);
    return hex === undefined ? valueSql(local?.values[index] ?? null) : textOfBytes(hex);
  };
  const isKnown = (index: number): Sql => sql`${nameAt(table, index)} IS ${valueSql(base?.values[index] ?? null)}`;
  const report = (condition: Sql): Sql =>
    sql`SELECT ${literal(`not applied: ${table.localName}, row ${rowId} (the row or the cell has changed since)`)} WHERE ${condition};`;
  if (kind === 'insert' && local !== null) return [insertOf(table, columns, cell)];
  const row = `row ${rowId} of ${table.localName}`;
  if (kind === 'insert') return [`${row} was deleted here after it was sent, and may exist at the origin`];
  if (mayBeThere(state)) {
    const filled = table.columns.flatMap(({ writable }, index) => {
      return writable && (local?.values[index] ?? null) !== null ? [index] : [];
    });
    const what = local === null ? 'is deleted here' : `is here: ${insertOf(table, filled, cell)}`;
    return [`${row} was sent, and may have arrived; it ${what}`];
  }
  if (kind === 'delete') {
    const writable = table.columns.flatMap((column, index) => (column.writable ? [isKnown(index)] : []));
    const isThere = sql`EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId})`;
    return [sql`DELETE FROM ${here} WHERE ${allOf([sql`_id = ${rowId}`, ...writable])};`, report(isThere)];
  }
  return columns.flatMap((index) => {
    const name = nameAt(table, index);
    return [
      sql`UPDATE ${here} SET ${name} = ${cell(index)} WHERE _id = ${rowId} AND ${isKnown(index)};`,
      report(sql`NOT EXISTS (SELECT 1 FROM ${here} WHERE _id = ${rowId} AND ${name} IS ${cell(index)})`),
    ];
  });
}

/** The texts of a row in the user table that are no UTF-8, in hexadecimal digits, by the index of their column. */
function readRawTexts(
  from: Connection,
  { localName: tableName, columns }: TwoWayTable,
  row: Row | null,
): ReadonlyMap<number, string> {
  if (row === null) return new Map();
  const hexes = row.values.map((value, index) =>
    readRawText(from, value, { tableName, name: columns[index]?.localName ?? '', id: row.id }),
  );
  return new Map(hexes.flatMap((hex, index) => (hex === null ? [] : [[index, hex]])));
}

function insertOf(table: TwoWayTable, columns: readonly number[], cell: (index: number) => Sql): Sql {
  const here = ident(table.localName);
  if (columns.length === 0) return sql`INSERT INTO ${here} DEFAULT VALUES;`;
  const names = joinSql(columns.map((index) => nameAt(table, index)));
  return sql`INSERT INTO ${here} (${names}) VALUES (${joinSql(columns.map(cell))});`;
}

function nameAt({ columns }: TwoWayTable, index: number): Sql {
  return ident(columns[index]?.localName ?? '');
}

/** A value as SQL that SQLite reads back without a lost digit or character. */
function valueSql(value: Value): Sql {
  return storedSql(storedFromValue(value));
}

function storedSql(value: Stored): Sql {
  if (value === null) return sql`NULL`;
  if (typeof value === 'string') {
    // No text literal holds a NUL, and the shell takes a carriage return as part of the following line break.
    if (!/[\0\r]/.test(value)) return literal(value);
    return textOfBytes(Buffer.from(value).toString('hex'));
  }
  if (typeof value === 'bigint') return sql`CAST(${literal(value.toString())} AS INTEGER)`;
  return sql`CAST(${literal(String(value))} AS REAL)`;
}

function textOfBytes(hex: string): Sql {
  return sql`CAST(x${literal(hex)} AS TEXT)`;
}

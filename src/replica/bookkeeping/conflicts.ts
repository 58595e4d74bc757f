/**
 * What both sides changed, and what someone discarded. The losing version stays permanently; a person decides open
 * conflicts, also by an UPDATE of `sync_conflicts`.
 */
import { hash } from 'node:crypto';
import { stampFromMs } from '../../base/clock.ts';
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { ConflictKind, KeptConflict } from '../../reconcile/merge.ts';
import type { OpenQuestion } from '../../reconcile/row-outcome.ts';
import type { Row, Value } from '../../wire/schema.ts';
import type { Connection, Tx, Stored } from '../connection.ts';
import { evidenceText, storedFromValue, type RowTarget } from '../rows.ts';
import type { ColumnedTable } from './columns.ts';
import { queryAll, queryAny, queryNumber, queryNumbers, queryRows } from '../query.ts';

/**
 *    kind          cell · deletedHere · deletedThere (reconcile/merge.ts) · inserted (a row that only was here)
 *    column_seq    the cell's column in _rowsync_columns, null for whole rows; column_name is what it was called then
 *    base, local, remote   the value of a cell, or a JSON object of the whole row's columns (replica/rows-as-json.ts)
 *    winner        origin · local · nobody (until a person decides)
 *    state         open (waits for a person) · decided (by the policy) · settled (both sides agree now) · resolved (by
 *                  a person) · discarded (by a person, with the change)
 *    resolution    what a person chose: local · remote · base · value; requested is 1 until that is carried out
 *    seen          1 once a person has confirmed seeing that this edit lost
 */
export const CONFLICTS = sql`
  CREATE TABLE _rowsync_conflicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, table_name TEXT NOT NULL, row_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('cell', 'deletedHere', 'deletedThere', 'inserted')),
    column_seq INTEGER, column_name TEXT, base ANY, local ANY, remote ANY,
    winner TEXT NOT NULL CHECK (winner IN ('origin', 'local', 'nobody')), at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'decided', 'settled', 'resolved', 'discarded')),
    resolution TEXT CHECK (resolution IN ('local', 'remote', 'base', 'value')), value ANY,
    requested INTEGER NOT NULL DEFAULT 0, problem TEXT, seen INTEGER NOT NULL DEFAULT 0
  ) STRICT`;

export const CONFLICTS_BY_ROW = sql`CREATE INDEX _rowsync_conflicts_by_row ON _rowsync_conflicts (table_id, row_id)`;

export const CONFLICTS_VIEW = sql`
  CREATE VIEW sync_conflicts AS
  SELECT c.id, coalesce(t.local_name, c.table_name) AS "table", c.row_id, c.kind,
         coalesce(k.local_name, c.column_name) AS "column", c.base, c.local, c.remote, c.winner, c.at, c.state,
         c.resolution, c.value, c.problem
  FROM _rowsync_conflicts c LEFT JOIN _rowsync_tables t ON t.id = c.table_id
  LEFT JOIN _rowsync_columns k ON k.seq = c.column_seq`;

/** Lets any SQL client decide a conflict; the next run carries it out. */
export const CONFLICTS_TRIGGER = sql`
  CREATE TRIGGER _rowsync_resolve INSTEAD OF UPDATE ON sync_conflicts BEGIN
    SELECT RAISE(ABORT, 'only resolution and value of sync_conflicts can be set')
      WHERE (NEW.id, NEW."table", NEW.row_id, NEW.kind, NEW."column", NEW.base, NEW.local, NEW.remote, NEW.winner, NEW.at,
             NEW.state, NEW.problem)
        IS NOT (OLD.id, OLD."table", OLD.row_id, OLD.kind, OLD."column", OLD.base, OLD.local, OLD.remote, OLD.winner, OLD.at,
                OLD.state, OLD.problem);
    SELECT RAISE(ABORT, 'resolution is one of local, remote, base and value (which goes into the column value)')
      WHERE NEW.resolution IS NOT NULL AND NEW.resolution NOT IN ('local', 'remote', 'base', 'value');
    SELECT RAISE(ABORT, 'a conflict about a whole row takes local, remote or base')
      WHERE NEW.resolution = 'value' AND NEW.kind <> 'cell';
    UPDATE _rowsync_conflicts SET resolution = NEW.resolution, value = NEW.value, requested = NEW.resolution IS NOT NULL,
      problem = NULL WHERE id = OLD.id;
  END`;

/** Something that was changed on both sides, as `sync_conflicts` shows it; a whole row is a JSON object. */
export interface ConflictLine {
  readonly id: number;
  readonly table: string;
  readonly rowId: number;
  readonly kind: string;
  readonly column: string | null;
  readonly base: string | number | null;
  readonly local: string | number | null;
  readonly remote: string | number | null;
  readonly winner: string;
  readonly at: string;
  readonly state: string;
  readonly resolution: string | null;
  readonly problem: string | null;
}

/** The version that a conflict ended with, chosen by the policy or a person; empty while it is open. */
export function takenVersion({ state, winner, resolution }: ConflictLine): string {
  if (state === 'resolved' && resolution !== null) return resolution === 'value' ? 'another value' : resolution;
  return winner === 'origin' ? 'remote' : winner === 'local' ? 'local' : '';
}

export const CONFLICT_LINE = sql`id, "table", row_id AS rowId, kind, "column", ${exact(sql`base`)} AS base, ${exact(sql`local`)} AS local,
  ${exact(sql`remote`)} AS remote, winner, at, state, resolution, problem`;

function readLines(from: Connection, which: Sql, values: readonly (string | number)[]): readonly ConflictLine[] {
  return queryAll(from, sql`SELECT ${CONFLICT_LINE} FROM sync_conflicts WHERE ${which}`, values) as ConflictLine[];
}

export function readConflictLine(from: Connection, id: number): ConflictLine | null {
  return readLines(from, sql`id = ?`, [id])[0] ?? null;
}

/** Edits that were discarded after a conflict, the oldest first. */
export function readDiscardedSince(from: Connection, afterId: number, limit: number): readonly ConflictLine[] {
  return readLines(from, sql`id > ? AND state = 'discarded' ORDER BY id LIMIT ?`, [afterId, limit]);
}

/** A digest of the versions that a person saw. */
export function conflictVersion({ base, local, remote, state }: ConflictLine): string {
  return hash('sha256', JSON.stringify([base, local, remote, state]), 'base64url').slice(0, 22);
}

/** A value without a lost digit: an integer that a double does not hold comes as text. */
function exact(value: Sql): Sql {
  const isLong = sql`typeof(${value}) = 'integer' AND ${value} NOT BETWEEN -9007199254740991 AND 9007199254740991`;
  return sql`CASE WHEN ${isLong} THEN CAST(${value} AS TEXT) ELSE ${value} END`;
}

const LOST = sql`winner = 'origin' AND state = 'decided'`;

/** The edits that lost since a run began; `afterId` is the last conflict before it. The oldest first. */
export function readLostSince(from: Connection, afterId: number): readonly ConflictLine[] {
  return readLines(from, sql`${LOST} AND id > ? ORDER BY id`, [afterId]);
}

/** How long people are shown an edit that lost. */
const SHOWN_MS = 7 * 86_400_000;

/** The moment since which lost edits are still shown. */
export function shownSince(nowMs: number): string {
  return stampFromMs(nowMs - SHOWN_MS);
}

/** The edits that lost at or after a moment and that nobody has seen, the oldest first. */
export function readUnseen(from: Connection, since: string): readonly ConflictLine[] {
  const unseen = sql`SELECT id FROM _rowsync_conflicts WHERE ${LOST} AND seen = 0 AND at >= ?`;
  return readLines(from, sql`id IN (${unseen}) ORDER BY id`, [since]);
}

/** How many unseen lost edits each table has, by the name of the table, with the time of the first. */
export function countUnseen(
  from: Connection,
  since: string,
): ReadonlyMap<string, { readonly count: number; readonly since: string }> {
  const text = sql`SELECT local_name AS "table", count, first AS since FROM _rowsync_tables JOIN (
      SELECT table_id, count(*) AS count, min(at) AS first FROM _rowsync_conflicts
      WHERE ${LOST} AND seen = 0 AND at >= ? GROUP BY table_id) ON table_id = id`;
  const rows = queryAll(from, text, [since]) as { table: string; count: number; since: string }[];
  return new Map(rows.map(({ table, ...unseen }) => [table, unseen]));
}

/** Notes that a person saw the edits that lost up to a conflict. Returns how many. */
export function storeSeen(tx: Tx, upToId: number): number {
  const text = sql`UPDATE _rowsync_conflicts SET seen = 1 WHERE ${LOST} AND seen = 0 AND id <= ?`;
  return tx.prepare(text).run(upToId).changes;
}

/** How many conflicts of a table are kept, old ones among them. */
export function countConflicts(from: Connection, tableId: number): number {
  return queryNumber(from, sql`SELECT count(*) FROM _rowsync_conflicts WHERE table_id = ?`, [tableId]);
}

/** The id of the newest conflict of any table; 0 without one. */
export function readLastConflictId(from: Connection): number {
  return queryNumber(from, sql`SELECT coalesce(max(id), 0) FROM _rowsync_conflicts`);
}

/** The rows of a table with conflicts after an id, and who won. */
export function readConflictsSince(
  from: Connection,
  tableId: number,
  afterId: number,
): readonly { readonly rowId: number; readonly winner: string }[] {
  const text = sql`SELECT row_id AS rowId, winner FROM _rowsync_conflicts WHERE table_id = ? AND id > ?`;
  return queryAll(from, text, [tableId, afterId]) as { rowId: number; winner: string }[];
}

export type Resolution = 'local' | 'remote' | 'base' | 'value';

/** Notes the result of a person's decision; a problem keeps the conflict as it was. */
export function closeConflict(
  tx: Tx,
  id: number,
  outcome: { readonly resolution: Resolution; readonly value: Stored } | { readonly problem: string },
): void {
  if ('problem' in outcome) {
    tx.prepare(sql`UPDATE _rowsync_conflicts SET requested = 0, problem = ? WHERE id = ?`).run(outcome.problem, id);
    return;
  }
  tx.prepare(
    sql`UPDATE _rowsync_conflicts SET state = 'resolved', resolution = ?, value = ?, requested = 0, problem = NULL WHERE id = ?`,
  ).run(outcome.resolution, outcome.value, id);
}

/** Whether a row still waits for a person because of another conflict. */
export function hasOpenConflict(from: Connection, tableId: number, rowId: number): boolean {
  const text = sql`SELECT 1 FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ? AND state = 'open'`;
  return queryAny(from, text, [tableId, rowId]);
}

/** Rows of a table with an open question, or that wait for one. */
export function readQuestionedIds(from: Connection, tableId: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_conflicts WHERE table_id = @tableId AND state = 'open'
      UNION SELECT row_id FROM _rowsync_rows WHERE table_id = @tableId AND state = 'conflicted'`;
  return queryNumbers(from, text, [{ tableId }]);
}

/** Stores conflicts of a row; one that renews an open question replaces its versions, but not its base. */
export function keepConflicts(
  tx: Tx,
  table: RowTarget & ColumnedTable,
  { rowId, lines, at }: { readonly rowId: number; readonly lines: readonly KeptConflict[]; readonly at: string },
): void {
  const textOf = (version: Row | Value): Stored =>
    typeof version === 'object' && version !== null ? evidenceText(table, version) : storedFromValue(version);
  for (const { kind, column, winner, state, renews, base, local, remote } of lines) {
    const versions = { base: textOf(base), local: textOf(local), remote: textOf(remote) };
    if (renews !== null) {
      storeVersions(tx, renews, { local: versions.local, remote: versions.remote });
      continue;
    }
    const { seq = null, localName: name = null } = (column === null ? null : table.columns[column]) ?? {};
    tx.prepare(
      sql`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, column_seq, column_name, base, local, remote,
            winner, at, state)
          VALUES (@tableId, @tableName, @rowId, @kind, @seq, @name, @base, @local, @remote, @winner, @at, @state)`,
    ).run({ tableId: table.id, tableName: table.localName, rowId, kind, seq, name, ...versions, winner, at, state });
  }
}

/** Closes questions that no longer need an answer. */
export function settleConflicts(tx: Tx, ids: readonly number[]): void {
  if (ids.length === 0) return;
  const text = sql`UPDATE _rowsync_conflicts SET state = 'settled', requested = 0 WHERE id IN (SELECT value FROM json_each(?))`;
  tx.prepare(text).run(JSON.stringify(ids));
}

export function renumberConflicts(tx: Tx, tableId: number, fromId: number, toId: number): void {
  const text = sql`UPDATE _rowsync_conflicts SET row_id = ? WHERE table_id = ? AND row_id = ?`;
  tx.prepare(text).run(toId, tableId, fromId);
}

/** Replaces the given versions of a conflict. */
export function storeVersions(
  tx: Tx,
  id: number,
  versions: Partial<Record<'base' | 'local' | 'remote', Stored>>,
): void {
  const set = joinSql(Object.keys(versions).map((side) => sql`${ident(side)} = ?`));
  tx.prepare(sql`UPDATE _rowsync_conflicts SET ${set} WHERE id = ?`).run(...Object.values(versions), id);
}

/** open: waits for a person · decided: by the policy · settled: both sides agree · resolved, discarded: by a person. */
type ConflictState = 'open' | 'decided' | 'settled' | 'resolved' | 'discarded';

/** A conflict as it is kept. */
export interface StoredConflict extends Readonly<Record<'base' | 'local' | 'remote', Stored>> {
  readonly id: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly kind: ConflictKind;
  readonly columnSeq: number | null;
  readonly state: ConflictState;
  readonly resolution: Resolution | null;
  readonly value: Stored;
}

export function readOpenQuestions(
  from: Connection,
  table: ColumnedTable,
  ids: readonly number[],
): ReadonlyMap<number, readonly OpenQuestion[]> {
  const text = sql`SELECT id, row_id, kind, column_seq FROM _rowsync_conflicts
      WHERE table_id = ? AND state = 'open' AND row_id IN (SELECT value FROM json_each(?)) ORDER BY id`;
  const questions = queryRows(from, text, [table.id, JSON.stringify(ids)]).map(([id, rowId, kind, seq]) => {
    const column = seq === null ? null : table.columns.findIndex((known) => known.seq === Number(seq));
    return { rowId: Number(rowId), id: Number(id), kind: kind as ConflictKind, column }; // by its CHECK
  });
  return Map.groupBy(questions, ({ rowId }) => rowId);
}

const CONFLICT_COLUMNS = sql`id, table_id AS tableId, row_id AS rowId, kind, column_seq AS columnSeq, base, local, remote, state, resolution, value`;

export function readConflict(from: Connection, id: number): StoredConflict | null {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts WHERE id = ?`;
  return queryConflicts(from, text, id)[0] ?? null;
}

/** Conflicts of a table that a person decided by SQL and that are not carried out yet, oldest first. */
export function readRequests(from: Connection, tableId: number): readonly StoredConflict[] {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts
      WHERE table_id = +? AND requested = 1 AND resolution IS NOT NULL ORDER BY id`;
  return queryConflicts(from, text, tableId);
}

/** Ids of the tables with such decisions, including pruned tables. */
export function readRequestTables(from: Connection): readonly number[] {
  const text = sql`SELECT DISTINCT table_id FROM _rowsync_conflicts WHERE requested = 1 AND resolution IS NOT NULL`;
  return queryNumbers(from, text, []);
}

type ExactConflict = Omit<StoredConflict, 'id' | 'tableId' | 'rowId' | 'columnSeq'> &
  Readonly<Record<'id' | 'tableId' | 'rowId', bigint>> & { readonly columnSeq: bigint | null };

/** A version keeps every digit; our own numbers fit in a double. */
function queryConflicts(from: Connection, text: Sql, bound: number): readonly StoredConflict[] {
  const rows = from.prepare(text).safeIntegers().all(bound) as ExactConflict[]; // as selected, and by their CHECKs
  return rows.map(({ columnSeq, ...row }) => ({
    ...row,
    id: Number(row.id),
    tableId: Number(row.tableId),
    rowId: Number(row.rowId),
    columnSeq: columnSeq === null ? null : Number(columnSeq),
  }));
}

/**
 * Which rows of two-way tables are edited, being sent or parked, and which ids new rows get. Triggers write these two
 * tables, so their names and columns must not change.
 */
import { createHash } from 'node:crypto';
import { must, oneOf } from '../../base/assert.ts';
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { ChangeKind } from '../../reconcile/push-plan.ts';
import { ROW_STATES, type RowState } from '../../reconcile/row-state.ts';
import type { Connection, Tx, WrittenTable } from '../connection.ts';
import { queryAll, queryAny, queryNumber, queryNumbers, queryRows, queryText, queryTexts } from '../query.ts';
import { endHolds } from './table-errors.ts';

/**
 * Rows of two-way tables that are not known to be equal to their base, marked by triggers and by comparison. A mark is
 * a hint: what changed is always found by comparing the row with its base.
 *
 *    state   a state of reconcile/row-state.ts; a row without a mark is clean. A CHECK would double the cost of an edit
 *    since   when the row was first found edited, in seconds since 1970: a text would cost each edit a third more
 */
export const ROWS = sql`
  CREATE TABLE _rowsync_rows (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, state TEXT NOT NULL, since INTEGER NOT NULL,
    PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/**
 * How rows that are inserted here get their ids (one row per two-way table).
 *
 *    given_id   the _id in the current statement, -1 if it has none: only BEFORE triggers see that
 *    last_id    the last negative id that was given out; ids are never reused, even after their row is gone
 */
export const LOCAL_IDS = sql`
  CREATE TABLE _rowsync_local_ids (
    table_id INTEGER PRIMARY KEY, given_id INTEGER NOT NULL DEFAULT -1, last_id INTEGER NOT NULL DEFAULT -1
  ) STRICT`;

/** An empty placeholder; capture/changes-view.ts replaces it as soon as there are two-way tables. */
export const NO_CHANGES_VIEW = sql`
  CREATE VIEW sync_changes AS
  SELECT NULL AS "table", NULL AS row_id, NULL AS kind, NULL AS "column", NULL AS base, NULL AS local, NULL AS state,
         NULL AS since WHERE 0`;

/** Origin names of two-way tables with rows that are marked as edited or on their way, or whose retry is due. */
export function readTablesToPush(from: Connection, nowMs: number): readonly string[] {
  const text = sql`SELECT name FROM _rowsync_tables t WHERE push = 'on' AND state <> 'gone' AND (
          EXISTS (SELECT 1 FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state IN ('edited', 'sending'))
          OR EXISTS (SELECT 1 FROM _rowsync_refusals f JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id
            WHERE f.table_id = t.id AND r.state = 'refused' AND f.retry_at_ms <= ?))`;
  return queryTexts(from, text, [Math.floor(nowMs)]);
}

export interface EditedRow {
  readonly table: string;
  readonly rowId: number;
}

const CELLS = sql`SELECT row_id, kind, "column", quote(base), quote(local), state FROM sync_changes WHERE "table" = @table`;

/** The state of an edited row as in `sync_changes`; null for a row without an edit. */
export function readRowState(from: Connection, { table, rowId }: EditedRow): string | null {
  const text = sql`SELECT r.state FROM _rowsync_rows r JOIN _rowsync_tables t ON t.id = r.table_id
    WHERE t.local_name = ? AND r.row_id = ?`;
  return queryText(from, text, [table, rowId]);
}

/** A digest of one edit, or of all of a table, as shown. A form sends it: a decision on older edits is refused. */
export function editVersion(
  from: Connection,
  { table, rowId }: { readonly table: string; readonly rowId: number | null },
): string {
  const cells = rowId === null ? from.prepare(CELLS) : from.prepare(sql`${CELLS} AND row_id = @rowId`);
  const digest = createHash('sha256');
  for (const cell of cells.raw().iterate({ table, rowId })) digest.update(JSON.stringify(cell));
  return digest.digest('base64url').slice(0, 22);
}

/** How many rows of a table wait to be pushed, for a person or a timer, and for a decision. */
export interface WaitingCounts {
  readonly waitingCount: number;
  readonly parkedCount: number;
  /** Those of the parked rows that may have been taken. */
  readonly parkedInDoubtCount: number;
  readonly openConflictCount: number;
}

export function countWaiting(from: Connection, tableId: number): WaitingCounts {
  const text = sql`SELECT count(*) FILTER (WHERE state IN ('edited', 'sending')) AS waitingCount,
            count(*) FILTER (WHERE state IN ('refused', 'inDoubt')) AS parkedCount,
            count(*) FILTER (WHERE state = 'inDoubt') AS parkedInDoubtCount,
            count(*) FILTER (WHERE state = 'conflicted') AS openConflictCount
          FROM _rowsync_rows WHERE table_id = ?`;
  return from.prepare(text).get(tableId) as WaitingCounts; // an aggregate always has one row
}

/** The states of the rows of a table that are not clean, and the status of their refusals. */
export function readRowEnds(
  from: Connection,
  tableId: number,
): ReadonlyMap<number, { readonly state: RowState; readonly status: number | null }> {
  const text = sql`SELECT r.row_id AS id, r.state, f.status FROM _rowsync_rows r
          LEFT JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id WHERE r.table_id = ?`;
  const ends = queryAll(from, text, [tableId]) as { id: number; state: string; status: number | null }[];
  return new Map(ends.map(({ id, state, status }) => [id, { state: oneOf(ROW_STATES, state), status }]));
}

export function hasMarks(from: Connection, tableId: number): boolean {
  return queryAny(from, sql`SELECT 1 FROM _rowsync_rows WHERE table_id = ? LIMIT 1`, [tableId]);
}

/** How many rows may be sent, by kind; only after `captureChanges`, which gives every new row a negative id. */
export function countEdits(from: Connection, { id, localName }: WrittenTable): Readonly<Record<ChangeKind, number>> {
  const text = sql`SELECT count(*) FILTER (WHERE r.row_id < 0),
        count(*) FILTER (WHERE r.row_id > 0 AND l._id IS NOT NULL), count(*) FILTER (WHERE r.row_id > 0 AND l._id IS NULL)
      FROM _rowsync_rows r LEFT JOIN ${ident(localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'edited'`;
  const [insert, update, deleted] = queryRows(from, text, [id])[0] ?? [];
  return { insert: Number(insert), update: Number(update), delete: Number(deleted) };
}

/** Ids of rows to send after `after` (null: all), at most `count`; new rows as made, others by id or in reverse. */
export function readEditedIds(
  from: Connection,
  { id, localName }: WrittenTable,
  order: {
    readonly kind: ChangeKind;
    readonly after: number | null;
    readonly count: number;
    readonly isReversed: boolean;
  },
): readonly number[] {
  const { kind, after, count, isReversed } = order;
  if (kind === 'insert') {
    const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? AND row_id < ? AND state = 'edited'
        ORDER BY row_id DESC LIMIT ?`;
    return queryNumbers(from, text, [id, after ?? 0, count]);
  }
  const local = sql`SELECT 1 FROM ${ident(localName)} l WHERE l._id = r.row_id`;
  const isMeant = kind === 'update' ? sql`EXISTS (${local})` : sql`NOT EXISTS (${local})`;
  const isBehind = isReversed ? sql`row_id BETWEEN 1 AND ? - 1` : sql`row_id > ?`;
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = +? AND ${isBehind} AND state = 'edited' AND ${isMeant}
      ORDER BY row_id ${isReversed ? sql`DESC` : sql`ASC`} LIMIT ?`;
  return queryNumbers(from, text, [id, after ?? (isReversed ? Number.MAX_SAFE_INTEGER : 0), count]);
}

/** States of those of the given rows that are not clean. */
export function readRowStates(
  from: Connection,
  tableId: number,
  ids: readonly number[],
): ReadonlyMap<number, RowState> {
  // Mostly one state, with many rows.
  const text = sql`SELECT state, json_group_array(row_id) FROM _rowsync_rows
      WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?)) GROUP BY state`;
  const states = new Map<number, RowState>();
  for (const [word, list] of queryRows(from, text, [tableId, JSON.stringify(ids)])) {
    const state = oneOf(ROW_STATES, word);
    for (const id of JSON.parse(String(list)) as number[]) states.set(id, state);
  }
  return states;
}

/** Counts rows whose edit is not on its way. */
export function countUnsent(from: Connection, tableId: number): number {
  const text = sql`SELECT count(*) FROM _rowsync_rows WHERE table_id = ? AND state NOT IN ('sending', 'inDoubt')`;
  return queryNumber(from, text, [tableId]);
}

/** Sets the state of rows, and keeps their first time; `clean` removes it. A table without edits is not held. */
export function storeRowStates(
  tx: Tx,
  tableId: number,
  ids: readonly number[],
  { state, at }: { readonly state: string; readonly at: string },
): void {
  const list = JSON.stringify(ids);
  if (state === 'clean') {
    const text = sql`DELETE FROM _rowsync_rows WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
    tx.prepare(text).run(tableId, list);
  } else {
    const text = sql`INSERT INTO _rowsync_rows (table_id, row_id, state, since)
        SELECT @tableId, value, @state, unixepoch(@at) FROM json_each(@list) WHERE true
        ON CONFLICT (table_id, row_id) DO UPDATE SET state = excluded.state`;
    tx.prepare(text).run({ tableId, state, at, list });
  }
  if (state !== 'edited' && state !== 'sending') endHolds(tx, tableId);
}

/** The next id for a row that the origin does not know; never reused. */
export function takeLocalId(tx: Tx, tableId: number): number {
  const text = sql`UPDATE _rowsync_local_ids SET last_id = last_id - 1 WHERE table_id = ? RETURNING last_id`;
  return must(queryNumbers(tx, text, [tableId])[0], 'every two-way table has a row here');
}

export function forgetRowStates(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_rows WHERE table_id = ?`).run(tableId);
}

export function renumberRowState(tx: Tx, tableId: number, fromId: number, toId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_rows WHERE table_id = ? AND row_id = ?`).run(tableId, toId);
  tx.prepare(sql`UPDATE _rowsync_rows SET row_id = ? WHERE table_id = ? AND row_id = ?`).run(toId, tableId, fromId);
}

/** Marks rows as edited that have no state; `rows` selects table, row, state and time. Returns how many there were. */
export function addRowStates(tx: Tx, rows: Sql, values: Readonly<Record<string, number | bigint | string>>): number {
  const text = sql`INSERT INTO _rowsync_rows (table_id, row_id, state, since) ${rows}
      ON CONFLICT (table_id, row_id) DO NOTHING`;
  return tx.prepare(text).run(values).changes;
}

/** Clears marks with the given states in a table, except of the rows that `kept` selects (`@tableId` is the table). */
export function forgetRowStatesBut(tx: Tx, tableId: number, states: readonly string[], kept: Sql): void {
  tx.prepare(
    sql`DELETE FROM _rowsync_rows WHERE table_id = @tableId AND state IN (SELECT value FROM json_each(@states))
          AND row_id NOT IN (${kept})`,
  ).run({ tableId, states: JSON.stringify(states) });
}

/** Prepares ids for new rows, below those of conflicts: in a table made again, these must not become other rows. */
export function startLocalIds(tx: Tx, tableId: number): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_local_ids (table_id, last_id)
        VALUES (@tableId, (SELECT min(-1, coalesce(min(row_id), -1)) FROM _rowsync_conflicts WHERE table_id = @tableId))
        ON CONFLICT (table_id) DO NOTHING`,
  ).run({ tableId });
}

/** When the oldest edit of each table that is to be pushed was made, as stamps by the names of the tables here. */
export function readOldestPending(from: Connection): ReadonlyMap<string, string> {
  const text = sql`SELECT t.local_name, strftime('%Y-%m-%dT%H:%M:%SZ', min(r.since), 'unixepoch')
    FROM _rowsync_rows r JOIN _rowsync_tables t ON t.id = r.table_id
    WHERE r.state IN ('edited', 'sending') GROUP BY t.id`;
  return new Map(from.prepare(text).raw().all() as [string, string][]); // the columns just listed
}

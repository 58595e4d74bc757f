/**
 * How far back the history of each table goes. An earlier table is made from today's and its later entries, so it is
 * known only after pruned entries and the last `begin`. Queries about earlier times are refused.
 */
import { stampFromMs } from '../../base/clock.ts';
import { RowsyncError, usageError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, queryNumbers, queryRows } from '../../replica/query.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

/** A table whose changes are kept, or were. */
export interface KnownTable {
  readonly id: number;
  /** As it is called here. */
  readonly table: string;
  /** What it was is known from then on: a stamp. Null where its changes are not kept now. */
  readonly since: string | null;
}

/** Checks that the file may have a history. @throws RowsyncError `replica.older` for a file of an earlier version. */
export function requireHistory(reader: ReplicaReader): void {
  if (!reader.isOlder()) return;
  throw new RowsyncError('replica', 'replica.older', {
    message: 'The replica was written by an earlier version of rowsync, which did not keep history in this form',
    hint: 'Run rowsync pull once: it brings the file up to date.',
  });
}

/** The tables with a history, by name. Reads the history once. @throws RowsyncError `replica.older`. */
export function readKnownTables(reader: ReplicaReader): readonly KnownTable[] {
  requireHistory(reader);
  const text = sql`WITH seen AS MATERIALIZED (
        SELECT table_id, max(CASE kind WHEN 'pruned' THEN cells ->> 'until' END) AS pruned
        FROM _rowsync_history WHERE table_id IS NOT NULL GROUP BY table_id),
      named AS (
        SELECT id, local_name AS name FROM _rowsync_tables
        UNION ALL
        SELECT table_id, name FROM _rowsync_history_names
        WHERE column_seq = 0 AND table_id NOT IN (SELECT id FROM _rowsync_tables)),
      begun AS (
        SELECT j.table_id, strftime('%Y-%m-%dT%H:%M:%SZ', h.at, 'unixepoch') AS at
        FROM _rowsync_history_tables j LEFT JOIN _rowsync_history h ON h.seq = j.begun_seq
        WHERE j.begun_seq IS NOT NULL)
      SELECT n.id, n.name AS "table",
             CASE WHEN b.table_id IS NOT NULL THEN max(coalesce(b.at, s.pruned), coalesce(s.pruned, b.at)) END AS since
      FROM seen s JOIN named n ON n.id = s.table_id LEFT JOIN begun b ON b.table_id = s.table_id
      ORDER BY n.name COLLATE NOCASE, since IS NULL`;
  return queryAll(reader, text) as KnownTable[]; // the columns just listed
}

/** A table by its name, in either case. @throws RowsyncError `history.unknown`. */
export function findKnownTable(known: readonly KnownTable[], name: string): KnownTable {
  const found =
    known.find(({ table }) => table === name) ?? known.find(({ table }) => table.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  const names = known.map(({ table }) => table);
  throw unknown(
    `No history is kept of a table "${name}"${guessText(name, names)}`,
    known.length === 0
      ? 'No table has history yet. Set `history: true` in the configuration, and pull; rowsync status lists the tables.'
      : `History is kept of: ${names.join(', ')}. For other tables, set \`history: true\`, and pull.`,
  );
}

/** A named table, or for none all whose changes are kept now; at least one. @throws RowsyncError `history.unknown`. */
export function chooseKnownTables(known: readonly KnownTable[], name: string | undefined): readonly KnownTable[] {
  if (name !== undefined) return [findKnownTable(known, name)];
  const kept = known.filter(({ since }) => since !== null);
  if (kept.length > 0) return kept;
  throw unknown('No history is kept of any table', 'Set `history: true` for tables, and pull.');
}

/** Since when the changes of a table are kept. @throws RowsyncError `history.unknown` if they are not kept now. */
export function requireKept({ table, since }: KnownTable): string {
  if (since !== null) return since;
  throw unknown(`The changes of ${table} are not kept`, 'Set `history: true` for it, and pull.');
}

/**
 * The last entry that belongs to a moment, in seconds since 1970, including all of that second. 0 for none. An index
 * finds it; where the clock was set back, the entry with the latest time counts.
 */
export function lastSeqAt(from: Connection, moment: number): number {
  const text = sql`SELECT id FROM sync_history WHERE at <= ? ORDER BY at DESC, id DESC LIMIT 1`;
  return queryNumbers(from, text, [stampFromMs(moment * 1000)])[0] ?? 0;
}

/** Checks that the history of a table covers a moment. @throws RowsyncError `history.unknown`, with the known span. */
export function checkKnown(
  from: Connection,
  known: KnownTable,
  { moment, nowMs }: { readonly moment: number; readonly nowMs: number },
): void {
  const stamp = stampFromMs(moment * 1000);
  const { table } = known;
  const since = requireKept(known);
  if (stamp < since) throw unknown(`What ${table} was at ${stamp} is not known`, `Its history begins at ${since}.`);
  if (moment * 1000 > nowMs) throw unknown(`${stamp} lies ahead`, `It is ${stampFromMs(nowMs)} now.`);
  const text = sql`SELECT note ->> 'knownUntil', at FROM sync_history
      WHERE kind = 'restored' AND note ->> 'knownUntil' < ? AND at > ? LIMIT 1`;
  const [gap] = queryRows(from, text, [stamp, stamp]);
  if (gap === undefined) return;
  const [knownUntil, at] = gap;
  const message = `What ${table} was at ${stamp} is not known, since an older copy was restored at ${at}`;
  throw unknown(message, `Choose a time up to ${knownUntil}, or from ${at} on.`);
}

/** What nothing is known of. */
export function unknown(message: string, hint: string): RowsyncError {
  return usageError(message, hint, 'history.unknown');
}

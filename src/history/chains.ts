/**
 * Checks the history of a table. Each entry of a row must begin with the values that the entry before it ended with, and inserts and deletes
 * must alternate.
 */
import { sql } from '../base/sql.ts';
import type { Connection } from '../replica/connection.ts';
import { findJournal } from '../replica/bookkeeping/history.ts';
import { queryRows } from '../replica/query.ts';

/** Broken places listed; all are counted. */
const LISTED_MAX = 20;

/** A place where an entry does not begin with the values that the entry before it ended with. */
export interface BrokenLink {
  readonly rowId: number;
  /** The entry, as in `sync_history`. */
  readonly id: number;
}

/** Entries with a cell that does not begin with the value before. A cell that an entry of a whole row leaves out is empty. */
const BROKEN_CELLS = sql`
  SELECT row_id, seq FROM (
    SELECT h.row_id, h.seq, c.value -> '$[1]' AS before,
           lag(c.value -> '$[2]') OVER (PARTITION BY h.row_id, c.value ->> 0 ORDER BY h.seq) AS led_to
    FROM entries h, json_each(h.cells) c)
  WHERE led_to IS NOT NULL AND led_to <> before`;

/** Inserts of a row that was there, and updates or deletes of one that was not. */
const BROKEN_LIVES = sql`
  SELECT row_id, seq FROM (
    SELECT row_id, seq, kind, lag(kind) OVER (PARTITION BY row_id ORDER BY seq) AS former
    FROM entries)
  WHERE former IS NOT NULL AND (kind = 'insert') <> (former = 'delete')`;

/** The broken places in the journal of a table; none where it has no journal. */
export function findBrokenLinks(
  from: Connection,
  tableId: number,
): { readonly count: number; readonly links: readonly BrokenLink[] } {
  const begunSeq = findJournal(from, tableId)?.begunSeq ?? null;
  if (begunSeq === null) return { count: 0, links: [] };
  const text = sql`WITH entries AS (SELECT seq, row_id, kind, cells FROM _rowsync_history
        WHERE table_id = ? AND seq > ? AND kind IN ('insert', 'update', 'delete'))
      SELECT DISTINCT row_id, seq FROM (${BROKEN_CELLS} UNION ALL ${BROKEN_LIVES}) ORDER BY seq`;
  const found = queryRows(from, text, [tableId, begunSeq]).map(([rowId, id]) => ({
    rowId: Number(rowId),
    id: Number(id),
  }));
  return { count: found.length, links: found.slice(0, LISTED_MAX) };
}

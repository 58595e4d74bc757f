/**
 * The page map: which rows the origin returned on which page, under which ETag, when last proven. A page's rows, its map
 * entry and its ETag are written by one call inside one transaction (I6), and the rows that left a page become suspects
 * in the same transaction, so that a crash forgets none of them.
 */
import type { RowPage, UnreadableRow } from '../wire/schema.ts';
import type { Connection, Tx } from './database.ts';
import { upsertRows, type RowChanges, type RowTarget } from './rows.ts';
import { sql } from './sql.ts';

/** What is known of one page. */
export interface KnownPage {
  readonly page: number;
  readonly url: string;
  readonly etag: string | null;
  readonly rowCount: number;
  readonly firstId: number | null;
  readonly lastId: number | null;
  /** Number of the sweep in which the page was last proven. */
  readonly sweep: number;
}

/** All pages of a table in order. */
export function readPages(from: Connection, tableId: number): readonly KnownPage[] {
  return from
    .prepare(
      sql`SELECT page, url, etag, row_count AS rowCount, first_id AS firstId, last_id AS lastId, sweep
          FROM _rowsync_pages WHERE table_id = ? ORDER BY page`,
    )
    .all(tableId) as KnownPage[]; // columns and types are ours
}

/** A page as it was just answered. */
export interface AnsweredPage {
  readonly page: number;
  readonly url: string;
  readonly etag: string | null;
  readonly sweep: number;
  readonly at: string;
  readonly content: RowPage;
}

/**
 * Applies an answer 200: rows, page map, suspects and ETag. The ETag is not kept where a row could not be read, so that
 * the page is asked for again until it can.
 */
export function applyPage(tx: Tx, target: RowTarget, answer: AnsweredPage): RowChanges {
  const { content, page } = answer;
  const changes = upsertRows(tx, target, content.rows);
  const ids = JSON.stringify(content.ids);
  tx.prepare(
    sql`INSERT OR IGNORE INTO _rowsync_suspects (table_id, row_id)
        SELECT @tableId, old.value FROM _rowsync_page_rows p, json_each(p.row_ids) old
        WHERE p.table_id = @tableId AND p.page = @page AND p.row_ids <> @ids
          AND old.value NOT IN (SELECT value FROM json_each(@ids))`,
  ).run({ tableId: target.id, page, ids });
  tx.prepare(sql`DELETE FROM _rowsync_suspects WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`).run(
    target.id,
    ids,
  );
  tx.prepare(
    sql`INSERT INTO _rowsync_page_rows (table_id, page, row_ids) VALUES (?, ?, ?)
        ON CONFLICT (table_id, page) DO UPDATE SET row_ids = excluded.row_ids WHERE row_ids <> excluded.row_ids`,
  ).run(target.id, page, ids);
  storeUnreadable(tx, target.id, content, answer.at);
  tx.prepare(
    sql`INSERT INTO _rowsync_pages (table_id, page, url, etag, row_count, first_id, last_id, sweep, verified_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (table_id, page) DO UPDATE SET url = excluded.url, etag = excluded.etag, row_count = excluded.row_count,
          first_id = excluded.first_id, last_id = excluded.last_id, sweep = excluded.sweep, verified_at = excluded.verified_at`,
  ).run(
    target.id,
    page,
    answer.url,
    content.unreadable.length === 0 ? answer.etag : null,
    content.ids.length,
    content.ids[0] ?? null,
    content.ids.at(-1) ?? null,
    answer.sweep,
    answer.at,
  );
  return changes;
}

/** Applies an answer 304: the page is proven, and nothing else is written. */
export function provePage(tx: Tx, tableId: number, proof: { page: number; sweep: number; at: string }): void {
  tx.prepare(sql`UPDATE _rowsync_pages SET sweep = ?, verified_at = ? WHERE table_id = ? AND page = ?`).run(
    proof.sweep,
    proof.at,
    tableId,
    proof.page,
  );
}

/** Remembers which rows of a page could not be read, and forgets those that now can. */
export function storeUnreadable(
  tx: Tx,
  tableId: number,
  content: { readonly ids: readonly number[]; readonly unreadable: readonly UnreadableRow[] },
  at: string,
): void {
  const unreadableIds = JSON.stringify(content.unreadable.map(({ id }) => id));
  tx.prepare(
    sql`DELETE FROM _rowsync_unreadable WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))
          AND row_id NOT IN (SELECT value FROM json_each(?))`,
  ).run(tableId, JSON.stringify(content.ids), unreadableIds);
  for (const { id, column, reason } of content.unreadable) {
    tx.prepare(
      sql`INSERT INTO _rowsync_unreadable (table_id, row_id, column_name, reason, since) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (table_id, row_id) DO UPDATE SET column_name = excluded.column_name, reason = excluded.reason`,
    ).run(tableId, id, column, reason, at);
  }
}

/** Drops the pages behind the end of the table; their rows become suspects. */
export function dropPagesFrom(tx: Tx, tableId: number, page: number): void {
  tx.prepare(
    sql`INSERT OR IGNORE INTO _rowsync_suspects (table_id, row_id)
        SELECT p.table_id, old.value FROM _rowsync_page_rows p, json_each(p.row_ids) old
        WHERE p.table_id = ? AND p.page >= ?`,
  ).run(tableId, page);
  tx.prepare(sql`DELETE FROM _rowsync_page_rows WHERE table_id = ? AND page >= ?`).run(tableId, page);
  tx.prepare(sql`DELETE FROM _rowsync_pages WHERE table_id = ? AND page >= ?`).run(tableId, page);
}

/** Forgets the suspects that stand on a page after all; returns how many remain. */
export function clearSeenSuspects(tx: Tx, tableId: number): number {
  const count = sql`SELECT count(*) FROM _rowsync_suspects WHERE table_id = ?`;
  const before = tx.prepare(count).pluck().get(tableId) as number; // count(*) is an integer
  if (before === 0) return 0;
  tx.prepare(
    sql`DELETE FROM _rowsync_suspects WHERE table_id = @tableId AND row_id IN (
          SELECT seen.value FROM _rowsync_page_rows p, json_each(p.row_ids) seen WHERE p.table_id = @tableId)`,
  ).run({ tableId });
  return tx.prepare(count).pluck().get(tableId) as number; // count(*) is an integer
}

/** Suspects above `after` in order, at most `count`. */
export function readSuspects(from: Connection, tableId: number, after: number, count: number): readonly number[] {
  return from
    .prepare(sql`SELECT row_id FROM _rowsync_suspects WHERE table_id = ? AND row_id > ? ORDER BY row_id LIMIT ?`)
    .pluck()
    .all(tableId, after, count) as number[]; // row_id is an INTEGER within 53 bits
}

/** Notes that the origin returned these suspects: they stay. */
export function clearSuspects(tx: Tx, tableId: number, ids: readonly number[]): void {
  tx.prepare(sql`DELETE FROM _rowsync_suspects WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`).run(
    tableId,
    JSON.stringify(ids),
  );
}

/** Forgets the ETags of a table: the next sweep reads every page. An unfinished sweep starts over. */
export function forgetEtags(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_pages SET etag = NULL WHERE table_id = ?`).run(tableId);
  tx.prepare(sql`UPDATE _rowsync_tables SET sweep_open = 0, end_proven = 0 WHERE id = ?`).run(tableId);
}

/** Rows of a table that could not be read when last seen. */
export function countUnreadable(from: Connection, tableId: number): number {
  return from
    .prepare(sql`SELECT count(*) FROM _rowsync_unreadable WHERE table_id = ?`)
    .pluck()
    .get(tableId) as number; // count(*) is an integer
}

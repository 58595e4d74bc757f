/**
 * The page map: which rows the origin returned on which page, under which ETag, when last proven. It changes in the
 * transaction that stores the rows of a page (I6), and so do the suspects, the rows that left the page.
 *
 * A row that moves may be read on two pages, and the older answer may be applied last. The ETag of the other page would
 * then prove a value that the table does not hold. So answers are numbered as they are applied, and a row that left a
 * page counts as seen only on one that was applied later.
 */
import { must } from '../../base/assert.ts';
import { ident, sql } from '../../base/sql.ts';
import {
  hasSuspects,
  clearSeen,
  clearSuspects,
  SEEN_SUSPECTS,
  suspectLeft,
  suspectPagesFrom,
  suspectUnpaged,
} from './suspects.ts';
import { pullAccount, type ListedRows, type PullAccount } from '../../reconcile/account/pull-account.ts';
import type { Connection, Tx, WrittenTable } from '../connection.ts';
import type { RowTarget } from '../rows.ts';
import type { RowPage } from '../../wire/schema.ts';
import { nextAnswer, restartSweep } from './sweeps.ts';
import { queryAll, queryFirst, queryNumber, queryText } from '../query.ts';
import { baseName } from '../user-tables.ts';
import { touchTable } from './changed-rows.ts';
import { recountRows, storeFacts } from './tables.ts';

/**
 * The page map: what the origin last said of each page. url is the full cache key; it never holds a token.
 *
 *    window        the creation time at which its window begins (reconcile/windows.ts); '' the first, 'none' without
 *    page          number of the page within its window
 *    etag          null if there is none to trust: none came, it was discarded, or a row of the page was unreadable
 *    last_stamp    creation time of its last row, to the second; null where it has none
 *    tie_count     rows at its end that share that second
 *    applied       which of the table's answers brought the rows of the page
 *    sweep         number of the sweep in which the page was last proven
 *    verified_at   when that was
 */
export const PAGES = sql`
  CREATE TABLE _rowsync_pages (
    table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, url TEXT NOT NULL, etag TEXT,
    row_count INTEGER NOT NULL, first_id INTEGER, last_id INTEGER, last_stamp TEXT, tie_count INTEGER NOT NULL,
    applied INTEGER NOT NULL, sweep INTEGER NOT NULL, verified_at TEXT NOT NULL,
    PRIMARY KEY (table_id, "window", page)
  ) STRICT`;

/** The ids of each page in the origin's order, as a JSON array; apart, so that a 304 rewrites a few bytes. */
export const PAGE_ROWS = sql`
  CREATE TABLE _rowsync_page_rows (
    table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, row_ids TEXT NOT NULL,
    PRIMARY KEY (table_id, "window", page)
  ) STRICT`;

export const FRESHNESS_VIEW = sql`
  CREATE VIEW sync_freshness AS
  SELECT t.local_name AS "table", p."window", p.page, p.row_count AS rows, p.verified_at, p.etag IS NOT NULL AS has_etag
  FROM _rowsync_pages p JOIN _rowsync_tables t ON t.id = p.table_id`;

export interface PagePlace {
  readonly window: string;
  readonly page: number;
}

export interface KnownPage extends PagePlace {
  readonly url: string;
  readonly etag: string | null;
  readonly rowCount: number;
  readonly firstId: number | null;
  readonly lastId: number | null;
  /** Creation time of the last row, to the second; null where it has none. */
  readonly lastStamp: string | null;
  /** Rows at the end that share that second. */
  readonly tieCount: number;
  /** Number of the sweep in which the page was last proven. */
  readonly sweep: number;
}

const PAGE_COLUMNS = sql`"window", page, url, etag, row_count AS rowCount, first_id AS firstId, last_id AS lastId, last_stamp AS lastStamp,
  tie_count AS tieCount, sweep`;

export function readPages(from: Connection, tableId: number): readonly KnownPage[] {
  const text = sql`SELECT ${PAGE_COLUMNS} FROM _rowsync_pages WHERE table_id = +? ORDER BY "window", page`;
  return queryAll(from, text, [tableId]) as KnownPage[];
}

export function countPages(from: Connection, tableId: number): number {
  return queryNumber(from, sql`SELECT count(*) FROM _rowsync_pages WHERE table_id = ?`, [tableId]);
}

export function readPagedWindows(from: Connection, tableId: number): readonly string[] {
  return readWindowSizes(from, tableId).map(({ window }) => window);
}

export function readWindowSizes(
  from: Connection,
  tableId: number,
): readonly { readonly window: string; readonly pageCount: number }[] {
  const text = sql`SELECT "window", count(*) AS pageCount FROM _rowsync_pages WHERE table_id = +? GROUP BY "window" ORDER BY "window"`;
  return queryAll(from, text, [tableId]) as { window: string; pageCount: number }[];
}

export interface AnsweredPage extends PagePlace {
  readonly lastStamp: string | null;
  readonly tieCount: number;
  readonly url: string;
  readonly etag: string | null;
  readonly sweep: number;
  readonly at: string;
  readonly content: RowPage;
}

/** Stores an answer 200 with its rows. With an unreadable row, no ETag is kept, so the page is requested again. */
export function notePage(tx: Tx, tableId: number, answer: AnsweredPage): void {
  const { content, ...page } = answer;
  const { ids } = content;
  const etag = content.unreadable.length === 0 ? answer.etag : null;
  const [firstId, lastId] = [ids[0] ?? null, ids.at(-1) ?? null];
  const applied = nextAnswer(tx, tableId);
  storePageRows(tx, tableId, answer, JSON.stringify(ids));
  tx.prepare(
    sql`INSERT INTO _rowsync_pages (table_id, "window", page, url, etag, row_count, first_id, last_id, last_stamp, tie_count, applied,
          sweep, verified_at)
        VALUES (@tableId, @window, @page, @url, @etag, @rowCount, @firstId, @lastId, @lastStamp, @tieCount, @applied, @sweep, @at)
        ON CONFLICT (table_id, "window", page) DO UPDATE SET url = excluded.url, etag = excluded.etag, row_count = excluded.row_count,
          first_id = excluded.first_id, last_id = excluded.last_id, last_stamp = excluded.last_stamp, tie_count = excluded.tie_count,
          applied = excluded.applied, sweep = excluded.sweep, verified_at = excluded.verified_at`,
  ).run({ ...page, tableId, applied, rowCount: ids.length, firstId, lastId, etag });
}

/** Stores which rows are on a page: rows that left it become suspects, rows on it no longer are. */
function storePageRows(tx: Tx, tableId: number, { window, page }: PagePlace, ids: string): void {
  const text = sql`SELECT row_ids FROM _rowsync_page_rows WHERE table_id = ? AND "window" = ? AND page = ?`;
  const before = queryText(tx, text, [tableId, window, page]);
  if (before !== null && before !== ids) suspectLeft(tx, { tableId, window, page, before, ids });
  if (hasSuspects(tx, tableId)) clearSuspects(tx, tableId, ids);
  if (before === ids) return;
  tx.prepare(
    sql`INSERT INTO _rowsync_page_rows (table_id, "window", page, row_ids) VALUES (?, ?, ?, ?)
        ON CONFLICT (table_id, "window", page) DO UPDATE SET row_ids = excluded.row_ids`,
  ).run(tableId, window, page, ids);
}

/** Pages that were answered 304: in which sweep, and when the first of them was. */
export interface Proof {
  readonly sweep: number;
  readonly at: string;
  readonly pages: readonly PagePlace[];
}

/** Applies answers 304: the pages are proven, and nothing else is written. */
export function provePages(tx: Tx, tableId: number, { sweep, at, pages }: Proof): void {
  const prove = tx.prepare(
    sql`UPDATE _rowsync_pages SET sweep = ?, verified_at = ? WHERE table_id = ? AND "window" = ? AND page IN (SELECT value FROM json_each(?))`,
  );
  for (const [window, places] of Map.groupBy(pages, (page) => page.window)) {
    prove.run(sweep, at, tableId, window, JSON.stringify(places.map(({ page }) => page)));
  }
}

/** Drops the pages of a window from one on; their rows become suspects until another page shows them. */
export function dropPagesFrom(tx: Tx, tableId: number, { window, page }: PagePlace): void {
  const place = { tableId, window, page };
  suspectPagesFrom(tx, place);
  for (const from of [sql`_rowsync_page_rows`, sql`_rowsync_pages`]) {
    tx.prepare(sql`DELETE FROM ${from} WHERE table_id = @tableId AND "window" = @window AND page >= @page`).run(place);
  }
}

/**
 * Clears suspects found on a later page. Those on an older page remain, and that page loses its ETag: the table may
 * hold values of a former page. Returns how many of the other suspects are in the table.
 */
export function clearSeenSuspects(tx: Tx, { id: tableId, localName }: RowTarget): number {
  if (!hasSuspects(tx, tableId)) return 0;
  clearSeen(tx, tableId);
  if (!hasSuspects(tx, tableId)) return 0;
  tx.prepare(
    sql`UPDATE _rowsync_pages SET etag = NULL WHERE table_id = ? AND ("window", page) IN (SELECT p."window", p.page FROM ${SEEN_SUSPECTS})`,
  ).run(tableId, tableId);
  // A suspect no longer in the table needs no delete: a push or another client deleted it.
  const text = sql`SELECT count(*) FROM _rowsync_suspects gone JOIN ${ident(localName)} here ON here._id = gone.row_id
          WHERE gone.table_id = ? AND gone.row_id NOT IN (SELECT s.row_id FROM ${SEEN_SUSPECTS})`;
  return queryNumber(tx, text, [tableId, tableId]);
}

/** How many rows the origin has if none was added or deleted: those it confirmed, and the unreadable ones. */
export function countExpected(from: Connection, { id, localName }: RowTarget): number {
  const text = sql`SELECT (SELECT count(*) FROM ${ident(localName)}) + (SELECT count(*) FROM _rowsync_unreadable u
      WHERE u.table_id = ? AND NOT EXISTS (SELECT 1 FROM ${ident(localName)} known WHERE known._id = u.row_id))`;
  return queryNumber(from, text, [id]);
}

/** Compares the rows on the pages with those here, one by one if counts differ. `isUnchanged`: no page changed. */
export function readPullAccount(from: Connection, { id, localName }: RowTarget, isUnchanged: boolean): PullAccount {
  const count = isUnchanged
    ? sql`SELECT row_count FROM _rowsync_tables WHERE id = @id`
    : sql`SELECT count(*) FROM ${ident(localName)}`;
  // A page begins with the last row of the one before. A window begins with the last second of the one before.
  const isRepeated = sql`EXISTS (SELECT 1 FROM _rowsync_pages WHERE table_id = @id AND "window" = p.last_stamp AND "window" > p."window")`;
  const text = sql`SELECT (SELECT coalesce(sum(max(row_count - (page > 0) - iif(${isRepeated}, tie_count, 0), 0)), 0)
        FROM _rowsync_pages p WHERE table_id = @id) AS listed,
      (${count}) AS here,
      (SELECT count(*) FROM _rowsync_unreadable WHERE table_id = @id) AS unreadable`;
  const { listed, ...here } = from.prepare(text).get({ id }) as ListedRows; // counts
  const isComplete = here.unreadable === 0 && listed === here.here && !hasSuspects(from, id);
  if (isComplete) return pullAccount({ listed, ...here, kept: 0, strange: 0 });
  const isReadable = sql`NOT IN (SELECT row_id FROM _rowsync_unreadable WHERE table_id = @id)`;
  // Behind `main.` a table of the origin may be called as a part of the statement is.
  const query = sql`WITH listed (id) AS MATERIALIZED (
            SELECT DISTINCT seen.value FROM _rowsync_page_rows p, json_each(p.row_ids) seen WHERE p.table_id = @id),
          other (isKept) AS MATERIALIZED (
            SELECT EXISTS (SELECT 1 FROM _rowsync_suspects s WHERE s.table_id = @id AND s.row_id = known._id)
            FROM main.${ident(localName)} known WHERE known._id NOT IN (SELECT id FROM listed))
          SELECT (SELECT count(*) FROM listed) AS listed,
            (SELECT count(*) FROM listed WHERE NOT (listed.id ${isReadable})) AS unreadable,
            (SELECT count(*) FROM listed JOIN main.${ident(localName)} known ON known._id = listed.id WHERE listed.id ${isReadable}) AS here,
            (SELECT count(*) FROM other WHERE isKept) AS kept, (SELECT count(*) FROM other WHERE NOT isKept) AS strange`;
  const counts = must(queryFirst(from, query, [{ id }]) as ListedRows | null, 'an aggregate always has one row');
  const account = pullAccount(counts);
  if (account.missing <= 0) return account;
  return pullAccount({ ...counts, listed: counts.listed - countGoneSince(from, { id, localName }) });
}

/** Listed rows that were proven deleted after their pages were read, so they are not lost. */
function countGoneSince(from: Connection, { id, localName }: Pick<RowTarget, 'id' | 'localName'>): number {
  const text = sql`WITH gone (id, at) AS MATERIALIZED (
            SELECT row_id, max(deleted_at) FROM _rowsync_deleted
            WHERE table_id = @id AND deleted_at >= (SELECT min(verified_at) FROM _rowsync_pages WHERE table_id = @id) GROUP BY row_id)
          SELECT count(*) FROM (
            SELECT 1 FROM _rowsync_pages p JOIN _rowsync_page_rows r USING (table_id, "window", page), json_each(r.row_ids) seen
            JOIN gone ON gone.id = seen.value
            WHERE p.table_id = @id AND gone.id NOT IN (SELECT _id FROM main.${ident(localName)})
              AND gone.id NOT IN (SELECT row_id FROM _rowsync_unreadable WHERE table_id = @id)
            GROUP BY gone.id HAVING max(p.verified_at) <= gone.at)`;
  return queryNumber(from, text, [{ id }]);
}

/** How many rows here have a stamp in a given second or later; `column` is the local name of that stamp. */
export function countStampedFrom(
  from: Connection,
  { localName }: RowTarget,
  { column, stamp }: { readonly column: string; readonly stamp: string },
): number {
  const text = sql`SELECT count(*) FROM ${ident(localName)} WHERE substr(${ident(column)}, 1, 19) >= substr(?, 1, 19)`;
  return queryNumber(from, text, [stamp]);
}

export function countBySecond(
  from: Connection,
  { localName }: RowTarget,
  { column, stamp }: { readonly column: string; readonly stamp: string },
): ReadonlyMap<string, number> {
  const second = sql`substr(${ident(column)}, 1, 19) || 'Z'`;
  const text = sql`SELECT ${second} AS second, count(*) FROM ${ident(localName)} WHERE ${second} >= ? GROUP BY 1`;
  return new Map(from.prepare(text).raw().all(stamp) as unknown as [string, number][]); // raw() gives arrays
}

/** The latest stamp of the rows, to the second; null for none. */
export function readLatestStamp(from: Connection, { localName }: RowTarget, column: string): string | null {
  const text = sql`SELECT substr(max(${ident(column)}), 1, 19) || 'Z' FROM ${ident(localName)}`;
  return queryText(from, text);
}

/** Forgets the ETags of a table: the next sweep reads every page. An unfinished sweep starts over. */
export function forgetEtags(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_pages SET etag = NULL WHERE table_id = ?`).run(tableId);
  restartSweep(tx, tableId);
}

export function forgetAllEtags(tx: Tx): void {
  tx.prepare(sql`UPDATE _rowsync_pages SET etag = NULL`).run();
}

/** Distrusts every row of a user table, which must exist and may be edited. The next sweep requests every row. */
export function distrustRows(tx: Tx, table: WrittenTable): void {
  storeFacts(tx, table.id, { doubted: 1 });
  distrustConfirmed(tx, table);
}

/** Distrusts the base of a two-way table. Edits are then found by comparing all rows with it. */
export function distrustBase(tx: Tx, table: WrittenTable): void {
  storeFacts(tx, table.id, { compare_due: 1 });
  distrustConfirmed(tx, { id: table.id, localName: baseName(table.id) });
}

function distrustConfirmed(tx: Tx, table: WrittenTable): void {
  forgetEtags(tx, table.id);
  touchTable(tx, table.id);
  recountRows(tx, table);
  suspectUnpaged(tx, table);
}

/**
 * Reads the history: entries of a row, of a run, or behind a number, and how many each run has. Cells stay the JSON
 * that SQLite made, so no digit is lost.
 */
import { sql, type Sql } from '../../base/sql.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { queryAll, queryFirst, queryNumber, queryNumbers, queryText } from '../../replica/query.ts';

/** An entry of the history. Stamps are UTC. */
export interface HistoryEntry {
  readonly id: number;
  /** Null for an entry about all tables. */
  readonly table: string | null;
  /** Null for an entry about a table. */
  readonly rowId: number | null;
  /** The `_id` that a new row had before the origin gave it one. */
  readonly wasRowId: number | null;
  /** insert · update · delete · forgotten; of a table begin · end · pruned · schema · restored. */
  readonly kind: string;
  readonly at: string;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  readonly originAt: string | null;
  readonly originBy: string | null;
  /** 1 where `originAt` is `notAfter`; null where the origin shows no time. */
  readonly stamped: number | null;
  readonly cause: string;
  readonly runId: number | null;
  /** JSON objects. */
  readonly before: string | null;
  readonly after: string | null;
  readonly note: string | null;
  /** 1 for the origin's answer to an edit (IS_ANSWER); only where people see the entry. */
  readonly isAnswer?: 0 | 1;
}

/** What to read of the history; null for everything. */
export interface EntryFilter {
  readonly table: string | null;
  readonly runId: number | null;
  /** Stamps; both belong to it. */
  readonly since: string | null;
  readonly until: string | null;
}

/** How many entries of one kind a run has of a table. */
export interface RunCount {
  /** Null for what belongs to no run: a decision, a restore. */
  readonly runId: number | null;
  /** The kind of the run; null where it is not recorded any more. */
  readonly work: string | null;
  readonly table: string | null;
  readonly kind: string;
  readonly cause: string;
  readonly isAnswer: 0 | 1;
  readonly count: number;
  readonly lastId: number;
  /** When the first and the last of them happened here. */
  readonly from: string;
  readonly to: string;
}

const COLUMNS = sql`id, "table", row_id AS rowId, was_row_id AS wasRowId, kind, at, not_before AS notBefore, not_after AS notAfter,
  origin_at AS originAt, origin_by AS originBy, stamped, cause, run_id AS runId, before, after, note`;

/** Deletes of the number that a new row had here until the origin gave it its own; nothing else was deleted. */
const IS_RENUMBERING = sql`(kind = 'delete' AND cause IN ('pull', 'push') AND row_id < 0)`;

/** What a discard left of a cell, as JSON; an entry of a whole row leaves out the cells that are null. */
const LEFT = sql`coalesce((SELECT x.value -> 2 FROM json_each(d.cells) x WHERE x.value -> 0 = c.value -> 0),
  iif(d.kind = 'update', NULL, 'null'))`;

/**
 * Edits that a person discarded before they were sent, and the discards: together they changed nothing. An edit was not
 * sent if its row had no number of the origin yet. Or the discard brought its cells back to what they were before it,
 * or before an edit of the row right in front of it.
 */
const IS_DISCARDED = sql`(cause = 'discard' OR cause = 'edit' AND EXISTS (
    SELECT 1 FROM _rowsync_history e JOIN _rowsync_history d ON d.seq = (SELECT min(n.seq) FROM _rowsync_history n
      WHERE n.row_id = e.row_id AND n.table_id = e.table_id AND n.seq > e.seq AND n.cause <> 'edit')
    WHERE e.seq = sync_history.id AND d.cause = 'discard' AND (e.row_id < 0 OR NOT EXISTS (
      SELECT 1 FROM json_each(e.cells) c WHERE NOT EXISTS (
        SELECT 1 FROM _rowsync_history f, json_each(f.cells) y WHERE f.row_id = e.row_id AND f.table_id = e.table_id
          AND f.cause = 'edit' AND f.seq <= e.seq AND f.seq > coalesce((SELECT max(p.seq) FROM _rowsync_history p
            WHERE p.row_id = e.row_id AND p.table_id = e.table_id AND p.seq < e.seq AND p.cause <> 'edit'), 0)
          AND y.value -> 0 = c.value -> 0 AND y.value -> 1 IS ${LEFT})))))`;

/** Whether the origin names the caller as an author: as `Name <e-mail>` or by the e-mail alone. */
export function isCaller(author: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM _rowsync_identity
    WHERE user_email <> '' AND instr(lower('<' || ${author} || '>'), lower('<' || user_email || '>')) > 0)`;
}

/**
 * What the origin made of an edit that was sent, as a push read it back; the edit itself has an entry, too. It is the
 * new row under its own number, or cells that only the origin writes, such as the stamp. A colleague's change has
 * another author, or a cell that can be written.
 */
const IS_ANSWER = sql`(cause = 'push' AND EXISTS (SELECT 1 FROM _rowsync_history e WHERE e.seq = sync_history.id AND CASE e.kind
    WHEN 'insert' THEN EXISTS (SELECT 1 FROM _rowsync_history n WHERE n.row_id = e.was_id AND n.table_id = e.table_id AND n.kind = 'insert')
    WHEN 'update' THEN (e.origin_by IS NULL OR ${isCaller(sql`e.origin_by`)}) AND NOT EXISTS (
      SELECT 1 FROM json_each(e.cells) c JOIN _rowsync_columns k ON k.seq = c.value ->> 0 WHERE k.writable = 1) END))`;

/** What happened, as people count it. */
export const IS_COUNTED = sql`NOT ${IS_RENUMBERING} AND NOT ${IS_ANSWER} AND NOT ${IS_DISCARDED}`;

const LISTED = sql`${COLUMNS}, ${IS_ANSWER} AS isAnswer`;

const ONLY = sql`(@table IS NULL OR "table" = @table) AND (@runId IS NULL OR run_id = @runId)`;

/** By its index where a time is given, since most of the history is older. */
function within({ since, until }: EntryFilter): Sql {
  return since === null && until === null ? ONLY : sql`at >= @since AND at <= @until AND ${ONLY}`;
}

function values({ since, until, ...rest }: EntryFilter): Record<string, Stored> {
  return { ...rest, since: since ?? '', until: until ?? '9999' };
}

/** Entries one after the other; `rest` is what follows the name of the view. */
function entriesOf(from: Connection, columns: Sql, rest: Sql, ...bound: unknown[]): IterableIterator<HistoryEntry> {
  return from
    .prepare(sql`SELECT ${columns} FROM sync_history ${rest}`)
    .iterate(...bound) as IterableIterator<HistoryEntry>; // the columns just listed
}

/** The entries of a row, the oldest first; also those under the id that it had before the origin gave it this one. */
export function readRowEntries(from: Connection, table: string, rowId: number): readonly HistoryEntry[] {
  const ofRow = sql`WHERE row_id = ? AND "table" = ? ORDER BY id`;
  const own = [...entriesOf(from, LISTED, ofRow, rowId, table)];
  const born = own.find(({ wasRowId }) => wasRowId !== null);
  if (born === undefined) return own;
  const before = sql`WHERE row_id = @was AND "table" = @table AND kind <> 'delete' AND id < @id
        AND id >= (SELECT max(id) FROM sync_history WHERE row_id = @was AND "table" = @table AND kind = 'insert' AND id < @id)
      ORDER BY id`;
  return [...entriesOf(from, LISTED, before, { was: born.wasRowId, table, id: born.id }), ...own];
}

/** As `IS_RENUMBERING`. */
export function isRenumbering({ kind, cause, rowId }: Pick<HistoryEntry, 'kind' | 'cause' | 'rowId'>): boolean {
  return kind === 'delete' && (cause === 'pull' || cause === 'push') && rowId !== null && rowId < 0;
}

/** The last entries of a row, or of all rows for null, the newest first. */
export function readNewestEntries(
  from: Connection,
  row: { readonly table: string; readonly id: number } | null,
  countMax: number,
): readonly HistoryEntry[] {
  const which = row === null ? sql`row_id IS NOT NULL AND ${IS_COUNTED}` : sql`row_id = @id AND "table" = @table`;
  return [...entriesOf(from, LISTED, sql`WHERE ${which} ORDER BY id DESC LIMIT ${countMax}`, { ...row })];
}

/** The number that the origin gave a new row, which has left this one for it; null where the history does not tell. */
export function readIdAtOrigin(from: Connection, table: string, id: number): number | null {
  const [last] = readNewestEntries(from, { table, id }, 1);
  if (last === undefined || !isRenumbering(last)) return null;
  const text = sql`SELECT row_id FROM sync_history WHERE at = ? AND was_row_id = ? AND "table" = ?`;
  return queryNumbers(from, text, [last.at, id, table])[0] ?? null;
}

/** Entries behind a number, in order; at most `countMax`. */
export function iterateEntriesAfter(from: Connection, seq: number, countMax: number): IterableIterator<HistoryEntry> {
  return entriesOf(from, COLUMNS, sql`WHERE id > ? ORDER BY id LIMIT ?`, seq, countMax);
}

/** The number of the last entry that was ever written; 0 before the first. */
export function lastSeq(from: Connection): number {
  return queryNumber(from, sql`SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '_rowsync_history'`);
}

/** Deletes that the origin took, by push and table: as it adds nothing to them, the push makes no entry. */
const SENT_DELETES = sql`(SELECT r.id AS run_id, r.finished_at AS at, t.id AS table_id, t.local_name AS "table",
        p.value ->> 'deleted' AS count
      FROM sync_runs r, json_each(r.per_table) p JOIN _rowsync_tables t ON t.local_name = p.value ->> 'table'
      JOIN _rowsync_history_tables h ON h.table_id = t.id AND h.oldest_at <= unixepoch(r.finished_at)
      WHERE r.kind = 'push' AND p.value ->> 'deleted' > 0)`;

/** How many entries there are, by run, table, kind and cause, the newest run first; also deletes that a push sent. */
export function readRunCounts(from: Connection, filter: EntryFilter): readonly RunCount[] {
  const text = sql`SELECT run_id AS runId, (SELECT r.kind FROM sync_runs r WHERE r.id = run_id) AS work, "table", kind, cause,
        ${IS_ANSWER} AS isAnswer, count(*) AS count, max(id) AS lastId, min(at) AS "from", max(at) AS "to"
      FROM sync_history WHERE ${within(filter)} AND NOT ${IS_RENUMBERING}
      GROUP BY run_id, CASE WHEN run_id IS NULL THEN at END, "table", kind, cause, isAnswer
      UNION ALL SELECT run_id, 'push', "table", 'delete', 'push', 1, count,
        (SELECT e.id FROM sync_history e WHERE e.at <= d.at ORDER BY e.at DESC, e.id DESC LIMIT 1), at, at
      FROM ${SENT_DELETES} d WHERE ${within(filter)} ORDER BY lastId DESC, runId DESC`;
  return queryAll(from, text, [values(filter)]) as RunCount[]; // the columns just listed
}

/** The kind of a run and when it began; null if none is recorded under the number. */
export function findRun(from: Connection, runId: number): { readonly kind: string; readonly startedAt: string } | null {
  const text = sql`SELECT kind, started_at AS startedAt FROM sync_runs WHERE id = ?`;
  return queryFirst(from, text, [runId]) as ReturnType<typeof findRun>; // the columns just listed
}

/** Since when the edits that a push sent are in the history, under other runs or none; null if the run is no push. */
export function editsOfPushSince(from: Connection, runId: number): string | null {
  const run = findRun(from, runId);
  if (run?.kind !== 'push') return null;
  const text = sql`SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min((SELECT e.at FROM _rowsync_history e
        WHERE e.row_id IN (h.row_id, h.was_id) AND e.table_id = h.table_id AND e.cause = 'edit' AND e.seq < h.seq
        ORDER BY e.seq DESC LIMIT 1)), 'unixepoch')
      FROM _rowsync_history h WHERE h.run_id = ?`;
  // As many deletes as it sent: the latest that were recorded by its end, neither withdrawn by then nor waiting now.
  const deletes = sql`SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min(at), 'unixepoch') FROM (
      SELECT e.at, d.count, row_number() OVER (PARTITION BY e.table_id ORDER BY e.seq DESC) AS place
      FROM ${SENT_DELETES} d JOIN _rowsync_history e ON e.table_id = d.table_id AND e.at <= unixepoch(d.at)
      WHERE d.run_id = ? AND e.kind = 'delete' AND e.cause = 'edit' AND e.row_id > 0 AND NOT EXISTS (
        SELECT 1 FROM _rowsync_history n WHERE n.row_id = e.row_id AND n.table_id = e.table_id AND n.seq > e.seq
          AND n.at <= unixepoch(d.at)) AND NOT EXISTS (
        SELECT 1 FROM _rowsync_rows w WHERE w.table_id = e.table_id AND w.row_id = e.row_id)) WHERE place <= count`;
  const starts = [text, deletes].flatMap((query) => queryText(from, query, [runId]) ?? []);
  return [...starts, run.startedAt].toSorted()[0] ?? null;
}

/** Entries of one run, or of none at a time here; in order. */
export function readRunEntries(
  from: Connection,
  run: { readonly runId: number | null; readonly to: string },
  filter: EntryFilter,
): IterableIterator<HistoryEntry> {
  const its = run.runId === null ? sql`run_id IS NULL AND at = @its` : sql`run_id = @its`;
  const bound = { ...values(filter), its: run.runId ?? run.to };
  return entriesOf(from, LISTED, sql`WHERE ${its} AND ${within(filter)} ORDER BY id`, bound);
}

/** Entries of rows of a table behind one number, up to another; row by row, each in order. */
export function readTableEntries(
  from: Connection,
  table: string,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): IterableIterator<HistoryEntry> {
  const ofRows = sql`WHERE id > ? AND id <= ? AND "table" = ? AND kind IN ('insert', 'update', 'delete') ORDER BY row_id, id`;
  return entriesOf(from, COLUMNS, ofRows, after, upTo, table);
}

export function entryJson({ before, after, note, ...rest }: HistoryEntry): string {
  const head = JSON.stringify({ ...rest, isAnswer: undefined }).slice(0, -1);
  return `${head},"before":${before ?? 'null'},"after":${after ?? 'null'},"note":${note ?? 'null'}}`;
}

/** Why a row changed. A push makes new rows, and finds what else became of the rows that it sent. */
export function causeWords({ kind, cause }: { readonly kind: string; readonly cause: string }): string {
  return kind === 'insert' && cause === 'push' ? 'by a push' : (CAUSE_WORDS[cause] ?? cause);
}

const CAUSE_WORDS: Readonly<Record<string, string>> = {
  pull: 'found at the origin',
  push: 'found by a push',
  edit: 'edited here',
  decision: 'decided by a person here',
  discard: 'an edit discarded by a person here',
  filter: 'by the filter of the table (rows)',
  schema: 'by a change of the columns',
  restore: 'by a restore',
};

/**
 * Writes the history: changes of rows in tables with `history`, one entry for each row and transaction. The transaction
 * that changes the row writes it. rows.ts says which rows are about to be written. Their former state is read then, and
 * compared with their state at the end. So the entries of every transaction lead from one state to the next.
 *
 * Of a two-way table the history knows a row as its base, or as `_rowsync_history_edits` says. A differing state was
 * edited by another client, and becomes an entry of its own.
 */
import { stampFromMs, type Clock } from '../base/clock.ts';
import { ident, joinSql, sql } from '../base/sql.ts';
import type { Cause, ChangeCause, Connection, TxHistory, WrittenTable } from './connection.ts';
import {
  diffVersions,
  exactFromText,
  exactText,
  isSameVersion,
  type CellChange,
  type Exact,
  type Version,
} from './history-cells.ts';
import {
  findHistory,
  secondsOf,
  type TableHistory,
  ADD_BYTES,
  ADD_EDIT,
  ADD_ENTRY,
  FORGET_EDITS,
} from './bookkeeping/history.ts';
import { blocksAbove, queryAll, queryNumber, queryNumbers, queryRows, queryText, readRawText } from './query.ts';
import { movesUnstamped } from '../reconcile/follow.ts';
import { baseName, hasBase, readStanding } from './user-tables.ts';

/** Rows that a transaction holds before it writes their entries: twice as many versions are in memory. */
const ROWS_MAX = 2_000;

/** A column as the history knows it: `_allow` is 0. */
export interface Column {
  readonly seq: number;
  readonly name: string;
  readonly kind: string | null;
  /** The calling user may write it at the origin. */
  readonly writable: 0 | 1;
  /** Seconds since 1970 when it was added, or came back. */
  readonly since: number;
}

/** The columns of a table, in the order of the values of a version. */
type Columns = readonly Column[];

interface NotedRow {
  /** As the history knows it, and as it was when it was first told of. */
  readonly known: Version;
  readonly found: Version;
  cause: ChangeCause;
}

interface NotedTable {
  readonly id: number;
  readonly localName: string;
  readonly hasBase: boolean;
  readonly history: TableHistory;
  readonly columns: Columns;
  readonly rows: Map<number, NotedRow>;
}

export class HistoryWriter implements TxHistory {
  readonly #db: Connection;
  readonly #clock: Clock;
  /** As they are until the next flush; null for tables whose changes are not kept. */
  #tables = new Map<number, NotedTable | null>();
  /** Rows that continue under other ids, by the new one. */
  #renumbered = new Map<string, number>();
  #noted = 0;

  constructor(db: Connection, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  isKept(tableId: number): boolean {
    return this.#open(tableId) !== null;
  }

  renumbered(tableId: number, fromId: number, toId: number): void {
    if (this.#open(tableId) !== null) this.#renumbered.set(`${tableId} ${toId}`, fromId);
  }

  captureEdits(table: WrittenTable, cause: ChangeCause): void {
    const { id } = table;
    if (!this.isKept(id)) return;
    const marked = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = @id AND row_id > @after
        UNION SELECT row_id FROM _rowsync_history_edits WHERE table_id = @id AND row_id > @after ORDER BY row_id LIMIT 500`;
    const read = (after: number): readonly number[] => queryNumbers(this.#db, marked, [{ id, after }]);
    for (const ids of blocksAbove(read, (rowId) => rowId)) this.willChange(table, ids, cause, true);
    this.flush();
  }

  flush(): void {
    const at = secondsOf(stampFromMs(this.#clock.nowMs()));
    for (const table of this.#tables.values())
      if (table !== null && table.rows.size > 0) new Flush(this.#db, table, { at, wasIds: this.#renumbered }).write();
    this.#tables.clear();
    this.#renumbered.clear();
    this.#noted = 0;
  }

  #open(tableId: number): NotedTable | null {
    const known = this.#tables.get(tableId);
    if (known !== undefined) return known;
    const history = findHistory(this.#db, tableId);
    const table = history === null || history.begunSeq === null ? null : readNotedTable(this.#db, history);
    this.#tables.set(tableId, table);
    return table;
  }

  /** Remembers rows before they are written; with `editedOnly` only those that are not as the history knows them. */
  willChange({ id: tableId }: WrittenTable, ids: readonly number[], cause: ChangeCause, editedOnly = false): void {
    if (this.#noted > ROWS_MAX) this.flush();
    const table = this.#open(tableId);
    if (table === null) return;
    const news: number[] = [];
    for (const id of ids) {
      const row = table.rows.get(id);
      if (row === undefined) news.push(id);
      else row.cause = cause;
    }
    if (news.length === 0) return;
    const found = readVersions(this.#db, table.localName, table.columns, news);
    const known = table.hasBase ? readKnown(this.#db, table, news) : found;
    for (const id of news) {
      const row = { known: known.get(id) ?? null, found: found.get(id) ?? null };
      if (editedOnly && isSameVersion(row.known, row.found)) continue;
      table.rows.set(id, { ...row, cause });
      this.#noted += 1;
    }
  }
}

function readNotedTable(from: Connection, history: TableHistory): NotedTable | null {
  const { tableId: id } = history;
  const localName = queryText(from, sql`SELECT local_name FROM _rowsync_tables WHERE id = ?`, [id]);
  if (localName === null) return null;
  const text = sql`SELECT seq, local_name AS name, kind, writable, unixepoch(since) AS since FROM _rowsync_columns WHERE table_id = +? ORDER BY seq`;
  const all = queryAll(from, text, [id]) as Column[];
  const named = [{ seq: 0, name: '_allow', kind: null, writable: 0, since: 0 } as const, ...all];
  const names = named.map(({ name }) => name);
  const standing = new Set(readStanding(from, localName, names));
  const columns = named.filter(({ name }) => standing.has(name));
  return { id, localName, hasBase: hasBase(from, id), history, columns, rows: new Map<number, NotedRow>() };
}

/** What the history knows of a table now: its columns, `_allow` first, and rows by their ids. */
export interface KnownRows {
  readonly localName: string;
  readonly columns: Columns;
  read(ids: readonly number[]): ReadonlyMap<number, Version>;
  /** Rows as they are in the table. */
  standing(ids: readonly number[]): ReadonlyMap<number, Version>;
}

/** Rows of a table as its last entries led to them, without edits that no entry has yet. Null without a table. */
export function openKnownRows(from: Connection, history: TableHistory): KnownRows | null {
  const table = readNotedTable(from, history);
  if (table === null) return null;
  const { localName, columns } = table;
  const standing = (ids: readonly number[]): ReadonlyMap<number, Version> =>
    readVersions(from, localName, columns, ids);
  return { localName, columns, standing, read: table.hasBase ? (ids) => readKnown(from, table, ids) : standing };
}

function readVersions(
  from: Connection,
  tableName: string,
  columns: Columns,
  ids: readonly number[],
): ReadonlyMap<number, Version> {
  if (ids.length === 0 || columns.length === 0) return new Map();
  const text = sql`SELECT _id, ${joinSql(columns.map(({ name }) => ident(name)))} FROM ${ident(tableName)}
      WHERE _id IN (SELECT value FROM json_each(?))`;
  const rows = queryRows(from, text, [JSON.stringify(ids)]) as readonly (readonly Exact[])[]; // another client may store BLOBs
  const versions = new Map<number, Version>();
  for (const row of rows) {
    const id = Number(row[0]);
    const values: Exact[] = row.slice(1);
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (typeof value !== 'string') continue;
      const raw = readRawText(from, value, { tableName, name: columns[index]?.name ?? '', id });
      if (raw !== null) values[index] = { raw };
    }
    versions.set(id, values);
  }
  return versions;
}

/** Rows of a two-way table as the history knows them: as their base, but for what it knows to have been edited. */
function readKnown(
  from: Connection,
  { id: tableId, columns }: NotedTable,
  ids: readonly number[],
): ReadonlyMap<number, Version> {
  const known = new Map(readVersions(from, baseName(tableId), columns, ids));
  const text = sql`SELECT row_id AS rowId, cells IS NULL AS isDeleted FROM _rowsync_history_edits
          WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  const edits = queryAll(from, text, [tableId, JSON.stringify(ids)]) as { rowId: number; isDeleted: 0 | 1 }[];
  if (edits.length === 0) return known;
  const cells = sql`SELECT c.value ->> 0, c.value -> 1 FROM _rowsync_history_edits e, json_each(e.cells) c
      WHERE e.table_id = ? AND e.row_id = ?`;
  const indexBySeq = new Map(columns.map(({ seq }, index) => [seq, index]));
  for (const { rowId, isDeleted } of edits) {
    if (isDeleted === 1) {
      known.delete(rowId);
      continue;
    }
    const values: Exact[] = [...(known.get(rowId) ?? columns.map(() => null))];
    for (const [seq, json] of queryRows(from, cells, [tableId, rowId])) {
      const index = indexBySeq.get(Number(seq));
      if (index !== undefined) values[index] = exactFromText(String(json));
    }
    known.set(rowId, values);
  }
  return known;
}

/** Whether whoever changes a value of a column is named in the row. */
function isStamped(column: Column | undefined): boolean {
  return column !== undefined && !movesUnstamped({ kind: column.kind, readOnly: column.writable === 0 });
}

class Flush {
  readonly #db: Connection;
  readonly #table: NotedTable;
  readonly #at: number;
  readonly #wasIds: ReadonlyMap<string, number>;
  readonly #provenAt: ReadonlyMap<number, number | null>;
  /** When the origin was last asked for all that it stamps as changed; null for never. */
  readonly #followedAt: number | null;
  readonly #isFiltered: boolean;
  readonly #stampIndex: number;
  readonly #byIndex: number;

  constructor(db: Connection, table: NotedTable, { at, wasIds }: { at: number; wasIds: ReadonlyMap<string, number> }) {
    this.#db = db;
    this.#table = table;
    this.#at = at;
    this.#wasIds = wasIds;
    this.#provenAt = readDoubts(db, table.id, [...table.rows.keys()]);
    const text = sql`SELECT unixepoch(followed_at), coalesce(rows_filter, rows_wanted) IS NOT NULL FROM _rowsync_tables WHERE id = ?`;
    const [followedAt, isFiltered] = db.prepare(text).raw().get(table.id) as [number | null, 0 | 1]; // as selected
    this.#followedAt = followedAt;
    this.#isFiltered = isFiltered === 1;
    this.#stampIndex = table.columns.findIndex(({ kind }) => kind === 'DateModified');
    this.#byIndex = table.columns.findIndex(({ kind }) => kind === 'LastModifiedBy');
  }

  write(): void {
    const { id, localName, columns, rows } = this.#table;
    const ids = [...rows.keys()];
    const now = readVersions(this.#db, localName, columns, ids);
    const lastSeq = queryNumber(this.#db, sql`SELECT coalesce(max(seq), 0) FROM _rowsync_history`);
    for (const [rowId, { known, found, cause }] of rows) {
      this.#entry(rowId, { before: known, after: found }, { ...cause, cause: 'edit' });
      this.#entry(rowId, { before: found, after: now.get(rowId) ?? null }, cause);
    }
    if (this.#table.hasBase) this.#keepEdits(ids, now);
    this.#db.prepare(ADD_BYTES).run(lastSeq, { id });
  }

  #entry(
    rowId: number,
    { before, after }: { readonly before: Version; readonly after: Version },
    why: ChangeCause,
  ): void {
    const { id, columns } = this.#table;
    if (before === null && after === null) return;
    const cells = diffVersions(before, after);
    const kind = before === null ? 'insert' : after === null ? 'delete' : 'update';
    if (cells.length === 0 && kind === 'update') return;
    const cause = why.cause === 'pull' ? this.#causeOfPulled(rowId, kind, cells) : why.cause;
    const isOfOrigin = cause === 'pull' || cause === 'push' || cause === 'filter';
    const stamp = isOfOrigin ? this.#stampOf(after) : null;
    const isStampMoved = cells.some(({ index }) => index === this.#stampIndex);
    const { notBefore, notAfter } = this.#intervalOf(rowId, cause, isStampMoved ? stamp : null);
    // Where only formulas and the like moved, without a stamp, the row names the author of the change before.
    const isAuthored = isStampMoved || cells.some(({ index }) => isStamped(columns[index]));
    const by = isOfOrigin && isAuthored ? (after?.[this.#byIndex] ?? null) : null;
    const texts = cells.map(
      (cell) => `[${columns[cell.index]?.seq ?? 0},${exactText(cell.before)},${exactText(cell.after)}]`,
    );
    const entry = { id, rowId, kind, cause, at: this.#at, notBefore, notAfter, stamp };
    this.#db.prepare(ADD_ENTRY).run({
      ...entry,
      by: typeof by === 'string' ? by : null,
      runId: why.runId,
      wasId: kind === 'insert' ? (this.#wasIds.get(`${id} ${rowId}`) ?? null) : null,
      cells: `[${texts.join(',')}]`,
    });
  }

  /**
   * When at least one change happened, both ends included, as far as anything tells. At the origin: after the row was
   * last known to be equal to what is here, and not after the answer that brought the change. The origin's own stamp
   * narrows that where it moved with the change (`stampedAt`) and lies inside.
   */
  #intervalOf(
    rowId: number,
    cause: Cause,
    stampedAt: number | null,
  ): { readonly notBefore: number | null; readonly notAfter: number } {
    const [at, followedAt, { provenAt, capturedAt }] = [this.#at, this.#followedAt, this.#table.history];
    if (cause === 'edit') return { notBefore: atMost(capturedAt, at), notAfter: at };
    if (cause === 'schema' || cause === 'filter') return { notBefore: null, notAfter: at };
    if (cause === 'decision' || cause === 'discard' || cause === 'restore') return { notBefore: at, notAfter: at };
    const doubt = this.#provenAt.get(rowId);
    const notBefore = atMost(doubt === undefined ? provenAt : doubt, at);
    const isInside = stampedAt !== null && stampedAt <= at && (notBefore === null || stampedAt >= notBefore);
    if (!isInside) return { notBefore, notAfter: at };
    // An earlier stamp would have been read then.
    const isBehind = followedAt !== null && stampedAt > followedAt;
    return { notBefore: isBehind ? Math.max(followedAt, notBefore ?? followedAt) : notBefore, notAfter: stampedAt };
  }

  /** A new row may be old behind a filter, and values that fill a new column are no change at the origin. */
  #causeOfPulled(rowId: number, kind: string, cells: readonly CellChange[]): Cause {
    if (kind === 'insert' && rowId > 0 && this.#isFiltered) return 'filter';
    return kind === 'update' && this.#isFilling(cells) ? 'schema' : 'pull';
  }

  /** Whether a change only fills columns that were added, or came back, since the table was last read whole. */
  #isFilling(cells: readonly CellChange[]): boolean {
    const { columns, history } = this.#table;
    const { provenAt } = history;
    if (provenAt === null) return false;
    return cells.every(({ index }) => (columns[index]?.since ?? 0) > provenAt);
  }

  #stampOf(version: Version): number | null {
    const stamp = version?.[this.#stampIndex] ?? null;
    const ms = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN;
    return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
  }

  /** Remembers what differs from the base from now on. */
  #keepEdits(ids: readonly number[], now: ReadonlyMap<number, Version>): void {
    const { id, columns } = this.#table;
    const bases = readVersions(this.#db, baseName(id), columns, ids);
    this.#db.prepare(FORGET_EDITS).run(id, JSON.stringify(ids));
    const keep = this.#db.prepare(ADD_EDIT);
    for (const rowId of ids) {
      const here = now.get(rowId) ?? null;
      const base = bases.get(rowId) ?? null;
      if (isSameVersion(here, base)) continue;
      const cells = diffVersions(base, here).map(
        ({ index, after }) => `[${columns[index]?.seq ?? 0},${exactText(after)}]`,
      );
      keep.run(id, rowId, here === null ? null : `[${cells.join(',')}]`);
    }
  }
}

/** When rows were proven last that the last finished sweep did not prove. */
function readDoubts(from: Connection, tableId: number, ids: readonly number[]): ReadonlyMap<number, number | null> {
  const text = sql`SELECT row_id, proven_at FROM _rowsync_history_doubts
      WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  const rows = from.prepare(text).raw().all(tableId, JSON.stringify(ids));
  return new Map(rows as [number, number | null][]); // the columns just listed
}

/** A clock that was set back must not turn an interval round. */
function atMost(bound: number | null, at: number): number | null {
  return bound === null || bound <= at ? bound : null;
}

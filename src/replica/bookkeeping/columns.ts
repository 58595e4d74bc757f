/**
 * The columns of user tables, with the names, types and rights that the origin described last. Their numbers (`seq`)
 * are never reused, since conflicts and the history refer to columns by them.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql, type Sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { type ColumnDescriptor, type ColumnType, columnType, isWritable, type Mask } from '../../wire/schema.ts';
import { oncePerSchema } from '../schema-objects.ts';
import { queryAll, queryNumber, withFlags } from '../query.ts';

/**
 *    type            as the origin spells it; value_form is the ColumnType that we read it with
 *    stored_as       TEXT, INTEGER or ANY
 *    writable        1 where the caller may write it at the origin; the view says 0 of an autonumber: new rows only
 *    state           live · removed (no longer described, keeps its last values) · aside (replaced by another form)
 *    mask            JSON: how its values are masked, and by which configured pattern (wire/mask.ts); null for neither
 */
export const COLUMNS = sql`
  CREATE TABLE _rowsync_columns (
    seq INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, id INTEGER NOT NULL,
    name TEXT NOT NULL, alias TEXT NOT NULL, local_name TEXT NOT NULL,
    type TEXT NOT NULL, value_form TEXT NOT NULL, stored_as TEXT NOT NULL,
    kind TEXT, writable INTEGER NOT NULL, width INTEGER, options TEXT NOT NULL, position INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'removed', 'aside')), since TEXT NOT NULL, mask TEXT,
    UNIQUE (table_id, local_name)
  ) STRICT`;

export const COLUMNS_VIEW = sql`
  CREATE VIEW sync_columns AS
  SELECT t.local_name AS "table", c.local_name AS "column", t.name AS origin_table, c.name AS origin_column,
         c.type, c.stored_as, c.kind, c.writable AND c.value_form <> 'Autonumber' AS writable,
         c.width, c.options, c.state, c.since, c.id AS origin_id, json_extract(c.mask, '$.kind') AS mask
  FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id`;

export interface ColumnRecord {
  /** Its number; tells a column set aside from the one that replaced it. */
  readonly seq: number;
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  readonly localName: string;
  readonly type: ColumnType;
  /** The type as the origin spells it. */
  readonly spelling: string;
  readonly state: 'live' | 'removed' | 'aside';
  /** The calling user may write it at the origin. */
  readonly writable: boolean;
  /** Longest text in characters, null where there is no bound. */
  readonly width: number | null;
  /** Options as the origin names them, such as Required; separated by commas. */
  readonly options: string;
  /** As the origin names it, such as Key; null if it sends none. */
  readonly kind: string | null;
  readonly position: number;
  /** How its values are masked; null where they are not. */
  readonly mask: Mask | null;
}

/** A table with its columns, in the order of a row's values. */
export interface ColumnedTable {
  readonly id: number;
  readonly columns: readonly Pick<ColumnRecord, 'seq' | 'name' | 'localName'>[];
}

/** Whether the origin now accepts other values in a column. */
export function areRulesChanged(known: readonly ColumnRecord[], columns: readonly ColumnRecord[]): boolean {
  const ruleOf = ({ width, options, writable }: ColumnRecord): string => JSON.stringify([width, options, writable]);
  const before = new Map(known.map((column) => [column.seq, ruleOf(column)]));
  return columns.some((column) => (before.get(column.seq) ?? ruleOf(column)) !== ruleOf(column));
}

/** The columns of each table, as of a `data_version`, which other connections change; `changeColumns` clears it. */
const readKnown = oncePerSchema(() => new Map<number, { version: number; columns: readonly ColumnRecord[] }>(), {
  lasts: true,
});

/** A statement that changes lines of columns. */
export function changeColumns(tx: Tx, text: Sql): ReturnType<Tx['prepare']> {
  readKnown(tx).clear();
  return tx.prepare(text);
}

/** The columns of a table in order, also those no longer described; the same array while nothing changes. */
export function readColumns(from: Connection, tableId: number): readonly ColumnRecord[] {
  const [known, version] = [readKnown(from), queryNumber(from, sql`PRAGMA data_version`)];
  const before = known.get(tableId);
  if (before?.version === version) return before.columns;
  const now = selectColumns(from, tableId);
  const columns = before !== undefined && isDeepStrictEqual(before.columns, now) ? before.columns : now;
  known.set(tableId, { version, columns });
  return columns;
}

function selectColumns(from: Connection, tableId: number): readonly ColumnRecord[] {
  const text = sql`SELECT seq, id, name, alias, local_name AS localName, value_form AS type, type AS spelling, state, writable, width, options, kind,
        position, mask
      FROM _rowsync_columns WHERE table_id = +? ORDER BY position, seq`;
  return queryAll(from, text, [tableId]).map((row) => {
    const column = withFlags(row, 'writable') as Omit<ColumnRecord, 'mask'> & { mask: string | null }; // as selected
    return { ...column, mask: column.mask === null ? null : (JSON.parse(column.mask) as Mask) }; // written as such a one
  });
}

/** A column as it is described, with its name here and its place among the others. */
export interface DescribedColumn {
  readonly descriptor: ColumnDescriptor;
  readonly localName: string;
  readonly position: number;
}

/** Stores columns that were just added to a user table, as live and as described. */
export function storeNewColumns(tx: Tx, tableId: number, columns: readonly DescribedColumn[], at: string): void {
  const insert = changeColumns(
    tx,
    sql`INSERT INTO _rowsync_columns (seq, table_id, id, name, alias, local_name, type, value_form, stored_as, kind, writable,
          width, options, position, state, since, mask)
        VALUES (@seq, @tableId, @id, @name, @alias, @localName, @spelling, @type, @storedAs, @kind, @writable, @width, @options,
          @position, 'live', @at, @mask)`,
  );
  const lastSeq = readLastSeq(tx);
  for (const [index, column] of columns.entries()) {
    const facts = storedFacts(column);
    insert.run({ ...facts, tableId, at, seq: BigInt(lastSeq + 1 + index), storedAs: TYPE_RULES[facts.type].storedAs });
  }
}

/** Stores how columns of a table are described now. */
export function describeColumns(tx: Tx, tableId: number, columns: readonly DescribedColumn[]): void {
  const live = readColumns(tx, tableId).filter(({ state }) => state === 'live');
  const known = new Map(live.map((column) => [column.localName, column]));
  const text = sql`UPDATE _rowsync_columns SET name = @name, alias = @alias, type = @spelling, value_form = @type, kind = @kind,
          writable = @writable, width = @width, options = @options, position = @position, mask = @mask
        WHERE table_id = @tableId AND id = @id AND state = 'live' AND local_name = @localName`;
  for (const column of columns) {
    const before = known.get(column.localName);
    if (isDeepStrictEqual({ ...before, ...factsOf(column) }, before)) continue;
    changeColumns(tx, text).run({ ...storedFacts(column), tableId });
  }
}

function factsOf({ descriptor, position }: DescribedColumn) {
  const { id, name, alias, type: spelling, kind, width, dataOptions, mask = null } = descriptor;
  const [type, writable, options] = [columnType(spelling), isWritable(descriptor), dataOptions.join(', ')];
  return { id, name, alias, type, spelling, writable, width, options, kind, position, mask };
}

/** The parameters that store a column's description. */
function storedFacts(column: DescribedColumn) {
  const { writable, mask, ...facts } = factsOf(column);
  const maskText = mask === null ? null : JSON.stringify(mask);
  return { ...facts, localName: column.localName, writable: writable ? 1 : 0, mask: maskText };
}

export function storeColumnState(tx: Tx, seq: number, state: ColumnRecord['state'], at: string): void {
  changeColumns(tx, sql`UPDATE _rowsync_columns SET state = ?, since = ? WHERE seq = ?`).run(state, at, seq);
}

/** The largest number that any column has had, also a pruned one: what is kept of a column must not name another. */
function readLastSeq(from: Connection): number {
  return queryNumber(
    from,
    sql`SELECT max((SELECT coalesce(max(seq), 0) FROM _rowsync_columns),
            (SELECT coalesce(max(column_seq), 0) FROM _rowsync_conflicts),
            (SELECT coalesce(max(column_seq), 0) FROM _rowsync_history_names),
            (SELECT coalesce(max(json_extract(cell.value, '$[0]')), 0)
              FROM _rowsync_batches b, json_each(b.rows) line, json_each(line.value, '$[2]') cell))`,
  );
}

export function storeColumnName(tx: Tx, seq: number, localName: string): void {
  changeColumns(tx, sql`UPDATE _rowsync_columns SET local_name = ? WHERE seq = ?`).run(localName, seq);
}

export function forgetColumnLine(tx: Tx, seq: number): void {
  changeColumns(tx, sql`DELETE FROM _rowsync_columns WHERE seq = ?`).run(seq);
}

/**
 * The comparison of a two-way table with its base, which is the truth about what a user edited: triggers alone lose edits
 * (`INSERT OR REPLACE` deletes rows without a trigger, GUI tools rebuild tables without theirs). Input: the two tables. Output: ids of rows
 * that differ, or marks on them in `_rowsync_rows`. `IS NOT` compares exactly; one number spelled in two ways counts as
 * different here and is settled by whoever reads the values (capture/changes.ts).
 */
import type { Connection, Tx } from './connection.ts';
import type { RowTarget } from './rows.ts';
import { ident, sql, type Sql } from './sql.ts';
import { baseName, rowsDiffer } from './tables.ts';
import { hasForeignTriggers } from './objects.ts';

/** The base table of a two-way table, as rows are read and written. */
export function baseTarget(target: RowTarget): RowTarget {
  let base = baseTargets.get(target);
  if (base === undefined)
    baseTargets.set(target, (base = { ...target, keptColumns: [], localName: baseName(target.id) }));
  return base;
}

/** Kept, so that statements over a base table are made once per target. */
const baseTargets = new WeakMap<RowTarget, RowTarget>();

/** Whether the columns of `l` (local) and `b` (base) differ. */
function differs(target: RowTarget): Sql {
  return rowsDiffer(target.columns, sql`l`, sql`b`);
}

/** Those of the given rows that stand in one of the two tables only, or differ. */
export function readDifferingIds(from: Connection, target: RowTarget, ids: readonly number[]): readonly number[] {
  return from
    .prepare(
      sql`SELECT i.value FROM json_each(?) i
          LEFT JOIN ${ident(target.localName)} l ON l._id = i.value
          LEFT JOIN ${ident(baseName(target.id))} b ON b._id = i.value
          WHERE (l._id IS NULL) <> (b._id IS NULL) OR ${differs(target)}`,
    )
    .pluck()
    .all(JSON.stringify(ids)) as number[]; // the ids just given
}

/** Ids of all rows that differ from their base or stand in one of the two tables only, whatever the marks say; in order. */
export function readAllDifferingIds(from: Connection, target: RowTarget): readonly number[] {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  return from
    .prepare(
      sql`SELECT b._id AS id FROM ${base} b LEFT JOIN ${local} l ON l._id = b._id WHERE l._id IS NULL OR ${differs(target)}
          UNION ALL SELECT l._id FROM ${local} l WHERE NOT EXISTS (SELECT 1 FROM ${base} b WHERE b._id = l._id)
          ORDER BY id`,
    )
    .pluck()
    .all() as number[]; // ids are INTEGERs within 53 bits
}

/** Ids above `above` and up to `upTo`. */
export interface IdRange {
  readonly above: number;
  readonly upTo: number;
}

const ALL_IDS: IdRange = { above: Number.MIN_SAFE_INTEGER, upTo: Number.MAX_SAFE_INTEGER };

/** Marks every row that differs from its base and has no mark yet; returns how many were found. */
export function markDiffering(tx: Tx, target: RowTarget, at: string): number {
  return markDifferingIn(tx, target, ALL_IDS, at) + markForeign(tx, target, at);
}

/** The same for rows of a range, but for those that stand under ids which the origin never gave (`markForeign`). */
export function markDifferingIn(tx: Tx, target: RowTarget, { above, upTo }: IdRange, at: string): number {
  const local = ident(target.localName);
  const range = { above: BigInt(above), upTo: BigInt(upTo) };
  // One pass over both tables finds edits and deletes; rows that were inserted here have negative ids.
  const editedCount = mark(
    tx,
    sql`SELECT @tableId, b._id, 'edited', unixepoch(@at) FROM ${ident(baseName(target.id))} b
        LEFT JOIN ${local} l ON l._id = b._id
        WHERE b._id > @above AND b._id <= @upTo AND (l._id IS NULL OR ${differs(target)})`,
    { tableId: target.id, at, ...range },
  );
  const insertedCount = mark(
    tx,
    sql`SELECT @tableId, l._id, 'edited', unixepoch(@at) FROM ${local} l
        WHERE l._id < 0 AND l._id > @above AND l._id <= @upTo`,
    { tableId: target.id, at, ...range },
  );
  return editedCount + insertedCount;
}

/** Marks rows that stand here under ids which the origin never gave, once all others are marked; returns how many. */
export function markForeign(tx: Tx, target: RowTarget, at: string): number {
  if (!hasForeignRows(tx, target)) return 0;
  return mark(
    tx,
    sql`SELECT @tableId, l._id, 'edited', unixepoch(@at) FROM ${ident(target.localName)} l
        WHERE l._id >= 0 AND NOT EXISTS (SELECT 1 FROM ${ident(baseName(target.id))} b WHERE b._id = l._id)`,
    { tableId: target.id, at },
  );
}

function mark(tx: Tx, rows: Sql, values: Readonly<Record<string, number | bigint | string>>): number {
  const text = sql`INSERT INTO _rowsync_rows (table_id, row_id, state, since) ${rows}
      ON CONFLICT (table_id, row_id) DO NOTHING`;
  return tx.prepare(text).run(values).changes;
}

/** The id that so many rows of the base lie above `above` and up to; null where there are fewer. */
export function readStepEnd(from: Connection, target: RowTarget, above: number, rowCount: number): number | null {
  const id = from
    .prepare(
      sql`SELECT _id FROM ${ident(baseName(target.id))} WHERE _id > @above ORDER BY _id LIMIT 1 OFFSET @rowCount`,
    )
    .pluck()
    .get({ above: BigInt(above), rowCount: BigInt(rowCount - 1) });
  return id === undefined ? null : Number(id);
}

/**
 * Whether rows stand here under ids of the origin's that it never gave. Found by counting, which costs a fraction of looking up
 * each row: the rows here must be those of the base without the deleted ones, which are all marked by now.
 */
function hasForeignRows(from: Connection, target: RowTarget): boolean {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  return (
    from
      .prepare(
        sql`SELECT (SELECT count(*) FROM ${local}) - (SELECT count(*) FROM ${local} WHERE _id < 0)
            <> (SELECT count(*) FROM ${base}) - (
              SELECT count(*) FROM _rowsync_rows r JOIN ${base} b ON b._id = r.row_id
              WHERE r.table_id = ? AND NOT EXISTS (SELECT 1 FROM ${local} l WHERE l._id = r.row_id))`,
      )
      .pluck()
      .get(target.id) === 1
  );
}

/** Drops the marks in the given states from rows that are equal to their base, or stand in neither table. */
export function dropEqualMarks(tx: Tx, target: RowTarget, states: readonly string[]): void {
  tx.prepare(
    sql`DELETE FROM _rowsync_rows WHERE table_id = @tableId AND state IN (SELECT value FROM json_each(@states))
          AND row_id NOT IN (
            SELECT r.row_id FROM _rowsync_rows r
            LEFT JOIN ${ident(target.localName)} l ON l._id = r.row_id
            LEFT JOIN ${ident(baseName(target.id))} b ON b._id = r.row_id
            WHERE r.table_id = @tableId AND ((l._id IS NULL) <> (b._id IS NULL) OR ${differs(target)}))`,
  ).run({ tableId: target.id, states: JSON.stringify(states) });
}

/** Ids of rows that stand here without being known to the origin although their id is not one of ours. */
export function readForeignIds(from: Connection, target: RowTarget): readonly number[] {
  return from
    .prepare(
      sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(target.localName)} l ON l._id = r.row_id
          LEFT JOIN ${ident(baseName(target.id))} b ON b._id = r.row_id
          WHERE r.table_id = ? AND b._id IS NULL AND (r.row_id >= 0 OR r.row_id = -1)`,
    )
    .pluck()
    .all(target.id) as number[]; // row_id is an INTEGER within 53 bits
}

/**
 * Whether triggers see every edit of a table: not where a unique index lets REPLACE remove a neighbour unseen, nor where somebody
 * else's trigger may change rows while ours are switched off.
 */
export function areMarksReliable(from: Connection, target: RowTarget): boolean {
  if (hasForeignTriggers(from)) return false;
  const unique = from.prepare(sql`SELECT 1 FROM pragma_index_list(?) WHERE "unique" = 1 LIMIT 1`).get(target.localName);
  return unique === undefined;
}

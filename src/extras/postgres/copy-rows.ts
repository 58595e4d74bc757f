/**
 * Writes rows into a table of the target. COPY brings them into a temporary table; from there, only rows that differ
 * are written. A needless update would cost standbys and logical replication as much as a real one.
 */
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { PgType } from '../shared/pg-columns.ts';
import type { SourceRow } from '../shared/confirmed-rows.ts';
import type { PgConnection } from './connection.ts';
import type { SinkSettings } from './context.ts';
import { sentColumnNames, type SentTable } from './shape-tables.ts';
import type { PgSchema } from './bookkeeping.ts';
import { copyLine } from '../shared/pg-copy-text.ts';

export interface CopyTarget {
  readonly session: PgConnection;
  readonly target: PgSchema;
  readonly deletes: SinkSettings['deletes'];
}

/** A cell that PostgreSQL cannot hold as it is. */
export interface ReplacedCell {
  readonly rowId: string;
  readonly column: string;
  readonly why: string;
}

const OWN_TYPES: readonly PgType[] = ['bigint', 'text'];

/** Rows as COPY reads them, as one text; what was replaced is added to `replaced`. */
export function copyRowsText(table: SentTable, rows: Iterable<SourceRow>, replaced: ReplacedCell[]): string {
  const types = [...OWN_TYPES, ...table.columns.map(({ type }) => type)];
  const lines: string[] = [];
  for (const row of rows) {
    const line = copyLine(row, types, ({ column, why }) => {
      replaced.push({ rowId: String(row[0]), column: table.columns[column - 2]?.name ?? '_allow', why });
    });
    lines.push(line);
  }
  return lines.join('');
}

/** Lists the replaced values in rows of a table, in place of the former list of these rows; null for all rows. */
export async function listReplaced(
  { session, target }: CopyTarget,
  table: SentTable,
  ids: readonly number[] | null,
  replaced: readonly ReplacedCell[],
): Promise<void> {
  const isMeant = sql`table_id = $1 AND ($2::bigint[] IS NULL OR row_id = ANY ($2::bigint[]))`;
  await session.query(sql`DELETE FROM ${target.replaced} WHERE ${isMeant}`, [table.id, ids]);
  if (replaced.length === 0) return;
  await session.query(
    sql`INSERT INTO ${target.replaced} (table_id, "table", row_id, "column", why)
        SELECT $1::bigint, $2::text, * FROM unnest($3::bigint[], $4::text[], $5::text[]) ON CONFLICT DO NOTHING`,
    [
      table.id,
      table.name,
      replaced.map(({ rowId }) => rowId),
      replaced.map(({ column }) => column),
      replaced.map(({ why }) => why),
    ],
  );
}

/** `INSERT … ON CONFLICT`, which writes only what differs. */
export function mergeSql(
  { target, deletes }: Pick<CopyTarget, 'target' | 'deletes'>,
  names: {
    readonly into: string;
    readonly from: Sql;
    readonly key: Sql;
    readonly columns: readonly Sql[];
  },
): Sql {
  const { into, from, key, columns } = names;
  const others = columns.filter((name) => name !== key);
  const isKept = deletes === 'keep';
  const sets = [...others.map((name) => sql`${name} = excluded.${name}`), ...(isKept ? [sql`_deleted_at = NULL`] : [])];
  const here = joinSql([...others.map((name) => sql`here.${name}`), ...(isKept ? [sql`here._deleted_at`] : [])]);
  const there = joinSql([...others.map((name) => sql`excluded.${name}`), ...(isKept ? [sql`NULL::timestamptz`] : [])]);
  return sql`INSERT INTO ${target.of(into)} AS here (${joinSql(columns)}) SELECT ${joinSql(columns)} FROM ${from}
    ON CONFLICT (${key}) DO UPDATE SET ${joinSql(sets)} WHERE (${here}) IS DISTINCT FROM (${there})`;
}

/** Writes rows as they are now, and deletes missing ones. */
export async function applyRows(
  sending: CopyTarget,
  table: SentTable,
  given: { readonly rows: readonly SourceRow[]; readonly gone: readonly number[] },
): Promise<void> {
  const { rows, gone } = given;
  const { session } = sending;
  const ids = rows.map(([id]) => Number(id));
  const replaced: ReplacedCell[] = [];
  if (rows.length > 0) {
    const names = sentColumnNames(table);
    const from = await freshTable(sending, table);
    await session.copy(sql`COPY ${from} (${joinSql(names)}) FROM STDIN`, [copyRowsText(table, rows, replaced)]);
    await session.query(mergeSql(sending, { into: table.name, from, key: sql`_id`, columns: names }));
  }
  if (gone.length > 0) await session.query(removalSql(sending, table, sql`_id = ANY ($1::bigint[])`), [gone]);
  await listReplaced(sending, table, [...ids, ...gone], replaced);
}

/** An empty temporary table for rows of a table. */
export function freshTable({ session, target }: CopyTarget, { id, name }: SentTable): Promise<Sql> {
  return freshTemporary(session, `_rowsync_in_${id}`, target.of(name));
}

/** An empty table with the columns of another one, until the transaction ends. */
export async function freshTemporary(session: PgConnection, name: string, like: Sql): Promise<Sql> {
  const [here, temporary] = [ident(name), sql`pg_temp.${ident(name)}`];
  const create = sql`CREATE TEMPORARY TABLE IF NOT EXISTS ${here} (LIKE ${like}) ON COMMIT DROP`;
  await session.query(sql`${create}; TRUNCATE ${temporary}`);
  return temporary;
}

/** Makes a table equal to a temporary one. Views and rights of others stay with the table. */
export async function makeEqual(sending: CopyTarget, table: SentTable, from: Sql): Promise<void> {
  const { session } = sending;
  await session.query(mergeSql(sending, { into: table.name, from, key: sql`_id`, columns: sentColumnNames(table) }));
  await session.query(removalSql(sending, table, sql`NOT EXISTS (SELECT 1 FROM ${from} s WHERE s._id = here._id)`));
}

/** Removes rows that are gone, or notes when they went. */
function removalSql({ target, deletes }: CopyTarget, { name }: SentTable, isGone: Sql): Sql {
  return deletes === 'remove'
    ? sql`DELETE FROM ${target.of(name)} AS here WHERE ${isGone}`
    : sql`UPDATE ${target.of(name)} AS here SET _deleted_at = now() WHERE _deleted_at IS NULL AND ${isGone}`;
}

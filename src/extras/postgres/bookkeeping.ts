/**
 * Our bookkeeping in PostgreSQL, beside the tables of the target: the cursor, the progress of each table, and our
 * columns. The cursor moves in the transaction that stores the rows, so a crash cannot separate them.
 *
 *    _rowsync_cursor    one row: the series of batches, the last changed line that is stored, whose replica writes
 *    _rowsync_tables    seq: everything of the table up to this line is stored (LEVEL: as far as the cursor), null
 *                       before
 *                       its first load; whole: the line from which all of it was last loaded, null where it has to be
 *    _rowsync_columns   our columns by table and column id of the origin
 *    sync_replaced      cells that PostgreSQL cannot hold as they are
 */
import { ident, sql, type Sql } from '../../base/sql.ts';
import { PG_TYPES, type PgColumn, type PgType } from '../shared/pg-columns.ts';
import type { TargetPlace } from './cursor.ts';
import type { PgConnection } from './connection.ts';

/** The place of a table that is level with the cursor, which then moves alone. Larger than any line. */
export const LEVEL = Number.MAX_SAFE_INTEGER;

export interface TablePlace {
  readonly tableId: number;
  readonly name: string;
  readonly seq: number | null;
  readonly loadedSeq: number | null;
}

export interface Relation {
  readonly name: string;
  /** Its table at the origin, by the name of its primary key; null where rowsync did not make it. */
  readonly tableId: number | null;
  readonly columns: readonly string[];
}

/** Quoted names in a sink's schema, which the option `postgres.schema` (settings.ts) chooses. */
export function pgSchema(schema: string) {
  const of = (name: string): Sql => sql`${ident(schema)}.${ident(name)}`;
  return {
    schema,
    of,
    cursor: of('_rowsync_cursor'),
    tables: of('_rowsync_tables'),
    columns: of('_rowsync_columns'),
    replaced: of('sync_replaced'),
  };
}

export type PgSchema = ReturnType<typeof pgSchema>;

export const TYPE_SQL: Readonly<Record<PgType, Sql>> = {
  text: sql`text`,
  boolean: sql`boolean`,
  numeric: sql`numeric`,
  date: sql`date`,
  time: sql`time`,
  timestamptz: sql`timestamptz`,
  bigint: sql`bigint`,
};

/** The name of the primary key that marks a table as ours; it survives renames, comments, and a dump with restore. */
export function keyName(tableId: number): string {
  return `_rowsync_pk_${tableId}`;
}

export async function isThere(session: PgConnection, relation: Sql): Promise<boolean> {
  const [row] = await session.query(sql`SELECT to_regclass($1) IS NOT NULL AS found`, [relation]);
  return row?.['found'] === true;
}

export async function prepareTarget(session: PgConnection, target: PgSchema): Promise<void> {
  const [row] = await session.query(sql`SELECT to_regnamespace($1) IS NOT NULL AS found`, [ident(target.schema)]);
  if (row?.['found'] !== true) await session.query(sql`CREATE SCHEMA ${ident(target.schema)}`);
  for (const text of [
    sql`CREATE TABLE IF NOT EXISTS ${target.cursor} (
          lock int PRIMARY KEY CHECK (lock = 1), version int NOT NULL, epoch text NOT NULL, seq bigint NOT NULL, replica text NOT NULL,
          at timestamptz NOT NULL)`,
    sql`CREATE TABLE IF NOT EXISTS ${target.tables} (
          table_id bigint PRIMARY KEY, name text NOT NULL, seq bigint, whole bigint)`,
    sql`CREATE TABLE IF NOT EXISTS ${target.columns} (
          table_id bigint, seq bigint, origin_id bigint NOT NULL, name text NOT NULL, type text NOT NULL, PRIMARY KEY (table_id, seq))`,
    sql`CREATE TABLE IF NOT EXISTS ${target.replaced} (
          table_id bigint, row_id bigint, "column" text, "table" text NOT NULL, why text NOT NULL, PRIMARY KEY (table_id, row_id, "column"))`,
  ]) {
    await session.query(text);
  }
}

/** The cursor of the target, locked until the transaction ends; null if nothing was ever written. */
export async function readCursor(
  session: PgConnection,
  target: PgSchema,
): Promise<(TargetPlace & { readonly replica: string }) | null> {
  const [row] = await session.query(sql`SELECT epoch, seq, replica FROM ${target.cursor} FOR UPDATE`);
  return row === undefined
    ? null
    : { epoch: String(row['epoch']), seq: Number(row['seq']), replica: String(row['replica']) };
}

/** Begins a new series of batches: every table has to be compared as a whole, and stays as it is until then. */
export async function beginSeries(
  session: PgConnection,
  target: PgSchema,
  { epoch, seq, replica }: { readonly epoch: string; readonly seq: number; readonly replica: string },
): Promise<void> {
  await session.query(
    sql`INSERT INTO ${target.cursor} (lock, version, epoch, seq, replica, at) VALUES (1, 1, $1, $2, $3, now())
        ON CONFLICT (lock) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, replica = excluded.replica, at = now()`,
    [epoch, seq, replica],
  );
  // Numbers of history entries are only meaningful for the file that they come from.
  const history = target.of('sync_history');
  if (await isThere(session, history)) await session.query(sql`DELETE FROM ${history}`);
  await session.query(sql`UPDATE ${target.tables} SET seq = NULL, whole = NULL`);
}

/** Has tables loaded again; until then, they get the rows that change. */
export async function forgetLoads(session: PgConnection, target: PgSchema, tableIds: readonly number[]): Promise<void> {
  await session.query(sql`UPDATE ${target.tables} SET whole = NULL WHERE table_id = ANY ($1::bigint[])`, [tableIds]);
}

/** Moves the cursor; false if another process moved it. */
export async function moveCursor(
  session: PgConnection,
  target: PgSchema,
  { epoch, from, to }: { readonly epoch: string; readonly from: number; readonly to: number },
): Promise<boolean> {
  const text = sql`UPDATE ${target.cursor} SET seq = $1, at = now() WHERE epoch = $2 AND seq = $3`;
  return (await session.change(text, [to, epoch, from])) === 1;
}

export async function readPlaces(session: PgConnection, target: PgSchema): Promise<readonly TablePlace[]> {
  const rows = await session.query(sql`SELECT * FROM ${target.tables} ORDER BY table_id`);
  return rows.map((row) => ({
    tableId: Number(row['table_id']),
    name: String(row['name']),
    seq: numberOf(row['seq']),
    loadedSeq: numberOf(row['whole']),
  }));
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export async function readRelations(session: PgConnection, { schema }: PgSchema): Promise<readonly Relation[]> {
  const rows = await session.query(
    sql`SELECT c.relname AS name, substring(k.conname FROM '^_rowsync_pk_([0-9]+)$') AS id,
          array(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
        WHERE n.nspname = $1 AND c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')`,
    [schema],
  );
  return rows.map((row) => ({
    name: String(row['name']),
    tableId: numberOf(row['id']),
    columns: [row['columns']].flat().map(String),
  }));
}

export async function readOwnColumns(
  session: PgConnection,
  target: PgSchema,
): Promise<ReadonlyMap<number, readonly PgColumn[]>> {
  const byTable = new Map<number, PgColumn[]>();
  for (const row of await session.query(
    sql`SELECT table_id, seq, origin_id, name, type FROM ${target.columns} ORDER BY table_id, seq`,
  )) {
    const id = Number(row['table_id']);
    const columns = byTable.get(id) ?? [];
    byTable.set(id, columns);
    columns.push({
      seq: Number(row['seq']),
      originId: Number(row['origin_id']),
      name: String(row['name']),
      type: PG_TYPES.find((type) => type === row['type']) ?? 'text',
    });
  }
  return byTable;
}

export async function storeOwnColumns(
  session: PgConnection,
  target: PgSchema,
  tableId: number,
  columns: readonly PgColumn[],
): Promise<void> {
  await session.query(sql`DELETE FROM ${target.columns} WHERE table_id = $1`, [tableId]);
  await session.query(
    sql`INSERT INTO ${target.columns} (table_id, seq, origin_id, name, type)
        SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[])`,
    [
      tableId,
      columns.map(({ seq }) => seq),
      columns.map(({ originId }) => originId),
      columns.map(({ name }) => name),
      columns.map(({ type }) => type),
    ],
  );
}

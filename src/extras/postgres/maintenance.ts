/**
 * Maintenance of a sink: checks rights, compares every cell with the replica, drops tables, prints grants. Only
 * `dropSink` changes anything in PostgreSQL.
 */
import { usageError } from '../../base/errors.ts';
import { ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import { blocksAbove } from '../../replica/query.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { readPlace } from '../shared/sinks.ts';
import { blockReader, readLines, type SourceRow } from '../shared/confirmed-rows.ts';
import { chosenSources } from './table-selection.ts';
import { copyRowsText } from './copy-rows.ts';
import { connect, type PgConnection } from './connection.ts';
import type { SinkSettings } from './context.ts';
import { sentColumnNames, sentTable, type SentTable } from './shape-tables.ts';
import { isThere, readOwnColumns, readRelations, pgSchema, type PgSchema } from './bookkeeping.ts';

/** What a check found; nothing was changed. */
export interface SinkCheck {
  readonly version: string;
  readonly isEncrypted: boolean;
  /** Rights that are missing, in words; empty where all are there. */
  readonly missing: readonly string[];
}

async function withTarget<T>(
  settings: SinkSettings,
  work: (session: PgConnection, target: PgSchema) => Promise<T>,
): Promise<T> {
  await using session = await connect(settings.address);
  return await work(session, pgSchema(settings.schema));
}

export function checkSink(settings: SinkSettings): Promise<SinkCheck> {
  return withTarget(settings, async (session, { schema }) => {
    const [row] = await session.query(
      sql`SELECT oid IS NULL AS absent, has_database_privilege(current_database(), 'CREATE') AS can_make,
            has_database_privilege(current_database(), 'TEMPORARY') AS can_temp,
            coalesce(has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE'), false) AS can_use,
            pg_is_in_recovery() AS is_standby, current_setting('server_encoding') AS encoding
          FROM (SELECT to_regnamespace($1)::oid AS oid) AS named`,
      [ident(schema)],
    );
    const encoding = String(row?.['encoding']);
    const missing = [
      ...(encoding === 'UTF8' ? [] : [`the database is in ${encoding}, and most texts go into UTF8 only`]),
      ...(row?.['is_standby'] === true ? ['the server is a standby, which takes no writes'] : []),
      ...(row?.['absent'] === true && row['can_make'] !== true
        ? [`the schema ${schema} is missing, and the user may not make it`]
        : []),
      ...(row?.['absent'] !== true && row?.['can_use'] !== true
        ? [`the user may not make tables in the schema ${schema}`]
        : []),
      ...(row?.['can_temp'] === true ? [] : ['the user may not make temporary tables']),
    ];
    return { version: session.version, isEncrypted: session.isEncrypted, missing };
  });
}

export interface TableComparison {
  readonly table: string;
  readonly rowCount: number;
  /** Ids of rows that differ, at most SHOWN_MAX. */
  readonly differing: readonly number[];
  readonly differingCount: number;
  /** Why it was not compared; null if it was. */
  readonly skipped: string | null;
}

const BLOCK_ROWS = 5_000;
/** Ids that are listed of a table. */
const SHOWN_MAX = 20;

/** Compares every cell of the named tables, or of all; rows that are on their way are left out. */
export function verifySink(
  settings: SinkSettings,
  path: string,
  names: readonly string[],
): Promise<readonly TableComparison[]> {
  return withTarget(settings, async (session, target) => {
    using reader = openReader(path);
    const sources = chosenSources(reader, settings);
    const chosen = sources.filter(({ table }) => names.length === 0 || names.includes(table.localName));
    const relations = await readRelations(session, target);
    const known = await readOwnColumns(session, target);
    const compared: TableComparison[] = [];
    for (const table of chosen.map(sentTable)) {
      const isFound = relations.some(({ tableId, name }) => tableId === table.id && name === table.name);
      const columns = new Set((known.get(table.id) ?? []).map(({ name }) => name));
      const isShaped = table.columns.every(({ name }) => columns.has(name));
      const skipped = isFound ? 'its columns are on their way' : 'it is not there yet';
      compared.push(
        isFound && isShaped
          ? await compareTable({ session, target, reader, settings }, table)
          : { table: table.name, rowCount: 0, differing: [], differingCount: 0, skipped },
      );
    }
    return compared;
  });
}

async function compareTable(
  parts: {
    readonly session: PgConnection;
    readonly target: PgSchema;
    readonly reader: ReplicaReader;
    readonly settings: SinkSettings;
  },
  table: SentTable,
): Promise<TableComparison> {
  const { session, target, reader, settings } = parts;
  const sent = readPlace(reader, settings.name)?.sent ?? 0;
  const differing: number[] = [];
  let after = 0n;
  let rowCount = 0;
  // Ends with the last block of rows here, which is compared with all further rows of the target.
  for (let isLast = false; !isLast;) {
    const from = after;
    const rows: readonly SourceRow[] = blockReader(reader, table.source)(after, BLOCK_ROWS);
    isLast = rows.length < BLOCK_ROWS;
    after = rows.at(-1)?.[0] ?? after;
    rowCount += rows.length;
    const found = await session.transact(async () => {
      await session.query(sql`CREATE TEMPORARY TABLE _rowsync_compared (LIKE ${target.of(table.name)}) ON COMMIT DROP`);
      const names = sentColumnNames(table);
      await session.copy(sql`COPY pg_temp._rowsync_compared (${joinSql(names)}) FROM STDIN`, [
        copyRowsText(table, rows, []),
      ]);
      return session.query(differenceSql(target, table, settings), [from.toString(), isLast ? null : after.toString()]);
    });
    differing.push(...found.map((row) => Number(row['id'])));
  }
  const moving = changedRowsSince(reader, table.id, sent);
  const real = differing.filter((id) => !moving.has(id));
  const differingCount = real.length;
  return { table: table.name, rowCount, differing: real.slice(0, SHOWN_MAX), differingCount, skipped: null };
}

function differenceSql(target: PgSchema, table: SentTable, { deletes }: SinkSettings): Sql {
  const names = sentColumnNames(table);
  const cells = (of: Sql): Sql => joinSql(names.map((name) => sql`${of}.${name}`));
  const live = deletes === 'keep' ? sql`AND _deleted_at IS NULL` : sql``;
  return sql`SELECT coalesce(here._id, there._id)::text AS id FROM pg_temp._rowsync_compared here
    FULL JOIN (SELECT * FROM ${target.of(table.name)} WHERE _id > $1::bigint AND ($2::bigint IS NULL OR _id <= $2::bigint) ${live}) there
      ON there._id = here._id
    WHERE here._id IS NULL OR there._id IS NULL OR (${cells(sql`here`)}) IS DISTINCT FROM (${cells(sql`there`)})`;
}

/** Rows of a table that were touched since `after`, whose differences may be on their way. */
function changedRowsSince(reader: ReplicaReader, tableId: number, start: number): ReadonlySet<number> {
  const blocks = blocksAbove(
    (after) => readLines(reader, Math.max(after, start), BLOCK_ROWS),
    ({ seq }) => seq,
  );
  const lines = [...blocks].flat().filter((line) => line.tableId === tableId);
  return new Set(lines.map(({ rowId }) => rowId));
}

const BOOKKEEPING = [
  '_rowsync_cursor',
  '_rowsync_tables',
  '_rowsync_columns',
  'sync_replaced',
  'sync_status',
  'sync_columns',
  'sync_files',
  'sync_history',
];

/**
 * Drops tables of a sink, or all of ours; returns their names. @throws RowsyncError `sink.inTheWay` for views on one.
 */
export function dropSink(settings: SinkSettings, names: readonly string[]): Promise<readonly string[]> {
  return withTarget(settings, async (session, target) => {
    if (!(await isThere(session, target.cursor))) return [];
    return session.transact(async () => {
      const relations = await readRelations(session, target);
      const ours = relations.filter(({ tableId }) => tableId !== null);
      const chosen = ours.filter(({ name }) => names.length === 0 || names.includes(name));
      const unknown = names.find((name) => !ours.some((relation) => relation.name === name));
      if (unknown !== undefined) {
        throw usageError(
          `rowsync made no table ${unknown} in the schema ${target.schema}`,
          'rowsync sink status lists them, by their names there.',
        );
      }
      for (const { name, tableId } of chosen) {
        await session.query(sql`DROP TABLE ${target.of(name)}`);
        for (const table of [target.tables, target.columns, target.replaced])
          await session.query(sql`DELETE FROM ${table} WHERE table_id = $1`, [tableId]);
      }
      const standing = new Set(relations.map(({ name }) => name));
      const bookkeeping = names.length > 0 ? [] : BOOKKEEPING.filter((name) => standing.has(name));
      for (const name of bookkeeping) await session.query(sql`DROP TABLE ${target.of(name)}`);
      return [...chosen.map(({ name }) => name), ...bookkeeping].toSorted();
    });
  });
}

/** The statements that let a role read the tables of a sink, those to come as well, and write none. */
export function grantStatements({ schema, address }: SinkSettings, role: string): readonly string[] {
  const [here, reader, owner] = [ident(schema), ident(role), ident(address.user)];
  return [
    sql`GRANT USAGE ON SCHEMA ${here} TO ${reader};`,
    sql`GRANT SELECT ON ALL TABLES IN SCHEMA ${here} TO ${reader};`,
    sql`ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA ${here} GRANT SELECT ON TABLES TO ${reader};`,
    sql`COMMENT ON SCHEMA ${here} IS ${literal('Written by rowsync from a hosted database. Read only: edits here are lost.')};`,
  ];
}

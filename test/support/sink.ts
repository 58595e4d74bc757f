/**
 * A replica with a sink, and the comparison of both sides cell by cell, which asks each side by itself and knows
 * nothing of how rows are sent.
 */
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { tableRules, type TableRules } from '../../src/config/table-patterns.ts';
import { silentLogger } from '../../src/base/log.ts';
import { ensureSinks } from '../../src/extras/shared/sinks.ts';
import type { PgAddress, SinkContext, SinkSettings } from '../../src/extras/postgres/context.ts';
import { SinkWriter } from '../../src/extras/postgres/sink.ts';
import type { PostgresServer } from './postgres.ts';
import type { Fixture } from './replica.ts';

const SINK = 'warehouse';

/** Every table. */
export const ALL_TABLES: TableRules = tableRules({ '*': {} });

/** The settings of a sink that takes everything. */
export function sinkSettings(address: PgAddress): SinkSettings {
  return { name: SINK, address, schema: 'crm', tables: ALL_TABLES, deletes: 'remove' };
}

/** A writer for the replica of a fixture; the file remembers the sink from now on. */
export async function openWriter(
  fixture: Fixture,
  address: PgAddress,
  options: Partial<SinkSettings> & Pick<SinkContext, 'onStep' | 'signal'> = {},
): Promise<SinkWriter> {
  await ensureSinks(fixture.replica, [SINK]);
  const { onStep, signal, ...settings } = options;
  return new SinkWriter({
    replica: fixture.replica,
    clock: systemClock,
    log: silentLogger,
    settings: { ...sinkSettings(address), ...settings },
    onStep,
    signal,
  });
}

type Cell = null | string | number | bigint;

/** Every table of the replica as the origin confirmed it, as texts: names, rows in order of their ids. */
export function replicaCells(path: string): Readonly<Record<string, readonly (readonly (string | null)[])[]>> {
  const db = new Database(path, { readonly: true });
  db.defaultSafeIntegers();
  try {
    const tables = db.prepare(`SELECT id, local_name AS name FROM _rowsync_tables ORDER BY id`).all() as {
      id: bigint;
      name: string;
    }[];
    return Object.fromEntries(
      tables.map(({ id, name }) => {
        const base = `_rowsync_base_${id}`;
        const hasBase = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = ?`).get(base) !== undefined;
        const columns = db
          .prepare(
            `SELECT local_name AS name, value_form AS form FROM _rowsync_columns WHERE table_id = ? ORDER BY local_name`,
          )
          .all(id) as { name: string; form: string }[];
        const list = ['_id', '_allow', ...columns.map((column) => column.name)].map(
          (column) => `"${column.replaceAll('"', '""')}"`,
        );
        const rows = db
          .prepare(
            `SELECT ${list.join(', ')} FROM "${hasBase ? base : name.replaceAll('"', '""')}" WHERE _id > 0 ORDER BY _id`,
          )
          .raw()
          .all() as Cell[][];
        const forms = ['Numeric', 'Text', ...columns.map((column) => column.form)];
        return [name, rows.map((row) => row.map((value, index) => plain(value, forms[index] ?? 'Text')))];
      }),
    );
  } finally {
    db.close();
  }
}

function plain(value: Cell, form: string): string | null {
  if (value === null) return null;
  if (form === 'Checkbox') return value === 1n ? 'true' : 'false';
  if (form === 'Numeric' || form === 'Duration') return typeof value === 'number' ? decimal(value) : String(value);
  return String(value).replaceAll('\0', '\uFFFD');
}

function decimal(value: number): string {
  const text = String(value);
  return /e/.test(text) ? BigInt(value).toString() : text;
}

/** The same of the target, asked with SQL of its own. */
export async function targetCells(
  server: PostgresServer,
  address: PgAddress,
  schema = 'crm',
): Promise<Readonly<Record<string, readonly (readonly (string | null)[])[]>>> {
  const tables = await server.rows(
    address,
    `SELECT c.relname AS name, array(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname NOT IN ('_id', '_allow', '_deleted_at') ORDER BY a.attname COLLATE "C") AS columns
     FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p' WHERE k.conname ~ '^_rowsync_pk_' AND c.relnamespace = $1::regnamespace`,
    [`"${schema}"`],
  );
  const found: Record<string, readonly (readonly (string | null)[])[]> = {};
  for (const table of tables) {
    const name = String(table['name']);
    const columns = ['_id', '_allow', ...(table['columns'] as string[])];
    const texts = columns.map((column) => {
      const quoted = `"${column.replaceAll('"', '""')}"`;
      return `CASE WHEN pg_typeof(${quoted}) = 'timestamptz'::regtype THEN regexp_replace(to_char(${quoted}::text::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '[.]?0*$', '') || 'Z'
        WHEN pg_typeof(${quoted}) = 'numeric'::regtype THEN ${quoted}::text ELSE ${quoted}::text END`;
    });
    const rows = await server.rows(
      address,
      `SELECT array[${texts.map((text) => `(${text})`).join(', ')}] AS cells FROM "${schema}"."${name.replaceAll('"', '""')}" ORDER BY _id`,
    );
    found[name] = rows.map((row) => row['cells'] as (string | null)[]);
  }
  return found;
}

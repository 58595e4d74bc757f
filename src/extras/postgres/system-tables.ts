/**
 * Views of the replica that people read in the target beside the tables: freshness, columns and files. They are tables
 * of the same names, and are written only if they differ.
 */
import { createHash } from 'node:crypto';
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { PgType } from '../shared/column-shape.ts';
import type { Connection } from '../../replica/connection.ts';
import type { Stored } from '../../replica/rows.ts';
import { readView } from '../shared/confirmed-rows.ts';
import { freshTemporary, mergeSql, type CopyTarget } from './copy-rows.ts';
import type { PgSession } from './connection.ts';
import { TYPE_SQL, type PgSchema } from './bookkeeping.ts';
import { copyLine } from '../shared/copy-text.ts';

/** A view of the replica, as a table of the target. */
interface PublicTable {
  readonly name: string;
  readonly view: Sql;
  readonly columns: Readonly<Record<string, PgType>>;
  /** Tell one line from another. */
  readonly key: readonly string[];
}

const PUBLIC: readonly PublicTable[] = [
  {
    name: 'sync_status',
    view: sql`sync_status`,
    columns: {
      table: 'text',
      state: 'text',
      rows: 'bigint',
      last_sweep: 'timestamptz',
      fresh_since: 'timestamptz',
      followed_at: 'timestamptz',
      unreadable: 'bigint',
      mode: 'text',
      problem: 'text',
      hint: 'text',
    },
    key: ['table'],
  },
  {
    name: 'sync_columns',
    view: sql`sync_columns`,
    columns: {
      table: 'text',
      column: 'text',
      origin_table: 'text',
      origin_column: 'text',
      type: 'text',
      kind: 'text',
      width: 'bigint',
      options: 'text',
      state: 'text',
      since: 'timestamptz',
      origin_id: 'bigint',
    },
    key: ['table', 'column'],
  },
  {
    name: 'sync_files',
    view: sql`sync_files`,
    columns: {
      table: 'text',
      row_id: 'bigint',
      column: 'text',
      revision: 'bigint',
      name: 'text',
      type: 'text',
      bytes: 'bigint',
      sha256: 'text',
      guid: 'text',
      author: 'text',
      created: 'timestamptz',
      state: 'text',
      reason: 'text',
      vanished: 'timestamptz',
    },
    key: ['table', 'row_id', 'column', 'guid'],
  },
];

/** Remembers what was written, so that nothing is sent twice. */
export class PublicTables {
  readonly #digests = new Map<string, string>();

  /** Those that differ from what was last written, with their lines. */
  read(from: Connection): readonly ChangedTable[] {
    return PUBLIC.flatMap((table) => {
      const lines: string[] = [];
      const hash = createHash('sha256');
      for (const line of linesOf(from, table)) {
        hash.update(line);
        lines.push(line);
      }
      const digest = hash.digest('hex');
      return this.#digests.get(table.name) === digest ? [] : [{ table, lines, digest }];
    });
  }

  /** Writes them. */
  async write(sending: CopyTarget, changed: readonly ChangedTable[], made: Set<string>): Promise<void> {
    for (const { table, lines } of changed) await writeTable(sending, { table, lines, made });
  }

  /** What was written is stored. */
  settle(changed: readonly ChangedTable[]): void {
    for (const { table, digest } of changed) this.#digests.set(table.name, digest);
  }
}

/** A table with its lines as COPY reads them. */
export interface ChangedTable {
  readonly table: PublicTable;
  readonly lines: readonly string[];
  readonly digest: string;
}

/** Makes the tables. */
export async function preparePublic(session: PgSession, target: PgSchema): Promise<void> {
  for (const { name, columns } of PUBLIC) {
    const definitions = Object.entries(columns).map(([column, type]) => sql`${ident(column)} ${TYPE_SQL[type]}`);
    await session.query(
      sql`CREATE TABLE IF NOT EXISTS ${target.of(name)} (${joinSql(definitions)}, _key text PRIMARY KEY)`,
    );
  }
}

function* linesOf(from: Connection, { view, columns, key }: PublicTable): Iterable<string> {
  const names = Object.keys(columns);
  const types: readonly PgType[] = [...Object.values(columns), 'text'];
  for (const row of readView(from, view, names)) {
    const cells: Stored[] = [...row, JSON.stringify(key.map((name) => String(row[names.indexOf(name)] ?? '')))];
    yield copyLine(cells, types, () => undefined);
  }
}

async function writeTable(
  sending: CopyTarget,
  {
    table: { name, columns },
    lines,
    made,
  }: { readonly table: PublicTable; readonly lines: readonly string[]; readonly made: Set<string> },
): Promise<void> {
  const { session, target } = sending;
  const names = [...Object.keys(columns).map(ident), sql`_key`];
  const from = await freshTemporary(session, { name: `_rowsync_in_${name}`, like: target.of(name), made });
  await session.copy(sql`COPY ${from} (${joinSql(names)}) FROM STDIN`, lines);
  await session.query(mergeSql(sending, { into: name, from, key: sql`_key`, columns: names, keepsDeleted: false }));
  await session.query(
    sql`DELETE FROM ${target.of(name)} AS here WHERE NOT EXISTS (SELECT 1 FROM ${from} t WHERE t._key = here._key)`,
  );
}

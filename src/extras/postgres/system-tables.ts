/**
 * Tables about the replica in the target: freshness, columns and files, written only if they differ, and the history,
 * to which entries are added.
 */
import { createHash } from 'node:crypto';
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { PgType } from '../shared/pg-columns.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { queryNumbers } from '../../replica/query.ts';
import { readForgotten, readHistory, readView, type ForgottenEntry } from '../shared/confirmed-rows.ts';
import { freshTemporary, mergeSql, type CopyTarget } from './copy-rows.ts';
import type { PgConnection } from './connection.ts';
import { isThere, TYPE_SQL, type PgSchema } from './bookkeeping.ts';
import { copyLine } from '../shared/pg-copy-text.ts';

/** A view of the replica, as a table of the target under its name. */
interface PublicTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, PgType>>;
  /** The columns that identify a line. */
  readonly key: readonly string[];
}

const STATUS = 'sync_status';
/** A column that the view of the replica does not have: it is known only with the rows that are sent. */
const MOMENT = 'moment';

const PUBLIC: readonly PublicTable[] = [
  {
    name: STATUS,
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

export class PublicTables {
  readonly #digests = new Map<string, string>();

  /** Those that differ from what was written, without lines of the tables that are kept out. */
  read(from: Connection, out: ReadonlySet<string>): readonly ChangedTable[] {
    return PUBLIC.flatMap((table) => {
      const lines: string[] = [];
      const hash = createHash('sha256');
      for (const line of linesOf(from, table, out)) {
        hash.update(line);
        lines.push(line);
      }
      const digest = hash.digest('hex');
      return this.#digests.get(table.name) === digest ? [] : [{ table, lines, digest }];
    });
  }

  async write(sending: CopyTarget, changed: readonly ChangedTable[]): Promise<void> {
    for (const one of changed) await writeTable(sending, one);
  }

  /** Called once the written lines are committed. */
  settle(changed: readonly ChangedTable[]): void {
    for (const { table, digest } of changed) this.#digests.set(table.name, digest);
  }
}

export interface ChangedTable {
  readonly table: PublicTable;
  readonly lines: readonly string[];
  readonly digest: string;
}

export async function preparePublic(session: PgConnection, target: PgSchema): Promise<void> {
  for (const { name, columns } of PUBLIC) {
    const types = Object.entries({ ...columns, ...(name === STATUS ? { [MOMENT]: 'timestamptz' as const } : {}) });
    const definitions = types.map(([column, type]) => sql`${ident(column)} ${TYPE_SQL[type]}`);
    await session.query(
      sql`CREATE TABLE IF NOT EXISTS ${target.of(name)} (${joinSql(definitions)}, _key text PRIMARY KEY)`,
    );
  }
}

/** A proven moment, and the tables that are in the target as they were then, by their names in the replica. */
export interface SentMoment {
  readonly at: string;
  readonly tables: readonly string[];
}

/** Writes the moment of each table; null for none. */
export async function writeMoment(session: PgConnection, target: PgSchema, moment: SentMoment | null): Promise<void> {
  const now = sql`CASE WHEN "table" = ANY ($1::text[]) THEN $2::timestamptz END`;
  const text = sql`UPDATE ${target.of(STATUS)} SET ${ident(MOMENT)} = ${now} WHERE ${ident(MOMENT)} IS DISTINCT FROM ${now}`;
  await session.query(text, [moment?.tables ?? [], moment?.at ?? null]);
}

function* linesOf(
  from: Connection,
  { name: view, columns, key }: PublicTable,
  out: ReadonlySet<string>,
): Iterable<string> {
  const names = Object.keys(columns);
  const types: readonly PgType[] = [...Object.values(columns), 'text'];
  for (const row of readView(from, view, names)) {
    if (out.has(String(row[names.indexOf('table')]))) continue;
    const cells: Stored[] = [...row, JSON.stringify(key.map((name) => String(row[names.indexOf(name)] ?? '')))];
    yield copyLine(cells, types, () => undefined);
  }
}

async function writeTable(
  { session, target }: CopyTarget,
  { table: { name, columns }, lines }: ChangedTable,
): Promise<void> {
  const names = [...Object.keys(columns).map(ident), sql`_key`];
  const from = await freshTemporary(session, `_rowsync_in_${name}`, target.of(name));
  await session.copy(sql`COPY ${from} (${joinSql(names)}) FROM STDIN`, lines);
  await session.query(mergeSql({ target, deletes: 'remove' }, { into: name, from, key: sql`_key`, columns: names }));
  await session.query(
    sql`DELETE FROM ${target.of(name)} AS here WHERE NOT EXISTS (SELECT 1 FROM ${from} t WHERE t._key = here._key)`,
  );
}

/** Columns of the view, how they are sent, and what they are there. */
const COLUMNS = {
  id: ['bigint', sql`bigint PRIMARY KEY`],
  table: ['text', sql`text`],
  row_id: ['bigint', sql`bigint`],
  kind: ['text', sql`text`],
  at: ['timestamptz', sql`timestamptz`],
  not_before: ['timestamptz', sql`timestamptz`],
  not_after: ['timestamptz', sql`timestamptz`],
  origin_at: ['timestamptz', sql`timestamptz`],
  origin_by: ['text', sql`text`],
  cause: ['text', sql`text`],
  run_id: ['bigint', sql`bigint`],
  was_row_id: ['bigint', sql`bigint`],
  before: ['text', sql`jsonb`],
  after: ['text', sql`jsonb`],
  note: ['text', sql`jsonb`],
} as const satisfies Readonly<Record<string, readonly [PgType, Sql]>>;

const NAMES = Object.keys(COLUMNS);
const TYPES: readonly PgType[] = Object.values(COLUMNS).map(([type]) => type);

/** Entries read at once. */
const BLOCK = 1_000;

/** The last entry of the target; 0 if there is none, or no table. */
export async function readLastEntry(session: PgConnection, target: PgSchema): Promise<number> {
  const here = target.of('sync_history');
  if (!(await isThere(session, here))) return 0;
  const [row] = await session.query(sql`SELECT coalesce(max(id), 0) AS last FROM ${here}`);
  return Number(row?.['last']);
}

/** Sends the entries after one, up to another, without those of the tables that are kept out. */
export async function sendHistory(
  session: PgConnection,
  target: PgSchema,
  from: Connection,
  { out, ...bounds }: { readonly after: number; readonly upTo: number; readonly out: ReadonlySet<string> },
): Promise<void> {
  const definitions = Object.entries(COLUMNS).map(([name, [, type]]) => sql`${ident(name)} ${type}`);
  await session.query(sql`CREATE TABLE IF NOT EXISTS ${target.of('sync_history')} (${joinSql(definitions)})`);
  await copyEntries(session, target, from, { ...bounds, out, ids: null });
  for (const row of readForgotten(from, bounds)) {
    const ids = await deleteEntries(session, target, from, row);
    await copyEntries(session, target, from, { ...bounds, after: 0, out, ids });
  }
}

/**
 * Deletes the entries of a row and of its former ids, or of all rows, also those that were pruned here; returns their
 * numbers. An entry has the name of its table at the time when it was sent.
 */
async function deleteEntries(
  session: PgConnection,
  target: PgSchema,
  from: Connection,
  { table, rowId }: ForgottenEntry,
): Promise<readonly number[]> {
  const there = target.of('sync_history');
  const own = queryNumbers(from, sql`SELECT id FROM sync_history WHERE "table" = ?`, [table]);
  const found = sql`WITH named AS (SELECT id, row_id, was_row_id FROM ${there}
      WHERE "table" = $1 OR "table" IN (SELECT "table" FROM ${there} WHERE id = ANY ($2::bigint[])))
    SELECT id FROM named
    WHERE $3::bigint IS NULL OR row_id = $3 OR row_id IN (SELECT was_row_id FROM named WHERE row_id = $3)`;
  const ids = (await session.query(found, [table, own, rowId])).map(({ id }) => Number(id));
  // Another table may have had one of these names.
  const ofOthers = sql`SELECT id FROM sync_history WHERE id IN (SELECT value FROM json_each(?)) AND "table" <> ?`;
  const others = new Set(queryNumbers(from, ofOthers, [JSON.stringify(ids), table]));
  const gone = ids.filter((id) => !others.has(id));
  await session.query(sql`DELETE FROM ${there} WHERE id = ANY ($1::bigint[])`, [gone]);
  return gone;
}

async function copyEntries(
  session: PgConnection,
  target: PgSchema,
  from: Connection,
  given: {
    readonly after: number;
    readonly upTo: number;
    readonly out: ReadonlySet<string>;
    readonly ids: readonly number[] | null;
  },
): Promise<void> {
  let { after } = given;
  // Ends with the last entry.
  for (;;) {
    const rows = readHistory(from, NAMES, { ...given, after, limit: BLOCK });
    if (rows.length === 0) return;
    const lines = rows.map((row) => copyLine(row.map(withoutNul), TYPES, () => undefined));
    await session.copy(sql`COPY ${target.of('sync_history')} (${joinSql(NAMES.map(ident))}) FROM STDIN`, [
      lines.join(''),
    ]);
    after = Number(rows.at(-1)?.[0]);
  }
}

/** jsonb cannot hold NUL, however it is escaped. */
function withoutNul(stored: Stored): Stored {
  return typeof stored === 'string' && stored.includes('\\u0000') ? stored.replaceAll('\\u0000', '\\ufffd') : stored;
}

/**
 * The history of the replica as a table of the target: sends the entries after the last one there. The target keeps
 * entries that the replica pruned. After values were forgotten, all entries of that table are sent again.
 */
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import type { PgType } from '../shared/column-shape.ts';
import type { Connection } from '../../replica/connection.ts';
import { readHistory } from '../shared/confirmed-rows.ts';
import type { Stored } from '../../replica/rows.ts';
import type { PgSession } from './connection.ts';
import type { PgSchema } from './bookkeeping.ts';
import { copyLine } from '../shared/copy-text.ts';

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
const KIND = NAMES.indexOf('kind');
const TABLE = NAMES.indexOf('table');

/** Entries read at once. */
const BLOCK = 1_000;

/** Whether there is a later entry. */
export function hasHistoryAfter(from: Connection, id: number): boolean {
  return readHistory(from, NAMES, { after: id, upTo: Number.MAX_SAFE_INTEGER, limit: 1, table: null }).length > 0;
}

/** The last entry of the target; 0 if there is none, or no table. */
export async function readLastEntry(session: PgSession, target: PgSchema): Promise<number> {
  const here = target.of('sync_history');
  const [found] = await session.query(sql`SELECT to_regclass($1) IS NOT NULL AS found`, [here]);
  if (found?.['found'] !== true) return 0;
  const [row] = await session.query(sql`SELECT coalesce(max(id), 0) AS last FROM ${here}`);
  return Number(row?.['last']);
}

/** Sends the entries after one, up to another, and returns the last entry of the target. */
export async function sendHistory(
  session: PgSession,
  target: PgSchema,
  from: Connection,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<number> {
  const definitions = Object.entries(COLUMNS).map(([name, [, type]]) => sql`${ident(name)} ${type}`);
  await session.query(sql`CREATE TABLE IF NOT EXISTS ${target.of('sync_history')} (${joinSql(definitions)})`);
  const forgotten = new Set<string>();
  const last = await copyEntries(session, target, from, {
    after,
    upTo,
    table: null,
    onEntry: (row) => {
      if (row[KIND] === 'forgotten') forgotten.add(String(row[TABLE]));
    },
  });
  for (const table of forgotten) {
    await session.query(sql`DELETE FROM ${target.of('sync_history')} WHERE "table" = $1`, [table]);
    await copyEntries(session, target, from, { after: 0, upTo, table, onEntry: () => undefined });
  }
  return last;
}

async function copyEntries(
  session: PgSession,
  target: PgSchema,
  from: Connection,
  given: {
    readonly after: number;
    readonly upTo: number;
    readonly table: string | null;
    readonly onEntry: (row: readonly Stored[]) => void;
  },
): Promise<number> {
  const { upTo, table, onEntry } = given;
  let { after } = given;
  // Ends with the last entry.
  for (;;) {
    const rows = readHistory(from, NAMES, { after, upTo, limit: BLOCK, table });
    if (rows.length === 0) return after;
    for (const row of rows) onEntry(row);
    const lines = rows.map((row) => copyLine(row.map(withoutNul), TYPES, () => undefined));
    await session.copy(sql`COPY ${target.of('sync_history')} (${joinSql(NAMES.map(ident))}) FROM STDIN`, [
      lines.join(''),
    ]);
    after = Number(rows.at(-1)?.[0]);
  }
}

/** jsonb has no NUL, in any spelling. */
function withoutNul(stored: Stored): Stored {
  return typeof stored === 'string' && stored.includes('\\u0000') ? stored.replaceAll('\\u0000', '\\ufffd') : stored;
}

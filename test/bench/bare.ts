/**
 * The bare loop that rowsync is compared with. What someone would write in an afternoon who knows how many rows there
 * are, trusts every answer, and never has to resume. An undici pool with the same concurrency, `JSON.parse`, and one
 * prepared upsert per row into a table like the replica's, one transaction per page, with the same pragmas.
 */
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { Pool } from 'undici';
import { selectQuery } from '../../src/wire/request-paths.ts';
import { TABLE } from './data.ts';
import type { BenchOrigin } from './origin.ts';
import { CONCURRENCY, PAGE_ROWS } from './ours.ts';

/** What the bare loop is told instead of finding it out. */
export interface BareSetup {
  readonly origin: BenchOrigin;
  /** `CREATE TABLE` of the replica's table, taken from a replica. */
  readonly ddl: string;
  /** The column names as the origin sends them. */
  readonly columns: readonly string[];
  readonly sort: readonly string[];
  readonly compress: boolean;
}

/** Takes the setup from a replica that rowsync has filled from the same origin. */
export function bareSetup(origin: BenchOrigin, replicaPath: string, compress: boolean): BareSetup {
  const db = new Database(replicaPath, { readonly: true });
  try {
    const ddl = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(TABLE) as string;
    const names = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(TABLE) as string[];
    const columns = names.filter((name) => name !== '_id' && name !== '_allow');
    return { origin, ddl, columns, sort: ['Date Created', 'Id'], compress };
  } finally {
    db.close();
  }
}

/** The request paths of every page. */
function pagePaths({ origin, columns, sort }: Pick<BareSetup, 'origin' | 'columns' | 'sort'>): readonly string[] {
  const pages = Array.from({ length: Math.ceil(origin.rowCount / PAGE_ROWS) }, (_, page) => page);
  return pages.map((page) => {
    const query = selectQuery({ columns, sort: sort.map((column) => ({ column })), skip: page * PAGE_ROWS });
    return `/secure/api/v2/${origin.database}/${TABLE}/select.json?${query}`;
  });
}

/** Runs `each` over the paths, `CONCURRENCY` at a time. */
export async function overPaths(paths: readonly string[], each: (path: string) => Promise<void>): Promise<void> {
  const queue = paths.values();
  const worker = async (): Promise<void> => {
    for (const path of queue) await each(path);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** A pool on the origin; the caller closes it. */
export function openPool({ url }: BenchOrigin): Pool {
  return new Pool(url, { connections: CONCURRENCY, pipelining: 1 });
}

/** The headers of every request. */
export function headersOf({ origin, compress }: Pick<BareSetup, 'origin' | 'compress'>): Record<string, string> {
  return { authorization: `Bearer ${origin.token}`, ...(compress ? { 'accept-encoding': 'gzip' } : {}) };
}

/** Reads every page into a new database at `path`. Returns the number of rows that it holds then. */
export async function barePull(setup: BareSetup, path: string): Promise<number> {
  const db = new Database(path);
  const pool = openPool(setup.origin);
  try {
    // The pragmas of src/replica/database.ts.
    for (const pragma of [
      'journal_mode = wal',
      'synchronous = normal',
      'trusted_schema = off',
      'cell_size_check = on',
    ]) {
      db.pragma(pragma);
    }
    db.pragma('journal_size_limit = 67108864');
    db.exec(setup.ddl);
    const store = storePage(db, setup.columns);
    const headers = headersOf(setup);
    await overPaths(pagePaths(setup), async (requestPath) => {
      const { body, headers: got } = await pool.request({ method: 'GET', path: requestPath, headers });
      const text =
        got['content-encoding'] === 'gzip' ? gunzipSync(await body.bytes()).toString('utf8') : await body.text();
      store(JSON.parse(text) as Record<string, unknown>[]);
    });
    return db.prepare(`SELECT count(*) FROM "${TABLE}"`).pluck().get() as number;
  } finally {
    await pool.close();
    db.close();
  }
}

function storePage(db: Database.Database, columns: readonly string[]): (rows: Record<string, unknown>[]) => void {
  const names = ['_id', '_allow', ...columns];
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  const upsert = db.prepare(
    `INSERT INTO "${TABLE}" (${quoted.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
     ON CONFLICT ("_id") DO UPDATE SET ${quoted
       .slice(1)
       .map((name) => `${name} = excluded.${name}`)
       .join(', ')}`,
  );
  const fields = ['@row.id', '@row.allow', ...columns];
  return db.transaction((rows: Record<string, unknown>[]) => {
    for (const row of rows) {
      const values = fields.map((field) => {
        const value = row[field];
        return typeof value === 'boolean' ? Number(value) : value; // the driver binds no booleans
      });
      upsert.run(values);
    }
  });
}

/** Asks for every page with the ETag it had. Returns how many pages were answered 304. */
export async function bareConditional(
  setup: BareSetup,
  pool: Pool,
  etags: ReadonlyMap<string, string>,
): Promise<number> {
  let notModifiedCount = 0;
  const headers = headersOf(setup);
  await overPaths(pagePaths(setup), async (path) => {
    const etag = etags.get(path) ?? '';
    const answer = await pool.request({ method: 'GET', path, headers: { ...headers, 'if-none-match': etag } });
    await answer.body.dump();
    if (answer.statusCode === 304) notModifiedCount += 1;
  });
  return notModifiedCount;
}

/** The ETags of every page, read once. */
export async function readEtags(setup: BareSetup, pool: Pool): Promise<ReadonlyMap<string, string>> {
  const etags = new Map<string, string>();
  await overPaths(pagePaths(setup), async (path) => {
    const { headers, body } = await pool.request({ method: 'GET', path, headers: headersOf(setup) });
    await body.dump();
    etags.set(path, String(headers['etag']));
  });
  return etags;
}

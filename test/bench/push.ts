/**
 * The benchmark of pushing: 20,000 edited rows, each read again, sent, and read back, against a bare loop of the same requests
 * with the same bodies. Both sides change a database of their own, so that neither meets the other's values.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Pool } from 'undici';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { push } from '../../src/push/push.ts';
import { openReplica } from '../../src/replica/database.ts';
import { TABLE } from './data.ts';
import { takeTurns, timeMs, type Figure } from './measure.ts';
import type { BenchOrigin } from './origin.ts';
import { CONCURRENCY, pullOnce } from './ours.ts';
import type { TwoWayContext } from './two-way.ts';

/** Rows of one batch, on both sides. */
const BATCH_ROWS = 500;

/** `push.ratio`: rows/s of a push of edited rows, re-read and read-back included ÷ of bare requests with the same bodies. */
export async function pushBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 2000 : 20_000;
  const origin = await context.origins.serve(rowCount, { apart: 'push' });
  const bareOrigin = await context.origins.serve(rowCount, { apart: 'pushBare' });
  const path = join(context.folder, 'push.db');
  await pullOnce(origin, path, { compress: false, isTwoWay: true });
  const ids = readIds(path);
  const names = readNames(path);
  const pool = new Pool(bareOrigin.url, { connections: 1, pipelining: 1 });
  let round = 0;
  try {
    const { oursMs, bareMs } = await takeTurns(context.roundCount, {
      ours: () => {
        round += 1;
        editAll(path, `round ${round}`);
        return timeMs(() => pushAll(origin, path, rowCount));
      },
      bare: () => timeMs(() => barePush(pool, bareOrigin, { ids, names, value: `bare ${(round += 1)}` })),
    });
    return [
      {
        name: 'push.ratio',
        value: bareMs / oursMs,
        unit: '×',
        bound: { kind: 'atLeast', value: 0.6 },
        note: `our rows/s ÷ a bare loop's, ${rowCount} edited rows in batches of ${BATCH_ROWS}, re-read and read-back included`,
      },
      {
        name: 'push.rowsPerSecond',
        value: (rowCount / oursMs) * 1000,
        unit: 'rows/s',
        bound: null,
        note: `${rowCount} edited rows`,
      },
    ];
  } finally {
    await pool.close();
  }
}

function withFile<T>(path: string, work: (db: Database.Database) => T): T {
  const db = new Database(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function readIds(path: string): readonly number[] {
  return withFile(path, (db) => db.prepare<[], number>(`SELECT _id FROM ${TABLE} ORDER BY _id`).pluck().all());
}

/** The columns that have to be named beside `*`. */
function readNames(path: string): readonly string[] {
  return withFile(path, (db) =>
    db.prepare<[], string>('SELECT origin_column FROM sync_columns WHERE writable = 0').pluck().all(),
  );
}

function editAll(path: string, value: string): void {
  withFile(path, (db) => db.prepare(`UPDATE ${TABLE} SET Remarks = ?`).run(value));
}

async function pushAll({ url, database, token }: BenchOrigin, path: string, rowCount: number): Promise<void> {
  const credentials = { kind: 'bearer' as const, token };
  const origin = openOrigin(
    { url, database, credentials, concurrency: CONCURRENCY, compress: false },
    { clock: systemClock, log: silentLogger },
  );
  const replica = openReplica(path, { clock: systemClock });
  try {
    const settings = {
      uploadDir: null,
      secrets: [],
      maxPushRows: rowCount,
      maxDeletePercent: 50,
      concurrency: CONCURRENCY,
      tableOptions: () => ({ conflict: 'origin', workflow: 'run' }) as const,
    };
    const context = { origin, replica, clock: systemClock, log: silentLogger, settings };
    const { tables, error } = await push(context, { tables: [], confirm: false });
    const failure = error ?? tables[0]?.error ?? tables[0]?.held ?? null;
    if (failure !== null) throw failure;
    if (tables[0]?.updatedCount !== rowCount) throw new Error(`${tables[0]?.updatedCount} of ${rowCount} were pushed`);
  } finally {
    replica.close();
    await origin.close();
  }
}

/** What somebody would write who trusts every answer: read, send, read again. */
async function barePush(
  pool: Pool,
  { database, token }: BenchOrigin,
  { ids, names, value }: { readonly ids: readonly number[]; readonly names: readonly string[]; readonly value: string },
): Promise<void> {
  const root = `/secure/api/v2/${database}/${TABLE}`;
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const columns = ['*', ...names].map((name) => `column=${encodeURIComponent(name)}`).join('&');
  const get = async (batch: readonly number[]): Promise<void> => {
    const path = `${root}/retrieve.json?${columns}&${batch.map((id) => `id=${id}`).join('&')}`;
    const { body } = await pool.request({ method: 'GET', path, headers });
    const rows = JSON.parse(await body.text()) as readonly unknown[];
    if (rows.length !== batch.length) throw new Error('rows are missing');
  };
  for (let start = 0; start < ids.length; start += BATCH_ROWS) {
    const batch = ids.slice(start, start + BATCH_ROWS);
    await get(batch);
    const { body } = await pool.request({
      method: 'POST',
      path: `${root}/update.json`,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(batch.map((id) => ({ '@row.id': id, Remarks: value }))),
    });
    const statuses = JSON.parse(await body.text()) as readonly { readonly status: number }[];
    if (statuses.some(({ status }) => status !== 200)) throw new Error('a row was refused');
    await get(batch);
  }
}

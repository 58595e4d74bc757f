/**
 * The benchmark of pushing: 20,000 edited rows, each read again, sent, and read back, against a bare loop of the same
 * requests with the same bodies. Both sides change a database of their own, so that neither meets the other's values.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Pool } from 'undici';
import { TABLE } from './data.ts';
import { peakBytesOf, takeTurns, timeMs, type Figure } from './measure.ts';
import type { BenchOrigin } from './origin.ts';
import { pullOnce, pushOnce } from './ours.ts';
import type { TwoWayContext } from './two-way.ts';

/** Rows of one batch, on both sides. */
const BATCH_ROWS = 500;

/**
 * `push.ratio`: rows/s of a push of edited rows, re-read and read-back included ÷ of bare requests with the same
 * bodies.
 */
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
        editRows(path, `round ${round}`, rowCount);
        return timeMs(() => pushOnce(origin, path, { rowCount }));
      },
      bare: () => timeMs(() => barePush(pool, bareOrigin, { ids, names, value: `bare ${(round += 1)}` })),
    });
    return [
      {
        name: 'push.ratio',
        value: bareMs / oursMs,
        unit: '×',
        bound: { kind: 'atLeast', value: 0.8 },
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

/** `pushMemory.growthMiB`: the peak of a process that pushes many edits minus that of one that pushes a few. */
export async function pushMemoryBench(context: TwoWayContext): Promise<readonly Figure[]> {
  const [few, many] = context.isSmoke ? [100, 1000] : [500, 50_000];
  const { url, database, token, ...origin } = await context.origins.serve(many, { apart: 'pushMemory' });
  const address = { url, database, token };
  const path = join(context.folder, 'push-memory.db');
  await pullOnce({ ...origin, ...address }, path, { compress: false, isTwoWay: true });
  let round = 0;
  const peak = (rowCount: number): Promise<number> => {
    round += 1;
    editRows(path, `round ${round}`, rowCount);
    return peakBytesOf({ address, path, push: { rowCount } });
  };
  const { oursMs, bareMs } = await takeTurns(context.roundCount, { ours: () => peak(many), bare: () => peak(few) });
  return [
    {
      name: 'pushMemory.growthMiB',
      value: (oursMs - bareMs) / 1024 ** 2,
      unit: 'MiB',
      bound: { kind: 'atMost', value: 64 },
      note: `peak of a push of ${many} edits minus one of ${few}`,
    },
  ];
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

/** Edits the first rows of a replica. */
function editRows(path: string, value: string, rowCount: number): void {
  withFile(path, (db) => db.prepare(`UPDATE ${TABLE} SET Remarks = ? WHERE _id <= ?`).run(value, rowCount));
}

/** What someone would write who trusts every answer: read, send, read again. */
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

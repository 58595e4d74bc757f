/**
 * What the journal costs a pull that brings changes, in time, room and memory: the same changes are pulled by a replica
 * with history and by one without, in turn. And how long a question about an earlier moment takes.
 */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { queryPast } from '../../src/extras/history/past-tables.ts';
import { openReader } from '../../src/replica/reader.ts';
import { median, peakBytesOf, timeMs, type Figure } from './measure.ts';
import type { Origins } from './origin.ts';
import { pullOnce } from './ours.ts';

/** What this benchmark needs of what every benchmark is given. */
interface HistoryContext {
  readonly origins: Origins;
  readonly folder: string;
  readonly roundCount: number;
  readonly isSmoke: boolean;
}

/** Share of the rows that are changed between two pulls. */
const PERCENT = 10;

/** `history.pullRatio`, `history.bytesPerCell`, `history.bytesPerEntry` and `history.memory`. */
export async function historyBench(context: HistoryContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 4000 : 50_000;
  const origin = await context.origins.serve(rowCount, { apart: 'history' });
  const paths = { kept: join(context.folder, 'history-kept.db'), plain: join(context.folder, 'history-plain.db') };
  const pullInto = (way: 'kept' | 'plain'): Promise<unknown> =>
    pullOnce(origin, paths[way], { compress: false, hasHistory: way === 'kept' });
  // Whoever pulls first after a change pays for what the sandbox then works out anew.
  const pullFirst = (): Promise<unknown> =>
    pullOnce(origin, join(context.folder, 'history-first.db'), { compress: false });
  await pullFirst();
  await pullInto('kept');
  await pullInto('plain');
  const times: Record<'kept' | 'plain', number[]> = { kept: [], plain: [] };
  for (let round = 0; round < context.roundCount; round += 1) {
    await origin.change({ kind: 'edit', percent: PERCENT });
    await pullFirst();
    for (const way of round % 2 === 0 ? (['kept', 'plain'] as const) : (['plain', 'kept'] as const))
      times[way].push(await timeMs(() => pullInto(way)));
  }
  await origin.change({ kind: 'edit', percent: PERCENT });
  const peaks = {
    kept: await peakBytesOf({ address: origin, path: paths.kept, hasHistory: true }),
    plain: await peakBytesOf({ address: origin, path: paths.plain }),
  };
  const { entryBytes, cellBytes } = readBytes(paths.kept);
  const what = `a pull of ${rowCount} rows of which ${PERCENT} % changed`;
  return [
    {
      name: 'history.pullRatio',
      value: median(times.kept) / median(times.plain),
      unit: '×',
      bound: { kind: 'atMost', value: 1.25 },
      note: `${what}, with history ÷ without`,
    },
    {
      name: 'history.bytesPerEntry',
      value: entryBytes,
      unit: 'bytes',
      bound: null,
      note: 'of the file, indexes included',
    },
    { name: 'history.bytesPerCell', value: cellBytes, unit: 'bytes', bound: null, note: 'the same ÷ changed cells' },
    {
      name: 'history.memory',
      value: peaks.kept / peaks.plain,
      unit: '×',
      bound: null,
      note: `peak of ${what}, with history ÷ without`,
    },
  ];
}

/** `history.sqlAt`: a question about all rows, as they were before a tenth of them changed. */
export async function sqlAtBench(context: HistoryContext): Promise<readonly Figure[]> {
  const rowCount = context.isSmoke ? 20_000 : 1_000_000;
  const origin = await context.origins.serve(rowCount, { apart: 'sql-at' });
  const path = join(context.folder, 'sql-at.db');
  await pullOnce(origin, path, { compress: false, hasHistory: true });
  const moment = Math.floor(Date.now() / 1000);
  while (Date.now() < (moment + 1) * 1000) await setTimeout(10);
  await origin.change({ kind: 'edit', percent: PERCENT });
  await pullOnce(origin, path, { compress: false, hasHistory: true });
  const times: number[] = [];
  for (let round = 0; round < context.roundCount; round += 1)
    times.push(await timeMs(() => Promise.resolve(askAt(path, moment, rowCount))));
  return [
    {
      name: 'history.sqlAt',
      value: median(times) / 1000,
      unit: 's',
      bound: null,
      note: `sql --at over ${rowCount} rows of which ${PERCENT} % changed since, each with an entry; wanted are 5 s`,
    },
  ];
}

function askAt(path: string, moment: number, rowCount: number): void {
  const reader = openReader(path);
  try {
    const text = `SELECT count(*), sum("Price"), sum("Customer" LIKE 'edited%') FROM "Sale"`;
    const { rows } = queryPast(reader, text, { moment, nowMs: Date.now() });
    const [row] = [...rows];
    if (Number(row?.[0]) !== rowCount || Number(row?.[2]) !== 0)
      throw new Error('the rows are not those of the moment');
  } finally {
    reader.close();
  }
}

function readBytes(path: string): { readonly entryBytes: number; readonly cellBytes: number } {
  const db = new Database(path, { readonly: true });
  try {
    const read = (text: string): number => Number(db.prepare(text).pluck().get());
    const bytes = read(`SELECT sum(pgsize) FROM dbstat WHERE name GLOB '_rowsync_history*'`);
    const entryCount = read('SELECT count(*) FROM _rowsync_history');
    const cellCount = read('SELECT count(*) FROM _rowsync_history h, json_each(h.cells)');
    return { entryBytes: bytes / entryCount, cellBytes: bytes / cellCount };
  } finally {
    db.close();
  }
}

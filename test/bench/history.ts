/**
 * What the journal costs a pull that brings changes, in time, room and memory. The same changes are pulled by a replica with history and by
 * one without, in turn.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
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
  await pullInto('kept');
  await pullInto('plain');
  const times: Record<'kept' | 'plain', number[]> = { kept: [], plain: [] };
  for (let round = 0; round < context.roundCount; round += 1) {
    await origin.change({ kind: 'edit', percent: PERCENT });
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

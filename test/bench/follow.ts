/**
 * The benchmark of following a large table over a slow line: requests counted, and how long it takes until changes are
 * here. The overlap of two minutes reads the rows of earlier changes again, so the largest change comes last but one.
 * The sandbox's own work is measured and taken off.
 */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { BenchContext } from './benches.ts';
import { TABLE } from './data.ts';
import { timeMs, type Figure } from './measure.ts';
import type { Order } from './origin-child.ts';
import type { BenchOrigin } from './origin.ts';
import { openPull, type OpenPull } from './ours.ts';

const LATENCY_MS = 100;
/** Requests of a follow beside those for pages of changed rows. */
const FIXED_REQUESTS = 3;
/** Requests that say which windows changed. */
const COMPARING_REQUESTS = 10;
const PAGE_ROWS = 500;
/** Pages of a window, and the one that shows rows without a creation time. */
const WINDOW_REQUESTS = 17;

interface Change {
  readonly name: string;
  readonly what: string;
  readonly order: (rowCount: number) => Order | null;
  readonly atMost: number;
  /** Whether its second has to be over before it is followed, or its rows would be read once more. */
  readonly waits?: boolean;
}

/** As SECOND_OVER_MS in reconcile/follow.ts, and a little more. */
const WAIT_MS = 12_000;

/** `before`: rows that were changed shortly before, and are read once more. */
const edited = (count: number, before: number): Change => ({
  name: `edited${count}`,
  what: `${count} rows edited`,
  order: (rowCount) => ({ kind: 'edit', percent: (100 * count) / rowCount }),
  atMost: FIXED_REQUESTS + Math.ceil((before + count) / PAGE_ROWS),
});

const CHANGES: readonly Change[] = [
  { name: 'unchanged', what: 'nothing changed', order: () => null, atMost: FIXED_REQUESTS },
  edited(1, 0),
  edited(100, 1),
  { name: 'appended', what: '100 rows appended', order: () => ({ kind: 'append', rowCount: 100 }), atMost: 4 },
  {
    name: 'deletedFirst',
    what: 'the first row deleted',
    order: () => ({ kind: 'deleteFirst' }),
    atMost: FIXED_REQUESTS + WINDOW_REQUESTS,
  },
  edited(1_000, 201),
  { ...edited(12_000, 1_201), waits: true },
  { name: 'behindMassEdit', what: 'a mass edit and nothing else', order: () => null, atMost: FIXED_REQUESTS },
];

/** `follow.comparing.requests`: until it is known which windows have rows that changed without a stamp. */
async function comparing(origin: BenchOrigin, opened: OpenPull, rowCount: number): Promise<Figure> {
  const before = await opened.changedWindows(TABLE);
  await origin.change({ kind: 'recompute', rowCount: 3 });
  const { found, all, requestCount } = await opened.changedWindows(TABLE);
  if (before.found > 0 || found === 0) throw new Error(`${before.found} windows were found before, ${found} after`);
  const note = `until ${found} of ${all} windows are known to have changed without a stamp, ${rowCount} rows`;
  const bound = { kind: 'atMost', value: COMPARING_REQUESTS } as const;
  return { name: 'follow.comparing.requests', value: requestCount, unit: 'requests', bound, note };
}

/**
 * `follow.*`: requests of a follow after each change, of the first pull by its pages, and milliseconds until 100
 * changes are here.
 */
export async function followBench({ origins, folder, isSmoke }: BenchContext): Promise<readonly Figure[]> {
  const rowCount = isSmoke ? 20_000 : 1_000_000;
  const origin = await origins.serve(rowCount, { latencyMs: isSmoke ? 0 : LATENCY_MS, apart: 'follow' });
  const opened = openPull(origin, join(folder, 'follow.db'), { compress: true, isFollowed: true });
  try {
    const first = await opened.pull();
    const pageCount = Math.ceil(rowCount / (PAGE_ROWS - 1));
    const figures: Figure[] = [
      {
        name: 'follow.firstPullRatio',
        value: first.requestCount / pageCount,
        unit: '×',
        bound: { kind: 'atMost', value: 1.02 },
        note: `requests of a first pull ÷ pages, ${rowCount} rows`,
      },
    ];
    for (const { name, what, order, atMost, waits = false } of CHANGES) {
      const change = order(rowCount);
      if (change !== null) await origin.change(change);
      if (waits && !isSmoke) await setTimeout(WAIT_MS);
      let requestCount = 0;
      const beforeMs = await origin.workedMs();
      const ms = await timeMs(async () => {
        const report = await opened.follow();
        if (!report.tables.every(({ isFollowed }) => isFollowed)) throw new Error(`${what}: the table was swept`);
        ({ requestCount } = report);
      });
      const note = `follow after ${what}, ${rowCount} rows`;
      const bound = { kind: 'atMost', value: atMost } as const;
      figures.push({ name: `follow.${name}.requests`, value: requestCount, unit: 'requests', bound, note });
      if (name !== 'edited100') continue;
      const sandboxMs = (await origin.workedMs()) - beforeMs;
      figures.push({
        name: 'follow.freshnessMs',
        value: ms - sandboxMs,
        unit: 'ms',
        bound: { kind: 'atMost', value: 1_000 },
        note: `until 100 edited rows are here, ${isSmoke ? 0 : LATENCY_MS} ms a request, beside ${Math.round(sandboxMs)} ms that the sandbox itself took`,
      });
    }
    figures.push(await comparing(origin, opened, rowCount));
    return figures;
  } finally {
    await opened.close();
  }
}

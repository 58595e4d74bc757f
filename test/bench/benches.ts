/**
 * The benchmarks, by name. Each one compares rowsync with the bare loop of bare.ts against the same sandbox process, or
 * counts what a change at the origin costs. Times are never asserted: figures and their bounds are printed, and a
 * person (or a script that reads `--json`) judges.
 */
import { join } from 'node:path';
import type { PullReport } from '../../src/pull/report.ts';
import { WIRE_FORMATS, type WireFormat } from '../../src/wire/format.ts';
import { columnType } from '../../src/wire/schema.ts';
import {
  bareConditional,
  barePull,
  bareSetup,
  headersOf,
  openPool,
  overPaths,
  readEtags,
  type BareSetup,
} from './bare.ts';
import { columnsBench } from './columns.ts';
import { TABLE } from './data.ts';
import { filesBench } from './files.ts';
import { followBench } from './follow.ts';
import { historyBench, sqlAtBench } from './history.ts';
import { manyTablesBench } from './many-tables.ts';
import { median, peakBytesOf, takeTurns, timeMs, type Figure } from './measure.ts';
import type { BenchOrigin, Origins } from './origin.ts';
import { captureBench, diffBench, pullTwoWayBench } from './two-way.ts';
import { CONCURRENCY, openPull, PAGE_ROWS, pullOnce } from './ours.ts';
import { processBench } from './process.ts';
import { pageBench } from './page.ts';
import { pushBench, pushMemoryBench } from './push.ts';
import { sinkBench } from './sink.ts';

/** What a benchmark is given. */
export interface BenchContext {
  readonly origins: Origins;
  /** For replicas; emptied by the caller. */
  readonly folder: string;
  readonly roundCount: number;
  /** Shrinks every size, for a quick look that it still runs. */
  readonly isSmoke: boolean;
}

/** One benchmark. */
export type Bench = (context: BenchContext) => Promise<readonly Figure[]>;

const LATENCY_MS = 100;
/** Rounds of work that takes a second: many, because each one is easily disturbed. */
const SHORT_ROUNDS = 3;
/** Rounds of work that takes a twentieth of it; V8 needs dozens until it is done with optimising. */
const SHORTEST_ROUNDS = 20;

let fileCount = 0;

function newPath({ folder }: BenchContext): string {
  fileCount += 1;
  return join(folder, `replica-${fileCount}.db`);
}

function sizes({ isSmoke }: BenchContext): {
  pull: number;
  latency: number;
  change: number;
  small: number;
  large: number;
} {
  return isSmoke
    ? { pull: 4000, latency: 3000, change: 5000, small: 2000, large: 8000 }
    : { pull: 200_000, latency: 100_000, change: 50_000, small: 50_000, large: 1_000_000 };
}

/** Fills the sandbox's cache of rendered pages for both sides, and learns what the bare loop is told. */
async function warmUp(context: BenchContext, origin: BenchOrigin, compress: boolean): Promise<BareSetup> {
  const path = newPath(context);
  await pullOnce(origin, path, { compress });
  const setup = bareSetup(origin, path, compress);
  const rowCount = await barePull(setup, newPath(context));
  if (rowCount !== origin.rowCount) throw new Error(`the bare loop read ${rowCount} of ${origin.rowCount} rows`);
  return setup;
}

async function comparePulls(
  context: BenchContext,
  compress: boolean,
): Promise<{ ratio: number; rowsPerSecond: number }> {
  const origin = await context.origins.serve(sizes(context).pull);
  const setup = await warmUp(context, origin, compress);
  const { oursMs, bareMs } = await takeTurns(context.roundCount, {
    ours: () => timeMs(() => pullOnce(origin, newPath(context), { compress })),
    bare: () => timeMs(() => barePull(setup, newPath(context))),
  });
  return { ratio: bareMs / oursMs, rowsPerSecond: (origin.rowCount / oursMs) * 1000 };
}

const pullBench: Bench = async (context) => {
  const plain = await comparePulls(context, false);
  const gzip = await comparePulls(context, true);
  const what = `${sizes(context).pull} rows of 12 columns and 5 system columns`;
  return [
    {
      name: 'pull.ratio',
      value: plain.ratio,
      unit: '×',
      bound: { kind: 'atLeast', value: 0.8 },
      note: `our rows/s ÷ the bare loop's, ${what}`,
    },
    { name: 'pull.rowsPerSecond', value: plain.rowsPerSecond, unit: 'rows/s', bound: null, note: what },
    { name: 'pull.gzipRatio', value: gzip.ratio, unit: '×', bound: null, note: 'the same with gzip on both sides' },
  ];
};

const resyncBench: Bench = async (context) => {
  const origin = await context.origins.serve(sizes(context).pull);
  const path = newPath(context);
  await pullOnce(origin, path, { compress: true });
  const setup = bareSetup(origin, path, true);
  // Both sides keep their connections between rounds, as a daemon does.
  const pool = openPool(origin);
  const opened = openPull(origin, path, { compress: true });
  try {
    const etags = await readEtags(setup, pool);
    let written = 0;
    const ways = {
      ours: () =>
        timeMs(async () => {
          written += writtenRowCount(await opened.pull());
        }),
      bare: () => timeMs(() => bareConditional(setup, pool, etags)),
    };
    const roundCount = context.roundCount * SHORTEST_ROUNDS;
    // V8 compiles both sides and the sandbox for as many rounds, which a daemon has behind it after some hours.
    await takeTurns(Math.ceil(roundCount / 2), ways);
    const { oursMs, bareMs } = await takeTurns(roundCount, ways);
    return [
      {
        name: 'resync.ratio',
        value: oursMs / bareMs,
        unit: '×',
        bound: { kind: 'atMost', value: 1.2 },
        note: `our unchanged sweep of ${origin.rowCount} rows ÷ a bare loop of conditional GETs`,
      },
      {
        name: 'resync.userRowWrites',
        value: written,
        unit: 'rows',
        bound: { kind: 'atMost', value: 0 },
        note: 'rows that unchanged sweeps wrote',
      },
    ];
  } finally {
    await opened.close();
    await pool.close();
  }
};

function writtenRowCount({ tables }: PullReport): number {
  return tables.reduce(
    (sum, { insertedCount, updatedCount, deletedCount }) => sum + insertedCount + updatedCount + deletedCount,
    0,
  );
}

const latencyBench: Bench = async (context) => {
  const origin = await context.origins.serve(sizes(context).latency, { latencyMs: LATENCY_MS });
  await pullOnce(origin, newPath(context), { compress: true });
  const idealMs = (Math.ceil(origin.rowCount / PAGE_ROWS) / CONCURRENCY) * LATENCY_MS;
  const rounds: number[] = [];
  for (let round = 0; round < context.roundCount; round += 1) {
    rounds.push(await timeMs(() => pullOnce(origin, newPath(context), { compress: true })));
  }
  return [
    {
      name: 'latency.ratio',
      value: median(rounds) / idealMs,
      unit: '×',
      bound: { kind: 'atMost', value: 1.15 },
      note: `${origin.rowCount} rows, ${LATENCY_MS} ms per request, ${CONCURRENCY} at a time, ÷ ${idealMs} ms`,
    },
  ];
};

function peakBytes(context: BenchContext, { url, database, token }: BenchOrigin): Promise<number> {
  return peakBytesOf({ address: { url, database, token }, path: newPath(context) });
}

const memoryBench: Bench = async (context) => {
  const { small, large } = sizes(context);
  const smallOrigin = await context.origins.serve(small);
  const largeOrigin = await context.origins.serve(large);
  const { oursMs: largeBytes, bareMs: smallBytes } = await takeTurns(context.roundCount, {
    ours: () => peakBytes(context, largeOrigin),
    bare: () => peakBytes(context, smallOrigin),
  });
  const mebibytes = 1024 * 1024;
  return [
    {
      name: 'memory.growthMiB',
      value: (largeBytes - smallBytes) / mebibytes,
      unit: 'MiB',
      bound: { kind: 'atMost', value: 48 },
      note: `peak of a first pull of ${large} rows minus one of ${small}`,
    },
    {
      name: 'memory.peakMiB',
      value: largeBytes / mebibytes,
      unit: 'MiB',
      bound: null,
      note: `peak of a first pull of ${large} rows`,
    },
  ];
};

const changeBench: Bench = async (context) => {
  const origin = await context.origins.serve(sizes(context).change, { apart: 'change' });
  const path = newPath(context);
  await pullOnce(origin, path, { compress: true });
  const figures: Figure[] = [];
  for (const [name, what, order] of [
    ['edited', '1 % of the rows edited', { kind: 'edit', percent: 1 }],
    ['deletedFirst', 'the first row deleted', { kind: 'deleteFirst' }],
    ['appended', '100 rows appended', { kind: 'append', rowCount: 100 }],
  ] as const) {
    await origin.change(order);
    const { requestCount, receivedBytes, tables } = await pullOnce(origin, path, { compress: true });
    const pagesReadCount = tables.reduce((sum, table) => sum + table.pagesReadCount, 0);
    const note = `sync after ${what}, ${origin.rowCount} rows`;
    figures.push(
      { name: `change.${name}.requests`, value: requestCount, unit: 'requests', bound: null, note },
      { name: `change.${name}.bytes`, value: receivedBytes, unit: 'bytes', bound: null, note },
      { name: `change.${name}.pagesRead`, value: pagesReadCount, unit: 'pages', bound: null, note },
    );
  }
  return figures;
};

const sandboxBench: Bench = async (context) => {
  const origin = await context.origins.serve(sizes(context).change);
  const setup = { origin, compress: false };
  const pool = openPool(origin);
  const columns = ['Id', 'Customer', 'Email', 'City', 'Remarks', 'Quantity', 'Price', 'Discount', 'Paid', 'Ordered'];
  const query = [...columns, 'Pickup', 'Shipped'].map((column) => `column=${column}`).join('&');
  const path = (skip: number): string =>
    `/secure/api/v2/${origin.database}/${TABLE}/select.json?${query}&sort=Id&skip=${skip}`;
  const requestCount = context.isSmoke ? 40 : 400;
  try {
    const etags = new Map<string, string>();
    // A skip that was never asked for before makes a page that was never rendered before.
    let skip = 0;
    const renderMs: number[] = [];
    const notModifiedMs: number[] = [];
    for (let round = 0; round < context.roundCount; round += 1) {
      const paths = Array.from({ length: requestCount }, () => path((skip += 1)));
      const read = async (requestPath: string): Promise<void> => {
        const headers = { ...headersOf(setup), 'if-none-match': etags.get(requestPath) ?? '"none"' };
        const answer = await pool.request({ method: 'GET', path: requestPath, headers });
        await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
        etags.set(requestPath, String(answer.headers['etag']));
      };
      renderMs.push(await timeMs(() => overPaths(paths, read)));
      notModifiedMs.push(await timeMs(() => overPaths(paths, read)));
    }
    const perSecond = (ms: number): number => (requestCount / ms) * 1000;
    const note = '500 rows of 12 columns, JSON, keep-alive';
    return [
      { name: 'sandbox.selectRps', value: perSecond(median(renderMs)), unit: 'requests/s', bound: null, note },
      {
        name: 'sandbox.notModifiedRps',
        value: perSecond(median(notModifiedMs)),
        unit: 'requests/s',
        bound: null,
        note,
      },
      {
        name: 'sandbox.notModifiedRatio',
        value: median(renderMs) / median(notModifiedMs),
        unit: '×',
        bound: { kind: 'atLeast', value: 5 },
        note: 'an unchanged page answered 304 ÷ rendering it',
      },
    ];
  } finally {
    await pool.close();
  }
};

const wireBench: Bench = async (context) => {
  const origin = await context.origins.serve(sizes(context).change);
  const pool = openPool(origin);
  try {
    const { json, xml } = WIRE_FORMATS;
    const read = async (format: WireFormat, path: string): Promise<string> => {
      const headers = headersOf({ origin, compress: false });
      const whole = `/secure/api/v2/${origin.database}/${TABLE}/${path.replace('{ext}', format.extension)}`;
      return (await pool.request({ method: 'GET', path: whole, headers })).body.text();
    };
    const table = json.readTable(await read(json, 'describe.{ext}'), 'describe');
    const columns = table.columns.slice(0, 12).map(({ name, type }) => ({ name, type: columnType(type) }));
    const query = columns.map(({ name }) => `column=${encodeURIComponent(name)}`).join('&');
    const [jsonText, xmlText] = [await read(json, `select.{ext}?${query}`), await read(xml, `select.{ext}?${query}`)];
    const pages = context.isSmoke ? 5 : 40;
    const timed = (format: WireFormat, text: string): Promise<number> =>
      timeMs(async () => {
        for (let at = 0; at < pages; at += 1) format.readRows(text, columns, 'select');
      });
    await timed(xml, xmlText);
    await timed(json, jsonText);
    const { oursMs, bareMs } = await takeTurns(context.roundCount * SHORT_ROUNDS, {
      ours: () => timed(xml, xmlText),
      bare: () => timed(json, jsonText),
    });
    const note = `rows/s read from XML ÷ from JSON, ${PAGE_ROWS} rows of ${columns.length} columns`;
    return [{ name: 'wire.xmlRatio', value: bareMs / oursMs, unit: '×', bound: null, note }];
  } finally {
    await pool.close();
  }
};

/** Every benchmark, in the order they run. */
export const BENCHES: Readonly<Record<string, Bench>> = {
  pull: pullBench,
  resync: resyncBench,
  latency: latencyBench,
  change: changeBench,
  push: pushBench,
  pushMemory: pushMemoryBench,
  sandbox: sandboxBench,
  wire: wireBench,
  memory: memoryBench,
  capture: captureBench,
  diff: diffBench,
  pullTwoWay: pullTwoWayBench,
  follow: followBench,
  columns: columnsBench,
  manyTables: manyTablesBench,
  files: filesBench,
  history: historyBench,
  sqlAt: sqlAtBench,
  sink: sinkBench,
  process: processBench,
  page: pageBench,
};

/** One pull by rowsync, with its own parts and the default settings; what the command does, without printing. */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, type Logger } from '../../src/base/log.ts';
import type { FilesReport } from '../../src/files/context.ts';
import { pullFiles } from '../../src/files/download.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import type { OriginLimits } from '../../src/origin/limits.ts';
import { findChangedWindows } from '../../src/pull/fingerprint.ts';
import { pull } from '../../src/pull/pull.ts';
import { prepareForReading } from '../../src/extras/verify/verify.ts';
import type { ColumnChoice } from '../../src/reconcile/column-selection.ts';
import type { PullReport } from '../../src/pull/report.ts';
import { push } from '../../src/push/push.ts';
import { BATCH_LIMITS, REQUEST_BYTES_MAX } from '../../src/reconcile/push-plan.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { readPages } from '../../src/replica/bookkeeping/pages.ts';
import type { Address } from './origin-child.ts';

/** Requests in flight, on both sides of every comparison. */
export const CONCURRENCY = 4;
/** Rows per page, on both sides of every comparison. */
export const PAGE_ROWS = 500;

/** An open replica and an open connection to its origin, as a process has them that pulls again and again. */
export interface OpenPull {
  pull(): Promise<PullReport>;
  /** Reads only what changed. */
  follow(): Promise<PullReport>;
  /** Asks which windows of a table changed, by what its days add up to: how many they are, and of how many. */
  changedWindows(
    table: string,
  ): Promise<{ readonly found: number; readonly all: number; readonly requestCount: number }>;
  close(): Promise<void>;
}

/** How to pull. */
export interface PullWay {
  readonly compress: boolean;
  readonly isTwoWay?: boolean;
  /** Whether sweeps ask for what following begins with. */
  readonly isFollowed?: boolean;
  readonly hasHistory?: boolean;
  readonly columns?: ColumnChoice | null;
}

const HISTORY = { keepDays: 400, bytesMax: 2_000_000_000 };

const EDITING = { match: null, conflict: 'origin', workflow: 'run' } as const;

/** Opens the replica at `path`, which is made if it is missing. */
export function openPull(
  address: Address,
  path: string,
  { compress, isTwoWay = false, isFollowed = false, hasHistory = false, columns = null }: PullWay,
): OpenPull {
  const { origin, replica, log } = openEnds(address, path, compress);
  const settings = {
    pageRows: PAGE_ROWS,
    maxDeletePercent: 50,
    concurrency: CONCURRENCY,
    follows: isFollowed ? ('all' as const) : ('none' as const),
    tableOptions: () => ({
      sort: null,
      columns,
      editing: isTwoWay ? EDITING : null,
      history: hasHistory ? HISTORY : null,
    }),
  };
  const context = { origin, replica, clock: systemClock, log, settings };
  const run = async (follow: boolean): Promise<PullReport> => {
    const report = await pull(context, { tables: [], confirm: false, follow });
    const error = report.error ?? report.tables.find((table) => table.error ?? table.held)?.error;
    if (error) throw error;
    return report;
  };
  return {
    pull: () => run(false),
    follow: () => run(true),
    changedWindows: async (name) => {
      const table = await prepareForReading(context, name);
      const before = origin.counters().requestCount;
      const changed = await findChangedWindows({ context, table });
      if (changed === null) throw new Error('The origin does not add up rows');
      return {
        found: changed.windows.length,
        all: new Set(readPages(replica, table.target.id).map(({ window }) => window)).size,
        requestCount: origin.counters().requestCount - before,
      };
    },
    close: async () => {
      replica.close();
      await origin.close();
    },
  };
}

function openEnds(
  { url, database, token }: Address,
  path: string,
  compress: boolean,
  limits: Partial<OriginLimits> = {},
): { origin: Origin; replica: Replica; log: Logger } {
  const log = createLogger({ level: 'silent', destination: { write: () => true }, secrets: [] });
  const credentials = { kind: 'bearer' as const, token };
  const origin = openOrigin(
    { url, database, credentials, concurrency: CONCURRENCY, compress, limits, maskKey: () => 'the key of a benchmark' },
    { clock: systemClock, log },
  );
  return { origin, replica: openReplica(path, { clock: systemClock }), log };
}

/** Pulls everything into the replica at `path` once, opening and closing both ends. */
export async function pullOnce(address: Address, path: string, options: PullWay): Promise<PullReport> {
  const opened = openPull(address, path, options);
  try {
    return await opened.pull();
  } finally {
    await opened.close();
  }
}

/** How to push. */
export interface PushWay {
  /** Edits of rows that there are. */
  readonly rowCount: number;
  /** Bytes of one request at most, where the default is not enough. */
  readonly requestBytesMax?: number;
}

/** Pushes a replica's edits, opening and closing both ends. */
export async function pushOnce(
  address: Address,
  path: string,
  { rowCount, requestBytesMax = REQUEST_BYTES_MAX }: PushWay,
): Promise<void> {
  const { origin, replica, log } = openEnds(address, path, false, { sentBytesMax: requestBytesMax });
  const settings = {
    maxPushRows: rowCount,
    maxDeletePercent: 50,
    concurrency: CONCURRENCY,
    uploadDir: null,
    secrets: [],
    batchLimits: { ...BATCH_LIMITS, requestBytesMax },
    tableOptions: () => EDITING,
  };
  try {
    const context = { origin, replica, clock: systemClock, log, settings };
    const { tables, error } = await push(context, { tables: [], confirm: false });
    const failure = error ?? tables[0]?.error ?? tables[0]?.held ?? null;
    if (failure !== null) throw failure;
    if (tables[0]?.updatedCount !== rowCount) throw new Error(`${tables[0]?.updatedCount} of ${rowCount} were pushed`);
  } finally {
    replica.close();
    await origin.close();
  }
}

/** Fetches the files of a replica whose rows were pulled, into a store, opening and closing both ends. */
export async function pullFilesOnce(address: Address, path: string, store: string): Promise<FilesReport> {
  const { origin, replica, log } = openEnds(address, path, false);
  const rule = { mode: 'latest', maxFileBytes: null, types: null, name: 'files' } as const;
  const settings = { folder: store, bytesMax: null, concurrency: CONCURRENCY, rule: () => rule };
  try {
    const context = { origin, replica, clock: systemClock, log, settings };
    const report = await pullFiles(context, { tables: [], retryNow: false });
    if (report.error !== null) throw report.error;
    return report;
  } finally {
    replica.close();
    await origin.close();
  }
}

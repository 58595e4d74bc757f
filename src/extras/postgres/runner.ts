/**
 * Runs sinks beside the work of the daemon, each in its own loop: it sends shortly after a change, and waits ever
 * longer after failures. It holds up neither pull nor push, since it only reads the replica.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { BACKOFFS, spreadBackoffMs } from '../../base/retries.ts';
import { ensureSinks, type SinkTableState } from '../shared/sinks.ts';
import type { SinkContext, SinkSettings } from './context.ts';
import { SinkWriter } from './sink.ts';

/** Between two rounds; changes within this time go as one batch. */
const PAUSE_MS = 1_000;
/** A quiet sink still has a round after this time, for the tables about the replica and for tables that failed. */
const QUIET_MS = 30_000;

/** Starts the sinks of a configuration; without any, the replica forgets its former sinks. */
export function startSinks(
  sinks: readonly SinkSettings[],
  parts: Pick<SinkContext, 'replica' | 'clock' | 'log'>,
): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const names = sinks.map(({ name }) => name);
  const ready = retried({ ...parts, signal }, () => ensureSinks(parts.replica, names));
  const loops = sinks.map(async (settings) => {
    await ready;
    await follow({ ...parts, settings, signal });
  });
  return {
    /** Ends when what is under way has ended. */
    stop: async () => {
      stopping.abort();
      await Promise.allSettled([ready, ...loops]);
    },
  };
}

async function follow(context: SinkContext & { readonly signal: AbortSignal }): Promise<void> {
  const { clock, signal, log, settings } = context;
  await using writer = new SinkWriter(context);
  let workedAtMs = -Infinity;
  let held: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    await retried({ ...context, sink: settings.name }, async () => {
      if (!writer.isBehind() && clock.monotonicMs() - workedAtMs < QUIET_MS) return;
      const { loadedRows, sentRows, tables } = await writer.work();
      workedAtMs = clock.monotonicMs();
      const rowCount = loadedRows + sentRows;
      if (rowCount > 0) log.info('sink.sent', { sink: settings.name, rowCount });
      held = tellHeld({ log, settings }, tables, held);
    });
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** Reports newly held tables; returns all held tables. */
function tellHeld(
  { log, settings }: Pick<SinkContext, 'log' | 'settings'>,
  tables: readonly SinkTableState[],
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  const held = tables.filter(({ state }) => state === 'held');
  for (const { tableName, problem } of held) {
    if (!before.has(tableName))
      log.warn('guard.waits', { sink: settings.name, table: `${settings.schema}.${tableName}`, ...problem });
  }
  return new Set(held.map(({ tableName }) => tableName));
}

/** Does something until it succeeds, or it is asked to stop. */
async function retried(
  given: Pick<SinkContext, 'clock' | 'log'> & { readonly signal: AbortSignal; readonly sink?: string },
  work: () => Promise<void>,
): Promise<void> {
  const { clock, log, signal, sink } = given;
  for (let failureCount = 1; !signal.aborted; failureCount += 1) {
    try {
      await work();
      if (failureCount > 1) log.info('sink.recovered', { sink: sink ?? null });
      return;
    } catch (thrown) {
      if (signal.aborted) return;
      const { code, message, hint } = asRowsyncError(thrown);
      const waitMs = spreadBackoffMs(BACKOFFS.sink, failureCount, clock.random());
      log.warn('sink.failed', { sink: sink ?? null, code, message, hint, attempt: failureCount, waitMs });
      await clock.sleep(waitMs, signal);
    }
  }
}

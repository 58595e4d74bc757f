/**
 * What the HTTP endpoints show, read from the daemon, the replica and the file system at the moment of the request. The
 * replica is read through a connection of its own, which never waits for a writer.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { readSinkStatus } from '../../replica/bookkeeping/sinks.ts';
import { readProblems, type Surroundings } from '../../daemon/account.ts';
import type { DaemonExtra } from '../../daemon/parts.ts';
import type { LoopDelay } from '../../daemon/process-health.ts';
import { metricsText } from './metrics.ts';
import type { Sides } from '../../daemon/sides.ts';
import { stateJson, type DaemonState } from '../../daemon/state.ts';

/**
 * The body of `/status`: the daemon, every table as `sync_status` has it, the account, and what the account has from the daemon alone.
 * @throws RowsyncError of the replica.
 */
export async function statusJson(state: DaemonState, { config }: Sides, around: Surroundings): Promise<unknown> {
  const { path } = config.replica;
  return {
    ...stateJson(state),
    replica: { path, bytes: sizeOf(path) },
    complaints: around.word.complaints,
    ...(await read(path, (reader) => ({
      problems: readProblems(reader, around),
      tables: reader.status(),
      sinks: readSinkStatus(reader),
    }))),
  };
}

/** The body of `/metrics`. @throws RowsyncError of the replica. */
export async function metricsOf(
  state: DaemonState,
  { config, origin, replica }: Sides,
  {
    around,
    loopDelay,
    extras,
  }: { readonly around: Surroundings; readonly loopDelay: LoopDelay; readonly extras: readonly DaemonExtra[] },
): Promise<string> {
  const { nowMs } = around;
  const { path } = config.replica;
  const { bavail, bsize } = statfsSync(dirname(path));
  const reading = read(path, async (reader) => ({
    problems: readProblems(reader, around),
    tables: reader.status(),
    replica: reader.measures(),
    extras: (await Promise.all(extras.flatMap(({ metrics }) => metrics?.(config, { reader, nowMs }) ?? []))).flat(),
  }));
  return metricsText({
    state,
    ...(await reading),
    origin: origin.counters(),
    ...replica.counters(),
    loopDelaySeconds: loopDelay.takeP99Seconds(),
    replicaBytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
    freeBytes: bavail * bsize,
    nowMs,
  });
}

async function read<T>(path: string, ask: (reader: ReplicaReader) => T | Promise<T>): Promise<T> {
  const reader = openReader(path);
  try {
    return await ask(reader);
  } finally {
    reader.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

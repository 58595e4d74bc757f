/**
 * What the HTTP endpoints show, read from the daemon, the replica and the file system at the moment of the request. The
 * replica is read through a connection of its own, which never waits for a writer.
 */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { openReader, type ReplicaReader } from '../replica/reader.ts';
import type { LoopDelay } from './loop-delay.ts';
import { metricsText } from './metrics.ts';
import type { Sides } from './sides.ts';
import { stateJson, type DaemonState } from './state.ts';

/** The body of `/status`: the daemon, and every table as `sync_status` has it. @throws RowsyncError of the replica. */
export function statusJson(state: DaemonState, { config }: Sides): unknown {
  const { path } = config.replica;
  return {
    ...stateJson(state),
    replica: { path, bytes: sizeOf(path) },
    tables: read(path, (reader) => reader.status()),
  };
}

/** The body of `/metrics`. @throws RowsyncError of the replica. */
export function metricsOf(
  state: DaemonState,
  { config, origin, replica }: Sides,
  { nowMs, loopDelay }: { readonly nowMs: number; readonly loopDelay: LoopDelay },
): Promise<string> {
  const { path } = config.replica;
  const { bavail, bsize } = statfsSync(dirname(path));
  return metricsText({
    state,
    ...read(path, (reader) => ({ tables: reader.status(), replica: reader.measures() })),
    origin: origin.counters(),
    ...replica.counters(),
    loopDelaySeconds: loopDelay.takeP99Seconds(),
    replicaBytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
    freeBytes: bavail * bsize,
    nowMs,
  });
}

function read<T>(path: string, ask: (reader: ReplicaReader) => T): T {
  const reader = openReader(path);
  try {
    return ask(reader);
  } finally {
    reader.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

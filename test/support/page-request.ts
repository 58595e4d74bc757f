/**
 * Questions for a page process, as a daemon that waits would ask them.
 *
 *    const { status, body } = await host.ask(requestOf(path, '/browse'), { msMax: 20_000, signal });
 */
import { join } from 'node:path';
import { CLOSED } from '../../src/daemon/circuit.ts';
import type { PageRequest } from '../../src/daemon/page/request.ts';

/** One question; `query` is what stands behind the `?`. */
export function requestOf(replicaPath: string, path: string, query = ''): PageRequest {
  return {
    path,
    query,
    form: null,
    formToken: 'token',
    said: null,
    nowMs: Date.UTC(2026, 5, 1),
    replicaPath,
    filesFolder: join(replicaPath, '..', 'files'),
    recordUrl: null,
    state: {
      startedAtMs: 0,
      working: null,
      circuit: CLOSED,
      failure: null,
      circuitWaitMs: 0,
      troubleByTable: new Map(),
      heldTables: [],
      jobs: [],
      lastByWork: new Map(),
      workCounts: new Map(),
      mismatchCount: 0,
      wayByTable: new Map(),
    },
    work: { progress: null, notes: [] },
    lateAfterMs: new Map(),
  };
}

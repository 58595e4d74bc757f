/**
 * Questions for a page process, as a daemon that waits would ask them.
 *
 *    const { status, body } = await host.ask(requestOf(path, '/browse'), { msMax: 20_000, signal });
 */
import { join } from 'node:path';
import { NOTHING_KEPT } from './kept.ts';
import type { PageRequest } from '../../src/extras/page/request.ts';
import { RESTING_STATE } from './daemon-state.ts';

/** One question; `query` is the part after the `?`. */
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
    references: {},
    state: RESTING_STATE,
    work: { progress: null, notes: [] },
    around: {
      keeper: 'daemon',
      complaints: [],
      ...NOTHING_KEPT,
      nowMs: Date.UTC(2026, 5, 1),
    },
  };
}

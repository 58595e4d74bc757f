/** The state of a daemon that waits for its first work. */
import type { DaemonState } from '../../src/daemon/state.ts';

/** At rest, without jobs and without a past. */
export const RESTING_STATE: DaemonState = {
  startedAtMs: 0,
  working: null,
  failure: null,
  circuitWaitMs: 0,
  jobs: [],
  lastByWork: new Map(),
  lastAskedByWork: new Map(),
  workCounts: new Map(),
  refreshByTable: new Map(),
  notes: [],
  logFailure: null,
  complaints: [],
  problems: [],
};

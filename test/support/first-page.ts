/**
 * What the first page of the daemon is made from: tables with their account, a conflict, a refused row.
 */
import type { OpenDecisions, ShownConflict, ShownFailure } from '../../src/extras/page/decisions.ts';
import type { DaemonState } from '../../src/daemon/state.ts';
import type { FoundComplaint } from '../../src/reconcile/account/facts.ts';
import type { Problem } from '../../src/reconcile/account/account.ts';
import type { TableStatus } from '../../src/replica/reader.ts';
import { accountWithAll } from './account-facts.ts';
import { RESTING_STATE } from './daemon-state.ts';
import { TABLE_STATUS } from './measures.ts';

export const NOW = Date.UTC(2026, 5, 1, 12);

export const TABLE: TableStatus = {
  ...TABLE_STATUS,
  rowCount: 1200,
  pageCount: 3,
  lastSweepAt: '2026-06-01T11:58:00Z',
  freshSince: '2026-06-01T11:58:00Z',
  mode: 'two-way',
};

export const STATE: DaemonState = {
  ...RESTING_STATE,
  startedAtMs: NOW - 3_600_000,
  jobs: [{ id: 'pull', nextAtMs: NOW + 180_000, isDue: false }],
};

export const FAILURE = {
  kind: 'auth' as const,
  code: 'origin.forbidden',
  message: 'The origin answered 403',
  hint: 'Renew the token',
  since: '2026-06-01T11:00:00Z',
  number: 1,
  cause: 'auth' as const,
  failureCount: 2,
  retryAtMs: 0,
};
export const DOWN = { ...STATE, failure: FAILURE };

/** The account of tables, held ones by the guard of deletes, and of a daemon that is down with `failure`. */
export function problemsOf(tables: readonly TableStatus[], { failure }: DaemonState = STATE): readonly Problem[] {
  const down: readonly FoundComplaint[] = failure === null ? [] : [{ about: 'daemon', subject: null, ...failure }];
  const complaints = tables.flatMap(({ table, state, problem, hint }): readonly FoundComplaint[] => {
    const code = state === 'held' ? 'guard.deletes' : 'origin.refused';
    return problem === null
      ? []
      : [{ about: 'table', subject: table, code, message: problem, hint: hint ?? '', since: null }];
  });
  const nothing = {
    lateAfterMs: null,
    editsLateAfterMs: null,
    oldestPendingAt: null,
    firstUnreadable: null,
    lost: null,
    filesNotHere: null,
  };
  const facts = tables.map((table) => ({ ...table, ...nothing }));
  const replica = tables.length === 0 ? 'unpulled' : 'here';
  return accountWithAll({
    nowMs: NOW,
    replica,
    tables: facts,
    complaints: [...down, ...complaints],
    misnamed: [],
    remade: [],
    putBack: null,
    lastRunAt: null,
    keeper: 'daemon',
  });
}

export const CONFLICT: ShownConflict = {
  name: 'N-3 Ada',
  changedBy: 'Bo Berg <bo@example.com>',
  changedAt: '2026-06-01T10:00:00Z',
  columns: [],
  typed: null,
  id: 7,
  table: 'Note',
  rowId: 3,
  kind: 'cell',
  column: 'Title',
  base: 'before',
  local: 'mine',
  remote: 'theirs',
  winner: 'nobody',
  at: '2026-06-01T11:00:00Z',
  state: 'open',
  resolution: null,
  problem: null,
};

export const REFUSAL: ShownFailure = {
  seen: 'a-digest',
  name: '',
  id: 4,
  table: 'Note',
  rowId: 5,
  kind: 'update',
  column: 'Code',
  reason: 'Cannot insert duplicate value',
  since: '2026-06-01T11:00:00Z',
  status: 400,
  code: 4100,
  sent: '{"Code":"c1","Count":9007199254740993}',
  retryAt: null,
  columns: [],
};

export const DECISIONS: OpenDecisions = {
  conflicts: [CONFLICT],
  failures: [REFUSAL],
  lost: [],
  lostCount: 0,
  conflictCount: 1,
  failureCount: 1,
  heldPushes: new Set(),
  formToken: 'a-token',
};

/** What `rowsync status` is made from: a status, its tables and problems. */
import type { KeptTable, Status } from '../../src/cli/commands/status.ts';
import type { Problem } from '../../src/reconcile/account/account.ts';
import type { ProblemCode } from '../../src/reconcile/account/problems.ts';
import { TABLE_STATUS } from './measures.ts';

export const NOW = Date.parse('2026-11-21T12:00:00Z');

export const table = (name: string, changes: Partial<KeptTable> = {}): KeptTable => ({
  ...TABLE_STATUS,
  table: name,
  rowCount: 1_234,
  pageCount: 3,
  lastSweepAt: '2026-11-21T11:55:00Z',
  freshSince: '2026-11-21T11:54:00Z',
  way: null,
  ...changes,
});

export const problem = (code: ProblemCode, changes: Partial<Problem> = {}): Problem => ({
  code,
  severity: 'person',
  table: null,
  count: 1,
  since: null,
  sentence: 'refused',
  hint: 'ask',
  ...changes,
});

export const status = (tables: readonly KeptTable[]): Status => ({
  replica: { path: '/data/replica.db', bytes: 5 * 1024 ** 2, isOlder: false },
  moreLines: [],
  identity: {
    url: 'https://example.net',
    database: '21995',
    userEmail: 'ana@example.net',
    role: 'Administrator',
    timeZone: 'Europe/Paris',
  },
  tables,
  problems: [],
  keeper: 'daemon',
  runs: [
    {
      id: 7,
      kind: 'pull',
      startedAt: '2026-11-21T11:54:50Z',
      finishedAt: '2026-11-21T11:55:00Z',
      outcome: 'done',
      tableCount: 1,
      requestCount: 12,
      notModifiedCount: 9,
      receivedBytes: 4096,
      insertedCount: 1,
      updatedCount: 2,
      deletedCount: 0,
      errorMessage: null,
    },
  ],
});

/**
 * What everyone may know of the account.
 */
import { expect, test } from 'vitest';
import { publicStateOf } from '../../../src/extras/http/public-state.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';

const DAY_20 = '2026-11-20T08:00:00Z';
const DAY_21 = '2026-11-21T08:00:00Z';

function problemOf(changes: Partial<Problem>): Problem {
  const own = { code: 'rows.refused', severity: 'person', table: null, count: 1, since: null } as const;
  return { ...own, sentence: 'said', hint: 'do', ...changes };
}

const LATE = { code: 'table.late', severity: 'late' } as const;
const STOP = { code: 'run.failed', since: DAY_21 } as const;

test.each<[string, readonly Partial<Problem>[], 'works' | 'late' | 'failed', string | null]>([
  ['nothing is wrong', [], 'works', null],
  ['a person has to decide about rows', [{ since: DAY_20 }], 'works', null],
  ['a table is late', [{ ...LATE, since: DAY_20 }], 'late', DAY_20],
  [
    'the second of two tables is late for longer',
    [
      { ...LATE, since: DAY_21 },
      { ...LATE, since: DAY_20 },
    ],
    'late',
    DAY_20,
  ],
  ['a table is late, since when nobody knows', [LATE], 'late', null],
  ['one of two knows since when it is late', [LATE, { ...LATE, since: DAY_21 }], 'late', DAY_21],
  ['all work stops, also where a table was late before', [{ ...LATE, since: DAY_20 }, STOP], 'failed', DAY_21],
  ['all work stops, since when nobody knows', [{ ...STOP, since: null }], 'failed', null],
])('everyone may know that it works, or not: %s', (_what, problems, state, since) => {
  expect(publicStateOf(problems.map(problemOf))).toEqual({ state, since });
});

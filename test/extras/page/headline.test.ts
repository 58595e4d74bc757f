/**
 * The sentence at the top of the page: what it says when, in which tone, and what to do.
 */
import { describe, expect, test } from 'vitest';
import { headlineOf, type Headline } from '../../../src/extras/page/headline.ts';
import type { DaemonState } from '../../../src/daemon/state.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { ProblemCode } from '../../../src/reconcile/account/problems.ts';
import type { TableStatus } from '../../../src/replica/reader.ts';
import { DOWN, NOW, problemsOf, STATE, TABLE } from '../../support/first-page.ts';

/** The top of the page for tables. */
function top(tables: readonly TableStatus[], state = STATE): Headline {
  return headlineOf(problemsOf(tables, state), { state, tables, nowMs: NOW });
}

describe('the sentence at the top', () => {
  const other = { ...TABLE, table: 'Order' };

  test.each<[string, DaemonState, readonly TableStatus[], string, string]>([
    ['all is well', STATE, [TABLE, other], 'ok', 'All 2 tables are up to date'],
    ['there is one table', STATE, [TABLE], 'ok', 'The table is up to date'],
    ['nothing was pulled yet', STATE, [], 'busy', 'Nothing was pulled yet'],
    [
      'a table is loading',
      STATE,
      [TABLE, { ...other, state: 'loading', freshSince: null }],
      'busy',
      '1 of 2 tables still loading',
    ],
    ['edits wait to be pushed', STATE, [{ ...TABLE, pendingCount: 3 }], 'busy', '3 edited rows to push'],
    ['a conflict is open', STATE, [{ ...TABLE, conflictCount: 1 }, other], 'warn', '1 table needs attention'],
    [
      'a table failed and another has refused rows',
      STATE,
      [
        { ...TABLE, refusedCount: 2 },
        { ...other, state: 'failed', problem: 'p', hint: 'h' },
      ],
      'warn',
      '2 tables need attention',
    ],
    ['a row cannot be read', STATE, [{ ...TABLE, unreadableCount: 1 }], 'warn', '1 table needs attention'],
    ['a table is gone', STATE, [{ ...TABLE, state: 'gone' }], 'warn', '1 table needs attention'],
    ['nothing works', DOWN, [TABLE], 'bad', 'Syncing is stopped'],
  ])('when %s', (_when, state, tables, tone, sentence) => {
    expect(top(tables, state)).toMatchObject({ tone, sentence });
  });

  test('comes with what to do', () => {
    const table = {
      ...TABLE,
      conflictCount: 2,
      state: 'held',
      problem: 'deletes wait',
      hint: 'rowsync pull --confirm',
    };

    expect(top([table]).problems).toMatchObject([
      { table: 'Note', sentence: 'deletes wait', hint: 'rowsync pull --confirm' },
      { table: 'Note', sentence: '2 conflicts to decide' },
    ]);
    expect(top([], DOWN).problems[0]).toMatchObject({ table: null, hint: 'Renew the token' });
  });

  test('counts tables and other things that need a person, and names what is late', () => {
    const problem = (code: ProblemCode, changes: Partial<Problem>): Problem => {
      return { code, severity: 'person', table: null, count: 1, since: null, sentence: 's', hint: 't', ...changes };
    };
    const sentenceOf = (...problems: readonly Problem[]): string =>
      headlineOf(problems, { state: STATE, tables: [TABLE], nowMs: NOW }).sentence;

    expect(sentenceOf(problem('config.refused', {}), problem('table.held', { table: 'Note' }))).toBe(
      '2 things need attention',
    );
    expect(sentenceOf(problem('table.late', { severity: 'late', table: 'Note' }))).toBe('Note: s');
    expect(sentenceOf(problem('replica.older', { severity: 'notice' }))).toBe('The table is up to date');
  });

  test('says what is under way, or comes next', () => {
    expect(top([TABLE]).note).toBe('Checked against the origin 2 min ago. The next pull is in 3 min.');
    expect(top([TABLE], { ...STATE, working: 'push' }).note).toContain('A push is under way.');
    expect(top([TABLE], { ...STATE, jobs: [] }).note).toContain('Nothing is scheduled.');
  });
});

/** What a push did, and what one would do, in words and exit codes. */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import {
  exitCodeOfAccount,
  fatesText,
  lostText,
  planJson,
  planText,
  pushExitCode,
  pushJson,
  pushText,
  rowHead,
  tableHead,
  valueText,
} from '../../../src/cli/report/push-report.ts';
import type { PreviewRow, TablePreview } from '../../../src/push/plan-preview.ts';
import type { PushReport, TablePushReport } from '../../../src/push/report.ts';
import type { PushAccount } from '../../../src/reconcile/account/push-account.ts';
import type { ConflictLine } from '../../../src/replica/bookkeeping/conflicts.ts';

const account = (changes: Partial<PushAccount> = {}): PushAccount => ({
  began: 0,
  arrived: 0,
  won: 0,
  lost: 0,
  asked: 0,
  refused: 0,
  inDoubt: 0,
  unsendable: 0,
  unsent: 0,
  passing: 0,
  unsentReason: null,
  ...changes,
});

const pushed = (table: string, changes: Partial<TablePushReport> = {}): TablePushReport => ({
  table,
  insertedCount: 0,
  updatedCount: 0,
  deletedCount: 0,
  refusedCount: 0,
  inDoubtCount: 0,
  conflictCount: 0,
  waitingCount: 0,
  parkedCount: 0,
  parkedInDoubtCount: 0,
  openConflictCount: 0,
  account: account(),
  held: null,
  error: null,
  durationMs: 10,
  ...changes,
});

const report = (tables: readonly TablePushReport[], error: RowsyncError | null = null): PushReport => ({
  runId: 7,
  tables,
  requestCount: 3,
  durationMs: 1_200,
  error,
  stop: null,
});

const guard = new RowsyncError('needsPerson', 'guard.pushRows', { message: 'too many', hint: 'confirm' });
const busy = new RowsyncError('originDown', 'origin.busy', { message: 'busy', hint: 'wait' });

describe('the exit code', () => {
  test.each<[string, PushReport, number, number]>([
    ['nothing was to be done', report([]), 0, 0],
    ['all arrived', report([pushed('A', { updatedCount: 1 })]), 0, 0],
    ['a table failed', report([pushed('A', { error: busy })]), 75, 75],
    ['the run failed', report([], busy), 75, 75],
    ['a guard waits', report([pushed('A', { held: guard })]), 3, 3],
    ['a conflict waits', report([pushed('A', { openConflictCount: 1 })]), 3, 3],
    ['a row was refused earlier', report([pushed('A', { parkedCount: 1 })]), 0, 3],
    ['a row is refused now', report([pushed('A', { account: account({ refused: 1 }), parkedCount: 1 })]), 1, 3],
    ['a busy origin refused rows', report([pushed('A', { account: account({ refused: 2, passing: 2 }) })]), 75, 75],
  ])('where %s', (_what, given, code, strictCode) => {
    expect([pushExitCode(given, false), pushExitCode(given, true)]).toEqual([code, strictCode]);
    expect(pushJson(given, true)).toMatchObject({ exitCode: strictCode, runId: 7 });
  });

  test.each([
    [{}, 0],
    [{ unsent: 3, lost: 1, asked: 1 }, 0],
    [{ refused: 1 }, 1],
    [{ inDoubt: 1 }, 1],
    [{ unsendable: 1 }, 1],
    [{ refused: 2, passing: 1 }, 1],
    [{ refused: 1, inDoubt: 1, passing: 2 }, 75],
  ])('of edits that became %j is %i', (changes, code) => {
    expect(exitCodeOfAccount(account(changes))).toBe(code);
  });
});

describe('a push', () => {
  test('shows the tables in which something happened, and the sums', () => {
    const text = pushText(report([pushed('A', { insertedCount: 2, updatedCount: 1_000 }), pushed('B')]), 80);

    expect(text).toBe(
      [
        '┌───────┬──────────┬─────────┬─────────┬─────────┬─────────────┬─────────┐',
        '│ table │ inserted │ updated │ deleted │ refused │ in conflict │ waiting │',
        '├───────┼──────────┼─────────┼─────────┼─────────┼─────────────┼─────────┤',
        '│ A     │        2 │   1,000 │       0 │       0 │           0 │       0 │',
        '└───────┴──────────┴─────────┴─────────┴─────────┴─────────────┴─────────┘',
        '1,002 rows pushed with 3 requests in 1.2 s',
        '',
      ].join('\n'),
    );
  });

  test('shows rare counts only where there are any, and what was parked before apart from what is parked now', () => {
    const text = pushText(report([pushed('A', { parkedCount: 3, account: account({ began: 1, refused: 1 }) })]), null);

    expect(text.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/waiting +still parked$/) as string,
      expect.stringMatching(/^A .* 0 +2$/) as string,
    ]);
    expect(text).not.toContain('in doubt');
    expect(text).toContain('1 edit: 1 refused\n');
  });

  test('of no table says what to configure', () => {
    expect(pushText(report([]), null)).toBe('no table is pushed (push: true in the configuration)\n');
  });

  test('says what is wrong and what to do', () => {
    const text = pushText(report([pushed('A', { held: guard }), pushed('B', { error: busy })]), null);

    expect(text).toContain('\nA: held: too many\n  what to do: confirm\n');
    expect(text).toContain('\nB: failed: busy\n');
  });

  test('names what became of its edits unless all simply arrived', () => {
    expect(fatesText(account({ began: 3, arrived: 3 }))).toBe('');
    expect(fatesText(account({ began: 6, arrived: 1, won: 2, lost: 1, inDoubt: 1, unsent: 1 }))).toBe(
      '6 edits: 1 arrived, 2 arrived, and replaced a change at the origin, 1 lost to a change at the origin, in whole or in part, 1 in doubt, 1 not sent\n',
    );
    expect(fatesText(account({ began: 1, unsent: 1, unsentReason: 'held\u0007' }))).toBe(
      '1 edit: 1 not sent (held\\u0007)\n',
    );
  });
});

describe('a plan', () => {
  const row = (changes: Partial<PreviewRow> = {}): PreviewRow => ({
    rowId: 1,
    kind: 'update',
    fate: 'sent',
    method: 'update',
    reason: null,
    cells: [],
    ...changes,
  });
  const table = (...rows: readonly PreviewRow[]): TablePreview => ({
    table: 'Note',
    rows,
    writeCallCount: 0,
    readCallCount: 0,
    held: null,
  });
  const cell = { column: 'Text', base: 'a', local: 'b' };

  test('without edits says so', () => {
    expect(planText([], 80)).toBe('Nothing to push\n');
  });

  test('the short form of many rows says in how many each column changes, with the first of them', () => {
    const cells = [{ column: 'Text', base: 'a', local: 'b' }];
    const rows = Array.from({ length: 1_506 }, (_, index) => row({ rowId: index + 1, cells }));
    const both = row({ rowId: 9_999, cells: [{ column: 'Count', base: 1, local: 2 }, ...cells] });

    const lines = planText([table(...rows, both)], 80).split('\n');

    expect(lines.slice(0, 3)).toEqual([
      'Note: 1,507 updates',
      '  changed: Text in 1,507 rows, Count in 1 row',
      '  update 1  Text: "a" -> "b"',
    ]);
    expect(lines.slice(-2)).toEqual(['  and 1,502 more rows (--json lists them)', '']);
    expect(lines).toHaveLength(9);
  });

  test('names each kind of change, what is not sent, and the requests', () => {
    const rows = [row(), row({ kind: 'insert', rowId: -1 }), row({ kind: 'delete' }), row({ fate: 'conflict' })];
    const preview = { ...table(...rows), writeCallCount: 2, readCallCount: 1 };

    expect(tableHead(preview, 80)).toBe(
      'Note: 1 update, 1 insert, 1 delete; 1 not sent; 2 write calls, about 1 read call\n',
    );
    expect(tableHead(table(row({ fate: 'refused' })), 80)).toBe('Note: nothing to send; 1 not sent\n');
  });

  test('says why a push is held, without the name of the table once more', () => {
    expect(tableHead({ ...table(row()), held: 'Note: more than 1,000 rows' }, 200)).toContain(
      'Note: 1 update\n  a push is held: more than 1,000 rows\n',
    );
  });

  test('shows old and new values of a change, the new ones of a new row, and why a row waits', () => {
    const text = planText(
      [
        table(
          row({ cells: [cell] }),
          row({ kind: 'insert', rowId: -2, cells: [{ ...cell, base: null }] }),
          row({ rowId: 3, fate: 'unsendable', reason: 'no right\n' }),
        ),
      ],
      80,
    );

    expect(text.split('\n').slice(1)).toEqual([
      '  update 1  Text: "a" -> "b"',
      '  insert -2  Text: "b"',
      String.raw`  cannot be sent (update) 3: no right\n`,
      '',
    ]);
  });

  test('puts long changes of a row on a line of their own, cut', () => {
    const long = { column: 'Text', base: 'x'.repeat(100), local: 'y' };

    const [, head, change] = planText([table(row({ cells: [long, long] }))], 80).split('\n');

    expect(head).toBe('  update 1');
    expect(change).toMatch(/^ {6}Text: "x+… -> "y", Text: /);
  });

  test.each([
    [{ name: 'Ana\u001B' }, String.raw`update 1 (Ana\u001b)`],
    [{ name: 'n'.repeat(50) }, `update 1 (${'n'.repeat(39)}…)`],
    [{ rowId: 0 }, 'update'],
    [{ fate: 'inDoubt' }, 'in doubt (update) 1'],
    [{ fate: 'later' }, 'later (update) 1'],
  ] as const)('heads a row with %j', (changes, expected) => {
    expect(rowHead(row(changes))).toBe(expected);
  });

  test.each([
    ['NULL', null],
    ['"NULL"', 'NULL'],
    [String.raw`"a\"b\n"`, 'a"b\n'],
    ['5', 5],
    ['9007199254740993', 9_007_199_254_740_993n],
    [String.raw`"\u202e"`, '\u202E'],
  ])('shows a value as %s', (expected, value) => {
    expect(valueText(value)).toBe(expected);
  });

  test('in JSON has every row, and large numbers as texts', () => {
    const big = { column: 'N', base: 9_007_199_254_740_993n, local: 1 };
    const preview = { ...table(row({ cells: [big] })), writeCallCount: 2, readCallCount: 1 };

    expect(planJson([preview, preview])).toMatchObject({
      tables: [{ rows: [{ cells: [{ column: 'N', base: '9007199254740993', local: 1 }] }] }, {}],
      callCount: 6,
    });
  });
});

describe('edits that lost', () => {
  const line = (id: number, changes: Partial<ConflictLine> = {}): ConflictLine => ({
    id,
    table: 'Note',
    rowId: 5,
    kind: 'cell',
    column: 'Title',
    base: null,
    local: null,
    remote: null,
    winner: 'origin',
    at: '',
    state: 'resolved',
    resolution: null,
    problem: null,
    ...changes,
  });

  test('are named with what takes them back', () => {
    expect(lostText([])).toBe('');
    expect(lostText([line(12), line(13, { column: null, kind: 'deletedThere' })])).toBe(
      '\n2 edits lost to a change at the origin; what takes it back:\n' +
        '  Note row 5, Title: rowsync resolve 12 --take local --again\n' +
        '  Note row 5, deleted at the origin: rowsync resolve 13 --take local --again\n',
    );
  });

  test('are twenty at most; the others are counted', () => {
    const text = lostText(Array.from({ length: 23 }, (_, index) => line(index + 1)));

    expect(text.match(/--again/g)).toHaveLength(20);
    expect(text).toContain('  and 3 more: rowsync conflicts\n');
  });
});

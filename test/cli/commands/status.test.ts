/**
 * The status screen.
 */
import { expect, test } from 'vitest';
import { statusText, type KeptTable } from '../../../src/cli/commands/status.ts';
import { displayWidth } from '../../../src/base/text.ts';
import { NOW, problem, status, table } from '../../support/status.ts';

test('answers in one screen: how fresh, what is wrong, what to do', () => {
  const tables = [table('Customer', { state: 'held' }), table('Order')];
  const problems = [
    problem('table.held', {
      table: 'Customer',
      sentence: '60 of 91 rows would be deleted',
      hint: 'Look, then confirm',
    }),
    problem('rows.unreadable', { table: 'Order', sentence: '2 rows cannot be read', hint: 'See rowsync failures' }),
    problem('tables.late', { severity: 'late', sentence: 'Order was last read 2 h ago', hint: 'See the daemon' }),
  ];

  expect(statusText({ ...status(tables), problems }, { nowMs: NOW, width: 80 })).toBe(
    [
      'replica   /data/replica.db (5.0 MiB)',
      'origin    https://example.net, database 21995',
      'user      ana@example.net, Administrator, Europe/Paris',
      'last run  pull, 5 min ago: done',
      '          12 requests, 9 not modified; 1 new, 2 changed, 0 deleted',
      '',
      '┌──────────┬───────┬───────────┬───────────────────┐',
      '│ table    │  rows │     as of │ state             │',
      '├──────────┼───────┼───────────┼───────────────────┤',
      '│ Customer │ 1,234 │ 6 min ago │ held, see below   │',
      '│ Order    │ 1,234 │ 6 min ago │ steady, see below │',
      '└──────────┴───────┴───────────┴───────────────────┘',
      '2 tables, 2,468 rows; 1 held, 1 steady, with 3 problems',
      '',
      'needs attention:',
      '  Customer: 60 of 91 rows would be deleted',
      '    what to do: Look, then confirm',
      '  Order: 2 rows cannot be read',
      '    what to do: See rowsync failures',
      '',
      'late:',
      '  Order was last read 2 h ago',
      '    what to do: See the daemon',
      '',
    ].join('\n'),
  );
});

test('keeps a large database to one screen of a terminal, the troubled and the oldest first', () => {
  const tables = [
    ...Array.from({ length: 60 }, (_, index) => table(`T${index}`)),
    table('Old', { freshSince: '2026-11-01T00:00:00Z' }),
    table('Bad', { state: 'failed' }),
  ];
  const problems = [problem('table.failed', { table: 'Bad' })];

  const lines = statusText({ ...status(tables), problems }, { nowMs: NOW, width: 80 }).split('\n');

  expect(lines.length).toBeLessThan(45);
  expect(lines[9]).toContain('Bad');
  expect(lines[10]).toContain('Old');
  expect(lines).toContain('and 37 more tables, all fresher (--json lists them)');
  expect(statusText(status(tables), { nowMs: NOW, width: null })).toContain('T59');
});

test('says what is missing before the first pull', () => {
  const problems = [problem('replica.unpulled')];

  const text = statusText({ ...status([]), identity: null, runs: [], problems }, { nowMs: NOW, width: 80 });

  expect(text).toContain('not asked yet: run rowsync pull');
  expect(text).toContain('last run  none');
  expect(text).toContain('no tables yet');
});

test('shows a run that failed, with its error, and one that is under way', () => {
  const base = status([]);
  const failed = base.runs.map((run) => ({ ...run, outcome: 'failed', errorMessage: 'no answer' }));
  const running = base.runs.map((run) => ({ ...run, finishedAt: null, outcome: 'running' }));

  expect(statusText({ ...base, runs: failed }, { nowMs: NOW, width: null })).toContain('5 min ago: failed\n');
  expect(statusText({ ...base, runs: failed }, { nowMs: NOW, width: null })).toContain('\n          no answer\n');
  expect(statusText({ ...base, runs: running }, { nowMs: NOW, width: null })).toContain('began 5 min ago: running');
});

test('keeps hostile names and problems from the terminal, and tables within its width', () => {
  const hostile = [table('\u001B[2J'.repeat(30))];
  const problems = [problem('table.failed', { table: hostile[0]?.table ?? '', sentence: 'x\u0007', hint: '\u202E' })];

  const lines = statusText({ ...status(hostile), problems }, { nowMs: NOW, width: 80 }).split('\n');

  expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(Math.max(...lines.filter((line) => /^[│┌├└]/.test(line)).map(displayWidth))).toBeLessThanOrEqual(80);
});

test('tells how many edits wait and how old the oldest is', () => {
  const edits = { mode: 'two-way', pendingCount: 3, parkedCount: 2, refusedCount: 1, conflictCount: 2 };
  const tables = [table('Customer', { ...edits, oldestChangeAt: '2026-11-21T10:00:00Z' }), table('Order')];

  const text = statusText(status(tables), { nowMs: NOW, width: 80 });

  expect(text).toContain('edits: 3 rows to push, 2 parked; the oldest 2 h ago');
});

test('says that a table was followed since, why it has one window, and that it is filtered', () => {
  const tables = [
    table('Followed', { followedAt: '2026-11-21T11:59:00Z' }),
    table('Refused', { oneWindow: 'filter' }),
    table('Hidden', { oneWindow: 'hidden' }),
    table('Part', { isFiltered: true }),
  ];

  const text = statusText(status(tables), { nowMs: NOW, width: 120 });

  expect(text).toMatch(/Followed .*steady, followed 1 min ago/);
  expect(text).toMatch(/Refused .*steady, read as one range: the origin does not filter by creation time/);
  expect(text).toMatch(/Hidden .* steady *│?$/m);
  expect(text).toMatch(/Part .*steady, filtered/);
});

test('says in a line each how tables are kept up to date', () => {
  const followed = 'followed every minute, pulled every hour';
  const small = 'pulled every hour, not followed (its rows fill fewer than 8 pages)';
  const rung = 'followed every minute (every 10 minutes while rings bring its changes), pulled every 5 minutes';
  const many = Array.from({ length: 6 }, (_, index) => table(`Large ${index}`, { way: followed }));
  const tables = [...many, table('Country', { way: small }), table('x'.repeat(200), { way: small }), table('Gone')];

  const lines = (of: readonly KeptTable[]): readonly string[] =>
    statusText(status(of), { nowMs: NOW, width: 80 }).split('\n').slice(-4);

  expect(lines(tables)).toEqual([
    'by the daemon:',
    `  ${followed}: Large 0, Large 1, Large 2 and 3 more`,
    `  ${small}: Country, ${'x'.repeat(19)}…`,
    '',
  ]);
  const both = [table('Order', { way: rung }), table('Order Line', { way: rung })];
  expect(lines(both)).toContain(`  ${rung}: Order, Order Line`);
  expect(lines(many).slice(1)).toEqual(['by the daemon:', `  ${followed}: all`, '']);
  expect(statusText({ ...status(many), keeper: 'nobody' }, { nowMs: NOW, width: 80 })).toContain(
    'once a daemon runs (rowsync daemon, or rowsync service install):',
  );
});

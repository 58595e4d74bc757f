/** What the account makes of facts. */
import { expect, test } from 'vitest';
import { stopOf, troubledTables, worstOf, type Problem } from '../../../src/reconcile/account/account.ts';
import { accountWithAll, codes, complaint, STEADY, TABLE } from '../../support/account-facts.ts';

test('names in the configuration that are not at the origin are told', () => {
  const misnamed = (['stray', 'renamed', 'excluding'] as const).map((kind) => ({ kind, sentence: kind }));

  expect(codes({ misnamed })).toEqual(['person config.excluding', 'notice config.renamed', 'notice config.stray']);
});

test('says nothing where all is well', () => {
  expect(accountWithAll(STEADY)).toEqual([]);
});

test.each([
  ['replica', 'replica.damaged', 'damaged replica.damaged'],
  ['daemon', 'replica.log', 'damaged replica.damaged'],
  ['replica', 'replica.foreign', 'person run.failed'],
  ['pull', 'origin.forbidden', 'person credentials.refused'],
  ['daemon', 'origin.unauthorized', 'person credentials.refused'],
  ['pull', 'origin.unreachable', 'late run.late'],
  ['push', 'push.shape', 'late run.late'],
  ['pull', 'guard.schema', 'person run.held'],
  ['pull', 'replica.full', 'person run.failed'],
  ['config.refused', 'config.invalid', 'person config.refused'],
  ['table', 'guard.deletes', 'person table.held'],
  ['table', 'guard.maskKey', 'person table.maskKey'],
  ['table', 'guard.columns', 'person table.kept'],
  ['table', 'guard.pending', 'person table.kept'],
  ['table', 'origin.refused', 'person table.failed'],
  ['table', 'origin.forbidden', 'person table.failed'],
  ['table', 'origin.timeout', 'late table.late'],
  ['sink.failed', 'sink.taken', 'person sink.failed'],
  ['sink.late', 'sink.unreachable', 'late sink.late'],
  ['files', 'files.store', 'person files.failed'],
  ['files', 'origin.timeout', 'late files.late'],
  ['sink.held', 'sink.foreign', 'person sink.held'],
] as const)('an error of a %s with the code %s is %s', (about, code, problem) => {
  expect(codes({ complaints: [complaint(about, code)] })).toEqual([problem]);
});

test.each([
  [{ unreadableCount: 2 }, 'person rows.unreadable', 2],
  [{ pageRows: 125 }, 'notice pages.small', 1],
  [{ refusedCount: 3, inDoubtCount: 3 }, 'person rows.inDoubt', 3],
  [{ refusedCount: 3, unsendableCount: 3 }, 'person rows.unsendable', 3],
  [{ refusedCount: 1 }, 'person rows.refused', 1],
  [{ conflictCount: 4 }, 'person rows.conflicts', 4],
  [{ lost: { count: 2, since: '2026-11-20T08:00:00Z' } }, 'notice rows.lost', 2],
  [{ state: 'gone' }, 'person table.gone', 1],
  [{ filesNotHere: { failedCount: 2, waitingCount: 0, worst: '_id 1, a.png: 404' } }, 'person files.failed', 2],
  [{ filesNotHere: { failedCount: 0, waitingCount: 3, worst: null } }, 'late files.late', 3],
  [{ oldestPendingAt: '2026-11-21T11:40:00Z' }, 'late edits.late', 1],
  [{ state: 'loading' }, 'late tables.loading', 1],
  [{ freshSince: '2026-11-21T11:40:00Z' }, 'late tables.late', 1],
] as const)('a table with %j is %s', (changes, problem, count) => {
  const facts = { ...STEADY, tables: [{ ...TABLE, ...changes }] };

  expect(codes(facts)).toEqual([problem]);
  expect(accountWithAll(facts)[0]?.count).toBe(count);
});

test.each([
  [{ freshSince: '2026-11-21T11:46:00Z' }, 'a read that takes some minutes'],
  [{ freshSince: '2026-11-01T00:00:00Z', followedAt: '2026-11-21T11:59:00Z' }, 'changes that are followed'],
  [{ freshSince: '2026-11-01T00:00:00Z', lateAfterMs: null }, 'a table without a schedule'],
])('a table with %j is not late: %s', (changes, _why) => {
  expect(codes({ tables: [{ ...TABLE, ...changes }] })).toEqual([]);
});

test.each([
  ['made some minutes ago', { oldestPendingAt: '2026-11-21T11:46:00Z' }, {}],
  ['of a table that is pushed by hand', { editsLateAfterMs: null }, {}],
  ['of a table with a reason of its own', {}, { complaints: [{ ...complaint('table', 'x'), subject: 'Customer' }] }],
  ['where all work stops', {}, { complaints: [complaint('daemon', 'origin.unreachable')] }],
  ['where nobody pushes them', {}, { keeper: 'nobody' }],
] as const)('edits are not late if they are %s', (_which, table, facts) => {
  const tables = [{ ...TABLE, oldestPendingAt: '2026-11-21T08:00:00Z', ...table }];

  expect(codes({ tables, ...facts })).not.toContain('late edits.late');
});

test('no table is late where nobody keeps them, and one that should is missed', () => {
  const tables = [{ ...TABLE, freshSince: '2026-11-01T00:00:00Z' }];

  expect(codes({ tables, keeper: 'nobody' })).toEqual([]);
  expect(codes({ tables, keeper: 'silent' })).toEqual(['late daemon.silent', 'late tables.late']);
});

test.each([
  [null, 'No daemon answers, although one should run'],
  ['2026-11-21T11:48:00Z', 'No daemon answers, although one should run; the last run ended 12 min ago'],
])('a daemon that is silent after a run at %s says since when nothing was done: %s', (lastRunAt, sentence) => {
  expect(accountWithAll({ ...STEADY, keeper: 'silent', lastRunAt })[0]?.sentence).toBe(sentence);
});

test('what to do about a silent daemon names no command that may be showing it', () => {
  expect(accountWithAll({ ...STEADY, keeper: 'silent' })[0]?.hint).not.toContain('rowsync check');
});

test.each([
  ['missing', 'late replica.unpulled'],
  ['unpulled', 'late replica.unpulled'],
  ['older', 'notice replica.older'],
] as const)('a replica that is %s is %s', (replica, problem) => {
  expect(codes({ replica, tables: [] })).toEqual([problem]);
});

test('puts what is worse first, and says the same thing once', () => {
  const complaints = [
    complaint('table', 'origin.timeout'),
    complaint('pull', 'origin.forbidden'),
    complaint('push', 'origin.forbidden'),
    complaint('replica', 'replica.damaged'),
  ];

  expect(codes({ complaints })).toEqual(['damaged replica.damaged', 'person credentials.refused', 'late table.late']);
});

test('a person, what is late, and what is good to know come in this order', () => {
  const changes = { unreadableCount: 1, lost: { count: 1, since: '2026-11-20T08:00:00Z' } };
  const putBack = { since: '2026-11-20T08:00:00Z', knownUntil: null, isUnopened: false };
  const facts = { tables: [{ ...TABLE, ...changes, freshSince: '2026-11-21T08:00:00Z' }], putBack };

  expect(codes(facts)).toEqual([
    'person rows.unreadable',
    'late tables.late',
    'notice replica.putBack',
    'notice rows.lost',
  ]);
});

test('the first row that cannot be read is named with column and reason', () => {
  const first = { words: '_id 7, "Title": half of an emoji', since: '2026-11-20T08:00:00Z' };
  const facts = { ...STEADY, tables: [{ ...TABLE, unreadableCount: 3, firstUnreadable: first }] };

  expect(accountWithAll(facts)).toMatchObject([
    {
      since: first.since,
      sentence:
        '3 rows cannot be read, so that values are old or missing here; the first is _id 7, "Title": half of an emoji',
    },
  ]);
});

test('a table or a column that another program dropped is said with its edits', () => {
  const part = { table: 'Customer', editCount: 0, since: '2026-11-20T08:00:00Z' };
  const remade = [
    { ...part, kind: 'tableRemade', column: null, editCount: 2 },
    { ...part, kind: 'columnRemade', column: 'Name' },
    { ...part, kind: 'guardsRemade', column: null },
  ] as const;

  expect(accountWithAll({ ...STEADY, remade }).map(({ code, sentence }) => `${code}: ${sentence}`)).toEqual([
    'table.remade: was dropped or renamed in this file, and was recreated; 2 edits not pushed before went with it',
    'column.remade: "Name" was dropped or renamed in this file, and was recreated; edits of a column under another name are never pushed',
    'guards.remade: its guards were removed in this file; they were recreated, and its rows are read anew',
  ]);
});

test('an older copy that was put back is named, with what it knew', () => {
  const putBack = { since: '2026-11-20T08:00:00Z', knownUntil: '2026-11-01T08:00:00Z', isUnopened: false };

  expect(accountWithAll({ ...STEADY, putBack })).toMatchObject([
    {
      code: 'replica.putBack',
      severity: 'notice',
      since: putBack.since,
      sentence: 'An older copy of the replica was put in its place; it knew the origin until 2026-11-01T08:00:00Z',
      hint: 'The rows need nothing: pulls read them anew. Look at edits that the copy had before you let them through (rowsync plan).',
    },
  ]);
});

test('a restored copy says when it was restored, and that nothing has been compared since', () => {
  const putBack = { since: '2026-11-21T11:50:00Z', knownUntil: '2026-11-20T08:00:00Z', isUnopened: true };

  const [problem] = accountWithAll({ ...STEADY, putBack });

  expect(problem?.sentence).toBe(
    'An older copy of the replica was put in its place 10 min ago, and not compared with the origin since; it knew the origin until 2026-11-20T08:00:00Z',
  );
  expect(problem?.hint).toContain('Run rowsync pull');
});

const DAY_21 = '2026-11-21T08:00:00Z';

function problemOf(changes: Partial<Problem>): Problem {
  const own = { code: 'rows.refused', severity: 'person', table: null, count: 1, since: null } as const;
  return { ...own, sentence: 'said', hint: 'do', ...changes };
}

const STOP = { code: 'run.failed', since: DAY_21 } as const;

test('all work stops for some problems, and the first of them is named', () => {
  const problems = [{}, STOP, { ...STOP, code: 'run.late' } as const].map(problemOf);

  expect(stopOf(problems)).toBe(problems[1]);
  expect(stopOf(problems.slice(0, 1))).toBeNull();
});

test('tables with a problem of their own are named once', () => {
  const problems = [{ table: 'Order' }, { table: null }, { table: 'Order' }, { table: 'Note' }].map(problemOf);

  expect([...troubledTables(problems)]).toEqual(['Order', 'Note']);
});

test.each([
  [[], null],
  [['notice'], 'notice'],
  [['notice', 'late'], 'late'],
  [['late', 'person', 'notice'], 'person'],
  [['person', 'damaged'], 'damaged'],
] as const)('the worst of %j is %s', (severities, worst) => {
  expect(worstOf(severities.map((severity) => ({ severity })))).toBe(worst);
});

test('no table is late on its own where all work stops', () => {
  const tables = [{ ...TABLE, freshSince: '2026-11-21T08:00:00Z' }];

  expect(codes({ tables, complaints: [complaint('daemon', 'origin.unreachable')] })).toEqual(['late run.late']);
});

test('the same sentence about two tables is two problems', () => {
  const complaints = ['Customer', 'Order'].map((subject) => ({ ...complaint('table', 'guard.deletes'), subject }));

  expect(accountWithAll({ ...STEADY, complaints }).map(({ table }) => table)).toEqual(['Customer', 'Order']);
});

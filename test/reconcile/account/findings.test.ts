/** What each form of fact becomes: errors by their codes, counts, files, and what is late by how much. */
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { AccountFacts, FilesNotHere, FoundComplaint, TableFacts } from '../../../src/reconcile/account/facts.ts';
import { accountWithAll, codes, complaint, NOW, STEADY, TABLE } from '../../support/account-facts.ts';

function problems(changes: Partial<AccountFacts>): readonly Problem[] {
  return accountWithAll({ ...STEADY, ...changes });
}

function sentences(changes: Partial<AccountFacts>): readonly string[] {
  return problems(changes).map(({ sentence }) => sentence);
}

/**
 * When a person has nothing to do: the origin is away, changes under us, or answers nonsense; another process is at
 * work.
 */
const PASSING = [
  'origin.unreachable',
  'origin.proxy',
  'origin.timeout',
  'origin.busy',
  'origin.stopped',
  'origin.cutShort',
  'origin.moving',
  'origin.samePage',
  'origin.shortPage',
  'pull.unsettled',
  'push.identity',
  'push.shape',
  'origin.notApi',
  'origin.truncated',
  'origin.unexpected',
  'origin.unknownOutcome',
  'push.unanswered',
  'replica.busy',
  'replica.inUse',
  'sink.busy',
  'sink.unreachable',
];

test.each(Object.keys(ERROR_CODES))(
  'an error with the code %s waits for a person, unless it passes by itself',
  (code) => {
    const [problem] = problems({ complaints: [{ ...complaint('table', code), subject: 'Customer' }] });

    expect(problem?.severity).toBe(PASSING.includes(code) ? 'late' : 'person');
  },
);

test.each([
  ['replica', 'replica.newer', 'damaged replica.damaged'],
  ['table', 'config.maskKey', 'person table.maskKey'],
  ['table', 'pull.sum', 'person rows.unaccounted'],
  ['contract.breaks', 'contract.breaks', 'person contract.breaks'],
  ['contract.fails', 'contract.fails', 'person contract.fails'],
  ['contract.changed', 'contract.changed', 'notice contract.changed'],
  ['contract.oldName', 'contract.oldName', 'notice contract.oldName'],
  ['table', 'contract.breaks', 'person table.failed'],
] as const)('an error of a %s with the code %s is %s', (about, code, problem) => {
  expect(codes({ complaints: [complaint(about, code)] })).toEqual([problem]);
});

test.each([
  ['said', 'said'],
  ['Customer: a page was cut', 'a page was cut'],
  ['Customers: a page was cut', 'Customers: a page was cut'],
])('the message %j about the table Customer becomes the sentence %j', (message, sentence) => {
  const one = { ...complaint('table', 'origin.refused'), subject: 'Customer', message };

  expect(problems({ complaints: [one] })).toMatchObject([{ table: 'Customer', sentence }]);
});

/** An error of this kind about `subject`, and the sentence that it becomes. */
test.each<[FoundComplaint['about'], string | null, string, string]>([
  ['config.refused', null, 'person config.refused', 'said'],
  ['work.failed', null, 'person work.failed', 'said'],
  ['rows.different', 'Customer', 'person rows.different', 'said'],
  ['sink.failed', null, 'person sink.failed', 'said'],
  ['sink.late', null, 'late sink.late', 'said'],
  ['sink.held', null, 'person sink.held', 'said'],
  ['notices.failed', null, 'person notices.failed', 'said'],
  ['log.failed', null, 'person log.failed', 'said'],
  ['doorbell.deaf', null, 'person doorbell.deaf', 'said'],
  ['history.held', 'Customer', 'person history.held', 'said'],
])('what is wrong with the %s %s is %s: %s', (about, subject, code, sentence) => {
  const complaints = [{ ...complaint(about, 'config.invalid'), subject }];

  expect(codes({ complaints })).toEqual([code]);
  expect(sentences({ complaints })).toEqual([sentence]);
});

test('a table of a sink is held also where the reason passes', () => {
  const complaints = [complaint('sink.held', 'sink.unreachable')];

  expect(codes({ complaints })).toEqual(['person sink.held']);
});

const RUN = { id: 18, isAnsweredSince: false };
const WAITING = { ...TABLE, oldestPendingAt: '2026-11-21T11:58:00Z' };

test.each<[FoundComplaint['about'], string, readonly TableFacts[], readonly string[]]>([
  ['push', 'push.shape', [TABLE, WAITING], ['late run.late']],
  ['push', 'origin.unreachable', [TABLE], []],
  ['push', 'origin.unauthorized', [TABLE], ['person credentials.refused']],
  ['push', 'replica.full', [TABLE], ['person run.failed']],
  ['pull', 'origin.unreachable', [TABLE], ['late run.late']],
])('after a good run of another kind, a %s that failed with %s is told, but no late push without edits', (...row) => {
  const [about, code, tables, expected] = row;
  const failed = { ...complaint(about, code), run: { ...RUN, isAnsweredSince: true } };

  expect(codes({ tables, complaints: [failed] })).toEqual(expected);
});

test('a push that failed last is told, also where no edit waits', () => {
  expect(codes({ complaints: [{ ...complaint('push', 'origin.unreachable'), run: RUN }] })).toEqual(['late run.late']);
  expect(codes({ complaints: [complaint('push', 'push.shape')] })).toEqual(['late run.late']);
});

test.each<[FoundComplaint['about'], string, boolean, AccountFacts['keeper'], string]>([
  ['push', 'origin.unreachable', false, 'nobody', 'do'],
  ['push', 'origin.unreachable', true, 'nobody', 'The origin has answered since: run rowsync push.'],
  ['pull', 'origin.unreachable', true, 'silent', 'The origin has answered since: run rowsync pull.'],
  ['push', 'origin.unauthorized', true, 'nobody', 'do'],
  ['push', 'push.shape', true, 'nobody', 'do'],
  ['pull', 'origin.unreachable', true, 'service', 'The origin has answered since: rowsync tries again by itself.'],
  ['pull', 'replica.full', true, 'nobody', 'do'],
])('a %s that failed with %s is named with its time, and what to do', (about, code, isAnsweredSince, keeper, hint) => {
  const failed = { ...complaint(about, code), since: '2026-11-21T11:55:00Z', run: { ...RUN, isAnsweredSince } };

  const sentence = `The last ${about}, 5 min ago (run 18), failed: said`;
  expect(problems({ tables: [WAITING], keeper, complaints: [failed] })).toContainEqual(
    expect.objectContaining({ sentence, words: 'said', since: failed.since, hint }),
  );
});

test('a person agrees to the words of a guard, which name no run', () => {
  expect(sentences({ complaints: [{ ...complaint('pull', 'guard.schema'), run: RUN }] })).toEqual(['said']);
});

const LOST = { count: 2, since: '2026-11-20T08:00:00Z' };

test.each<[Partial<TableFacts>, string]>([
  [{ conflictCount: 2 }, '2 conflicts to decide'],
  [{ lost: LOST }, '2 edits lost to a change at the origin'],
  [{ refusedCount: 2 }, '2 rows refused by the origin'],
  [{ refusedCount: 2, inDoubtCount: 2 }, '2 rows in doubt: the origin may have the change'],
  [{ refusedCount: 2, unsendableCount: 2 }, '2 rows cannot be sent'],
  [{ pageRows: 125 }, 'is read in pages of 125 rows, since larger ones do not fit into an answer'],
  [{ state: 'loading' }, '1 of 1 table still loading'],
])('a table with %j is said to be: %s', (changes, sentence) => {
  expect(sentences({ tables: [{ ...TABLE, ...changes }] })).toEqual([sentence]);
});

const SINCE = '2026-11-20T08:00:00Z';

test.each<[string, Partial<AccountFacts>, string]>([
  ['is missing', { replica: 'missing' }, 'There is no replica yet'],
  ['is empty', { replica: 'unpulled' }, 'Nothing was pulled yet'],
  [
    'was put back, and knows nothing',
    { putBack: { since: SINCE, knownUntil: null, isUnopened: false } },
    'An older copy of the replica was put in its place',
  ],
  [
    'had a table dropped',
    { remade: [{ kind: 'tableRemade', table: 'Note', column: null, editCount: 0, since: SINCE }] },
    'was dropped or renamed in this file, and was recreated; it had no edits',
  ],
  [
    'had a table dropped with edits',
    { remade: [{ kind: 'tableRemade', table: 'Note', column: null, editCount: 1, since: SINCE }] },
    'was dropped or renamed in this file, and was recreated; 1 edit not pushed before went with it',
  ],
])('of a replica that %s is said what is so', (_what, facts, sentence) => {
  expect(sentences(facts)).toEqual([sentence]);
});

test('after a pull that failed, nobody is told to run the same pull again', () => {
  const hints = (changes: Partial<AccountFacts>): readonly string[] =>
    problems({ replica: 'unpulled', ...changes }).flatMap(({ code, hint }) =>
      code === 'replica.unpulled' ? hint : [],
    );

  const first = ['Run rowsync pull, or start the daemon.'];
  expect(hints({})).toEqual(first);
  expect(hints({ complaints: [complaint('notices.failed', 'notices.failed')] })).toEqual(first);
  for (const about of ['pull', 'daemon'] as const) {
    const complaints = [complaint(about, 'origin.forbidden')];
    expect(hints({ complaints })).toEqual([
      'First solve what made the run fail; the next pull then brings the tables.',
    ]);
  }
});

test.each<[Partial<FilesNotHere>, readonly string[]]>([
  [{}, []],
  [{ failedCount: 1 }, ['1 file could not be fetched']],
  [{ failedCount: 2, worst: '_id 7: 404' }, ['2 files could not be fetched; the worst is _id 7: 404']],
  [{ waitingCount: 3 }, ['3 files not here yet']],
])('files not here %j are said as %j', (changes, said) => {
  const filesNotHere = { failedCount: 0, waitingCount: 0, worst: null, ...changes };

  expect(sentences({ tables: [{ ...TABLE, filesNotHere }] })).toEqual(said);
});

describe('what is late', () => {
  const MINUTES_15_AGO = '2026-11-21T11:45:00Z';
  const OLD = '2026-11-20T12:00:00Z';

  function sentencesOf(changes: Partial<TableFacts>, nowMs = NOW): readonly string[] {
    return sentences({ nowMs, tables: [{ ...TABLE, ...changes }] });
  }

  const READ_LATE = 'Customer was last read 15 min ago, later than its schedule says';
  const EDITS_LATE = 'edits wait to be pushed since 15 min ago, longer than the schedule says';

  test.each<[string, Partial<TableFacts>, number, readonly string[]]>([
    ['rows after 15 minutes', { freshSince: MINUTES_15_AGO }, NOW, []],
    ['rows after more than 15 minutes', { freshSince: MINUTES_15_AGO }, NOW + 1, [READ_LATE]],
    ['rows that need an hour', { freshSince: MINUTES_15_AGO, lateAfterMs: 3_600_000 }, NOW + 1, []],
    ['edits after 15 minutes', { oldestPendingAt: MINUTES_15_AGO }, NOW, []],
    ['edits after more than 15 minutes', { oldestPendingAt: MINUTES_15_AGO }, NOW + 1, [EDITS_LATE]],
    ['edits that have an hour', { oldestPendingAt: MINUTES_15_AGO, editsLateAfterMs: 3_600_000 }, NOW + 1, []],
  ])('%s', (_what, changes, nowMs, said) => {
    expect(sentencesOf({ freshSince: '2026-11-21T12:00:00Z', ...changes }, nowMs)).toEqual(said);
  });

  test('a table that is gone says whether edits of it wait', () => {
    const gone = (oldestPendingAt: string | null) =>
      sentences({ tables: [{ ...TABLE, state: 'gone', oldestPendingAt }] });
    expect(gone(null)).toEqual(['is no longer at the origin; its rows are kept here']);
    expect(gone(OLD)).toEqual(['is no longer at the origin; its rows are kept here, and edits of them are not pushed']);
  });

  test('a table that is gone or still loading is not late as well', () => {
    expect(codes({ tables: [{ ...TABLE, state: 'gone', freshSince: OLD, oldestPendingAt: OLD }] })).toEqual([
      'person table.gone',
    ]);
    expect(codes({ tables: [{ ...TABLE, state: 'loading', freshSince: OLD }] })).toEqual(['late tables.loading']);
  });

  test('the tables are named, that which waits longest first', () => {
    const tables = [
      { ...TABLE, table: 'Order', freshSince: '2026-11-21T11:00:00Z' },
      { ...TABLE, table: 'Note', freshSince: '2026-11-21T10:30:00Z' },
      { ...TABLE, table: 'Customer' },
      { ...TABLE, table: 'Part', freshSince: '2026-11-21T11:30:00Z' },
    ];

    expect(problems({ tables })).toMatchObject([
      {
        count: 3,
        since: '2026-11-21T10:30:00Z',
        sentence: '3 tables were not read as their schedule says, the oldest 1 h ago: Note, Order, Part',
      },
    ]);
  });

  test.each([
    ['table', []],
    ['sink.failed', ['late edits.late']],
  ] as const)('a complaint about the %s Customer says why its edits wait, or not', (about, late) => {
    const one = { ...complaint(about, 'origin.refused'), subject: 'Customer' };
    const tables = [{ ...TABLE, oldestPendingAt: OLD }];

    expect(codes({ tables, complaints: [one] }).filter((code) => code === 'late edits.late')).toEqual(late);
  });
});

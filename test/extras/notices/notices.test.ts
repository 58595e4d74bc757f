/**
 * Which problems cause a notice, when, and how often.
 */
import { expect, test } from 'vitest';
import { judgeNotices, noticeOfEvent, NO_NOTICES_SENT, UNTOLD } from '../../../src/extras/notices/notices.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { ALL_PROBLEMS } from '../../support/account-facts.ts';

const HOUR = 3_600_000;

test('people are sent notices, but not of what they need not act on', () => {
  const areTold = (...codes: readonly Problem['code'][]) => codes.map((code) => !UNTOLD.has(code));

  expect(areTold('rows.refused', 'run.failed', 'table.late')).toEqual([true, true, true]);
  expect(areTold('notices.failed', 'tables.loading')).toEqual([false, false]);
});

/** A problem, as `severity code table count`. */
function problemOf(text: string): Problem {
  const [severity, code, table = null, count = 1] = text.split(' ');
  const known = ALL_PROBLEMS.find((entry) => entry.code === code && entry.severity === severity);
  if (known === undefined) throw new Error(`no such problem: ${text}`);
  return {
    code: known.code,
    severity: known.severity,
    table,
    count: Number(count),
    since: null,
    sentence: 's',
    hint: 't',
  };
}

/** What is told of accounts in a row, as `kind subject`; each is taken at its time in hours. */
function sent(...accounts: readonly (readonly [number, ...string[]])[]): readonly string[] {
  let memory = NO_NOTICES_SENT;
  return accounts.flatMap(([hours, ...problems]) => {
    const judged = judgeNotices(problems.map(problemOf), memory, { nowMs: hours * HOUR, repeatMs: 6 * HOUR });
    memory = judged.sent;
    return judged.notices.map(({ kind, subject }) => `${kind} ${subject}`);
  });
}

test.each<[string, readonly (readonly [number, ...string[]])[], readonly string[]]>([
  ['refused credentials at once', [[0, 'person credentials.refused']], ['needsPerson everything']],
  ['a damaged replica at once', [[0, 'damaged replica.damaged']], ['needsPerson everything']],
  ['an origin that restarts not at all', [[0, 'late run.late'], [0.02, 'late run.late'], [0.04]], []],
  [
    'an origin that stays away, and comes back',
    [[0, 'late run.late'], [0.06, 'late run.late'], [0.1, 'late run.late'], [1]],
    ['failing everything', 'recovered everything'],
  ],
  [
    'each table by itself, and its end',
    [
      [0, 'person table.failed A', 'person table.failed B'],
      [1, 'person table.failed B'],
    ],
    ['needsPerson A', 'needsPerson B', 'recovered A'],
  ],
  [
    'two sinks apart',
    [
      [0, 'person sink.failed'],
      [1, 'person sink.failed', 'person sink.failed'],
    ],
    ['needsPerson everything', 'needsPerson everything'],
  ],
  [
    'a guard once in six hours',
    [0, 1, 5.9, 6, 7].map((at) => [at, 'person table.held A'] as const),
    ['needsPerson A', 'needsPerson A'],
  ],
  [
    'rows that wait, once in six hours, and when none does any more',
    [[0, 'person rows.refused A'], [1, 'person rows.refused A'], [2]],
    ['needsPerson A', 'recovered A'],
  ],
  [
    'that there are more conflicts, half an hour after the last notice of them at the earliest',
    [
      [0, 'person rows.conflicts A 1'],
      [0.1, 'person rows.conflicts A 2'],
      [0.6, 'person rows.conflicts A 3'],
      [1.5, 'person rows.conflicts A 3'],
      [1.6, 'person rows.conflicts A 2'],
      [1.7, 'person rows.conflicts A 3'],
    ],
    ['needsPerson A', 'needsPerson A', 'needsPerson A'],
  ],
  [
    'that more is late only as often as that it is',
    [0, 0.1, 1, 2].map((at) => [at, `late tables.late - ${1 + at * 10}`] as const),
    ['failing -'],
  ],
  [
    'nothing of what nobody can hasten',
    [
      [0, 'late tables.loading'],
      [9, 'late tables.loading'],
    ],
    [],
  ],
  [
    'nothing of what is good to know',
    [
      [0, 'notice replica.older'],
      [9, 'notice replica.older'],
    ],
    [],
  ],
  [
    'what was lost once, and again when more was, but not its end',
    [[0, 'notice rows.lost A 2'], [9, 'notice rows.lost A 2'], [10, 'notice rows.lost A 3'], [11]],
    ['toKnow A', 'toKnow A'],
  ],
  [
    'a table that was dropped here once',
    [[0, 'notice table.remade A'], [9, 'notice table.remade A'], [10]],
    ['toKnow A'],
  ],
])('tells %s', (_what, accounts, expected) => {
  expect(sent(...accounts)).toEqual(expected);
});

test('tells at most twelve things in an hour, and goes on in the next', () => {
  const storm = (at: number): readonly [number, ...string[]] => [
    at,
    ...Array.from({ length: 40 }, (_, index) => `person table.failed T${index}`),
  ];

  expect(sent(storm(0), storm(0.5), storm(1.1))).toHaveLength(24);
});

test('a notice has the code, the sentence and what to do of its problem', () => {
  const { notices } = judgeNotices([problemOf('person rows.refused A')], NO_NOTICES_SENT, { nowMs: 0, repeatMs: HOUR });

  expect(notices).toEqual([{ kind: 'needsPerson', subject: 'A', code: 'rows.refused', message: 's', hint: 't' }]);
});

test('an event that no account has is told as it happens', () => {
  expect(noticeOfEvent('identity.changed', { message: 'm', hint: 'h' })).toMatchObject({ code: 'identity.changed' });
  expect(noticeOfEvent('schema.changed', { message: 'm' })).toMatchObject({ kind: 'changed', message: 'm' });
  expect(noticeOfEvent('work.started', { work: 'pull' })).toBeNull();
});

test.each(['verify', 'backup'])(
  'of two failures of one kind, the recovery is that of the one that is over: %s',
  (left) => {
    const failures = ['verify', 'backup'].map((work) => ({
      ...problemOf('person work.failed'),
      sentence: `The last ${work} failed`,
    }));
    const isLeft = ({ sentence }: Problem): boolean => sentence.includes(left);
    const first = judgeNotices(failures, NO_NOTICES_SENT, { nowMs: 0, repeatMs: 6 * HOUR });

    const { notices } = judgeNotices(failures.filter(isLeft), first.sent, { nowMs: HOUR, repeatMs: 6 * HOUR });

    const over = left === 'verify' ? 'backup' : 'verify';
    expect(notices).toMatchObject([{ kind: 'recovered', message: expect.stringContaining(over) as string }]);
  },
);

/**
 * The daemon's decisions, as tables: when jobs are due, how long it waits after failures, what it does next.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError, type ErrorKind } from '../../src/base/errors.ts';
import { BACKOFFS } from '../../src/base/retries.ts';
import { scheduleOf } from '../../src/config/cron-times.ts';
import { tableRules } from '../../src/config/table-patterns.ts';
import { armed, ticked, jobsOf, type ConfiguredJobs, type Job, type WorkKind } from '../../src/daemon/jobs.ts';
import { afterFailure, oneMore, type Circuit, type FailureCause } from '../../src/daemon/circuit-breaker.ts';
import { nextStep, takesPart, WAIT_MS_MAX, type Situation } from '../../src/daemon/next-step.ts';

const every5 = scheduleOf('*/5 * * * *', 'UTC');
const noon = Date.UTC(2026, 5, 1, 12);
const MINUTE = 60_000;

describe('a job', () => {
  const job: Job = { id: 'pull', kind: 'pull', schedule: every5, waitsForRings: false };

  test.each([
    ['before its tick is not due', 4.9, { nextAtMs: noon + 5 * MINUTE, isDue: false }],
    ['at its tick is due', 5, { nextAtMs: noon + 10 * MINUTE, isDue: true }],
    [
      'after hours of sleep is due once, for the next tick from now',
      183,
      { nextAtMs: noon + 185 * MINUTE, isDue: true },
    ],
    [
      'on a clock that was set back ten years waits for the next tick there',
      -5_259_487,
      { nextAtMs: noon - 5_259_485 * MINUTE, isDue: false },
    ],
  ])('%s', (_fact, minutes, expected) => {
    const before = armed(job, noon, false);

    expect(ticked(before, noon + minutes * MINUTE)).toEqual({ ...job, ...expected });
  });

  test('that is due stays so, whatever ticks come', () => {
    const due = { ...job, nextAtMs: noon + 5 * MINUTE, isDue: true };

    expect(ticked(due, noon + MINUTE).isDue).toBe(true);
    expect(ticked(due, noon + 11 * MINUTE).isDue).toBe(true);
  });

  test('that was served has also served the ticks that came meanwhile', () => {
    expect(armed(job, noon + 12 * MINUTE, false)).toEqual({ ...job, nextAtMs: noon + 15 * MINUTE, isDue: false });
  });
});

describe('a circuit', () => {
  const failed = (kind: ErrorKind): RowsyncError => new RowsyncError(kind, 'bug.assertion', { message: '', hint: '' });
  /** The waits of the first failures in a row, in seconds, without jitter. */
  const waits = (kind: ErrorKind, count: number): readonly number[] => {
    let circuit: Circuit | null = null;
    return Array.from({ length: count }, () => {
      circuit = afterFailure(circuit, failed(kind), { nowMs: 1000, random: 1 });
      return (circuit.retryAtMs - 1000) / 1000;
    });
  };

  test.each<[ErrorKind, readonly number[]]>([
    ['originDown', [30, 60, 120, 240, 480, 900, 900]],
    ['auth', [900, 900, 900]],
    ['replica', [30, 60, 120, 240, 300, 300]],
    ['bug', [60, 120, 240, 480, 900, 900]],
  ])('after failures of the kind %s waits %j seconds', (kind, expected) => {
    expect(waits(kind, expected.length)).toEqual(expected);
  });

  test('never stops trying, however long it fails', () => {
    expect(waits('originDown', 5000).at(-1)).toBe(900);
  });

  test('counts anew for another cause', () => {
    const at = { nowMs: 0, random: 1 };
    const down = afterFailure(afterFailure(null, failed('originDown'), at), failed('originDown'), at);

    expect(down.failureCount).toBe(2);
    expect(afterFailure(down, failed('replica'), at)).toEqual({
      failureCount: 1,
      cause: 'replica',
      retryAtMs: 30_000,
    });
  });

  test('lets chance take up to a quarter off a wait', () => {
    expect(afterFailure(null, failed('originDown'), { nowMs: 0, random: 0 }).retryAtMs).toBe(22_500);
  });

  test.each<[ErrorKind, FailureCause]>([
    ['originDown', 'originDown'],
    ['auth', 'auth'],
    ['replica', 'replica'],
    ['wireFormat', 'other'],
    ['bug', 'other'],
  ])('takes an error of the kind %s for %s', (kind, cause) => {
    expect(afterFailure(null, failed(kind), { nowMs: 0, random: 0 }).cause).toBe(cause);
  });
});

test('a table that fails by itself waits longer each time, up to six hours', () => {
  const at = { nowMs: 0, random: 1 };
  const first = oneMore(undefined, BACKOFFS.table, at);
  const second = oneMore(first, BACKOFFS.table, at);

  expect([first.retryAtMs, second.retryAtMs]).toEqual([MINUTE, 2 * MINUTE]);
  expect(oneMore({ failureCount: 60, retryAtMs: 0 }, BACKOFFS.table, at).retryAtMs).toBe(360 * MINUTE);
});

describe('the next step', () => {
  const job = (id: string, kind: WorkKind): Job => ({ id, kind, schedule: every5, waitsForRings: false });
  const jobs = [job('pull', 'pull'), job('pull Order', 'pull'), job('verify', 'verify'), job('backup', 'backup')];
  const situation = (
    due: readonly string[],
    changes: Partial<Situation> & { readonly nextInMs?: number } = {},
  ): Situation => ({
    jobs: jobs.map((one) => ({
      ...one,
      nextAtMs: noon + (changes.nextInMs ?? 30_000),
      isDue: due.includes(one.id),
    })),
    circuit: null,
    localKinds: new Set(['backup']),
    troubleByTable: new Map(),
    requested: new Set(),
    editedTables: new Set(),
    refreshedTables: new Set(),
    hasRefreshed: false,
    lookMs: Infinity,
    nowMs: noon,
    monotonicMs: 5_000,
    ...changes,
  });
  const broken = { failureCount: 2, cause: 'auth' as const, retryAtMs: 15_000 };
  const run = (
    work: WorkKind,
    jobIds: readonly string[],
    {
      probeFirst = false,
      isAsked = false,
      wanted = [],
    }: { readonly probeFirst?: boolean; readonly isAsked?: boolean; readonly wanted?: readonly string[] } = {},
  ): unknown => ({
    kind: 'run',
    work,
    isAsked,
    jobIds: new Set(jobIds),
    wantedTables: new Set(wanted),
    probeFirst,
  });
  const edited = new Set(['A']);
  const trouble = (retryAtMs: number): Situation['troubleByTable'] => new Map([['A', { failureCount: 1, retryAtMs }]]);

  test.each<[string, Situation, unknown]>([
    ['is to wait for the next tick', situation([]), { kind: 'wait', ms: 30_000 }],
    [
      'is to look at the clock every minute at least',
      situation([], { nextInMs: 9e9 }),
      { kind: 'wait', ms: WAIT_MS_MAX },
    ],
    [
      'is to wait for ever, a minute at a time, without jobs',
      situation([], { jobs: [] }),
      { kind: 'wait', ms: WAIT_MS_MAX },
    ],
    ['is what is due', situation(['verify']), run('verify', ['verify'])],
    [
      'is all due jobs of the first kind',
      situation(['pull', 'verify', 'pull Order']),
      run('pull', ['pull', 'pull Order']),
    ],
    ['is to wait while the circuit is open', situation(['pull'], { circuit: broken }), { kind: 'wait', ms: 10_000 }],
    [
      'is to probe first once its wait is over',
      situation(['pull'], { circuit: broken, monotonicMs: 15_000 }),
      run('pull', ['pull'], { probeFirst: true }),
    ],
    [
      'is what a person asks for, circuit or not',
      situation([], { circuit: { ...broken, failureCount: 1, retryAtMs: 0 }, requested: new Set(['pull']) }),
      run('pull', ['pull', 'pull Order'], { probeFirst: true, isAsked: true }),
    ],
    [
      'is to wait again after what a person asked for failed',
      situation([], { circuit: broken, requested: new Set(['pull']) }),
      { kind: 'wait', ms: 10_000 },
    ],
    [
      'is a kind that a person asks for alone, though only a table in trouble is due',
      situation([], { troubleByTable: trouble(6_000), requested: new Set(['verify']) }),
      run('verify', ['verify'], { isAsked: true }),
    ],
    [
      'is what a person asks for, after what was wanted',
      situation([], { refreshedTables: edited, hasRefreshed: true, requested: new Set(['push']) }),
      run('push', [], { isAsked: true }),
    ],
    [
      'is to read what is wanted now, and no more of what a person asks for in the same way',
      situation([], { refreshedTables: edited, requested: new Set(['follow']) }),
      run('follow', [], { wanted: ['A'] }),
    ],
    [
      'is to wait for a table in trouble',
      situation([], { troubleByTable: trouble(6_000) }),
      { kind: 'wait', ms: 1_000 },
    ],
    ['is to try a table again', situation([], { troubleByTable: trouble(5_000) }), run('pull', [])],
    ['is to look for edits again', situation([], { lookMs: 1_000 }), { kind: 'wait', ms: 1_000 }],
    ['is to push what was edited', situation([], { editedTables: edited }), run('push', [], { wanted: ['A'] })],
    ['is to pull first where both are due', situation(['pull'], { editedTables: edited }), run('pull', ['pull'])],
    [
      'is to read what is wanted now, before what is due',
      situation(['pull'], { refreshedTables: edited }),
      run('follow', [], { wanted: ['A'] }),
    ],
    [
      'is what is due, after what was wanted',
      situation(['pull'], { refreshedTables: edited, hasRefreshed: true }),
      run('pull', ['pull']),
    ],
    [
      'is to read what is wanted again where nothing is due',
      situation([], { refreshedTables: edited, hasRefreshed: true }),
      run('follow', [], { wanted: ['A'] }),
    ],
    [
      'is not to read what is wanted while the circuit is open',
      situation([], { refreshedTables: edited, circuit: broken }),
      { kind: 'wait', ms: 10_000 },
    ],
    [
      'is what needs no origin, while the circuit is open',
      situation(['pull', 'backup'], { circuit: broken }),
      run('backup', ['backup']),
    ],
    [
      'asks the origin nothing for what needs none',
      situation(['backup'], { circuit: broken, monotonicMs: 15_000 }),
      run('backup', ['backup']),
    ],
    [
      'is not even that while the replica cannot be worked on',
      situation(['backup'], { circuit: { ...broken, cause: 'replica' } }),
      { kind: 'wait', ms: 10_000 },
    ],
    [
      'is not to push while the circuit is open',
      situation([], { editedTables: edited, circuit: broken }),
      { kind: 'wait', ms: 10_000 },
    ],
    [
      'is not to try it while the circuit is open',
      situation([], { troubleByTable: trouble(5_000), circuit: broken }),
      { kind: 'wait', ms: 10_000 },
    ],
  ])('%s', (_fact, given, expected) => {
    expect(nextStep(given)).toEqual(expected);
  });

  test.each([
    ['whose job is due', 'pull', undefined, {}, true],
    ['whose job is not due', 'pull Order', undefined, {}, false],
    ['without a job', null, undefined, {}, false],
    ['in trouble', 'pull', 6_000, {}, false],
    ['whose wait is over', 'pull', 5_000, {}, true],
    ['whose wait is over, between the ticks', 'pull Order', 5_000, {}, true],
    ['whose wait is over, in a run of another kind', 'pull Order', 5_000, { work: 'verify' }, false],
    ['in trouble, when a person asks', 'pull', 6_000, { isAsked: true }, true],
    ['without a job, when a person asks', null, undefined, { isAsked: true }, true],
    ['that was edited, between the ticks', 'pull Order', undefined, { work: 'push', wantedTables: edited }, true],
    ['that was edited and is in trouble', 'pull Order', 6_000, { work: 'push', wantedTables: edited }, false],
    ['that was edited, without a job', null, undefined, { work: 'push', wantedTables: edited }, false],
    ['that is wanted now, without a job', null, undefined, { work: 'follow', wantedTables: edited }, true],
    ['that waits for a ring', 'pull', undefined, { isRung: true }, false],
    [
      'that waits for a ring, and is wanted now',
      'pull',
      undefined,
      { isRung: true, work: 'follow', wantedTables: edited },
      true,
    ],
    ['that waits for a ring, when a person asks', 'pull', undefined, { isRung: true, isAsked: true }, true],
    ['that is wanted now and is in trouble', 'pull', 6_000, { work: 'follow', wantedTables: edited }, false],
  ] as const)('with a table %s', (_fact, id, retryAtMs, changes, expected) => {
    const unchanged = { work: 'pull' as const, jobIds: new Set(['pull']), wantedTables: new Set<string>() };
    const step = { kind: 'run', isAsked: false, probeFirst: false, monotonicMs: 5_000 } as const;
    const given = { ...step, ...unchanged, ...changes };

    const table = {
      name: 'A',
      job: jobs.find((one) => one.id === id) ?? null,
      trouble: retryAtMs === undefined ? undefined : { failureCount: 1, retryAtMs },
      waitsForRing: 'isRung' in changes,
    };
    expect(takesPart(table, given)).toBe(expected);
  });
});

describe('jobs', () => {
  const config = (tables: Parameters<typeof tableRules>[0]): ConfiguredJobs => ({
    schedule: { timeZone: 'UTC', pull: '*/5 * * * *', push: '*/5 * * * *', added: { verify: false }, isRung: false },
    tables: tableRules(tables),
  });

  test('are one for all tables, and one per pattern with a schedule of its own', () => {
    // Extras add kinds of work.
    const ofLogs = { pull: false, verify: '0 3 * * *' } as const;
    const jobs = jobsOf(
      config({
        '*': {},
        'Log *': { schedule: ofLogs },
        Order: { schedule: { sync: '* * * * *' } },
        Old: false,
      }),
    );

    expect(jobs.all.map(({ id, schedule }) => [id, schedule.text])).toEqual([
      ['pull', '*/5 * * * *'],
      ['pull Order', '* * * * *'],
      ['verify Log *', '0 3 * * *'],
    ]);
    expect(['Customer', 'Order', 'Log 1', 'Old'].map((name) => jobs.find('pull', name)?.id)).toEqual([
      'pull',
      'pull Order',
      undefined,
      undefined,
    ]);
    expect(['Customer', 'Order', 'Log 1'].map((name) => jobs.find('verify', name)?.id)).toEqual([
      undefined,
      undefined,
      'verify Log *',
    ]);
  });
});

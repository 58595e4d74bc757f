/** What the daemon does next, as tables. */
import { describe, expect, test } from 'vitest';
import { scheduleOf } from '../../src/config/cron-times.ts';
import type { Job, WorkKind } from '../../src/daemon/jobs.ts';
import { nextStep, takesPart, WAIT_MS_MAX, type Situation } from '../../src/daemon/next-step.ts';

const every5 = scheduleOf('*/5 * * * *', 'UTC');
const noon = Date.UTC(2026, 5, 1, 12);

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

/** The jobs of a configuration, when each is due, and when a table is late. */
import { describe, expect, test } from 'vitest';
import { scheduleOf } from '../../src/config/cron-times.ts';
import { tableRules } from '../../src/config/table-patterns.ts';
import { armed, jobsOf, lateness, ScheduledJobs, ticked } from '../../src/daemon/jobs.ts';
import type { ConfiguredJobs, Job } from '../../src/daemon/jobs.ts';

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

  test('push nothing where no table is pushed, and follow nothing where nothing is pulled', () => {
    const schedule = { ...config({}).schedule, follow: 'auto', pull: false } as const;
    const idsOf = (given: ConfiguredJobs): readonly string[] => jobsOf(given).all.map(({ id }) => id);

    expect(idsOf(config({ '*': { push: { insert: false } } }))).toEqual(['pull', 'push']);
    expect(idsOf({ ...config({ '*': {} }), schedule })).toEqual([]);
    expect(idsOf({ ...config({ '*': {} }), schedule: { ...schedule, follow: '*/2 * * * *' } })).toEqual(['follow']);
  });

  test('that follow by themselves run every minute, and wait for rings where those come', () => {
    const { schedule, tables } = config({ '*': {}, Order: { schedule: { follow: '*/3 * * * *' } } });

    const { all } = jobsOf({ schedule: { ...schedule, follow: 'auto', isRung: true }, tables });

    expect(
      all.filter(({ kind }) => kind === 'follow').map((one) => [one.id, one.schedule.text, one.waitsForRings]),
    ).toEqual([
      ['follow', '* * * * *', true],
      ['follow Order', '*/3 * * * *', false],
    ]);
  });

  test('bring files with the rows of a table unless it has a schedule for them', () => {
    const own = { schedule: { files: '0 3 * * *' } } as const;
    const tables = { '*': {}, Photo: own, Scan: { schedule: { files: false } }, Old: false } as const;
    const jobs = jobsOf(config(tables));
    const elsewhere = { ...config({ '*': {} }).schedule, files: '0 4 * * *' };

    expect(['Note', 'Photo', 'Scan', 'Old'].map((name) => jobs.comesWithPull(name))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(jobsOf({ ...config({ '*': {} }), schedule: elsewhere }).comesWithPull('Note')).toBe(false);
  });

  test('are late after two ticks of the first schedule of a table', () => {
    const schedule = { ...config({}).schedule, follow: 'auto' };
    const tables = { '*': {}, Log: { schedule: { pull: '0 * * * *', follow: false } }, Old: false } as const;
    const lateAfter = (isRung: boolean) => {
      const jobs = jobsOf({ ...config(tables), schedule: { ...schedule, isRung } });
      return ['Note', 'Log', 'Old'].map((name) => lateness(jobs, noon)(name, 'pull', 'follow'));
    };

    expect(lateAfter(false)).toEqual([2 * MINUTE, 120 * MINUTE, null]);
    // Until the rest between two follows beside rings is over, the pull comes first.
    expect(lateAfter(true)).toEqual([10 * MINUTE, 120 * MINUTE, null]);
  });

  test('pull and push at the start of a daemon, and each again only after its next tick', () => {
    const { schedule, tables } = config({ '*': { push: true } });
    const jobs = jobsOf({ schedule: { ...schedule, added: { verify: '*/5 * * * *' } }, tables });
    const scheduled = new ScheduledJobs(jobs, noon);
    const due = (): readonly string[] => scheduled.all.flatMap(({ id, isDue }) => (isDue ? [id] : []));
    const steps = [due()];

    scheduled.serve(new Set(['pull']), noon + MINUTE);
    steps.push(due());
    scheduled.tick(noon + 5 * MINUTE);
    steps.push(due());
    // The tick at ten minutes past the hour came while they ran.
    scheduled.serve(new Set(['pull', 'push']), noon + 12 * MINUTE);
    steps.push(due());

    expect(steps).toEqual([['pull', 'push'], ['push'], ['pull', 'push', 'verify'], ['verify']]);
    expect(scheduled.all.find(({ id }) => id === 'pull')?.nextAtMs).toBe(noon + 15 * MINUTE);
  });
});

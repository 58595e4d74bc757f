/** The options `schedule`, of all tables and of one, with the kinds of work that extras add. */
import { expect, test } from 'vitest';
import { scheduleWith, tableScheduleWith, type AddedJobs } from '../../src/config/schedule-options.ts';

const JOBS: AddedJobs = [
  ['verify', { doc: 'When.', ofTables: true }],
  ['backup', { doc: 'When.' }],
  ['drill', { doc: 'When.', usual: { text: '0 5 * * *', beside: 'backup' } }],
];

/** What the options are, or what is wrong with them. */
function read(given: unknown, options: { ofTable?: boolean } = {}): unknown {
  const parsed = (options.ofTable === true ? tableScheduleWith(JOBS) : scheduleWith(JOBS)).safeParse(given);
  return parsed.success ? parsed.data : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
}

test('a cycle comes every five minutes, changes by themselves, and added work only where it is wanted', () => {
  expect(read({})).toEqual({ timeZone: 'UTC', sync: '*/5 * * * *', follow: 'auto', verify: false, backup: false });
});

test('every kind can have its own expression, or none', () => {
  const given = {
    timeZone: 'Europe/Paris',
    sync: false,
    pull: '0 * * * *',
    follow: false,
    files: false,
    drill: '0 1 * * 0',
  };

  expect(read(given)).toEqual({ ...given, verify: false, backup: false });
});

test('a table has no defaults, no zone, and only the added work that is done by table', () => {
  expect(read({ sync: '0 * * * *', verify: '0 3 * * *' }, { ofTable: true })).toEqual({
    sync: '0 * * * *',
    verify: '0 3 * * *',
  });
  expect(read(undefined, { ofTable: true })).toBeUndefined();
  expect(read({ timeZone: 'UTC' }, { ofTable: true })).toEqual([expect.stringContaining('is not a known option')]);
  expect(read({ backup: '0 3 * * *' }, { ofTable: true })).toEqual([expect.stringContaining('is not a known option')]);
});

test.each(['* * * *', '60 * * * *', '0 0 30 2 *', 'daily', ''])('%j is not a cron expression', (pull) => {
  expect(read({ pull })).toEqual([
    expect.stringMatching(/^pull must be a cron expression, .*, or false for never: it /),
  ]);
});

test.each([true, 5, null])('%j is neither an expression nor never', (pull) => {
  expect(read({ pull })).toEqual(['pull must be a cron expression, such as "*/5 * * * *", or false for never']);
});

test('only following can be left to itself', () => {
  expect(read({ pull: 'auto' })).toEqual([expect.stringMatching(/^pull must be a cron expression/)]);
  expect(read({ follow: 'auto' })).toMatchObject({ follow: 'auto' });
});

test.each(['Europe/Atlantis', '', '+25:00'])('%j is not a time zone', (timeZone) => {
  expect(read({ timeZone })).toContain('timeZone must be the name of a time zone, such as Europe/Paris');
});

/**
 * What the page reads of runs: tries that tell an outage, what each run did, and the quarters of a day.
 */
import { expect, test } from 'vitest';
import { readQuarters, readRunResults, readTries } from '../../../src/extras/page/run-facts.ts';
import { RESULTS_MAX } from '../../../src/replica/bookkeeping/runs.ts';
import { startFixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

/** A run as the file has it; `results` are what it did to each table. */
function runSql(
  hour: number,
  { kind = 'pull', outcome = 'done', tables = 1, results = null as readonly object[] | null, isOpen = false } = {},
): string {
  const at = `2026-06-01T${String(hour).padStart(2, '0')}:00:00Z`;
  const json = results === null ? 'NULL' : `'${JSON.stringify(results)}'`;
  return `INSERT INTO _rowsync_runs (kind, started_at, finished_at, outcome, tables, per_table)
    VALUES ('${kind}', '${at}', ${isOpen ? 'NULL' : `'${at}'`}, '${outcome}', ${tables}, ${json});`;
}

const failed = (table: string | null) => ({ table, problem: 'it is away' });

test('tries are pulls that ended, from the last one before a moment on, and tell whether nothing could be read', async () => {
  await using fixture = await startFixture({ tables: [] });
  fixture.execute(
    [
      runSql(1),
      runSql(2),
      runSql(3, { kind: 'push', outcome: 'failed' }),
      runSql(4, { outcome: 'failed', results: [failed(null), failed('A')] }),
      runSql(5, { outcome: 'failed', tables: 2, results: [failed('A')] }),
      runSql(6, { kind: 'follow', outcome: 'failed', tables: 0, results: [failed(null)] }),
      runSql(7, { outcome: 'stopped' }),
      runSql(8, { isOpen: true, outcome: 'running' }),
      runSql(9),
    ].join('\n'),
  );

  const tries = readTries(fixture.replica, '2026-06-01T03:00:00Z');

  expect(tries.map(({ startedAt, allFailed }) => [Number(startedAt.slice(11, 13)), allFailed])).toEqual([
    [2, false],
    [4, true],
    [5, false],
    [6, true],
    [9, false],
  ]);
});

test('of many tables that all failed, those that are listed count for all', async () => {
  await using fixture = await startFixture({ tables: [] });
  const all = Array.from({ length: RESULTS_MAX - 1 }, (_, index) => failed(`T${index}`));
  fixture.execute(runSql(1, { outcome: 'failed', tables: 400, results: [failed(null), ...all] }));
  fixture.execute(runSql(2, { outcome: 'failed', tables: 400, results: [failed(null), ...all.slice(1)] }));

  const tries = readTries(fixture.replica, '2026-06-01T00:00:00Z');

  expect(tries.map(({ allFailed }) => allFailed)).toEqual([true, false]);
});

test('what the newest runs did is read by their ids, without runs that no longer say it', async () => {
  await using fixture = await startFixture({ tables: [] });
  fixture.execute([runSql(1, { results: [failed('A')] }), runSql(2), runSql(3, { results: [] })].join('\n'));

  expect([...readRunResults(fixture.replica, 10)]).toEqual([
    [3, []],
    [1, [failed('A')]],
  ]);
  expect([...readRunResults(fixture.replica, 2).keys()]).toEqual([3]);
});

test('quarters are those of each table, the oldest first', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`INSERT INTO _rowsync_quarters (table_id, quarter, fare, went_well)
    SELECT id, 7, 'failed', 0 FROM _rowsync_tables`);

  const quarters = readQuarters(fixture.replica).get('Note') ?? [];

  expect(quarters[0]).toMatchObject({ quarter: 7, fare: 'failed', wentWell: false });
  expect(quarters.slice(1).map(({ fare, wentWell }) => [fare, wentWell])).toEqual([['fresh', true]]);
});

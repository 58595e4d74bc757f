/**
 * The record of runs: what each one did to which table, and how each table fared over a day.
 */
import { expect, test } from 'vitest';
import { stampFromMs } from '../../../src/base/clock.ts';
import { closeRun, openRun, type RunTable } from '../../../src/replica/bookkeeping/runs.ts';
import { readQuarters, readRunResults, readTries } from '../../../src/extras/page/run-facts.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const QUARTER_MS = 900_000;
const COMPLAINT = { code: 'origin.down', message: 'it does not answer', hint: 'wait' };

const UNCHANGED: RunTable = {
  table: 'Note',
  insertedCount: 0,
  updatedCount: 0,
  deletedCount: 0,
  error: null,
  held: null,
  isFollowed: true,
};

/** Records a run of one table that ends in this quarter. */
function record(
  { replica }: Fixture,
  quarter: number,
  tables: readonly Partial<RunTable>[],
  error: typeof COMPLAINT | null = null,
): Promise<number> {
  const at = stampFromMs(quarter * QUARTER_MS);
  return replica.write('Recording a run', (tx) => {
    const id = openRun(tx, 'pull', at);
    closeRun(tx, id, at, {
      requestCount: 1,
      notModifiedCount: 0,
      receivedBytes: 0,
      error,
      tables: tables.map((table) => ({ ...UNCHANGED, ...table })),
    });
    return id;
  });
}

function faresOf({ replica }: Fixture): readonly string[] {
  return (readQuarters(replica).get('Note') ?? []).map(({ quarter, fare }) => `${quarter} ${fare}`);
}

/** A table that was pulled long ago. */
async function startPulled(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`DELETE FROM _rowsync_runs; DELETE FROM _rowsync_quarters;
    UPDATE _rowsync_tables SET swept_at = '2020-01-01T00:00:00Z'`);
  return fixture;
}

test('a pull is kept with what it did to each table, and with that it was read whole', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });

  await fixture.pull();
  await fixture.pull();

  expect(fixture.rows('SELECT per_table FROM sync_runs')).toEqual([
    { per_table: '[{"table":"Note","inserted":6,"updated":0,"deleted":0,"refused":0,"problem":null,"hint":null}]' },
    { per_table: null },
  ]);
  expect(faresOf(fixture).map((text) => text.split(' ')[1])).toEqual(['fresh']);
});

test('a run that named no table leaves no record, so that the one before it is still the last', async () => {
  await using fixture = await startPulled();
  await fixture.pull();

  const report = await fixture.pull({ tables: ['Ntoe'] });

  expect(report.error?.code).toBe('usage.invalid');
  expect(fixture.rows('SELECT outcome FROM sync_runs')).toEqual([{ outcome: 'done' }]);
});

test('what concerned all tables is kept beside what each one met, and both stay short', async () => {
  await using fixture = await startPulled();
  const long = { ...COMPLAINT, message: 'x'.repeat(2_000) };

  const id = await record(
    fixture,
    1,
    Array.from({ length: 300 }, (_, index) => ({ table: `T${index}`, error: long })),
    {
      ...COMPLAINT,
    },
  );

  const results = readRunResults(fixture.replica, 10).get(id) ?? [];
  expect(results[0]).toMatchObject({ table: null, problem: 'it does not answer', hint: 'wait' });
  expect(results).toHaveLength(100);
  expect(results.every(({ problem }) => (problem ?? '').length <= 500)).toBe(true);
});

test('an error of a table is not told of all of them as well', async () => {
  await using fixture = await startPulled();

  const id = await record(fixture, 1, [{ error: COMPLAINT }]);

  expect(
    readRunResults(fixture.replica, 10)
      .get(id)
      ?.map(({ table }) => table),
  ).toEqual(['Note']);
});

test('rows that the origin refused are counted', async () => {
  await using fixture = await startPulled();

  const id = await record(fixture, 1, [{ refusedCount: 2 }]);

  expect(readRunResults(fixture.replica, 10).get(id)).toMatchObject([{ table: 'Note', updated: 0, refused: 2 }]);
});

test('of a thousand runs it is kept what they did to each table', async () => {
  await using fixture = await startPulled();
  const first = await record(fixture, 1, [{ updatedCount: 1 }]);
  fixture.execute(`UPDATE sqlite_sequence SET seq = ${first + 999} WHERE name = '_rowsync_runs'`);

  await record(fixture, 1, [{ updatedCount: 2 }]);

  expect(readRunResults(fixture.replica, 10).has(first)).toBe(false);
  expect(fixture.rows(`SELECT updated FROM sync_runs WHERE id = ${first}`)).toEqual([{ updated: 1 }]);
});

test('of a quarter the worst counts, then the most', async () => {
  await using fixture = await startPulled();

  await record(fixture, 10, [{}]);
  await record(fixture, 11, [{}]);
  await record(fixture, 11, [{ error: COMPLAINT }]);
  await record(fixture, 11, [{}]);
  await record(fixture, 12, [{ held: COMPLAINT }]);

  expect(faresOf(fixture)).toEqual(['10 followed', '11 failed', '12 failed']);
  expect(
    readQuarters(fixture.replica)
      .get('Note')
      ?.map(({ wentWell }) => wentWell),
  ).toEqual([true, true, false]);
});

test('a table that a run left alone, or that it was asked to stop at, has no mark', async () => {
  await using fixture = await startPulled();

  await record(fixture, 2_000_000, [{ isFollowed: false }]);
  await record(fixture, 2_000_000, [{ error: { ...COMPLAINT, code: 'origin.stopped' } }]);

  expect(faresOf(fixture)).toEqual([]);
});

test('a day is kept, and the newest quarter before it that went well', async () => {
  await using fixture = await startPulled();

  for (const quarter of [1, 2, 5, 96]) await record(fixture, quarter, [{}]);
  await record(fixture, 6, [{ error: COMPLAINT }]);
  await record(fixture, 102, [{}]);

  expect(faresOf(fixture)).toEqual(['5 followed', '96 followed', '102 followed']);
});

test('a try failed as a whole where no table was read', async () => {
  await using fixture = await startPulled();
  const [failed, well] = [{ error: COMPLAINT }, {}];

  await record(fixture, 1, [failed]);
  await record(fixture, 2, [], COMPLAINT);
  await record(fixture, 3, [failed, failed]);
  await record(fixture, 4, [failed, well]);
  await record(fixture, 5, [well]);
  await record(fixture, 6, [], { ...COMPLAINT, code: 'origin.stopped' });

  const tries = readTries(fixture.replica, stampFromMs(3 * QUARTER_MS));
  expect(tries.map(({ startedAt, allFailed }) => [Date.parse(startedAt) / QUARTER_MS, allFailed])).toEqual([
    [2, true],
    [3, true],
    [4, false],
    [5, false],
  ]);
});

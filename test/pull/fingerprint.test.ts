/**
 * Finding changed windows by the sums of each day's rows: what it finds, what it costs, and when it proves nothing.
 */
import { expect, test } from 'vitest';
import { findChangedWindows, noteUselessMeasures, type ChangedWindows } from '../../src/pull/fingerprint.ts';
import { sweepWindows } from '../../src/pull/sweep.ts';
import { readTables, readTable } from '../../src/replica/bookkeeping/tables.ts';
import { readPages } from '../../src/replica/bookkeeping/pages.ts';
import { must } from '../../src/base/assert.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { pushNow } from '../support/push.ts';
import { preparedTable, startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 0, 1, 12);
/** Pages of five rows that share one, two of them a window. */
const SETTINGS = { pageRows: 5, windowPages: 2 };

const GROUP: TableSpec = {
  name: 'Group',
  key: 'Name',
  columns: [
    { name: 'Name', type: 'Text', options: ['Unique', 'Required'] },
    { name: 'Budget', type: 'Numeric' },
  ],
  rows: [{ Name: 'a', Budget: '10.5' }],
};

const note = (extra: Partial<TableSpec> = {}): TableSpec => ({
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Group', type: 'Text' },
    { name: 'Price', type: 'Numeric' },
    {
      name: 'Group Budget',
      type: 'Numeric',
      computed: { how: 'lookup', reference: 'Group', table: 'Group', column: 'Budget' },
    },
  ],
  ...extra,
});

/** A pulled table with a row on each of some days. */
async function start(dayCount = 40, format: 'json' | 'xml' = 'json'): Promise<Fixture> {
  const clock = testClock({ startMs: FIRST_MS });
  const fixture = await startFixture({ tables: [GROUP, note()], clock }, { clock, settings: SETTINGS, format });
  fixture.sandbox.store.change(() => {
    for (let day = 0; day < dayCount; day += 1) {
      fixture.sandbox.store.insert('Note', { Title: `note ${day}`, Price: '0.1', Group: day === 20 ? 'a' : null });
      clock.advance(DAY_MS);
    }
  });
  await fixture.pull();
  fixture.sandbox.requests.clear();
  return fixture;
}

async function find(fixture: Fixture, context = fixture.context()): Promise<ChangedWindows | null> {
  return await findChangedWindows({ context, table: await preparedTable(fixture, context) });
}

/**
 * Finds windows, reads them, and compares again; which windows were read, how many rows were deleted, and what is
 * ignored now.
 */
async function bringChanges(fixture: Fixture, context = fixture.context()) {
  const table = await preparedTable(fixture, context);
  const found = must(await findChangedWindows({ context, table }), 'the origin aggregates');
  const counts = {
    insertedCount: 0,
    updatedCount: 0,
    deletedCount: 0,
    filteredCount: 0,
    pagesReadCount: 0,
    pagesNotModifiedCount: 0,
  };
  await sweepWindows({ context, table, counts }, found.windows);
  const ignored = await noteUselessMeasures({ context, table }, found);
  return { windows: found.windows, ...counts, ignored };
}

function windowsOf({ replica }: Fixture, name = 'Note'): readonly string[] {
  const { id } = must(
    readTables(replica).find((table) => table.name === name),
    'it was pulled',
  );
  return [...new Set(readPages(replica, id).map(({ window }) => window))];
}

/** The window in which the row of a day stands. */
function windowOf(fixture: Fixture, day: number): string {
  const stamp = `${new Date(FIRST_MS + day * DAY_MS).toISOString().slice(0, 19)}Z`;
  return must(
    windowsOf(fixture).findLast((window) => window !== 'none' && window <= stamp),
    'one is the first',
  );
}

function selects({ sandbox }: Fixture): number {
  return sandbox.requests.count({ method: 'select' });
}

test.each(['json', 'xml'] as const)(
  'an unchanged table costs one request and has no changed windows (%s)',
  async (format) => {
    await using fixture = await start(40, format);

    expect(windowsOf(fixture).length).toBeGreaterThan(4);
    expect((await find(fixture))?.windows).toEqual([]);
    expect(selects(fixture)).toBe(1);
  },
);

test('an edit, a delete and a new row are in the windows that are found, in order', async () => {
  await using fixture = await start();
  const { store } = fixture.sandbox;
  const last = must(
    windowsOf(fixture).findLast((window) => window !== 'none'),
    'there are some',
  );
  store.update('Note', 31, { Title: 'edited' });
  store.delete('Note', 6);
  store.insert('Note', { Title: 'added' });

  const result = await bringChanges(fixture);

  expect(result.windows).toEqual([windowOf(fixture, 5), windowOf(fixture, 30), last]);
  expect(result).toMatchObject({ insertedCount: 1, updatedCount: 1, deletedCount: 1, ignored: [] });
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect((await find(fixture))?.windows).toEqual([]);
});

test('a formula that changed with another row is found by its sum, though no row has a new stamp', async () => {
  await using fixture = await start();
  fixture.sandbox.store.update('Group', 1, { Budget: '10.6' });

  const result = await bringChanges(fixture);

  expect(result).toMatchObject({ windows: [windowOf(fixture, 20)], updatedCount: 1, ignored: [] });
  expect(fixture.rows('SELECT "Group Budget" AS b FROM "Note" WHERE "Group" = \'a\'')).toEqual([{ b: 10.6 }]);
});

test.each(['Asia/Tokyo', 'America/Los_Angeles', 'Asia/Kathmandu'])(
  'days are those of the calling user, also around midnight (%s)',
  async (timezone) => {
    const clock = testClock({ startMs: FIRST_MS });
    await using fixture = await startFixture({ tables: [note()].map(noLookup), clock }, { clock, settings: SETTINGS });
    const { store } = fixture.sandbox;
    store.changeUser({ timezone });
    store.change(() => {
      for (let quarter = 0; quarter < 60 * 4; quarter += 1) {
        store.insert('Note', { Title: `note ${quarter}`, Price: 1 });
        clock.advance(900_000);
      }
    });
    await fixture.pull();

    const found = await find(fixture);
    expect(found).toMatchObject({ windows: [], zone: timezone });
    expect(found?.here).toEqual(found?.there);

    store.delete('Note', 100);
    const result = await bringChanges(fixture);
    expect(result).toMatchObject({ deletedCount: 1, ignored: [] });
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  },
);

function noLookup({ columns, ...spec }: TableSpec): TableSpec {
  return { ...spec, columns: columns.filter(({ computed }) => computed === undefined) };
}

test('more days than one answer holds are read page by page', async () => {
  await using fixture = await start(1_020);
  fixture.sandbox.store.update('Note', 1_010, { Title: 'edited' });

  const found = await find(fixture);

  expect(found?.windows).toEqual([windowOf(fixture, 1_009)]);
  expect(found?.there.size).toBe(1_020);
  expect(selects(fixture)).toBe(3);
});

test('rows without a creation time are a day of their own', async () => {
  await using fixture = await start();
  const context = fixture.context();
  const table = await preparedTable(fixture, context);
  const aggregate: typeof context.origin.aggregate = async (request, options) => {
    const page = await context.origin.aggregate(request, options);
    return page && { ...page, groups: [{ group: null, values: [1, null, 0, 0] }, ...page.groups] };
  };

  const found = await findChangedWindows({ context: { ...context, origin: { ...context.origin, aggregate } }, table });

  expect(found?.windows).toEqual(['none']);
});

test('of a two-way table what counts is what the origin confirmed', async () => {
  await using fixture = await startFixture(
    { tables: [{ ...noLookup(note()), createdFromMs: FIRST_MS, rows: rowsOf(30) }] },
    { settings: { ...SETTINGS, ...twoWaySettings() } },
  );
  await fixture.pull();
  fixture.execute('UPDATE "Note" SET "Price" = 7 WHERE _id = 3; DELETE FROM "Note" WHERE _id = 4');

  expect((await find(fixture))?.windows).toEqual([]);
  await pushNow(fixture, { confirm: true });
  expect((await find(fixture))?.windows).toEqual([]);
});

const rowsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ Title: `${index}`, Price: '0.1' }));

test.each([
  ['refuses', 400, '{"error":400,"code":3100,"message":"no"}'],
  ['answers in another form', 200, '[{"Day":"1","Id//COUNT":1}]'],
])('an origin that %s says nothing', async (_what, status, body) => {
  await using fixture = await start();
  fixture.sandbox.answerInstead(1, { status, headers: { 'Content-Type': 'application/json' }, body });

  expect(await find(fixture)).toBeNull();
  expect(selects(fixture)).toBe(1);
});

test('a table that is one window is not asked for', async () => {
  await using fixture = await start(3);

  expect(await find(fixture)).toBeNull();
  expect(selects(fixture)).toBe(0);
});

test('a table of too many days is given up on after ten requests', async () => {
  await using fixture = await start();
  const context = fixture.context();
  let asked = 0;
  const aggregate: typeof context.origin.aggregate = async () => {
    asked += 1;
    return { groups: [{ group: `2026-01-${asked}`, values: [1, null, 0, 0] }], isLast: false };
  };

  expect(await find(fixture, { ...context, origin: { ...context.origin, aggregate } })).toBeNull();
  expect(asked).toBe(10);
});

test('a column whose sums disagree is left out once its windows were read, until the next whole sweep', async () => {
  await using fixture = await start();
  const context = fixture.context();
  const aggregate: typeof context.origin.aggregate = async (request, options) => {
    const page = await context.origin.aggregate(request, options);
    const groups = page?.groups.map(({ group, values: [count = null, modified = null, , ...rest] }) => ({
      group,
      values: [count, modified, 12, ...rest],
    }));
    return page && groups ? { ...page, groups } : null;
  };
  const wrong = { ...context, origin: { ...context.origin, aggregate } };

  const first = await bringChanges(fixture, wrong);
  expect(first.windows).toEqual(windowsOf(fixture).filter((window) => window !== 'none'));
  expect(first).toMatchObject({ updatedCount: 0, deletedCount: 0, ignored: ['sum of Price'] });

  fixture.sandbox.store.update('Note', 31, { Title: 'edited' });
  const second = await bringChanges(fixture, wrong);
  expect(second).toMatchObject({ windows: [windowOf(fixture, 30)], updatedCount: 1, ignored: ['sum of Price'] });

  await fixture.pull();
  const { id } = must(
    readTables(fixture.replica).find(({ name }) => name === 'Note'),
    'it was pulled',
  );
  expect(readTable(fixture.replica, id).ignoredMeasures).toEqual([]);
});

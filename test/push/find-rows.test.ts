/**
 * What a push asks the origin: rows by match value that it may not return, and who is calling. A row that cannot be
 * found holds up no other.
 */
import { describe, expect, test } from 'vitest';
import { stampFromMs, systemClock } from '../../src/base/clock.ts';
import type { IdBlock } from '../../src/push/context.ts';
import { findByMatch, readBlock, wasUnknownRowDeleted } from '../../src/push/find-rows.ts';
import {
  atOrigin,
  changesSent,
  codesOf,
  countsOf,
  previewNow,
  pushNow,
  openPush,
  setFaults,
  unreadableAnswer as unreadableRow,
} from '../support/push.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import type { RawAnswer } from '../support/sandbox.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';

/** Of each character, six bytes come of its encoding: more than the origin takes of a query. */
const LONG = 'é'.repeat(4_000);

/**
 * Refuses the questions of those numbers, counted from the next one, as a filter that the origin does not understand.
 */
function refuseFilters({ sandbox }: Fixture, numbers: readonly number[]): void {
  const body = JSON.stringify({ error: 400, code: 3000, message: 'the filter cannot be read' });
  const answer = { status: 400, headers: { 'Content-Type': 'application/json' }, body };
  for (const number of numbers) sandbox.answerInstead(number, answer, { method: 'select' });
}

/** What the origin answers about a code. */
async function answerAbout({ sandbox }: Fixture, code: string): Promise<RawAnswer & { readonly body: string }> {
  const { url, token, requests } = sandbox;
  const asked = new URL(requests.find({ method: 'select' }).at(-1)?.path ?? '', url);
  asked.searchParams.delete('skip');
  asked.searchParams.set('filter', `[Code] = "${code}"`);
  const found = await fetch(asked, { headers: { Authorization: `Bearer ${token}` } });
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: await found.text() };
}

/** The same, in a form that cannot be read. */
async function unreadableAnswer(fixture: Fixture, code: string): Promise<RawAnswer> {
  const answer = await answerAbout(fixture, code);
  return { ...answer, body: answer.body.replaceAll(/"Done": ?(?:true|false)/g, '"Done":"maybe"') };
}

/** What a plan says of the rows of the table, so long from now. */
async function fatesIn(fixture: Fixture, ms: number): Promise<readonly string[]> {
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + ms };
  const previews = await previewNow(fixture, { clock });
  return previews.flatMap(({ rows }) => rows.map(({ fate }) => fate));
}

describe('a value that is too long for a query', () => {
  async function startLong(match: string | null): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match } });
    fixture.sandbox.store.changeColumn('Note', 'Code', { width: LONG.length });
    await fixture.pull();
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('long', '${LONG}'), ('short', 's');
      UPDATE "Note" SET "Title" = 'x' WHERE _id = 2`);
    return fixture;
  }

  test('is pushed as a match value like any other', async () => {
    await using fixture = await startLong('Code');

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 2, updated: 1 }]);
    // It cannot be asked for, so it is created.
    expect(changesSent(fixture).toSorted()).toEqual(['create', 'update', 'upsert']);
    expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([
      [7, 'long', LONG],
      [8, 'short', 's'],
    ]);
  });
});

describe('a value by which the origin refuses to look', () => {
  test('parks the new row that has it as its match value, and holds up no other', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('good', 'g'), ('bad', 'b');
      UPDATE "Note" SET "Title" = 'x' WHERE _id = 2`);
    refuseFilters(fixture, [1, 2]); // both values, then the first alone

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, updated: 1, refused: 1, parked: 1 }]);
    expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'good', 'g']]);
    expect(fixture.rows('SELECT row_id, "column", retry_at IS NOT NULL AS isDue FROM sync_failures')).toEqual([
      { row_id: -3, column: 'Code', isDue: 1 },
    ]);
    expect(await fatesIn(fixture, 0)).toEqual(['unsendable']);
    expect(await fatesIn(fixture, 48 * 3_600_000)).toEqual(['sent']); // as the next push would
  });
});

test('a look-up that is refused because a column was just renamed parks no row', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('good', 'g')`);
  refuseFilters(fixture, [1]);

  const report = await pushNow(fixture, {
    before: (step) => {
      if (step === 'reread') fixture.sandbox.store.renameColumn('Note', 'Body', 'Text');
    },
  });

  expect([codesOf(report), countsOf(report)]).toEqual([['push.shape'], { waiting: 1 }]);
  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([]);
  await fixture.pull();
  expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
});

test.each([
  ['shows another row', answerAbout],
  ['shows a row that cannot be read', unreadableAnswer],
])('a new row about whose match value the origin %s holds up no other new row', async (_what, answerOf) => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const other = await answerOf(fixture, 'c2');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('good', 'g'), ('mine', 'zwei')`);
  // Both values and the first alone, then that one in each round.
  for (const number of [1, 2, 4, 5]) fixture.sandbox.answerInstead(number, other, { method: 'select' });

  const report = await pushNow(fixture);

  expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, refused: 1, parked: 1 }]);
  expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'good', 'g']]);
  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([{ row_id: -3 }]);
});

test('a new row waits with a reason where the origin takes its match value and that of another row for one', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const other = await answerAbout(fixture, 'c2');
  fixture.execute(
    `INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'zwei'); UPDATE "Note" SET "Title" = 'x' WHERE _id = 3`,
  );
  fixture.sandbox.answerInstead(1, other, { method: 'select' });

  const report = await pushNow(fixture);

  expect([codesOf(report), countsOf(report)]).toEqual([[], { updated: 1, refused: 1, parked: 1 }]);
  expect(atOrigin(fixture, ['Title', 'Code'])[1]).toEqual([2, 'title 2', 'c2']);
  expect(fixture.rows('SELECT row_id, "column", reason, retry_at IS NOT NULL AS isDue FROM sync_failures')).toEqual([
    { row_id: -2, column: 'Code', reason: expect.stringContaining('has another value') as string, isDue: 1 },
  ]);

  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
  expect(countsOf(await pushNow(fixture, { clock }))).toEqual({ inserted: 1 });
});

const MATCHED = { editing: { match: 'Code' } } as const;

test('another user is noticed', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.sandbox.store.changeUser({ id: 4711 });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual(['push.identity']);
  expect(changesSent(fixture)).toEqual([]);
});

describe('rows by match value', () => {
  test('are found each under its value, and a value that no row has is not', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    const found = await findByMatch(openPush(fixture), ['c2', 'none', 'c5'], false);

    expect([...found].map(([value, holder]) => [value, typeof holder === 'object' ? holder.id : holder])).toEqual([
      ['c2', 2],
      ['c5', 5],
    ]);
  });

  test('are not asked for without a match column, or without a value', async () => {
    await using fixture = await startTwoWay();
    await using matched = await startTwoWay({ editing: { match: 'Code' } });
    const before = [fixture, matched].map(({ sandbox }) => sandbox.requests.all.length);

    expect(await findByMatch(openPush(fixture), ['c2'], false)).toEqual(new Map());
    expect(await findByMatch(openPush(matched), [], false)).toEqual(new Map());
    expect([fixture, matched].map(({ sandbox }) => sandbox.requests.all.length)).toEqual(before);
  });

  test('are not taken for free where the origin refuses to be asked about a lost one', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    refuseFilters(fixture, [1]);

    expect(await findByMatch(openPush(fixture), ['c2'], true)).toEqual(new Map([['c2', 'refused']]));
  });
});

test('rows that are too large for one answer together are looked up in several', async () => {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Body', type: 'Multiline' },
  ] as const;
  const codes = Array.from({ length: 30 }, (_, index) => `c${index + 1}`);
  const rows = codes.map((code) => ({ Title: 'theirs', Code: code, Body: 'x'.repeat(1_000) }));
  await using fixture = await startFixture(
    { tables: [{ name: 'Note', columns, rows }] },
    { settings: twoWaySettings({ match: 'Code' }), limits: { decodedBytesMax: 20_000, wireBytesMax: 20_000 } },
  );
  await fixture.pull();
  for (const code of [...codes, 'free'])
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', '${code}')`);

  const report = await pushNow(fixture);

  expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, refused: 30, parked: 30 }]);
  expect(atOrigin(fixture, ['Title', 'Code']).at(-1)).toEqual([31, 'mine', 'free']);
  expect(fixture.rows('SELECT DISTINCT reason FROM sync_failures WHERE row_id = -2')).toEqual([
    { reason: 'row 1 has the same match value at the origin' },
  ]);
});

test('the largest rows of a table are pushed, though its pages fit into an answer and they do not', async () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    Title: 'old',
    Body: 'x'.repeat(index % 3 === 0 ? 1_500 : 1),
  }));
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Body', type: 'Multiline' },
  ] as const;
  await using fixture = await startFixture(
    { tables: [{ name: 'Note', columns, rows }] },
    { settings: { pageRows: 12, ...twoWaySettings() }, limits: { decodedBytesMax: 20_000, wireBytesMax: 20_000 } },
  );
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'new' WHERE length("Body") > 1`);

  const report = await pushNow(fixture);

  expect([codesOf(report), countsOf(report)]).toEqual([[], { updated: 20 }]);
  expect(fixture.rows('SELECT page_rows FROM sync_status')).toEqual([{ page_rows: null }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

describe('a deleted row that was never here', () => {
  /** A row that a colleague makes and deletes between two pulls. */
  async function startDeleted(): Promise<Fixture> {
    const fixture = await startTwoWay();
    const id = fixture.sandbox.store.insert('Note', { Title: 'for a moment' });
    fixture.sandbox.store.delete('Note', id);
    return fixture;
  }
  const inMinutes = (minutes: number): string => stampFromMs(systemClock.nowMs() + minutes * 60_000);

  test('is noticed, also where the clock of the origin is behind', async () => {
    await using fixture = await startDeleted();

    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(0))).toBe(true);
    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(4))).toBe(true);
    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(10))).toBe(false);
  });

  test('is told from one that was here', async () => {
    await using fixture = await startTwoWay();
    fixture.sandbox.store.delete('Note', 6);

    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(0))).toBe(false);
    await fixture.pull();
    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(0))).toBe(false);
  });

  test('is not noticed where the origin refuses the list, and an origin that is away is no answer', async () => {
    await using fixture = await startDeleted();
    const refusal = {
      status: 400,
      headers: { 'Content-Type': 'application/json' },
      body: '{"error":400,"message":"no"}',
    };
    fixture.sandbox.answerInstead(1, refusal, { method: 'deleted' });

    expect(await wasUnknownRowDeleted(openPush(fixture), inMinutes(0))).toBe(false);
    setFaults(fixture, [{ fault: 'resetBefore' }]);
    await expect(wasUnknownRowDeleted(openPush(fixture), inMinutes(0))).rejects.toMatchObject({ kind: 'originDown' });
  });
});

describe('a block of rows', () => {
  test.each<[string, string | null, IdBlock, boolean]>([
    ['updates', null, { kind: 'update', ids: [1, 99] }, true],
    ['deletes', null, { kind: 'delete', ids: [2] }, true],
    ['new rows with a free match value', 'Code', { kind: 'insert', ids: [-2] }, true],
    ['new rows that get a match value', 'Code', { kind: 'insert', ids: [-4] }, true],
    ['new rows whose match value a row has', 'Code', { kind: 'insert', ids: [-2, -3] }, false],
    ['new rows without a match column', null, { kind: 'insert', ids: [-2] }, false],
    ['rows with a file', null, { kind: 'update', ids: [3] }, false],
  ])('of %s may be recorded before earlier ones have arrived, or not', async (_what, match, block, expected) => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1; UPDATE "Note" SET "Photo" = 'file:a' WHERE _id = 3;
      INSERT INTO "Note" ("Title", "Code") VALUES ('free', 'n1'), ('taken', 'c4'), ('made', NULL)`);

    const { found, lookUps, mayGoAhead, attaches } = await readBlock(openPush(fixture), block);

    expect(mayGoAhead).toBe(expected);
    expect(attaches).toBe(block.ids.includes(3));
    expect([...found.byId.keys()]).toEqual(block.ids.filter((id) => id > 0 && id < 7));
    const holders = [...lookUps].map(([id, { value, holder }]) => [
      id,
      value,
      typeof holder === 'object' ? holder.id : holder,
    ]);
    const known = [
      [-2, 'n1', undefined],
      [-3, 'c4', 4],
    ] as const;
    expect(new Set(holders)).toEqual(new Set(match === null ? [] : known.filter(([id]) => block.ids.includes(id))));
  });

  test('tells rows that cannot be read from those that are not there', async () => {
    await using fixture = await startTwoWay();
    fixture.sandbox.answerInstead(1, await unreadableRow(fixture, 2), { method: 'retrieve' });

    const { found } = await readBlock(openPush(fixture), { kind: 'update', ids: [2, 99] });

    expect([[...found.byId.keys()], [...found.unreadable.keys()]]).toEqual([[], [2]]);
  });
});

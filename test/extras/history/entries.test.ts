/**
 * What the history says as people count it: an edit and the answer of the origin to it are one change, a discarded edit
 * is none.
 */
import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import { must } from '../../../src/base/assert.ts';
import { carryOutDecision } from '../../../src/capture/person-decision.ts';
import {
  causeWords,
  editsOfPushSince,
  entryJson,
  findRun,
  isRenumbering,
  iterateEntriesAfter,
  lastSeq,
  readIdAtOrigin,
  readNewestEntries,
  readRowEntries,
  readRunCounts,
  readRunEntries,
  readTableEntries,
} from '../../../src/extras/history/entries.ts';
import { readHistoryHours } from '../../../src/extras/page/history.ts';
import { pull } from '../../../src/pull/pull.ts';
import { HISTORY } from '../../support/history.ts';
import { finishAndPull, pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { AT, capture, NOTE, startTwoWay, twoWaySettings } from '../../support/two-way.ts';

const ALL = { table: null, runId: null, since: null, until: null };

const TWO_WAY = {
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
};

/** A two-way table with history, at 2026-11-25 08:00; `at` moves the clock to a minute after. */
async function startKept(): Promise<Fixture & { readonly at: (minute: number) => void; readonly clock: Clock }> {
  const startMs = Date.parse('2026-11-25T08:00:00Z');
  const time = { nowMs: startMs };
  const clock = { ...systemClock, nowMs: () => time.nowMs };
  const fixture = await startFixture({ tables: [NOTE], clock }, { settings: TWO_WAY, clock });
  await fixture.pull();
  return Object.assign(fixture, { clock, at: (minute: number) => void (time.nowMs = startMs + minute * 60_000) });
}

describe('a row that was made here', () => {
  test('has one history under both of its ids, and only what happened is in it', async () => {
    await using fixture = await startKept();
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`);
    await capture(fixture);
    fixture.execute(`UPDATE "Note" SET "Body" = 'more' WHERE "Code" = 'c8'`);
    await pushNow(fixture);
    const [{ id } = { id: 0 }] = fixture.rows(`SELECT _id AS id FROM "Note" WHERE "Code" = 'c8'`) as { id: number }[];

    const life = readRowEntries(fixture.replica, 'Note', id).map(({ kind, cause }) => `${kind} ${cause}`);

    expect(life).toEqual(['insert edit', 'update edit', 'insert push']);
    const formerId = readRowEntries(fixture.replica, 'Note', id)[0]?.rowId ?? 0;
    expect(readIdAtOrigin(fixture.replica, 'Note', formerId)).toBe(id);
    expect(readIdAtOrigin(fixture.replica, 'Note', id)).toBeNull();
    expect(readIdAtOrigin(fixture.replica, 'Note', -99)).toBeNull();
    const former = readNewestEntries(fixture.replica, { table: 'Note', id: formerId }, 9);
    expect(former.filter(isRenumbering)).toHaveLength(1);
    expect(readNewestEntries(fixture.replica, null, 9).filter(isRenumbering)).toEqual([]);
  });

  test('and another one that had the same number before it are two', async () => {
    await using fixture = await startKept();
    const lives: (readonly string[])[] = [];
    for (const code of ['c8', 'c9']) {
      fixture.execute(`INSERT INTO "Note" (_id, "Title", "Code") VALUES (-1, '${code}', '${code}')`);
      await pushNow(fixture);
      await finishAndPull(fixture);
    }
    for (const code of ['c8', 'c9']) {
      const [{ id } = { id: 0 }] = fixture.rows(`SELECT _id AS id FROM "Note" WHERE "Code" = ?`, code) as {
        id: number;
      }[];
      lives.push(
        readRowEntries(fixture.replica, 'Note', id).map(
          ({ after }) => (JSON.parse(after ?? '{}') as { Code: string }).Code,
        ),
      );
    }

    expect(lives).toEqual([
      ['c8', 'c8'],
      ['c9', 'c9'],
    ]);
  });
});

describe('counts of runs', () => {
  test('the newest run is first; edits of no run are a group for each time; nothing of a renumbering', async () => {
    await using fixture = await startKept();
    fixture.at(1);
    fixture.execute(
      `UPDATE "Note" SET "Title" = 'mine' WHERE _id <= 2; INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'c8')`,
    );
    await fixture.replica.write('Capturing', () => undefined);
    await pushNow(fixture);
    fixture.at(2);
    fixture.sandbox.store.update('Note', 3, { Title: 'theirs' });
    await fixture.pull();

    const counts = readRunCounts(fixture.replica, ALL);
    const late = readRunCounts(fixture.replica, { ...ALL, since: '2026-11-25T08:02:00Z' });

    expect(
      counts.map(({ runId, work, kind, cause, isAnswer, count }) => [runId, work, kind, cause, isAnswer, count]),
    ).toEqual(
      expect.arrayContaining([
        [3, 'pull', 'update', 'pull', 0, 1],
        [2, 'push', 'update', 'push', 1, 2],
        [2, 'push', 'insert', 'push', 1, 1],
        [1, 'pull', 'begin', 'pull', 0, 1],
      ]),
    );
    expect(counts.filter(({ kind }) => kind === 'delete')).toEqual([]);
    expect(counts.filter(({ cause }) => cause === 'edit').reduce((sum, { count }) => sum + count, 0)).toBe(3);
    expect(late.map(({ runId }) => runId)).toEqual([3]);
    expect(readRunCounts(fixture.replica, { ...ALL, table: 'Other' })).toEqual([]);
    expect(readRunCounts(fixture.replica, { ...ALL, runId: 2, until: '2026-11-25T08:00:30Z' })).toEqual([]);
    const own = [...readRunEntries(fixture.replica, { runId: 3, to: '' }, ALL)];
    expect(own.map(({ rowId, kind }) => `${rowId} ${kind}`)).toEqual(['3 update']);
    expect([...readRunEntries(fixture.replica, { runId: 3, to: '' }, { ...ALL, table: 'Other' })]).toEqual([]);
  });

  test('a run is known by its number, and the edits of a push by their time', async () => {
    await using fixture = await startKept();
    fixture.at(1);
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    await capture(fixture);
    fixture.at(5);
    await pushNow(fixture, { clock: fixture.clock });

    expect(findRun(fixture.replica, 2)).toEqual({ kind: 'push', startedAt: '2026-11-25T08:05:00Z' });
    expect(findRun(fixture.replica, 99)).toBeNull();
    expect(editsOfPushSince(fixture.replica, 2)).toBe('2026-11-25T08:01:00Z');
    expect(editsOfPushSince(fixture.replica, 1)).toBeNull();
    expect(editsOfPushSince(fixture.replica, 99)).toBeNull();
  });
});

test('entries behind a number come in order and in pieces, and the last number outlives pruning', async () => {
  await using fixture = await startKept();
  for (const title of ['one', 'two', 'three']) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }
  const ids = (after: number, most: number) =>
    [...iterateEntriesAfter(fixture.replica, after, most)].map(({ id }) => id);

  const all = [ids(0, 9), ids(2, 1), ids(4, 9), lastSeq(fixture.replica)];
  const rows = [...readTableEntries(fixture.replica, 'Note', { after: 1, upTo: 3 })].map(({ id, rowId }) => [
    id,
    rowId,
  ]);
  fixture.execute('DELETE FROM _rowsync_history');

  expect(all).toEqual([[1, 2, 3, 4], [3], [], 4]);
  expect(rows).toEqual([
    [2, 1],
    [3, 1],
  ]);
  expect(lastSeq(fixture.replica)).toBe(4);
});

test('an entry is JSON with every digit', async () => {
  await using fixture = await startKept();
  fixture.sandbox.store.update('Note', 1, { Count: '12345678901234567890.5' });
  await fixture.pull();

  const [entry] = readNewestEntries(fixture.replica, null, 1);
  const json = entryJson(must(entry, 'a pull wrote it'));

  expect(json).toContain('"Count":"12345678901234567890.5"');
  expect(JSON.parse(json)).not.toHaveProperty('isAnswer');
  expect(JSON.parse(json)).toMatchObject({ table: 'Note', rowId: 1, kind: 'update', note: null });
});

test.each([
  ['insert', 'push', 'by a push'],
  ['update', 'push', 'found by a push'],
  ['update', 'discard', 'an edit discarded by a person here'],
  ['update', 'later', 'later'],
])('the cause of %s %s is %s', (kind, cause, words) => {
  expect(causeWords({ kind, cause })).toBe(words);
});

test('an edit and the answer of the origin to it count as one change; one of a colleague counts beside it', async () => {
  await using fixture = await startTwoWay();
  const options = must(twoWaySettings().tableOptions('Note'), 'it is two-way');
  const settings = { tableOptions: () => ({ ...options, history: HISTORY }) };
  await pull(fixture.context(settings), { tables: [], confirm: false });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title") VALUES ('new');
    UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2; DELETE FROM "Note" WHERE _id = 3`);
  fixture.sandbox.store.update('Note', 2, { Count: 77 });
  await pushNow(fixture);

  const answers = fixture.rows(`SELECT DISTINCT row_id AS id, cause FROM sync_history WHERE cause IN ('pull', 'push')`);
  const counts = readHistoryHours(fixture.replica, '2020-01-01T00:00:00Z').map(({ by, kind, count }) => [
    by,
    kind,
    count,
  ]);
  const life = readRowEntries(fixture.replica, 'Note', 1).map(({ cause, isAnswer }) => [cause, isAnswer]);

  const made = [
    { id: 1, cause: 'push' },
    { id: 2, cause: 'pull' },
    { id: 7, cause: 'push' },
  ];
  expect(answers).toEqual(expect.arrayContaining(made));
  expect(counts).toEqual([
    ['Alice Martin <alice.martin@example.com>', 'update', 1],
    ['edited here', 'delete', 1],
    ['edited here', 'insert', 1],
    ['edited here', 'update', 2],
  ]);
  expect(life).toEqual([
    ['edit', 0],
    ['push', 1],
  ]);
});

test.each([
  ['as the origin stamps it', (email: string) => email, 1],
  ['in other letters', (email: string) => email.toUpperCase(), 1],
  ['a part of the one that the origin stamps', (email: string) => email.slice(1), 0],
  ['empty', () => '', 0],
])(
  "what the origin made of an edit is told from a colleague's change by the whole e-mail: %s",
  async (_, of, isAnswer) => {
    await using fixture = await startTwoWay();
    const options = must(twoWaySettings().tableOptions('Note'), 'it is two-way');
    const settings = { tableOptions: () => ({ ...options, history: HISTORY }) };
    await pull(fixture.context(settings), { tables: [], confirm: false });
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    await pushNow(fixture);
    const [caller] = fixture.rows('SELECT user_email AS email FROM _rowsync_identity') as { email: string }[];
    fixture.execute(`UPDATE _rowsync_identity SET user_email = '${of(must(caller, 'it was pulled').email)}'`);

    const entries = readRowEntries(fixture.replica, 'Note', 1);

    expect(entries.map(({ cause, ...entry }) => [cause, entry.originBy !== null, entry.isAnswer])).toEqual([
      ['edit', false, 0],
      ['push', true, isAnswer],
    ]);
  },
);

test('edits that were discarded before they were sent count as no change', async () => {
  const editing = { sort: null, history: HISTORY };
  await using fixture = await startTwoWay();
  const settings = twoWaySettings();
  const context = fixture.context({
    ...settings,
    tableOptions: (name: string) => ({ ...must(settings.tableOptions(name), 'it is two-way'), ...editing }),
  });
  await pull(context, { tables: [], confirm: false });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'; INSERT INTO "Note" ("Title") VALUES ('new')`);
  await capture(fixture);
  fixture.execute(`UPDATE "Note" SET "Count" = 70 WHERE _id = 2; UPDATE "Note" SET "Title" = 'kept' WHERE _id = 1`);
  await capture(fixture);
  const rows = fixture.rows(`SELECT _id AS id FROM "Note" WHERE _id <> 1`) as { id: number }[];
  for (const { id: rowId } of rows) {
    const outcome = await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId }, AT);
    expect(outcome.kind).toBe('done');
  }

  const changes = readNewestEntries(fixture.replica, null, 50).map(({ rowId, cause }) => `${rowId} ${cause}`);
  const counts = readHistoryHours(fixture.replica, '2020-01-01T00:00:00Z').map(({ by, kind, count }) => [
    by,
    kind,
    count,
  ]);
  const ofRow = readNewestEntries(fixture.replica, { table: 'Note', id: 2 }, 50).map(({ cause }) => cause);

  fixture.execute(`UPDATE "Note" SET "Count" = 71 WHERE _id = 3`);
  await capture(fixture);
  fixture.execute(`UPDATE "Note" SET "Count" = 72 WHERE _id = 3`);
  await capture(fixture);
  fixture.execute(`DELETE FROM "Note" WHERE _id = 3`);
  await capture(fixture);
  await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId: 3 }, AT);
  expect(readNewestEntries(fixture.replica, { table: 'Note', id: 3 }, 4).map(({ cause }) => cause)).toEqual([
    'discard',
    'edit',
    'edit',
    'edit',
  ]);
  expect(readNewestEntries(fixture.replica, null, 50).map(({ rowId, cause }) => `${rowId} ${cause}`)).toEqual(changes);

  expect(changes).toEqual(['1 edit', '1 edit']);
  expect(counts).toEqual([['edited here', 'update', 2]]);
  expect(ofRow).toEqual(['discard', 'edit', 'edit']);
});

test('an edit that reached the origin counts, whatever is discarded in its row afterwards', async () => {
  const editing = { sort: null, history: HISTORY };
  await using fixture = await startTwoWay();
  const settings = twoWaySettings();
  const tableOptions = (name: string): object => ({
    ...must(settings.tableOptions(name), 'it is two-way'),
    ...editing,
  });
  await pull(fixture.context({ ...settings, tableOptions: tableOptions as typeof settings.tableOptions }), {
    tables: [],
    confirm: false,
  });
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'sent' WHERE _id IN (1, 2); UPDATE "Note" SET "Body" = 'sent' WHERE _id = 3`,
  );
  await pushNow(fixture);
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'not sent' WHERE _id = 1; UPDATE "Note" SET "Count" = 70 WHERE _id IN (2, 3)`,
  );
  await capture(fixture);
  for (const rowId of [1, 2, 3]) {
    await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId }, AT);
  }

  fixture.execute(`DELETE FROM _rowsync_history WHERE cause = 'push'`); // as in a table that shows no stamp

  const changes = readNewestEntries(fixture.replica, null, 50).map(
    ({ rowId, cause, after }) => `${rowId} ${cause} ${after}`,
  );

  expect(changes).toEqual(['3 edit {"Body":"sent"}', '2 edit {"Title":"sent"}', '1 edit {"Title":"sent"}']);
});

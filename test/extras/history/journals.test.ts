/** What is done with a journal as a whole: it proves itself, and it never grows beyond its bounds. */
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import { must } from '../../../src/base/assert.ts';
import { carryOutDecision } from '../../../src/capture/person-decision.ts';
import { readNewestEntries, readRowEntries } from '../../../src/extras/history/entries.ts';
import { readHistoryHours } from '../../../src/extras/page/history.ts';
import { pull } from '../../../src/pull/pull.ts';
import { findBrokenLinks, verify } from '../../../src/extras/verify/verify.ts';
import { HISTORY } from '../../support/history.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { AT, capture, NOTE, startTwoWay, twoWaySettings } from '../../support/two-way.ts';

function kept(bounds: Partial<typeof HISTORY> = {}): { readonly settings: object } {
  return { settings: { tableOptions: () => ({ sort: null, history: { ...HISTORY, ...bounds } }) } };
}

async function change(fixture: Fixture, titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }
}

function tableId(fixture: Fixture): number {
  const [row] = fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  return row?.id ?? 0;
}

test('verify finds an entry that does not begin where the one before ended', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, kept());
  await fixture.pull();
  await change(fixture, ['one', 'two', 'three']);
  const whole = findBrokenLinks(fixture.replica, tableId(fixture));
  fixture.execute(`DELETE FROM _rowsync_history WHERE seq = 3`);

  const { tables } = await verify(fixture.context(), { tables: [] });

  expect(whole).toEqual({ count: 0, links: [] });
  expect(tables.map(({ error }) => error?.code)).toEqual(['verify.history']);
  expect(findBrokenLinks(fixture.replica, tableId(fixture)).links).toEqual([{ rowId: 1, id: 4 }]);
});

test('the oldest entries go when they take too much, and one entry says until when', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, kept({ bytesMax: 700 }));
  await fixture.pull();

  await change(fixture, ['one', 'two', 'three', 'four', 'five', 'six']);

  const kinds = fixture.rows('SELECT kind FROM sync_history ORDER BY id') as { kind: string }[];
  const [journal] = fixture.rows('SELECT bytes FROM _rowsync_history_tables') as { bytes: number }[];
  expect(kinds.map(({ kind }) => kind)).toContain('pruned');
  expect(kinds.map(({ kind }) => kind)).not.toContain('begin');
  expect(fixture.rows(`SELECT after ->> 'Title' AS title FROM sync_history ORDER BY id DESC LIMIT 2`)).toContainEqual({
    title: 'six',
  });
  expect(journal?.bytes).toBeLessThanOrEqual(700);
});

test('entries go when they are older than they are to be kept', async () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const clock: Clock = { ...systemClock, nowMs: () => nowMs };
  await using fixture = await startFixture({ tables: [NOTE], clock }, { ...kept({ keepDays: 10 }), clock });
  await fixture.pull();
  await change(fixture, ['one']);
  nowMs += 11 * 86_400_000;

  await change(fixture, ['two']);

  expect(fixture.rows('SELECT kind, note FROM sync_history ORDER BY id')).toEqual([
    { kind: 'update', note: null },
    { kind: 'update', note: null },
    { kind: 'pruned', note: '{"until":"2026-01-01T00:00:00Z","entries":1}' },
  ]);
});

/** Rows of history beside the clock of this machine, which the origin does not follow. */
async function startDrifting(): Promise<{ readonly fixture: Fixture; readonly drift: (ms: number) => void }> {
  let driftMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + driftMs };
  const fixture = await startFixture({ tables: [NOTE] }, { ...kept({ keepDays: 10 }), clock });
  await fixture.pull();
  await change(fixture, ['one', 'two', 'three']);
  return { fixture, drift: (ms) => (driftMs = ms) };
}

test('a pull without any answer says nothing of the clock', async () => {
  const { fixture, drift } = await startDrifting();
  await using _ = fixture;
  drift(500 * 86_400_000);
  await fixture.sandbox.stop();

  const { error } = await fixture.pull();

  expect(error?.code).toBe('origin.unreachable');
  expect(fixture.rows('SELECT pruning_held FROM _rowsync_history_tables')).toEqual([{ pruning_held: null }]);
});

test('a clock that the origin does not confirm removes nothing, and the account says so', async () => {
  const { fixture, drift } = await startDrifting();
  await using _ = fixture;
  const count = () => fixture.rows('SELECT count(*) AS n FROM sync_history');
  const held = () => fixture.rows('SELECT pruning_held FROM _rowsync_history_tables');
  const before = count();

  drift(500 * 86_400_000);
  const { removedEntryCount } = await fixture.pull();
  const ahead = held();
  drift(0);
  await fixture.pull();

  expect(removedEntryCount).toBe(0);
  expect(count()).toEqual(before);
  expect(ahead).toEqual([{ pruning_held: 'the clock of this machine is 500 days ahead of that of the origin' }]);
  expect(held()).toEqual([{ pruning_held: null }]);
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

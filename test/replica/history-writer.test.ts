/** The journal of rows: an entry for each change, whoever made it, from which every earlier state can be told. */
import { expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { prune } from '../../src/extras/schema/prune.ts';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { HISTORY, momentOf, problemsSince, type Moment } from '../support/history.ts';
import { pushNow } from '../support/push.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { AT, capture, NOTE, twoWaySettings } from '../support/two-way.ts';

/** A clock that stands still until it is set. */
function standing(start: string): Clock & { set(stamp: string): void } {
  let nowMs = Date.parse(start);
  return { ...systemClock, nowMs: () => nowMs, set: (stamp) => void (nowMs = Date.parse(stamp)) };
}

const MIRROR = { tableOptions: () => ({ sort: null, history: HISTORY }) };
const TWO_WAY = {
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
};

interface EntryRow {
  readonly row_id: number | null;
  readonly kind: string;
  readonly cause: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly [name: string]: unknown;
}

/** The entries of rows behind the first `after`, in short. */
function entries(fixture: Fixture, after = 0): readonly string[] {
  const rows = fixture.rows('SELECT * FROM sync_history WHERE id > ? ORDER BY id', after) as EntryRow[];
  return rows.map(({ row_id: rowId, kind, cause, before, after: now }) => {
    const cells = kind === 'update' ? ` ${short(before)} -> ${short(now)}` : '';
    return `${cause} ${kind}${rowId === null ? '' : ` ${rowId}`}${cells}`;
  });
}

function short(text: string | null): string {
  const {
    'Date Modified': _stamp,
    'Last Modified By': _by,
    ...cells
  } = JSON.parse(text ?? '{}') as Record<string, unknown>;
  return JSON.stringify(cells);
}

function newest(fixture: Fixture): number {
  const [row] = fixture.rows('SELECT coalesce(max(seq), 0) AS seq FROM _rowsync_history') as { seq: number }[];
  return row?.seq ?? 0;
}

test('begins with the end of the first whole read, and has one entry for each row that changed since', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: MIRROR });
  await fixture.pull();
  const begun = momentOf(fixture.path);
  fixture.sandbox.store.update('Note', 1, { Title: 'changed', Count: 5 });
  fixture.sandbox.store.delete('Note', 2);
  const added = fixture.sandbox.store.insert('Note', { Title: 'added' });

  await fixture.pull();

  expect(entries(fixture)[0]).toBe('pull begin');
  expect(new Set(entries(fixture).slice(1))).toEqual(
    new Set([
      'pull update 1 {"Title":"title 1","Count":1} -> {"Title":"changed","Count":5}',
      `pull insert ${added}`,
      'pull delete 2',
    ]),
  );
  expect(problemsSince(fixture.path, begun)).toEqual([]);
});

test('is not kept of a table without history, and ends where it is switched off', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  expect(entries(fixture)).toEqual([]);

  await fixture.pull({ settings: MIRROR });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 1, { Title: 'unseen' });
  await fixture.pull();

  expect(entries(fixture)).toEqual(['pull begin', 'pull end']);
});

test('has edits when they are captured, what a push made of them, and what a person decided', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: TWO_WAY });
  await fixture.pull();
  const begun = newest(fixture);
  const moments: Moment[] = [momentOf(fixture.path)];
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await capture(fixture);
  moments.push(momentOf(fixture.path));

  const edits = entries(fixture, begun);
  const captured = newest(fixture);
  await pushNow(fixture);
  moments.push(momentOf(fixture.path));

  expect(edits).toEqual(['edit insert -2', 'edit update 1 {"Title":"title 1"} -> {"Title":"mine"}', 'edit delete 2']);
  expect(entries(fixture, captured).toSorted()).toEqual(['push delete -2', 'push insert 7', 'push update 1 {} -> {}']);
  expect(fixture.rows(`SELECT was_row_id FROM sync_history WHERE row_id = 7`)).toEqual([{ was_row_id: -2 }]);

  fixture.execute(`UPDATE "Note" SET "Title" = 'again' WHERE _id = 1`);
  await capture(fixture);
  const pushed = newest(fixture);
  await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId: 1 }, AT);
  expect(entries(fixture, pushed)).toEqual(['discard update 1 {"Title":"again"} -> {"Title":"mine"}']);
  for (const moment of moments) expect(problemsSince(fixture.path, moment)).toEqual([]);
});

test('tells what was edited from what an answer made of it, where both are found at once', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: TWO_WAY });
  await fixture.pull();
  const begun = newest(fixture);
  const moment = momentOf(fixture.path);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  fixture.sandbox.before(1, () => fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`), {
    method: 'select',
  });

  await fixture.pull();

  expect(entries(fixture, begun)).toEqual([
    'edit update 1 {"Title":"title 1"} -> {"Title":"mine"}',
    'pull update 1 {"Title":"mine"} -> {"Title":"theirs"}',
  ]);
  expect(problemsSince(fixture.path, moment)).toEqual([]);
});

test('a change that the origin did not stamp has no author, also where the row shows who changed it before', async () => {
  const computed = { how: 'lookup', reference: 'Group', table: 'Group', column: 'Budget' } as const;
  const looking: TableSpec = {
    name: 'Item',
    columns: [
      { name: 'Group', type: 'Text' },
      { name: 'Remark', type: 'Text' },
      { name: 'Budget', type: 'Numeric', computed },
    ],
    rows: [{ Group: 'a' }],
  };
  const group: TableSpec = {
    name: 'Group',
    key: 'Name',
    columns: [
      { name: 'Name', type: 'Text', options: ['Unique', 'Required'] },
      { name: 'Budget', type: 'Numeric' },
    ],
    rows: [{ Name: 'a', Budget: '1' }],
  };
  const clock = standing('2026-11-21T08:00:00Z');
  await using fixture = await startFixture({ tables: [group, looking], clock }, { settings: MIRROR, clock });
  const { store } = fixture.sandbox;
  await fixture.pull();
  clock.set('2026-11-21T09:00:00Z');
  store.update('Item', 1, { Remark: 'by a person' });
  await fixture.pull();
  store.update('Item', 1, { Remark: 'by a person, in the same second' });
  await fixture.pull();
  clock.set('2026-11-21T10:00:00Z');
  store.update('Group', 1, { Budget: '2' });
  await fixture.pull();

  const found = fixture.rows(
    `SELECT after ->> 'Budget' AS budget, origin_by IS NOT NULL AS is_authored, stamped FROM sync_history WHERE "table" = 'Item' AND row_id = 1 ORDER BY id`,
  );

  expect(found).toEqual([
    { budget: null, is_authored: 1, stamped: 1 },
    { budget: null, is_authored: 1, stamped: 1 },
    { budget: 2, is_authored: 0, stamped: 0 },
  ]);
});

test('says between which times a change happened, and narrows them by the stamp of the origin', async () => {
  const clock = standing('2026-11-21T08:00:00Z');
  await using fixture = await startFixture({ tables: [NOTE], clock }, { settings: MIRROR, clock });
  await fixture.pull();
  clock.set('2026-11-21T09:00:00Z');
  await fixture.pull();
  clock.set('2026-11-21T09:20:00Z');
  fixture.sandbox.store.update('Note', 1, { Title: 'changed' });
  clock.set('2026-11-21T10:00:00Z');
  fixture.sandbox.store.delete('Note', 2);
  await fixture.pull();

  const times =
    'SELECT row_id, at, not_before, not_after, origin_at, stamped FROM sync_history WHERE row_id IS NOT NULL';
  expect(fixture.rows(`${times} ORDER BY row_id`)).toEqual([
    {
      row_id: 1,
      at: '2026-11-21T10:00:00Z',
      not_before: '2026-11-21T09:00:00Z',
      not_after: '2026-11-21T09:20:00Z',
      origin_at: '2026-11-21T09:20:00Z',
      stamped: 1,
    },
    {
      row_id: 2,
      at: '2026-11-21T10:00:00Z',
      not_before: '2026-11-21T09:00:00Z',
      not_after: '2026-11-21T10:00:00Z',
      origin_at: null,
      stamped: null,
    },
  ]);
});

test('keeps what a value was before under the name that its column has now', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: MIRROR });
  await fixture.pull();
  const moment = momentOf(fixture.path);
  fixture.sandbox.store.update('Note', 1, { Title: 'changed' });
  await fixture.pull();
  fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');
  await fixture.pull();
  const renamed = fixture.rows(`SELECT "column", before FROM sync_history_cells WHERE "column" = 'Heading'`);
  fixture.sandbox.store.addColumn('Note', { name: 'Later', type: 'Text', defaultValue: 'x' });
  fixture.sandbox.store.update('Note', 3, { Later: 'y' });
  await fixture.pull();

  expect(renamed).toEqual([{ column: 'Heading', before: 'title 1' }]);
  expect(problemsSince(fixture.path, moment)).toEqual([]);
});

test('has values of a hidden column as sync_deleted does, also once it was pruned', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: MIRROR });
  const { store } = fixture.sandbox;
  await fixture.pull();
  store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
  store.changeUser({ role: 'Half' });
  await fixture.pull();
  store.delete('Note', 1);
  await fixture.pull();
  const evidence = `SELECT last_values ->> 'Body (pruned)' AS body FROM sync_deleted`;
  const told = `SELECT kind, "column", before, after FROM sync_history_cells WHERE "column" GLOB 'Body*' ORDER BY id`;

  const hidden = fixture.rows(told);
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
  const pruned = fixture.rows(told);

  expect(hidden).toEqual([
    { kind: 'update', column: 'Body', before: null, after: 'theirs' },
    { kind: 'delete', column: 'Body', before: 'theirs', after: null },
  ]);
  expect(pruned).toEqual((hidden as object[]).map((cell) => ({ ...cell, column: 'Body (pruned)' })));
  expect(fixture.rows(evidence)).toEqual([{ body: 'theirs' }]);
});

test.each([
  ['a mirror', MIRROR],
  ['a two-way table', TWO_WAY],
])('continues, or begins anew, where another client dropped %s', async (_what, settings) => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  fixture.execute('DROP TABLE "Note"');

  const report = await fixture.pull();
  const moment = momentOf(fixture.path);
  fixture.sandbox.store.update('Note', 1, { Title: 'changed' });
  await fixture.pull();

  expect([report.error?.message, report.tables[0]?.error?.message]).toEqual([undefined, undefined]);
  expect(problemsSince(fixture.path, moment)).toEqual([]);
  expect(entries(fixture).at(-1)).toBe('pull update 1 {"Title":"title 1"} -> {"Title":"changed"}');
});

test('begins anew behind the sweep that brings back a column which another client dropped', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: MIRROR });
  await fixture.pull();
  const before = entries(fixture);
  fixture.execute('ALTER TABLE "Note" DROP COLUMN "Title"');

  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'title 1' }]);
  expect(
    entries(fixture)
      .slice(before.length)
      .map((text) => text.split(' ')[1]),
  ).toEqual(['end', 'begin']);
});

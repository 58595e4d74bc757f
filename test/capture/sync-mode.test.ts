/**
 * Switching push on and off loses nothing, and neither does a change of shape or a replica of the version before.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { prune } from '../../src/extras/schema/prune.ts';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, codesOf, countsOf, finishAndPull, pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { AT, capture, captured, NOTE, startTwoWay, twoWaySettings } from '../support/two-way.ts';

const EDIT = `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`;
const MIRROR = { tableOptions: () => ({ sort: null }) };

test('a mirror becomes two-way with the next pull', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  expect(() => fixture.execute(EDIT)).toThrow('read-only mirror');

  await fixture.pull({ settings: twoWaySettings() });
  fixture.execute(EDIT);

  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('a first pull of a two-way table asks as often as one of a mirror', async () => {
  await using mirror = await startFixture({ tables: [NOTE] });
  await using twoWay = await startTwoWay();

  const { requestCount } = await mirror.pull();

  expect(twoWay.sandbox.requests.count({})).toBe(requestCount);
});

test('a mirror that was edited around its guards becomes two-way once the origin has spoken', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`DROP TRIGGER _rowsync_guard_update_${tableId(fixture)}; ${EDIT}`);

  await fixture.pull({ settings: twoWaySettings() });

  expect(await captured(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('edits around a dropped trigger are found although the table is renamed at the origin before the next pull', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`DROP TRIGGER _rowsync_capture_update_${tableId(fixture)}`);
  await capture(fixture); // the schema is known from now on, without the trigger
  fixture.execute(EDIT);
  fixture.sandbox.store.renameTable('Note', 'Remark');

  await fixture.pull();

  expect(await captured(fixture, 'Remark')).toEqual(['update 1 Title']);
});

test('a mirror that was edited around its guards is put right although it is renamed at the origin', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`DROP TRIGGER _rowsync_guard_update_${tableId(fixture)}; ${EDIT}`);
  fixture.sandbox.store.renameTable('Note', 'Remark');

  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Remark" WHERE _id = 1')).toEqual([{ Title: 'title 1' }]);
});

test('what is edited around the guards while a table is first read is not taken for what the origin sent', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: twoWaySettings() });
  const { origin } = fixture;
  let describedCount = 0;
  const describeTable: typeof origin.describeTable = (table, options) => {
    describedCount += 1;
    // The second description comes behind all pages.
    if (describedCount === 2) fixture.execute(`DROP TRIGGER _rowsync_guard_update_${tableId(fixture)}; ${EDIT}`);
    return origin.describeTable(table, options);
  };
  fixture.origin = { ...origin, describeTable };
  await fixture.pull();
  const cutOff = fixture.rows('SELECT mode FROM sync_status');
  expect(() => fixture.execute(EDIT)).toThrow('cannot be edited yet');
  fixture.origin = origin;

  await fixture.pull();

  expect(cutOff).toEqual([{ mode: 'waiting' }]);
  expect(await captured(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test.each([
  ['without history', null],
  ['with history', { keepDays: 400, bytesMax: 1_000_000 }],
])('values that were only spelled otherwise around the guards of a mirror are put right, %s', async (_, history) => {
  const settings = { tableOptions: () => ({ sort: null, history }) };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  const stored = `SELECT "Count", typeof("Count") AS type, "Done" FROM "Note" WHERE _id = 1`;
  const before = fixture.rows(stored);
  fixture.execute(`DROP TRIGGER _rowsync_guard_update_${tableId(fixture)};
      UPDATE "Note" SET "Count" = '1.0', "Done" = 7 WHERE _id = 1`);
  expect(fixture.rows(stored)).not.toEqual(before);

  await fixture.pull();

  expect(fixture.rows(stored)).toEqual(before);
  await fixture.pull({ settings: twoWaySettings() });
  expect(fixture.rows(stored.replace('"Note"', `_rowsync_base_${tableId(fixture)}`))).toEqual(before);
});

test('a mirror that was edited around its guards is put right although the schema is pruned before', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.sandbox.store.dropColumn('Note', 'Photo');
  await fixture.pull();
  fixture.execute(`DROP TRIGGER _rowsync_guard_update_${tableId(fixture)}; ${EDIT}`);

  const dropped = await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
  await fixture.pull();

  expect(dropped).toEqual(['Note.Photo']);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'title 1' }]);
});

test('a mirror does not say what kept a push of it from its end, and no consent to that is left', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'`);
  expect(codesOf(await pushNow(fixture, { settings: { maxPushRows: 1 } }))).toEqual(['guard.pushRows']);
  expect(confirmHeld(fixture.path, ['push'], [])).toHaveLength(1);

  await fixture.pull({ settings: MIRROR, discard: true });

  expect(fixture.rows('SELECT mode, state, problem, hint FROM sync_status')).toEqual([
    { mode: 'mirror', state: 'steady', problem: null, hint: null },
  ]);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'by a slip'`);
  expect(codesOf(await pushNow(fixture, { settings: { maxPushRows: 1 } }))).toEqual(['guard.pushRows']);
});

describe('pruning', () => {
  test.each([
    ['mirror', MIRROR, 'CREATE TABLE "Note" ("mine" TEXT)'],
    ['mirror', MIRROR, 'CREATE VIEW "Note" AS SELECT 1 AS "mine"'],
    ['two-way table', twoWaySettings(), 'CREATE TABLE "Note" ("mine" TEXT)'],
  ])('leaves what another client put in the place of a %s that is gone', async (_what, settings, statement) => {
    await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    await fixture.pull({ settings });
    fixture.sandbox.store.dropTable('Note');
    await fixture.pull({ settings });
    fixture.execute(`DROP TABLE "Note"; ${statement}`);

    const dropped = await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
    await fixture.pull({ settings });

    expect(dropped).toEqual(['Note']);
    expect(fixture.rows('SELECT "mine" FROM "Note"')).toHaveLength(statement.includes('VIEW') ? 1 : 0);
    expect(fixture.rows('SELECT "table" FROM sync_status')).toEqual([{ table: 'Other' }]);
  });

  test('says which index, view or trigger of another client keeps a column from being dropped', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    await fixture.pull();
    fixture.sandbox.store.dropColumn('Note', 'Body');
    await fixture.pull();
    fixture.execute('CREATE INDEX "by body" ON "Note" ("Body")');

    const pruning = fixture.replica.write('Pruning', (tx) => prune(tx, AT));

    await expect(pruning).rejects.toMatchObject({
      code: 'replica.failed',
      message: expect.stringContaining('error in index by body') as unknown,
      hint: expect.stringContaining('Drop or change it, run the command again') as unknown,
    });
  });
});

function tableId(fixture: { rows(query: string): unknown[] }): number {
  return (fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[])[0]?.id ?? 0;
}

test('a table cannot be edited before it was read once', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: { ...twoWaySettings(), pageRows: 3 } });
  fixture.sandbox.answerInstead(1, { status: 404, body: '{}' }, { method: 'select' });

  await fixture.pull();

  expect(() => fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('x')`)).toThrow(
    'Note cannot be edited yet: it is still being read from the origin; try again after the next sync',
  );
  expect(fixture.rows('SELECT mode FROM sync_status')).toEqual([{ mode: 'waiting' }]);
});

test('a two-way table without edits becomes a mirror', async () => {
  await using fixture = await startTwoWay();

  await fixture.pull({ settings: MIRROR });

  expect(() => fixture.execute(EDIT)).toThrow('read-only mirror');
  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name LIKE '_rowsync_base_%'`)).toEqual([]);
  expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
});

test('edits that are not at the origin keep a table two-way', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(EDIT);

  const { tables } = await fixture.pull({ settings: MIRROR });

  expect(tables[0]?.held).toMatchObject({ code: 'guard.pending', exitCode: 3 });
  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('edits of a column that was locked meanwhile keep a table two-way, too', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(EDIT);
  fixture.sandbox.store.changeColumn('Note', 'Title', { readOnly: true });

  const { tables } = await fixture.pull({ settings: MIRROR });
  const conflicts = fixture.rows('SELECT id FROM sync_conflicts');
  fixture.sandbox.store.changeColumn('Note', 'Title', { readOnly: false });
  await fixture.pull();
  await pushNow(fixture);

  expect(tables[0]?.held).toMatchObject({ code: 'guard.pending', exitCode: 3 });
  expect(conflicts).toEqual([]);
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([1, 'mine']);
});

test('discarded edits are kept in sync_conflicts', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `${EDIT}; DELETE FROM "Note" WHERE _id = 2; INSERT INTO "Note" ("Title", "Count") VALUES ('new', '0.10000000000000000001')`,
  );

  const { tables } = await fixture.pull({ settings: MIRROR, discard: true });

  expect(tables[0]).toMatchObject({ held: null, error: null });
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(
    fixture.rows(`SELECT row_id, kind, "column", base, local, state FROM sync_conflicts WHERE kind = 'cell'`),
  ).toEqual([{ row_id: 1, kind: 'cell', column: 'Title', base: 'title 1', local: 'mine', state: 'discarded' }]);
  expect(
    fixture.rows(`SELECT row_id, kind, coalesce(local, base) ->> 'Title' AS title, local ->> 'Count' AS count
                  FROM sync_conflicts WHERE kind <> 'cell' ORDER BY row_id`),
  ).toEqual([
    { row_id: -2, kind: 'inserted', title: 'new', count: '0.10000000000000000001' },
    { row_id: 2, kind: 'deletedHere', title: 'title 2', count: null },
  ]);
});

describe('a push whose answer got lost', () => {
  /** A row that was created at the origin, which nothing tells the replica yet. */
  async function startLost(): Promise<Fixture> {
    const fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
    const cutShort = new RowsyncError('replica', 'replica.failed', { message: 'cut short', hint: '' });
    await pushNow(fixture, {
      before: (step) => {
        if (step === 'store') throw cutShort;
      },
    });
    expect(fixture.rows('SELECT state FROM _rowsync_rows')).toEqual([{ state: 'sending' }]);
    return fixture;
  }

  /** What becomes of an edit that is pushed afterwards, and of the row. */
  async function pushedAfter(fixture: Fixture): Promise<unknown> {
    fixture.execute(EDIT);
    const codes = codesOf(await pushNow(fixture));
    const titles = atOrigin(fixture, ['Title']).map((row) => String(row));
    const kept = fixture.rows(`SELECT kind, local ->> 'Title' AS title FROM sync_conflicts`);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    return { codes, titles: [titles[0], ...titles.slice(6)], kept };
  }

  const GIVEN_UP = { codes: [], titles: ['1,mine', '7,new'], kept: [{ kind: 'inserted', title: 'new' }] };

  test('is given up with the edits of a table that becomes a mirror, and holds up no later push', async () => {
    await using fixture = await startLost();

    await finishAndPull(fixture, { settings: MIRROR, discard: true });

    await fixture.pull();
    expect(await pushedAfter(fixture)).toEqual(GIVEN_UP);
  });

  test('leaves what was sent of a row that was deleted since, where the table becomes a mirror', async () => {
    await using fixture = await startLost();
    fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);

    await finishAndPull(fixture, { settings: MIRROR, discard: true });
    await fixture.pull();

    expect(await pushedAfter(fixture)).toEqual(GIVEN_UP);
  });
});

test('a table whose base another program dropped waits with its edits, also as a mirror, until a person drops it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`${EDIT}; DROP VIEW sync_changes; DROP TABLE _rowsync_base_${tableId(fixture)}`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  const waiting = [
    await fixture.pull(),
    await fixture.pull({ settings: MIRROR }),
    await fixture.pull({ discard: true }),
  ];

  for (const { tables } of waiting) expect(tables[0]?.error).toMatchObject({ code: 'replica.schema' });
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'mine' }]);
  fixture.execute('DROP TABLE "Note"');
  await fixture.pull();
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(fixture.rows('SELECT mode FROM sync_status')).toEqual([{ mode: 'two-way' }]);
  fixture.execute(EDIT);
  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('an open question is closed when its table becomes a mirror', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(EDIT);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();

  await fixture.pull({ settings: MIRROR, discard: true });

  expect(fixture.rows('SELECT conflicts FROM sync_status')).toEqual([{ conflicts: 0 }]);
  expect(fixture.rows('SELECT local, state FROM sync_conflicts')).toEqual([
    { local: 'mine', state: 'settled' },
    { local: 'mine', state: 'discarded' },
  ]);
});

test.each([
  ['a renamed table', 'renameTable', ['Note', 'Memo'], 'Memo', ['update 1 Title']],
  ['a renamed column', 'renameColumn', ['Note', 'Title', 'Heading'], 'Note', ['update 1 Heading']],
  [
    'a new column',
    'addColumn',
    ['Note', { name: 'Extra', type: 'Text', defaultValue: 'e' }],
    'Note',
    ['update 1 Title'],
  ],
  ['a column that became read-only', 'changeColumn', ['Note', 'Code', { kind: 'Lookup' }], 'Note', ['update 1 Title']],
] as const)('an edit outlives %s', async (_what, method, arguments_, name, expected) => {
  await using fixture = await startTwoWay();
  fixture.execute(EDIT);
  const store: Readonly<Record<string, unknown>> = { ...boundMethods(fixture.sandbox.store) };
  const change = store[method] as (...given: readonly unknown[]) => void;
  change(...arguments_);

  const { tables } = await fixture.pull();

  expect(tables[0]).toMatchObject({ table: name, held: null, error: null });
  expect(await captured(fixture, name)).toEqual(expected);
  fixture.execute(`DELETE FROM "${name}" WHERE _id = 2`);
  expect(await captured(fixture, name)).toEqual([...expected, 'delete 2']);
});

function boundMethods(store: object): Readonly<Record<string, unknown>> {
  const names = ['renameTable', 'renameColumn', 'addColumn', 'dropColumn', 'changeColumn'];
  return Object.fromEntries(
    names.map((name) => [name, (...given: unknown[]) => Reflect.apply(Reflect.get(store, name), store, given)]),
  );
}

describe('rows that wait because of their match column go once the configuration names another one, or none', () => {
  test.each([[null], ['Code']])('where nothing fits into it: %s', async (match) => {
    const columns = [...NOTE.columns, { name: 'Short', type: 'Text', width: 4, options: ['Unique'] }];
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, columns }], editing: { match: 'Short' } });
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    expect(countsOf(await pushNow(fixture))).toEqual({ refused: 1, parked: 1 });

    await fixture.pull({ settings: twoWaySettings({ match }) });

    expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
    expect(atOrigin(fixture, ['Title']).at(-1)).toEqual([7, 'new']);
  });

  test('where two had one value, which the first one has by now', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1'), ('newer', 'n1')`);
    await pushNow(fixture);
    await fixture.pull({ settings: twoWaySettings({ match: null }) });
    fixture.execute(`DELETE FROM "Note" WHERE "Title" = 'new'`);

    await pushNow(fixture);

    expect(atOrigin(fixture, ['Title']).at(-1)).toEqual([8, 'newer']);
    expect(await captured(fixture)).toEqual([]);
  });
});

test('a match column must exist, be unique and be writable', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  const messageOf = async (match: string): Promise<unknown> => {
    const { tables } = await fixture.pull({ settings: twoWaySettings({ match }) });
    return tables[0]?.error?.message;
  };

  expect(await messageOf('Nope')).toBe('tables.Note.match: the column "Nope" does not exist');
  expect(await messageOf('Title')).toBe('tables.Note.match: the column "Title" is not unique');
  expect(await messageOf('code')).toBe(undefined);
});

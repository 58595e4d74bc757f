/**
 * Storing what the origin has of many rows: an edit here is never written over, a row that goes leaves evidence, and
 * what was not edited costs nothing more.
 */
import { describe, expect, test } from 'vitest';
import {
  confirmedRows,
  storeAnswer,
  storeMissingRows,
  storeOutside,
  storeRemoteRows,
  storeTaken,
  type RemoteTable,
} from '../../../src/capture/writer/store-origin-rows.ts';
import { readSuspects } from '../../../src/replica/bookkeeping/suspects.ts';
import { baseTarget, readVersions } from '../../../src/replica/base-comparison.ts';
import type { Tx } from '../../../src/replica/connection.ts';
import type { Value } from '../../../src/wire/schema.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { pushNow } from '../../support/push.ts';
import type { Fixture } from '../../support/replica.ts';
import { AT, captured, rowOf, startTwoWay, twoWayTable } from '../../support/two-way.ts';

const PLAIN: TableSpec = {
  name: 'Plain',
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Done', type: 'Checkbox' },
  ],
  rows: [1, 2, 3].map((number) => ({ Title: `title ${number}`, Done: false })),
};

/** A fixture in which someone put a row under the next id of the origin's, while no trigger stood. */
async function startForeign(): Promise<Fixture> {
  const fixture = await startTwoWay();
  const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`) as { name: string }[];
  fixture.execute(triggers.map(({ name }) => `DROP TRIGGER "${name}"`).join(';'));
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (7, 'mine')`);
  return fixture;
}

function titles(fixture: Fixture): unknown {
  return fixture.rows('SELECT _id, "Title" FROM "Note" WHERE _id < 0 OR _id > 6 ORDER BY _id');
}

test('a row under an id that the origin has given to another one goes on as a new row', async () => {
  await using fixture = await startForeign();

  await fixture.replica.write('Storing a row', (tx) => {
    const table = twoWayTable(fixture);
    const target = { target: table, twoWay: { table, policy: 'origin' } } as const;
    storeRemoteRows(tx, target, [rowOf(table, 7, { Title: 'theirs' })], { at: AT, offPage: [] });
  });

  expect(titles(fixture)).toEqual([
    { _id: -2, Title: 'mine' },
    { _id: 7, Title: 'theirs' },
  ]);
  expect(await captured(fixture)).toEqual(['insert -2 Title']);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
});

test.each([
  ['was edited here', `UPDATE "Plain" SET "Title" = 'mine' WHERE _id = 1`],
  ['was deleted here', `DELETE FROM "Plain" WHERE _id = 1`],
  ['was left alone', 'SELECT 1'],
])('a row that could not be read, %s, and goes at the origin is no failure any more', async (_what, statement) => {
  await using fixture = await startTwoWay({ tables: [PLAIN], editing: { conflict: 'local' } });
  const rows = fixture.sandbox.store.rows('Plain').map(({ id, values }) => ({ '@row.id': id, ...values }));
  const body = JSON.stringify(rows.map((row, index) => (index === 0 ? { ...row, Done: 'maybe' } : row)));
  const headers = { 'Content-Type': 'application/json', ETag: '"x"' };
  fixture.sandbox.store.update('Plain', 2, { Done: true });
  fixture.sandbox.answerInstead(1, { status: 200, headers, body }, { method: 'select' });
  await fixture.pull();
  const failures = fixture.rows('SELECT row_id FROM sync_failures');
  fixture.execute(statement);
  fixture.sandbox.store.delete('Plain', 1);

  await fixture.pull({ confirm: true });

  expect(failures).toEqual([{ row_id: 1 }]);
  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([]);
});

describe('a row that was deleted here, and of which a colleague changed what may not be written here', () => {
  const setRight = ({ sandbox: { store } }: Fixture, canWrite: boolean): void => {
    const [{ role } = { role: '' }] = store.catalog.users;
    store.setRole({ name: role, canWrite, hiddenTables: [], hiddenColumns: [] });
  };

  test.each([
    ['origin', 'decided', [{ Title: 'theirs' }]],
    ['ask', 'open', []],
  ] as const)('is a conflict under conflict: %s', async (conflict, state, rows) => {
    await using fixture = await startTwoWay({ editing: { conflict } });
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    setRight(fixture, false);
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
    await fixture.pull();
    setRight(fixture, true);
    await fixture.pull();

    await pushNow(fixture, { options: { conflict } });

    expect(fixture.rows('SELECT row_id, kind, state FROM sync_conflicts')).toEqual([
      { row_id: 1, kind: 'deletedHere', state },
    ]);
    expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual(rows);
    expect(fixture.sandbox.store.ids('Note')).toContain(1);
  });
});

/** The table Note of a fixture, as a mirror or with its edits. */
function remote(fixture: Fixture, policy: 'origin' | 'ask' = 'origin'): RemoteTable {
  const table = twoWayTable(fixture);
  return { target: table, twoWay: { table, policy } };
}

/** A row as the origin has it, with some other values. */
function theirs(fixture: Fixture, id: number, values: Readonly<Record<string, Value>> = {}) {
  const table = twoWayTable(fixture);
  const [known] = readVersions(fixture.replica, table, [id]);
  const before = known?.base?.values ?? [];
  const now = table.columns.map(({ localName }, index) => values[localName] ?? before[index] ?? null);
  return { id, allow: known?.base?.allow ?? null, values: now };
}

function transact<T>(fixture: Fixture, change: (tx: Tx) => T): Promise<T> {
  return fixture.replica.write('Storing', change);
}

const bases = (fixture: Fixture): unknown[] => {
  const { localName } = baseTarget(twoWayTable(fixture));
  return fixture.rows(`SELECT _id, "Title" FROM "${localName}" WHERE _id < 4 OR _id > 6 ORDER BY _id`);
};
const notes = (fixture: Fixture): unknown[] =>
  fixture.rows('SELECT _id, "Title" FROM "Note" WHERE _id < 4 OR _id > 6 ORDER BY _id');

describe('rows of the origin', () => {
  test('that are new or changed come into the table and its base, and are counted', async () => {
    await using fixture = await startTwoWay();
    const rows = [theirs(fixture, 1), theirs(fixture, 2, { Title: 'theirs' }), theirs(fixture, 9, { Title: 'new' })];

    const counts = await transact(fixture, (tx) => storeRemoteRows(tx, remote(fixture), rows, { at: AT, offPage: [] }));

    expect(counts).toEqual({ insertedCount: 1, updatedCount: 1 });
    const now = [
      { _id: 1, Title: 'title 1' },
      { _id: 2, Title: 'theirs' },
      { _id: 3, Title: 'title 3' },
      { _id: 9, Title: 'new' },
    ];
    expect([notes(fixture), bases(fixture)]).toEqual([now, now]);
    expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 7 }]);
  });

  test('leave an edit beside what a colleague changed, also one without a mark', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1; DELETE FROM _rowsync_rows`);

    await transact(fixture, (tx) =>
      storeRemoteRows(tx, remote(fixture), [theirs(fixture, 1, { Title: 'theirs' })], { at: AT, offPage: [] }),
    );

    expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([
      { Title: 'theirs', Body: 'mine' },
    ]);
    expect(await captured(fixture)).toEqual(['update 1 Body']);
  });

  test('that were read off their page are suspects: no page vouches for them', async () => {
    await using fixture = await startTwoWay();
    const order = { at: AT, offPage: [2, 3] };

    await transact(fixture, (tx) => storeRemoteRows(tx, remote(fixture), [theirs(fixture, 2)], order));

    expect(readSuspects(fixture.replica, twoWayTable(fixture).id, 0, 10)).toEqual([2, 3]);
  });
});

describe('rows that are gone at the origin', () => {
  test('go here too, with evidence; an edited one is a conflict, and one that the origin never had stays', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2; INSERT INTO "Note" ("Title") VALUES ('new')`);
    await captured(fixture);
    const why = { at: AT, reason: 'origin' };

    const count = await transact(fixture, (tx) => storeMissingRows(tx, remote(fixture, 'ask'), [1, 2, -2, 99], why));

    expect(count).toBe(2);
    expect(notes(fixture)).toEqual([
      { _id: -2, Title: 'new' },
      { _id: 3, Title: 'title 3' },
    ]);
    expect(bases(fixture)).toEqual([{ _id: 3, Title: 'title 3' }]);
    expect(fixture.rows(`SELECT row_id, last_values ->> 'Title' AS title FROM sync_deleted ORDER BY row_id`)).toEqual([
      { row_id: 1, title: 'title 1' },
      { row_id: 2, title: 'mine' },
    ]);
    expect(fixture.rows(`SELECT row_id, kind, local ->> 'Title' AS title FROM sync_conflicts`)).toEqual([
      { row_id: 2, kind: 'deletedThere', title: 'mine' },
    ]);
    expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 4 }]);
  });

  test('because they are outside of the filter go only if nothing of them waits', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(
      `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Title" = 'title 2' WHERE _id = 2`,
    );
    fixture.execute(
      `UPDATE _rowsync_rows SET state = 'refused' WHERE row_id = 2; DELETE FROM _rowsync_rows WHERE row_id = 1`,
    );
    const table = { ...remote(fixture), shapes: [] };

    expect(await transact(fixture, (tx) => storeOutside(tx, table, [1, 2, 3], AT))).toBe(1);

    expect(notes(fixture)).toEqual([
      { _id: 1, Title: 'mine' },
      { _id: 2, Title: 'title 2' },
    ]);
    expect(fixture.rows('SELECT row_id, reason FROM sync_deleted')).toEqual([{ row_id: 3, reason: 'filtered' }]);
  });
});

test('rows that the origin took as they were sent become their base, with what it computed, and wait for nothing', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await captured(fixture);
  const table = twoWayTable(fixture);
  const title = table.columns.findIndex(({ localName }) => localName === 'Title');
  const known = new Map(
    readVersions(fixture.replica, table, [1]).flatMap(({ id, base }) => (base ? [[id, base]] : [])),
  );
  fixture.execute(`UPDATE _rowsync_rows SET state = 'sending'`);
  const rows = [theirs(fixture, 1, { Title: 'mine', Total: 11 })];

  await transact(fixture, (tx) => storeTaken(tx, table, rows, { at: AT, known, sent: new Set([title]) }));

  expect(fixture.rows('SELECT "Title", "Total", "Code" FROM "Note" WHERE _id = 1')).toEqual([
    { Title: 'mine', Total: 11, Code: 'c1' },
  ]);
  expect(fixture.rows('SELECT * FROM _rowsync_rows')).toEqual([]);
  expect(readSuspects(fixture.replica, table.id, 0, 10)).toEqual([1]);
  expect(await captured(fixture)).toEqual([]);
});

test.each([
  ['a mirror keeps the former value of the cell that cannot be read', 'off', 'title 1', 5],
  ['a two-way table keeps its former row: an empty cell might be pushed', 'on', 'title 1', 1],
] as const)('%s', async (_what, push, title, count) => {
  await using fixture = await startTwoWay();
  const { target } = remote(fixture);
  const rest = theirs(fixture, 1, { Count: 5 });
  fixture.execute(`UPDATE _rowsync_tables SET push = '${push}'`);
  const unreadable = [{ id: 1, column: 'Title', reason: 'no text', rest }];
  const table = { target, twoWay: null, shapes: target.columns.map(({ localName }) => ({ name: localName })) };

  await transact(fixture, (tx) => storeAnswer(tx, table, { rows: [], ids: [1], unreadable }, { at: AT, offPage: [] }));

  expect(fixture.rows('SELECT "Title", "Count" FROM "Note" WHERE _id = 1')).toEqual([{ Title: title, Count: count }]);
  expect(fixture.rows('SELECT row_id, "column" FROM sync_failures')).toEqual([{ row_id: 1, column: 'Title' }]);
});

test('what the origin confirmed is in the base of a two-way table, and in a mirror itself', async () => {
  await using fixture = await startTwoWay();
  const { target, twoWay } = remote(fixture);

  expect(confirmedRows({ target, twoWay }).localName).toBe(`_rowsync_base_${target.id}`);
  expect(confirmedRows({ target, twoWay: null })).toBe(target);
});

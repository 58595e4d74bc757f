/**
 * Storing what the origin says of rows into a two-way table, where rows of another client's stand in the way.
 */
import { describe, expect, test } from 'vitest';
import { storeRemoteRows } from '../../../src/capture/writer/store-origin-rows.ts';
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
    storeRemoteRows(tx, target, [rowOf(table, 7, { Title: 'theirs' })], { at: AT });
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

/**
 * A large table compared with its base a few rows at a time: it finds what the comparison in one go finds, lets others run in
 * between, and takes nothing upon itself that it could not vouch for.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { compareInSteps } from '../../src/capture/steps.ts';
import { storeCompareDue } from '../../src/replica/ledger.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** Every kind of edit; of none there is a mark. */
const EDITS = `
  UPDATE "Note" SET "Title" = 'edited' WHERE _id IN (1, 6);
  DELETE FROM "Note" WHERE _id = 3;
  INSERT INTO "Note" ("Title") VALUES ('new');
  DELETE FROM _rowsync_rows;`;

async function startUnmarked(edits = EDITS): Promise<Fixture> {
  const fixture = await startTwoWay();
  fixture.execute(edits);
  await fixture.replica.write('Preparing', (tx) => storeCompareDue(tx, twoWayTable(fixture).id, true));
  return fixture;
}

/** Compares two rows at a time; how often others were let run. */
async function compare(fixture: Fixture): Promise<number> {
  let pauseCount = 0;
  const clock = { ...systemClock, sleep: async () => void (pauseCount += 1) };
  await compareInSteps(twoWayTable(fixture), AT, { replica: fixture.replica, clock, stepRows: 2 });
  return pauseCount;
}

function marks(fixture: Fixture): unknown {
  return fixture.rows('SELECT row_id, state FROM _rowsync_rows ORDER BY row_id');
}

function due(fixture: Fixture): unknown {
  return fixture.rows('SELECT compare_due FROM _rowsync_tables');
}

test('marks every edit that has no mark, with pauses', async () => {
  await using fixture = await startUnmarked();

  expect(await compare(fixture)).toBe(3);

  expect(marks(fixture)).toEqual([-2, 1, 3, 6].map((row_id) => ({ row_id, state: 'edited' })));
  expect(due(fixture)).toEqual([{ compare_due: 0 }]);
  expect(await captured(fixture)).toEqual(['insert -2 Title', 'update 1 Title', 'delete 3', 'update 6 Title']);
});

test('marks rows that stand under ids which the origin never gave', async () => {
  const around = `INSERT INTO _rowsync_writer VALUES (1); INSERT INTO "Note" (_id, "Title") VALUES (99, 'foreign');
    DELETE FROM _rowsync_writer; DELETE FROM _rowsync_rows;`;
  await using fixture = await startUnmarked(around);

  await compare(fixture);

  expect(marks(fixture)).toEqual([{ row_id: 99, state: 'edited' }]);
});

test('keeps an edit that comes between two steps, in a part that was compared already', async () => {
  await using fixture = await startUnmarked('SELECT 1');
  let isFirst = true;
  const sleep = async (): Promise<void> => {
    if (isFirst) fixture.execute(`UPDATE "Note" SET "Title" = 'late' WHERE _id = 1`);
    isFirst = false;
  };

  const clock = { ...systemClock, sleep };
  await compareInSteps(twoWayTable(fixture), AT, { replica: fixture.replica, clock, stepRows: 2 });

  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('leaves the whole to the next capture where a trigger is dropped in between', async () => {
  await using fixture = await startUnmarked('SELECT 1');
  const [trigger] = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*_update*'`) as {
    name: string;
  }[];
  const sleep = async (): Promise<void> =>
    fixture.execute(`DROP TRIGGER IF EXISTS "${trigger?.name}"; UPDATE "Note" SET "Title" = 'unseen' WHERE _id = 1`);

  const clock = { ...systemClock, sleep };
  await compareInSteps(twoWayTable(fixture), AT, { replica: fixture.replica, clock, stepRows: 2 });

  expect(due(fixture)).toEqual([{ compare_due: 1 }]);
  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('leaves the whole to the next capture where a unique index stood in between', async () => {
  await using fixture = await startUnmarked('SELECT 1');
  let isFirst = true;
  const sleep = async (): Promise<void> => {
    if (!isFirst) return;
    isFirst = false;
    fixture.execute(`CREATE UNIQUE INDEX mine ON "Note" ("Count");
      UPDATE OR REPLACE "Note" SET "Count" = 1 WHERE _id = 2;
      DROP INDEX mine`);
  };

  const clock = { ...systemClock, sleep };
  await compareInSteps(twoWayTable(fixture), AT, { replica: fixture.replica, clock, stepRows: 2 });

  expect(due(fixture)).toEqual([{ compare_due: 1 }]);
  expect(await captured(fixture)).toEqual(['delete 1', 'update 2 Count']);
});

test.each([
  ['another trigger may change rows', `CREATE TRIGGER mine AFTER UPDATE ON "Note" BEGIN SELECT 1; END`],
  ['a unique index may remove them', 'CREATE UNIQUE INDEX mine ON "Note" ("Count")'],
])('leaves the whole to the next capture where %s', async (_what, statement) => {
  await using fixture = await startUnmarked(`${EDITS} ${statement}`);

  expect(await compare(fixture)).toBe(0);

  expect(marks(fixture)).toEqual([]);
  expect(due(fixture)).toEqual([{ compare_due: 1 }]);
});

test('does nothing where nothing is due', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`${EDITS} UPDATE _rowsync_tables SET compare_due = 0`);

  expect(await compare(fixture)).toBe(0);

  expect(marks(fixture)).toEqual([]);
});

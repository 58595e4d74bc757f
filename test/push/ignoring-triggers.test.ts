/**
 * Triggers of other programs that could leave rows as they were where rowsync writes: their table waits, and nothing of
 * it is taken for an edit. Once the trigger is gone, or leaves rowsync's own writes alone, everything continues.
 */
import { describe, expect, test } from 'vitest';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, codesOf, finishAndPull, here, pushNow } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

/** People mark rows as done instead of deleting them. */
const MARK = `CREATE TRIGGER keep_rows BEFORE DELETE ON "Note" BEGIN
  UPDATE "Note" SET "Done" = 1 WHERE _id = OLD._id; SELECT RAISE(IGNORE); END`;
const KEEP = `CREATE TRIGGER keep_rows BEFORE DELETE ON "Note" BEGIN SELECT RAISE(IGNORE); END`;
const CHECK = `CREATE TRIGGER keep_rows BEFORE INSERT ON "Note" WHEN NEW."Count" > 100 BEGIN SELECT RAISE(IGNORE); END`;

async function pullAndPush(fixture: Fixture): Promise<readonly unknown[]> {
  const { tables } = await finishAndPull(fixture);
  return [...tables.flatMap(({ error }) => error?.code ?? []), ...codesOf(await pushNow(fixture))];
}

describe.each([
  ['marks rows as done instead of deleting them', MARK],
  ['keeps rows from being deleted', KEEP],
])('a trigger that %s', (_what, trigger) => {
  test.each([null, 'Code'])(
    'keeps a new row from being sent, which is made once after it (match %s)',
    async (match) => {
      await using fixture = await startTwoWay({ editing: { match } });
      fixture.execute(trigger);
      fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);

      const told: unknown[] = [];
      for (let round = 0; round < 3; round += 1)
        told.push(...codesOf(await pushNow(fixture)), ...(await pullAndPush(fixture)));

      expect(new Set(told)).toEqual(new Set(['replica.failed']));
      expect(atOrigin(fixture, ['Title']).slice(6)).toEqual([]);
      fixture.execute('DROP TRIGGER keep_rows');
      await pullAndPush(fixture);
      expect(await pullAndPush(fixture)).toEqual([]);
      expect(atOrigin(fixture, ['Title']).slice(6)).toEqual([[7, 'new']]);
      expect(here(fixture, ['Title'])).toEqual(atOrigin(fixture, ['Title']));
      expect(await captured(fixture)).toEqual([]);
    },
  );

  test('makes no row again that a colleague deleted', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(trigger);
    fixture.sandbox.store.delete('Note', 2);

    expect(await pullAndPush(fixture)).toContain('replica.failed');

    expect(atOrigin(fixture, ['Title'])).toHaveLength(5);
  });
});

test.each([
  [
    'a row that a colleague made',
    (fixture: Fixture) => void fixture.sandbox.store.insert('Note', { Count: 200 }),
    7,
    200,
  ],
  [
    'a change of a colleague',
    (fixture: Fixture) => void fixture.sandbox.store.update('Note', 1, { Count: 200 }),
    1,
    200,
  ],
])('%s is not undone by a trigger that keeps it out of the table', async (_what, change, id, count) => {
  await using fixture = await startTwoWay();
  fixture.execute(CHECK);
  change(fixture);

  expect(await pullAndPush(fixture)).toContain('replica.failed');

  expect(atOrigin(fixture, ['Count'])).toContainEqual([id, count]);
});

test('a trigger that leaves the writes of rowsync alone is obeyed for everybody else', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(KEEP.replace('BEGIN', 'WHEN NOT EXISTS (SELECT 1 FROM _rowsync_writer) BEGIN'));
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new'); DELETE FROM "Note" WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 2);

  expect(await pullAndPush(fixture)).toEqual([]);

  expect(atOrigin(fixture, ['Title']).map((row) => (row as readonly unknown[])[0])).toEqual([1, 3, 4, 5, 6, 7]);
  expect(here(fixture, ['Title'])).toEqual(atOrigin(fixture, ['Title']));
});

test('a new row that a trigger would keep from its number is refused at once', async () => {
  await using fixture = await startTwoWay();
  await pullAndPush(fixture);
  const before = here(fixture, ['Title']);
  fixture.execute('CREATE TRIGGER mine BEFORE UPDATE ON "Note" BEGIN SELECT RAISE(IGNORE); END');

  expect(() => fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`)).toThrow(
    'a trigger of another program keeps the new row of Note from getting its number: drop that trigger first',
  );

  expect(here(fixture, ['Title'])).toEqual(before);
  fixture.execute('DROP TRIGGER mine');
  expect(await pullAndPush(fixture)).toEqual([]);
  expect(atOrigin(fixture, ['Title'])).toEqual(before);
});

test('a push finds what was edited after another program dropped the triggers', async () => {
  await using fixture = await startTwoWay();
  await pullAndPush(fixture);
  const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_capture_update_*'`) as {
    name: string;
  }[];
  expect(triggers).toHaveLength(1);
  for (const { name } of triggers) fixture.execute(`DROP TRIGGER "${name}"`);

  // Only the first push sees that the schema is another one.
  for (const title of ['unseen', 'unseen again']) {
    fixture.execute(`UPDATE "Note" SET "Title" = '${title}' WHERE _id = 1`);
    expect(codesOf(await pushNow(fixture))).toEqual([]);
    expect(atOrigin(fixture, ['Title'])[0]).toEqual([1, title]);
  }
});

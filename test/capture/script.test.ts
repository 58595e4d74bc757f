/**
 * The script of edits that `rowsync rebuild` writes: run on a new replica, it brings back every edit, whatever became of what was sent, or
 * says which it does not.
 */
import { existsSync, renameSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { scriptOfTable } from '../../src/capture/script.ts';
import { readTwoWayTables } from '../../src/capture/table.ts';
import { here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

/** Pushes up to the answer, and ends before the rows are read back. */
async function sendOnly(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

/** Writes the script, pulls a new replica, and runs the script there; returns it, and what it printed. */
async function rebuild(fixture: Fixture): Promise<{ readonly script: string; readonly printed: readonly unknown[] }> {
  const [table] = readTwoWayTables(fixture.replica);
  if (table === undefined) throw new Error('no two-way table');
  const script = [...scriptOfTable(fixture.replica, table.id)].join('\n');
  fixture.replica.close();
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(fixture.path + ending)) renameSync(fixture.path + ending, `${fixture.path}.former${ending}`);
  }
  fixture.restart();
  await fixture.pull();
  return { script, printed: run(fixture.path, script) };
}

function run(path: string, script: string): readonly unknown[] {
  const db = new Database(path);
  try {
    // Every statement ends a line, as the shell reads them.
    const statements = script.replaceAll(/^--.*$/gm, '').split(/;$/m);
    return statements.flatMap((text) => {
      if (text.trim() === '') return [];
      const statement = db.prepare(text);
      return statement.reader ? statement.pluck().all() : (statement.run(), []);
    });
  } finally {
    db.close();
  }
}

test('an edit that was taken back after it was sent is taken back at the new replica, where it arrived', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);

  const { printed } = await rebuild(fixture);

  expect(here(fixture, ['Body'])[0]).toEqual([1, null]);
  expect(await captured(fixture)).toHaveLength(1);
  expect(printed).toEqual([]);
});

test.each([
  ['arrived', 'resetAfter'],
  ['did not arrive', 'resetBefore'],
] as const)('an edit of a cell that was sent before and %s is made on top of it', async (_what, fault) => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent', "Title" = 'sent' WHERE _id = 1`);
  setFaults(fixture, [{ fault, method: 'update' }]);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = 'later' WHERE _id = 1`);

  const { printed } = await rebuild(fixture);

  expect(here(fixture, ['Title', 'Body'])[0]).toEqual([1, 'sent', 'later']);
  expect(printed).toEqual([]);
});

test('a row that was deleted after an edit of it was sent is deleted', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`DELETE FROM "Note" WHERE _id = 1`);

  const { printed } = await rebuild(fixture);

  expect(here(fixture, ['Title'])[0]).toEqual([2, 'title 2']);
  expect(printed).toEqual([]);
});

test('a row that was put back after its delete was sent stands in the script with its values', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`DELETE FROM "Note" WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (1, 'title 1')`);

  const { script, printed } = await rebuild(fixture);

  expect(script).toMatch(/^-- INSERT INTO "Note" .*'title 1'/m);
  expect(new Set(printed)).toEqual(new Set(['not applied: Note, row 1 (the row or the cell has changed since)']));
});

test('a new row that was deleted after it was sent is named, since it may be there', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  await sendOnly(fixture);
  fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);

  const { script } = await rebuild(fixture);

  expect(script.split('\n')).toEqual([
    `-- row -2 of Note was deleted here after it was sent, and may stand at the origin: INSERT INTO "Note" ("Title") VALUES ('new');`,
  ]);
});

test('text that is not in UTF-8 comes back byte by byte, and is not pushed as something else', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = CAST(x'4de46e6e65' AS TEXT) WHERE _id = 1`);

  await rebuild(fixture);

  expect(fixture.rows('SELECT hex("Body") AS bytes FROM "Note" WHERE _id = 1')).toEqual([{ bytes: '4DE46E6E65' }]);
});

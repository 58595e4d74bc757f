/**
 * The script of edits that `rowsync rebuild` writes: run on a new replica, it brings back every edit, or says which it
 * does not. Rows on their way are comments. The former replica is moved aside with it, and no earlier script is
 * overwritten.
 */
import { existsSync, readFileSync, renameSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { moveAsideWithScript, scriptOfTable } from '../../../src/extras/backup/rebuild-command.ts';
import { readTwoWayTables } from '../../../src/capture/two-way-table.ts';
import { pushNow } from '../../support/push.ts';
import type { Fixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';

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

test.each([
  [
    'an update, edited again since,',
    `UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`,
    `UPDATE "Note" SET "Body" = 'later' WHERE _id = 1`,
    /^-- row 1 of Note was sent, and may have arrived; it is here: INSERT INTO "Note" .*'later'/,
  ],
  [
    'a row that was put back after its delete was sent',
    `DELETE FROM "Note" WHERE _id = 1`,
    `INSERT INTO "Note" (_id, "Title") VALUES (1, 'title 1')`,
    /^-- row 1 of Note was sent, and may have arrived; it is here: INSERT INTO "Note" .*'title 1'/,
  ],
  [
    'a new row that was deleted after it was sent',
    `INSERT INTO "Note" ("Title") VALUES ('new')`,
    `DELETE FROM "Note" WHERE _id = -2`,
    /^-- row -2 of Note was deleted here after it was sent, and may exist at the origin$/,
  ],
])('%s is a comment as long as no answer is known', async (_what, edit, later, comment) => {
  await using fixture = await startTwoWay();
  fixture.execute(edit);
  await sendOnly(fixture);
  fixture.execute(later);

  const { script, printed } = await rebuild(fixture);

  const lines = script.split('\n');
  expect(lines[0]).toMatch(comment);
  expect(lines.filter((line) => !line.startsWith('-- '))).toEqual([]);
  expect(printed).toEqual([]);
});

test('text that is not in UTF-8 comes back byte by byte, and is not pushed as something else', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = CAST(x'4de46e6e65' AS TEXT) WHERE _id = 1`);

  await rebuild(fixture);

  expect(fixture.rows('SELECT hex("Body") AS bytes FROM "Note" WHERE _id = 1')).toEqual([{ bytes: '4DE46E6E65' }]);
});

test('an edit in conflict is a comment: nobody has decided that it wins', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.execute(`UPDATE "Note" SET "Title" = 'other' WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();

  const { script } = await rebuild(fixture);

  expect(script).toContain(`-- UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1 AND "Title" IS 'theirs';\nUPDATE`);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id < 3')).toEqual([{ Title: 'theirs' }, { Title: 'other' }]);
});

test('two scripts of one second are both kept', async () => {
  await using fixture = await startTwoWay({});
  const moveAside = (line: string): string => {
    fixture.replica.close();
    const { scriptPath } = moveAsideWithScript(fixture.path, '20260601T120000Z', (_path, write) => write(line));
    fixture.restart();
    return scriptPath ?? '';
  };

  const scripts = [moveAside('-- first'), moveAside('-- second')];

  expect(scripts.map((path) => readFileSync(path, 'utf8'))).toEqual(['-- first\n', '-- second\n']);
});

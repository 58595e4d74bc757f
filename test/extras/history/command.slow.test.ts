/**
 * `rowsync history`: the changes of one row, and what these commands refuse.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { HISTORY_TWO_WAY, startHistory } from '../../support/history-workspace.ts';
import { runCli } from '../../support/session.ts';

test('a misspelt table is not told to get history where none has any', async () => {
  await using history = await startHistory('');

  const { exitCode, stderr } = await history.run(['history', 'Custmer', '1']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('No table has history yet. Set `history: true` in the configuration');
  expect(stderr).toContain('rowsync status lists the tables');
});

test('history of a row that never was is an error', async () => {
  await using history = await startHistory();

  const { exitCode, stderr } = await history.run(['history', 'Note', '999999']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('Note has no row 999999, and no history of one');
});

test('history tells the life of a row, with intervals, and old and new values', async () => {
  await using history = await startHistory();

  const text = await history.run(['history', 'note', '1']);
  const json = await history.run(['history', 'Note', '2', '--json']);

  expect(text.exitCode).toBe(0);
  expect(text.stdout).toContain('Note 1: 3 changes; its history is kept since 2026-11-25T08:00:00Z\n');
  expect(text.stdout).toContain(
    '2026-11-25T08:10:00Z  changed by Alice Martin <alice.martin@example.com>, found at the origin (run 2)\n',
  );
  expect(text.stdout).toContain(
    "between 2026-11-25T08:00:00Z and 2026-11-25T08:10:00Z, at least one change (the origin's stamp)",
  );
  expect(text.stdout).toContain('    Title: "title 1" → "one"\n');
  expect(JSON.parse(json.stdout)).toMatchObject({
    table: 'Note',
    since: '2026-11-25T08:00:00Z',
    entries: [{ kind: 'delete', rowId: 2, before: { Title: 'title 2' }, after: null, cause: 'pull' }],
  });
});

test('history fits into the terminal, cut at blanks', async () => {
  await using history = await startHistory();

  const { stdout } = await runCli(['history', 'Note', '1'], { ...history, width: 70 });

  expect(stdout.split('\n').filter((line) => line.length > 70)).toEqual([]);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'at least one change (the origin\'s stamp) Title: "title 1" → "one"',
  );
});

test('history of a row that was made here begins with what it was before the origin gave it its id', async () => {
  await using history = await startHistory(HISTORY_TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`);
  db.close();

  await history.run(['push']);

  const [{ id } = { id: 0 }] = JSON.parse(
    (await history.run(['sql', '--json', `SELECT _id AS id FROM "Note" WHERE "Code" = 'c8'`])).stdout,
  ) as { id: number }[];
  const { entries } = JSON.parse((await history.run(['history', 'Note', String(id), '--json'])).stdout) as {
    entries: { kind: string; cause: string; rowId: number; wasRowId: number | null }[];
  };
  expect(id).toBeGreaterThan(0);
  expect(entries.map(({ kind, cause }) => `${kind} ${cause}`)).toEqual(['insert edit', 'insert push']);
  expect(entries[1]?.wasRowId).toBe(entries[0]?.rowId);
  // Nothing was deleted when the row got its id.
  const former = String(entries[0]?.rowId);
  expect((await history.run(['log', '--table', 'Note'])).stdout).not.toMatch(/deleted, .*by a push/);
  expect((await history.run(['history', 'Note', '--', former])).stdout).toContain('goes on under the id');
});

test('history of a deleted row that was made again says in place of which', async () => {
  await using history = await startHistory(
    `tables: { Note: { push: true, match: Code, history: true, conflict: ask } }\n`,
  );
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3`);
  db.close();
  history.sandbox.store.delete('Note', 3);
  await history.run(['pull', '--confirm']);
  await history.run(['resolve', '1', '--take', 'local', '--again']);

  const newest = await history.run(['sql', '--json', `SELECT min(_id) AS id FROM "Note"`]);
  const [{ id } = { id: 0 }] = JSON.parse(newest.stdout) as { id: number }[];
  const { stdout } = await history.run(['history', 'Note', '--', String(id)]);

  expect(id).toBeLessThan(0);
  expect(stdout).toContain('new (in place of the deleted row 3), ');
});

test('what rowsync sent, and an edit here, are one change each', async () => {
  await using history = await startHistory(HISTORY_TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3`);
  db.close();

  await history.run(['push']);

  const { stdout } = await history.run(['history', 'Note', '3']);
  expect(stdout).toContain('changed, edited here');
  expect(stdout).toContain('the edit taken by the origin');
  expect(stdout).not.toContain('at least one change');
});

test.each(['ask', 'origin', 'local'])(
  'what a push only reads is the origin’s change, under conflict: %s',
  async (policy) => {
    await using history = await startHistory(
      `tables: { Note: { push: true, match: Code, history: true, conflict: ${policy} } }\n`,
    );
    const { store } = history.sandbox;
    store.update('Note', 3, { Body: 'theirs' });
    store.update('Note', 1, { Title: 'theirs' });
    store.update('Note', 7, { Body: 'theirs' });
    store.insert('Note', { Title: 'theirs', Code: 'c8' });
    const db = new Database(join(history.folder, 'replica.db'));
    db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id IN (1, 3); DELETE FROM "Note" WHERE _id = 7;
    INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`);
    db.close();
    history.at(50);

    await history.run(['push']);
    const life = async (id: string): Promise<string> => (await history.run(['history', 'Note', id])).stdout;
    const [conflict, merged, adopted] = [await life('1'), await life('3'), await life('8')];
    const log = (await history.run(['log', '--since', '1m'])).stdout;

    const found = /(?:new|changed)(?: \(row -\d+ .*\),)? by Alice Martin .*, found at the origin \(run 5\)/;
    expect(conflict).toMatch(found);
    expect(conflict.includes('the edit taken by the origin')).toBe(policy === 'local');
    expect(merged).toMatch(found);
    expect(merged).toContain('the edit taken by the origin (run 5)');
    expect(adopted).toMatch(found);
    expect(log).not.toContain('new row taken by the origin');
    expect(log).not.toMatch(/\d deleted, found/);
  },
);

test('an edit and the answer of the origin to it are one change in history and log', async () => {
  await using history = await startHistory(HISTORY_TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3; INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`,
  );
  db.close();

  await history.run(['push']);
  const life = await history.run(['history', 'Note', '3']);
  const log = await history.run(['log', '--since', '1m']);

  expect(life.stdout).toContain('Note 3: 1 change;');
  expect(life.stdout).toContain('; with 1 answer of the origin to edits\n');
  expect(life.stdout).toMatch(/the edit taken by the origin \(run \d+\)\n.*\n {4}Date Modified: /);
  expect(log.stdout).toContain('  Note: 1 new row taken by the origin\n');
  expect(log.stdout).toContain('  Note: 1 edit taken by the origin\n');
  expect(log.stdout).toContain('  Note: 1 changed, edited here\n');
});

test.each([
  {
    args: ['sql', '--at', '2026-11-25T07:59:59Z', 'SELECT * FROM Note'],
    code: 'history.unknown',
    says: 'begins at 2026-11-25T08:00:00Z',
  },
  { args: ['diff', '--from', '2026-11-25T07:59:59Z'], code: 'history.unknown', says: 'begins at 2026-11-25T08:00:00Z' },
  { args: ['diff', '--from', '1h', 'Nope'], code: 'history.unknown', says: 'History is kept of: Note' },
  { args: ['diff', '--from', '5m', '--to', '2027-01-01'], code: 'history.unknown', says: 'It is 2026-11-25T08:40:00Z' },
  { args: ['diff', '--from', '5m', '--to', '10m'], code: 'usage.invalid', says: 'the earlier time with --from' },
  { args: ['diff', '--from', 'soon'], code: 'usage.invalid', says: '2026-11-01' },
  { args: ['history', 'Note', 'x'], code: 'usage.invalid', says: '_id' },
  { args: ['history', 'Nope', '1'], code: 'history.unknown', says: 'History is kept of: Note' },
  { args: ['log', '--table', 'Nope'], code: 'history.unknown', says: 'History is kept of: Note' },
  { args: ['changes', '--after', '9999'], code: 'history.unknown', says: '--after 0' },
])('$args is refused, with what is known', async ({ args, code, says }) => {
  await using history = await startHistory();

  const refused = await history.run([...args, '--json']);

  expect(refused.exitCode).toBe(2);
  const { error } = JSON.parse(refused.stdout || refused.stderr) as { error: { code: string; hint: string } };
  expect(error.code).toBe(code);
  expect(error.hint).toContain(says);
});

test('check says what the history of each table takes, and its bounds', async () => {
  await using history = await startHistory('tables: { Note: { history: { keep: 90d, maxBytes: 5MB } } }\n');

  const { stdout } = await history.run(['check']);

  expect(stdout).toMatch(/history +Note takes [\d.]+ KiB and keeps 90 days, at most 4\.8 MiB/);
});

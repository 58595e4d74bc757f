/**
 * The commands that read the journal, on a mirror and a two-way table with history.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import { makeWorkspace, startRowsync } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const CONFIG = `tables: { Note: { history: true } }\n`;
const TWO_WAY = `tables: { Note: { push: true, match: Code, history: true } }\n`;

/** A clock that stands at a minute after 2026-11-25 08:00 UTC. */
function world(): { clock: Clock; at: (minute: number) => void } {
  let nowMs = Date.parse('2026-11-25T08:00:00Z');
  return {
    clock: { ...systemClock, nowMs: () => nowMs },
    at: (minute) => (nowMs = Date.parse('2026-11-25T08:00:00Z') + minute * 60_000),
  };
}

interface History extends AsyncDisposable {
  readonly folder: string;
  readonly clock: Clock;
  readonly sandbox: TestSandbox;
  readonly at: (minute: number) => void;
  run(args: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** Row 1: changed at 10, changed and back at 20 and 30. Row 2: deleted at 20. Row 7: new at 30. It is 40 now. */
async function startHistory(yaml = CONFIG): Promise<History> {
  const { clock, at } = world();
  const sandbox = await startTestSandbox({ tables: [NOTE], clock });
  const made = makeWorkspace(sandbox, yaml);
  const { folder } = made;
  const run = (args: readonly string[]) => runCli(args, { folder, clock });
  await run(['pull']);
  at(10);
  sandbox.store.update('Note', 1, { Title: 'one', Count: 12.5 });
  await run(['pull']);
  at(20);
  sandbox.store.update('Note', 1, { Body: 'for a while' });
  sandbox.store.delete('Note', 2);
  await run(['pull', '--confirm']);
  at(30);
  sandbox.store.update('Note', 1, { Body: null });
  sandbox.store.insert('Note', { Title: 'seven', Code: 'c7' });
  await run(['pull']);
  at(40);
  return {
    folder,
    clock,
    sandbox,
    at,
    run,
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

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
  await using history = await startHistory(TWO_WAY);
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
  expect(stdout).toContain('new, in place of the deleted row 3, ');
});

test('what rowsync sent, and an edit here, are one change each', async () => {
  await using history = await startHistory(TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3`);
  db.close();

  await history.run(['push']);

  const { stdout } = await history.run(['history', 'Note', '3']);
  expect(stdout).toContain('changed, edited here');
  expect(stdout).toContain('the edit taken by the origin');
  expect(stdout).not.toContain('at least one change');
});

test('log lists runs, the newest first, and rows where a table or a run is named', async () => {
  await using history = await startHistory();

  const all = await history.run(['log']);
  const since = await history.run(['log', '--since', '15m', '--json']);
  const until = await history.run(['log', '--until', '2026-11-25T08:10:00Z', '--json']);
  const run = await history.run(['log', '--run', '2']);
  const table = await history.run(['log', '--table', 'Note', '--json']);
  const none = await history.run(['log', '--run', '99']);

  expect(all.stdout.match(/^run \d+/gm)).toEqual(['run 4', 'run 3', 'run 2', 'run 1']);
  expect(all.stdout).toContain('run 4, pull  2026');
  expect(all.stdout).toContain('  Note: 1 deleted, found at the origin\n');
  expect(all.stdout).toContain('  Note: history begins\n');
  expect(all.stdout).not.toContain('Title');
  expect(JSON.parse(since.stdout)).toEqual({
    runs: [
      {
        runId: 4,
        work: 'pull',
        from: '2026-11-25T08:30:00Z',
        to: '2026-11-25T08:30:00Z',
        schemaChanges: [],
        changes: [
          { table: 'Note', kind: 'insert', cause: 'pull', isAnswer: false, count: 1 },
          { table: 'Note', kind: 'update', cause: 'pull', isAnswer: false, count: 1 },
        ],
      },
    ],
  });
  expect((JSON.parse(until.stdout) as { runs: { runId: number }[] }).runs.map(({ runId }) => runId)).toEqual([2, 1]);
  expect(run.stdout).toContain(
    '    Note 1: changed by Alice Martin <alice.martin@example.com>, found at the origin (run 2)\n',
  );
  expect(run.stdout).toContain('Title: "title 1" → "one", Count: ');
  expect((JSON.parse(table.stdout) as { runs: { entries: unknown[] }[] }).runs.map((r) => r.entries.length)).toEqual([
    2, 2, 1, 1,
  ]);
  expect(none).toMatchObject({ exitCode: 2, stdout: '' });
  expect(none.stderr).toContain('There is no run 99');
  const ahead = await history.run(['log', '--since', '2099-01-01']);
  expect(ahead).toMatchObject({ exitCode: 2, stdout: '' });
  expect(ahead.stderr).toContain('--since: 2099-01-01T00:00:00Z lies ahead');
  await history.run(['pull']);
  expect(await history.run(['log', '--run', '5'])).toMatchObject({ exitCode: 0, stdout: 'No changes\n' });
});

test('log says whose edit is in no run, in order, and fits the terminal', async () => {
  await using history = await startHistory(TWO_WAY);
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Body" = 'a text of many words, more than one line of a terminal takes' WHERE _id = 3`);
  db.close();
  await history.run(['discard', 'Note', '3']);

  const log = await runCli(['log', '--table', 'Note'], { ...history, width: 60 });

  expect(log.stdout.split('\n').filter((line) => line.length > 60)).toEqual([]);
  expect(log.stdout).toContain(
    'edited here  2026-11-25T08:40:00Z\n  Note: 1 changed, edited here\n' +
      '  Note: 1 changed, an edit discarded by a person here\n',
  );
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

    const found = /(?:new|changed)(?:, the row -\d+ .*)? by Alice Martin .*, found at the origin \(run 5\)/;
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
  await using history = await startHistory(TWO_WAY);
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

test('diff lists what differs between two moments, and nothing that was changed back', async () => {
  await using history = await startHistory();

  const whole = await history.run(['diff', '--from', '2026-11-25T08:00:00Z', '--json']);
  const back = await history.run(['diff', '--from', '2026-11-25T08:10:00Z', '--to', '2026-11-25T08:30:00Z', 'Note']);
  const none = await history.run(['diff', '--from', '2026-11-25T08:30:00Z']);

  const { rows } = JSON.parse(whole.stdout) as { rows: { rowId: number; kind: string; cells: unknown[] }[] };
  expect(rows.map(({ rowId, kind }) => `${rowId} ${kind}`)).toEqual(['1 update', '2 delete', '7 insert']);
  expect(rows[0]?.cells).toContainEqual({ column: 'Title', before: 'title 1', after: 'one' });
  expect(JSON.stringify(rows[0]?.cells)).not.toContain('Body');
  expect(back.stdout).toContain('Note 2: deleted\n');
  expect(back.stdout).toContain('3 rows of 1 table differ\n');
  expect(none.stdout).toBe('No differences in 1 table\n');
});

test('sql --at shows tables as they were here at a moment, also in views and by index, and nothing else', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`CREATE VIEW titles AS SELECT _id, "Title" FROM "Note"; CREATE INDEX by_title ON "Note" ("Title")`);
  db.close();
  const ask = async (at: string, query: string) =>
    JSON.parse((await history.run(['sql', '--json', '--at', at, query])).stdout) as unknown;

  const titles = `SELECT group_concat("Title" ORDER BY _id) AS t FROM `;
  expect(await ask('2026-11-25T08:00:00Z', `${titles}"Note" WHERE _id IN (1, 2, 7)`)).toEqual([
    { t: 'title 1,title 2' },
  ]);
  expect(await ask('2026-11-25T08:10:00Z', `${titles}titles WHERE _id IN (1, 2, 7)`)).toEqual([{ t: 'one,title 2' }]);
  expect(await ask('2026-11-25T08:20:00Z', `SELECT "Body" FROM Note WHERE "Title" = 'one'`)).toEqual([
    { Body: 'for a while' },
  ]);
  expect(await ask('now', `${titles}"Note" WHERE _id IN (1, 2, 7)`)).toEqual([{ t: 'one,seven' }]);
  expect(
    await ask(
      '2026-11-25T08:00:00Z',
      `SELECT count(*) AS n FROM "Note" t JOIN main."Note" m ON m._id = t._id AND m."Title" <> t."Title"`,
    ),
  ).toEqual([{ n: 1 }]);
});

test('sql --at needs history of every table that the query names, and of no other', async () => {
  await using history = await startHistory(`tables: { '*': {} }\n`);
  const refused = await history.run(['sql', '--at', '5m', 'SELECT * FROM "Note"']);
  const other = await history.run(['sql', '--at', '5m', '--json', 'SELECT count(*) AS n FROM sync_status']);
  const wrong = await history.run(['sql', '--at', '5m', 'SELECT nope FROM "Note"']);

  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toContain('The changes of Note are not kept');
  expect(JSON.parse(other.stdout)).toEqual([{ n: 1 }]);
  expect(wrong.stderr).toContain('no such column: nope');
});

test('diff says that no history is kept, and not that nothing differs', async () => {
  await using history = await startHistory(`tables: { '*': {} }\n`);

  expect(await history.run(['diff', '--from', '5m', '--json'])).toMatchObject({ exitCode: 2, stdout: '' });
  expect((await history.run(['diff', '--from', '5m'])).stderr).toContain('No history is kept of any table');
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

test('diff refuses the gap before a restore', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`INSERT INTO _rowsync_history (kind, at, cause, cells)
    VALUES ('restored', unixepoch('2026-11-25T08:38:00Z'), 'restore', json_object('knownUntil', '2026-11-25T08:30:00Z'))`);
  db.close();

  const inside = await history.run(['diff', '--from', '2026-11-25T08:33:00Z']);
  const before = await history.run(['diff', '--from', '2026-11-25T08:30:00Z']);

  expect(inside.stderr).toContain('Choose a time up to 2026-11-25T08:30:00Z, or from 2026-11-25T08:38:00Z on.');
  expect(before.exitCode).toBe(0);
});

test('diff refuses what was pruned, and says since when it knows', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`DELETE FROM _rowsync_history WHERE seq <= 2;
    INSERT INTO _rowsync_history (table_id, kind, at, cause, cells)
    SELECT table_id, 'pruned', unixepoch('2026-11-25T08:30:00Z'), 'pull', json_object('until', '2026-11-25T08:10:00Z', 'entries', 2)
    FROM _rowsync_history LIMIT 1`);
  db.close();

  const pruned = await history.run(['diff', '--from', '2026-11-25T08:09:59Z']);
  const kept = await history.run(['diff', '--from', '2026-11-25T08:10:00Z']);

  expect(pruned.stderr).toContain('Its history begins at 2026-11-25T08:10:00Z');
  expect(kept.stdout).toContain('3 rows of 1 table differ\n');
});

test('check says what the history of each table takes, and its bounds', async () => {
  await using history = await startHistory('tables: { Note: { history: { keep: 90d, maxBytes: 5MB } } }\n');

  const { stdout } = await history.run(['check']);

  expect(stdout).toMatch(/history +Note takes [\d.]+ KiB and keeps 90 days, at most 4\.8 MiB/);
});

test('changes prints every entry as an event, in order, behind a number', async () => {
  await using history = await startHistory();

  const all = (await history.run(['changes', '--after', '0'])).stdout.trimEnd().split('\n');
  const last = await history.run(['changes', '--after', '4']);

  const events = all.map((line) => JSON.parse(line) as { id: string; source: string });
  expect(events.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(events.slice(0, 2)).toMatchObject([
    { specversion: '1.0', type: 'rowsync.history.begin', subject: 'Note', time: '2026-11-25T08:00:00Z' },
    {
      type: 'rowsync.row.updated',
      subject: 'Note/1',
      datacontenttype: 'application/json',
      data: { id: 2, table: 'Note', rowId: 1, kind: 'update', after: { Title: 'one' } },
    },
  ]);
  expect(events[1]?.source).toMatch(/^file:\/\/\/.*replica\.db$/);
  expect(last.stdout.trimEnd().split('\n')).toEqual(all.slice(4));
});

test('changes --follow waits for more, and ends when it is asked to', async () => {
  await using history = await startHistory();
  const { folder, sandbox } = history;
  const stop = new AbortController();
  let looks = 0;
  const clock: Clock = {
    ...history.clock,
    sleep: async () => {
      looks += 1;
      if (looks === 2) return stop.abort();
      sandbox.store.update('Note', 3, { Title: 'three' });
      await history.run(['pull']);
    },
  };

  const followed = await runCli(['changes', '--after', '6', '--follow'], { folder, clock, signal: stop.signal });

  expect(followed.exitCode).toBe(0);
  expect(followed.stdout.trimEnd().split('\n')).toEqual([expect.stringContaining('"subject":"Note/3"')]);
});

test('changes --follow as a process ends with a signal, with exit code 0', async () => {
  await using history = await startHistory();
  const child = startRowsync(['changes', '--after', '0', '--follow'], { folder: history.folder });
  child.process.stdout?.once('data', () => child.process.kill('SIGINT'));

  const { exitCode, stdout } = await child.end;

  expect(exitCode).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(6);
});

test('changes --follow ends when its reader goes away', async () => {
  await using history = await startHistory();
  const child = startRowsync(['changes', '--after', '0', '--follow'], { folder: history.folder });
  await once(child.process.stdout ?? child.process, 'data');
  child.process.stdout?.destroy();
  history.sandbox.store.update('Note', 3, { Title: 'three' });
  await history.run(['pull']);

  const { exitCode, stderr } = await child.end;

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});

test('log whose reader goes away ends without a word', async () => {
  await using history = await startHistory();
  const args = ['log', '--table', 'Note', '--json'];

  const whole = await history.run(args);
  const left = await runCli(args, {
    folder: history.folder,
    clock: history.clock,
    isReaderGone: (text) => text !== '',
  });

  expect((JSON.parse(whole.stdout) as { runs: unknown[] }).runs.length).toBeGreaterThan(2);
  expect(left).toMatchObject({ exitCode: 0, stderr: '' });
  expect(left.stdout.length).toBeLessThan(whole.stdout.length);
});

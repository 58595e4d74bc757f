/**
 * `rowsync history forget`: what is kept of a row goes, in every place, and nothing else.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { datedBackups } from '../../../src/extras/backup/replica-copy.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const TWO_WAY = `tables: { Note: { push: true, match: Code, history: true } }\n`;
const START_MS = Date.parse('2026-11-25T08:00:00Z');
const SECRET = 'Persephone Quillfeather';

/** Row 1 was called as a person, and is deleted; row 2 was, and is not any more. Every command is a minute later. */
async function startWorld(yaml = TWO_WAY) {
  let nowMs = START_MS;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const sandbox = await startTestSandbox({ tables: [NOTE], clock });
  const made = makeWorkspace(sandbox, yaml);
  const path = join(made.folder, 'replica.db');
  const run = (args: readonly string[]) => {
    nowMs += 60_000;
    return runCli(args, { folder: made.folder, clock });
  };
  const open = <T>(work: (db: Database.Database) => T): T => {
    const db = new Database(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  sandbox.store.update('Note', 1, { Title: 'first', Body: SECRET });
  await run(['pull']);
  sandbox.store.update('Note', 1, { Title: 'second', Body: `${SECRET} again` });
  sandbox.store.update('Note', 2, { Body: 'kept', Title: 'other' });
  await run(['pull']);
  sandbox.store.delete('Note', 1);
  await run(['pull', '--confirm']);
  return {
    folder: made.folder,
    path,
    sandbox,
    run,
    nowMs: () => nowMs,
    rows: (query: string) => open((db) => db.prepare(query).all()),
    execute: (statements: string) => open((db) => db.exec(statements)),
    json: async (args: readonly string[]) => {
      const { stdout, stderr } = await run([...args, '--json']);
      if (stderr !== '') throw new Error(stderr);
      return JSON.parse(stdout) as Record<string, unknown>;
    },
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('of a forgotten row no byte is left in any table, its entries stay without values, and chains prove themselves', async () => {
  await using world = await startWorld();
  const had = readFileSync(world.path).includes(SECRET);

  const text = await world.run(['history', 'forget', 'note', '1']);

  world.execute('VACUUM'); // what is in no table goes

  expect(had).toBe(true);
  expect(text.stdout).toContain('Note 1: forgotten in 2 changes of the history, 1 line of sync_deleted\n');
  expect(text.stdout).toContain('backups that were made by hand are not known');
  for (const ending of ['', '-wal'].filter((end) => existsSync(world.path + end)))
    expect(readFileSync(world.path + ending).includes(SECRET)).toBe(false);
  expect(
    world.rows(`SELECT kind, before, after, origin_by, note FROM sync_history WHERE row_id = 1 ORDER BY id`),
  ).toEqual([
    { kind: 'update', before: '{}', after: '{}', origin_by: null, note: null },
    { kind: 'delete', before: '{}', after: null, origin_by: null, note: null },
    {
      kind: 'forgotten',
      before: null,
      after: null,
      origin_by: null,
      note: '{"column":null,"columnSeq":null,"entries":2}',
    },
  ]);
  expect(world.rows(`SELECT cause FROM sync_history WHERE kind = 'forgotten'`)).toEqual([{ cause: 'decision' }]);
  expect(world.rows('SELECT row_id, last_values FROM sync_deleted')).toEqual([{ row_id: 1, last_values: '{}' }]);
  expect(world.rows(`SELECT after ->> 'Body' AS body FROM sync_history WHERE row_id = 2`)).toEqual([{ body: 'kept' }]);
  expect((await world.run(['verify'])).exitCode).toBe(0);
});

test('what was forgotten is NULL at earlier moments, and undo does not make the row anew', async () => {
  await using world = await startWorld();
  await world.run(['history', 'forget', 'Note', '1']);

  const query = 'SELECT _id, "Title", "Body" FROM "Note" WHERE _id <= 2 ORDER BY _id';
  const then = await world.json(['sql', '--at', '2026-11-25T08:02:00Z', query]);
  const undone = await world.run(['undo', '3']);
  const life = await world.run(['history', 'Note', '1']);

  expect(then).toEqual([
    { _id: 1, Title: null, Body: null },
    { _id: 2, Title: 'other', Body: 'kept' },
  ]);
  expect(undone.stdout).toContain('  Note 1: some of its values were forgotten\n');
  expect(life.stdout).toContain('values removed on request');
});

test('the values of a column go by the name that it has now, also if it was renamed or pruned since the row left', async () => {
  await using world = await startWorld();
  world.sandbox.store.renameColumn('Note', 'Body', 'Text');
  world.sandbox.store.renameColumn('Note', 'Title', 'Body');
  await world.run(['pull']);
  world.sandbox.store.dropColumn('Note', 'Count');
  await world.run(['pull']);
  await world.run(['schema', 'prune', '--confirm']);

  for (const column of ['Text', 'Count (pruned)'])
    await world.run(['history', 'forget', 'Note', '1', '--column', column]);

  const [line] = world.rows('SELECT last_values FROM sync_deleted') as { last_values: string }[];
  const left = JSON.parse(line?.last_values ?? '') as Record<string, unknown>;
  expect(left).toMatchObject({ _id: 1, Body: 'second', Code: 'c1' });
  expect(Object.keys(left).filter((name) => /^(?:Text|Title|Count)/.test(name))).toEqual([]);
});

test('of a pruned column only its own values go, not those of a later column of that name', async () => {
  await using world = await startWorld();
  world.sandbox.store.dropColumn('Note', 'Body');
  await world.run(['pull']);
  await world.run(['schema', 'prune', '--confirm']);
  world.sandbox.store.addColumn('Note', { name: 'Body', type: 'Text' });
  world.sandbox.store.update('Note', 2, { Body: 'of the new column' });
  await world.run(['pull']);
  world.sandbox.store.delete('Note', 2);
  await world.run(['pull', '--confirm']);

  const [first, second] = [
    await world.json(['history', 'forget', 'Note', '1', '--column', 'Body (pruned)']),
    await world.json(['history', 'forget', 'Note', '2', '--column', 'Body (pruned)']),
  ];

  const lines = world.rows(`SELECT last_values ->> 'Body' AS body FROM sync_deleted ORDER BY row_id`);
  expect(lines).toEqual([{ body: null }, { body: 'of the new column' }]);
  expect([first, second]).toMatchObject([{ deletedCount: 1 }, { deletedCount: 0 }]);
});

test('of one column only its values go, also of a row that stands', async () => {
  await using world = await startWorld();

  const deleted = await world.json(['history', 'forget', 'Note', '1', '--column', 'body']);
  const standing = await world.json(['history', 'forget', 'Note', '2', '--column', 'Body']);

  world.execute('VACUUM');

  expect(deleted).toMatchObject({ table: 'Note', rowId: 1, column: 'Body', entryCount: 2, deletedCount: 1 });
  expect(standing).toMatchObject({ entryCount: 1, deletedCount: 0, fileCount: 0 });
  expect(readFileSync(world.path).includes(SECRET)).toBe(false);
  expect(
    world.rows(`SELECT after ->> 'Title' AS title, after ->> 'Body' AS body FROM sync_history WHERE kind = 'update'`),
  ).toEqual([
    { title: 'second', body: null },
    { title: 'other', body: null },
  ]);
  expect(world.rows(`SELECT last_values ->> 'Title' AS title FROM sync_deleted`)).toEqual([{ title: 'second' }]);
  expect(world.rows('SELECT "Body" FROM "Note" WHERE _id = 2')).toEqual([{ Body: 'kept' }]);
  expect(
    await world.json(['sql', '--at', '2026-11-25T08:01:00Z', 'SELECT "Title", "Body" FROM "Note" WHERE _id = 2']),
  ).toEqual([{ Title: 'title 2', Body: null }]);
});

test('a second time nothing is kept, and nothing is written', async () => {
  await using world = await startWorld();
  await world.run(['history', 'forget', 'Note', '1']);
  const count = world.rows('SELECT count(*) AS n FROM sync_history');

  const again = await world.run(['history', 'forget', 'Note', '1']);

  expect(again.stdout).toContain('Note 1: nothing was kept\n');
  expect(world.rows('SELECT count(*) AS n FROM sync_history')).toEqual(count);
});

test('of two tables of one name that which is here is meant, not the one that was pruned', async () => {
  await using world = await startWorld();
  const { store } = world.sandbox;
  store.dropTable('Note');
  await world.run(['pull', '--confirm']);
  await world.run(['schema', 'prune', '--confirm']);
  store.addTable(NOTE);
  await world.run(['pull']);
  store.update('Note', 1, { Body: 'of the new table' });
  await world.run(['pull']);

  const forgotten = await world.json(['history', 'forget', 'Note', '1']);

  const left = JSON.stringify(world.rows('SELECT CAST(cells AS TEXT) AS cells FROM _rowsync_history'));
  expect(forgotten).toMatchObject({ table: 'Note', rowId: 1, entryCount: 1 });
  expect(left).not.toContain('of the new table');
  expect(left).toContain(SECRET);
});

test('decided conflicts go, an open one has to be decided first', async () => {
  await using world = await startWorld();
  const conflict = (
    state: string,
  ) => `INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, base, winner, at, state)
    SELECT id, 'Note', 1, 'deletedThere', '{}', 'origin', '2026-11-25T08:00:00Z', '${state}' FROM _rowsync_tables`;
  world.execute(`${conflict('open')}; ${conflict('decided')}`);

  const refused = await world.run(['history', 'forget', 'Note', '1']);
  world.execute(`UPDATE _rowsync_conflicts SET state = 'resolved' WHERE state = 'open'`);
  const done = await world.json(['history', 'forget', 'Note', '1']);

  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toContain('Decide it first: rowsync resolve 1');
  expect(done['conflictCount']).toBe(2);
  expect(world.rows('SELECT * FROM sync_conflicts')).toEqual([]);
});

test('files of a deleted row go with their content, unless another row has it as well', async () => {
  await using world = await startWorld();
  const files = `${world.path}.files`;
  const put = (text: string): string => {
    const hash = createHash('sha256').update(text).digest('hex');
    const path = join(files, hash.slice(0, 2), hash);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return hash;
  };
  mkdirSync(join(files, 'incoming'), { recursive: true });
  const [own, shared] = [put('own'), put('shared')];
  const file = (row: number, hash: string) => `INSERT INTO _rowsync_files
    (table_id, column_id, row_id, table_name, column_name, revision, guid, name, bytes, sha256, state)
    SELECT table_id, id, ${row}, 'Note', 'Photo', 1, '${row}${hash}', 'a', 3, '${hash}', 'here' FROM _rowsync_columns WHERE local_name = 'Photo'`;
  world.execute([file(1, own), file(1, shared), file(2, shared)].join(';'));

  const done = await world.json(['history', 'forget', 'Note', '1']);

  expect(done).toMatchObject({ fileCount: 2, contentCount: 1 });
  expect([own, shared].map((hash) => existsSync(join(files, hash.slice(0, 2), hash)))).toEqual([false, true]);
  expect(world.rows('SELECT row_id FROM sync_files WHERE sha256 IS NOT NULL')).toEqual([{ row_id: 2 }]);
});

test('it says which backups and former replicas still have the row', async () => {
  await using world = await startWorld(`${TWO_WAY}backup: { folder: backups }\n`);
  const folder = join(world.folder, 'backups');
  mkdirSync(folder);
  const dated = () => datedBackups(world.path, { folder, database: world.sandbox.database, nowMs: world.nowMs() }).path;
  const having = dated();
  await world.run(['backup', having]);
  await world.run(['restore', having]);

  for (const key of ['page-key', 'doorbell-secret', 'mask-key']) writeFileSync(`${world.path}.${key}`, 'a key');

  const first = await world.json(['history', 'forget', 'Note', '1']);
  const clean = dated();
  await world.run(['backup', clean]);
  const second = await world.json(['history', 'forget', 'Note', '1']);

  const asides = [having, expect.stringContaining('replica.db.replaced-')] as unknown[];
  expect(first['copies']).toEqual(asides);
  expect(second['copies']).toEqual(asides);
  expect(second['unreadCopies']).toEqual([]);
});

test.each([
  { args: ['Nope', '1'], says: 'Nothing is kept of a table "Nope"' },
  { args: ['Note', 'x'], says: '"x" is not the _id of a row' },
  { args: ['Note', '1', '--column', 'Nope'], says: 'Note has no column "Nope"' },
])('$args is refused', async ({ args, says }) => {
  await using world = await startWorld();

  const refused = await world.run(['history', 'forget', ...args]);

  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain(says);
});

test('proposals lose what they had of the row where they are applied, and are named where they wait', async () => {
  await using world = await startWorld();
  const folder = `${world.path}.proposals`;
  mkdirSync(folder);
  const edit = {
    table: 'Note',
    kind: 'update',
    rowId: 1,
    cells: [{ column: 'Body', was: '"x"', value: `"${SECRET}"` }],
  };
  const other = { ...edit, rowId: 2, cells: [{ column: 'Body', was: '"x"', value: '"kept"' }] };
  const inserted = {
    table: 'Note',
    kind: 'insert',
    rowId: null,
    cells: [{ column: 'Body', was: null, value: '"new"' }],
  };
  const proposal = { note: `about ${SECRET}`, proposedAt: '2026-06-01T12:00:00Z' };
  const put = (name: string, ending: string, edits: readonly unknown[]): void =>
    writeFileSync(join(folder, `${name}${ending}`), JSON.stringify({ name, ...proposal, edits }));
  put('done', '.applied.json', [edit, other]);
  put('waiting', '.json', [edit]);
  put('new-rows', '.applied.json', [inserted]);
  put('elsewhere', '.applied.json', [other]);

  const { stdout } = await world.run(['history', 'forget', 'note', '1', '--column', 'body']);

  const done = readFileSync(join(folder, 'done.applied.json'), 'utf8');
  expect(stdout).toContain(', 1 applied proposal\n');
  expect(stdout).toContain('may have it: the proposal waiting (rowsync proposals show waiting, or drop)\n');
  expect(stdout).toContain('may have it: the proposal new-rows');
  expect(stdout).not.toContain('elsewhere');
  expect(done).not.toContain(SECRET);
  expect(JSON.parse(done)).toMatchObject({ note: '', edits: [{ rowId: 1, cells: [] }, other] });
  expect((await world.run(['proposals'])).stdout).toContain('done  2 edits');
});

test('a history that contradicts itself is begun anew, and keeps what was before', async () => {
  await using world = await startWorld();
  world.execute(`UPDATE _rowsync_history SET cells = replace(cells, 'second', 'third') WHERE kind = 'delete'`);
  const count = () =>
    (world.rows(`SELECT count(*) AS n FROM sync_history WHERE row_id IS NOT NULL`) as { n: number }[])[0]?.n;
  const broken = await world.run(['verify']);
  const before = count();

  const text = await world.run(['history', 'restart', 'note']);
  await world.run(['pull']);
  const mended = await world.run(['verify']);
  world.sandbox.store.update('Note', 2, { Title: 'later' });
  await world.run(['pull']);

  expect(broken.exitCode).toBe(1);
  expect(broken.stdout).toContain('rowsync history restart "Note" && rowsync pull "Note"');
  expect(text.stdout).toBe('Note: its history begins anew with the next pull\n');
  expect(mended.exitCode).toBe(0);
  expect(before).toBeGreaterThan(0);
  expect(count()).toBe((before ?? 0) + 1);
  expect(world.rows(`SELECT kind, note FROM sync_history WHERE kind IN ('begin', 'end') ORDER BY id`)).toEqual([
    { kind: 'begin', note: null },
    { kind: 'end', note: '{"why":"rowsync history restart"}' },
    { kind: 'begin', note: null },
  ]);
});

test('a history that is not kept cannot be begun anew', async () => {
  await using world = await startWorld('tables: { Note: { push: true, match: Code } }\n');

  const refused = await world.run(['history', 'restart', 'Note']);

  expect(refused.stderr).toContain('No history is kept of Note');
  expect(refused.exitCode).not.toBe(0);
});

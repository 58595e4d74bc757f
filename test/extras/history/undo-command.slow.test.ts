/**
 * `rowsync undo`: changes taken back as edits, never over what changed since.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { Random } from '../../../src/sandbox/data/random.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { seeds } from '../../support/seeds.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const TWO_WAY = `tables: { Note: { push: true, match: Code, history: true } }\n`;
const START_MS = Date.parse('2026-11-25T08:00:00Z');
const CELLS = `SELECT "Title", "Code", "Body", "Count", "Done", "Due" FROM "Note" ORDER BY "Code", _id`;

interface Undone {
  readonly putback: { readonly rows: readonly { oldId: number; state?: string; fate?: string }[] } | null;
  readonly tables: readonly {
    readonly table: string;
    readonly written: boolean;
    readonly rows: readonly {
      rowId: number;
      kind: string;
      cells: { column: string; base: unknown; local: unknown }[];
    }[];
    readonly withdrawn: readonly number[];
    readonly refused: readonly { rowId: number; column: string | null; why: string }[];
  }[];
}

/** A pulled table with history; every command is a minute later. */
async function startWorld(yaml = TWO_WAY, tables: readonly TableSpec[] = [NOTE]) {
  let nowMs = START_MS;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const sandbox = await startTestSandbox({ tables, clock });
  const made = makeWorkspace(sandbox, yaml);
  const run = (args: readonly string[]) => {
    nowMs += 60_000;
    return runCli(args, { folder: made.folder, clock });
  };
  const execute = (statements: string): void => {
    const db = new Database(join(made.folder, 'replica.db'));
    db.exec(statements);
    db.close();
  };
  await run(['pull']);
  return {
    store: sandbox.store,
    now: () => new Date(nowMs).toISOString(),
    run,
    execute,
    cells: async () => (await run(['sql', '--json', CELLS])).stdout,
    undo: async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await run(['undo', ...args, '--json']);
      if (stderr !== '') throw new Error(stderr);
      return { exitCode, ...(JSON.parse(stdout) as Undone) };
    },
    lastRun: async () =>
      (JSON.parse((await run(['log', '--json'])).stdout) as { runs: { runId: number }[] }).runs[0]?.runId.toString() ??
      '',
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('a run is taken back: changes are changed back, new rows deleted, deleted rows put back at the origin after a plan', async () => {
  await using world = await startWorld();
  const { store } = world;
  const before = await world.cells();
  store.update('Note', 1, { Title: 'theirs', Count: 12.5 });
  store.delete('Note', 2);
  store.insert('Note', { Title: 'seven', Code: 'c7' });
  await world.run(['pull', '--confirm']);

  const run = await world.lastRun();
  const shown = await world.run(['undo', run, '--dry-run']);
  const untouched = await world.run(['plan']);
  const edited = await world.run(['undo', run]);
  const rowCount = store.rows('Note').length;
  const undone = await world.undo(run, '--confirm');
  const again = await world.undo(run, '--confirm');
  await world.run(['push', '--confirm']);
  await world.run(['pull']);

  expect(shown.stdout).toContain('  update 1  Title: "theirs" -> "title 1", Count: 12.5 -> 1\n');
  expect(shown.stdout).toContain('2 rows: nothing was edited\n');
  expect(shown.stdout).toContain('deleted rows, back at the origin:\nwould be created, parents first:\n  Note 2');
  expect(untouched.stdout).toBe('Nothing to push\n');
  expect([edited.exitCode, rowCount]).toEqual([3, 6]);
  expect(edited.stdout).toContain('Nothing was sent: --confirm puts them back\n');
  expect([undone.exitCode, undone.tables[0]?.rows]).toEqual([0, []]);
  expect(undone.putback?.rows).toMatchObject([{ oldId: 2, state: 'done' }]);
  expect(again.putback?.rows).toEqual(undone.putback?.rows);
  expect(await world.cells()).toBe(before);
  expect(store.rows('Note')).toHaveLength(6);
});

test('a row of a table with a thousand columns is put back', async () => {
  const columns = Array.from({ length: 1_000 }, (_, index) => ({ name: `Column ${index + 1}`, type: 'Text' as const }));
  const rows = [1, 2].map((at) => ({ 'Column 1': `first of ${at}`, 'Column 1000': `last of ${at}` }));
  await using world = await startWorld('tables: { Wide: { history: true } }\n', [{ name: 'Wide', columns, rows }]);
  world.store.delete('Wide', 2, { purge: true });
  await world.run(['pull', '--confirm']);

  const undone = await world.undo(await world.lastRun(), '--confirm');

  expect([undone.exitCode, undone.putback?.rows]).toMatchObject([0, [{ oldId: 2, state: 'done' }]]);
  expect(world.store.rows('Wide').map(({ values }) => values['Column 1000'])).toEqual(['last of 1', 'last of 2']);
});

test('what was put back is counted by run, without earlier ones', async () => {
  await using world = await startWorld();
  for (const id of [2, 3]) world.store.delete('Note', id);
  await world.run(['pull', '--confirm']);
  const first = await world.lastRun();
  await world.run(['undo', first, '--confirm']);
  await world.run(['pull']);
  world.store.delete('Note', 4);
  await world.run(['pull', '--confirm']);

  const second = await world.run(['undo', await world.lastRun(), '--confirm']);
  const again = await world.run(['undo', await world.lastRun(), '--confirm']);

  expect(second.stdout).toContain('Note: done 1\n');
  expect(again.stdout).toMatch(/Nothing to put back\nleft alone:\n {2}Note 4.*: put back before as \d+\n/);
  expect(again.stdout).not.toContain('done');
});

test('a delete that has not reached the origin is taken back here, and nothing is asked there', async () => {
  await using world = await startWorld();
  const before = await world.cells();
  world.execute('DELETE FROM "Note" WHERE _id = 2');
  await world.run(['pull']);

  const undone = await world.undo('--since', '2026-11-25T08:01:30Z');

  expect([undone.exitCode, undone.putback]).toEqual([0, null]);
  expect(undone.tables[0]).toMatchObject({ rows: [], withdrawn: [2], refused: [] });
  expect(await world.cells()).toBe(before);
  world.store.update('Note', 2, { Title: 'theirs' });
  const pushed = await world.run(['sync', '--json']);
  expect(pushed.exitCode).toBe(0);
  expect(world.store.rows('Note').map(({ values }) => values['Title'])).toContain('theirs');
  expect(world.store.rows('Note')).toHaveLength(6);
});

test('a delete that may have arrived is not withdrawn', async () => {
  await using world = await startWorld();
  world.execute(`DELETE FROM "Note" WHERE _id = 2; UPDATE _rowsync_rows SET state = 'sending'`);

  const undone = await world.undo('--since', '2026-11-25T08:01:30Z');

  expect(undone.exitCode).toBe(3);
  expect(undone.tables[0]).toMatchObject({ withdrawn: [], refused: [{ rowId: 2, column: null }] });
});

test('a row that comes back has what the origin has, and what it was here otherwise is listed', async () => {
  await using world = await startWorld();
  world.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);
  await world.run(['pull']);
  await world.run(['status']);
  const since = world.now();
  world.execute('DELETE FROM "Note" WHERE _id = 2');

  const undone = await world.undo('--since', since);

  expect(undone.exitCode).toBe(3);
  expect(undone.tables[0]).toMatchObject({ rows: [], withdrawn: [2] });
  expect(undone.tables[0]?.refused).toMatchObject([{ rowId: 2, column: 'Title' }]);
  const plan = await world.run(['plan', '--json']);
  expect(plan.stdout).not.toContain('"rowId"');
});

test('edits that no run has recorded yet are taken back, too', async () => {
  await using world = await startWorld();
  const before = await world.cells();
  const since = world.now();
  world.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);

  const undone = await world.undo('--since', since);

  expect(undone.exitCode).toBe(0);
  expect(undone.tables[0]).toMatchObject({ rows: [{ rowId: -2, kind: 'delete' }, { rowId: 1 }], withdrawn: [2] });
  expect(await world.cells()).toBe(before);
});

test('an unrecorded edit that may be older than the moment is left, and listed', async () => {
  await using world = await startWorld();
  world.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE _rowsync_rows SET since = 1`);

  const undone = await world.undo('--since', world.now());

  expect(undone.exitCode).toBe(3);
  expect(undone.tables[0]?.refused).toMatchObject([{ rowId: 1, column: null }]);
});

test('what changed since is refused and listed, and the rest is taken back', async () => {
  await using world = await startWorld();
  world.store.update('Note', 1, { Title: 'theirs', Body: 'theirs' });
  world.store.update('Note', 2, { Title: 'theirs' });
  world.store.insert('Note', { Title: 'seven', Code: 'c7' });
  await world.run(['pull']);
  const run = await world.lastRun();
  world.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id IN (1, 7); DELETE FROM "Note" WHERE _id = 2`);

  const undone = await world.undo(run);

  expect(undone.exitCode).toBe(3);
  expect(undone.tables[0]?.rows).toMatchObject([
    { rowId: 1, cells: [{ column: 'Body', base: 'theirs', local: null }] },
  ]);
  expect(undone.tables[0]?.refused).toEqual([
    { rowId: 1, column: 'Title', why: 'changed since' },
    { rowId: 2, column: null, why: 'the row was deleted since' },
    { rowId: 7, column: 'Title', why: 'changed since' },
  ]);
  expect(await world.cells()).toContain('mine');
});

test('since a moment, the listing names whose changes at the origin are taken back with an edit', async () => {
  await using world = await startWorld();
  await world.run(['status']);
  const since = world.now();
  world.execute(`UPDATE "Note" SET "Count" = 5 WHERE _id = 1; UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3`);
  await world.run(['push']);
  await world.run(['pull']);
  const colleague = { ...world.store.user, firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' };
  world.store.update('Note', 1, { Count: 111 }, colleague);
  world.store.update('Note', 2, { Title: 'theirs' }, colleague);
  await world.run(['pull']);

  const shown = await world.run(['undo', '--since', since, '--dry-run']);
  const undone = await world.undo('--since', since);

  expect(shown.stdout).toContain('Count: 111 -> 1');
  expect(shown.stdout).toMatch(/also takes back what was changed at the origin by Ann Lee.*: Note 1, Note 2\n/);
  expect(shown.stdout.match(/also takes back/g)).toHaveLength(1);
  expect(undone.tables[0]).toMatchObject({ ofOrigin: [{ rowId: 1 }, { rowId: 2 }] });
});

test('since a moment, rows that were made and pushed from here are not named as changes of the origin', async () => {
  await using world = await startWorld();
  await world.run(['status']);
  const since = world.now();
  world.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8'), ('mine too', 'c9')`);
  world.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  await world.run(['push']);
  await world.run(['pull']);
  const own = await world.run(['undo', '--since', since, '--dry-run']);
  const colleague = { ...world.store.user, firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' };
  world.store.update('Note', 8, { Count: 111 }, colleague);
  await world.run(['pull']);

  const shown = await world.run(['undo', '--since', since, '--dry-run']);

  expect(own.stdout).toContain('3 rows: nothing was edited\n');
  expect(own.stdout).not.toContain('also takes back');
  expect(shown.stdout).toMatch(/also takes back what was changed at the origin by Ann Lee.*: Note 8\n/);
  expect(shown.stdout.match(/also takes back/g)).toHaveLength(1);
});

test('a row that a trigger refuses is named, and the others are taken back', async () => {
  await using world = await startWorld();
  for (const id of [1, 2]) world.store.update('Note', id, { Title: 'theirs' });
  await world.run(['pull']);
  const run = await world.lastRun();
  world.execute(
    `CREATE TRIGGER mine BEFORE UPDATE ON "Note" WHEN OLD._id = 1 BEGIN SELECT RAISE(ABORT, 'closed'); END`,
  );

  const { exitCode, tables } = await world.undo(run);

  expect(exitCode).toBe(3);
  expect(tables).toMatchObject([{ rows: [{ rowId: 2 }], refused: [{ rowId: 1, column: null }] }]);
  expect(tables[0]?.refused[0]?.why).toContain('trigger');
});

test('rows that are put back are not linked to rows and cells that the same undo takes away', async () => {
  const customer: TableSpec = { name: 'Customer', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'Ada' }] };
  const order: TableSpec = {
    name: 'Order',
    columns: [{ name: 'Customer', type: 'Text' }],
    rows: [{ Customer: '' }, { Customer: '1' }],
  };
  const both = 'push: true, history: true';
  await using world = await startWorld(`tables: { Customer: { ${both} }, Order: { ${both} } }\n`, [customer, order]);
  const { store } = world;
  store.update('Order', 2, { Customer: '' });
  await world.run(['pull']);
  await world.run(['status']);
  const since = world.now();
  store.update('Order', 1, { Customer: '1' });
  store.insert('Order', { Customer: '1' });
  await world.run(['pull']);
  store.delete('Customer', 1, { purge: true });
  await world.run(['pull', '--confirm']);

  const undone = await world.undo('--since', since, '--confirm');
  const pushed = await world.run(['push', '--confirm']);

  expect([undone.exitCode, pushed.exitCode]).toEqual([0, 0]);
  expect(store.rows('Customer').map(({ values }) => values['Name'])).toEqual(['Ada']);
  expect(store.rows('Order').map(({ id, values }) => [id, values['Customer'] ?? ''])).toEqual([
    [1, ''],
    [2, ''],
  ]);
});

test('a row whose delete is withdrawn is named where it refers to a row that is put back under another key', async () => {
  const customer: TableSpec = { name: 'Customer', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'Ada' }] };
  const order: TableSpec = {
    name: 'Order',
    columns: [{ name: 'Customer', type: 'Text' }],
    rows: [{ Customer: '1' }],
  };
  await using world = await startWorld(
    `tables: { Customer: { history: true }, Order: { push: true, history: true, references: { Customer: Customer } } }\n`,
    [customer, order],
  );
  await world.run(['status']);
  const since = world.now();
  world.store.delete('Customer', 1, { purge: true });
  await world.run(['pull', '--confirm']);
  world.execute('DELETE FROM "Order" WHERE _id = 1');

  const undone = await world.undo('--since', since, '--confirm');

  expect(undone.exitCode).toBe(3);
  expect(undone.tables.find(({ table }) => table === 'Order')).toMatchObject({
    withdrawn: [1],
    refused: [{ rowId: 1, column: 'Customer' }],
  });
});

test('the second time there is nothing to take back', async () => {
  await using world = await startWorld();
  world.store.update('Note', 1, { Title: 'theirs' });
  world.store.delete('Note', 2);
  await world.run(['pull', '--confirm']);
  const run = await world.lastRun();
  await world.undo(run, '--confirm');
  await world.run(['pull']);

  const again = await world.undo(run);
  await world.run(['push', '--confirm']);
  const pushed = await world.undo(run);

  expect(again.tables[0]?.rows).toEqual([]);
  expect(pushed.tables[0]?.rows).toEqual([]);
  expect((await world.run(['undo', run])).stdout).toBe('Nothing to take back\n');
});

test.each([[['push']], [['pull', 'push']]])(
  'undo of a push names the moment that reaches its edits, after %j',
  async (work) => {
    await using world = await startWorld();
    const before = await world.cells();
    world.execute(
      `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'c8')`,
    );
    for (const command of work) await world.run([command]);
    const runs = await world.run(['sql', '--json', `SELECT max(id) AS id FROM sync_runs WHERE kind = 'push'`]);
    const [{ id }] = JSON.parse(runs.stdout) as [{ id: number }];

    const { exitCode, stdout } = await world.run(['undo', String(id)]);
    const since = /rowsync undo --since (\S+) --dry-run/.exec(stdout)?.[1] ?? '';
    const undone = await world.undo('--since', since);

    expect(exitCode).toBe(0);
    expect(stdout).toContain('Nothing to take back\nThe edits that a push sent are older than its run: ');
    expect(undone.tables[0]?.rows.map(({ kind }) => kind)).toEqual(['delete', 'update']);
    expect(await world.cells()).toBe(before);
  },
);

test.each([
  { edit: `DELETE FROM "Note" WHERE _id IN (1, 2)`, changes: '2 deletes taken by the origin\n' },
  {
    edit: `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3; DELETE FROM "Note" WHERE _id = 1`,
    changes: '1 delete taken by the origin\n  Note: 1 edit taken by the origin\n',
  },
])('deletes that a push sent are in the log, and undo names the moment that reaches them: $changes', async (row) => {
  await using world = await startWorld();
  world.execute(`DELETE FROM "Note" WHERE _id = 4`);
  await world.run(['sync', '--confirm']);
  world.execute(row.edit);
  await world.run(['pull']);
  world.store.update('Note', 5, { Title: 'theirs' });
  await world.run(['pull']);
  await world.run(['push', '--confirm']);
  const push = await world.lastRun();

  const log = await world.run(['log', '--run', push]);
  const whole = await world.run(['log']);
  const advice = await world.run(['undo', push, '--dry-run']);
  const since = /rowsync undo --since (\S+) --dry-run/.exec(advice.stdout + advice.stderr)?.[1] ?? '';
  const undone = await world.undo('--since', since, '--dry-run');

  expect(log.stdout).toMatch(/^run \d+, push/);
  expect(log.stdout).toContain(`  Note: ${row.changes}`);
  expect(whole.stdout.startsWith(log.stdout.slice(0, log.stdout.indexOf('\n')))).toBe(true);
  expect(undone.putback?.rows.map(({ oldId }) => oldId)).toEqual(row.changes.startsWith('2') ? [1, 2] : [1]);
});

test.each(seeds(4))('undo of undo is nothing, seed %i', async (seed) => {
  await using world = await startWorld();
  const random = new Random(seed);
  const { store } = world;
  const before = await world.cells();
  for (let change = 0; change < 6; change += 1) {
    const ids = store.ids('Note');
    const id = ids[random.integer(0, ids.length - 1)] ?? 1;
    const draw = random.integer(0, 4);
    if (draw === 0) store.insert('Note', { Title: `new ${change}`, Code: `n${change}` });
    else if (draw === 1) store.delete('Note', id);
    else store.update('Note', id, { Title: `t${change}`, Count: [null, 0.1, 3][random.integer(0, 2)] ?? null });
  }
  await world.run(['pull', '--confirm']);
  const changed = await world.cells();

  const undoneAt = world.now();
  const first = await world.undo(await world.lastRun(), '--confirm');
  await world.run(['push', '--confirm']);
  await world.run(['pull']);
  const back = await world.cells();
  const second = await world.undo('--since', undoneAt, '--confirm');
  await world.run(['push', '--confirm']);
  await world.run(['pull']);

  expect([...first.tables, ...second.tables].flatMap(({ refused }) => refused)).toEqual([]);
  expect(back).toBe(before);
  expect(await world.cells()).toBe(changed);
  await world.run(['push', '--confirm']);
  expect(await world.cells()).toBe(changed);
});

test('since a moment, of one table and one row', async () => {
  await using world = await startWorld();
  world.store.update('Note', 1, { Title: 'one' });
  world.store.update('Note', 2, { Title: 'two' });
  await world.run(['pull']);
  world.store.update('Note', 1, { Title: 'uno' });
  await world.run(['pull']);

  const undone = await world
    .undo('--since', '10m', '--table', 'Note', '--row', '1', '--dry-run')
    .catch((thrown: unknown) => String(thrown));
  const row = await world.undo('--since', '2026-11-25T08:01:00Z', '--table', 'note', '--row', '1');

  expect(undone).toContain('history.unknown');
  expect(row.tables[0]?.rows).toMatchObject([
    { rowId: 1, cells: [{ column: 'Title', base: 'uno', local: 'title 1' }] },
  ]);
});

test('a row that was made here, and got its id from the origin since, is the same row', async () => {
  await using world = await startWorld();
  world.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'c8')`);
  await world.run(['pull']);
  const edit = await world.lastRun();
  await world.run(['push']);
  const push = await world.lastRun();

  const moved = await world.undo(push, '--dry-run').catch((thrown: unknown) => String(thrown));
  const undone = await world.undo(edit);

  expect(moved).toContain(`No change of run ${push} is known`);
  expect(moved).toContain('rowsync undo --since 2026-');
  expect(undone.tables[0]).toMatchObject({ rows: [{ kind: 'delete', rowId: 7 }], refused: [] });
});

test('rows that changed only in computed columns are counted', async () => {
  await using world = await startWorld();
  for (const id of [1, 2]) world.store.update('Note', id, { Total: 20 });
  await world.run(['pull', '--confirm']);

  const { exitCode, stdout } = await world.run(['undo', await world.lastRun()]);

  const rows = 'Note: 2 rows changed only in computed or read-only columns, which no edit can take back\n';
  expect([exitCode, stdout]).toEqual([0, `Nothing to take back\n${rows}`]);
});

test('of a mirror nothing is written, and the list says what to change: a person is needed', async () => {
  await using world = await startWorld(`tables: { Note: { history: true } }\n`);
  world.store.update('Note', 1, { Title: 'theirs' });
  world.store.update('Note', 2, { Total: 20 });
  await world.run(['pull']);
  const before = await world.cells();

  const text = await world.run(['undo', await world.lastRun()]);
  const json = await world.undo(await world.lastRun());

  expect(text.stdout).toContain(
    '  update 1  Title: "theirs" -> "title 1"\n1 row: of mirrors, where nothing is written',
  );
  expect(json.tables).toMatchObject([{ written: false, computed: 1 }]);
  expect([text.exitCode, json.exitCode]).toEqual([3, 3]);
  expect(await world.cells()).toBe(before);
});

test.each([
  { args: [], says: 'either the number of a run or --since' },
  { args: ['1', '--since', '1h'], says: 'either the number of a run or --since' },
  { args: ['1', '--row', '1'], says: '--row needs --table' },
  { args: ['1', '--dry-run', '--confirm'], says: "option '--confirm' cannot be used with option '--dry-run'" },
  { args: ['x'], says: '"x" is not the number of a run' },
  { args: ['99'], says: 'No change of run 99 is known' },
  { args: ['--since', '2026-11-25T07:00:00Z'], says: 'Its history begins at' },
])('$args is refused', async ({ args, says }) => {
  await using world = await startWorld();

  const refused = await world.run(['undo', ...args]);

  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain(says);
});

test('tables without a history are named, since nothing of them can be taken back', async () => {
  const others = ['Task', 'Visit'].map((name): TableSpec => ({ ...NOTE, name }));
  await using world = await startWorld(`tables: { '*': {}, Note: { history: true } }\n`, [NOTE, ...others]);
  const since = world.now();

  const some = await world.run(['undo', '--since', since]);
  const one = await world.run(['undo', '--since', since, '--table', 'Note']);
  const json = await world.run(['undo', '--since', since, '--json']);

  expect(some.stdout).toBe('Nothing to take back\nNot looked at, since no history is kept of them: Task, Visit\n');
  expect(one.stdout).toBe('Nothing to take back\n');
  expect(JSON.parse(json.stdout)).toMatchObject({ withoutHistory: ['Task', 'Visit'] });
});

test('of a table that was pruned nothing can be taken back', async () => {
  await using world = await startWorld(`tables: { '*': { push: true, history: true } }\n`, [
    NOTE,
    { ...NOTE, name: 'Other' },
  ]);
  world.store.update('Note', 1, { Title: 'theirs' });
  await world.run(['pull']);
  const run = await world.lastRun();
  world.store.dropTable('Note');
  await world.run(['pull', '--confirm']);
  await world.run(['schema', 'prune', '--confirm']);

  const { exitCode, stderr } = await world.run(['undo', run, '--table', 'Note (pruned)']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('The changes of Note (pruned) are not kept');
});

test('without any history nothing can be taken back', async () => {
  await using world = await startWorld(`tables: { Note: {} }\n`);

  const { exitCode, stderr } = await world.run(['undo', '--since', '1m']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('No history is kept of any table');
});

test('rows that entered or left the filter of a table are left alone: at the origin they were neither made nor deleted', async () => {
  await using world = await startWorld(
    `tables: { Note: { push: true, match: Code, history: true, rows: '[Title] <> "away"' } }\n`,
  );
  const { store } = world;
  store.update('Note', 2, { Title: 'away' });
  await world.run(['pull']);
  store.update('Note', 2, { Title: 'back' });
  store.update('Note', 3, { Title: 'away' });
  await world.run(['pull']);
  store.update('Note', 1, { Title: 'theirs' });
  await world.run(['pull']);

  const { tables } = await world.undo('--since', new Date(START_MS + 90_000).toISOString());

  expect(tables.flatMap(({ rows }) => rows.map(({ rowId, kind }) => [rowId, kind]))).toEqual([[1, 'update']]);
  await world.run(['push']);
  expect(store.rows('Note').map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
});

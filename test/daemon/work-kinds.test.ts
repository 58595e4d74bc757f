/** What each kind of work runs, narrowed to the tables whose turn it is, and its outcome in one form for all. */
import { questionOf } from '../../src/daemon/circuit-breaker.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openResources } from '../../src/daemon/resources.ts';
import {
  contextFor,
  isAnyFollowed,
  isEnd,
  outcomeOfTables,
  pullFilesAfter,
  runWork,
  workOfExtras,
  type ExtraWork,
} from '../../src/daemon/work-kinds.ts';
import { makeWorkspace } from '../support/child.ts';
import { testClock } from '../support/clock.ts';
import { fileOf, startFilesFixture } from '../support/files.ts';
import { startFixture } from '../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const columns = [{ name: 'Cover', type: 'Attachment' }];
const TABLES = ['Album', 'Book'].map((name) => ({ name, columns, rows: [{ Cover: fileOf(`${name}.png`, name) }] }));

test('files come for the tables whose rows came', async () => {
  await using fixture = await startFilesFixture({ tables: TABLES });
  fixture.sandbox.answerInstead(1, { status: 400, body: '{}', headers: {} }, { method: 'select' });
  const rows = await fixture.pull();

  const files = await pullFilesAfter(fixture.filesContext(), rows);

  const whole = rows.tables.filter(({ error }) => error === null);
  expect(whole).toHaveLength(1);
  expect(files).toMatchObject({ downloadedCount: 1, error: null });
  expect(fixture.files()).toMatchObject([{ table: whole[0]?.table, state: 'here' }]);
});

test('no file is asked for where the pull ended as a whole, or was told to stop', async () => {
  await using fixture = await startFilesFixture({ tables: TABLES });
  const whole = await fixture.pull();
  fixture.sandbox.store.revokeToken(fixture.sandbox.token);
  const refused = await fixture.pull();
  fixture.sandbox.requests.clear();

  const after = await pullFilesAfter(fixture.filesContext(), refused);
  const context = { ...fixture.filesContext(), signal: AbortSignal.abort() };
  const stopped = await pullFilesAfter(context, whole);

  expect([after, stopped]).toEqual([null, null]);
  expect(fixture.sandbox.requests.all).toEqual([]);
});

const errorOf = (kind: ErrorKind, code: ErrorCode): RowsyncError =>
  new RowsyncError(kind, code, { message: code, hint: '' });
const GUARD = errorOf('needsPerson', 'guard.deletes');

/** A daemon's resources on a sandbox, and its work on the tables that `takes` names; all unless given. */
async function working(sandbox: TestSandbox, yaml = '') {
  const workspace = makeWorkspace(sandbox, yaml);
  const clock = testClock();
  const log = silentLogger;
  const { config } = loadConfig(join(workspace.folder, 'rowsync.yaml'));
  const resources = await openResources(config, { clock, log }, null);
  const read: string[] = [];
  let advanceCount = 0;
  const work = (choice: { takes?: readonly string[]; isRefresh?: boolean; withPull?: boolean } = {}) =>
    contextFor(resources, {
      clock,
      signal: new AbortController().signal,
      takes: (table) => choice.takes?.includes(table) ?? true,
      isRefresh: choice.isRefresh ?? false,
      comesWithPull: () => choice.withPull ?? false,
      onTable: (table) => void read.push(table),
      onAdvance: () => void (advanceCount += 1),
      onProgress: () => undefined,
    });
  return {
    resources,
    work,
    read,
    advanceCount: () => advanceCount,
    /** Runs SQL as another SQL client would, and returns the rows that a query has. */
    sql: (text: string): readonly unknown[] => {
      const db = new Database(resources.replica.path);
      try {
        const statement = db.prepare(text);
        if (statement.reader) return statement.all();
        statement.run();
        return [];
      } finally {
        db.close();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await resources.close();
      workspace[Symbol.dispose]();
    },
  };
}

describe('work of the core', () => {
  const titled = [{ name: 'Title', type: 'Text' }] as const;
  const start = () =>
    startTestSandbox({ tables: ['Note', 'Order'].map((name) => ({ name, columns: titled, rows: [{ Title: name }] })) });

  test('a pull reads the tables whose turn it is, and leaves the others alone', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox);

    const outcome = await runWork('pull', daemon.work({ takes: ['Order'] }), {});

    expect(outcome).toMatchObject({ error: null, isOver: false, own: null, held: null });
    expect(outcome.tables).toMatchObject([
      { name: 'Order', localName: 'Order', counts: { insertedCount: 1, updatedCount: 0, deletedCount: 0 } },
    ]);
    expect(outcome.facts).toMatchObject({ tableCount: 1, insertedCount: 1, fileCount: 0 });
    expect(new Set(daemon.read)).toEqual(new Set(['Order']));
    expect(daemon.advanceCount()).toBeGreaterThan(0);
    expect(sandbox.requests.count({ method: 'select', table: 'Note' })).toBe(0);
  });

  test('a pull that the origin refuses is over, and says so once for all tables', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox);
    sandbox.store.revokeToken(sandbox.token);

    const outcome = await runWork('pull', daemon.work(), {});

    expect(outcome).toMatchObject({ error: { kind: 'auth' }, isOver: true, own: null, tables: [] });
  });

  test('files are fetched for the tables whose turn it is, and a run without any asks nothing', async () => {
    await using sandbox = await startTestSandbox({ tables: TABLES });
    await using daemon = await working(sandbox);
    await runWork('pull', daemon.work(), {});
    sandbox.requests.clear();

    const none = await runWork('files', daemon.work({ takes: ['Nothing'] }), {});
    expect(none).toMatchObject({ error: null, own: null, facts: { fileCount: 0 } });
    expect(sandbox.requests.all).toEqual([]);
    const some = await runWork('files', daemon.work({ takes: ['Album'] }), {});

    expect(some.facts).toMatchObject({ tableCount: 1, fileCount: 1, failedFileCount: 0 });
  });

  test('a file store that cannot be written fails the files, and not the rows', async () => {
    await using sandbox = await startTestSandbox({ tables: TABLES });
    await using daemon = await working(sandbox);
    writeFileSync(daemon.resources.config.replica.files, 'a file where the folder belongs');

    const outcome = await runWork('pull', daemon.work({ withPull: true }), {});

    expect(outcome.tables.map(({ name }) => name).toSorted()).toEqual(['Album', 'Book']);
    expect(outcome.tables.filter(({ error }) => error !== null)).toEqual([]);
    expect(outcome).toMatchObject({ error: null, isOver: false });
    expect(outcome.own).not.toBeNull();
  });

  test('a push sends the edits of the tables whose turn it is', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox, 'tables: { "*": { push: true } }\n');
    await runWork('pull', daemon.work(), {});
    for (const table of ['Note', 'Order']) daemon.sql(`UPDATE "${table}" SET "Title" = 'edited'`);

    const outcome = await runWork('push', daemon.work({ takes: ['Note'] }), {});

    expect(outcome).toMatchObject({ error: null, own: null, account: { began: 1, arrived: 1 } });
    expect(outcome.facts).toMatchObject({ updatedCount: 1, refusedCount: 0 });
    const titles = ['Note', 'Order'].map((name) => sandbox.store.rows(name).map(({ values }) => values['Title']));
    expect(titles).toEqual([['edited'], ['Order']]);
  });

  test('a push without the right to write a table leaves the failure to that table, and sends the others', async () => {
    await using sandbox = await startTestSandbox({
      tables: ['Note', 'Order'].map((name) => ({
        name,
        columns: titled,
        rows: [{ Title: name }, { Title: 'second' }],
      })),
      intercept: (request, response) => {
        if (request.method !== 'update' || request.table !== sandbox.store.table('Note').alias) return false;
        response.writeHead(403, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ error: 403, code: 0, message: 'No access' }));
        return true;
      },
    });
    await using daemon = await working(sandbox, 'tables: { "*": { push: true } }\n');
    await runWork('pull', daemon.work(), {});
    for (const table of ['Note', 'Order']) daemon.sql(`UPDATE "${table}" SET "Title" = 'edited'`);

    const outcome = await runWork('push', daemon.work(), {});

    expect(outcome).toMatchObject({ error: null, own: null, isOver: false, account: { began: 4, arrived: 2 } });
    expect(new Map(outcome.tables.map(({ name, error }) => [name, error?.code]))).toEqual(
      new Map([
        ['Note', 'push.forbidden'],
        ['Order', undefined],
      ]),
    );
    expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('Note');
  });

  test('a table that cannot be pushed for another reason fails this push alone, and is pushed on the next tick', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox, 'tables: { "*": { push: true } }\n');
    await runWork('pull', daemon.work(), {});
    daemon.sql(`UPDATE "Note" SET "Title" = 'edited'`);
    daemon.sql(`CREATE TRIGGER mine BEFORE UPDATE ON "Note" BEGIN SELECT RAISE(IGNORE); END`);

    const outcome = await runWork('push', daemon.work(), {});

    expect(outcome.own?.message).toContain('the trigger "mine" of another program');
    expect(outcome).toMatchObject({ error: null, isOver: false, isStored: true });
    expect(outcome.tables.filter(({ error }) => error !== null)).toEqual([]);
  });

  test('a table whose changes are never answered fails this push alone: the origin answers all else', async () => {
    await using sandbox = await startTestSandbox({
      tables: [
        { name: 'Note', columns: titled, rows: Array.from({ length: 50 }, (_, index) => ({ Title: `n ${index}` })) },
        { name: 'Order', columns: titled, rows: [{ Title: 'Order' }] },
      ],
      intercept: (request, response) => {
        if (request.method !== 'update' || request.table !== sandbox.store.table('Note').alias) return false;
        response.destroy();
        return true;
      },
    });
    await using daemon = await working(sandbox, 'tables: { "*": { push: true } }\n');
    await runWork('pull', daemon.work(), {});
    for (const table of ['Note', 'Order']) daemon.sql(`UPDATE "${table}" SET "Title" = 'edited'`);

    const outcome = await runWork('push', daemon.work(), {});

    expect(outcome).toMatchObject({ error: null, own: { code: 'push.unanswered' }, isStored: true });
    expect(questionOf('push', outcome)).toBeNull();
    expect(sandbox.store.rows('Order')[0]?.values['Title']).toBe('edited');
  });

  test('a push that the origin answers nothing fails as a whole', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox, 'tables: { "*": { push: true } }\n');
    await runWork('pull', daemon.work(), {});
    daemon.sql(`UPDATE "Note" SET "Title" = 'edited'`);
    await sandbox.stop();

    const outcome = await runWork('push', daemon.work(), {});

    expect(outcome).toMatchObject({ error: { kind: 'originDown' }, own: null, account: { arrived: 0 } });
  });

  test('nothing is followed before a table has been read, unless somebody wants it now', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox, 'schedule: { follow: "* * * * *" }\n');
    expect(isAnyFollowed(daemon.work())).toBe(false);
    await runWork('pull', daemon.work(), {});

    expect(isAnyFollowed(daemon.work())).toBe(true);
    expect(isAnyFollowed(daemon.work({ takes: [] }))).toBe(false);
    expect(isAnyFollowed(daemon.work({ takes: ['Note'], isRefresh: true }))).toBe(true);
  });

  test('a follow reads what changed, with its time', async () => {
    await using sandbox = await start();
    await using daemon = await working(sandbox, 'schedule: { follow: "* * * * *" }\n');
    await runWork('pull', daemon.work(), {});
    sandbox.store.insert('Note', { Title: 'later' });

    const { tables } = await runWork('follow', daemon.work({ takes: ['Note'], isRefresh: true }), {});

    expect(tables).toMatchObject([{ name: 'Note', error: null, counts: { insertedCount: 1 } }]);
    expect(daemon.sql('SELECT * FROM "Note"')).toHaveLength(2);
  });
});

describe('work of an extra', () => {
  const backup: ExtraWork = async () => ({ own: null, facts: { path: 'a copy' } });

  test('is known by its kind; what needs no origin is known to', () => {
    const { byKind, localKinds } = workOfExtras([{ jobs: { verify: backup } }, {}, { localJobs: { backup } }]);

    expect(Object.keys(byKind).toSorted()).toEqual(['backup', 'verify']);
    expect([...localKinds]).toEqual(['backup']);
  });

  test('has the outcome of work without tables, and fails alone', async () => {
    await using sandbox = await startTestSandbox({ tables: [] });
    await using daemon = await working(sandbox);
    const failing: ExtraWork = () => Promise.reject(errorOf('replica', 'replica.full'));
    const given: unknown[] = [];
    const noting: ExtraWork = async ({ nowMs }) => ({
      ...(await backup({} as never)),
      facts: { rowCount: given.push(nowMs) },
    });

    expect(await runWork('backup', daemon.work(), { backup: noting })).toEqual({
      error: null,
      isOver: false,
      own: null,
      held: null,
      tables: [],
      facts: { rowCount: 1 },
    });
    expect(given).toEqual([Date.UTC(2026, 0, 1)]);
    expect(await runWork('backup', daemon.work(), { backup: failing })).toMatchObject({
      error: null,
      own: { code: 'replica.full' },
    });
    expect(await runWork('backup', daemon.work(), {})).toMatchObject({ own: { kind: 'bug' } });
  });
});

describe('the outcome of tables', () => {
  const reportOf = (table: string, error: RowsyncError | null = null) => ({
    table,
    error,
    held: null,
    insertedCount: 2,
  });

  test('has their names at the origin, and what was counted', async () => {
    await using fixture = await startFixture({ tables: [{ name: 'Note', columns: [], rows: [] }] });
    await fixture.pull();

    const { tables } = outcomeOfTables(fixture, null, [reportOf('Note'), reportOf('Gone')], {});

    expect(tables).toMatchObject([
      { name: 'Note', localName: 'Note', isFollowed: false, counts: { insertedCount: 2, updatedCount: 0 } },
      { name: 'Gone', localName: 'Gone' },
    ]);
  });

  test('has a guard over all tables as a hold, and an error of one table that would be of all as the error', async () => {
    await using fixture = await startFixture({ tables: [] });
    const down = errorOf('originDown', 'origin.unreachable');
    const refused = errorOf('originRefused', 'origin.refused');

    expect(outcomeOfTables(fixture, GUARD, [reportOf('A', refused)], {})).toMatchObject({ error: null, held: GUARD });
    expect(outcomeOfTables(fixture, GUARD, [reportOf('A', down)], {})).toMatchObject({ error: down, held: GUARD });
    expect(outcomeOfTables(fixture, null, [reportOf('A', refused), reportOf('B', down)], {}).error).toBe(down);
    expect(outcomeOfTables(fixture, refused, [reportOf('B', down)], {})).toMatchObject({ error: refused, held: null });
  });
});

test.each([
  [null, false],
  [GUARD, false],
  [errorOf('auth', 'origin.forbidden'), true],
])('work ends with %s: %s', (error, expected) => {
  expect(isEnd(error)).toBe(expected);
});

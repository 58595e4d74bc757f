/** Columns that change their names, or exchange them, around a push: no value reaches another column. */
import { expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, codesOf, countsOf, finishAndPull, previewNow, pushNow } from '../support/push.ts';
import { startTwoWay, swapNames, twoWayTable } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

test('a renamed column is noticed', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.sandbox.store.renameColumn('Note', 'Title', 'Headline');
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual(['push.shape']);
  await fixture.pull();
  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a push and its plan name the hold of a pull whose caller may not write the edited columns any more', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  const role = { name: 'Administrator', hiddenTables: [], hiddenColumns: [] };
  fixture.sandbox.store.setRole({ ...role, canWrite: false });

  expect(codesOf(await pushNow(fixture))).toEqual(['push.shape']);
  const [pulled] = (await fixture.pull()).tables;
  expect(pulled?.held?.code).toBe('guard.pending');
  const { message, hint } = pulled?.held ?? {};
  expect((await pushNow(fixture)).tables).toMatchObject([
    { held: { kind: 'needsPerson', code: 'guard.pending', message, hint }, error: null, waitingCount: 1 },
  ]);
  expect(await previewNow(fixture)).toMatchObject([{ held: `${message}. ${hint}` }]);
  expect(fixture.rows('SELECT problem_code, push_code FROM _rowsync_tables')).toEqual([
    { problem_code: 'guard.pending', push_code: null }, // told once
  ]);

  fixture.sandbox.store.setRole({ ...role, canWrite: true });
  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 1 });
});

test('columns that gave each other their aliases are noticed, since values are sent by these', async () => {
  await using fixture = await startTwoWay(MATCHED);
  const { store } = fixture.sandbox;
  const aliases = new Map(twoWayTable(fixture).columns.map(({ name, alias }) => [name, alias]));
  store.changeColumn('Note', 'Title', { alias: 'between' });
  store.changeColumn('Note', 'Body', { alias: aliases.get('Title') ?? '' });
  store.changeColumn('Note', 'Title', { alias: aliases.get('Body') ?? '' });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);

  const report = await pushNow(fixture);
  await fixture.pull();
  const next = await pushNow(fixture);

  expect([codesOf(report), codesOf(next)]).toEqual([['push.shape'], []]);
  expect(atOrigin(fixture, ['Title', 'Body']).at(0)).toEqual([1, 'x', null]);
});

test.each(['reread', 'readBack'] as const)(
  'columns that swap their names right before the %s are noticed',
  async (at) => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x', "Body" = 'y' WHERE _id = 1`);
    fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'body')`);
    let isSwapped = false;
    const before = (step: PushStep): void => {
      if (step !== at || isSwapped) return;
      isSwapped = true;
      swapNames(fixture);
    };

    const report = await pushNow(fixture, { before });

    expect(codesOf(report)).toEqual(['push.shape']);
    expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id < 2 ORDER BY _id')).toEqual([
      { Title: 'new', Body: 'body' },
      { Title: 'x', Body: 'y' },
    ]);
    await finishAndPull(fixture);
    await pushNow(fixture);
    expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id IN (1, 7) ORDER BY _id')).toEqual([
      { Title: 'y', Body: 'x' },
      { Title: 'body', Body: 'new' },
    ]);
    expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  },
);

test('no "not modified" vouches for columns whose row came back other than it was sent', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x', "Body" = 'y' WHERE _id = 1`);
  const before = (step: PushStep): void => {
    if (step !== 'readBack') return;
    swapNames(fixture);
    fixture.sandbox.answerInstead(1, { status: 304, body: '' }, { method: 'describe' });
  };

  const report = await pushNow(fixture, { before });

  expect(codesOf(report)).toEqual(['origin.unexpected']);
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'x', Body: 'y' }]);
  await finishAndPull(fixture);
  await pushNow(fixture);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

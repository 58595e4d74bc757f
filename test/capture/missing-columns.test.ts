/**
 * Columns of a two-way table that could be written and vanish at the origin. The table is held, with all its edits,
 * until the column is back or a person prunes it. Nothing is guessed about a column that nobody shows.
 */
import { describe, expect, test } from 'vitest';
import { prune } from '../../src/extras/schema/prune.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, startTwoWay, twoWaySettings } from '../support/two-way.ts';

type Vanish = (fixture: Fixture) => void;

const hide: Vanish = ({ sandbox: { store } }) => {
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
  store.changeUser({ role: 'Half' });
};

const CHANNELS: readonly (readonly [string, Vanish])[] = [
  ['is removed', ({ sandbox: { store } }) => store.dropColumn('Note', 'Body')],
  ['gets another type', ({ sandbox: { store } }) => store.changeColumn('Note', 'Body', { type: 'Numeric' })],
  ['is hidden from the calling user', hide],
];

/** A replica with an edit in the column that vanishes and one in another, while colleagues work. */
async function startHeld(vanish: Vanish): Promise<Fixture> {
  const fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 3, { Title: 'theirs' });
  vanish(fixture);
  return fixture;
}

describe.each(CHANNELS)('a writable column that %s', (_what, vanish) => {
  test('holds its table: nothing of it is pulled, pushed or changed', async () => {
    await using fixture = await startHeld(vanish);
    const before = fixture.rows('SELECT * FROM "Note"');

    const pulled = await fixture.pull();
    const pushed = await pushNow(fixture);

    expect(pulled.tables).toMatchObject([{ held: { code: 'guard.columns' }, error: null }]);
    expect(codesOf(pushed)).toEqual(['guard.columns']);
    expect(changesSent(fixture)).toEqual([]);
    expect(fixture.rows('SELECT * FROM "Note"')).toEqual(before);
    expect(await captured(fixture)).toEqual(['update 1 Body', 'update 2 Title']);
    expect(fixture.rows('SELECT problem FROM sync_status')).toMatchObject([
      { problem: expect.stringContaining('"Body"') as string },
    ]);
  });

  test('goes once a person prunes it, and leaves its edits in sync_conflicts', async () => {
    await using fixture = await startHeld(vanish);
    await fixture.pull();

    await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
    const pulled = await fixture.pull();
    const pushed = await pushNow(fixture);

    expect(pulled.tables).toMatchObject([{ held: null, error: null }]);
    expect([codesOf(pushed), countsOf(pushed)]).toEqual([[], { updated: 1 }]);
    expect(atOrigin(fixture, ['Title']).slice(1, 3)).toEqual([
      [2, 'mine'],
      [3, 'theirs'],
    ]);
    expect(here(fixture, ['Title'])[2]).toEqual([3, 'theirs']);
    expect(fixture.rows(`SELECT row_id, local FROM sync_conflicts`)).toMatchObject([
      { row_id: 1, local: expect.stringContaining('mine') as string },
    ]);
  });
});

test('a table goes on with all its edits once its column is shown again', async () => {
  await using fixture = await startTwoWay();
  const { role } = fixture.sandbox.store.user;
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1`);
  hide(fixture);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Body" = 'later' WHERE _id = 2`);
  fixture.sandbox.store.changeUser({ role });

  const pulled = await fixture.pull();
  const pushed = await pushNow(fixture);

  expect(pulled.tables).toMatchObject([{ held: null, error: null }]);
  expect(countsOf(pushed)).toEqual({ updated: 2 });
  expect(atOrigin(fixture, ['Body']).slice(0, 2)).toEqual([
    [1, 'mine'],
    [2, 'later'],
  ]);
  expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
});

test.each([
  ['a column that nobody could write', twoWaySettings({}), 'Total'],
  ['a column of a mirror', { ...twoWaySettings({}), tableOptions: () => ({ sort: null, editing: null }) }, 'Body'],
] as const)('%s holds nothing', async (_what, settings, column) => {
  await using fixture = await startTwoWay();
  await fixture.pull({ settings });
  fixture.sandbox.store.dropColumn('Note', column);
  fixture.sandbox.store.update('Note', 3, { Title: 'theirs' });

  const pulled = await fixture.pull({ settings });

  expect(pulled.tables).toMatchObject([{ held: null, error: null }]);
  expect(here(fixture, ['Title'])[2]).toEqual([3, 'theirs']);
});

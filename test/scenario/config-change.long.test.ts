/**
 * The configuration changes between two pulls, or in the middle of one that was cut off, while both sides have edits.
 * Nothing is deleted but what was deleted, no edit is lost or reaches another row, and both sides agree in the end.
 */
import { expect, test } from 'vitest';
import type { PullSettings } from '../../src/pull/context.ts';
import { verify } from '../../src/extras/verify/verify.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { codesOf, pushNow, setFaults } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

const NOTE: TableSpec = {
  name: 'Note',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Ref', type: 'Text', options: ['Unique'] },
  ],
  rows: Array.from({ length: 12 }, (_, index) => ({
    Title: `title ${(index * 7) % 12}`,
    Code: `c${index + 1}`,
    Ref: `r${12 - index}`,
  })),
};

type Editing = NonNullable<NonNullable<ReturnType<PullSettings['tableOptions']>>['editing']>;

function settings(
  change: {
    readonly sort?: readonly string[];
    readonly pageRows?: number;
    readonly editing?: Partial<Editing> | null;
  } = {},
): Pick<PullSettings, 'tableOptions' | 'pageRows' | 'concurrency'> {
  const { sort = null, pageRows = 4, editing = {} } = change;
  const full: Editing = { match: 'Code', conflict: 'origin', workflow: 'run', ...editing };
  return {
    pageRows,
    concurrency: 1,
    tableOptions: () => ({ sort, editing: editing === null ? null : full }),
  };
}

const CHANGES: readonly (readonly [
  string,
  (fixture: Fixture) => Partial<PullSettings> | Promise<Partial<PullSettings>>,
])[] = [
  ['another sort order', () => settings({ sort: ['Title'] })],
  ['smaller pages', () => settings({ pageRows: 2 })],
  ['larger pages', () => settings({ pageRows: 9 })],
  ['one page for all', () => settings({ pageRows: 500 })],
  ['another match column', () => settings({ editing: { match: 'Ref' } })],
  ['no match column', () => settings({ editing: { match: null } })],
  ['another conflict policy', () => settings({ editing: { conflict: 'local' } })],
  [
    'another format',
    async (fixture) => {
      await fixture.useFormat('xml');
      return settings();
    },
  ],
];

/** Edits on both sides that do not meet; the row that is deleted there is on a page in the middle. */
function editBothSides(fixture: Fixture): void {
  const { store } = fixture.sandbox;
  store.delete('Note', 6);
  store.update('Note', 9, { Title: 'edited there' });
  store.insert('Note', { Title: 'inserted there', Code: 'c99', Ref: 'r99' });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited here' WHERE _id = 2; DELETE FROM "Note" WHERE _id = 11;
    INSERT INTO "Note" ("Title", "Code", "Ref") VALUES ('inserted here', 'c50', 'r50')`);
}

async function expectAgreement(fixture: Fixture, changed: Partial<PullSettings>): Promise<void> {
  expect(fixture.rows('SELECT row_id FROM sync_deleted ORDER BY 1')).toEqual([{ row_id: 6 }]);
  const there = fixture.sandbox.store.rows('Note').map(({ id, values }) => [id, values['Title']]);
  expect(there).toContainEqual([2, 'edited here']);
  expect(there.filter(([, title]) => title === 'inserted here')).toHaveLength(1);
  expect(there.map(([id]) => id)).not.toContain(11);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect((await verify(fixture.context(changed), { tables: [] })).tables).toMatchObject([
    { mismatchCount: 0, error: null },
  ]);
}

test.each(CHANGES)('%s from one pull to the next', async (_name, change) => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
  await fixture.pull();
  editBothSides(fixture);

  const changed = await change(fixture);
  const pulled = await fixture.pull({ settings: changed });
  const pushed = await pushNow(fixture);
  await fixture.pull({ settings: changed });

  expect(pulled.tables).toMatchObject([{ error: null, held: null, deletedCount: 1 }]);
  expect(codesOf(pushed)).toEqual([]);
  await expectAgreement(fixture, changed);
});

test.each(CHANGES)('%s after a pull that was cut off, at every page', async (_name, change) => {
  for (const page of [1, 2, 3]) {
    await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
    await fixture.pull();
    editBothSides(fixture);
    fixture.sandbox.answerInstead(
      page,
      { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<html>' },
      { method: 'select' },
    );
    const cut = await fixture.pull();
    fixture.sandbox.store.update('Note', 1, { Title: 'edited there since' });

    const changed = await change(fixture);
    await fixture.pull({ settings: changed });
    await pushNow(fixture);
    await fixture.pull({ settings: changed });

    expect(cut.tables[0]?.error).not.toBeNull();
    await expectAgreement(fixture, changed);
  }
});

test('another match column between a push whose answer got lost and the next makes no second row', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
  await fixture.pull();
  editBothSides(fixture);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert' }]);
  await pushNow(fixture);
  setFaults(fixture, []);

  const changed = settings({ editing: { match: 'Ref' } });
  await fixture.pull({ settings: changed });
  await pushNow(fixture);
  await fixture.pull({ settings: changed });
  await pushNow(fixture);
  await fixture.pull({ settings: changed });

  expect(fixture.sandbox.store.rows('Note')).toHaveLength(12); // two more, two less
  await expectAgreement(fixture, changed);
});

test('a table that is left out of the configuration keeps its edits, and is taken up where it stood', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
  await fixture.pull();
  editBothSides(fixture);
  const leftOut = { tableOptions: () => null };

  await fixture.pull({ settings: leftOut });
  const pushed = await pushNow(fixture, { settings: leftOut });
  const waiting = fixture.rows('SELECT pending FROM sync_status');
  const deleted = fixture.rows('SELECT row_id FROM sync_deleted');
  await fixture.pull();
  await pushNow(fixture);
  await fixture.pull();

  expect(pushed.tables).toMatchObject([{ held: { code: 'guard.pending' }, account: { began: 3, unsent: 3 } }]);
  expect([waiting, deleted]).toEqual([[{ pending: 3 }], []]);
  await expectAgreement(fixture, settings());
});

test('push that is switched off, and on again, with edits that wait keeps and sends them', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
  await fixture.pull();
  editBothSides(fixture);

  const off = await fixture.pull({ settings: settings({ editing: null }) });
  const held = await pushNow(fixture, { settings: { tableOptions: () => null } });
  await fixture.pull();
  await pushNow(fixture);
  await fixture.pull();

  expect(off.tables).toMatchObject([{ held: { code: 'guard.pending' }, deletedCount: 0 }]);
  expect(held.tables).toMatchObject([{ held: { code: 'guard.pending' }, waitingCount: 3 }]);
  await expectAgreement(fixture, settings());
});

test('push that is switched off with --discard keeps the edits as conflicts, and starts anew when it is on again', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: settings() });
  await fixture.pull();
  editBothSides(fixture);

  await fixture.pull({ settings: settings({ editing: null }), discard: true });
  await fixture.pull();
  const pushed = await pushNow(fixture);

  expect(pushed.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, deletedCount: 0 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(
    fixture.rows(`SELECT row_id, kind FROM sync_conflicts WHERE state = 'discarded' ORDER BY row_id`),
  ).toMatchObject([{ kind: 'inserted' }, { row_id: 2, kind: 'cell' }, { row_id: 11, kind: 'deletedHere' }]);
});

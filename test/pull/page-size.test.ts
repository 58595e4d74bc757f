/** Rows so large that a page of them is beyond the bound of an answer. */
import { expect, test } from 'vitest';
import { resync } from '../../src/cli/commands/resync.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { pushNow } from '../support/push.ts';
import { twoWaySettings } from '../support/two-way.ts';

const KILOBYTE = 'x'.repeat(1_000);

/** Answers of up to 20 KB; each row has about one. */
const LIMITS = { limits: { decodedBytesMax: 20_000, wireBytesMax: 20_000 } };

function large(rowCount: number): TableSpec {
  return {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Body', type: 'Multiline' },
    ],
    rows: Array.from({ length: rowCount }, (_, index) => ({ Title: `t${index}`, Body: `${index} ${KILOBYTE}` })),
    createdFromMs: Date.UTC(2026, 0, 1),
  };
}

function state(fixture: Fixture): unknown {
  return fixture.rows('SELECT rows, page_rows, state, problem FROM sync_status')[0];
}

test.each([undefined, 2])(
  'pages are halved until they fit, and the size is remembered (windows of %s pages)',
  async (windowPages) => {
    await using fixture = await startFixture(
      { tables: [large(60)] },
      { settings: { pageRows: 40, windowPages }, ...LIMITS },
    );

    const first = await fixture.pull();
    const requested = fixture.sandbox.requests.count({ method: 'select' });
    fixture.sandbox.store.update('Note', 30, { Title: 'changed' });
    fixture.sandbox.store.delete('Note', 7);
    const second = await fixture.pull();

    expect(first.tables[0]).toMatchObject({ rowCount: 60, insertedCount: 60, error: null });
    expect(state(fixture)).toEqual({ rows: 59, page_rows: 10, state: 'steady', problem: null });
    expect(second.tables[0]).toMatchObject({ error: null, updatedCount: 1, deletedCount: 1 });
    // The second pull begins with the size that fits.
    expect(fixture.sandbox.requests.all.slice(requested).some(({ path }) => path.includes('top=40'))).toBe(false);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  },
);

test('a table whose rows grow later is read again from the start, without losing a row or an ETag too many', async () => {
  await using fixture = await startFixture({ tables: [large(60)] }, { settings: { pageRows: 12 }, ...LIMITS });
  await fixture.pull();
  for (const id of [41, 42, 43, 44]) fixture.sandbox.store.update('Note', id, { Body: 'y'.repeat(4_000) });

  const grown = await fixture.pull();
  const again = await fixture.pull();

  expect(state(fixture)).toMatchObject({ rows: 60, page_rows: 3 });
  expect(grown.tables[0]).toMatchObject({ error: null, updatedCount: 4, deletedCount: 0 });
  expect(again.tables[0]).toMatchObject({ pagesReadCount: 0, error: null });
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('following and pushing ask for as few rows at a time', async () => {
  const settings = { pageRows: 40, follows: 'all', ...twoWaySettings() } as const;
  await using fixture = await startFixture({ tables: [large(60)] }, { settings, ...LIMITS });
  await fixture.pull();
  for (let id = 1; id <= 30; id += 1) fixture.sandbox.store.update('Note', id, { Title: 'theirs' });

  const followed = await fixture.pull({ follow: 'known' });
  fixture.execute(`UPDATE "Note" SET "Title" = 'ours' WHERE _id > 20`);
  const pushed = await pushNow(fixture);

  expect(followed.tables[0]).toMatchObject({ isFollowed: true, updatedCount: 30, error: null });
  expect(pushed.tables[0]).toMatchObject({ error: null });
  expect(fixture.sandbox.store.rows('Note').filter(({ values }) => values['Title'] === 'ours')).toHaveLength(40);
});

test('two rows that do not fit into one answer keep their table as it is; resync tries the full size again', async () => {
  await using fixture = await startFixture({ tables: [large(20)] }, { settings: { pageRows: 8 }, ...LIMITS });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 5, { Body: 'y'.repeat(30_000) });

  const stuck = await fixture.pull();
  const small = state(fixture);
  fixture.sandbox.store.update('Note', 5, { Body: 'y' });
  await resync(fixture.replica, ['Note']);
  await fixture.pull();

  expect(stuck.tables[0]?.error).toMatchObject({ code: 'origin.tooLarge' });
  expect(small).toMatchObject({ rows: 20, page_rows: 2, state: 'failed' });
  expect(state(fixture)).toMatchObject({ rows: 20, page_rows: null, state: 'steady' });
});

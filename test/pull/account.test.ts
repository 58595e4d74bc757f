/** At the end of a pull, the rows that the origin listed are accounted for. */
import { expect, test } from 'vitest';
import { resync } from '../../src/cli/commands/resync.ts';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

const ROW_COUNT = 12;
const NOTE: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: ROW_COUNT }, (_, index) => ({ Title: `note ${index}` })),
};
const ALL_HERE = { listed: ROW_COUNT, here: ROW_COUNT, unreadable: 0, missing: 0, kept: 0, strange: 0 };

test.each(['a mirror', 'a two-way table'] as const)('every row of %s is here', async (kind) => {
  await using fixture = await (kind === 'a mirror'
    ? startFixture({ tables: [NOTE] })
    : startTwoWay({ tables: [NOTE] }));

  const reports = [await fixture.pull(), await fixture.pull()];

  for (const { tables } of reports) expect(tables).toMatchObject([{ error: null, account: ALL_HERE }]);
});

test.each([
  ['lost', `DELETE FROM "Note" WHERE _id = 7`, { here: ROW_COUNT - 1, missing: 1 }],
  ['invented', `INSERT INTO "Note" (_id, "Title") VALUES (77, 'nobody made this')`, { here: ROW_COUNT, strange: 1 }],
])(
  'a row that was %s without a reason is a problem until the table is read anew',
  async (_what, statement, account) => {
    await using fixture = await startFixture({ tables: [NOTE] }, { settings: { pageRows: 5 } });
    await fixture.pull();
    const ours = ['INSERT INTO _rowsync_writer VALUES (1)', statement, 'DELETE FROM _rowsync_writer'];
    fixture.execute(ours.join('; '));
    const { store } = fixture.sandbox;
    store.update('Note', store.ids('Note').at(-1) ?? 0, { Title: 'another' });

    const wrong = await fixture.pull();
    await resync(fixture.replica, []);
    const mended = await fixture.pull();

    expect(wrong.tables).toMatchObject([{ error: { code: 'pull.sum' }, account }]);
    expect(mended.tables).toMatchObject([{ error: null, account: ALL_HERE }]);
  },
);

test.each([
  ['a mirror', null],
  ['a two-way table', ''],
  ['a two-way table with an edit of the row', `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 7`],
])('a row of %s that the origin deletes after it listed the row is not missing', async (_kind, edit) => {
  const sandbox: Partial<SandboxOptions> = {
    tables: [NOTE],
    intercept: ({ method }) => {
      if (method === 'retrieve') fixture.sandbox.store.delete('Note', 7);
      return false;
    },
  };
  await using fixture = await (edit === null ? startFixture(sandbox) : startTwoWay({ ...sandbox, pageRows: 5 }));
  await fixture.pull();
  await fixture.pull();
  if (edit !== null) fixture.execute(edit);
  fixture.execute('INSERT INTO _rowsync_suspects SELECT id, 7, 999 FROM _rowsync_tables');

  const report = await fixture.pull();

  expect(fixture.sandbox.store.ids('Note')).not.toContain(7);
  expect(report.tables).toMatchObject([{ error: null, deletedCount: 1, account: { missing: 0, strange: 0 } }]);
});

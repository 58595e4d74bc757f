/** One table of a pull: its errors, and the account of its rows at the end. */
import { expect, test } from 'vitest';
import { resync } from '../../src/cli/commands/resync.ts';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture } from '../support/replica.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';
import { silentLogger } from '../../src/base/log.ts';
import { pull } from '../../src/pull/pull.ts';
import { notes } from '../support/small-tables.ts';

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

test('goes on with other tables when one fails, and says why in sync_status', async () => {
  await using fixture = await startFixture({ tables: [notes(8), notes(3, 'Other')] });
  const body = '{"error":400,"code":3100,"message":"Column does not exist","source":"Title"}';
  fixture.sandbox.answerInstead(
    1,
    { status: 400, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'select', table: fixture.sandbox.store.table('Note').alias },
  );

  const report = await fixture.pull();

  expect(report.tables.find(({ table }) => table === 'Note')?.error?.code).toBe('origin.refused');
  expect(report.tables.find(({ table }) => table === 'Other')).toMatchObject({ error: null, rowCount: 3 });
  expect(fixture.rows(`SELECT "table", state, problem IS NOT NULL AS told FROM sync_status ORDER BY 1`)).toEqual([
    { table: 'Note', state: 'failed', told: 1 },
    { table: 'Other', state: 'steady', told: 0 },
  ]);
});

test('a pull that is stopped logs no failure of the table', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  const stop = new AbortController();
  fixture.sandbox.before(1, () => stop.abort(), { method: 'select' });
  const errors: unknown[] = [];
  const log = { ...silentLogger, error: (event: string) => void errors.push(event) };

  const report = await pull({ ...fixture.context(), log, signal: stop.signal }, { tables: [], confirm: false });

  expect(report.tables[0]?.error?.code).toBe('origin.stopped');
  expect(errors).toEqual([]);
});

test('deleted rows count, though their table fails after that', async () => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.delete('Note', 3);

  const report = await fixture.pull({ settings: twoWaySettings({ match: 'Title' }) });

  expect(report.tables).toMatchObject([{ error: { code: 'config.invalid' }, rowCount: 5, deletedCount: 1 }]);
});

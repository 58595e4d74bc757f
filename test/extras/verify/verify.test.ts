/** What a comparison with the origin finds, and what people change meanwhile. */
import { expect, test } from 'vitest';

import { RowsyncError } from '../../../src/base/errors.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import { pull } from '../../../src/pull/pull.ts';
import { resync } from '../../../src/cli/commands/resync.ts';
import { verifyText } from '../../../src/extras/verify/command.ts';
import { changedIndexes, findBrokenLinks, verify, verifyFailures } from '../../../src/extras/verify/verify.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { atOrigin, pushNow } from '../../support/push.ts';
import { HISTORY } from '../../support/history.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { captured, NOTE, startTwoWay } from '../../support/two-way.ts';

const NOTES: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 23 }, (_, index) => ({ Title: `note ${index + 1}` })),
};
const SMALL_PAGES = { settings: { pageRows: 5 } };
/** Edits a mirror although it refuses, without leaving a trace: with the flag that our own transactions set. */
function tamper(fixture: Fixture, statements: string): void {
  fixture.execute(`BEGIN; INSERT INTO _rowsync_writer VALUES (1); ${statements}; DELETE FROM _rowsync_writer; COMMIT;`);
}

/** Changes the first note, deletes the second one and invents another; returns the ids of the two. */
function tamperWithRows(fixture: Fixture): readonly (number | undefined)[] {
  const [first, second] = fixture.sandbox.store.ids('Note');
  tamper(
    fixture,
    `UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first};
     DELETE FROM "Note" WHERE _id = ${second};
     INSERT INTO "Note" (_id, "Title") VALUES (999999, 'invented')`,
  );
  return [first, second];
}

test('finds a faithful replica faithful, reading every page without an ETag', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  fixture.sandbox.requests.clear();

  const report = await verify(fixture.context(), { tables: [] });

  expect(report).toMatchObject({
    error: null,
    tables: [{ table: 'Note', comparedCount: 23, mismatchCount: 0, error: null }],
  });
  expect(fixture.sandbox.requests.count({ method: 'select', status: 200 })).toBe(6);
});

test('tells what its own pull changed here before the comparison', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first = 0, second = 0, third = 0] = fixture.sandbox.store.ids('Note');
  for (const id of [first, second]) fixture.sandbox.store.update('Note', id, { Title: 'theirs' });
  fixture.sandbox.store.delete('Note', third);

  const report = await verify(fixture.context(), { tables: [] });
  const again = await verify(fixture.context(), { tables: [] });

  expect(report.tables).toMatchObject([{ pulled: { inserted: 0, updated: 2, deleted: 1 }, mismatchCount: 0 }]);
  expect(verifyText(report, null)).toContain('pulled before the comparison: 2 changed, 1 deleted (Note)\n');
  expect(verifyText(again, null)).not.toContain('pulled');
});

test('finds what differs although every ETag says that nothing changed', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first, second] = tamperWithRows(fixture);

  const report = await verify(fixture.context(), { tables: ['note'] });

  expect(verifyText(report, null)).toContain('1 table, 23 rows: not every cell matches the origin\n');
  expect(report.tables[0]).toMatchObject({ mismatchCount: 3, changedMeanwhileCount: 0, error: null });
  expect(report.tables[0]?.mismatches.toSorted((a, b) => a.rowId - b.rowId)).toEqual([
    { rowId: first, problem: 'differs', columns: ['Title'] },
    { rowId: second, problem: 'missing here', columns: [] },
    { rowId: 999999, problem: 'not at the origin', columns: [] },
  ]);
});

test('takes an edit during the comparison for what it is', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const ids = fixture.sandbox.store.ids('Note');
  fixture.sandbox.before(
    8,
    () => {
      fixture.sandbox.store.update('Note', ids.at(-1) ?? 0, { Title: 'edited' });
      fixture.sandbox.store.delete('Note', ids.at(-2) ?? 0);
      fixture.sandbox.store.insert('Note', { Title: 'new' });
    },
    { method: 'select' },
  );

  const report = await verify(fixture.context(), { tables: [] });

  expect(report.tables[0]).toMatchObject({ mismatchCount: 0, error: null });
  expect(report.tables[0]?.changedMeanwhileCount).toBeGreaterThan(0);
});

test('takes rows whose delete a guard holds for no mismatch, and says that they are held', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first = 0, ...others] = fixture.sandbox.store.ids('Note');
  for (const id of others.slice(-15)) fixture.sandbox.store.delete('Note', id);
  await fixture.pull();
  tamper(fixture, `UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first}`);

  const report = await verify(fixture.context(), { tables: [] });

  expect(report.tables[0]).toMatchObject({
    mismatches: [{ rowId: first, problem: 'differs', columns: ['Title'] }],
    mismatchCount: 1,
    changedMeanwhileCount: 0,
    error: null,
  });
  expect(verifyFailures(report).map(({ code }) => code)).toEqual(['verify.mismatch', 'guard.deletes']);
  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 23 }]);
});

test('reads a table whole after resync, and mends what was tampered with', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first] = tamperWithRows(fixture);
  const trusting = await fixture.pull();

  const names = await resync(fixture.replica, ['NOTE']);
  const whole = await pull(fixture.context(), { tables: [], confirm: false });

  expect(trusting.tables[0]).toMatchObject({ pagesReadCount: 0, updatedCount: 0 });
  expect(names).toEqual(['Note']);
  expect(whole.tables[0]).toMatchObject({ pagesReadCount: 6, pagesNotModifiedCount: 0, updatedCount: 1, rowCount: 23 });
  expect(whole.tables[0]).toMatchObject({ insertedCount: 1, deletedCount: 1 });
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = ?', first)).toEqual([{ Title: 'note 1' }]);
});

test('names the tables it has when resync is asked for one that it has not', async () => {
  await using fixture = await startFixture({ tables: [NOTES] });
  await fixture.pull();

  await expect(resync(fixture.replica, ['Nowhere'])).rejects.toMatchObject({
    code: 'usage.invalid',
    hint: 'It has: Note.',
  });
});

test('compares no table with rows whose answers are awaited', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'store') throw end;
    },
  });
  fixture.sandbox.store.update('Note', 3, { Title: 'theirs' });
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([1, 'sent']);

  const report = await verify(fixture.context(), { tables: [] });

  expect(report.tables).toMatchObject([{ mismatchCount: 0, mismatches: [], error: { code: 'pull.unsettled' } }]);
});

test('names rows that cannot be read, and does not call the table equal', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  fixture.rewrite = (body) => body.replaceAll('"note 7"', String.raw`"note \ud83d"`);
  await fixture.pull();

  const report = await verify(fixture.context(), { tables: [] });

  const [seventh] = fixture.sandbox.store.ids('Note').slice(6);
  expect(report.tables[0]).toMatchObject({
    comparedCount: 22,
    changedMeanwhileCount: 0,
    mismatchCount: 0,
    unreadableCount: 1,
    unreadable: [
      {
        rowId: seventh,
        columns: ['Title'],
        reason: 'half of an emoji (U+D83D) as character 6: the text was probably cut at its maximum length',
      },
    ],
    error: null,
  });
  const failures = verifyFailures(report);
  expect(failures.map(({ code, exitCode }) => [code, exitCode])).toEqual([['verify.unreadable', 1]]);
});

test('says that something on the way answers "not modified" whatever it is asked', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first = 0] = fixture.sandbox.store.ids('Note');
  fixture.sandbox.store.update('Note', first, { Title: 'changed' });
  fixture.sandbox.faults.replace({ faults: [{ fault: 'notModified' }] });

  const report = await verify(fixture.context(), { tables: [] });

  const [failure] = verifyFailures(report);
  expect(failure).toMatchObject({ code: 'verify.notModified' });
  expect(failure?.message).toContain(
    '1 row differs from the origin: something on the way answers "not modified" (304)',
  );
});

const MIRROR = { settings: { pageRows: 5, maxDeletePercent: 50 } };

/** What an SQL client can do to confirmed rows around the guards; ids are those of the first rows. */
const TAMPERINGS = [
  { what: 'a changed cell', statement: `UPDATE T SET "Title" = 'tampered' WHERE _id = 1`, problem: 'differs' },
  { what: 'a missing row', statement: 'DELETE FROM T WHERE _id = 2', problem: 'missing here' },
  {
    what: 'an extra row',
    statement: `INSERT INTO T (_id, "Title") VALUES (999, 'invented')`,
    problem: 'not at the origin',
  },
  {
    what: 'a row outside of the filter',
    statement: `INSERT INTO T (_id, "Title") VALUES (6, 'title 6')`,
    problem: 'outside of the filter',
    rows: '[Code] <> "c6"',
  },
] as const;

/**
 * Where it can be done. A row that is missing in the base alone is a new row of a user, and one outside of the filter a
 * deleted one.
 */
const KINDS = {
  differs: ['mirror', 'two-way table', 'base'],
  'missing here': ['mirror', 'two-way table'],
  'not at the origin': ['mirror', 'two-way table', 'base'],
  'outside of the filter': ['mirror', 'two-way table'],
} as const;

/** A mirror, or a two-way table, with or without a filter; `tables` are those that hold its rows. */
async function startTamperable(
  kind: string,
  rows: string | null,
): Promise<{ fixture: Fixture; tables: readonly string[] }> {
  const editing = kind === 'mirror' ? {} : { editing: { match: 'Code', conflict: 'origin', workflow: 'run' } as const };
  const settings = { ...MIRROR.settings, tableOptions: () => ({ sort: null, rows, ...editing }) };
  const fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  const [base] = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'`) as { name: string }[];
  const tables = kind === 'mirror' ? ['Note'] : kind === 'base' ? [base?.name ?? ''] : ['Note', base?.name ?? ''];
  return { fixture, tables };
}

test.each(TAMPERINGS.flatMap((tampering) => KINDS[tampering.problem].map((kind) => ({ kind, ...tampering }))))(
  'resync and pull mend $what in a $kind',
  async ({ kind, statement, problem, ...options }) => {
    const { fixture, tables } = await startTamperable(kind, 'rows' in options ? options.rows : null);
    await using _ = fixture;
    const before = fixture.rows('SELECT * FROM "Note" ORDER BY _id');
    tamper(fixture, tables.map((name) => statement.replace(/\bT\b/, `"${name}"`)).join(';'));

    const found = await verify(fixture.context(), { tables: [] });
    await resync(fixture.replica, ['Note']);
    await fixture.pull();
    const again = await verify(fixture.context(), { tables: [] });

    expect(found.tables[0]?.mismatches.map((mismatch) => mismatch.problem)).toEqual([problem]);
    expect(verifyFailures(found)[0]?.hint).toMatch(/then run rowsync resync "Note" && rowsync pull "Note"\. /);
    expect(verifyFailures(again)).toEqual([]);
    expect(fixture.rows('SELECT * FROM "Note" ORDER BY _id')).toEqual(before);
    expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: before.length }]);
    expect(kind === 'mirror' ? [] : await captured(fixture)).toEqual([]);
  },
);

test('finds the cells that differ, null and false included', () => {
  expect(changedIndexes([1, 'a', null, false, 2n ** 60n], [1, 'b', '', null, 2n ** 60n])).toEqual([1, 2, 3]);
});

/** Drops the guards of the mirror, as another SQL client may, and changes the first note and deletes the second one. */
function dropGuards(fixture: Fixture): void {
  const [first, second] = fixture.sandbox.store.ids('Note');
  const guards = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`);
  const drops = (guards as { name: string }[]).map(({ name }) => `DROP TRIGGER "${name}";`);
  expect(drops).not.toEqual([]);
  fixture.execute(
    `${drops.join('')} UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first}; DELETE FROM "Note" WHERE _id = ${second}`,
  );
}

test('rows of a mirror without guards that the pull puts back count as different, once', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  dropGuards(fixture);

  const report = await verify(fixture.context(), { tables: [] });
  const again = await verify(fixture.context(), { tables: [] });

  expect(report.tables).toMatchObject([{ mismatchCount: 0, putBackCount: 2 }]);
  expect(verifyFailures(report).map(({ code, exitCode }) => [code, exitCode])).toEqual([['verify.mismatch', 1]]);
  const text = verifyText(report, null);
  expect(text).toContain('1 table, 23 rows: not every cell matched the origin before this pull\n');
  expect(text).toContain(
    'Note: 2 rows were restored to the values of the origin. The guards of the table were missing',
  );
  expect(verifyFailures(again)).toEqual([]);
});

test('the history of a mirror without guards ends, and begins anew with rows as the origin has them', async () => {
  const settings = { ...SMALL_PAGES.settings, tableOptions: () => ({ sort: null, history: HISTORY }) };
  await using fixture = await startFixture({ tables: [NOTES] }, { settings });
  await fixture.pull();
  dropGuards(fixture);

  await verify(fixture.context(), { tables: [] });
  const again = await verify(fixture.context(), { tables: [] });

  expect(verifyFailures(again)).toEqual([]);
  expect(fixture.rows('SELECT kind, note FROM sync_history ORDER BY id')).toEqual([
    { kind: 'begin', note: null },
    { kind: 'end', note: '{"why":"another program removed the guards"}' },
    { kind: 'begin', note: null },
  ]);
});

test('verify finds an entry that does not begin where the one before ended', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: HISTORY }) };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  for (const title of ['one', 'two', 'three']) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }
  const id = readTables(fixture.replica)[0]?.id ?? 0;
  const whole = findBrokenLinks(fixture.replica, id);
  fixture.execute(`DELETE FROM _rowsync_history WHERE seq = 3`);

  const { tables } = await verify(fixture.context(), { tables: [] });

  expect(whole).toEqual([]);
  expect(tables.map(({ error }) => error?.code)).toEqual(['verify.history']);
  expect(findBrokenLinks(fixture.replica, id)).toEqual([{ rowId: 1, id: 4 }]);
});

test('verify finds a row in the history that comes twice, or changes after it went', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: HISTORY }), maxDeletePercent: 100 };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  const id = readTables(fixture.replica)[0]?.id ?? 0;
  const row = fixture.sandbox.store.insert('Note', { Title: 'new' });
  await fixture.pull();
  fixture.sandbox.store.delete('Note', row);
  await fixture.pull();
  const whole = findBrokenLinks(fixture.replica, id);
  const add = (kind: string): void =>
    fixture.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, cells)
      VALUES (${id}, ${row}, '${kind}', unixepoch(), NULL, unixepoch(), 'pull', '[]')`);
  for (const kind of ['update', 'insert', 'delete', 'insert', 'insert', 'forgotten']) add(kind);

  const found = findBrokenLinks(fixture.replica, id);

  expect(whole).toEqual([]);
  expect(found).toEqual([
    { rowId: row, id: 4 },
    { rowId: row, id: 5 },
    { rowId: row, id: 8 },
  ]);
});

test('edits that wait are not compared, and that is said', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);

  const report = await verify(fixture.context(), { tables: [] });

  expect(verifyFailures(report)).toEqual([]);
  expect(verifyText(report, null)).toContain(
    'every cell matches the origin\nnot compared: edits of 2 rows that the origin does not have (rowsync plan)\n',
  );
});

test('reads without windows', async () => {
  const created = { ...NOTES, createdFromMs: Date.UTC(2026, 0, 1) };
  await using fixture = await startFixture({ tables: [created] }, { settings: { pageRows: 5, windowPages: 2 } });
  await fixture.pull();
  expect(fixture.rows('SELECT windows > 2 AS has_windows FROM sync_status')).toEqual([{ has_windows: 1 }]);
  fixture.sandbox.requests.clear();

  const report = await verify(fixture.context(), { tables: [] });

  const asked = fixture.sandbox.requests.all.filter(({ method, status }) => method === 'select' && status === 200);
  expect(report.tables).toMatchObject([{ comparedCount: 23, mismatchCount: 0 }]);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter(({ path }) => path.includes('filter='))).toEqual([]);
});

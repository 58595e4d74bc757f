/**
 * Tables that differed when they were last compared, in the replica: a problem until all pages were read anew.
 */
import { expect, test } from 'vitest';
import { resync } from '../../../src/cli/commands/resync.ts';
import { problemsOf, readAccount } from '../../../src/daemon/account-facts.ts';
import { EXTRAS } from '../../../src/extras.ts';
import { countDifferences, storeDifferences, type ComparedTable } from '../../../src/extras/verify/differences.ts';
import { verify } from '../../../src/extras/verify/verify.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { NOTHING_KEPT } from '../../support/kept.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';

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

function compared(table: string, message: string | null, isUnpaged = false): ComparedTable {
  return {
    table,
    isUnpaged,
    difference: message === null ? null : { code: 'verify.mismatch', message, hint: 'Mend it.' },
  };
}

test('a difference keeps the time when it was first found, and goes once the table is equal or gone', async () => {
  await using fixture = await startFixture({ tables: [NOTES, { ...NOTES, name: 'Other' }] });
  await fixture.pull();
  const kept = () =>
    fixture.rows(
      'SELECT t.local_name AS name, message, since, answers FROM _rowsync_differences d JOIN _rowsync_tables t ON t.id = d.table_id ORDER BY 1',
    );
  const store = (tables: readonly ComparedTable[], minute: number) =>
    storeDifferences(fixture.replica, tables, `2026-11-25T08:0${minute}:00Z`);

  await store([compared('Note', null), compared('Other', null)], 0);
  const isMade = fixture.rows(`SELECT 1 FROM sqlite_schema WHERE name = '_rowsync_differences'`).length;
  await store(
    [
      compared('Note', 'one row'),
      compared('Other', 'two rows', true),
      compared('Nowhere', 'a table that left meanwhile'),
    ],
    1,
  );
  const found = kept();
  await store([compared('Note', 'three rows')], 2);
  const again = kept();
  await store([compared('Other', null)], 3);
  const mended = kept();
  fixture.execute(`DELETE FROM _rowsync_tables WHERE local_name = 'Note'`);
  await store([], 4);

  const note = { name: 'Note', since: '2026-11-25T08:01:00Z', answers: expect.any(Number) as unknown };
  const other = { name: 'Other', message: 'two rows', since: '2026-11-25T08:01:00Z', answers: null };
  expect(isMade).toBe(0);
  expect(found).toEqual([{ ...note, message: 'one row' }, other]);
  expect(again).toEqual([{ ...note, message: 'three rows' }, other]);
  expect(mended).toEqual([{ ...note, message: 'three rows' }]);
  expect(fixture.rows('SELECT * FROM _rowsync_differences')).toEqual([]);
});

test('a daemon counts the tables that it found to differ, and nothing else', () => {
  const counting = countDifferences();
  const table = (code: string | null) => ({ held: code === null ? null : { code } });
  const events = [
    {
      kind: 'ended',
      work: 'verify',
      tables: [table('verify.mismatch'), table('verify.notModified'), table(null), table('guard.deletes')],
    },
    { kind: 'ended', work: 'pull', tables: [table('verify.mismatch')] },
    { kind: 'began', work: 'verify', tables: [table('verify.mismatch')] },
    { kind: 'ended', work: 'verify', tables: [table('verify.mismatch')] },
  ];

  for (const event of events) counting.takeWork?.(event as never);

  const [metric] = counting.metrics?.({} as never) ?? [];
  expect(metric).toMatchObject({ name: 'audit_mismatch_total', kind: 'counter', samples: [{ value: 3 }] });
});

test('what differs is a problem of the replica until all pages were read anew', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first] = fixture.sandbox.store.ids('Note');
  tamper(fixture, `UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first}`);
  const problems = (): readonly unknown[] => {
    using reader = openReader(fixture.replica.path);
    const around = { ...NOTHING_KEPT, added: problemsOf(EXTRAS), keeper: 'nobody', complaints: [] } as const;
    return readAccount(reader, { ...around, nowMs: Date.now() }).map(({ code, table }) => [code, table]);
  };

  await verify(fixture.context(), { tables: [] });
  await fixture.pull();
  const found = problems();
  await resync(fixture.replica, ['Note']);
  const before = problems();
  await fixture.pull();

  expect(found).toEqual([['rows.different', 'Note']]);
  expect(before).toEqual(found);
  expect(problems()).toEqual([]);
});

test('a row that the origin never listed stays a problem until a comparison finds the table equal', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  tamper(fixture, `INSERT INTO "Note" (_id, "Title") VALUES (999999, 'invented')`);
  const kept = () => fixture.rows('SELECT code, answers FROM _rowsync_differences');

  await verify(fixture.context(), { tables: [] });
  const found = kept();
  await resync(fixture.replica, ['Note']);
  await fixture.pull();
  const resynced = kept();
  await verify(fixture.context(), { tables: [] });

  expect(resynced).toEqual(found);
  expect(found).toEqual([{ code: 'verify.mismatch', answers: null }]);
  expect(kept()).toEqual([]);
});

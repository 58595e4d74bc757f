/**
 * `rowsync verify`, by command and on schedule: what it says of a table, and what the daemon learns of it.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { verifyOnSchedule, verifyText } from '../../../src/extras/verify/command.ts';
import type { Mismatch, TableVerifyReport, VerifyReport } from '../../../src/extras/verify/verify.ts';
import { makeWorkspace } from '../../support/child.ts';
import { pushContext, pushNow } from '../../support/push.ts';
import { startFixture } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE, startTwoWay } from '../../support/two-way.ts';

const EQUAL: TableVerifyReport = {
  table: 'Note',
  pulled: { inserted: 0, updated: 0, deleted: 0, filtered: 0 },
  comparedCount: 6,
  changedMeanwhileCount: 0,
  editedCount: 0,
  mismatchCount: 0,
  putBackCount: 0,
  mismatches: [],
  unreadableCount: 0,
  unreadable: [],
  isAlwaysUnmodified: false,
  held: null,
  error: null,
};

function textOf(tables: readonly TableVerifyReport[], extra: Partial<VerifyReport> = {}): string {
  return verifyText({ tables, requestCount: 6, durationMs: 100, error: null, ...extra }, null);
}

test('a verification that the origin did not answer says nothing of differences', () => {
  const error = new RowsyncError('originDown', 'origin.unreachable', { message: 'no connection', hint: 'Wait.' });

  const text = verifyText({ tables: [], requestCount: 6, durationMs: 10, error }, null);

  expect(text).toContain('0 tables, 0 rows: not everything could be compared\n');
});

test('a table is counted where it was compared; one that failed only has its error', () => {
  const error = new RowsyncError('originRefused', 'origin.refused', { message: 'Other: refused', hint: 'Ask.' });

  const text = textOf([
    { ...EQUAL, changedMeanwhileCount: 2 },
    { ...EQUAL, table: 'Other', comparedCount: 99, error },
  ]);

  expect(text).toMatch(/Note .* 6 .* 2 .* 0/);
  expect(text).toContain('1 table, 6 rows: not everything could be compared\n6 requests in 0.1 s\n');
  expect(text).toContain('failed: Other: refused\n  what to do: Ask.\n  code: origin.refused');
  expect(textOf([EQUAL])).toContain('1 table, 6 rows: every cell matches the origin\n');
});

test('what the pull before changed here is counted, with its tables', () => {
  const text = textOf([
    { ...EQUAL, pulled: { inserted: 0, updated: 2, deleted: 1, filtered: 0 } },
    { ...EQUAL, table: 'Other\u001b', pulled: { inserted: 1_000, updated: 1, deleted: 0, filtered: 4 } },
    { ...EQUAL, table: 'Third' },
  ]);

  const counts = '1,000 new, 3 changed, 1 deleted, 4 left the filter';
  expect(text).toContain(`the origin\npulled before the comparison: ${counts} (Note, Other\\u001b)\n`);
  expect(textOf([EQUAL])).not.toContain('pulled');
});

test('rows that differ and rows that cannot be read are named, ten of each table, safe on a terminal', () => {
  const mismatches = Array.from({ length: 9 }, (_, index): Mismatch => ({
    rowId: index + 1,
    problem: 'differs',
    columns: ['A', 'B\u001b'],
  }));
  const unreadable: Mismatch[] = [10, 11].map((rowId) => ({
    rowId,
    problem: 'cannot be read',
    columns: ['A'],
    reason: 'half of an emoji',
  }));

  const text = textOf([{ ...EQUAL, mismatchCount: 30, mismatches, unreadableCount: 2, unreadable }]);

  expect(text).toContain('not every cell matches the origin\n');
  expect(text).toContain('\nNote:\n  _id 1: differs in A, B\\u001b\n');
  expect(text).toContain('  _id 10: cannot be read in A: half of an emoji\n  and 22 more rows\n');
  expect(text).not.toContain('_id 11');
  expect(text).toMatch(/different: Note: 30 rows differ/);
  expect(text).toMatch(/unreadable: Note: 2 rows cannot be read/);
});

test('on schedule, a table that differs waits for a person, and the others are done', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await fixture.pull();
  fixture.execute(`BEGIN; INSERT INTO _rowsync_writer VALUES (1); UPDATE "Note" SET "Title" = 'tampered' WHERE _id = 1;
    DELETE FROM _rowsync_writer; COMMIT`);

  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
  const outcome = await verifyOnSchedule({ pull: fixture.context(), push: pushContext(fixture) } as Parameters<
    typeof verifyOnSchedule
  >[0]);

  expect(outcome).toMatchObject({ error: null, isOver: false, facts: { tableCount: 2, rowCount: 12 } });
  expect(outcome.tables?.map(({ localName, held, error }) => [localName, held?.code ?? null, error])).toEqual([
    ['Note', 'verify.mismatch', null],
    ['Other', null, null],
  ]);
});

test('on schedule, what an interrupted push left is settled first', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1`);
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'store') throw end;
    },
  });

  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
  const outcome = await verifyOnSchedule({ pull: fixture.context(), push: pushContext(fixture) } as Parameters<
    typeof verifyOnSchedule
  >[0]);

  expect(outcome.tables?.map(({ error, held }) => [error, held])).toEqual([[null, null]]);
  expect(fixture.rows('SELECT count(*) AS n FROM _rowsync_rows')).toEqual([{ n: 0 }]);
});

test('the command ends with 0 where all is equal, and refuses a table that is not there', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {} }\n`);
  const { folder } = made;
  await runCli(['pull'], { folder });

  const equal = await runCli(['verify', 'Note', '--json'], { folder });
  const unknown = await runCli(['verify', 'Nope'], { folder });

  expect(equal.exitCode).toBe(0);
  expect(JSON.parse(equal.stdout)).toMatchObject({
    exitCode: 0,
    error: null,
    tables: [{ table: 'Note', mismatchCount: 0 }],
  });
  expect(unknown).toMatchObject({ exitCode: 2, stdout: '' });
});

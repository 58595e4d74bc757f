/** The account of a push: each edit at its beginning is in exactly one column, with the reason if it was not sent. */
import { expect, test } from 'vitest';
import { startBehindProxy } from '../support/fault-proxy.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { capture, NOTE, startTwoWay, twoWayTable } from '../support/two-way.ts';
import { pushText } from '../../src/cli/report/push-report.ts';
import { TableTally, type PushReport, type TablePushReport } from '../../src/push/report.ts';
import { RowsyncError } from '../../src/base/errors.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

/** Columns of the account of one table that are not 0. */
function columnsOf({ tables: [table] }: PushReport): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(table?.account ?? {}).filter(([, value]) => value !== 0 && value !== null));
}

test('edits that arrive, win, lose, are refused, or cannot be sent are each counted once', async () => {
  await using fixture = await startTwoWay(MATCHED);
  const { store } = fixture.sandbox;
  fixture.execute(`UPDATE "Note" SET "Title" = 'here' WHERE _id IN (1, 2);
    UPDATE "Note" SET "Code" = 'c6' WHERE _id = 3;
    UPDATE "Note" SET "Photo" = 'file:nothing.jpg' WHERE _id = 4;
    UPDATE "Note" SET "Title" = 'gone' WHERE _id = 5;
    INSERT INTO "Note" ("Code", "Title") VALUES ('n1', 'new')`);
  store.update('Note', 2, { Title: 'there' });
  store.delete('Note', 5);

  const report = await pushNow(fixture);

  expect(columnsOf(report)).toEqual({ began: 6, arrived: 2, lost: 2, refused: 1, unsendable: 1 });
});

test('an edit that won over a colleague’s, and one about which a person is asked, have their columns', async () => {
  await using local = await startTwoWay(MATCHED);
  await using ask = await startTwoWay(MATCHED);
  for (const fixture of [local, ask]) {
    fixture.execute(`UPDATE "Note" SET "Title" = 'here' WHERE _id = 1`);
    fixture.sandbox.store.update('Note', 1, { Title: 'there' });
  }

  expect(columnsOf(await pushNow(local, { options: { conflict: 'local' } }))).toEqual({ began: 1, won: 1 });
  expect(columnsOf(await pushNow(ask, { options: { conflict: 'ask' } }))).toEqual({ began: 1, asked: 1 });
});

test('an edit of which one cell was sent and one lost is counted as lost, in part', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'here', "Count" = 7 WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'there' });

  const report = await pushNow(fixture, { options: { conflict: 'origin' } });

  expect(columnsOf(report)).toEqual({ began: 1, lost: 1 });
  expect(report.tables[0]?.updatedCount).toBe(1);
  expect(pushText(report, null)).toContain('1 edit: 1 lost to a change at the origin, in whole or in part\n');
});

test('a held table says why nothing of it was sent', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

  const report = await pushNow(fixture, { settings: { maxPushRows: 5 } });

  const unsentReason = expect.stringContaining('safety.maxPushRows') as unknown;
  expect(columnsOf(report)).toEqual({ began: 6, unsent: 6, unsentReason });
});

test('an origin that is away is the reason of every edit', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
  fixture.proxy.play({ match: () => true, answer: 'reset', isApplied: false });

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual(['origin.unreachable']);
  const unsentReason = expect.stringContaining('no connection to') as unknown;
  expect(columnsOf(report)).toEqual({ began: 2, unsent: 2, unsentReason });
});

test('edits that were made while the push ran do not change the sum', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
  fixture.sandbox.before(1, () => fixture.execute(`UPDATE "Note" SET "Title" = 'y' WHERE _id > 1`), {
    method: 'update',
  });

  expect(columnsOf(await pushNow(fixture))).toEqual({ began: 2, arrived: 2 });
});

test('a refused row that is sent once more in the same push is counted once', async () => {
  await using fixture = await startTwoWay({ ...MATCHED, tables: [NOTE] });
  // The first takes a value that the second still has.
  fixture.execute(`UPDATE "Note" SET "Code" = 'z' WHERE _id = 2; UPDATE "Note" SET "Code" = 'c2' WHERE _id = 1`);

  expect(columnsOf(await pushNow(fixture))).toEqual({ began: 2, arrived: 2 });
});

test('a new row is the same edit where it is merged with a row of the origin', async () => {
  await using fixture = await startTwoWay(MATCHED);
  const { store } = fixture.sandbox;
  store.insert('Note', { Title: 'theirs', Code: 'n1' });
  store.insert('Note', { Title: 'same', Code: 'n2' });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1'), ('same', 'n2')`);

  expect(columnsOf(await pushNow(fixture, { options: { conflict: 'local' } }))).toEqual({
    began: 2,
    arrived: 1,
    won: 1,
  });
  expect(fixture.rows('SELECT 1 FROM _rowsync_rows')).toEqual([]);
});

test('the table has one report, with what stopped it as a hold or as an error', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
  await capture(fixture);
  const stop = (kind: 'needsPerson' | 'originDown'): TablePushReport | null => {
    const tally = new TableTally(twoWayTable(fixture));
    tally.noteEdits(fixture.replica);
    const code = kind === 'needsPerson' ? 'guard.deletes' : 'origin.unreachable';
    tally.close(fixture.replica, new RowsyncError(kind, code, { message: 'why', hint: '' }));
    return tally.report;
  };

  const rest = { table: 'Note', waitingCount: 2, account: { began: 2, unsent: 2, unsentReason: 'why' } };
  expect(stop('needsPerson')).toMatchObject({ ...rest, held: { code: 'guard.deletes' }, error: null });
  expect(stop('originDown')).toMatchObject({ ...rest, held: null, error: { code: 'origin.unreachable' } });
});

test('edits that were made after the beginning are not of it', async () => {
  await using fixture = await startTwoWay(MATCHED);
  const tally = new TableTally(twoWayTable(fixture));
  const edit = (id: number): void => fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = ${id}`);
  edit(1);
  tally.noteEdits(fixture.replica);
  edit(2);
  tally.endBeginning(fixture.replica);
  edit(3);
  tally.noteEdits(fixture.replica);

  tally.close(fixture.replica, 'later');

  expect(tally.report).toMatchObject({ waitingCount: 3, account: { began: 2, unsent: 2 } });
});

test('a refused row is tried again once, if other rows were accepted after it', () => {
  const push = { takenCount: 0, isReversed: false };
  const tallyOf = (id: number): TableTally => new TableTally({ id, localName: 'Note' }, push);
  const [memory, other] = [tallyOf(1), tallyOf(2)];
  memory.noteRefused(1);
  push.takenCount += 1;
  memory.noteRefused(2);
  other.noteRefused(3);

  expect(memory.takeOvertaken()).toEqual([1]);
  push.takenCount += 1;
  expect(memory.takeOvertaken()).toEqual([]); // also 2 is forgotten: it is refused again if it leaves again
  expect(other.takeOvertaken()).toEqual([3]);
});

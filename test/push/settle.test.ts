/** What becomes of rows that were sent: as the origin took them, edited here meanwhile, or deleted on either side. */
import { describe, expect, test, vi } from 'vitest';
import { Replica } from '../../src/replica/database.ts';
import { atOrigin, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import { AT, captured, NOTE, startTwoWay } from '../support/two-way.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { Fixture } from '../support/replica.ts';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import type { WorkflowRule } from '../../src/sandbox/store/spec.ts';

test('what a create became is on the disk before the push goes on, so that a power cut does not take its number back', async () => {
  await using fixture = await startTwoWay();
  const writes = vi.spyOn(Replica.prototype, 'writeDurably');
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);

  const { tables } = await pushNow(fixture);

  expect(tables).toMatchObject([{ insertedCount: 1 }]);
  expect(writes.mock.calls.map(([what]) => what)).toEqual([
    expect.stringMatching(/^Recording a batch/),
    expect.stringMatching(/^Settling a batch/),
  ]);
});

test('an edit of more columns than a SELECT can compare with their bases is settled', async () => {
  const columns = Array.from({ length: 1100 }, (_, index) => ({ name: `c${index}`, type: 'Text' as const }));
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns, rows: [{ c0: 'x' }] }] });
  fixture.execute(`UPDATE "Note" SET ${columns.map(({ name }) => `"${name}" = 'v'`).join(', ')}`);

  const { tables } = await pushNow(fixture);

  expect(tables).toMatchObject([{ updatedCount: 1, error: null }]);
  expect(await captured(fixture)).toEqual([]);
});

function conflicts(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", local, remote, winner FROM sync_conflicts ORDER BY id');
}

/** Pushes up to the answer, and ends before the rows are read back. */
async function sendOnly(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

test('a cell that is put back to what it was, after it was sent, outlasts a pull that comes before the answer is settled', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);

  await fixture.pull();

  expect(here(fixture, ['Body'])[0]).toEqual([1, null]);
  await pushNow(fixture);
  expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, null]);
  expect(await captured(fixture)).toEqual([]);
});

test('a row that was put back so, and is deleted at the origin, waits for its answer too', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);

  await fixture.pull();

  expect(here(fixture, ['Title'])[0]).toEqual([1, 'title 1']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  await fixture.pull();
  expect(here(fixture, ['Title'])).toHaveLength(5);
});

test('of rows that were sent together, each cell that is edited again before it is settled stays an edit, and is pushed', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id <> 2; UPDATE "Note" SET "Count" = 20 WHERE _id = 2`);
  let isFirst = true;
  const editOnce = (step: string): void => {
    if (step !== 'settle' || !isFirst) return;
    isFirst = false;
    fixture.execute(`UPDATE "Note" SET "Due" = '2027-01-01' WHERE _id = 2;
      UPDATE "Note" SET "Body" = 'again' WHERE _id = 3; UPDATE "Note" SET "Count" = 40 WHERE _id = 4; DELETE FROM "Note" WHERE _id = 5`);
  };

  const report = await pushNow(fixture, { before: editOnce });

  const expected = [
    [1, 'sent', 1, '2026-11-21'],
    [2, null, 20, '2027-01-01'],
    [3, 'again', 3, '2026-11-21'],
    [4, 'sent', 40, '2026-11-21'],
    [6, 'sent', 6, '2026-11-21'],
  ];
  expect(countsOf(report)).toMatchObject({ updated: 9, deleted: 1 });
  expect(atOrigin(fixture, ['Body', 'Count', 'Due'])).toEqual(expected);
  expect(here(fixture, ['Body', 'Count', 'Due'])).toEqual(expected);
  expect(await captured(fixture)).toEqual([]);
});

test('what the origin makes of a value that it took is here, also where it kept the former one', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id < 3`);
  fixture.sandbox.before(2, () => fixture.sandbox.store.update('Note', 1, { Title: 'title 1' }), {
    method: 'retrieve',
  });

  await pushNow(fixture);

  expect(here(fixture, ['Title']).slice(0, 2)).toEqual([
    [1, 'title 1'],
    [2, 'sent'],
  ]);
  expect(await captured(fixture)).toEqual([]);
});

test.each(['answered', 'lost'])(
  'a row that is put back while its delete is on its way is created anew (%s)',
  async (end) => {
    await using fixture = await startTwoWay();
    if (end === 'lost') setFaults(fixture, [{ fault: 'resetAfter', method: 'delete', nth: 1 }]);
    fixture.execute(`CREATE TABLE kept AS SELECT * FROM "Note" WHERE _id = 6; DELETE FROM "Note" WHERE _id = 6`);
    const putBack = (): void =>
      fixture.execute(
        `INSERT INTO "Note" (_id, "Title", "Code", "Count") SELECT _id, "Title", "Code", "Count" FROM kept`,
      );
    fixture.sandbox.before(1, putBack, { method: 'delete' });

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toMatchObject({ deleted: 1, inserted: 1 });
    expect(atOrigin(fixture, ['Title', 'Code', 'Count']).at(-1)).toEqual([7, 'title 6', 'c6', 6]);
    expect(here(fixture, ['Title'])).toHaveLength(6);
    expect(await captured(fixture)).toEqual([]);
  },
);

/** Where a delete was not taken, and the origin has the row: no answer comes, or it says that it has no such row. */
const NOT_TAKEN: readonly (readonly [string, (fixture: Fixture) => void])[] = [
  ['without an answer', (fixture) => setFaults(fixture, [{ fault: 'resetBefore', method: 'delete', nth: 1 }])],
  [
    'as if it had no such row',
    ({ sandbox }) => {
      const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
      const headers = { 'Content-Type': 'application/json' };
      sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'delete' });
    },
  ],
];

describe.each(NOT_TAKEN)('a delete that the origin did not take, %s', (_how, refuse) => {
  test('takes no value from a column that has another one’s name by now', async () => {
    await using fixture = await startTwoWay();
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    refuse(fixture);
    await sendOnly(fixture);
    const swapNames = (step: string): void => {
      if (step !== 'readBack') return;
      const { store } = fixture.sandbox;
      store.renameColumn('Note', 'Title', 'between');
      store.renameColumn('Note', 'Body', 'Title');
      store.renameColumn('Note', 'between', 'Body');
    };

    const report = await pushNow(fixture, { before: swapNames });

    expect(codesOf(report)).toEqual(['push.shape']);
    expect(conflicts(fixture)).toEqual([]);
  });
});

test('a row that is deleted while its update is on its way, of which the origin says that it has no such row, is deleted there', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
  const headers = { 'Content-Type': 'application/json' };
  fixture.sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'update' });
  const before = (step: string): void => {
    if (step === 'readBack') fixture.execute('DELETE FROM "Note" WHERE _id = 1');
  };

  const report = await pushNow(fixture, { before });

  expect(codesOf(report)).toEqual([]);
  expect(countsOf(report)).toEqual({ deleted: 1 });
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([2, 'title 2']);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

const COLUMNS = ['Title', 'Code'];

/** The origin numbers its rows as it likes. */
const NUMBERED: readonly WorkflowRule[] = [{ when: 'create', set: 'Code', to: '"N-" & [Id]' }];

/** The `nth` request that makes rows gets no answer, after the origin took it or before. */
function lose(fixture: Fixture, fault: 'resetAfter' | 'resetBefore', nth = 1): void {
  setFaults(
    fixture,
    ['upsert', 'create'].map((method) => ({ fault, method, nth })),
  );
}

test.each([
  ['with a match column', 'Code'],
  ['without one', null],
] as const)('a new row without an answer, %s, goes again where a person lets it', async (_what, match) => {
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  lose(fixture, 'resetAfter');
  await pushNow(fixture);
  await fixture.pull();
  const [failure] = fixture.rows('SELECT id FROM sync_failures') as { id: number }[];
  await carryOutDecision(fixture.replica, { kind: 'retry', ids: [failure?.id ?? 0] }, AT);
  await pushNow(fixture);

  expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([
    [7, 'x', 'N-7'],
    [8, 'x', 'N-8'],
  ]);
});

test('a new row without an answer goes again where it has the match value here by now that its row has at the origin', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  lose(fixture, 'resetAfter');
  const before = (step: string): void => {
    if (step !== 'store') return;
    fixture.sandbox.store.update('Note', 7, { Code: 'k9' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'k9' WHERE "Title" = 'x'`);
  };

  const report = await pushNow(fixture, { before });

  expect(codesOf(report)).toEqual([]);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([]);
  expect(here(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'k9']]);
  expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'k9']]);
});

/**
 * Creates whose answer got lost, and whose row does not have the unique value any more that was sent: a workflow gave it another one, or a
 * colleague did before it was looked for. Nothing is made twice.
 */
import { describe, expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/decide.ts';
import type { WorkflowRule } from '../../src/sandbox/store/spec.ts';
import {
  atOrigin,
  changesSent,
  codesOf,
  countsOf,
  here,
  pushNow,
  setFaults,
  unreadableAnswer,
} from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, NOTE, startTwoWay } from '../support/two-way.ts';

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

describe.each([
  ['with a match column', 'Code'],
  ['without one', null],
] as const)('a new row without an answer, %s,', (_what, match) => {
  test.each([
    ['was given', `INSERT INTO "Note" ("Title", "Code", "Count") VALUES ('x', 'n1', 9)`],
    // Without a match column, such a row is looked for by all that was sent.
    ['had none, or one that was made up', `INSERT INTO "Note" ("Title", "Count") VALUES ('x', 9)`],
  ])('is not made twice where the workflow numbers rows anew, and it %s', async (_which, insert) => {
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
    fixture.execute(insert);
    lose(fixture, 'resetAfter');

    for (let round = 0; round < 2; round += 1) {
      await pushNow(fixture);
      await fixture.pull();
    }

    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'N-7']]);
    expect(changesSent(fixture)).toHaveLength(1);
  });

  test('is in doubt where a colleague gave its row another value meanwhile, and says which row that may be', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetAfter');
    const before = (step: string): void => {
      if (step === 'store') fixture.sandbox.store.update('Note', 7, { Code: 'k9' });
    };

    const report = await pushNow(fixture, { before });
    await fixture.pull();
    await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inDoubt: 1, parked: 1 }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'k9']]);
    expect(fixture.rows('SELECT row_id, kind, reason FROM sync_failures')).toEqual([
      { row_id: -2, kind: 'inDoubt', reason: expect.stringContaining('row 7 ') as unknown },
    ]);
    expect(here(fixture, COLUMNS)[0]).toEqual([-2, 'x', 'n1']);
  });

  test('is looked for again where nothing readable is answered about rows that are like it', async () => {
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
    const unreadable = await unreadableAnswer(fixture, 7);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetAfter');
    // After the question by its value, before which a match value was asked for once more.
    fixture.sandbox.answerInstead(match === null ? 2 : 3, unreadable, { method: 'select' });

    await pushNow(fixture);
    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inDoubt: 1, parked: 1 }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'N-7']]);
  });

  test('goes again where a row that cannot be read was known, so that it did not make it', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    const unreadable = await unreadableAnswer(fixture, 2);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetBefore');
    fixture.sandbox.answerInstead(match === null ? 2 : 3, unreadable, { method: 'select' });

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1 }]);
  });

  test('is looked for by itself where the origin refuses to look for several at once', async () => {
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1'), ('y', 'n2')`);
    lose(fixture, 'resetAfter');
    const body = JSON.stringify({ error: 400, code: 3000, message: 'the filter cannot be read' });
    const refusal = { status: 400, headers: { 'Content-Type': 'application/json' }, body };
    fixture.sandbox.answerInstead(match === null ? 2 : 3, refusal, { method: 'select' });

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inDoubt: 2, parked: 2 }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([
      [7, 'x', 'N-7'],
      [8, 'y', 'N-8'],
    ]);
  });

  test('stays listed where it was deleted here meanwhile', async () => {
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetAfter');
    const before = (step: string): void => {
      if (step === 'store') fixture.execute(`DELETE FROM "Note" WHERE "Title" = 'x'`);
    };

    await pushNow(fixture, { before });

    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -2, kind: 'inDoubt' }]);
  });

  test('goes again where a row that is like it is somebody else’s', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetBefore');
    fixture.sandbox.store.insert('Note', { Title: 'x', Code: 'k9', 'Created By': 'Somebody <somebody@example.com>' });

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1 }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([
      [7, 'x', 'k9'],
      [8, 'x', 'n1'],
    ]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('goes again where a row that is like it was known, or is another one of its batch', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n0')`);
    await pushNow(fixture);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1'), ('x', 'n2')`);
    lose(fixture, 'resetBefore');
    // As where the origin fails between two rows.
    const store = (): unknown =>
      fixture.sandbox.store.insert('Note', { Title: 'x', Code: 'n1', 'Created By': fixture.sandbox.user.email });
    const method = match === null ? 'create' : 'upsert';
    fixture.sandbox.before(1, store, { method });

    const report = await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 2 }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([
      [7, 'x', 'n0'],
      [8, 'x', 'n1'],
      [9, 'x', 'n2'],
    ]);
  });

  test('goes again where a person lets it', async () => {
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

test('a new row without an answer is looked for by itself where another one is like more rows than an answer has', async () => {
  const rows = Array.from({ length: 500 }, () => ({ Title: 'x' }));
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED, rows }] });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1'), ('y', 'n2')`);
  lose(fixture, 'resetAfter');

  await pushNow(fixture);

  expect(fixture.rows('SELECT row_id, kind FROM sync_failures ORDER BY row_id')).toEqual([
    { row_id: -3, kind: 'inDoubt' },
    { row_id: -2, kind: 'inDoubt' },
  ]);
  const titles = fixture.sandbox.store.rows('Note').map(({ values }) => values['Title']);
  expect([titles.filter((title) => title === 'y').length, titles.filter((title) => title === 'x').length]).toEqual([
    1, 501,
  ]);
});

describe('a new row without an answer, with a number that the origin gives to another row meanwhile,', () => {
  test.each([
    ['goes again, and is refused, where it has a unique value', `'n1'`, [{ kind: 'insert' }]],
    ['is in doubt where nothing else identifies it', 'NULL', [{ kind: 'inDoubt' }]],
  ])('is not taken for that one: it %s', async (_what, code, waiting) => {
    await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
    fixture.execute(`INSERT INTO "Note" ("Id", "Title", "Code") VALUES ('7', 'x', ${code})`);
    lose(fixture, 'resetBefore');
    const strangers = [{ Title: 'stranger', Code: 's1' }];
    const before = (step: string): void => {
      if (step === 'store') for (const row of strangers.splice(0)) fixture.sandbox.store.insert('Note', row);
    };

    const report = await pushNow(fixture, { before, options: { conflict: 'local' } });
    await fixture.pull();

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'stranger', 's1']]);
    expect(fixture.rows('SELECT kind FROM sync_failures')).toEqual(waiting);
  });
});

/** Rows that are like a new one but for what is unique: more than an answer has. */
const MANY = Array.from({ length: 501 }, (_, index) => ({ Title: 'x', Code: `m${index}` }));

describe('a new row without an answer that is like more rows than an answer has', () => {
  test.each([
    ['is not made twice where the workflow numbers rows anew', 'resetAfter', [[508, 'x', 'N-508']]],
    ['goes again where none of them is new', 'resetBefore', [[508, 'x', 'N-508']]],
  ] as const)('%s', async (_what, fault, made) => {
    const rows = [...(NOTE.rows ?? []), ...MANY];
    await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows, rules: NUMBERED }] });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, fault);

    const report = await pushNow(fixture);
    await pushNow(fixture);

    expect([codesOf(report), countsOf(report)]).toEqual([
      [],
      fault === 'resetAfter' ? { inDoubt: 1, parked: 1 } : { inserted: 1 },
    ]);
    expect(atOrigin(fixture, COLUMNS).slice(507)).toEqual(made);
  });

  test('is in doubt where all of them are new', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    lose(fixture, 'resetAfter');
    const rows = [...MANY];
    const before = (step: string): void => {
      if (step !== 'store') return;
      fixture.sandbox.store.update('Note', 7, { Code: 'k9' });
      for (const row of rows.splice(0)) fixture.sandbox.store.insert('Note', row);
    };

    const report = await pushNow(fixture, { before });

    expect([codesOf(report), countsOf(report)]).toEqual([[], { inDoubt: 1, parked: 1 }]);
    expect(changesSent(fixture)).toEqual(['create']);
    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -2, kind: 'inDoubt' }]);
  });
});

test('a new row without an answer that has its unique value is asked for once', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  lose(fixture, 'resetAfter');
  fixture.sandbox.requests.clear();

  await pushNow(fixture);

  expect(fixture.sandbox.requests.count({ method: 'select' })).toBe(1);
});

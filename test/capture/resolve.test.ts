/**
 * What a person decides: by the command line or by SQL, about open conflicts and about those that a policy decided.
 */
import { describe, expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/decide.ts';
import { discardRow, resolveConflict, type Decision } from '../../src/capture/resolve.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, codesOf, countsOf, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, capture, captured, NOTE, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** A conflict about the title of row 1. */
async function startCellConflict(conflict: ConflictPolicy): Promise<Fixture> {
  const fixture = await startTwoWay({ editing: { conflict } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();
  return fixture;
}

function resolve(fixture: Fixture, decision: Decision, id = 1): Promise<string | null> {
  return fixture.replica.write('Resolving', (tx) => resolveConflict(tx, id, decision, AT));
}

function titles(fixture: Fixture): unknown {
  return fixture.rows('SELECT _id, "Title" FROM "Note" WHERE _id < 2');
}

const CELL_CASES: readonly (readonly [ConflictPolicy, Decision['take'], string, readonly string[]])[] = [
  ['ask', 'local', 'mine', ['update 1 Title']],
  ['ask', 'remote', 'theirs', []],
  ['ask', 'base', 'title 1', ['update 1 Title']],
  ['ask', 'value', 'both', ['update 1 Title']],
  ['origin', 'local', 'mine', ['update 1 Title']],
  ['origin', 'remote', 'theirs', []],
  ['local', 'remote', 'theirs', []],
  ['local', 'local', 'mine', ['update 1 Title']],
];

describe.each(CELL_CASES)('a cell under conflict: %s, taking %s', (policy, take, title, changes) => {
  test('by the command', async () => {
    await using fixture = await startCellConflict(policy);

    const problem = await resolve(fixture, { take, value: 'both' });

    expect(problem).toBe(null);
    expect(titles(fixture)).toEqual([{ _id: 1, Title: title }]);
    expect(await captured(fixture)).toEqual(changes);
    expect(fixture.rows('SELECT state, resolution FROM sync_conflicts')).toEqual([
      { state: 'resolved', resolution: take },
    ]);
    expect(fixture.rows('SELECT pending, parked, conflicts FROM sync_status')).toEqual([
      { pending: changes.length, parked: 0, conflicts: 0 },
    ]);
  });

  test('by SQL, with the next run', async () => {
    await using fixture = await startCellConflict(policy);
    fixture.execute(`UPDATE sync_conflicts SET resolution = '${take}', value = 'both' WHERE id = 1`);

    await fixture.pull();

    expect(titles(fixture)).toEqual([{ _id: 1, Title: title }]);
    expect(await captured(fixture)).toEqual(changes);
    expect(fixture.rows('SELECT state, resolution FROM sync_conflicts')).toEqual([
      { state: 'resolved', resolution: take },
    ]);
  });
});

const DELETED_HERE: readonly (readonly [ConflictPolicy, Decision['take'], string | null, readonly string[]])[] = [
  ['ask', 'local', null, ['delete 1']],
  ['ask', 'remote', 'theirs', []],
  ['ask', 'base', 'title 1', ['update 1 Title']],
  ['origin', 'local', null, ['delete 1']],
  ['local', 'remote', 'theirs', []],
];

test.each(DELETED_HERE)('a row deleted here under conflict: %s, taking %s', async (conflict, take, title, changes) => {
  await using fixture = await startTwoWay({ editing: { conflict } });
  fixture.execute('DELETE FROM "Note" WHERE _id = 1');
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();

  expect(await resolve(fixture, { take, value: null })).toBe(null);

  expect(titles(fixture)).toEqual(title === null ? [] : [{ _id: 1, Title: title }]);
  expect(await captured(fixture)).toEqual(changes);
});

const DELETED_THERE: readonly (readonly [ConflictPolicy, Decision['take'], string | null])[] = [
  ['ask', 'local', 'mine'],
  ['ask', 'remote', null],
  ['ask', 'base', 'title 1'],
  ['origin', 'local', 'mine'],
  ['origin', 'base', 'title 1'],
  ['local', 'remote', null],
];

test.each(DELETED_THERE)('a row deleted there under conflict: %s, taking %s', async (conflict, take, title) => {
  await using fixture = await startTwoWay({ editing: { conflict } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();

  expect(await resolve(fixture, { take, value: null })).toBe(null);

  expect(titles(fixture)).toEqual(title === null ? [] : [{ _id: -2, Title: title }]);
  expect((await captured(fixture)).map((change) => change.split(' ', 2).join(' '))).toEqual(
    title === null ? [] : ['insert -2'],
  );
});

test.each([
  ['value', 'much longer than twenty characters', '"Title" of Note takes at most 20 characters'],
  ['value', null, '"Title" of Note must have a value'],
] as const)('a decision for a %s that cannot be pushed changes nothing', async (take, value, sentence) => {
  await using fixture = await startCellConflict('ask');

  expect(await resolve(fixture, { take, value })).toBe(sentence);

  expect(titles(fixture)).toEqual([{ _id: 1, Title: 'mine' }]);
  expect(fixture.rows('SELECT state FROM sync_conflicts')).toEqual([{ state: 'open' }]);
});

test('a decision by SQL that cannot be carried out says why', async () => {
  await using fixture = await startCellConflict('ask');
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'value', value = '' WHERE id = 1`);

  await fixture.pull();

  expect(fixture.rows('SELECT state, problem FROM sync_conflicts')).toEqual([
    { state: 'open', problem: '"Title" of Note must have a value' },
  ]);
});

test('a decision by SQL about a table that is a mirror is not carried out once it is two-way again', async () => {
  await using fixture = await startCellConflict('origin');
  const settings = { tableOptions: () => ({ sort: null }) };
  await fixture.pull({ settings });
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local' WHERE id = 1`);
  await fixture.pull({ settings });
  const said = fixture.rows('SELECT state, problem FROM sync_conflicts');

  await fixture.pull();
  await fixture.pull();

  expect(said).toEqual([{ state: 'decided', problem: 'the table is not two-way any more' }]);
  expect(titles(fixture)).toEqual([{ _id: 1, Title: 'theirs' }]);
});

test.each([
  [`UPDATE sync_conflicts SET resolution = 'mine'`, 'resolution is one of local, remote, base and value'],
  [`UPDATE sync_conflicts SET remote = 'x'`, 'only resolution and value of sync_conflicts can be set'],
  [`UPDATE sync_conflicts SET state = 'resolved'`, 'only resolution and value of sync_conflicts can be set'],
])('refuses %s', async (statement, sentence) => {
  await using fixture = await startCellConflict('ask');

  expect(() => fixture.execute(statement)).toThrow(sentence);
});

test('a delete of a row of which a cell is under conflict goes to the origin once the local version is taken', async () => {
  await using fixture = await startCellConflict('ask');
  fixture.execute(`DELETE FROM "Note" WHERE _id = 1`);

  expect(await resolve(fixture, { take: 'remote', value: null })).toContain('was deleted here');
  expect(fixture.rows('SELECT state FROM sync_conflicts')).toEqual([{ state: 'open' }]);
  expect(await resolve(fixture, { take: 'local', value: null })).toBe(null);

  expect(fixture.rows('SELECT state, resolution FROM sync_conflicts')).toEqual([
    { state: 'resolved', resolution: 'local' },
  ]);
  expect(await captured(fixture)).toEqual(['delete 1']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(fixture.sandbox.store.ids('Note')).not.toContain(1);
});

test('a conflict that does not exist is no conflict', async () => {
  await using fixture = await startTwoWay();

  expect(await resolve(fixture, { take: 'local', value: null }, 99)).toBe('there is no conflict 99');
});

test('discarded edits leave what the origin has, and can be taken again', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2; INSERT INTO "Note" ("Title") VALUES ('new')`,
  );
  const discard = (rowId: number): Promise<string | null> =>
    fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), rowId, AT));

  expect(await Promise.all([1, 2, -2, 3].map(discard))).toEqual([
    null,
    null,
    null,
    'row 3 of Note has no edit that the origin does not have',
  ]);

  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(await captured(fixture)).toEqual([]);
  for (const id of [1, 2, 3]) expect(await resolve(fixture, { take: 'local', value: null }, id)).toBe(null);
  expect(await captured(fixture)).toEqual(['insert -3 Title', 'update 1 Title', 'delete 2']);
});

describe('a new row that was discarded and is taken back', () => {
  const local = { take: 'local', value: null } as const;
  const titlesOfNew = `SELECT "Title" FROM "Note" WHERE "Title" IN ('new', 'newer') ORDER BY 1`;

  async function startDiscarded(): Promise<Fixture> {
    const fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -2, AT));
    return fixture;
  }

  test('comes once, however often', async () => {
    await using fixture = await startDiscarded();

    expect([await resolve(fixture, local), await resolve(fixture, local)]).toEqual([null, null]);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
    expect(fixture.rows('SELECT id FROM sync_conflicts')).toEqual([{ id: 1 }]);
  });

  test('comes once, also when it was pushed meanwhile', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    await pushNow(fixture);

    expect(await resolve(fixture, local)).toBe(null);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT row_id FROM sync_conflicts')).toEqual([{ row_id: 7 }]);
  });

  test('comes once, though it was discarded in two versions', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE "Title" = 'new'`);
    await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -3, AT));

    expect([await resolve(fixture, local, 2), await resolve(fixture, local, 1)]).toEqual([null, null]);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
  });

  test('comes once, though both versions are taken by SQL at a time', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE "Title" = 'new'`);
    await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -3, AT));
    fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);

    await fixture.pull();

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'newer' }]);
  });

  test('stays in doubt where no answer came to its create, however often it is taken', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
    await pushNow(fixture);
    await pushNow(fixture);

    expect(await resolve(fixture, local)).toBe(null);

    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -3, kind: 'inDoubt' }]);
    expect(countsOf(await pushNow(fixture))).toEqual({ parked: 1 });
  });

  test('is kept as it was sent, where its create is in doubt and it was deleted here', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
    expect(countsOf(await pushNow(fixture))).toEqual({ inDoubt: 1, parked: 1 });
    fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);

    await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -2, AT));

    expect(fixture.rows(`SELECT kind, local ->> 'Title' AS title, state FROM sync_conflicts`)).toEqual([
      { kind: 'inserted', title: 'new', state: 'discarded' },
    ]);
    expect(await resolve(fixture, local)).toBe(null);
    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
  });

  test('is not forgotten by another try, where its create is in doubt and it was deleted here', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
    await pushNow(fixture);
    fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);
    const before = fixture.rows('SELECT * FROM sync_failures') as { id: number }[];

    const outcome = await carryOutDecision(fixture.replica, { kind: 'retry', ids: [before[0]?.id ?? 0] }, AT);

    expect(outcome).toEqual({
      kind: 'problem',
      words: 'row -2 was deleted here; look whether it stands at the origin, then discard it',
    });
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual(before);
  });

  test('waits while the calling user may not write its columns, and loses none of its values', async () => {
    await using fixture = await startDiscarded();
    const [{ role } = { role: '' }] = fixture.sandbox.store.catalog.users;
    const setRight = (canWrite: boolean): void =>
      fixture.sandbox.store.setRole({ name: role, canWrite, hiddenTables: [], hiddenColumns: [] });
    setRight(false);
    await fixture.pull();

    const problem = await resolve(fixture, local);
    const without = fixture.rows(titlesOfNew);
    setRight(true);
    await fixture.pull();

    expect(problem).toMatch(/cannot be written now/);
    expect(without).toEqual([]);
    expect(await resolve(fixture, local)).toBe(null);
    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
  });

  test('comes again where it was deleted since', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`DELETE FROM "Note" WHERE "Title" = 'new'`);

    expect(await resolve(fixture, local)).toBe(null);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
  });
});

test('a row that goes on as a new one, and is discarded, comes back although the origin computes some of its columns', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();
  await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -2, AT));

  const problem = await resolve(fixture, { take: 'local', value: null }, 2);

  expect(problem).toBe(null);
  expect(fixture.rows('SELECT "Title", "Code" FROM "Note" WHERE _id < 0')).toEqual([{ Title: 'mine', Code: 'c1' }]);
});

test('an edit that was kept when its base was dropped can be taken again, though the row has columns that are locked', async () => {
  const columns = [...NOTE.columns, { name: 'Grade', type: 'Text', readOnly: true }] as const;
  const rows = [{ Title: 'title 1', Code: 'c1', Grade: 'A' }];
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, columns, rows }] });
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DROP TABLE _rowsync_base_${twoWayTable(fixture).id}`,
  );
  await fixture.pull();

  const problem = await resolve(fixture, { take: 'local', value: null });

  expect(problem).toBe(null);
  expect(await captured(fixture)).toEqual(['update 1 Title']);
});

test('a new row that was discarded comes back with a key that people fill in', async () => {
  const note = { ...NOTE, key: 'Code' };
  await using fixture = await startTwoWay({ tables: [note] });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await capture(fixture);
  await fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), -2, AT));

  const problem = await resolve(fixture, { take: 'local', value: null });

  expect(problem).toBe(null);
  expect(fixture.rows('SELECT "Title", "Code" FROM "Note" WHERE _id < 0')).toEqual([{ Title: 'new', Code: 'n1' }]);
});

test('a row that was deleted at the origin does not come back without an edit that may not be written now', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();
  const [{ role } = { role: '' }] = fixture.sandbox.store.catalog.users;
  fixture.sandbox.store.setRole({ name: role, canWrite: false, hiddenTables: [], hiddenColumns: [] });
  await fixture.pull();

  const problem = await resolve(fixture, { take: 'local', value: null });

  expect(problem).toMatch(/"Title" cannot be written now/);
  expect(fixture.rows('SELECT _id FROM "Note" WHERE _id < 2')).toEqual([]);
});

describe('a row that was deleted at the origin, and is taken back while a column of it is locked', () => {
  const lock = (fixture: Fixture, readOnly: boolean): void =>
    fixture.sandbox.store.changeColumn('Note', 'Body', { readOnly });

  /** Returns what stands here once the column may be written again. */
  async function startLocked(conflict: ConflictPolicy, take: 'local' | 'base'): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
    fixture.sandbox.store.update('Note', 1, { Body: 'old' });
    await fixture.pull();
    lock(fixture, true);
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    fixture.sandbox.store.delete('Note', 1);
    await fixture.pull();
    expect(await resolve(fixture, { take, value: null })).toBe(null);
    return fixture;
  }

  const cases = [
    ['origin', 'local', 'mine'],
    ['origin', 'base', 'title 1'],
    ['local', 'local', 'mine'],
    ['local', 'base', 'title 1'],
    ['ask', 'base', 'title 1'],
  ] as const;

  test.each(cases)('comes with what that was once it may be written: %s, taking %s', async (conflict, take, title) => {
    await using fixture = await startLocked(conflict, take);
    lock(fixture, false);
    await fixture.pull();

    await pushNow(fixture, { options: { conflict } });

    expect(atOrigin(fixture, ['Title', 'Body']).at(-1)).toEqual([7, title, 'old']);
    expect(await captured(fixture)).toEqual([]);
  });

  test.each(cases)('empties nothing where the origin has it again: %s, taking %s', async (conflict, take) => {
    await using fixture = await startLocked(conflict, take);
    lock(fixture, false);
    await fixture.pull();
    fixture.sandbox.store.insert('Note', { Code: 'c1', Title: 'title 1', Body: 'old' });

    await pushNow(fixture, { options: { conflict } });

    expect(atOrigin(fixture, ['Body']).at(-1)).toEqual([7, 'old']);
  });

  test.each(cases)('leaves what that was where it goes without it: %s, taking %s', async (conflict, take, title) => {
    await using fixture = await startLocked(conflict, take);

    await pushNow(fixture, { options: { conflict } });

    expect(atOrigin(fixture, ['Title', 'Body']).at(-1)).toEqual([7, title, null]);
    expect(
      fixture.rows(
        `SELECT row_id, local, remote, winner FROM sync_conflicts WHERE kind = 'cell' AND "column" = 'Body'`,
      ),
    ).toEqual([{ row_id: 7, local: 'old', remote: null, winner: 'origin' }]);
    expect(await captured(fixture)).toEqual([]);
  });
});

describe('taking a version of an open conflict twice, as by a double click', () => {
  const twice = async (fixture: Fixture, take: Decision['take']): Promise<unknown> => {
    const decision = { take, value: 'both' };
    return [await resolve(fixture, decision), await resolve(fixture, decision)];
  };

  test('leaves what was edited since the question was asked', async () => {
    await using fixture = await startCellConflict('ask');
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE _id = 1`);

    expect(await twice(fixture, 'local')).toEqual([null, null]);

    expect(titles(fixture)).toEqual([{ _id: 1, Title: 'newer' }]);
  });

  test('leaves a row that was put back after it was deleted here', async () => {
    await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
    await fixture.pull();
    fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (1, 'again')`);

    expect(await twice(fixture, 'local')).toEqual([null, null]);

    expect(titles(fixture)).toEqual([{ _id: 1, Title: 'again' }]);
  });

  test('leaves what was edited of a row that was deleted there', async () => {
    await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    fixture.sandbox.store.delete('Note', 1);
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE _id = -2`);

    expect(await twice(fixture, 'local')).toEqual([null, null]);

    expect(titles(fixture)).toEqual([{ _id: -2, Title: 'newer' }]);
  });

  test.each(['local', 'remote', 'base', 'value'] as const)('keeps nothing beside it: %s', async (take) => {
    await using fixture = await startCellConflict('ask');

    expect(await twice(fixture, take)).toEqual([null, null]);

    expect(fixture.rows('SELECT id, local FROM sync_conflicts')).toEqual([{ id: 1, local: 'mine' }]);
  });
});

test('a decision that cannot be carried out gives up nothing that was edited since', async () => {
  await using fixture = await startCellConflict('origin');
  fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE _id = 1`);
  const before = fixture.rows('SELECT * FROM sync_conflicts');

  expect(await resolve(fixture, { take: 'value', value: '' })).toBe('"Title" of Note must have a value');

  expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual(before);
  expect(titles(fixture)).toEqual([{ _id: 1, Title: 'newer' }]);
});

describe('a decision that SQLite refuses changes nothing, and holds nothing up', () => {
  test('a text where a column takes 0 or 1', async () => {
    await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
    fixture.execute('UPDATE "Note" SET "Done" = NULL WHERE _id = 1');
    fixture.sandbox.store.update('Note', 1, { Done: false });
    await fixture.pull();
    fixture.execute(`UPDATE sync_conflicts SET resolution = 'value', value = 'yes'`);

    const { tables } = await fixture.pull();

    expect(tables.map(({ error }) => error)).toEqual([null]);
    const problem = 'cannot store TEXT value in INTEGER column Note.Done';
    expect(fixture.rows('SELECT state, problem FROM sync_conflicts')).toEqual([{ state: 'open', problem }]);
    expect(await resolve(fixture, { take: 'value', value: 'yes' })).toBe(problem);
    expect(fixture.rows('SELECT "Done" FROM "Note" WHERE _id = 1')).toEqual([{ Done: null }]);
  });

  test('a value that an index of a user allows once', async () => {
    await using fixture = await startCellConflict('ask');
    fixture.execute(`CREATE UNIQUE INDEX once ON "Note" ("Title")`);
    fixture.execute(
      `UPDATE "Note" SET "Title" = 'title 1' WHERE _id = 2; UPDATE "Note" SET "Title" = 'newer' WHERE _id = 1`,
    );

    expect(await resolve(fixture, { take: 'base', value: null })).toBe('UNIQUE constraint failed: Note.Title');

    expect(fixture.rows('SELECT local, state FROM sync_conflicts')).toEqual([{ local: 'mine', state: 'open' }]);
    expect(titles(fixture)).toEqual([{ _id: 1, Title: 'newer' }]);
  });
});

test('an edit made after the decision is kept', async () => {
  await using fixture = await startCellConflict('ask');
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'remote'; UPDATE "Note" SET "Title" = 'newer' WHERE _id = 1`);

  await fixture.pull();

  expect(titles(fixture)).toEqual([{ _id: 1, Title: 'theirs' }]);
  expect(fixture.rows('SELECT local, state FROM sync_conflicts ORDER BY id')).toEqual([
    { local: 'mine', state: 'resolved' },
    { local: 'newer', state: 'discarded' },
  ]);
});

describe.each(['remote', 'base'] as const)('taking %s of a whole row', (take) => {
  test('puts each value into its own column, although two swapped their names', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Body" = 'body 1' WHERE _id = 1`);
    await pushNow(fixture);
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    fixture.sandbox.store.update('Note', 1, { Count: 7 });
    await fixture.pull();
    const { store } = fixture.sandbox;
    store.renameColumn('Note', 'Body', 'between');
    store.renameColumn('Note', 'Code', 'Body');
    store.renameColumn('Note', 'between', 'Code');
    await fixture.pull();

    expect(await resolve(fixture, { take, value: null })).toBe(null);

    expect(fixture.rows('SELECT "Body", "Code" FROM "Note" WHERE _id = 1')).toEqual([{ Body: 'c1', Code: 'body 1' }]);
    expect(fixture.rows(`SELECT base ->> 'Code' AS code, remote ->> 'Body' AS body FROM sync_conflicts`)).toEqual([
      { code: 'body 1', body: 'c1' },
    ]);
  });

  test('leaves a column as it is that was added later', async () => {
    await using fixture = await startTwoWay();
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    fixture.sandbox.store.update('Note', 1, { Count: 7 });
    await fixture.pull();
    fixture.sandbox.store.addColumn('Note', { name: 'Late', type: 'Text', defaultValue: 'given' });
    await fixture.pull();

    expect(await resolve(fixture, { take, value: null })).toBe(null);

    expect(fixture.rows('SELECT "Late" FROM "Note" WHERE _id = 1')).toEqual([{ Late: 'given' }]);
  });
});

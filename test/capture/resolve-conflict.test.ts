/**
 * What a person decides: by the command line or by SQL, about open conflicts and about those that a policy decided.
 */
import { describe, expect, test } from 'vitest';
import { carryOutDecision, type DecisionOutcome } from '../../src/capture/person-decision.ts';
import { discardEdits, resolveConflict, type Decision } from '../../src/capture/resolve-conflict.ts';
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

describe('no version is merged with a row', () => {
  async function startDeleted(conflict: ConflictPolicy): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { conflict } });
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
    await fixture.pull();
    return fixture;
  }

  test('that was edited after it came back', async () => {
    await using fixture = await startDeleted('origin');
    expect(await resolve(fixture, { take: 'remote', value: null })).toBe(null);
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);

    expect(await resolve(fixture, { take: 'remote', value: null })).toContain('edit its cells');

    expect(titles(fixture)).toEqual([{ _id: 1, Title: 'mine' }]);
  });

  test.each(['origin', 'local'] as const)('that the origin has: base, under conflict: %s', async (conflict) => {
    await using fixture = await startDeleted(conflict);
    const before = titles(fixture);

    expect(await resolve(fixture, { take: 'base', value: null })).toContain('the origin has row 1');

    expect(titles(fixture)).toEqual(before);
  });

  test('that was new when it was discarded, and that the origin has by now: taking remote deletes nothing', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -2, AT));
    await resolve(fixture, { take: 'local', value: null });
    await pushNow(fixture);

    expect(await resolve(fixture, { take: 'remote', value: null })).toContain('the origin has row 7');

    expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 7')).toEqual([{ Title: 'new' }]);
  });
});

const DELETED_THERE: readonly (readonly [ConflictPolicy, Decision['take'], string | null])[] = [
  ['ask', 'local', 'mine'],
  ['ask', 'remote', null],
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
  const discard = (rowId: number): Promise<DecisionOutcome> =>
    carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId }, AT);

  expect((await Promise.all([1, 2, -2, 3].map(discard))).map(({ words }) => words)).toEqual([
    'Put row 1 of Note back',
    'Put row 2 of Note back',
    'Removed the new row -2 of Note',
    'row 3 of Note has no edit that the origin does not have',
  ]);

  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(await captured(fixture)).toEqual([]);
  for (const id of [1, 2, 3]) expect(await resolve(fixture, { take: 'local', value: null }, id)).toBe(null);
  expect(await captured(fixture)).toEqual(['insert -3 Title', 'update 1 Title', 'delete 2']);
});

describe('a new row that was discarded and is taken back', () => {
  const local = { take: 'local', value: null } as const;
  const STANDS = 'the row exists here as row -3; edit its cells instead';
  const titlesOfNew = `SELECT "Title" FROM "Note" WHERE "Title" IN ('new', 'newer') ORDER BY 1`;

  async function startDiscarded(): Promise<Fixture> {
    const fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -2, AT));
    return fixture;
  }

  test('comes once, however often', async () => {
    await using fixture = await startDiscarded();

    expect([await resolve(fixture, local), await resolve(fixture, local)]).toEqual([null, STANDS]);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
    expect(fixture.rows('SELECT id FROM sync_conflicts')).toEqual([{ id: 1 }]);
  });

  test('comes once, also when it was pushed meanwhile', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    await pushNow(fixture);

    expect(await resolve(fixture, local)).toContain('row 7');

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT row_id FROM sync_conflicts')).toEqual([{ row_id: 7 }]);
  });

  test('comes once, though it was discarded in two versions', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE "Title" = 'new'`);
    await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -3, AT));

    expect([await resolve(fixture, local, 2), await resolve(fixture, local, 1)]).toEqual([
      null,
      'the row exists here as row -4; edit its cells instead',
    ]);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'newer' }]);
  });

  test('comes once, though both versions are taken by SQL at a time', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`UPDATE "Note" SET "Title" = 'newer' WHERE "Title" = 'new'`);
    await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -3, AT));
    fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);

    await fixture.pull();

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
    expect(fixture.rows('SELECT state FROM sync_conflicts WHERE problem IS NOT NULL')).toEqual([
      { state: 'discarded' },
    ]);
  });

  test('stays in doubt where no answer came to its create, however often it is taken', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
    await pushNow(fixture);
    await pushNow(fixture);

    expect(await resolve(fixture, local)).toBe(STANDS);

    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -3, kind: 'inDoubt' }]);
    expect(countsOf(await pushNow(fixture))).toEqual({ parked: 1 });
  });

  test('is kept as it was sent, where its create is in doubt and it was deleted here', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
    expect(countsOf(await pushNow(fixture))).toEqual({ inDoubt: 1, parked: 1 });
    fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);

    await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -2, AT));

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
      words: 'row -2 was deleted here; check whether it exists at the origin, then discard it',
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

    expect(await resolve(fixture, local)).toBe(null);
    await pushNow(fixture);
    await fixture.pull();
    const waiting = fixture.rows(titlesOfNew);
    setRight(true);
    await fixture.pull();
    await carryOutDecision(fixture.replica, { kind: 'retry', ids: [] }, AT);
    await pushNow(fixture);

    expect(waiting).toEqual([{ Title: 'new' }]);
    expect(atOrigin(fixture, ['Title']).at(-1)).toEqual([7, 'new']);
  });

  test('comes again where it was deleted since', async () => {
    await using fixture = await startDiscarded();
    await resolve(fixture, local);
    fixture.execute(`DELETE FROM "Note" WHERE "Title" = 'new'`);

    expect(await resolve(fixture, local)).toBe(null);

    expect(fixture.rows(titlesOfNew)).toEqual([{ Title: 'new' }]);
  });
});

test('a new row that was discarded comes back with a key that people fill in', async () => {
  const note = { ...NOTE, key: 'Code' };
  await using fixture = await startTwoWay({ tables: [note] });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await capture(fixture);
  await fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), -2, AT));

  const problem = await resolve(fixture, { take: 'local', value: null });

  expect(problem).toBe(null);
  expect(fixture.rows('SELECT "Title", "Code" FROM "Note" WHERE _id < 0')).toEqual([{ Title: 'new', Code: 'n1' }]);
});

describe('a row that was deleted at the origin, and is taken back while a column of it is locked', () => {
  const lock = (fixture: Fixture, readOnly: boolean): void =>
    fixture.sandbox.store.changeColumn('Note', 'Body', { readOnly });

  /** Its columns Title and Body were edited; it is taken back while Body is locked. */
  async function startLocked(take: 'local' | 'base'): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.sandbox.store.update('Note', 1, { Body: 'old' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine', "Body" = 'edited' WHERE _id = 1`);
    fixture.sandbox.store.delete('Note', 1);
    await fixture.pull();
    lock(fixture, true);
    await fixture.pull();
    expect(await resolve(fixture, { take, value: null })).toBe(null);
    return fixture;
  }

  const cases = [
    ['local', 'mine', 'edited'],
    ['base', 'title 1', 'old'],
  ] as const;

  test.each(cases)('comes with what that was once it may be written, taking %s', async (take, title, body) => {
    await using fixture = await startLocked(take);
    lock(fixture, false);
    await fixture.pull();

    await pushNow(fixture);

    expect(atOrigin(fixture, ['Title', 'Body']).at(-1)).toEqual([7, title, body]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('empties nothing where the origin has it again', async () => {
    await using fixture = await startLocked('base');
    lock(fixture, false);
    await fixture.pull();
    fixture.sandbox.store.insert('Note', { Code: 'c1', Title: 'title 1', Body: 'old' });

    await pushNow(fixture);

    expect(atOrigin(fixture, ['Body']).at(-1)).toEqual([7, 'old']);
  });

  test.each(cases)('leaves what that was where it goes without it, taking %s', async (take, title, body) => {
    await using fixture = await startLocked(take);

    await pushNow(fixture);

    expect(atOrigin(fixture, ['Title', 'Body']).at(-1)).toEqual([7, title, null]);
    expect(
      fixture.rows(
        `SELECT row_id, local, remote, winner FROM sync_conflicts WHERE kind = 'cell' AND "column" = 'Body'`,
      ),
    ).toEqual([{ row_id: 7, local: body, remote: null, winner: 'origin' }]);
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

    expect(await twice(fixture, 'local')).toEqual([null, expect.stringContaining('the origin has row 1') as string]);

    expect(titles(fixture)).toEqual([{ _id: 1, Title: 'again' }]);
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

test('a row that is taken back has each value in its own column, although two swapped their names', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'body 1' WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();
  const { store } = fixture.sandbox;
  store.renameColumn('Note', 'Body', 'between');
  store.renameColumn('Note', 'Code', 'Body');
  store.renameColumn('Note', 'between', 'Code');
  await fixture.pull();

  expect(await resolve(fixture, { take: 'local', value: null })).toBe(null);

  expect(fixture.rows('SELECT "Body", "Code" FROM "Note" WHERE _id < 0')).toEqual([{ Body: 'c1', Code: 'body 1' }]);
  expect(fixture.rows(`SELECT local ->> 'Code' AS code, base ->> 'Body' AS body FROM sync_conflicts`)).toEqual([
    { code: 'body 1', body: 'c1' },
  ]);
});

/**
 * Rows that a colleague deleted a moment before their update arrived: with a match column the update makes them again, under another
 * id. What colleagues and users do to such a row before it is read back is lost on neither side, whether the answer came or not.
 */
import { describe, expect, test } from 'vitest';
import type { PushReport } from '../../src/push/report.ts';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

/** What the tests look at; the row is `Title` sent, and `Body` not. */
const COLUMNS = ['Title', 'Code', 'Body'];

/** Pushes a new title of row 1, which a colleague deletes before it arrives; then others act before it is read back as row 7. */
async function pushDeleted(
  fixture: Fixture,
  { isLost, meanwhile }: { readonly isLost: boolean; readonly meanwhile: () => void },
): Promise<PushReport> {
  fixture.sandbox.store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  if (isLost) setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
  fixture.sandbox.before(1, () => fixture.sandbox.store.delete('Note', 1), { method: 'upsert' });
  return await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack' && changesSent(fixture).length === 1) meanwhile();
    },
  });
}

function conflicts(fixture: Fixture): readonly unknown[] {
  return fixture.rows(
    `SELECT kind, "column", iif(kind = 'cell', remote, remote ->> 'Body') AS remote, winner FROM sync_conflicts WHERE row_id = 7
     ORDER BY id`,
  );
}

describe.each([
  ['with an answer', false],
  ['without an answer', true],
])('a row that its update made again, %s', (_what, isLost) => {
  test('gets its other values back', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    const report = await pushDeleted(fixture, { isLost, meanwhile: () => undefined });

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', 'old']);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(conflicts(fixture)).toEqual([{ kind: 'deletedThere', column: null, remote: null, winner: 'local' }]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('keeps what it goes over in a cell that was not sent', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    await pushDeleted(fixture, {
      isLost,
      meanwhile: () => fixture.sandbox.store.update('Note', 7, { Body: 'theirs' }),
    });

    expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', 'old']);
    expect(conflicts(fixture)).toContainEqual({ kind: 'cell', column: 'Body', remote: 'theirs', winner: 'local' });
  });

  test('keeps what its delete goes over in a cell that was not sent', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    await pushDeleted(fixture, {
      isLost,
      meanwhile: () => {
        fixture.execute('DELETE FROM "Note" WHERE _id = 1');
        fixture.sandbox.store.update('Note', 7, { Body: 'theirs' });
      },
    });

    expect(atOrigin(fixture, COLUMNS)).toHaveLength(5);
    expect(here(fixture, COLUMNS)).toHaveLength(5);
    expect(conflicts(fixture)).toEqual([{ kind: 'deletedHere', column: null, remote: 'theirs', winner: 'local' }]);
  });

  test('goes with a delete that nobody disagrees with, and leaves nothing to look at', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    await pushDeleted(fixture, { isLost, meanwhile: () => fixture.execute('DELETE FROM "Note" WHERE _id = 1') });

    expect(atOrigin(fixture, COLUMNS)).toHaveLength(5);
    expect(conflicts(fixture)).toEqual([]);
  });
});

test.each([
  ['origin', 'theirs', 'theirs'],
  ['local', 'mine', 'theirs'],
] as const)(
  'an update that never arrived leaves the row alone that a colleague put in its place: %s',
  async (conflict, title, body) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
    fixture.sandbox.store.update('Note', 1, { Body: 'old' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    const theirs = [{ Code: 'c1', Title: 'theirs', Body: 'theirs' }];
    const before = (step: string): void => {
      if (step !== 'store') return;
      for (const row of theirs.splice(0)) {
        fixture.sandbox.store.delete('Note', 1);
        fixture.sandbox.store.insert('Note', row);
      }
    };

    for (let round = 0; round < 2; round += 1) await pushNow(fixture, { before, options: { conflict } });
    await fixture.pull();

    expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, title, 'c1', body]]);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(
      fixture.rows(`SELECT kind, winner, local ->> 'Title' AS local FROM sync_conflicts WHERE kind <> 'cell'`),
    ).toEqual([{ kind: 'deletedThere', winner: 'local', local: 'mine' }]);
  },
);

test.each([['origin'], ['local']] as const)(
  'an update that never arrived leaves an older row alone that a colleague gave the match value of its own: %s',
  async (conflict) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
    fixture.sandbox.store.update('Note', 1, { Body: 'old' });
    fixture.sandbox.store.update('Note', 3, { Body: 'third', Done: false });
    await fixture.pull();
    // What is sent stands in that row too, as it often does with a checkbox.
    fixture.execute(`UPDATE "Note" SET "Done" = 0 WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    fixture.sandbox.before(1, () => fixture.sandbox.store.delete('Note', 1), { method: 'upsert' });
    fixture.sandbox.before(1, () => fixture.sandbox.store.update('Note', 3, { Code: 'c1' }), { method: 'upsert' });

    for (let round = 0; round < 2; round += 1) await pushNow(fixture, { options: { conflict } });
    await fixture.pull();

    expect(atOrigin(fixture, COLUMNS)[1]).toEqual([3, 'title 3', 'c1', 'third']);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(
      fixture.rows(`SELECT winner, local ->> 'Body' AS local FROM sync_conflicts WHERE kind = 'deletedThere'`),
    ).toEqual([{ winner: conflict, local: 'old' }]);
  },
);

test('is known by its answer, so that no row of its request is looked up', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id IN (1, 2)`);
  fixture.sandbox.before(1, () => fixture.sandbox.store.delete('Note', 1), { method: 'upsert' });
  fixture.sandbox.requests.clear();

  await pushNow(fixture);

  expect(fixture.sandbox.requests.count({ method: 'select' })).toBe(0);
  expect(atOrigin(fixture, ['Title']).at(-1)).toEqual([7, 'mine']);
});

test('a second row that an update is said to have made beside its own is left to a person', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  const body = '[{"status":201,"id":7,"key":"7"}]';
  fixture.sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'upsert' },
  );

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ refused: 1, parked: 1 });
  expect(here(fixture, ['Title'])[0]).toEqual([1, 'mine']);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'update' }]);
});

/** An edit of row 1, which a colleague deletes; a pull makes a new row of it here. Then the origin gets another row with its match value. */
async function meetNewer(newer: Readonly<Record<string, string>> | null, meanwhile?: string): Promise<Fixture> {
  const fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
  fixture.sandbox.store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();
  if (newer === null) return fixture;
  fixture.sandbox.store.insert('Note', { Code: 'c1', ...newer });
  const before = (step: string): void => {
    if (step === 'reread' && meanwhile !== undefined) fixture.execute(meanwhile);
  };
  await pushNow(fixture, { before, options: { conflict: 'local' } });
  return fixture;
}

describe('a row that is to be made again, and stands at the origin by then', () => {
  test('goes over what was edited here, and over nothing else', async () => {
    await using fixture = await meetNewer({ Title: 'theirs', Body: 'theirs' });

    expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', 'theirs']);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(fixture.rows(`SELECT row_id, "column", remote FROM sync_conflicts WHERE kind = 'cell'`)).toEqual([
      { row_id: 7, column: 'Title', remote: 'theirs' },
    ]);
  });

  test.each(['remote', 'base'])(
    'goes over nothing else while a person takes %s, which waits for the next run',
    async (take) => {
      const wish = `UPDATE sync_conflicts SET resolution = '${take}' WHERE kind = 'deletedThere'`;
      await using fixture = await meetNewer({ Title: 'theirs', Body: 'theirs' }, wish);

      expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', 'theirs']);
    },
  );

  test('goes over nothing else where no answer came, and somebody made the row in the meantime', async () => {
    await using fixture = await meetNewer(null);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    const theirs = [{ Code: 'c1', Title: 'theirs', Body: 'theirs' }];
    const before = (step: string): void => {
      if (step === 'store') for (const row of theirs.splice(0)) fixture.sandbox.store.insert('Note', row);
    };
    await pushNow(fixture, { before, options: { conflict: 'local' } });

    expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, 'mine', 'c1', 'theirs']]);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(fixture.rows(`SELECT row_id, "column", remote FROM sync_conflicts WHERE kind = 'cell'`)).toEqual([
      { row_id: 7, column: 'Title', remote: 'theirs' },
    ]);
  });

  test('leaves the columns empty that are empty there', async () => {
    await using fixture = await meetNewer({});

    expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', null]);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
  });
});

describe('an update of which the origin made another row, although the first one stands', () => {
  /** As an origin does to a caller who was not to see the first one at that moment. */
  async function pushTwice(meanwhile: (fixture: Fixture) => void): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1`);
    const statuses = JSON.stringify([{ status: 201, id: 7, key: '7' }]);
    const headers = { 'Content-Type': 'application/json;charset=utf-8' };
    fixture.sandbox.before(1, () => void fixture.sandbox.store.insert('Note', { Title: 'made', Body: 'mine' }), {
      method: 'upsert',
    });
    fixture.sandbox.answerInstead(1, { status: 200, headers, body: statuses }, { method: 'upsert' });
    await pushNow(fixture, {
      before: (step) => {
        if (step === 'readBack') meanwhile(fixture);
      },
    });
    return fixture;
  }

  test('is refused with a word about both', async () => {
    await using fixture = await pushTwice(() => undefined);

    const reason = expect.stringContaining('made row 7 of this update although row 1 exists') as unknown;
    expect(fixture.rows('SELECT row_id, kind, reason FROM sync_failures')).toEqual([
      { row_id: 1, kind: 'update', reason },
    ]);
  });

  test('is refused with a word about the one that stands, where the other one is gone again', async () => {
    await using fixture = await pushTwice(({ sandbox }) => void sandbox.store.delete('Note', 7));

    const reason = expect.stringMatching(/made row 7 .* row 1 exists, and does not return that one now/) as unknown;
    expect(fixture.rows('SELECT row_id, kind, reason FROM sync_failures')).toEqual([
      { row_id: 1, kind: 'update', reason },
    ]);
  });

  test('is told as a conflict of the other row where nothing of the edit is left', async () => {
    await using fixture = await pushTwice(({ sandbox }) => void sandbox.store.update('Note', 1, { Body: 'theirs' }));

    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    expect(here(fixture, ['Body'])[0]).toEqual([1, 'theirs']);
    expect(
      fixture.rows(
        `SELECT row_id, kind, winner, iif(kind = 'cell', local, local ->> 'Body') AS local FROM sync_conflicts ORDER BY row_id`,
      ),
    ).toEqual([
      { row_id: 1, kind: 'cell', winner: 'origin', local: 'mine' },
      { row_id: 7, kind: 'deletedThere', winner: 'local', local: 'mine' },
    ]);
  });
});

test('what is emptied in a row that goes on as a new one is emptied in the row that stands there again by then', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  store.delete('Note', 1);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE "Code" = 'c1'`);
  store.insert('Note', { Title: 'again', Code: 'c1', Body: 'old' });

  const report = await pushNow(fixture, { options: { conflict: 'local' } });

  expect(codesOf(report)).toEqual([]);
  expect(atOrigin(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'c1', null]);
  expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
});

describe('what is emptied in a row that goes on as a new one', () => {
  /** Row 1 is edited and deleted there, and emptied here in a cell as the new row that it is then. */
  async function startEmptied(edit: string): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
    const { store } = fixture.sandbox;
    store.update('Note', 1, { Body: 'old' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET ${edit} WHERE _id = 1`);
    store.delete('Note', 1);
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE "Code" = 'c1'`);
    return fixture;
  }

  /** Pushes; the row stands there again, right before the request arrives or after it got lost. */
  async function pushAgain(fixture: Fixture, row: Readonly<Record<string, string>>, isLost: boolean): Promise<void> {
    const again = [row];
    const insert = (): void => {
      for (const values of again.splice(0)) fixture.sandbox.store.insert('Note', values);
    };
    if (isLost) setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    else fixture.sandbox.before(1, insert, { method: 'upsert' });
    const before = (step: string): void => {
      if (step === 'store') insert();
    };
    for (let round = 0; round < 2; round += 1) await pushNow(fixture, { before, options: { conflict: 'local' } });
  }

  test.each([
    ['comes right before it', false],
    ['comes after it got lost', true],
  ])('is emptied in the former row that %s', async (_what, isLost) => {
    await using fixture = await startEmptied(`"Title" = 'mine'`);

    await pushAgain(fixture, { Title: 'title 1', Code: 'c1', Body: 'old' }, isLost);

    expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, 'mine', 'c1', null]]);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
  });

  test.each([
    ['comes right before it', false],
    ['comes after it got lost', true],
  ])('goes over what is in a row of somebody else that %s, which is kept', async (_what, isLost) => {
    await using fixture = await startEmptied(`"Title" = 'mine'`);

    await pushAgain(fixture, { Title: 'theirs', Code: 'c1', Body: 'theirs' }, isLost);

    expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, 'mine', 'c1', null]]);
    expect(
      fixture.rows(`SELECT "column", base, local, remote, winner FROM sync_conflicts WHERE "column" = 'Body'`),
    ).toEqual([{ column: 'Body', base: 'old', local: null, remote: 'theirs', winner: 'local' }]);
  });
});

test('what an update empties that never arrived is emptied in the row that stands in the place of its own', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
  const again = [{ Title: 'again', Code: 'c1', Body: 'old' }];
  const before = (step: string): void => {
    if (step !== 'store') return;
    for (const row of again.splice(0)) {
      store.delete('Note', 1);
      store.insert('Note', row);
    }
  };

  for (let round = 0; round < 2; round += 1) await pushNow(fixture, { before, options: { conflict: 'local' } });

  expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, 'again', 'c1', null]]);
  expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
});

test('an update that never arrived leaves the row alone that a colleague put in its place, also where only its match value is left of it', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
  const before = (step: string): void => {
    if (step !== 'store') return;
    store.delete('Note', 1);
    store.insert('Note', { Code: 'c1', Title: 'theirs', Body: 'theirs' });
    store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Title']] });
    store.changeUser({ role: 'Half' });
  };

  await pushNow(fixture, { before });
  await fixture.pull({ confirm: true });
  await pushNow(fixture);

  expect(atOrigin(fixture, COLUMNS).slice(5)).toEqual([[7, 'theirs', 'c1', 'theirs']]);
  expect(here(fixture, ['Code', 'Body'])).toEqual(atOrigin(fixture, ['Code', 'Body']));
  expect(await captured(fixture)).toEqual([]);
});

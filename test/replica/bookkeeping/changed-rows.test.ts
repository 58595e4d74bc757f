/**
 * Lines of touched rows: one a row, written by whatever changes rows, and by nothing where no sink is configured. A
 * copy that follows only these lines has every row that the replica has.
 */
import { expect, test } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import { ALL_ROWS, noteTouches } from '../../../src/replica/bookkeeping/changed-rows.ts';
import { Random } from '../../../src/sandbox/data/random.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { seeds } from '../../support/seeds.ts';
import { NOTE, startTwoWay, twoWaySettings } from '../../support/two-way.ts';

const MIRROR = { tableOptions: () => ({ sort: null }) };

function note(fixture: Fixture, isWanted = true): Promise<void> {
  return fixture.replica.write('Noting', (tx) => noteTouches(tx, isWanted));
}

interface Line {
  readonly row_id: number;
  readonly seq: number;
  readonly gone: number;
}

function linesAfter(fixture: Fixture, seq: number): readonly Line[] {
  return fixture.rows(
    'SELECT row_id, seq, gone FROM _rowsync_touched WHERE seq > ? ORDER BY seq',
    seq,
  ) as readonly Line[];
}

function touchedAfter(fixture: Fixture, seq: number): readonly string[] {
  return linesAfter(fixture, seq).map(({ row_id: id, gone }) => (gone === 1 ? `-${id}` : `${id}`));
}

function lastSeq(fixture: Fixture): number {
  return linesAfter(fixture, 0).at(-1)?.seq ?? 0;
}

test('nothing is noted where nobody asks for it', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });

  await fixture.pull();

  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_touched*'`)).toEqual([]);
});

test('the first pull is one line for all rows of a table, and later each changed row is one', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await note(fixture);
  await fixture.pull();
  expect(touchedAfter(fixture, 0)).toEqual([String(ALL_ROWS)]);

  const seq = lastSeq(fixture);
  const { store } = fixture.sandbox;
  store.update('Note', 2, { Title: 'once' });
  await fixture.pull();
  store.update('Note', 2, { Title: 'twice' });
  store.update('Note', 4, { Title: 'once' });
  store.delete('Note', 5);
  const added = store.insert('Note', { Title: 'new' });
  await fixture.pull();

  expect(touchedAfter(fixture, seq).toSorted()).toEqual(['-5', '2', '4', String(added)].toSorted());
  await fixture.pull();
  expect(touchedAfter(fixture, seq)).toHaveLength(4);
});

test('an edit of a two-way table is noted once the origin has confirmed it', async () => {
  await using fixture = await startTwoWay();
  await note(fixture);
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3; INSERT INTO "Note" ("Title") VALUES ('new')`);
  await fixture.pull();
  expect(touchedAfter(fixture, 0)).toEqual([]);

  await pushNow(fixture);

  expect(touchedAfter(fixture, 0)).toEqual(['3', '7']);
});

test('rows that another client may have changed unseen are noted as a whole', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await note(fixture);
  await fixture.pull();
  const seq = lastSeq(fixture);
  const [guard] = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_guard_delete*'`) as {
    name: string;
  }[];
  fixture.execute(`DROP TRIGGER ${must(guard, 'a mirror has guards').name}; DELETE FROM "Note" WHERE _id = 2`);
  fixture.sandbox.store.delete('Note', 2);

  await fixture.pull();

  expect(touchedAfter(fixture, seq)).toContain(String(ALL_ROWS));
});

test('nothing of what was noted is left once nobody asks for it', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await note(fixture);
  await fixture.pull();

  await note(fixture, false);

  fixture.sandbox.store.update('Note', 2, { Title: 'once' });
  await fixture.pull();
  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_touched*'`)).toEqual([]);
});

/** A copy that looks at nothing but rows that were touched. */
class Follower {
  readonly #rows = new Map<number, string>();
  #seq = 0;

  follow(fixture: Fixture): void {
    const now = confirmed(fixture);
    for (const { row_id: id, seq } of linesAfter(fixture, this.#seq)) {
      this.#seq = seq;
      for (const one of id === ALL_ROWS ? [...this.#rows.keys(), ...now.keys()] : [id]) {
        const row = now.get(one);
        if (row === undefined) this.#rows.delete(one);
        else this.#rows.set(one, row);
      }
    }
  }

  rows(): Readonly<Record<number, string>> {
    return Object.fromEntries(this.#rows);
  }
}

/** Rows as the origin confirmed them: those of the base, where there is one. */
function confirmed(fixture: Fixture): ReadonlyMap<number, string> {
  const [table] = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'
    UNION ALL SELECT local_name FROM _rowsync_tables LIMIT 1`) as { name: string }[];
  const rows = fixture.rows(`SELECT * FROM "${must(table, 'there is one').name}"`) as Record<string, unknown>[];
  return new Map(rows.map((row) => [Number(row['_id']), JSON.stringify(row, Object.keys(row).toSorted())]));
}

const STEPS: Readonly<Record<string, (fixture: Fixture, random: Random) => unknown>> = {
  editThere: ({ sandbox: { store } }, random) => {
    const id = random.pick(store.ids('Note'));
    store.update('Note', id, { Title: `there ${random.integer(1, 5)}`, Body: null });
  },
  insertThere: ({ sandbox: { store } }, random) => store.insert('Note', { Title: `new ${random.integer(1, 99)}` }),
  deleteThere: ({ sandbox: { store } }, random) => {
    if (store.count('Note') > 4) store.delete('Note', random.pick(store.ids('Note')));
  },
  editHere: (fixture, random) =>
    attempt(fixture, `UPDATE "Note" SET "Title" = 'here' WHERE _id % 3 = ${random.integer(0, 2)}`),
  insertHere: (fixture) => attempt(fixture, `INSERT INTO "Note" ("Title") VALUES ('here')`),
  deleteHere: (fixture, random) => attempt(fixture, `DELETE FROM "Note" WHERE _id = ${random.integer(1, 12)}`),
  tamper: (fixture) => {
    const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`) as {
      name: string;
    }[];
    fixture.execute(triggers.map(({ name }) => `DROP TRIGGER ${name};`).join(''));
  },
  dropBase: (fixture) => {
    const bases = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'`) as {
      name: string;
    }[];
    fixture.execute(bases.map(({ name }) => `DROP TABLE ${name};`).join(''));
  },
  dropTable: (fixture) => fixture.execute(`DROP TABLE IF EXISTS "Note"`),
  pull: (fixture) => fixture.pull({ confirm: true, settings: twoWaySettings() }),
  pullMirror: (fixture) => fixture.pull({ confirm: true, discard: true, settings: MIRROR }),
  push: (fixture) => pushNow(fixture, { confirm: true }),
  restart: (fixture) => fixture.restart(),
};

/** Another client's statement, which a guard may refuse. */
function attempt(fixture: Fixture, statement: string): void {
  try {
    fixture.execute(statement);
  } catch {
    // refused: nothing was changed
  }
}

test.each(seeds(8))('a copy that follows the lines has every row as the origin confirmed it, seed %i', async (seed) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await note(fixture);
  const random = new Random(seed);
  const follower = new Follower();
  for (let step = 0; step < 40; step += 1) {
    await STEPS[random.pick(Object.keys(STEPS))]?.(fixture, random);
    if (random.chance(0.3)) await fixture.pull({ confirm: true, settings: twoWaySettings() });
    if (random.chance(0.5) && fixture.rows(`SELECT 1 FROM sqlite_schema WHERE name = 'Note'`).length > 0) {
      follower.follow(fixture);
    }
  }
  // Without its base, a table waits until a person drops it.
  if (fixture.rows(`SELECT 1 FROM sqlite_schema WHERE name GLOB '_rowsync_base_*'`).length === 0)
    fixture.execute('DROP TABLE IF EXISTS "Note"');
  await fixture.pull({ confirm: true, settings: twoWaySettings() });
  await fixture.pull({ confirm: true, settings: twoWaySettings() });

  follower.follow(fixture);

  expect(follower.rows()).toEqual(Object.fromEntries(confirmed(fixture)));
});

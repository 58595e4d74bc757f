/**
 * Sweeps of a database in which people work all the time, and whose origin goes away and comes back. Whatever happens
 * before a request depends on the seed; what several requests in flight see, on their order of arrival.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { PullReport } from '../../src/pull/report.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import type { Store } from '../../src/sandbox/store/store.ts';
import { brokenPages, integrity, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { seeds } from '../support/seeds.ts';

const BUSY_PULLS = 4;
const RUN_MS_MAX = 60_000;

test.each(seeds(30))(
  'follows an origin that never rests and sometimes goes away (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    const colleagues = new Restless(random);
    const pageRows = random.integer(3, 9);
    const concurrency = random.integer(1, 4);
    await using fixture = await startFixture(
      {
        seed,
        tables: [table('Note', random.integer(0, 45), 'Id'), table('Moving', random.integer(10, 40), 'Code')],
        intercept: ({ method }, response) => {
          if (method === 'describe' || method === 'user' || !colleagues.isBusy) return false;
          colleagues.work(fixture);
          if (!colleagues.isAway()) return false;
          response.destroy();
          return true;
        },
      },
      // Rows of the second table change their place whenever their title changes.
      { settings: { pageRows, concurrency, tableOptions: (name) => ({ sort: name === 'Moving' ? ['Title'] : null }) } },
    );
    // Colleagues may empty a table; the guards against that have their own tests.
    const pull = (): Promise<PullReport> => fixture.pull({ confirm: true });

    for (let turn = 0; turn < BUSY_PULLS; turn += 1) {
      const report = await pull();
      for (const { error } of report.tables) expect([null, 'originDown']).toContain(error === null ? null : error.kind);
      expect(brokenPages(fixture.path)).toEqual([]);
      if (random.chance(0.3)) fixture.restart();
    }
    colleagues.isBusy = false;
    await pull();
    const second = await pull();
    expect(problems(second)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    expect(wrongCounts(fixture.path)).toEqual([]);
    expect(integrity(fixture.path)).toBe('ok');

    watchWrites(fixture);
    const third = await pull();
    expect(problems(third)).toEqual([]);
    expect(third.tables.map(({ pagesReadCount }) => pagesReadCount)).toEqual([0, 0]);
    expect(fixture.rows('SELECT * FROM witness')).toEqual([]);
    colleagues.look(fixture);
    expect(colleagues.wronglyDeleted).toEqual([]);
    // The test itself must have had something to say.
    expect(colleagues.deletedCount).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);

/** A table whose rows are numbered; `key` is the column that ends the order. */
function table(name: string, rowCount: number, key: 'Id' | 'Code'): TableSpec {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
    { name: 'Done', type: 'Checkbox' },
    { name: 'Seen', type: 'Timestamp' },
  ];
  const code = { name: 'Code', type: 'Text', options: ['Unique'] };
  const rows = Array.from({ length: rowCount }, (_, index) => ({
    Title: `${String.fromCodePoint(97 + (index % 26))} ${index}`,
    Count: index * 1.5,
    Done: index % 2 === 0,
    Seen: '2026-01-01T00:00:00Z',
    ...(key === 'Code' ? { Code: `c${index}` } : {}),
  }));
  return {
    name,
    columns: key === 'Code' ? [code, ...columns] : columns,
    rows,
    ...(key === 'Code' ? { key, systemColumns: false } : { createdFromMs: Date.UTC(2026, 0, 1) }),
  };
}

/** What colleagues do before a request, and whether it is answered at all. */
class Restless {
  isBusy = true;
  deletedCount = 0;
  /** Rows that were deleted here while they existed at the origin. */
  readonly wronglyDeleted: unknown[] = [];
  readonly #random: Random;
  #seenEvidence = 0;
  #awayFor = 0;
  #codeCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Looks at what was deleted here, then changes something at the origin, or not. */
  work(fixture: Fixture): void {
    this.look(fixture);
    const { store } = fixture.sandbox;
    if (this.deletedCount === 0) {
      // One delete for certain: how often the others come depends on how many requests there are.
      if (store.delete('Moving', this.#random.pick(store.ids('Moving')))) this.deletedCount += 1;
    } else if (this.#random.chance(0.3)) {
      this.deletedCount += fixture.sandbox.playActivity(this.#random.integer(1, 4)).deletedCount;
    } else if (this.#random.chance(0.15)) {
      this.#upheaval(store, this.#random.pick(['Note', 'Moving']));
    }
  }

  /** Compares new evidence of deletes with the origin of this moment; nothing changed there since the last look. */
  look({ path, sandbox }: Fixture): void {
    const db = new Database(path, { readonly: true });
    const found = db
      .prepare<[number], { id: number; table: string; row_id: number }>(
        'SELECT id, "table", row_id FROM sync_deleted WHERE id > ? ORDER BY id',
      )
      .all(this.#seenEvidence);
    db.close();
    for (const row of found) {
      if (sandbox.store.ids(row.table).includes(row.row_id)) this.wronglyDeleted.push(row);
      this.#seenEvidence = row.id;
    }
  }

  /** Whether the origin is away for this request; it stays away for a while. */
  isAway(): boolean {
    if (this.#awayFor > 0) this.#awayFor -= 1;
    else if (this.#random.chance(0.02)) this.#awayFor = this.#random.integer(1, 40);
    return this.#awayFor > 0;
  }

  /** Several rows at once: taken from one place, added, or moved past each other so that no page seems to shift. */
  #upheaval(store: Store, name: string): void {
    const ids = store.ids(name);
    const at = this.#random.integer(0, ids.length);
    const some = ids.slice(at, at + this.#random.integer(1, 8));
    const draw = this.#random.next();
    if (draw < 0.35) {
      for (const id of some) if (store.delete(name, id)) this.deletedCount += 1;
    } else if (draw < 0.6) {
      for (let count = this.#random.integer(1, 10); count > 0; count -= 1) {
        this.#codeCount += 1;
        const cells = { Title: `new ${this.#random.integer(0, 99)}`, Count: 7 };
        store.insert(name, name === 'Moving' ? { ...cells, Code: `n${this.#codeCount}` } : cells);
      }
    } else {
      const [first, second] = [some[0], this.#random.chance(0.5) ? ids.at(-1) : ids[0]];
      if (first !== undefined) store.update(name, first, { Title: this.#random.chance(0.5) ? 'aaaa' : 'zzzz' });
      if (second !== undefined) store.update(name, second, { Title: this.#random.chance(0.5) ? 'aaaa' : 'zzzz' });
    }
  }
}

function problems({ error, tables }: PullReport): readonly unknown[] {
  return [error, ...tables.flatMap((report) => [report.error, report.held])].filter((problem) => problem !== null);
}

/** From now on, every write to a user table leaves a line in the table `witness`. */
function watchWrites(fixture: Fixture): void {
  fixture.execute('CREATE TABLE witness (what TEXT)');
  for (const name of ['Note', 'Moving']) {
    for (const event of ['INSERT', 'UPDATE', 'DELETE']) {
      fixture.execute(
        `CREATE TRIGGER "watch ${name} ${event}" AFTER ${event} ON "${name}"
         BEGIN INSERT INTO witness VALUES ('${event} ${name}'); END`,
      );
    }
  }
}

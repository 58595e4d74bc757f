/**
 * Random interleavings of local SQL edits, colleagues' edits, pulls and pushes, with faults at the origin and pushes
 * that are cut off anywhere. Every value is written once in all, so that what became of it can be told. At the end the
 * faults stop, and the invariants of the design are checked: I1 to I5, I9, I11 and I12. Thirty seeds run here;
 * ROWSYNC_SEEDS=1-1000 runs a thousand.
 */
import { expect, test } from 'vitest';
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { FaultName, FaultRule } from '../../src/sandbox/server/faults.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { integrity, readOrigin, readReplica } from '../support/compare.ts';
import { changesSent, codesOf, finishAndPull, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { seeds } from '../support/seeds.ts';
import { startTwoWay } from '../support/two-way.ts';

const STEPS_MIN = 8;
const STEPS_MAX = 25;
const FAULTS: readonly FaultName[] = ['resetBefore', 'resetAfter', 'truncated', 'html', 'failure', 'unavailable'];
const PUSH_STEPS: readonly PushStep[] = ['describe', 'plan', 'reread', 'record', 'send', 'store', 'readBack', 'settle'];

/** `Tag` is given at birth and never changed; `A` and `B` are edited. */
const THING: TableSpec = {
  name: 'Thing',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Tag', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'A', type: 'Text' },
    { name: 'B', type: 'Text' },
  ],
  rows: Array.from({ length: 6 }, (_, index) => ({
    Tag: `t${index}`,
    Code: `c${index}`,
    A: `a${index}`,
    B: `b${index}`,
  })),
};

interface LocalRow {
  readonly _id: number;
  readonly Tag: string;
  readonly A: string | null;
  readonly B: string | null;
}

test.each(seeds(30))(
  'whatever happens in whatever order, nothing is lost, doubled or invented (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    const policy: ConflictPolicy = random.pick(['origin', 'local', 'origin']);
    const match = random.chance(0.5) ? 'Code' : null;
    await using fixture = await startTwoWay({ tables: [THING], seed, editing: { match, conflict: policy } });
    const world = new World(fixture, random, policy);

    const count = random.integer(STEPS_MIN, STEPS_MAX);
    for (let step = 0; step < count; step += 1) await world.step();
    expect(await world.rest()).toEqual([]);

    expect(world.problems()).toEqual([]);
    expect(integrity(fixture.path)).toBe('ok');
    // At rest nothing more is sent, and nothing is written (I9).
    fixture.sandbox.requests.clear();
    expect(await world.cycle()).toEqual([]);
    expect(changesSent(fixture)).toEqual([]);
  },
  60_000,
);

/** What users and colleagues do, and what has to be true of it afterwards. */
class World {
  readonly #fixture: Fixture;
  readonly #random: Random;
  readonly #policy: ConflictPolicy;
  #serial = 0;
  #isBusy = true;
  /** Every value that ever stood at the origin. */
  readonly #seen = new Set<string>();
  /** Tags of rows that ever stood at the origin. */
  readonly #tags = new Set<string>();
  /** Values that users wrote here and did not replace themselves, by tag and column. */
  readonly #written = new Map<string, string>();
  readonly #deletedHere = new Set<string>();
  readonly #deletedThere = new Set<string>();
  readonly #inserted = new Set<string>();

  constructor(fixture: Fixture, random: Random, policy: ConflictPolicy) {
    this.#fixture = fixture;
    this.#random = random;
    this.#policy = policy;
    this.#look();
  }

  /** One thing happens. */
  async step(): Promise<void> {
    const draw = this.#random.next();
    if (draw < 0.35) this.#editHere();
    else if (draw < 0.55) this.#editThere();
    else if (draw < 0.65) this.#setFaults();
    else if (draw < 0.75) await this.#pull();
    else if (draw < 0.92) await this.#push();
    else await this.#cutPush();
  }

  /** The faults stop, and cycles run until nothing changes. */
  async rest(): Promise<readonly string[]> {
    setFaults(this.#fixture, []);
    this.#isBusy = false;
    const codes: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) codes.push(...(await this.cycle()));
    this.#look();
    return codes;
  }

  /** A pull and a push; the codes of what went wrong. */
  async cycle(): Promise<readonly string[]> {
    const pulled = await finishAndPull(this.#fixture, { confirm: true });
    const pushed = await this.#push();
    return [...pulled.tables.flatMap(({ error }) => error?.code ?? []), ...codesOf(pushed)];
  }

  /** What is not as it should be. */
  problems(): readonly string[] {
    const { path, sandbox } = this.#fixture;
    const origin = sandbox.store.rows('Thing').map(({ values }) => values);
    const tagsNow = origin.map((row) => String(row['Tag']));
    const here = this.#rows();
    const kept = this.#kept();
    const problems: string[] = [];
    const parked = new Set(
      (this.#fixture.rows('SELECT row_id AS id FROM _rowsync_rows') as readonly { id: number }[]).map(({ id }) => id),
    );
    // I1: what does not wait is the same on both sides.
    const still = (rows: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] =>
      rows.filter((row) => !parked.has(Number(row['_id'])));
    const [one, other] = [readReplica(path)['Thing'] ?? [], readOrigin(sandbox)['Thing'] ?? []];
    const texts = (rows: readonly unknown[]): readonly string[] =>
      rows.map((row) =>
        JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      );
    const [mine, theirs] = [texts(still(one)), texts(still(other))];
    for (const row of mine) if (!theirs.includes(row)) problems.push(`I1: only here: ${row}`);
    for (const row of theirs) if (!mine.includes(row)) problems.push(`I1: only there: ${row}`);
    // I2: a value that a user wrote reached the origin, or is kept.
    for (const [cell, value] of this.#written) {
      if (!this.#seen.has(value) && !kept.includes(value)) problems.push(`I2: ${cell} = ${value} is lost`);
    }
    // I3: a delete happened there, or is listed.
    for (const tag of this.#deletedHere) {
      if (tagsNow.includes(tag) && !kept.includes(tag) && here.some((row) => row.Tag === tag))
        problems.push(`I3: ${tag}`);
    }
    // I4: nothing is there twice.
    for (const tag of new Set(tagsNow)) {
      if (tagsNow.filter((known) => known === tag).length > 1) problems.push(`I4: ${tag} is there twice`);
    }
    // I5: what is gone there was deleted by someone.
    for (const tag of this.#tags) {
      const isDeleted = this.#deletedHere.has(tag) || this.#deletedThere.has(tag);
      if (!tagsNow.includes(tag) && !isDeleted) problems.push(`I5: ${tag} is gone`);
    }
    for (const tag of this.#inserted) {
      const isSomewhere = this.#tags.has(tag) || here.some((row) => row.Tag === tag) || kept.includes(tag);
      if (!isSomewhere && !this.#deletedHere.has(tag)) problems.push(`I2: the insert ${tag} is lost`);
    }
    return problems;
  }

  /** Everything that is kept about losers and rows that wait, as one text. */
  #kept(): string {
    const tables = ['sync_conflicts', 'sync_failures', 'sync_changes', 'sync_deleted'];
    return JSON.stringify(tables.map((table) => this.#fixture.rows(`SELECT * FROM ${table}`)));
  }

  #rows(): readonly LocalRow[] {
    return this.#fixture.rows('SELECT _id, "Tag", "A", "B" FROM "Thing" ORDER BY _id') as readonly LocalRow[];
  }

  #next(prefix: string): string {
    this.#serial += 1;
    return `${prefix}${this.#serial}`;
  }

  #editHere(): void {
    const rows = this.#rows();
    const draw = this.#random.next();
    if (draw < 0.25 || rows.length === 0) {
      const tag = this.#next('new');
      const value = this.#next('v');
      this.#fixture.execute(
        `INSERT INTO "Thing" ("Tag", "Code", "A") VALUES ('${tag}', ${this.#random.chance(0.5) ? `'${this.#next('k')}'` : 'NULL'}, '${value}')`,
      );
      this.#inserted.add(tag);
      this.#written.set(`${tag}.A`, value);
      return;
    }
    const { _id, Tag } = this.#random.pick(rows);
    if (draw < 0.4) {
      this.#fixture.execute(`DELETE FROM "Thing" WHERE _id = ${_id}`);
      this.#deletedHere.add(Tag);
      for (const column of ['A', 'B']) this.#written.delete(`${Tag}.${column}`);
      return;
    }
    const column = this.#random.pick(['A', 'B']);
    const value = this.#next('v');
    this.#fixture.execute(`UPDATE "Thing" SET "${column}" = '${value}' WHERE _id = ${_id}`);
    this.#written.set(`${Tag}.${column}`, value);
  }

  #editThere(): void {
    this.#look();
    const { store } = this.#fixture.sandbox;
    const ids = store.ids('Thing');
    const draw = this.#random.next();
    if (draw < 0.2 || ids.length === 0) {
      store.insert('Thing', { Tag: this.#next('theirs'), Code: this.#next('k'), A: this.#next('w') });
    } else if (draw < 0.35) {
      const id = this.#random.pick(ids);
      const tag = store.rows('Thing').find((row) => row.id === id)?.values['Tag'];
      store.delete('Thing', id);
      this.#deletedThere.add(String(tag));
    } else {
      store.update('Thing', this.#random.pick(ids), { [this.#random.pick(['A', 'B'])]: this.#next('w') });
    }
    this.#look();
  }

  #setFaults(): void {
    const rules = Array.from({ length: this.#random.integer(0, 2) }, (): FaultRule => {
      const method = this.#random.pick(['', 'update', 'upsert', 'create', 'delete', 'retrieve', 'select']);
      const rule = { fault: this.#random.pick(FAULTS), probability: 0.5, count: this.#random.integer(1, 4) };
      return method === '' ? rule : { ...rule, method };
    });
    this.#fixture.sandbox.faults.replace({ seed: this.#random.integer(1, 1e6), faults: rules });
  }

  async #pull(): Promise<void> {
    await finishAndPull(this.#fixture, { confirm: true });
  }

  /** A push, in the middle of which users and colleagues may work. */
  async #push(before?: (step: PushStep) => void): ReturnType<typeof pushNow> {
    const busy = this.#random.chance(0.3) ? this.#random.pick(PUSH_STEPS) : null;
    const batchLimits = { rowsMax: this.#random.pick([2, 500]), bytesMax: 100_000 };
    let isDone = false;
    const report = await pushNow(this.#fixture, {
      confirm: true,
      options: { conflict: this.#policy },
      settings: { batchLimits },
      before: (step) => {
        this.#look();
        before?.(step);
        if (step !== busy || isDone || !this.#isBusy) return;
        isDone = true;
        if (this.#random.chance(0.7)) this.#editHere();
        else this.#editThere();
      },
    });
    this.#look();
    return report;
  }

  /** A push that ends anywhere, as if the process had died there. */
  async #cutPush(): Promise<void> {
    const at = this.#random.pick(PUSH_STEPS);
    await Promise.allSettled([
      this.#push((step) => {
        if (step === at) throw new Error('cut off');
      }),
    ]);
    this.#fixture.restart();
  }

  /** Remembers what stands at the origin. */
  #look(): void {
    for (const { values } of this.#fixture.sandbox.store.rows('Thing')) {
      this.#tags.add(String(values['Tag']));
      for (const column of ['A', 'B']) this.#seen.add(String(values[column]));
    }
  }
}

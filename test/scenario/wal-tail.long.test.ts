/**
 * A power cut: whatever was not synced when it came is gone or is garbage. A replica in the middle of its work is
 * copied with its write-ahead log. The log is cut or garbled somewhere behind the last commit that was synced (an
 * intent of ours, or a commit of another client). It must open, be whole, and come together with an origin that has
 * seen everything. 100 tails here; ROWSYNC_TAILS says how many.
 */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { PushStep } from '../../src/push/context.ts';
import { openReplica } from '../../src/replica/database.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import type { UserSpec } from '../../src/sandbox/store/spec.ts';
import { EDITED, FOLLOWED, soakTables } from '../soak/world.ts';
import { brokenPages, integrity, readOrigin } from '../support/compare.ts';
import { Edits } from '../support/edits.ts';
import { COLLEAGUE, ledgerProblems, pendingCount, prepareLedger, recordHistory, token } from '../support/ledger.ts';
import { pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { newSeed } from '../support/seeds.ts';

const TAIL_COUNT = Number(process.env['ROWSYNC_TAILS'] ?? '100');
/** Tails of one moment; the last of them is worked on, the others are looked at. */
const TAILS_PER_MOMENT = 10;
const STEPS_MAX = 12;
const REST_CYCLES_MAX = 3;
const WAL_HEADER_BYTES = 32;
const STEPS: readonly PushStep[] = ['plan', 'reread', 'record', 'send', 'store', 'readBack', 'settle', 'finish'];
/** Files are not what this is about, and uploads need more of a daemon; nor is what the triggers refuse. */
const TABLES = EDITED.filter(({ file }) => file === undefined).map((table) => ({ ...table, short: undefined }));

const first = newSeed();
const seeds = Array.from({ length: Math.ceil(TAIL_COUNT / TAILS_PER_MOMENT) }, (_, index) => first + index);

test.each(seeds)(
  'a log that is cut or garbled behind the last sync costs nothing that was promised (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    await using fixture = await startWorld(seed);
    const world = new World(fixture, random);
    for (let step = random.integer(2, STEPS_MAX); step > 0; step -= 1) await world.step();
    const moment = await world.crash();

    const looks = Array.from({ length: TAILS_PER_MOMENT - 1 }, () => world.look(moment));
    world.goOnWith(moment);
    const problems = await world.rest();

    expect({ looks: looks.flat(), problems }).toEqual({ looks: [], problems: [] });
  },
  60_000,
);

async function startWorld(seed: number): Promise<Fixture> {
  const fixture = await startFixture(
    { tables: soakTables(5), seed },
    {
      settings: {
        tableOptions: (name) => {
          const match = EDITED.find((table) => table.name === name)?.match ?? null;
          return { sort: null, editing: { match, conflict: 'origin', workflow: 'run' } };
        },
      },
    },
  );
  recordHistory(fixture.sandbox.store.path, FOLLOWED);
  await fixture.pull();
  prepareLedger(fixture.path);
  return fixture;
}

/** Files as they were found, and how much of the log was synced. */
interface Moment {
  readonly folder: string;
  readonly syncedBytes: number;
}

class World {
  readonly #fixture: Fixture;
  readonly #random: Random;
  readonly #edits: Edits;
  #serial = 0;
  #looks = 0;
  #syncedBytes = 0;

  constructor(fixture: Fixture, random: Random) {
    this.#fixture = fixture;
    this.#random = random;
    this.#edits = new Edits(random, { tables: TABLES, uploads: fixture.folder });
    const { replica } = fixture;
    const writeDurably = replica.writeDurably.bind(replica);
    replica.writeDurably = async (what, change, signal) => {
      const result = await writeDurably(what, change, signal);
      this.#synced();
      return result;
    };
    this.#synced();
  }

  async step(): Promise<void> {
    const draw = this.#random.next();
    if (draw < 0.35) this.#edit();
    else if (draw < 0.6) this.#editThere();
    else if (draw < 0.75) await this.#pull();
    else await this.#push();
  }

  /** The files as a power cut leaves them, after a pull or push that was cut off or whole. */
  async crash(): Promise<Moment> {
    if (this.#random.chance(0.5)) await this.#pull();
    else await this.#push();
    const folder = this.#fixture.folder;
    for (const ending of ['', '-wal']) copyFileSync(this.#fixture.path + ending, join(folder, `moment${ending}`));
    return { folder, syncedBytes: this.#syncedBytes };
  }

  /** Opens a copy with a tail of its own; what is wrong with it. */
  look(moment: Moment): readonly string[] {
    this.#looks += 1;
    const path = join(moment.folder, `look-${this.#looks}.db`);
    this.#place(moment, path);
    openReplica(path, { clock: systemClock }).close();
    const structure = integrity(path);
    const flags = new Database(path, { readonly: true });
    const flagCount = Number(flags.prepare('SELECT count(*) FROM _rowsync_writer').pluck().get());
    flags.close();
    return [
      ...(structure === 'ok' ? [] : [String(structure)]),
      ...brokenPages(path).filter((problem) => !this.#isWaiting(path, problem)),
      ...(flagCount === 0 ? [] : ['the flag of a write transaction is set outside of it']),
    ];
  }

  /** Puts such a copy in the place of the replica. */
  goOnWith(moment: Moment): void {
    const fixture = this.#fixture;
    fixture.replica.close();
    for (const ending of ['', '-wal', '-shm']) rmSync(fixture.path + ending, { force: true });
    this.#place(moment, fixture.path);
    fixture.replica = openReplica(fixture.path, { clock: systemClock });
  }

  /** Cycles until nothing moves; what is wrong then. */
  async rest(): Promise<readonly string[]> {
    const { path, sandbox } = this.#fixture;
    for (let cycle = 0; cycle < REST_CYCLES_MAX; cycle += 1) {
      await this.#fixture.pull({ confirm: true });
      await pushNow(this.#fixture, { confirm: true });
    }
    await this.#fixture.pull({ confirm: true });
    const [structure, pending] = [integrity(path), pendingCount(path)];
    return [
      ...(structure === 'ok' ? [] : [String(structure)]),
      ...(pending === 0 ? [] : [`L1: ${pending} rows are pending`]),
      ...brokenPages(path),
      ...ledgerProblems({
        replicaPath: path,
        storePath: sandbox.store.path,
        tables: FOLLOWED,
        origin: readOrigin(sandbox),
        confirmed: new Set(),
      }),
    ];
  }

  /** Everything that stands in the log by now survives. */
  #synced(): void {
    this.#syncedBytes = statSync(`${this.#fixture.path}-wal`).size;
  }

  /** Copies the files of a moment, with a tail that is cut or garbled. */
  #place({ folder, syncedBytes }: Moment, path: string): void {
    copyFileSync(join(folder, 'moment'), path);
    const log = readFileSync(join(folder, 'moment-wal'));
    const from = Math.min(log.length, Math.max(WAL_HEADER_BYTES, syncedBytes));
    const at = this.#random.integer(from, log.length);
    const draw = this.#random.next();
    if (draw < 0.4) {
      writeFileSync(`${path}-wal`, log.subarray(0, at));
      return;
    }
    const end = draw < 0.7 ? log.length : Math.min(log.length, at + this.#random.integer(1, 5_000));
    for (let byte = at; byte < end; byte += 1) log[byte] = draw < 0.55 ? 0 : this.#random.integer(0, 255);
    writeFileSync(`${path}-wal`, log);
  }

  /** A row that was deleted here is missing on its page until the delete has reached the origin. */
  #isWaiting(path: string, problem: string): boolean {
    const ids = /rows (.*) are missing/.exec(problem)?.[1]?.split(', ') ?? [];
    const db = new Database(path, { readonly: true });
    try {
      const known = new Set(db.prepare<[], number>('SELECT row_id FROM _rowsync_rows').pluck().all());
      return ids.length > 0 && ids.every((id) => known.has(Number(id)));
    } finally {
      db.close();
    }
  }

  #edit(): void {
    const { transaction } = this.#edits.next();
    const db = new Database(this.#fixture.path);
    try {
      // A client that syncs its commits, as SQLite does unless told otherwise.
      db.pragma('synchronous = FULL');
      for (const statement of [transaction.begin, ...transaction.statements, transaction.end]) db.exec(statement);
    } catch (thrown) {
      // Now and then a text is too long, which a trigger refuses; closing takes back the whole transaction.
      if (!(thrown instanceof Database.SqliteError) || thrown.code !== 'SQLITE_CONSTRAINT_TRIGGER') throw thrown;
    } finally {
      db.close();
    }
    this.#synced();
  }

  #editThere(): void {
    const { store } = this.#fixture.sandbox;
    const colleague: UserSpec = { ...store.user, email: `${COLLEAGUE}example.com` };
    const { name, texts } = this.#random.pick(TABLES);
    const [one, other] = [(this.#serial += 1), (this.#serial += 1)];
    const id = this.#random.pick(store.ids(name));
    const draw = this.#random.next();
    if (draw < 0.2) store.insert(name, { Tag: token('c', one), A: token('w', other) }, colleague);
    else if (draw < 0.35) store.delete(name, id, { as: colleague });
    else store.update(name, id, { [this.#random.pick(texts)]: token('w', one) }, colleague);
  }

  /** A pull, cut off by its caller in the middle of half of them. */
  async #pull(): Promise<void> {
    const ending = new AbortController();
    if (this.#random.chance(0.5)) this.#fixture.sandbox.before(this.#random.integer(1, 12), () => ending.abort());
    await Promise.allSettled([this.#fixture.pull({ confirm: true, signal: ending.signal })]);
  }

  /** A push that dies before a step of half of them. */
  async #push(): Promise<void> {
    const at = this.#random.chance(0.5) ? this.#random.pick(STEPS) : null;
    let isOver = false;
    const before = (step: PushStep): void => {
      if (step === at) isOver = true;
      if (isOver) throw new Error('cut off');
    };
    const settings = { batchLimits: { rowsMax: this.#random.pick([2, 500]), bytesMax: 100_000 } };
    await Promise.allSettled([pushNow(this.#fixture, { confirm: true, before, settings })]);
  }
}

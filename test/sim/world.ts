/**
 * One simulated world, from its tapes to its end: an engine that lives, dies and lives again, people on both sides, a network, a disk
 * and a clock. Each turn either somebody acts or the next thing that is due happens; when the world's points are used up, all
 * faults stop, the engine finishes, and everything is judged. Same tapes, same world: nothing here knows the real time.
 */
import { asRowsyncError } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import type { TransactionFacts } from '../../src/replica/database.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { Books, Tokens, type Expected, type LocalRow, type LocalValue } from './books.ts';
import type { Disk, Image } from './disk.ts';
import { Life, type CycleReport, type EngineModules, type Fate } from './engine.ts';
import { MODEL_TOKEN, OriginModel } from './model/origin.ts';
import { Network } from './network.ts';
import { Oracles } from './oracles.ts';
import { runDry, Scheduler } from './scheduler.ts';
import { drawSetup, type Actor, type Setup } from './setup.ts';
import { Draw, type TapeRecord, type Tapes } from './tape.ts';
import { User } from './user.ts';
import { judgeRest, type Complaint, type OriginWrite } from './verdict.ts';

/** What a world is run with, beside its tapes. */
export interface WorldOptions {
  readonly modules: EngineModules;
  readonly disk: Disk;
}

/** What came of a world. */
export interface WorldResult {
  /** The first thing that was wrong; null where all was well. */
  readonly failure: Complaint | null;
  /** Everything that happened, a line each. */
  readonly trace: readonly string[];
  /** How often each kind of thing happened. */
  readonly coverage: ReadonlyMap<string, number>;
  readonly record: TapeRecord;
}

const START_MS = Date.UTC(2026, 0, 1);
const DATABASE = '21995';
/** Turns until an engine that nobody disturbs must have finished what it does. */
const TURNS_MAX = 20_000;
/** Cycles until nothing moves any more, once the faults have stopped (L1), and the one that shows it. */
const CYCLES_MAX = 4;

/** Runs one world. */
export async function runWorld(tapes: Tapes, options: WorldOptions): Promise<WorldResult> {
  const world = new World(tapes, options);
  try {
    await world.run();
  } finally {
    world.close();
  }
  return world.result();
}

/** Ends a world at once; what was wrong stands in it. */
class Ended extends Error {
  override readonly name = 'Ended';
}

class World {
  readonly #tapes: Tapes;
  readonly #options: WorldOptions;
  readonly #setup: Setup;
  readonly #scheduler = new Scheduler();
  readonly #books = new Books();
  readonly #tokens = new Tokens();
  readonly #origin: OriginModel;
  readonly #network: Network;
  readonly #user: User;
  readonly #oracles: Oracles;
  readonly #trace: string[] = [];
  readonly #coverage = new Map<string, number>();
  #life: Life | null = null;
  #lifeCount = 0;
  #failure: Complaint | null = null;
  #jumpMs = 0;
  #isEnding = false;
  #isIdle = false;
  /** What a power cut would leave; null where the power never fails. */
  #onDisk: Image | null = null;
  #copy: { readonly image: Image; readonly expected: Expected } | null = null;

  constructor(tapes: Tapes, options: WorldOptions) {
    this.#tapes = tapes;
    this.#options = options;
    this.#setup = drawSetup(tapes.of('setup'));
    options.disk.begin();
    this.#origin = this.#makeOrigin();
    this.#user = new User(options.disk.path, { books: this.#books, tokens: this.#tokens });
    this.#oracles = new Oracles({
      books: this.#books,
      hasRow: (table, id) => this.#origin.ids(table).includes(id),
      tagOf: (id) => this.#tagOf(id),
      batches: () =>
        this.#user.query('SELECT id, method, rows FROM _rowsync_batches ORDER BY id') as [number, string, string][],
      fail: (oracle, what) => this.#fail(oracle, what),
    });
    this.#network = new Network({
      scheduler: this.#scheduler,
      tape: tapes.of('network'),
      weather: this.#setup.weather,
      origin: (request) => this.#origin.answer(request),
      wallMs: () => START_MS + this.#scheduler.nowMs,
      onDeparture: (request) => {
        this.#note(`request ${request.number}: ${request.method} ${request.table}${request.body ?? ''}`);
        this.#oracles.onDeparture(request);
      },
      onAnswer: (request, fault, result) => {
        const end = result.kind === 'answer' ? String(result.status) : result.reason;
        this.#count(`request ${request.method}`);
        if (fault !== null) this.#count(`fault ${fault} on ${request.kind}`);
        this.#note(`request ${request.number} ends: ${end}${fault === null ? '' : ` (fault ${fault})`}`);
      },
    });
    this.#onDisk = this.#setup.losesPower ? options.disk.image() : null;
  }

  async run(): Promise<void> {
    try {
      for (let point = 0; point < this.#setup.pointCount; point += 1) await this.#turn();
      await this.#rest();
    } catch (thrown) {
      if (!(thrown instanceof Ended)) throw thrown;
    }
  }

  close(): void {
    this.#life?.end();
    this.#life?.bury();
    this.#user.close();
  }

  result(): WorldResult {
    return {
      failure: this.#failure,
      trace: this.#trace,
      coverage: this.#coverage,
      record: this.#tapes.record(),
    };
  }

  /** One point of the world: an engine is there, somebody acts, or what is due happens. */
  async #turn(): Promise<void> {
    if (this.#life === null) {
      this.#begin();
      await runDry();
    }
    const act = this.#isEnding ? 0 : this.#tapes.of('schedule').decide(this.#setup.actRate);
    const actor = act === 0 ? null : new Draw(act).weighted(this.#setup.actors);
    if (actor !== null) this.#act(actor);
    else this.#happen();
    await runDry();
    if (this.#life?.isAlive === false) this.#afterDeath();
    if (this.#failure !== null) throw new Ended();
  }

  #happen(): void {
    const rate = this.#isEnding ? 0 : this.#setup.reorderRate;
    const what = this.#scheduler.step((count) => {
      const value = rate === 0 ? 0 : this.#tapes.of('schedule').decide(rate);
      return new Draw(value).below(count);
    });
    if (what === null && !this.#isIdle && this.#life?.isAlive === true) this.#fail('deadlock', 'the engine waits for something that never comes');
  }

  #act(actor: Actor): void {
    const value = this.#tapes.of(actor === 'kill' || actor === 'copy' ? 'disk' : actor).u32();
    const draw = new Draw(value);
    if (draw.isCalm) return;
    switch (actor) {
      case 'user':
        return this.#userActs(draw);
      case 'colleague':
        return this.#colleagueActs(draw);
      case 'admin':
        return undefined;
      case 'clock':
        this.#jumpMs += draw.pick([1_000, -1_000, 3_600_000, -3_600_000, 86_400_000 * 400, -86_400_000 * 400]);
        this.#count('clock jump');
        return this.#note(`the clock jumps to ${this.#jumpMs} ms off`);
      case 'kill':
        return this.#kill('between two steps');
      case 'copy':
        return this.#copyOrRestore(draw);
      default:
        return actor satisfies never;
    }
  }

  #begin(): void {
    this.#lifeCount += 1;
    const number = this.#lifeCount;
    const life = new Life({
      modules: this.#options.modules,
      path: this.#options.disk.path,
      scheduler: this.#scheduler,
      transport: (owner) => this.#network.transport({ owner, isAlive: () => owner.isAlive }),
      wallMs: () => START_MS + this.#scheduler.nowMs + this.#jumpMs,
      seed: this.#tapes.seed,
      number,
      settings: this.#settings(),
      log: this.#logger(),
      fate: (what, facts) => this.#fate(what, facts),
      onCommit: (facts, replica) => this.#oracles.onCommit(facts, replica),
      onCommitted: (facts) => this.#committed(facts),
      onDeath: (how) => this.#died(how),
    });
    this.#life = life;
    life.open();
    this.#isIdle = false;
    this.#note(`engine ${number} opens the replica`);
    void this.#live(life);
  }

  async #live(life: Life): Promise<void> {
    try {
      while (!this.#isEnding) {
        const draw = this.#tapes.of('engine').draw();
        const [pull, push] = draw.weighted([
          [5, [true, true]],
          [3, [false, true]],
          [2, [true, false]],
        ] as const);
        const confirm = draw.chance(0.3);
        this.#note(`engine ${life.number}: ${pull ? 'pull ' : ''}${push ? 'push ' : ''}${confirm ? 'confirmed' : ''}`);
        this.#noteCycle(await life.cycle({ pull, push, confirm }).catch(replicaFailure));
        await life.sleep(1_000);
      }
      this.#isIdle = true;
    } catch (thrown) {
      this.#noteThrown(thrown);
    }
  }

  #noteCycle({ errors, ...counts }: CycleReport): void {
    for (const error of errors) {
      this.#count(`error ${error.code}`);
      this.#note(`the cycle says: ${error.code}`);
      if (error.kind === 'bug') this.#fail('bug', `${error.message} ${causeOf(error.cause)}`);
    }
    this.#note(`the cycle ends: ${JSON.stringify(counts)}`);
  }

  #noteThrown(thrown: unknown): void {
    const error = asRowsyncError(thrown);
    this.#fail('thrown', `${error.code}: ${error.message} ${causeOf(error.cause)}`);
  }

  #settings(): ConstructorParameters<typeof Life>[0]['settings'] {
    const { pageRows, concurrency, maxDeletePercent, match, policy, batchRows } = this.#setup;
    const shared = { maxDeletePercent, concurrency };
    return {
      origin: {
        url: 'https://origin.example',
        database: DATABASE,
        credentials: { kind: 'bearer', token: MODEL_TOKEN },
        concurrency,
        compress: false,
        limits: { retry: { attemptsMax: 3, baseWaitMs: 100, waitMsMax: 1_000, totalMs: 60_000 } },
      },
      pull: {
        ...shared,
        pageRows,
        tableOptions: () => ({ sort: null, editing: { match, conflict: policy, workflow: 'run' } }),
      },
      push: {
        ...shared,
        maxPushRows: 1_000,
        uploadDir: null,
        batchLimits: { rowsMax: batchRows, bytesMax: 100_000 },
        tableOptions: () => ({ conflict: policy, workflow: 'run' }),
      },
    };
  }

  #logger(): Logger {
    const log = (event: string): void => {
      if (event === 'origin.request') return;
      this.#count(`event ${event}`);
      this.#note(`log: ${event}`);
    };
    return { debug: log, info: log, warn: log, error: log };
  }

  #fate(what: string, facts: TransactionFacts | null): Fate {
    const name = what.replaceAll(/ \d+/g, '').replaceAll(/ of \w+$/g, '');
    this.#count(`point ${name}`);
    if (this.#isEnding) return 'on';
    const { deathRate, pauseRate, fullRate } = this.#setup;
    const rate = deathRate + pauseRate + fullRate;
    const value = rate === 0 ? 0 : this.#tapes.of('disk').decide(rate);
    if (value === 0) return 'on';
    const fate = new Draw(value).weighted<Fate>([
      [pauseRate, 'pause'],
      [deathRate, 'dieBefore'],
      [facts === null ? 0 : deathRate, 'dieInside'],
      [facts === null ? 0 : deathRate, 'dieAfter'],
      [facts === null ? 0 : fullRate, 'full'],
    ]);
    this.#count(`fate ${fate}`);
    return fate;
  }

  #committed(facts: TransactionFacts): void {
    this.#note(`commit: ${facts.what}`);
    if (!facts.isDurable) return;
    this.#oracles.onDurable();
    this.#keepOnDisk();
  }

  /** Everything that was committed up to now survives a power cut. */
  #keepOnDisk(): void {
    if (this.#onDisk !== null) this.#onDisk = this.#options.disk.image();
  }

  #died(how: string): void {
    this.#count('death');
    this.#note(`the engine dies ${how}`);
  }

  #kill(how: string): void {
    this.#life?.end();
    this.#died(how);
  }

  /** After a death: what was under way is lost or not, and the files are let go of. */
  #bury(): void {
    const life = this.#life;
    if (life === null) return;
    this.#network.abandon(life);
    life.bury();
    this.#life = null;
  }

  /** The process is gone, and perhaps the whole machine. */
  #afterDeath(): void {
    this.#bury();
    if (this.#onDisk !== null && this.#tapes.of('disk').decide(0.5) !== 0) {
      this.#replace(this.#onDisk);
      this.#count('power cut');
      this.#note('the power failed: what was not on the disk is gone');
    }
  }

  #replace(image: Image): void {
    this.#user.close();
    this.#options.disk.restore(image);
    const [[evidence, batch] = [0, 0]] = this.#user.query(
      `SELECT (SELECT coalesce(max(seq), 0) FROM _rowsync_deleted),
              (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '_rowsync_batches')`,
    );
    this.#oracles.onReplaced(Number(evidence), Number(batch));
    this.#keepOnDisk();
  }

  #copyOrRestore(draw: Draw): void {
    if (this.#copy === null || draw.chance(0.3)) {
      this.#copy = { image: this.#options.disk.image(), expected: this.#books.expected() };
      return this.#note('somebody copies the replica');
    }
    const { image, expected } = this.#copy;
    this.#kill('because its replica is replaced');
    this.#bury();
    this.#replace(image);
    this.#books.goBackTo(expected);
    this.#user.isOlderCopy = true;
    this.#count('restore');
    this.#note('somebody puts the older copy in the place of the replica');
  }

  #userActs(draw: Draw): void {
    const done = this.#user.act(draw);
    if (done === null) return;
    this.#count(`user ${done.name}${done.refusal === null ? '' : ' refused'}`);
    this.#note(`user: ${done.statements}${done.refusal === null ? '' : ` -- refused: ${done.refusal}`}`);
    this.#oracles.onDurable();
    this.#keepOnDisk();
  }

  #colleagueActs(draw: Draw): void {
    const ids = this.#origin.ids('Thing');
    const kind = draw.weighted([
      [6, 'update'],
      [3, 'insert'],
      [2, 'delete'],
    ] as const);
    this.#count(`colleague ${kind}`);
    if (kind === 'insert' || ids.length === 0) {
      const cells = {
        Tag: this.#tokens.next('t'),
        Code: draw.chance(0.5) ? this.#tokens.next('c') : null,
        A: this.#tokens.next('w'),
      };
      this.#origin.insert('Thing', cells);
      return this.#note(`colleague: inserts ${JSON.stringify(cells)}`);
    }
    const id = draw.pick(ids);
    if (kind === 'delete') {
      this.#origin.delete('Thing', id);
      return this.#note(`colleague: deletes row ${id}`);
    }
    // Whoever changes the value that identifies a row makes another row of it, for whoever looks for it by that value.
    const isIdentified = this.#books.everInserted.has(this.#tagOf(id) ?? '');
    const cells = { [draw.pick(isIdentified ? ['A', 'B'] : ['A', 'B', 'A', 'B', 'Code'])]: this.#tokens.next('w') };
    this.#origin.update('Thing', id, cells);
    return this.#note(`colleague: sets ${JSON.stringify(cells)} in row ${id}`);
  }

  #makeOrigin(): OriginModel {
    const { rowCount, systemColumns } = this.#setup;
    const thing: TableSpec = {
      name: 'Thing',
      createdFromMs: START_MS,
      systemColumns,
      columns: [
        { name: 'Tag', type: 'Text' },
        { name: 'Code', type: 'Text', options: ['Unique'] },
        { name: 'A', type: 'Text' },
        { name: 'B', type: 'Text' },
      ],
      rows: Array.from({ length: rowCount }, () => ({
        Tag: this.#tokens.next('t'),
        Code: this.#tokens.next('c'),
        A: this.#tokens.next('a'),
        B: this.#tokens.next('b'),
      })),
    };
    return new OriginModel({
      tables: [thing],
      nowMs: () => START_MS + this.#scheduler.nowMs,
      database: DATABASE,
      token: MODEL_TOKEN,
    });
  }

  /** The faults stop; the engine comes to rest, and everything is judged. */
  async #rest(): Promise<void> {
    this.#isEnding = true;
    this.#network.isCalm = true;
    this.#note('the faults stop');
    await this.#until(() => this.#isIdle && this.#life !== null);
    for (let cycle = 1; ; cycle += 1) {
      if (cycle > CYCLES_MAX) {
        this.#fail('L1', `after ${CYCLES_MAX} cycles without faults there is still something to do`);
        throw new Ended();
      }
      const report = await this.#quietCycle();
      if (report === 'quiet') break;
    }
    for (const { oracle, what } of this.#judge()) this.#fail(oracle, what);
  }

  async #quietCycle(): Promise<'quiet' | 'busy'> {
    const life = this.#life;
    if (life === null) throw new Error('An engine lives');
    const writesBefore = this.#origin.log.length;
    const done: { report: CycleReport | null } = { report: null };
    this.#isIdle = false;
    life.cycle({ pull: true, push: true, confirm: true }).then(
      (report) => {
        done.report = report;
      },
      (thrown: unknown) => this.#noteThrown(thrown),
    );
    await runDry();
    await this.#until(() => done.report !== null);
    if (done.report === null) throw new Ended();
    this.#noteCycle(done.report);
    const { errors, insertedCount, updatedCount, deletedCount, pagesReadCount } = done.report;
    const isQuiet =
      errors.length === 0 &&
      insertedCount + updatedCount + deletedCount + pagesReadCount === 0 &&
      this.#origin.log.length === writesBefore &&
      this.#user.query(`SELECT 1 FROM _rowsync_rows WHERE state IN ('edited', 'sending', 'unknown')`).length === 0;
    return isQuiet ? 'quiet' : 'busy';
  }

  async #until(isDone: () => boolean): Promise<void> {
    for (let turn = 0; !isDone(); turn += 1) {
      if (turn > TURNS_MAX) {
        this.#fail('L1', 'the engine does not come to an end');
        throw new Ended();
      }
      await this.#turn();
    }
  }

  #judge(): readonly Complaint[] {
    const texts = ['sync_conflicts', 'sync_failures', 'sync_changes', 'sync_deleted'].map((view) =>
      this.#user.query(`SELECT * FROM ${view}`),
    );
    const waiting = this.#user.query(
      'SELECT row_id FROM _rowsync_rows UNION ALL SELECT row_id FROM _rowsync_unreadable',
    );
    const [[tableId] = []] = this.#user.query(`SELECT id FROM _rowsync_tables WHERE name = 'Thing'`);
    const base = this.#user.query(`SELECT _id, Tag, Code, A, B FROM _rowsync_base_${Number(tableId)} ORDER BY _id`);
    return judgeRest({
      books: this.#books,
      local: this.#user.rows(),
      base: base.map(([id, tag, code, a, b]) => rowOf(Number(id), { Tag: tag, Code: code, A: a, B: b })),
      origin: this.#origin.rows('Thing').map(({ id, values }) => rowOf(id, values)),
      writes: this.#writes(),
      waiting: new Set(waiting.map(([id]) => Number(id))),
      kept: JSON.stringify(texts),
    });
  }

  #writes(): readonly OriginWrite[] {
    const tagById = new Map<number, string>();
    return this.#origin.log.flatMap(({ by, kind, id, cells }) => {
      if (kind === 'file') return [];
      const known = tagById.get(id) ?? String(cells['Tag'] ?? '');
      tagById.set(id, known);
      return [{ by, kind, id, tag: known, cells: cells as Readonly<Record<string, LocalValue>> }];
    });
  }

  #tagOf(id: number): string | null {
    const row = this.#origin.rows('Thing').find((candidate) => candidate.id === id);
    return row === undefined ? null : String(row.values['Tag']);
  }

  #count(what: string): void {
    this.#coverage.set(what, (this.#coverage.get(what) ?? 0) + 1);
  }

  #note(line: string): void {
    this.#trace.push(line);
  }

  #fail(oracle: string, what: string): void {
    this.#note(`WRONG: ${oracle}: ${what}`);
    this.#failure ??= { oracle, what };
  }
}

function rowOf(id: number, values: Readonly<Record<string, unknown>>): LocalRow {
  const { Tag: tag, Code, A, B } = values as Readonly<Record<string, LocalValue>>;
  return { id, tag: String(tag), cells: { Code: Code ?? null, A: A ?? null, B: B ?? null } };
}

/** What the daemon makes of a replica that cannot be written: the cycle is over, and there will be another one. */
function replicaFailure(thrown: unknown): CycleReport {
  const error = asRowsyncError(thrown);
  if (error.kind !== 'replica') throw thrown;
  return { errors: [error], insertedCount: 0, updatedCount: 0, deletedCount: 0, pagesReadCount: 0 };
}

function causeOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : '';
}

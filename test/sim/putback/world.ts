/**
 * A world in which rows are put back at the origin, by commands whose answers get lost and that die anywhere, while
 * colleagues make some of the rows again. Then the faults stop, the person finishes, and both sides are judged. Every
 * decision is a number of a tape, as in the other worlds.
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from '../../../src/base/sql.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import { MODEL_TOKEN } from '../model/origin.ts';
import { leaksOf } from '../oracles/secrecy.ts';
import type { Complaint } from '../oracles/verdict.ts';
import type { WorldOptions, WorldResult } from '../run/run.ts';
import { Tokens } from '../world/books.ts';
import { causeOf, Life, loggerOf, type EngineSettings, type Fate } from '../world/engine.ts';
import { MASK_KEY } from '../world/choosing.ts';
import { Network, type SeenRequest } from '../world/network.ts';
import { Ended, runDry, Scheduler } from '../world/scheduler.ts';
import { DATABASE, START_MS } from '../world/setup.ts';
import { Draw, type Tapes } from '../world/tape.ts';
import { Colleagues, type KnownRow } from './colleagues.ts';
import { judgePutback, judgeTwice, type PutbackLine } from './judge.ts';
import { EVERYTHING, putBack, type PutbackOrder } from './person.ts';
import { TABLES, type PutbackSetup } from './setup.ts';

/** Steps until a command that nobody disturbs must have ended. */
const STEPS_MAX = 20_000;
/** Looks for what the real disk does, a millisecond each: the folder of files is removed there. */
const LOOKS_MAX = 5_000;
const HOUR_MS = 3_600_000;
const HISTORY = { keepDays: 400, bytesMax: 1_000_000_000 };

/** One such world; `close` lets go of its files. */
export class PutbackWorld {
  readonly #tapes: Tapes;
  readonly #setup: PutbackSetup;
  readonly #options: WorldOptions;
  readonly #scheduler = new Scheduler();
  readonly #tokens = new Tokens();
  readonly #colleagues: Colleagues;
  readonly #network: Network;
  readonly #path: string;
  readonly #trace: string[] = [];
  readonly #coverage = new Map<string, number>();
  #main: Life | null = null;
  #lifeCount = 0;
  #changeCount = 0;
  #isCalm = true;
  #failure: Complaint | null = null;

  constructor(tapes: Tapes, setup: PutbackSetup, options: WorldOptions) {
    this.#tapes = tapes;
    this.#setup = setup;
    this.#options = options;
    this.#path = join(dirname(options.disk.path), 'family.db');
    this.#removeFiles();
    const wallMs = (): number => START_MS + this.#scheduler.nowMs;
    this.#colleagues = new Colleagues(setup, this.#tokens, wallMs);
    const storm = tapes.of('putbackStorm');
    this.#network = new Network({
      scheduler: this.#scheduler,
      tape: storm,
      setup,
      script: {
        fault: (kind) => {
          const value = kind === 'change' && !this.#isCalm ? storm.decide(setup.lossRate) : 0;
          return value === 0 ? null : new Draw(value).pick(['lostAfter', 'lostAfter', 'lostBefore', 'timeoutAfter']);
        },
        losesRequests: () => storm.decide(0.5) !== 0,
      },
      origin: (request) => this.#colleagues.origin.answer(request),
      refuses: () => null,
      wallMs,
      rowsOfUpload: () => null,
      onDeparture: (request) => this.#departs(request),
      onCutShort: () => undefined,
      onAnswer: ({ number }, fault, result) => {
        if (fault !== null) this.#count(`putback fault ${fault}`);
        const end = result.kind === 'answer' ? String(result.status) : result.reason;
        this.#note(`request ${number} ends: ${end}${fault === null ? '' : ` (fault ${fault})`}`);
      },
    });
  }

  async run(): Promise<void> {
    try {
      const stayed = await this.#loseRows();
      for (let command = 0; command < this.#setup.commandCount; command += 1) {
        await this.#command(this.#drawOrder(), false);
        if (this.#tapes.of('putback').draw().chance(0.3)) await this.#pull();
      }
      await this.#rest(stayed);
    } catch (thrown) {
      if (!(thrown instanceof Ended)) throw thrown;
    }
  }

  close(): void {
    this.#main?.end();
    this.#main?.bury();
    this.#removeFiles();
  }

  result(): WorldResult {
    return {
      failure: this.#failure,
      trace: this.#trace,
      coverage: this.#coverage,
      record: this.#tapes.record(),
      rows: [],
    };
  }

  /** Families are made, and pulled; some of their rows go, and the pulls see it. Returns the rows that stay. */
  async #loseRows(): Promise<readonly KnownRow[]> {
    const tape = this.#tapes.of('putback');
    this.#note('families of rows are made');
    this.#colleagues.begin(tape.draw());
    this.#main = this.#live(this.#path, () => 'on');
    await this.#pull();
    const rounds = 1 + tape.draw().below(3);
    for (let round = 0; round < rounds; round += 1) {
      this.#scheduler.nowMs += HOUR_MS;
      this.#note(this.#colleagues.lose(tape.draw()));
      await this.#pull();
    }
    this.#scheduler.nowMs += HOUR_MS;
    return TABLES.flatMap((table) => this.#colleagues.rows(table));
  }

  /** The replica follows the origin, in peace. */
  async #pull(): Promise<void> {
    const main = this.#main;
    if (main === null) throw new Error('The replica is open');
    this.#setCalm(true);
    await this.#finish(main, async () => {
      const { errors } = await main.cycle({ pull: true, push: false, files: 'withPull', confirm: true });
      for (const { code, message } of errors) this.#fail('I1', `a pull in peace says ${code}: ${message}`);
    });
    this.#colleagues.notePulled();
  }

  #drawOrder(): PutbackOrder {
    const draw = this.#tapes.of('putback').draw();
    if (draw.chance(0.3) && this.#lines().length > 0) return { kind: 'resume', again: false };
    const lost = this.#colleagues.lost();
    const table = draw.pick(TABLES);
    const own = lost.filter((row) => row.table === table);
    const ids = draw.chance(0.5) ? own.filter(() => draw.chance(0.5)).map(({ id }) => id) : [];
    return { kind: 'rows', table, ids, with: TABLES.filter((other) => other !== table && draw.chance(0.7)) };
  }

  /** One command, in a process of its own. */
  async #command(order: PutbackOrder, isCalm: boolean): Promise<void> {
    this.#setCalm(isCalm);
    this.#note(`person: ${JSON.stringify(order)}`);
    this.#count(`putback ${order.kind}`);
    const life = this.#live(`${this.#path}.putback`, (what, facts) => this.#fate(what, facts));
    await this.#finish(life, () => putBack(this.#options.modules, life, order, this.#path));
    if (!life.isAlive) this.#network.abandon(life);
    life.end();
    life.bury();
    for (const { oracle, what } of judgeTwice({ setup: this.#setup, colleagues: this.#colleagues }))
      this.#fail(oracle, what);
    if (this.#failure !== null) throw new Ended();
  }

  /** The faults stop: the person puts everything back, and looks at the origin for what is in doubt. */
  async #rest(stayed: readonly KnownRow[]): Promise<void> {
    const everything = async (): Promise<void> => {
      for (const order of EVERYTHING) await this.#command(order, true);
      if (this.#lines().length > 0) await this.#command({ kind: 'resume', again: false }, true);
    };
    this.#note('the faults stop');
    this.#colleagues.origin.knobs.refusesCell = null;
    await everything();
    const doubted = this.#lines().filter(({ state }) => state === 'inDoubt');
    const names = new Set(TABLES.flatMap((table) => this.#colleagues.rows(table).map(({ name }) => name)));
    const nameOf = ({ table, oldId }: PutbackLine): string =>
      this.#colleagues.known.get(`${table} ${oldId}`)?.name ?? '';
    if (doubted.length > 0) this.#count('putback in doubt');
    if (doubted.length > 0 && doubted.every((line) => !names.has(nameOf(line)))) {
      this.#count('putback again');
      await this.#command({ kind: 'resume', again: true }, true);
      await everything();
    }
    const before = this.#changeCount;
    await everything();
    if (this.#changeCount > before) this.#fail('L1', `once more sends ${this.#changeCount - before} changes`);
    const sides = { setup: this.#setup, colleagues: this.#colleagues, stayed, lines: this.#lines() };
    for (const { state } of sides.lines) this.#count(`putback state ${state}`);
    for (const { oracle, what } of judgePutback(sides)) this.#fail(oracle, what);
    await this.#pull();
    this.#compare();
  }

  /** Whether the replica has what the origin has. */
  #compare(): void {
    const db = new Database(this.#path, { readonly: true });
    for (const table of TABLES) {
      const here = db.prepare(`SELECT _id, Name, Note FROM "${table}" ORDER BY _id`).raw().all();
      const there = this.#colleagues.rows(table).map(({ id, name, note }) => [id, name, note]);
      if (JSON.stringify(here) !== JSON.stringify(there)) this.#fail('fresh', `${table} is not here as it is there`);
    }
    db.close();
  }

  #live(path: string, fate: (what: string, facts: TransactionFacts | null) => Fate): Life {
    const number = (this.#lifeCount += 1);
    const life = new Life({
      modules: this.#options.modules,
      disk: { path, connections: this.#options.disk.connections },
      scheduler: this.#scheduler,
      transport: (owner) => this.#network.transport({ owner, isAlive: () => owner.isAlive }),
      wallMs: () => START_MS + this.#scheduler.nowMs,
      seed: this.#tapes.seed,
      number,
      settings: { ...this.#settings(), names: new Set(TABLES), misspelt: null },
      log: loggerOf((event, line) => {
        for (const what of leaksOf('a line of the log', line, this.#tokens)) this.#fail('I16', what);
        if (event !== 'origin.request') this.#note(line);
      }),
      fate,
      fileDisk: null,
      onCommit: () => undefined,
      onCommitted: ({ what }) => this.#note(`commit: ${what}`),
      onPulled: () => undefined,
      onDeath: (how) => {
        this.#count('putback death');
        this.#note(`process ${number} dies ${how}`);
      },
    });
    life.open();
    return life;
  }

  #settings(): EngineSettings {
    const { batchRows, history } = this.#setup;
    const shared = { maxDeletePercent: 100, concurrency: 1 };
    return {
      origin: {
        url: 'https://origin.example',
        database: DATABASE,
        credentials: { kind: 'bearer', token: MODEL_TOKEN },
        concurrency: 1,
        compress: false,
        maskKey: () => MASK_KEY,
        limits: { retry: { attemptsMax: 3, baseWaitMs: 100, waitMsMax: 1_000, totalMs: 60_000 } },
      },
      pull: { ...shared, pageRows: 3, tableOptions: () => ({ sort: null, history: history ? HISTORY : null }) },
      push: {
        ...shared,
        maxPushRows: 1_000,
        uploadDir: null,
        secrets: [],
        batchLimits: { rowsMax: batchRows, bytesMax: 100_000 },
        tableOptions: () => ({ conflict: 'origin', workflow: 'run' }),
      },
      files: null,
    };
  }

  /** Lets a process go on until it has done its work, or is dead. */
  async #finish(life: Life, work: () => Promise<void>): Promise<void> {
    const end = { isDone: false };
    void work()
      .catch((thrown: unknown) => this.#hear(thrown))
      .finally(() => (end.isDone = true));
    await runDry();
    let looks = 0;
    for (let step = 0; !end.isDone && life.isAlive && this.#failure === null; step += 1) {
      if (step > STEPS_MAX) this.#fail('L1', 'the command does not come to an end');
      if (this.#scheduler.isEmpty) {
        if ((looks += 1) > LOOKS_MAX) this.#fail('deadlock', 'the command waits for something that never comes');
        await new Promise((resolve) => void setTimeout(resolve, 1));
        continue;
      }
      this.#happen();
      await runDry();
    }
    if (this.#failure !== null) throw new Ended();
  }

  #happen(): void {
    const { colleagueRate, reorderRate } = this.#setup;
    const act = this.#isCalm ? 0 : this.#tapes.of('putback').decide(colleagueRate);
    if (act !== 0) {
      this.#count('putback colleague');
      this.#note(this.#colleagues.act(new Draw(act)));
    }
    const value = this.#isCalm ? 0 : this.#tapes.of('putbackStorm').decide(reorderRate);
    this.#scheduler.step((count) => new Draw(value).below(count));
  }

  #hear(thrown: unknown): void {
    const isOurs = typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'code' in thrown;
    const text = `${causeOf(thrown)} ${isOurs && 'cause' in thrown ? causeOf(thrown.cause) : ''}`;
    if (!isOurs) return this.#fail('thrown', text);
    this.#count(`putback error ${String(thrown.code)}`);
    this.#note(`the command says: ${String(thrown.code)} ${thrown instanceof Error ? thrown.message : ''}`);
    if (thrown.kind === 'bug' || (this.#isCalm && thrown.kind !== 'usage')) this.#fail('bug', text);
  }

  #fate(what: string, facts: TransactionFacts | null): Fate {
    const { deathRate, pauseRate } = this.#setup;
    const rate = this.#isCalm ? 0 : deathRate + pauseRate;
    const value = rate === 0 ? 0 : this.#tapes.of('putbackStorm').decide(rate);
    if (value === 0) return 'on';
    const fate = new Draw(value).weighted<Fate>([
      [pauseRate, 'pause'],
      [deathRate, 'dieBefore'],
      [facts === null ? 0 : deathRate, 'dieInside'],
      [facts === null ? 0 : deathRate, 'dieAfter'],
    ]);
    this.#note(`${fate} at ${what}`);
    return fate;
  }

  /** Before a row is sent, it is noted with what it was. */
  #departs({ number, kind, method, table, body }: SeenRequest): void {
    this.#note(`request ${number}: ${method} ${table}${body ?? ''}`);
    if (kind !== 'change') return;
    this.#changeCount += 1;
    if (method !== 'create' && method !== 'upsert') return;
    const known = this.#cellsOnTheWay();
    for (const [, name = ''] of (body ?? '').matchAll(/"Name":("t\d{4,}")/g))
      if (!known.some((cells) => cells.includes(name))) this.#fail('I5', `${name} leaves before it is noted`);
  }

  #cellsOnTheWay(): readonly string[] {
    return this.#ask(sql`SELECT cells FROM sync_putback WHERE state = 'sent' AND staged_id < 0`).map(([cells]) =>
      String(cells),
    );
  }

  #lines(): readonly PutbackLine[] {
    return this.#ask(sql`SELECT kind, "table", old_id, state, reason FROM sync_putback ORDER BY id`).map(
      ([kind, table, oldId, state, reason]) => ({
        kind: String(kind),
        table: String(table),
        oldId: Number(oldId),
        state: String(state),
        reason: typeof reason === 'string' ? reason : null,
      }),
    );
  }

  #ask(statement: string): readonly (readonly unknown[])[] {
    const path = `${this.#path}.putback`;
    if (!existsSync(path)) return [];
    const db = new Database(path, { readonly: true });
    try {
      const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sync_putback'").get() !== undefined;
      return isThere ? (db.prepare(statement).raw().all() as unknown[][]) : [];
    } finally {
      db.close();
    }
  }

  #setCalm(isCalm: boolean): void {
    this.#isCalm = isCalm;
    this.#network.isCalm = isCalm;
  }

  #removeFiles(): void {
    for (const path of [this.#path, `${this.#path}.putback`]) {
      this.#options.disk.connections.closeAllTo(path);
      for (const suffix of ['', '-wal', '-shm', '.sent', '.lock', '.files'])
        rmSync(`${path}${suffix}`, { recursive: true, force: true });
    }
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

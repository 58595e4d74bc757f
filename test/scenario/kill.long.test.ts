/**
 * `kill -9` in the middle of first pulls. Each child continues with what its predecessor left; whatever moment the kill
 * hits, the file must be whole and no ETag may stand without its rows. A pull that ends before its kill is checked, its
 * replica removed, and the next child starts from nothing.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { brokenPages, integrity, readOrigin, readReplica, withDatabase, wrongCounts } from '../support/compare.ts';
import { startPull, type PullProcess } from '../support/pull-process.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { newSeed } from '../support/seeds.ts';

/** Requests after which a pull is killed at the latest; a whole one takes twenty times as many. */
const KILL_REQUESTS_MAX = 60;
/** A kill comes at any moment of the work on an answer, not only when a request goes out. */
const KILL_DELAY_MS_MAX = 6;
const RUN_MS_MAX = 120_000;

const quietSeed = newSeed();
const busySeed = newSeed();

test(
  `ends equal to the origin after fifty kills at random moments of a first pull (seed ${quietSeed})`,
  async () => {
    await using chain = await startChain(quietSeed, 2);

    expect(await chain.killSeveral(50, () => undefined)).toEqual([]);

    expect(await chain.pullToEnd()).toEqual([]);
    expect(readReplica(chain.path)).toEqual(readOrigin(chain.sandbox));
    expect(wrongCounts(chain.path)).toEqual([]);
    expect(chain.outcomes().at(-1)).toBe('done');
  },
  RUN_MS_MAX,
);

test(
  `ends equal to the origin although colleagues worked between the kills (seed ${busySeed})`,
  async () => {
    await using chain = await startChain(busySeed, 4);

    expect(await chain.killSeveral(12, () => chain.sandbox.playActivity(10))).toEqual([]);

    expect(await chain.pullToEnd()).toEqual([]);
    expect(readReplica(chain.path)).toEqual(readOrigin(chain.sandbox));
    expect(wrongCounts(chain.path)).toEqual([]);
    const here = chain.deleted();
    expect(here.filter(({ table, rowId }) => chain.sandbox.store.ids(table).includes(rowId))).toEqual([]);
  },
  RUN_MS_MAX,
);

/** Counts requests for whoever waits for one. */
class RequestMeter {
  #left = 0;
  #reached: () => void = () => undefined;

  /** Resolves when so many more requests have come in; whoever waited before is forgotten. */
  wait(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#left = count;
      this.#reached = resolve;
      if (count === 0) resolve();
    });
  }

  count(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#reached();
  }
}

/** A sandbox, a replica, and the children that pull into it one after the other. */
class Chain {
  readonly sandbox: TestSandbox;
  readonly path: string;
  readonly #folder: { readonly path: string; [Symbol.dispose](): void };
  readonly #random: Random;
  readonly #meter: RequestMeter;
  readonly #concurrency: number;
  /** Children started ahead; loading the program takes longer than what is killed. */
  readonly #waiting: PullProcess[] = [];

  constructor(sandbox: TestSandbox, meter: RequestMeter, options: { random: Random; concurrency: number }) {
    this.sandbox = sandbox;
    this.#meter = meter;
    this.#folder = temporaryFolder();
    this.path = join(this.#folder.path, 'replica.db');
    this.#random = options.random;
    this.#concurrency = options.concurrency;
  }

  /**
   * Kills `count` children in the middle of their work and lets `between` happen after each; what was wrong with what
   * they left, in words.
   */
  async killSeveral(count: number, between: () => unknown): Promise<readonly string[]> {
    const problems: string[] = [];
    let killed = 0;
    while (killed < count) {
      const child = await this.#take(killed + 1 < count);
      const reached = this.#meter.wait(this.#random.integer(0, KILL_REQUESTS_MAX));
      child.go();
      // Some kills hit the making of the file and the first transactions, before any request.
      if (!this.#random.chance(0.1)) await Promise.race([reached, child.ended]);
      await wait(this.#random.integer(0, KILL_DELAY_MS_MAX));
      child.kill();
      const outcome = await child.ended;
      problems.push(...this.#problems(), ...(outcome?.codes ?? []));
      if (outcome === null) killed += 1;
      else this.#startOver();
      between();
    }
    return problems;
  }

  /** Lets a child pull to its end; the codes of what went wrong. */
  async pullToEnd(): Promise<readonly string[]> {
    const child = await this.#take(false);
    child.go();
    return (await child.ended)?.codes ?? ['killed'];
  }

  /** How the runs ended, the first one first. */
  outcomes(): readonly string[] {
    return withDatabase(this.path, (db) =>
      db.prepare<[], string>('SELECT outcome FROM sync_runs ORDER BY id').pluck().all(),
    );
  }

  /** Rows that were deleted here. */
  deleted(): readonly { table: string; rowId: number }[] {
    return withDatabase(this.path, (db) =>
      db.prepare<[], { table: string; rowId: number }>('SELECT "table", row_id AS rowId FROM sync_deleted').all(),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#waiting) child.kill();
    await Promise.allSettled(this.#waiting.map(({ ended }) => ended));
    await this.sandbox.stop();
    this.#folder[Symbol.dispose]();
  }

  /** A child that has loaded everything; with `more`, another one starts to load meanwhile. */
  async #take(more: boolean): Promise<PullProcess> {
    while (this.#waiting.length < (more ? 2 : 1)) this.#waiting.push(this.#start());
    const child = this.#waiting.shift() ?? this.#start();
    await child.said('ready');
    return child;
  }

  #start(): PullProcess {
    const { url, database, token } = this.sandbox;
    const job = { path: this.path, url, database, token, pageRows: 4, concurrency: this.#concurrency, hold: false };
    return startPull(job, join(this.#folder.path, 'cache'));
  }

  /** What is wrong with the file as a kill left it. */
  #problems(): readonly string[] {
    if (!existsSync(this.path)) return [];
    const structure = integrity(this.path);
    if (structure !== 'ok') return [String(structure)];
    if (!hasBookkeeping(this.path)) return []; // killed before its first transaction
    const flags = withDatabase(this.path, (db) => db.prepare('SELECT * FROM _rowsync_writer').all());
    return [
      ...brokenPages(this.path),
      ...wrongCounts(this.path),
      ...flags.map(() => 'the flag of a write transaction is set outside of it'),
    ];
  }

  #startOver(): void {
    for (const ending of ['', '-wal', '-shm']) rmSync(this.path + ending, { force: true });
  }
}

function hasBookkeeping(path: string): boolean {
  return withDatabase(path, (db) => db.pragma('application_id', { simple: true }) !== 0);
}

async function startChain(seed: number, concurrency: number): Promise<Chain> {
  const tables = ['Note', 'Näme "with" quotes', 'Third'].map(notes);
  const meter = new RequestMeter();
  const intercept = (): boolean => {
    meter.count();
    return false;
  };
  const sandbox = await startTestSandbox({ tables, seed, latencyMs: 2, intercept });
  return new Chain(sandbox, meter, { random: new Random(seed), concurrency });
}

/** Numbered rows, enough of them for many pages. */
function notes(name: string): TableSpec {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ];
  const rows = Array.from({ length: 1400 }, (_, index) => ({ Title: `${name} ${index}`, Count: index / 4 }));
  return { name, columns, rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

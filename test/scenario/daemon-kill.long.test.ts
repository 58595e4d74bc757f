/**
 * The real daemon, killed again and again while SQL clients and colleagues work: each daemon continues with what its
 * predecessor left. Every few kills everybody rests, and the invariants are checked against the ledger. All entries of
 * the journal, taken back, lead to what the tables were at first: none of them is half there, and no change is without
 * one. 100 kills here; ROWSYNC_KILLS says how many.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import type { UserSpec } from '../../src/sandbox/store/spec.ts';
import { soakConfig, soakTables, EDITED, FOLLOWED, MIRROR } from '../soak/world.ts';
import { makeWorkspace } from '../support/child.ts';
import { brokenPages, integrity, readOrigin, wrongCounts } from '../support/compare.ts';
import { runCycle, startDaemonProcess, type DaemonProcess } from '../support/daemon-process.ts';
import { Edits } from '../support/edits.ts';
import {
  COLLEAGUE,
  ledgerProblems,
  pendingCount,
  prepareLedger,
  recordHistory,
  token,
  waitingTables,
} from '../support/ledger.ts';
import { momentOf, problemsSince, type Moment } from '../support/history.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { newSeed } from '../support/seeds.ts';
import { openClient, type SqlClient } from '../support/sql-clients.ts';

const KILL_COUNT = Number(process.env['ROWSYNC_KILLS'] ?? '100');
/** Kills between two looks at everything. */
const ROUND_KILLS = 50;
/** From the first line of its log: by then the replica is open. */
const KILL_MS_MIN = 50;
const KILL_MS_MAX = 400;
/** Some are killed while they still load, or open the replica. */
const EARLY_SHARE = 0.1;
const EARLY_MS_MAX = 500;
/** Some only in the middle of their push, which comes after a pull. */
const PUSH_SHARE = 0.4;
const PUSH_MS_MAX = 250;
const REST_CYCLES_MAX = 3;
/** Many times what a kill and its share of a look take on a busy machine. */
const MS_PER_KILL_MAX = 6_000;

// Deletes add up while no push gets far enough, and no guard is to hold them.
const CONFIG = 'schedule: { sync: "0 0 1 1 *" }\npush: { delay: 0 }\nsafety: { maxDeletePercent: 100 }\n';
const seed = newSeed();

test(
  `loses, doubles and invents nothing when it is killed ${KILL_COUNT} times (seed ${seed})`,
  async () => {
    await using world = await startWorld(seed);

    for (let killed = 0; killed < KILL_COUNT; killed += ROUND_KILLS) {
      const found = await world.round(Math.min(ROUND_KILLS, KILL_COUNT - killed));
      expect({ killed, found }).toEqual({ killed, found: [] });
      if (KILL_COUNT > 2 * ROUND_KILLS) process.stderr.write(`${killed + ROUND_KILLS} kills, nothing wrong\n`);
    }

    expect(world.committedCount).toBeGreaterThan(KILL_COUNT);
  },
  120_000 + KILL_COUNT * MS_PER_KILL_MAX,
);

async function startWorld(of: number): Promise<World> {
  const sandbox = await startTestSandbox({ seed: of, latencyMs: 2, tables: soakTables(60) });
  recordHistory(sandbox.store.path, FOLLOWED);
  const workspace = makeWorkspace(sandbox);
  mkdirSync(join(workspace.folder, 'uploads'));
  writeFileSync(join(workspace.folder, 'rowsync.yaml'), soakConfig(sandbox, CONFIG, { history: true }));
  const world = new World(sandbox, workspace, new Random(of));
  await world.begin();
  return world;
}

/** A sandbox, a replica, the daemons that work on it one after the other, and who writes meanwhile. */
class World {
  readonly #sandbox: TestSandbox;
  readonly #workspace: { readonly folder: string; [Symbol.dispose](): void };
  readonly #random: Random;
  readonly #replica: string;
  readonly #confirmed = new Set<string>();
  readonly #writers: { readonly client: SqlClient; readonly edits: Edits }[];
  #serial = 0;
  #first: Moment | null = null;
  #daemon: DaemonProcess | null = null;
  committedCount = 0;

  constructor(sandbox: TestSandbox, workspace: { readonly folder: string; [Symbol.dispose](): void }, random: Random) {
    this.#sandbox = sandbox;
    this.#workspace = workspace;
    this.#random = random;
    this.#replica = join(workspace.folder, 'replica.db');
    const uploads = join(workspace.folder, 'uploads');
    this.#writers = (['shell', 'python'] as const).map((kind, index) => ({
      client: openClient(kind, this.#replica),
      edits: new Edits(new Random(random.integer(1, 1e9)), { tables: EDITED, uploads, series: index + 1 }),
    }));
  }

  /** The first pull, and a program that is compiled for those who come. */
  async begin(): Promise<void> {
    const daemon = this.#start();
    await daemon.logged('work.finished', 1, ({ work }) => work === 'push');
    prepareLedger(this.#replica);
    daemon.process.kill('SIGTERM');
    await expectEnd(daemon, 0);
    this.#first = momentOf(this.#replica);
    if (this.#first.states.size < FOLLOWED.length) throw new Error('a table has no journal');
  }

  /** Kills so many daemons while everybody works, then lets everybody rest; what is wrong, in words. */
  async round(killCount: number): Promise<readonly string[]> {
    this.#sandbox.faults.replace({ seed: this.#random.integer(1, 1e9), faults: this.#drawFaults() });
    const ending = new AbortController();
    const working = this.#writers.map((writer) => this.#write(writer, ending.signal));
    const colleagues = this.#work(ending.signal);
    for (let killed = 0; killed < killCount; killed += 1) await this.#killOne();
    ending.abort();
    await Promise.all([...working, colleagues]);
    this.#sandbox.faults.replace({ faults: [] });
    return this.#rest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#daemon?.process.kill('SIGKILL');
    await this.#daemon?.ended;
    for (const { client } of this.#writers) await client[Symbol.asyncDispose]();
    await this.#sandbox.stop();
    this.#workspace[Symbol.dispose]();
  }

  #start(): DaemonProcess {
    const { folder } = this.#workspace;
    const env = { NODE_COMPILE_CACHE: join(folder, 'cache') };
    return (this.#daemon = startDaemonProcess(folder, { env }));
  }

  async #killOne(): Promise<void> {
    const daemon = this.#start();
    const draw = this.#random.next();
    if (draw < EARLY_SHARE) {
      await wait(this.#random.integer(0, EARLY_MS_MAX));
    } else if (draw < EARLY_SHARE + PUSH_SHARE) {
      await daemon.logged('work.started', 1, ({ work }) => work === 'push');
      await wait(this.#random.integer(0, PUSH_MS_MAX));
    } else {
      await daemon.logged('daemon.started');
      await wait(this.#random.integer(KILL_MS_MIN, KILL_MS_MAX));
    }
    daemon.process.kill('SIGKILL');
    await expectEnd(daemon, 'SIGKILL');
  }

  #drawFaults(): { fault: 'resetAfter' | 'truncated' | 'failure'; probability: number }[] {
    if (this.#random.chance(0.5)) return [];
    return [{ fault: this.#random.pick(['resetAfter', 'truncated', 'failure'] as const), probability: 0.1 }];
  }

  async #write({ client, edits }: { client: SqlClient; edits: Edits }, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { transaction, sure } = edits.next();
      const refusal = await client.run(transaction);
      if (refusal === null) {
        this.committedCount += 1;
        for (const one of sure) this.#confirmed.add(one);
      }
      await wait(this.#random.integer(10, 150));
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { store } = this.#sandbox;
    const colleague: UserSpec = { ...store.user, email: `${COLLEAGUE}example.com` };
    while (!signal.aborted) {
      const { name, texts } = this.#random.pick(EDITED);
      this.#serial += 2;
      const id = this.#random.pick(store.ids(name));
      const draw = this.#random.next();
      if (draw < 0.1) store.insert(name, { Tag: token('c', this.#serial), A: token('w', this.#serial + 1) }, colleague);
      else if (draw < 0.15 && store.count(name) > 40) store.delete(name, id, { as: colleague });
      else if (draw < 0.2)
        store.update(MIRROR, this.#random.pick(store.ids(MIRROR)), { 'Text 1': token('w', this.#serial) });
      else store.update(name, id, { [this.#random.pick(texts)]: token('w', this.#serial) }, colleague);
      await wait(this.#random.integer(20, 200));
    }
  }

  /** A person decides what waits for one. */
  async #judge(): Promise<void> {
    const side = this.#random.pick(['local', 'remote']);
    // Where that cannot be done, as for a cell of a row that was deleted here, the local version can.
    const statements = [
      `UPDATE sync_conflicts SET resolution = iif(problem IS NULL, '${side}', 'local') WHERE state = 'open'`,
    ];
    const [writer] = this.#writers;
    const refusal = await writer?.client.run({ begin: 'BEGIN IMMEDIATE', statements, holdMs: 0, end: 'COMMIT' });
    if (refusal !== null) throw new Error(`Conflicts could not be decided: ${refusal}`);
  }

  async #rest(): Promise<readonly string[]> {
    const daemon = this.#start();
    await daemon.logged('daemon.started');
    await runCycle(daemon);
    await this.#judge();
    for (let cycle = 0; cycle < REST_CYCLES_MAX; cycle += 1) await runCycle(daemon);
    const waiting = waitingTables(this.#replica);
    const isQuiet = (problem: string): boolean => ![...waiting].some((table) => problem.startsWith(table));
    const structure = integrity(this.#replica);
    const pending = pendingCount(this.#replica);
    const problems = [
      ...(structure === 'ok' ? [] : [String(structure)]),
      ...(this.#first === null ? [] : problemsSince(this.#replica, this.#first)),
      ...(pending === 0 ? [] : [`L1: ${pending} rows are pending`]),
      ...[...brokenPages(this.#replica), ...wrongCounts(this.#replica)].filter(isQuiet),
      ...ledgerProblems({
        replicaPath: this.#replica,
        storePath: this.#sandbox.store.path,
        tables: FOLLOWED,
        origin: readOrigin(this.#sandbox),
        confirmed: this.#confirmed,
      }),
    ];
    daemon.process.kill('SIGKILL');
    await daemon.ended;
    return problems;
  }
}

/** @throws Error with its log where a daemon ended in another way. */
async function expectEnd(daemon: DaemonProcess, wanted: number | string): Promise<void> {
  const end = await daemon.ended;
  if (end !== wanted) throw new Error(`The daemon ended with ${end}:\n${daemon.lines.join('\n')}`);
}

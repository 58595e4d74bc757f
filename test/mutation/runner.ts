/** Runs each test once as it is, and once for every mutant that it passes by and that no test has failed for yet. */
import { writeFileSync, readFileSync } from 'node:fs';
import { configureGlobal } from 'fast-check';
import { TestRunner, type RunnerTestCase } from 'vitest';

/** What the command asks of a run. */
export interface Order {
  /** Active from the beginning, so also while modules load; null to try all that are reached later. */
  readonly active: number | null;
  readonly reportFile: string;
}

/** What a run answers. */
export interface Report {
  /** Reached while modules load: each needs a run of its own. */
  readonly loaded: readonly number[];
  readonly reached: readonly number[];
  readonly killed: readonly number[];
  /** Tests that fail without a mutant, at first or after the mutants. */
  readonly unfit: readonly string[];
}

/** What woven code asks. */
const state = {
  active: null as number | null,
  reached: new Set<number>(),
  ticks: 0,
  ticksMax: Number.POSITIVE_INFINITY,
  caches: [] as { clear: () => void }[],
  cache<T extends { clear: () => void }>(cache: T): T {
    state.caches.push(cache);
    return cache;
  },
  at(id: number): boolean {
    state.reached.add(id);
    return state.active === id;
  },
  /** Ends a loop that a mutant made endless. */
  tick(): void {
    state.ticks += 1;
    if (state.ticks > state.ticksMax) throw new Error('This loop does not end.');
  },
};
Object.assign(globalThis, { __mutation: state });

export default class MutationRunner extends TestRunner {
  readonly #killed = new Set<number>();
  readonly #reached = new Set<number>();
  readonly #unfit: string[] = [];
  readonly #loaded = new Set<number>();
  readonly #order = JSON.parse(readFileSync(process.env['ROWSYNC_MUTATION'] ?? '', 'utf8')) as Order;

  constructor(config: ConstructorParameters<typeof TestRunner>[0]) {
    super(config);
    const order = this.#order;
    // Random tests print their seed, which is always the same here.
    process.stdout.write = () => true;
    // A random test that fails need not look for its smallest case.
    configureGlobal({ endOnFailure: true });
    state.active = order.active;
    state.ticksMax = order.active === null ? Number.POSITIVE_INFINITY : 1_000_000;
  }

  override importFile(...args: Parameters<TestRunner['importFile']>): unknown {
    state.reached = this.#loaded;
    return super.importFile(...args);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    const { active } = this.#order;
    if (active !== null) {
      if (this.#killed.size === 0 && !(await passes(run))) this.#killed.add(active);
      return;
    }
    const reached = new Set<number>();
    state.reached = reached;
    state.ticks = 0;
    state.ticksMax = Number.POSITIVE_INFINITY;
    const isFit = await passes(run);
    const ticks = state.ticks;
    if (!isFit) {
      this.#unfit.push(test.fullName);
      return;
    }
    for (const id of [...reached].filter((each) => !this.#killed.has(each))) {
      this.#reached.add(id);
      Object.assign(state, { active: id, ticks: 0, ticksMax: ticks * 10 + 10_000 });
      if (!(await passes(run))) this.#killed.add(id);
      state.active = null;
    }
    state.ticksMax = Number.POSITIVE_INFINITY;
    // A mutant may have left something behind, by which the test failed for those that followed.
    if (!(await passes(run))) this.#unfit.push(test.fullName);
  }

  override onAfterRunFiles(files: Parameters<TestRunner['onAfterRunFiles']>[0]): void {
    super.onAfterRunFiles(files);
    const report: Report = {
      loaded: [...this.#loaded],
      reached: [...this.#reached],
      killed: [...this.#killed],
      unfit: this.#unfit,
    };
    writeFileSync(this.#order.reportFile, JSON.stringify(report));
  }
}

async function passes(run: () => unknown): Promise<boolean> {
  for (const cache of state.caches) cache.clear();
  try {
    await run();
    return true;
  } catch {
    return false;
  }
}

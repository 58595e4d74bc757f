/**
 * Runs worlds one after another in this process: seeds, kept cases, shrinking. Takes the engine's modules and what to
 * run; produces results, and their sums.
 */
import { createHash } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';
import type { Case } from './corpus.ts';
import { Disk } from '../world/disk.ts';
import type { EngineModules } from '../world/engine.ts';
import { shrink } from './shrink.ts';
import { followsIn, Tapes, type FollowMode } from '../world/tape.ts';
import type { Script } from '../stories/script.ts';
import { runScript, runWorld, setupOf, type WorldResult } from './run.ts';
import { TRAITS } from '../world/setup.ts';
import { WarmStarts } from '../world/warm.ts';

/** A world that failed. */
export interface Found {
  readonly seed: number;
  readonly oracle: string;
  readonly what: string;
}

/** What some seeds came to. */
export interface Sums {
  seedCount: number;
  readonly found: Found[];
  readonly coverage: Map<string, number>;
}

/** Every so many seeds one is run twice: the same tapes must give the same world. */
const TWICE_EVERY = 50;

/**
 * What node is told where worlds are run. They leave much behind and keep little, so that a heap which begins small is
 * marked and moved all the time.
 */
export const NODE_OPTIONS = ['--min-semi-space-size=32', '--max-semi-space-size=32', '--initial-old-space-size=256'];

/** One runner works on one disk; dispose it at the end. */
export class Runner {
  readonly #modules: EngineModules;
  readonly #isLong: boolean;
  readonly #follows: FollowMode;
  readonly #disk: Disk;
  readonly #warm = new WarmStarts();

  /**
   * `isLong`: the worlds of seeds do not end early. `follows`: which of them follow their table in every other cycle.
   */
  constructor(modules: EngineModules, isLong = false, follows: FollowMode = 'none') {
    this.#modules = modules;
    this.#isLong = isLong;
    this.#follows = follows;
    this.#disk = new Disk((path) => modules.openReplica(path, { clock: systemClock }).close());
  }

  [Symbol.dispose](): void {
    this.#disk[Symbol.dispose]();
  }

  #followsIn(seed: number): boolean {
    return followsIn(this.#follows, seed);
  }

  #tapesOf(seed: number): Tapes {
    return Tapes.fromSeed(seed, this.#isLong, this.#followsIn(seed));
  }

  /** Runs one world. */
  run(tapes: Tapes): Promise<WorldResult> {
    return runWorld(tapes, { modules: this.#modules, disk: this.#disk, warm: this.#warm });
  }

  /** Runs one world in which happens what a script says. */
  runScript(script: Script): Promise<WorldResult> {
    return runScript(script, { modules: this.#modules, disk: this.#disk, warm: this.#warm });
  }

  /** Whether the world of a seed has all of these traits. */
  isOfKind(seed: number, traits: readonly string[]): boolean {
    if (traits.length === 0) return true;
    const setup = setupOf(this.#tapesOf(seed));
    return traits.every((trait) => TRAITS[trait]?.(setup) === true);
  }

  /** Runs one seed and adds it up. */
  async runSeed(seed: number, sums: Sums): Promise<void> {
    const { failure, coverage, trace } = await this.run(this.#tapesOf(seed));
    sums.seedCount += 1;
    for (const [what, count] of coverage) sums.coverage.set(what, (sums.coverage.get(what) ?? 0) + count);
    if (failure !== null) sums.found.push({ seed, ...failure });
    if (seed % TWICE_EVERY !== 0) return;
    const again = await this.run(this.#tapesOf(seed));
    if (digestOf(trace) === digestOf(again.trace)) return;
    const line = trace.findIndex((text, index) => text !== again.trace[index]);
    sums.found.push({
      seed,
      oracle: 'determinism',
      what: `the second run differs in line ${line + 1}: ${trace[line] ?? ''}`,
    });
  }

  /** The smallest world that fails as a seed does; null where the seed is well. */
  async shrinkSeed(seed: number, runsMax: number): Promise<(Case & { readonly runCount: number }) | null> {
    const { failure, record } = await this.run(this.#tapesOf(seed));
    if (failure === null) return null;
    const isSame = async (tapes: typeof record): Promise<boolean> =>
      (await this.run(Tapes.fromRecord(seed, tapes, this.#followsIn(seed)))).failure?.oracle === failure.oracle;
    const shrunk = await shrink(record, isSame, runsMax);
    const last = await this.run(Tapes.fromRecord(seed, shrunk.record, this.#followsIn(seed)));
    const { choosing, history } = Tapes.fromSeed(seed);
    const follows = this.#followsIn(seed) ? ({ follows: true } as const) : {};
    const facts = {
      seed,
      ...(last.failure ?? failure),
      about: '',
      ...(choosing === null ? {} : { choosing }),
      ...(history ? { history } : {}),
      ...follows,
    };
    return { ...facts, tapes: last.record, runCount: shrunk.runCount };
  }
}

function digestOf(trace: readonly string[]): string {
  return createHash('sha256').update(trace.join('\n')).digest('hex');
}

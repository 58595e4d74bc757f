/**
 * A process that runs one world after another, each from the source tree that it is told. A planted bug may keep it
 * busy for ever, and then it is killed. Takes messages with a world; produces a message with what was wrong in it.
 */
import { must } from '../../../src/base/assert.ts';
import { readCorpus, tapesOf, type Case } from '../run/corpus.ts';
import { loadEngine } from '../world/engine.ts';
import { play, playUndisturbed, readStrikes } from '../stories/exhaustive.ts';
import { Runner } from '../run/runner.ts';
import { SCENARIOS } from '../stories/scenarios.ts';
import { Tapes } from '../world/tape.ts';
import type { Complaint } from '../oracles/verdict.ts';
import type { Hint } from './found.ts';

/** A world to run. */
export interface Probe {
  /** The source tree of the engine, as a URL. */
  readonly root: string;
  readonly world: Hint;
}

/** What was wrong in it. */
export interface Probed {
  readonly failure: Complaint | null;
}

function keptCase(name: string): Case {
  return must(readCorpus().find(([known]) => known === name)?.[1], 'a hint names a file of the corpus');
}

async function run({ root, world }: Probe): Promise<Complaint | null> {
  using runner = new Runner(await loadEngine(new URL(root)));
  if ('seed' in world) return (await runner.run(Tapes.fromSeed(world.seed, false, world.follows))).failure;
  if ('kept' in world) return (await runner.run(tapesOf(keptCase(world.kept)))).failure;
  const scenario = SCENARIOS.find(({ name }) => name === world.story);
  if (scenario === undefined) throw new Error(`There is no story ${world.story}`);
  const { failure } =
    world.at === '' ? await playUndisturbed(runner, scenario) : await play(runner, scenario, readStrikes(world.at));
  // A story that went another way says nothing by that alone.
  return failure?.oracle === 'script' ? null : failure;
}

process.on('message', (probe: Probe) => {
  void run(probe)
    // A bug that is planted may throw anywhere, also where a replica is made for the first time.
    .catch((thrown: unknown) => ({ oracle: 'thrown', what: String(thrown) }))
    .then((failure) => process.send?.({ failure } satisfies Probed));
});

/**
 * Runs one world, from tapes or from a script. Most worlds begin with a replica that was pulled before (warm.ts), by a
 * world in which nothing happens.
 */
import type { LocalRow } from '../world/books.ts';
import type { Disk, Start } from '../world/disk.ts';
import type { EngineModules } from '../world/engine.ts';
import type { Script } from '../stories/script.ts';
import { drawFollow } from '../world/follow-setup.ts';
import { drawFiles } from '../world/files-setup.ts';
import { drawBeside } from '../world/beside.ts';
import { drawMoments, withMoments } from '../world/moments.ts';
import { drawPoison } from '../world/poison.ts';
import { drawRows, withRows } from '../world/rows.ts';
import { drawCutWeight } from '../world/cuts.ts';
import { drawHideWeight, drawIgnores, drawLetter, drawMisspelt, drawSetup, type Setup } from '../world/setup.ts';
import { Tapes, type TapeRecord } from '../world/tape.ts';
import type { Complaint } from '../oracles/verdict.ts';
import type { WarmStarts } from '../world/warm.ts';
import { drawPutback } from '../putback/setup.ts';
import { PutbackWorld } from '../putback/world.ts';
import { World } from '../world/world.ts';

/** What a world is run with, beside its tapes. */
export interface WorldOptions {
  readonly modules: EngineModules;
  readonly disk: Disk;
  /** Replicas that were pulled once, for all worlds that begin with one. */
  readonly warm: WarmStarts;
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
  /** The rows of the replica at the end. */
  readonly rows: readonly LocalRow[];
}

/** What kind of world tapes make. */
export function setupOf(tapes: Tapes): Setup {
  const drawn = { files: drawFiles(tapes.of('files')), hideWeight: drawHideWeight(tapes.of('hider')) };
  const first = drawSetup(tapes.of('setup'), drawn, tapes.isLong);
  const base = {
    ...first,
    misspelt: drawMisspelt(tapes, first.isWarm),
    history: tapes.history,
    choosing: tapes.choosing,
    isLetter: drawLetter(tapes),
    poison: drawPoison(tapes),
    beside: drawBeside(tapes),
    ignores: drawIgnores(tapes),
    putback: drawPutback(tapes),
  };
  const rows = drawRows(tapes);
  const chosen = rows === null ? base : withRows(base, rows);
  const besides = [base.beside?.weight ?? 0, 'beside'] as const;
  const setup = { ...chosen, actors: [...chosen.actors, [drawCutWeight(tapes), 'cutter'] as const, besides] };
  const moments = drawMoments(tapes);
  const proving = (made: Setup): Setup => (moments === null ? made : withMoments(made, moments));
  if (!tapes.follows) return proving(setup);
  const follow = drawFollow(tapes.of('follow'));
  const { clockWeight, formulaWeight, rowsFactor } = follow;
  const actors = [...setup.actors, [clockWeight, 'originClock'] as const, [formulaWeight, 'formula'] as const];
  return proving({ ...setup, follow, actors, systemColumns: true, rowCount: setup.rowCount * rowsFactor });
}

/** Runs one world. */
export async function runWorld(tapes: Tapes, options: WorldOptions): Promise<WorldResult> {
  const setup = setupOf(tapes);
  const start = setup.isWarm ? await warmStart(setup, options) : null;
  const result = await run(new World(tapes, setup, { ...options, start }));
  const { putback = null } = setup;
  if (putback === null || result.failure !== null) return result;
  const behind = await run(new PutbackWorld(tapes, putback, options));
  return {
    ...result,
    ...behind,
    trace: [...result.trace, ...behind.trace],
    coverage: new Map([...result.coverage, ...behind.coverage]),
  };
}

/** Runs a world in which happens what a script says, and nothing else. */
export async function runScript(script: Script, options: WorldOptions): Promise<WorldResult> {
  const start = script.setup.isWarm ? await warmStart(script.setup, options) : null;
  return run(new World(Tapes.fromRecord(0, {}), script.setup, { ...options, start, script }));
}

async function run(world: Pick<World, 'run' | 'close' | 'result'>): Promise<WorldResult> {
  try {
    await world.run();
  } finally {
    world.close();
  }
  return world.result();
}

/** A replica that was pulled from such an origin, without anything happening. */
function warmStart(setup: Setup, options: WorldOptions): Promise<Start> {
  return options.warm.startOf(setup, options.disk, async (calm) => {
    const world = new World(Tapes.fromRecord(0, {}), calm, { ...options, start: null });
    const { failure } = await run(world);
    if (failure !== null) throw new Error(`The first pull fails: ${failure.oracle}: ${failure.what}`);
    return { ...options.disk.keep(), files: world.fileImage() };
  });
}

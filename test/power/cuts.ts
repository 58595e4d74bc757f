/** Runs the stories, and cuts the power in them. */
import { rmSync } from 'node:fs';
import { Random } from '../../src/sandbox/data/random.ts';
import type { Mutant } from '../sim/mutants/mutant.ts';
import { SURVIVALS } from './disk.ts';
import { judgeCut } from './judge.ts';
import { buildProgram, type Program } from './rig.ts';
import { STORIES } from './stories.ts';

/** So many cuts, in all stories together; what was wrong, each with where the power failed. */
export async function runCuts(
  program: Program,
  {
    cuts,
    random,
    most = Infinity,
    onProgress,
  }: { cuts: number; random: Random; most?: number; onProgress?: (text: string) => void },
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const stories = Object.entries(STORIES);
  for (const [index, [name, record]] of stories.entries()) {
    using recording = await record(program);
    // The upgrade is short.
    const share = index === 0 ? Math.ceil(cuts * 0.85) : Math.floor(cuts * 0.15);
    onProgress?.(`${name}: ${recording.operations.length} operations on the disk, ${share} cuts`);
    for (let cut = 0; cut < share && wrong.length < most; cut += 1) {
      const count = random.integer(1, recording.operations.length);
      const survival = random.pick(SURVIVALS);
      const found = await judgeCut(recording, count, survival, random);
      if (found.length > 0) wrong.push(`${name}, behind operation ${count}, ${survival}: ${found.join('; ')}`);
    }
  }
  return wrong;
}

/** Takes a sync out of the program; the first cut that tells, or null. */
export async function huntRemoval(
  removal: Mutant,
  { cuts, seed }: { cuts: number; seed: number },
): Promise<string | null> {
  const program = await buildProgram(removal);
  try {
    const [first = null] = await runCuts(program, { cuts, random: new Random(seed), most: 1 });
    return first;
  } finally {
    rmSync(program.folder, { recursive: true });
  }
}

/**
 * Cuts the power while the built program works, again and again. Ends with 1 where something that was acknowledged is
 * not there.
 *
 *    npm run power                           2,000 cuts
 *    npm run power -- --cuts 100 --seed 7    fewer
 *    npm run power -- --removals             takes a sync out of the program, one after the other; the cuts must find
 *                                            each
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Random } from '../../src/sandbox/data/random.ts';
import type { Mutant } from '../sim/mutants/mutant.ts';
import { newSeed } from '../support/seeds.ts';
import { huntRemoval, runCuts } from './cuts.ts';
import { REMOVALS } from './removals.ts';
import { buildProgram } from './rig.ts';

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    removals: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed ?? newSeed());
const cuts = Number(values.cuts);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function hunt(removal: Mutant): Promise<boolean> {
  const found = await huntRemoval(removal, { cuts: Math.min(cuts, 300), seed });
  say(found === null ? `SURVIVED  ${removal.name}` : `found     ${removal.name}: ${found}`);
  return found !== null;
}

async function main(): Promise<boolean> {
  if (values.removals) {
    let isWell = true;
    for (const removal of REMOVALS) isWell = (await hunt(removal)) && isWell;
    return isWell;
  }
  const program = await buildProgram(null);
  try {
    const problems = await runCuts(program, { cuts, random: new Random(seed), onProgress: say });
    for (const problem of problems) say(problem);
    say(`${cuts} cuts (seed ${seed}), ${problems.length} of them wrong`);
    return problems.length === 0;
  } finally {
    rmSync(program.folder, { recursive: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;

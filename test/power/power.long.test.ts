/** Power cuts of the built program, and what they find when it leaves out a sync. `npm run power` cuts 2,000 times. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import { newSeed } from '../support/seeds.ts';
import { huntRemoval, runCuts } from './cuts.ts';
import { REMOVALS } from './removals.ts';
import { buildProgram, noPowerCuts } from './rig.ts';

const CUTS = 60;
/** Many times what it takes on a quiet machine. */
const RUN_MS_MAX = 300_000;
const seed = newSeed();

test.skipIf(noPowerCuts !== null)(
  `keeps what was acknowledged when the power fails ${CUTS} times (seed ${seed})`,
  async () => {
    const program = await buildProgram(null);
    try {
      expect(await runCuts(program, { cuts: CUTS, random: new Random(seed) })).toEqual([]);
    } finally {
      rmSync(program.folder, { recursive: true });
    }
  },
  RUN_MS_MAX,
);

test.skipIf(noPowerCuts !== null).each(REMOVALS.map((removal) => [removal.name, removal] as const))(
  'finds that a sync was left out: %s',
  async (_name, removal) => {
    expect(await huntRemoval(removal, { cuts: 300, seed: 1 })).not.toBeNull();
  },
  RUN_MS_MAX,
);

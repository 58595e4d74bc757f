/**
 * How many cases the random tests run, and from which seed. FUZZ_RUNS sets the number for a long run, FUZZ_SEED repeats
 * one; both are read only here. Every call prints the seed, so that a failure in CI can be repeated.
 */

/** The parameters that fast-check's `assert` takes; `runCount` applies unless FUZZ_RUNS is set. */
export function fuzzRuns(runCount: number): { numRuns: number; seed: number } {
  const numRuns = positiveInteger(process.env['FUZZ_RUNS']) ?? runCount;
  const seed = positiveInteger(process.env['FUZZ_SEED']) ?? Math.trunc(Math.random() * 0x7fff_ffff);
  process.stdout.write(`fuzz: FUZZ_RUNS=${numRuns} FUZZ_SEED=${seed}\n`);
  return { numRuns, seed };
}

function positiveInteger(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}
